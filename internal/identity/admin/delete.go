package admin

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/tenants"
)

// accountTables hold what belongs to an account alone. Those of package sso say
// what an organisation's provider told of it.
var accountTables = [...]string{"passkeys", "one_time_tokens", "flow_states", "identities", "sso_group_members",
	"sso_accounts"}

// DeleteUser removes an account, its sessions and identities, and suspends its
// memberships; ids are never used again. A soft delete keeps the bare row. The
// last owner of a tenant is fault.Conflict.
func (s *Administration) DeleteUser(ctx context.Context, a actor.Actor, id string, soft bool) error {
	if err := accounts.RequireService(a); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, id)
		if err != nil {
			return err
		}
		if err := s.EndSessionsWhere(tx, u.ID, ""); err != nil {
			return err
		}
		factor.Forget(tx, u.ID)
		for _, table := range accountTables {
			tx.Queue(db.FillWords(`
				DELETE FROM {table}
				WHERE user_id = $1`, "{table}", table), []any{u.ID}, nil)
		}
		if err := s.leaveTenants(tx, u); err != nil {
			return err
		}
		if soft {
			tx.Queue(`UPDATE users SET email = NULL, phone = NULL, new_email = NULL, new_phone = NULL, password_hash = NULL, user_metadata = '{}', app_metadata = '{}',
				signed_in_from = NULL, deleted_at = $2, updated_at = $2 WHERE id = $1`, []any{u.ID, s.Now()}, nil)
		} else {
			tx.Queue("DELETE FROM users WHERE id = $1", []any{u.ID}, nil)
		}
		s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "user.deleted", Entity: "user", EntityID: u.ID,
			Details: map[string]any{"soft": soft}, Client: accounts.ClientOf(a)})
		return tx.Flush()
	})
}

const leaveTenantsSQL = `
	SELECT tenant_id
	FROM members
	WHERE user_id = $1 AND role = 'owner' AND status = 'active'
	ORDER BY tenant_id NULLS LAST`

// revokeOffersSQL revokes what waits for an address in the tenants of its account. $1
// account, $2 address, $3 now.
const revokeOffersSQL = `
	UPDATE invitations
	SET status = 'revoked',
		worker_id = NULL,
		owner_id = NULL,
		updated_at = $3,
		version = version + 1
	WHERE email = $2
		AND status = 'pending'
		AND tenant_id IN (SELECT tenant_id FROM members WHERE user_id = $1)`

// leaveTenants suspends an account's memberships, which keep no address of it,
// and leaves every tenant an owner.
func (s *Administration) leaveTenants(tx *db.Tx, u *accounts.User) error {
	var owned []string
	err := tx.Query(leaveTenantsSQL, []any{u.ID}, func(r *db.Row) error {
		owned = append(owned, r.Text(0))
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.Tenants.SuspendMembers(tx, "user_id = $1", u.ID); err != nil {
		return err
	}
	for _, tenant := range owned {
		if err := tenants.KeepOwner(tx, tenant); err != nil {
			return err
		}
	}
	now := s.Now()
	tx.Queue(revokeOffersSQL, []any{u.ID, db.Null(u.Email), now}, nil)
	tx.Queue(`
		UPDATE members
		SET email = NULL, updated_at = $2, version = version + 1
		WHERE user_id = $1`,
		[]any{u.ID, now}, nil)
	return nil
}
