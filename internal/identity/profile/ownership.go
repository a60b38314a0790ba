package profile

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/tenants"
)

// Transfer hands the caller's tenant to another of its members.
type Transfer struct {
	UserID          string // the member who becomes owner
	CurrentPassword string // of the caller, or
	Nonce           string // what Reauthenticate mailed him
}

// TransferOwnership makes an active member owner of the caller's tenant and the
// caller, an owner, its administrator, both or neither. The caller shows again
// who he is: an open session alone gives no tenant away.
func (s *Store) TransferOwnership(ctx context.Context, a actor.Actor, in Transfer) error {
	if a.Role != actor.Owner || a.TenantID == "" {
		return fault.New(fault.Forbidden, "not_admin", "Only an owner may hand a tenant on")
	}
	if a.Suspended {
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	}
	to, ok := accounts.CanonicalID(in.UserID)
	if !ok || to == a.UserID {
		return fault.New(fault.Invalid, "validation_failed", "user_id must be the id of another member").At("user_id",
			"another member's id")
	}
	if err := s.requireConfirmed(ctx, a, in); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		if err := s.takeNonce(tx, a.UserID, in.proofOf()); err != nil {
			return err
		}
		return s.transferOwnership(tx, a, to)
	})
}

// requireConfirmed asks for the password or the mailed nonce, whatever the age of the
// session.
func (s *Store) requireConfirmed(ctx context.Context, a actor.Actor, in Transfer) error {
	var u *accounts.User
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		u, err = accounts.UserByID(tx, a.UserID)
		return err
	})
	if err != nil {
		return err
	}
	if err := accounts.NeedAAL2(u, a, fault.Unauthorized,
		"AAL2 session is required to hand on a tenant when MFA is enabled."); err != nil {
		return err
	}
	if in.CurrentPassword == "" && in.Nonce == "" {
		return fault.New(fault.Invalid, "reauthentication_needed", "Handing on a tenant requires reauthentication").
			With("", "send current_password, or the code of GET /auth/v1/reauthenticate as nonce")
	}
	return s.requireEntitled(ctx, a, u, sessions.Row{}, in.proofOf())
}

func (in Transfer) proofOf() Update {
	return Update{CurrentPassword: in.CurrentPassword, Nonce: in.Nonce}
}

const transferOwnershipSQL = `
	SELECT user_id, role
	FROM members
	WHERE tenant_id = $1 AND status = 'active' AND (user_id = $2 OR user_id = $3)
	ORDER BY id
	{for update}`

func (s *Store) transferOwnership(tx *db.Tx, a actor.Actor, to string) error {
	// In the order of ids, so that two transfers wait and do not deadlock.
	roles := map[string]actor.Role{}
	err := tx.Query(transferOwnershipSQL, []any{a.TenantID, a.UserID, to}, func(r *db.Row) error {
		roles[r.Text(0)] = actor.Role(r.Text(1))
		return nil
	})
	switch {
	case err != nil:
		return err
	case roles[a.UserID] != actor.Owner:
		return fault.New(fault.Forbidden, "not_admin", "Only an owner may hand a tenant on")
	case roles[to] == "":
		return fault.New(fault.NotFound, "user_not_found", "The tenant has no such active member").At("user_id",
			"no active member")
	}
	for user, role := range map[string]actor.Role{to: actor.Owner, a.UserID: actor.Admin} {
		if err := s.Tenants.ChangeRole(tx, a.TenantID, user, role, roles[user]); err != nil {
			return err
		}
		tx.After(func() { s.Forget(user) })
	}
	s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Action: "tenant.ownership_transferred", Entity: "user",
		EntityID: to, Details: map[string]any{"was": roles[to]}, Client: accounts.ClientOf(a)})
	if err := tenants.KeepOwner(tx, a.TenantID); err != nil {
		return err
	}
	from, err := accounts.UserByID(tx, a.UserID)
	if err != nil {
		return err
	}
	heir, err := accounts.UserByID(tx, to)
	if err != nil {
		return err
	}
	s.Post.Alert(tx, from, mailtemplate.OwnershipGiven, heir.Email)
	s.Post.Alert(tx, heir, mailtemplate.OwnershipTaken, from.Email)
	return tx.Flush()
}
