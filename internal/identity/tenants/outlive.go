package tenants

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
)

// inviterMayGrant holds of invitations, i, whose inviter may still give
// somebody their role at the time $2, as MayGrant has it: an owner any role, an
// administrator all but an owner's, each while the membership is active and the
// account not banned. What the service key invited names no inviter and holds.
const inviterMayGrant = `(
		i.invited_by IS NULL
		OR EXISTS (
			SELECT 1
			FROM members AS inviter
			JOIN users AS account ON account.id = inviter.user_id
			WHERE inviter.tenant_id = i.tenant_id
				AND inviter.user_id = i.invited_by
				AND inviter.status = 'active'
				AND (inviter.role = 'owner' OR (inviter.role = 'admin' AND i.role <> 'owner'))
				AND (account.banned_until IS NULL OR account.banned_until <= $2)
		)
	)`

// $1 tenant, $2 now, $3 inviter.
const revokeOutgrownSQL = `
	UPDATE invitations AS i
	SET status = 'revoked',
		worker_id = NULL, owner_id = NULL,
		updated_at = $2,
		version = version + 1
	WHERE i.tenant_id = $1
		AND i.invited_by = $3
		AND i.status = 'pending'
		AND NOT ` + inviterMayGrant + `
	RETURNING id`

// revokeOutgrown revokes the pending invitations whose inviter was suspended,
// removed or given a lower role by these changes and may not grant them any more.
func (s *Store) revokeOutgrown(tx *db.Tx, by actor.Actor, changes []accounts.MemberChange) error {
	for _, c := range changes {
		if !isActive(c.Before) || !accounts.Administrates(actor.Role(c.Before.Text("role"))) {
			continue
		}
		tenant, user := c.Before.Text("tenant_id"), c.Before.Text("user_id")
		var revoked []string
		err := tx.Query(revokeOutgrownSQL, []any{tenant, s.Now(), user}, func(r *db.Row) error {
			revoked = append(revoked, r.Text(0))
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range revoked {
			s.Audit(tx, accounts.Event{Tenant: tenant, User: by.UserID, Key: by.KeyID, Action: "invitation.revoked",
				Entity: "invitations", EntityID: id,
				Details: map[string]any{"because": "inviter_may_not_grant", "invited_by": user}, Client: accounts.ClientOf(by)})
		}
	}
	return nil
}

// Works are what a person set up in a tenant that goes on without the person:
// who ends the membership decides about each.
type Works struct {
	// that wait; they are revoked where the person may not grant their role any more
	Invitations     []PendingInvitation `json:"invitations"`
	ServiceAccounts []MadeAccount       `json:"service_accounts"` // that the person made, or a valid key of
	Webhooks        []MadeWebhook       `json:"webhooks"`
	Connections     []MadeConnection    `json:"connections"` // of single sign-on
	// active connections by which the person signs in, or whose proved domain the address
	// is of: a removed member comes back by them, a suspended one does not
	ReturnsBy []MadeConnection `json:"returns_by"`
}

// PendingInvitation is one that the person sent.
type PendingInvitation struct {
	ID        string        `json:"id"`
	Email     string        `json:"email"`
	Role      actor.Role    `json:"role"`
	ExpiresAt accounts.Time `json:"expires_at"`
}

// MadeAccount is a service account with how many of its valid keys the person
// made, and so may have seen.
type MadeAccount struct {
	ID   string     `json:"id"`
	Name string     `json:"name"`
	Role actor.Role `json:"role"`
	Keys int64      `json:"keys"`
}

// MadeWebhook is a webhook that the person made and may know the secret of.
type MadeWebhook struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Status string `json:"status"`
}

// MadeConnection is a connection to an organisation's provider.
type MadeConnection struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

const (
	sentInvitationsSQL = `
		SELECT id, email, role, expires_at
		FROM invitations
		WHERE tenant_id = $1
			AND invited_by = $2
			AND status = 'pending'
			AND expires_at > $3
		ORDER BY created_at DESC NULLS LAST, id`

	madeAccountsSQL = `
		SELECT account.id, account.name, account.role, COUNT(made.id)
		FROM service_accounts AS account
		LEFT JOIN service_keys AS made ON made.tenant_id = account.tenant_id
			AND made.account_id = account.id
			AND made.created_by = $2
			AND (made.revoked_at IS NULL OR made.revoked_at > $3)
			AND (made.expires_at IS NULL OR made.expires_at > $3)
		WHERE account.tenant_id = $1
			AND account.removed_at IS NULL
		GROUP BY account.id, account.name, account.role, account.created_by
		HAVING (account.created_by = $2 OR COUNT(made.id) > 0)
		ORDER BY account.name NULLS LAST, account.id`

	madeWebhooksSQL = `
		SELECT id, url, status
		FROM webhooks
		WHERE tenant_id = $1
			AND created_by = $2
		ORDER BY created_at NULLS LAST, id`

	madeConnectionsSQL = `
		SELECT id, COALESCE(name, identifier, issuer), status
		FROM sso_connections
		WHERE tenant_id = $1
			AND created_by = $2
		ORDER BY created_at NULLS LAST, id`

	returnsBySQL = `
		SELECT connection.id, COALESCE(connection.name, connection.identifier, connection.issuer), connection.status
		FROM sso_connections AS connection
		WHERE connection.tenant_id = $1
			AND connection.status = 'active'
			AND (
				EXISTS (
					SELECT 1
					FROM sso_accounts AS account
					WHERE account.user_id = $2
						AND account.connection_id = connection.id
						AND account.deleted_at IS NULL)
				OR EXISTS (
					SELECT 1
					FROM sso_domains AS domain
					JOIN users ON users.id = $2
					WHERE domain.connection_id = connection.id
						AND domain.verified_at IS NOT NULL
						AND lower(users.email) LIKE '%@' || domain.domain)
			)
		ORDER BY connection.created_at NULLS LAST, connection.id`
)

// MemberWorks lists what a person set up in the caller's tenant, for its
// administrators, also after the membership ended. Somebody who set nothing up
// and somebody unknown to the tenant have empty lists.
func (s *Store) MemberWorks(ctx context.Context, a actor.Actor, userID string) (w Works, err error) {
	if !a.Administrator() || a.TenantID == "" {
		return w, fault.New(fault.Forbidden, "not_admin",
			"Only an administrator of the tenant may see what its members set up")
	}
	user, ok := accounts.CanonicalID(userID)
	if !ok {
		return w, fault.New(fault.NotFound, "validation_failed", "user_id must be an UUID")
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		w = Works{Invitations: []PendingInvitation{}, ServiceAccounts: []MadeAccount{}, Webhooks: []MadeWebhook{},
			Connections: []MadeConnection{}, ReturnsBy: []MadeConnection{}}
		queueWorks(tx, &w, a.TenantID, user, accounts.Time{Time: s.Now()})
		return tx.Flush()
	})
	return w, err
}

