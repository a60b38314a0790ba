package sso

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
)

// shutOut ends a person's membership and sessions. The directory speaks for the
// whole organisation: nobody's role is above it. The only owner stays one on
// paper, who cannot sign in: kept says so.
func (s Directory) shutOut(tx *db.Tx, c *Connection, userID string) (kept bool, err error) {
	kept, err = s.ident.Federation.OnlyOwner(tx, c.TenantID, userID)
	if err == nil && !kept {
		err = s.ident.Federation.SuspendFederated(tx, actor.Actor{Role: actor.Service}, c.TenantID,
			"tenant_id = $1 AND user_id = $2", c.TenantID, userID)
	}
	if err != nil {
		return kept, err
	}
	return kept, s.ident.Federation.EndSessions(tx, userID)
}

// groupsOf are the groups of the last sign-in and those of SCIM.
func (s Directory) groupsOf(tx *db.Tx, userID string) (groups []string, err error) {
	err = tx.One("SELECT groups FROM sso_accounts WHERE user_id = $1", []any{userID}, func(r *db.Row) error {
		return json.Unmarshal([]byte(r.Text(0)), &groups)
	})
	if err != nil {
		return nil, err
	}
	more, err := scimGroups(tx, userID)
	return append(groups, more...), err
}

const deletePersonSQL = `
	UPDATE sso_accounts
	SET user_name = CAST(user_id AS text), active = $2, provisioned = $3, deleted_at = $4,
		updated_at = $4
	WHERE user_id = $1`

// DeletePerson closes an account for good: sessions end, the membership is
// suspended, and SCIM neither shows it nor counts its name as taken (RFC 7644
// section 3.6). What the person did stays theirs, and who signed in so is out.
func (s Directory) DeletePerson(ctx context.Context, c *Connection, id string, who identity.Client) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		p, err := s.personBy(tx, c, id)
		if err != nil {
			return err
		}
		tx.Queue(deletePersonSQL, []any{p.ID, false, true, s.now()}, nil)
		tx.Queue("DELETE FROM sso_group_members WHERE user_id = $1", []any{p.ID}, nil)
		kept, err := s.shutOut(tx, c, p.ID)
		if err != nil {
			return err
		}
		s.ident.Federation.Record(tx, identity.Note{Tenant: c.TenantID, Key: "scim:" + c.ID, Action: "scim.user_deleted",
			Entity: "user", EntityID: p.ID,
			Details: stillOwner(kept), Client: who})
		return tx.Flush()
	})
}

// stillOwner are an audit row's details where a tenant is left with an owner who
// is shut out.
func stillOwner(kept bool) map[string]any {
	if !kept {
		return nil
	}
	return map[string]any{"membership": "kept: the only owner"}
}

// followGroups gives a person the role of their groups as they are now, where groups
// give the roles.
func (s Directory) followGroups(tx *db.Tx, c *Connection, userID string, who identity.Client) error {
	if len(c.RoleMap) == 0 {
		return nil
	}
	return s.setMembership(tx, c, userID, who)
}

// setMembership makes the membership of an active account what it has to be: made where
// there is none, given back where the directory took it, with the role of the
// groups where those rule. Who is in no mapped group any more, where there is no
// default, is out. Owners, and whom the tenant itself suspended, stay as they are.
func (s Directory) setMembership(tx *db.Tx, c *Connection, userID string, who identity.Client) error {
	groups, err := s.groupsOf(tx, userID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	role, ruled := c.roleOf(groups)
	var active, shut bool
	var status, email string
	err = tx.One(`
		SELECT a.active, a.suspended_at, m.status, m.role, u.email
		FROM sso_accounts a
		JOIN users u ON u.id = a.user_id
		LEFT JOIN members m ON m.tenant_id = a.tenant_id AND m.user_id = a.user_id
		WHERE a.user_id = $1`, []any{userID}, func(r *db.Row) error {
		active, shut, status, email = r.Bool(0), !r.Null(1), r.Text(2), r.Text(4)
		ruled = ruled && r.Text(3) != string(actor.Owner)
		return nil
	})
	switch {
	case err != nil || !active:
		return err
	case status == "" && role != "":
		return s.ident.Federation.JoinFederated(tx, c.TenantID, &identity.User{ID: userID, Email: email}, role, who)
	case status == "", status != "active" && (!shut || ruled && role == ""):
		return nil
	case ruled && role == "":
		if err := s.ident.Tenants.RemoveMember(tx, c.TenantID, userID); err != nil {
			return err
		}
		return s.ident.Federation.EndSessions(tx, userID)
	}
	if err := s.ident.Federation.RestoreFederated(tx, c.TenantID, userID, who); err != nil || !ruled {
		return err
	}
	return s.ident.Federation.FederatedRole(tx, c.TenantID, userID, role)
}
