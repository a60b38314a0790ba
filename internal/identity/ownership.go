package identity

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
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
func (s *Profile) TransferOwnership(ctx context.Context, a actor.Actor, in Transfer) error {
	if a.Role != actor.Owner || a.TenantID == "" {
		return fault.New(fault.Forbidden, "not_admin", "Only an owner may hand a tenant on")
	}
	if a.Suspended {
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	}
	to, ok := canonicalID(in.UserID)
	if !ok || to == a.UserID {
		return fault.New(fault.Invalid, "validation_failed", "user_id must be the id of another member").At("user_id", "another member's id")
	}
	if err := s.confirmed(ctx, a, in); err != nil {
		return err
	}
	return s.write(ctx, func(tx *db.Tx) error {
		if err := s.takeNonce(tx, a.UserID, in.proof()); err != nil {
			return err
		}
		return s.transfer(tx, a, to)
	})
}

// confirmed asks for the password or the mailed nonce, whatever the age of the
// session.
func (s *Profile) confirmed(ctx context.Context, a actor.Actor, in Transfer) error {
	var u *User
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		u, err = userByID(tx, a.UserID)
		return err
	})
	if err != nil {
		return err
	}
	if err := needAAL2(u, a, fault.Unauthorized, "AAL2 session is required to hand on a tenant when MFA is enabled."); err != nil {
		return err
	}
	if in.CurrentPassword == "" && in.Nonce == "" {
		return fault.New(fault.Invalid, "reauthentication_needed", "Handing on a tenant requires reauthentication").
			With("", "send current_password, or the code of GET /auth/v1/reauthenticate as nonce")
	}
	return s.entitled(ctx, a, u, session{}, in.proof())
}

func (in Transfer) proof() Update {
	return Update{CurrentPassword: in.CurrentPassword, Nonce: in.Nonce}
}

func (s *Profile) transfer(tx *db.Tx, a actor.Actor, to string) error {
	// In the order of ids, so that two transfers wait and do not deadlock.
	roles := map[string]actor.Role{}
	err := tx.Query("SELECT user_id, role FROM members WHERE tenant_id = $1 AND status = 'active' AND (user_id = $2 OR user_id = $3) ORDER BY id"+
		tx.DB().ForUpdate(),
		[]any{a.TenantID, a.UserID, to}, func(r *db.Row) error {
			roles[r.Text(0)] = actor.Role(r.Text(1))
			return nil
		})
	switch {
	case err != nil:
		return err
	case roles[a.UserID] != actor.Owner:
		return fault.New(fault.Forbidden, "not_admin", "Only an owner may hand a tenant on")
	case roles[to] == "":
		return fault.New(fault.NotFound, "user_not_found", "The tenant has no such active member").At("user_id", "no active member")
	}
	now := s.now()
	for user, role := range map[string]actor.Role{to: actor.Owner, a.UserID: actor.Admin} {
		tx.Queue("UPDATE members SET role = $3, updated_at = $4, version = version + 1 WHERE tenant_id = $1 AND user_id = $2",
			[]any{a.TenantID, user, string(role), now}, nil)
		if err := s.tenants.TellMember(tx, a.TenantID, user, "role", string(roles[user])); err != nil {
			return err
		}
		tx.After(func() { s.Forget(user) })
	}
	s.record(tx, event{tenant: a.TenantID, user: a.UserID, action: "tenant.ownership_transferred", entity: "user", entityID: to,
		details: map[string]any{"was": roles[to]}, client: clientOf(a)})
	if err := keepOwner(tx, a.TenantID); err != nil {
		return err
	}
	from, err := userByID(tx, a.UserID)
	if err != nil {
		return err
	}
	heir, err := userByID(tx, to)
	if err != nil {
		return err
	}
	s.post.alert(tx, from, letter.OwnershipGiven, heir.Email)
	s.post.alert(tx, heir, letter.OwnershipTaken, from.Email)
	return tx.Flush()
}

// MemberActor is an active member of a tenant as its requests would be made,
// for who asks what that member may do.
func (s *Tenants) MemberActor(ctx context.Context, tenantID, userID string) (actor.Actor, error) {
	id, ok := canonicalID(userID)
	if !ok {
		return actor.Actor{}, fault.New(fault.Invalid, "22P02", "user_id must be a UUID").At("user_id", "not a UUID")
	}
	var m Member
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		m, err = memberOf(tx, id, tenantID)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return actor.Actor{}, fault.New(fault.NotFound, "PGRST116", "the tenant has no such active member").At("user_id", "no active member")
	}
	return actor.Actor{UserID: id, TenantID: m.TenantID, Role: m.Role, WorkerID: m.WorkerID, ZoneIDs: m.ZoneIDs, Plan: m.Plan,
		Suspended: m.Status == "suspended"}, err
}
