package identity

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// GuardMembers is the consequence of a change of members, run in its
// transaction: nobody touches a role above his own or grants one, the last
// active owner stays. A suspended member's sessions of the tenant end; a removed
// one's go on without a tenant, as those of any account without membership.
func (s *Tenants) GuardMembers(tx *db.Tx, a actor.Actor, _ *store.Store, changes []store.Change) error {
	demoted := map[string]bool{}
	for _, c := range changes {
		if err := s.proofs.mayChange(a, c); err != nil {
			return err
		}
		tenant, user := text(c, "tenant_id"), text(c, "user_id")
		if owns(c.Before) && !owns(c.After) {
			demoted[tenant] = true
		}
		if active(c.Before) && !active(c.After) {
			endMembership(tx, tenant, user, text(c, "email"), s.now())
		}
		if c.Op == store.Update && active(c.Before) && !active(c.After) {
			tx.Queue("DELETE FROM sessions WHERE user_id = $1 AND tenant_id = $2", []any{user, tenant}, nil)
		}
		if c.Op == store.Update && active(c.Before) != active(c.After) {
			notByDirectory(tx, tenant, user)
		}
		tx.After(func() { s.Forget(user) })
	}
	for tenant := range demoted {
		if err := keepOwner(tx, tenant); err != nil {
			return err
		}
	}
	return tx.Flush()
}

// mayChange compares the caller's rank with the roles before and after, and
// asks anew who it is that makes or unmakes an administrator.
func (s *Proofs) mayChange(a actor.Actor, c store.Change) error {
	if a.Role == actor.Service {
		return nil
	}
	before, after := field(c.Before, "role"), field(c.After, "role")
	if administrates(actor.Role(before)) || administrates(actor.Role(after)) {
		if err := s.Admit(a); err != nil {
			return err
		}
	}
	if before != "" && rank(a.Role) > rank(actor.Role(before)) {
		return errAbove()
	}
	if after != "" && after != before {
		return mayGrant(a.Role, actor.Role(after))
	}
	return nil
}

func errAbove() error {
	return fault.New(fault.Forbidden, "42501", "a member with a role above your own cannot be changed")
}

// keepOwner locks the tenant's owners and refuses to let the last one go. Two
// owners who demote each other at once wait for one another here; one of them
// is run again and refused.
func keepOwner(tx *db.Tx, tenant string) error {
	n := 0
	err := tx.Query("SELECT id FROM members WHERE tenant_id = $1 AND role = 'owner' AND status = 'active'"+tx.DB().ForUpdate(), []any{tenant},
		func(*db.Row) error {
			n++
			return nil
		})
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "HF010", "the last active owner cannot be removed, suspended or demoted").With("", "make another member owner first")
	}
	return err
}

// endMembership forgets the tenant as the one used last and revokes what is
// pending.
func endMembership(tx *db.Tx, tenant, user, email string, now time.Time) {
	tx.Queue("UPDATE users SET last_tenant_id = NULL WHERE id = $1 AND last_tenant_id = $2", []any{user, tenant}, nil)
	if email != "" {
		tx.Queue("UPDATE invitations SET status = 'revoked', updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND email = $2 AND status = 'pending'",
			[]any{tenant, email, now}, nil)
	}
}

// PrepareInvitations completes new invitations before they are stored: the
// canonical address, who invites, how long it holds, a role the inviter may
// grant.
func (s *Invitations) PrepareInvitations(_ *db.Tx, a actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		if c.Op != store.Insert {
			continue
		}
		addr, err := Canonical(field(c.After, "email"))
		if err != nil {
			return err
		}
		if a.Role != actor.Service {
			if err := s.proofs.mayInvite(a, actor.Role(field(c.After, "role"))); err != nil {
				return err
			}
		}
		c.After["email"] = addr
		c.After["expires_at"] = s.now().Add(s.cfg.InviteTTL).Format(db.TimeLayout)
		if a.UserID != "" {
			c.After["invited_by"] = a.UserID
		}
	}
	return nil
}

// MailInvitations sends new invitations once they are stored, and lets only
// the last one of an address stand. A second one within the mail interval is
// refused with over_email_send_rate_limit.
func (s *Invitations) MailInvitations(tx *db.Tx, _ actor.Actor, _ *store.Store, changes []store.Change) error {
	byTenant := map[string][]Invitation{}
	for _, c := range changes {
		if c.Op != store.Insert {
			continue
		}
		inv := Invitation{ID: text(c, "id"), TenantID: text(c, "tenant_id"), Email: text(c, "email"), Role: actor.Role(text(c, "role")),
			ExpiresAt: Time{Time: s.now().Add(s.cfg.InviteTTL)}}
		tx.Queue("UPDATE invitations SET status = 'revoked', updated_at = $4, version = version + 1 WHERE tenant_id = $1 AND email = $2 AND id <> $3 AND "+
			"status = 'pending'",
			[]any{inv.TenantID, inv.Email, inv.ID, s.now()}, nil)
		byTenant[inv.TenantID] = append(byTenant[inv.TenantID], inv)
	}
	for tenant, list := range byTenant {
		if err := s.announce(tx, tenant, list...); err != nil {
			return err
		}
	}
	return nil
}

// WatchTenants empties the cache of everyone in a tenant that changed: its
// plan and status are part of their actors.
func (s *Tenants) WatchTenants(tx *db.Tx, _ actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		id := text(c, "id")
		tx.After(func() { s.ForgetTenant(id) })
	}
	return nil
}

func field(r store.Row, name string) string {
	v, _ := r[name].(string)
	return v
}

// text reads a field of the row as it is now, or was last.
func text(c store.Change, name string) string {
	if v := field(c.After, name); v != "" {
		return v
	}
	return field(c.Before, name)
}

func active(r store.Row) bool { return field(r, "status") == "active" }

func owns(r store.Row) bool { return active(r) && field(r, "role") == string(actor.Owner) }
