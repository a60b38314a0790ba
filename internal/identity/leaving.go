package identity

import (
	"fmt"
	"maps"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

// MemberChange is a membership before and after; nil where there is none.
type MemberChange struct{ Before, After store.Row }

// tellMembers says what happened to memberships beside the members collection.
func (s *Tenants) tellMembers(tx *db.Tx, changes []MemberChange) error {
	if s.cfg.OnMember == nil || len(changes) == 0 {
		return nil
	}
	return s.cfg.OnMember(tx, changes)
}

// TellMember says that a membership was changed in this transaction: field,
// role or status, was another before.
func (s *Tenants) TellMember(tx *db.Tx, tenantID, userID, field, was string) error {
	var changes []MemberChange
	err := tx.Query("SELECT tenant_id, id, user_id, role, status FROM members WHERE tenant_id = $1 AND user_id = $2", []any{tenantID, userID},
		func(r *db.Row) error {
			c := MemberChange{After: memberRow(r)}
			c.Before = maps.Clone(c.After)
			c.Before[field] = was
			changes = append(changes, c)
			return nil
		})
	if err != nil {
		return err
	}
	return s.tellMembers(tx, changes)
}

// memberRow reads tenant, id, user, role and status.
func memberRow(r *db.Row) store.Row {
	return store.Row{"tenant_id": r.Text(0), "id": r.Text(1), "user_id": r.Text(2), "role": r.Text(3), "status": r.Text(4)}
}

// SuspendMembers suspends the active memberships that which, a condition of our
// own on members with binds from $1, picks out, and tells of each.
func (s *Tenants) SuspendMembers(tx *db.Tx, which string, binds ...any) error {
	var changes []MemberChange
	q := fmt.Sprintf("UPDATE members SET status = 'suspended', updated_at = $%d, version = version + 1 WHERE status = 'active' AND (%s) RETURNING "+
		"tenant_id, id, user_id, role, status", len(binds)+1, which)
	err := tx.Query(q, append(binds, s.now()), func(r *db.Row) error {
		c := MemberChange{After: memberRow(r)}
		c.Before = maps.Clone(c.After)
		c.Before["status"] = "active"
		changes = append(changes, c)
		user := r.Text(2)
		tx.After(func() { s.Forget(user) })
		return nil
	})
	if err != nil {
		return err
	}
	return s.tellMembers(tx, changes)
}

// RemoveMember ends a membership, with what is pending of it, and tells of it.
func (s *Tenants) RemoveMember(tx *db.Tx, tenantID, userID string) error {
	var changes []MemberChange
	email := ""
	err := tx.Query("DELETE FROM members WHERE tenant_id = $1 AND user_id = $2 RETURNING tenant_id, id, user_id, role, status, email",
		[]any{tenantID, userID}, func(r *db.Row) error {
			changes, email = append(changes, MemberChange{Before: memberRow(r)}), r.Text(5)
			return nil
		})
	if err != nil {
		return err
	}
	endMembership(tx, tenantID, userID, email, s.now())
	tx.After(func() { s.Forget(userID) })
	return s.tellMembers(tx, changes)
}
