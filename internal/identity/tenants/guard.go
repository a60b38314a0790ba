package tenants

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/store"
)

// GuardMembers is the consequence of a change of members, run in its
// transaction: nobody touches a role above his own or grants one, the last
// active owner stays. Invitations that their inviter may not grant any more are
// revoked. A suspended member's sessions of the tenant end; a removed
// one's go on without a tenant, as those of any account without membership.
func (s *Store) GuardMembers(tx *store.Tx, changes []store.Change) error {
	demoted := map[string]bool{}
	var told []accounts.MemberChange
	for _, c := range changes {
		if err := s.mayChange(tx.Actor, c); err != nil {
			return err
		}
		if err := checkClientRow(c.After); err != nil {
			return err
		}
		tenant, user := accounts.ChangedText(c, "tenant_id"), accounts.ChangedText(c, "user_id")
		if isActiveOwner(c.Before) && !isActiveOwner(c.After) {
			demoted[tenant] = true
		}
		if isActive(c.Before) && !isActive(c.After) {
			endMembership(tx.Tx, tenant, user, accounts.ChangedText(c, "email"), s.Now())
		}
		if c.Op == store.Update && isActive(c.Before) && !isActive(c.After) {
			tx.Queue("DELETE FROM sessions WHERE user_id = $1 AND tenant_id = $2", []any{user, tenant}, nil)
		}
		if c.Op == store.Update && isActive(c.Before) != isActive(c.After) {
			NotByDirectory(tx.Tx, tenant, user)
		}
		tx.After(func() { s.Forget(user) })
		told = append(told, accounts.MemberChange{Before: c.Before, After: c.After})
	}
	if err := s.revokeOutgrown(tx.Tx, tx.Actor, told); err != nil {
		return err
	}
	for tenant := range demoted {
		if err := KeepOwner(tx.Tx, tenant); err != nil {
			return err
		}
	}
	return tx.Flush()
}

// mayChange compares the caller's rank with the roles before and after, and
// asks anew who it is that makes or unmakes an administrator.
func (s *Store) mayChange(a actor.Actor, c store.Change) error {
	if a.Role == actor.Service {
		return nil
	}
	before, after := c.Before.Text("role"), c.After.Text("role")
	if accounts.Administrates(actor.Role(before)) || accounts.Administrates(actor.Role(after)) {
		if err := s.Proofs.Admit(a); err != nil {
			return err
		}
	}
	if before != "" && Rank(a.Role) > Rank(actor.Role(before)) {
		return ErrAbove()
	}
	if after != "" && after != before {
		return MayGrant(a.Role, actor.Role(after))
	}
	return nil
}

// ErrAbove refuses to change a member of a higher role.
func ErrAbove() error {
	return fault.New(fault.Forbidden, "42501", "a member with a role above your own cannot be changed")
}

const keepOwnerSQL = `
	SELECT id
	FROM members
	WHERE tenant_id = $1 AND role = 'owner' AND status = 'active'
	{for update}`

// KeepOwner locks the tenant's owners and refuses to let the last one go. Two
// owners who demote each other at once wait for one another here; one of them
// is run again and refused.
func KeepOwner(tx *db.Tx, tenant string) error {
	n := 0
	err := tx.Query(keepOwnerSQL, []any{tenant},
		func(*db.Row) error {
			n++
			return nil
		})
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "HF010", "the last active owner cannot be removed, suspended or demoted").With("",
			"make another member owner first")
	}
	return err
}

// endMembership forgets the tenant as the one used last and revokes what is
// pending.
func endMembership(tx *db.Tx, tenant, user, email string, now time.Time) {
	tx.Queue(`
		UPDATE users
		SET last_tenant_id = NULL
		WHERE id = $1
			AND last_tenant_id = $2`, []any{user, tenant}, nil)
	if email != "" {
		revokePending(tx, tenant, email, now)
	}
}

const revokePendingSQL = `
	UPDATE invitations
	SET status = 'revoked', worker_id = NULL, owner_id = NULL, updated_at = $3, version = version + 1
	WHERE tenant_id = $1 AND email = $2 AND status = 'pending'`

// revokePending ends the invitation of an address that waits, if any.
func revokePending(tx *db.Tx, tenant, email string, now time.Time) {
	tx.Queue(revokePendingSQL, []any{tenant, email, now}, nil)
}

// PrepareInvitations completes new invitations before they are stored: the
// canonical address, who invites, how long it holds, a role the inviter may
// grant.
func (s *Invitations) PrepareInvitations(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if c.Op == store.Update && c.After.Text("status") != "pending" {
			c.After[workerColumn], c.After[ownerColumn] = nil, nil // which could not be deleted afterwards
		}
		if c.Op != store.Insert {
			continue
		}
		addr, err := accounts.Canonical(c.After.Text("email"))
		if err != nil {
			return err
		}
		if err := checkClientRow(c.After); err != nil {
			return err
		}
		if reach := reachOf(c.After); !reach.isEmpty() {
			inv := Invitation{TenantID: accounts.ChangedText(c, "tenant_id"), Email: addr, Reach: reach}
			if err := refuseMember(tx.Tx, inv); err != nil {
				return err
			}
		}
		if tx.Role != actor.Service {
			if err := s.Tenants.mayInvite(tx.Actor, actor.Role(c.After.Text("role"))); err != nil {
				return err
			}
		}
		c.After["email"] = addr
		c.After["expires_at"] = s.Now().Add(s.Config.InviteTTL).Format(db.TimeLayout)
		if tx.UserID != "" {
			c.After["invited_by"] = tx.UserID
		}
	}
	return nil
}

const mailInvitationsSQL = `
	UPDATE invitations
	SET status = 'revoked', worker_id = NULL, owner_id = NULL, updated_at = $4, version = version + 1
	WHERE tenant_id = $1 AND email = $2 AND id <> $3 AND status = 'pending'`

// MailInvitations sends new invitations once they are stored, and lets only
// the last one of an address stand. A second one within the mail interval is
// refused with over_email_send_rate_limit.
func (s *Invitations) MailInvitations(tx *store.Tx, changes []store.Change) error {
	byTenant := map[string][]Invitation{}
	for _, c := range changes {
		if c.Op != store.Insert {
			continue
		}
		inv := Invitation{ID: accounts.ChangedText(c, "id"), TenantID: accounts.ChangedText(c, "tenant_id"),
			Email: accounts.ChangedText(c, "email"), Role: actor.Role(accounts.ChangedText(c, "role")),
			ExpiresAt: accounts.Time{Time: s.Now().Add(s.Config.InviteTTL)}}
		tx.Queue(mailInvitationsSQL, []any{inv.TenantID, inv.Email, inv.ID, s.Now()}, nil)
		byTenant[inv.TenantID] = append(byTenant[inv.TenantID], inv)
	}
	for tenant, list := range byTenant {
		if err := s.queueMails(tx.Tx, tenant, list...); err != nil {
			return err
		}
	}
	return nil
}

// WatchTenants empties the cache of everyone in a tenant that changed: its
// plan and status are part of their actors.
// A tenant that was made as a record gets what tenants begin with.
func (s *Store) WatchTenants(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		id := accounts.ChangedText(c, "id")
		tx.After(func() { s.ForgetTenant(id) })
		if c.Op != store.Insert || s.Config.OnTenant == nil {
			continue
		}
		if err := s.Config.OnTenant(tx.Tx, id); err != nil {
			return err
		}
	}
	return nil
}

func isActive(r store.Row) bool { return r.Text("status") == "active" }

func isActiveOwner(r store.Row) bool { return isActive(r) && r.Text("role") == string(actor.Owner) }
