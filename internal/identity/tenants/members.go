package tenants

import (
	"context"
	"fmt"
	"maps"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/store"
)

// NotByDirectory notes that a membership's status is no longer a directory's
// doing, nor a directory's to change back.
func NotByDirectory(tx *db.Tx, tenantID, userID string) {
	tx.Queue(`
		UPDATE sso_accounts
		SET suspended_at = NULL
		WHERE user_id = $2
			AND tenant_id = $1
			AND suspended_at IS NOT NULL`, []any{tenantID, userID}, nil)
}

// TellMembers says what happened to memberships beside the members collection,
// and ends what their ends take with them.
func (s *Store) TellMembers(tx *db.Tx, changes []accounts.MemberChange) error {
	if err := s.revokeOutgrown(tx, actor.Actor{}, changes); err != nil {
		return err
	}
	if s.Config.OnMember == nil || len(changes) == 0 {
		return nil
	}
	return s.Config.OnMember(tx, changes)
}

// ChangeRole gives a member another role and says so.
func (s *Store) ChangeRole(tx *db.Tx, tenantID, userID string, role, was actor.Role) error {
	tx.Queue(`
		UPDATE members
		SET role = $3, updated_at = $4, version = version + 1
		WHERE tenant_id = $1
			AND user_id = $2`,
		[]any{tenantID, userID, string(role), s.Now()}, nil)
	return s.TellMember(tx, tenantID, userID, "role", string(was))
}

// TellMember says that a membership was changed in this transaction: field,
// role or status, was another before.
func (s *Store) TellMember(tx *db.Tx, tenantID, userID, field, was string) error {
	var changes []accounts.MemberChange
	err := tx.Query(`
		SELECT tenant_id, id, user_id, role, status
		FROM members
		WHERE tenant_id = $1
			AND user_id = $2`,
		[]any{tenantID, userID}, func(r *db.Row) error {
			c := accounts.MemberChange{After: MemberRow(r)}
			c.Before = maps.Clone(c.After)
			c.Before[field] = was
			changes = append(changes, c)
			return nil
		})
	if err != nil {
		return err
	}
	return s.TellMembers(tx, changes)
}

// MemberRow reads tenant, id, user, role and status.
func MemberRow(r *db.Row) store.Row {
	return store.Row{"tenant_id": r.Text(0), "id": r.Text(1), "user_id": r.Text(2), "role": r.Text(3), "status": r.Text(4)}
}

const suspendMembersSQL = `
	UPDATE members
	SET status = 'suspended', updated_at = $%d, version = version + 1
	WHERE status = 'active' AND (%s)
	RETURNING tenant_id, id, user_id, role, status`

// SuspendMembers suspends the active memberships that which, a condition of our
// own on members with binds from $1, picks out, and tells of each.
func (s *Store) SuspendMembers(tx *db.Tx, which string, binds ...any) error {
	var changes []accounts.MemberChange
	q := fmt.Sprintf(suspendMembersSQL, len(binds)+1, which)
	err := tx.Query(q, append(binds, s.Now()), func(r *db.Row) error {
		c := accounts.MemberChange{After: MemberRow(r)}
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
	return s.TellMembers(tx, changes)
}

// RemoveMember ends a membership, with what is pending of it, and tells of it.
func (s *Store) RemoveMember(tx *db.Tx, tenantID, userID string) error {
	var changes []accounts.MemberChange
	email := ""
	err := tx.Query(`
		DELETE FROM members
		WHERE tenant_id = $1
			AND user_id = $2
		RETURNING tenant_id, id, user_id, role, status, email`,
		[]any{tenantID, userID}, func(r *db.Row) error {
			changes, email = append(changes, accounts.MemberChange{Before: MemberRow(r)}), r.Text(5)
			return nil
		})
	if err != nil {
		return err
	}
	endMembership(tx, tenantID, userID, email, s.Now())
	tx.After(func() { s.Forget(userID) })
	return s.TellMembers(tx, changes)
}

// TenantNames are the name and the slug of a tenant, by id, slug or name; none
// for a tenant that there is not.
func TenantNames(tx *db.Tx, tenant string) ([]string, error) {
	if tenant == "" {
		return nil, nil
	}
	t, err := TenantBy(tx, tenant)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return []string{t.Name, t.Slug}, err
}

// MemberActor is an active member of a tenant as its requests would be made,
// for who asks what that member may do.
func (s *Store) MemberActor(ctx context.Context, tenantID, userID string) (actor.Actor, error) {
	id, ok := accounts.CanonicalID(userID)
	if !ok {
		return actor.Actor{}, fault.New(fault.Invalid, "22P02", "user_id must be a UUID").At("user_id", "not a UUID")
	}
	var m accounts.Member
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		m, err = accounts.MemberOf(tx, id, tenantID)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return actor.Actor{}, fault.New(fault.NotFound, "PGRST116", "the tenant has no such active member").At("user_id",
			"no active member")
	}
	return actor.Actor{UserID: id, TenantID: m.TenantID, Role: m.Role, WorkerID: m.WorkerID, ZoneIDs: m.ZoneIDs,
		Plan: m.Plan, GoodsOwner: m.Owner, Suspended: m.Status == "suspended"}, err
}

// Locale is what amounts and moments of a tenant are written in.
type Locale struct {
	Currency string
	// Timezone is the IANA name of the zone of its days.
	Timezone string
	// SiteTimezones has the zones of sites that are in another one, by their ids.
	SiteTimezones map[string]string
}

// LocaleOf returns the locale of a tenant, an empty one of a tenant that is gone.
func (s *Store) LocaleOf(ctx context.Context, tenantID string) (l Locale, err error) {
	l.SiteTimezones = map[string]string{}
	err = s.DB.Read(ctx, db.Scope{Tenant: tenantID}, func(tx *db.Tx) error {
		return tx.Query(selectLocale, []any{tenantID}, func(r *db.Row) error {
			l.Currency, l.Timezone = r.Text(0), r.Text(1)
			if !r.Null(2) {
				l.SiteTimezones[r.UUID(2).String()] = r.Text(3)
			}
			return nil
		})
	})
	return l, err
}

const selectLocale = `
	SELECT t.currency, t.timezone, s.id, s.timezone
	FROM tenants AS t
	LEFT JOIN sites AS s ON s.tenant_id = t.id
		AND s.timezone <> ''
		AND s.timezone <> t.timezone
	WHERE t.id = $1`