func queueWorks(tx *db.Tx, w *Works, tenant, user string, now accounts.Time) {
	tx.Queue(sentInvitationsSQL, []any{tenant, user, now.Time}, func(r *db.Row) error {
		w.Invitations = append(w.Invitations, PendingInvitation{ID: r.Text(0), Email: r.Text(1), Role: actor.Role(r.Text(2)),
			ExpiresAt: accounts.Time{Time: r.Time(3)}})
		return nil
	})
	tx.Queue(madeAccountsSQL, []any{tenant, user, now.Time}, func(r *db.Row) error {
		w.ServiceAccounts = append(w.ServiceAccounts, MadeAccount{ID: r.Text(0), Name: r.Text(1), Role: actor.Role(r.Text(2)),
			Keys: r.Int(3)})
		return nil
	})
	tx.Queue(madeWebhooksSQL, []any{tenant, user}, func(r *db.Row) error {
		w.Webhooks = append(w.Webhooks, MadeWebhook{ID: r.Text(0), URL: r.Text(1), Status: r.Text(2)})
		return nil
	})
	connections := map[string]*[]MadeConnection{madeConnectionsSQL: &w.Connections, returnsBySQL: &w.ReturnsBy}
	for statement, list := range connections {
		tx.Queue(statement, []any{tenant, user}, func(r *db.Row) error {
			*list = append(*list, MadeConnection{ID: r.Text(0), Name: r.Text(1), Status: r.Text(2)})
			return nil
		})
	}
}
