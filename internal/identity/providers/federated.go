package providers

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/identity/token"
)

// Federation is sign-in and directories of organisations' own providers, which package
// sso speaks with.
type Federation struct {
	*accounts.Base
	Accounts *accounts.Store
	Codes    *codes.Store
	Links    *accounts.Links
	Sessions *sessions.Store
	Tenants  *tenants.Store
}

// Federated is a person as a tenant's own provider vouches for them.
type Federated struct {
	Connection string // UUID; the identity's provider is sso:<UUID>
	TenantID   string
	Method     string // MethodSAML or oauth
	Issuer     string
	Subject    string
	Email      string         // canonical, in a domain of the connection
	Doubted    bool           // the provider itself calls the address unverified
	Profile    map[string]any // for the user's metadata
	Role       actor.Role     // in the tenant; "" = not let in
	Ruled      bool           // the role follows the provider's groups: a member's changes
	Account    string         // made before by SCIM; "" = find by subject, or make
	Groups     []string       // as the provider said
	EndsAt     time.Time      // hard end of the session; zero = none
}

// FederatedProvider is the name of a connection in identities.
func FederatedProvider(connection string) string { return "sso:" + connection }

// MayLink refuses to find or make an account by an address that the provider
// does not vouch for. Who is known by the subject needs none.
func (f Federated) MayLink() error {
	if f.Doubted {
		return fault.New(fault.Forbidden, "access_denied",
			"The provider says that this person's email address is not verified; have it verified there")
	}
	return nil
}

// Arrival is the end of a sign-in at a tenant's provider. Person runs inside
// the transaction: it claims the request, so that it works once, and says who.
type Arrival struct {
	Target    string // allowed already
	Challenge string // S256; "" only for a sign-in that began at the provider
	Person    func(tx *db.Tx) (Federated, error)
}

// Arrive makes sure of account and membership and leads the browser on: with
// an authorization code bound to the challenge, or, where nobody could send
// one, with a session in the fragment if the implicit flow is on: the only
// sign-ins at an organisation's provider that end so (docs/decisions/0010).
func (s *Federation) Arrive(ctx context.Context, in Arrival, c accounts.Client) (signin.Landing, error) {
	if in.Challenge == "" && !s.Config.ImplicitFlow {
		return signin.Landing{}, fault.New(fault.Invalid, "validation_failed",
			"A sign-in that begins at the provider needs the implicit flow, which is switched off")
	}
	var g *sessions.Grant
	loc := ""
	err := s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) (err error) {
			g, loc = nil, ""
			f, err := in.Person(tx)
			if err != nil {
				return err
			}
			u, err := s.Admit(tx, f, c)
			if err != nil {
				return err
			}
			if in.Challenge == "" {
				g, err = s.Sessions.Begin(tx, u, token.Method{Method: f.Method}, c)
				return err
			}
			loc, err = s.federatedCode(tx, u, f, in)
			return err
		})
	})
	if err != nil || g == nil {
		return signin.Landing{Location: loc}, err
	}
	sess, err := s.Sessions.Issue(g)
	if err != nil {
		return signin.Landing{}, err
	}
	return signin.Landing{Location: signin.Fragment(s.Links, sess, in.Target, "")}, nil
}

func (s *Federation) federatedCode(tx *db.Tx, u *accounts.User, f Federated, in Arrival) (string, error) {
	fl, now := codes.Flow{ID: db.NewID(), Method: f.Method}, s.Now()
	tx.Queue(`INSERT INTO flow_states (id, user_id, method, redirect_to, challenge, challenge_method, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, 's256', $6, $7)`,
		[]any{fl.ID, u.ID, f.Method, in.Target, in.Challenge, now, now.Add(s.Config.FlowTTL)}, nil)
	code, err := s.Codes.IssueCode(tx, fl)
	return redirect.WithQuery(in.Target, url.Values{"code": {code}}), err
}

// Admit finds or makes the account of a federated person and its membership in
// the connection's tenant, and in no other: an organisation's
// provider says who works there, and nothing of anybody else's tenant.
func (s *Federation) Admit(tx *db.Tx, f Federated, c accounts.Client) (*accounts.User, error) {
	u, err := s.federatedUser(tx, &f, c)
	if err != nil {
		return nil, err
	}
	if u.Banned(s.Now()) {
		return nil, accounts.ErrBanned()
	}
	if err := s.keepAccount(tx, u, f); err != nil {
		return nil, err
	}
	var status, role string
	err = tx.One(`
		SELECT status, role
		FROM members
		WHERE tenant_id = $1
			AND user_id = $2`, []any{f.TenantID, u.ID},
		func(r *db.Row) error {
			status, role = r.Text(0), r.Text(1)
			return nil
		})
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	case err == nil && status != "active":
		// Suspended by the tenant: the provider's word does not lift that.
		return nil, fault.New(fault.Forbidden, "access_denied", "The membership in this tenant is suspended")
	case f.Role == "" && (err != nil || f.Ruled && actor.Role(role) != actor.Owner):
		return nil, fault.New(fault.Forbidden, "access_denied", "None of your groups is let in here")
	case err != nil:
		return u, s.Tenants.AddMember(tx, f.TenantID, u, f.Role, c)
	case f.Ruled:
		return u, s.FederatedRole(tx, f.TenantID, u.ID, f.Role)
	}
	return u, nil
}

const keepAccountSQL = `
	UPDATE sso_accounts
	SET user_name = $2
	WHERE user_id = $1
		AND NOT EXISTS (SELECT 1 FROM sso_accounts o WHERE o.connection_id = $3 AND o.user_name = $2)`

// keepAccount notes which connection an account belongs to, and when what the
// provider said now ends. An account that SCIM has deactivated stays out.
func (s *Federation) keepAccount(tx *db.Tx, u *accounts.User, f Federated) error {
	var connection string
	active, named := true, false
	err := tx.One(`
		SELECT connection_id, active, provisioned, user_name
		FROM sso_accounts
		WHERE user_id = $1`, []any{u.ID},
		func(r *db.Row) error {
			connection, active, named = r.Text(0), r.Bool(1), r.Bool(2) || f.Doubted || r.Text(3) == f.Email
			return nil
		})
	if !named {
		yieldName(tx, f.Connection, f.Email)
	}
	now, end := s.Now(), accounts.NullTime(accounts.Time{Time: f.EndsAt})
	switch {
	case fault.Is(err, fault.NotFound):
		_, err = tx.Exec(`INSERT INTO sso_accounts (user_id, tenant_id, connection_id, user_name, active, provisioned, groups, not_after, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`, u.ID, f.TenantID, f.Connection, f.Email, true, false, accounts.WriteJSON(f.Groups), end, now)
		if fault.HasCode(err, "23505") {
			return fault.Wrap(err, fault.Unprocessable, "user_already_exists",
				"Another account of this provider has this address; remove it at the provider first")
		}
		return err
	case err != nil:
		return err
	case !active || connection != f.Connection:
		return fault.New(fault.Forbidden, "access_denied", "The account is deactivated")
	}
	if !named {
		tx.Queue(keepAccountSQL, []any{u.ID, f.Email, f.Connection}, nil)
	}
	_, err = tx.Exec(`
		UPDATE sso_accounts
		SET groups = $2, not_after = $3, updated_at = $4
		WHERE user_id = $1`, u.ID,
		accounts.WriteJSON(f.Groups), end, now)
	return err
}

const yieldNameSQL = `
	UPDATE sso_accounts
	SET user_name = CAST(user_id AS text)
	WHERE connection_id = $1 AND user_name = $2 AND provisioned = $3`

// yieldName takes an address from an account that only a sign-in named by it:
// the provider says that it is somebody else's now. A name that SCIM gave stays.
func yieldName(tx *db.Tx, connection, email string) {
	tx.Queue(yieldNameSQL, []any{connection, email, false}, nil)
}

// FederatedRole changes the role of an active member as the provider's groups
// say. Owners stay owners: only people hand that on.
func (s *Federation) FederatedRole(tx *db.Tx, tenantID, userID string, role actor.Role) error {
	was, err := accounts.MemberOf(tx, userID, tenantID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	n, err := tx.Exec(`UPDATE members SET role = $3, updated_at = $4, version = version + 1
		WHERE tenant_id = $1 AND user_id = $2 AND role <> $3 AND role <> 'owner' AND status = 'active'`, tenantID, userID, string(role), s.Now())
	if err != nil || n == 0 {
		return err
	}
	s.Audit(tx, accounts.Event{Tenant: tenantID, User: userID, Action: "member.role_changed", Entity: "user",
		EntityID: userID, Details: map[string]any{"role": role, "by": "sso"}})
	tx.After(func() { s.Forget(userID) })
	return s.Tenants.TellMember(tx, tenantID, userID, "role", string(was.Role))
}

const suspendFederatedSQL = `
	UPDATE sso_accounts
	SET suspended_at = $%d
	WHERE tenant_id = $%d
		AND user_id IN (SELECT user_id FROM members WHERE status = 'active' AND (%s))`

// SuspendFederated is SuspendMembers for the end of accounts at a tenant's
// provider. A caller of lower role than one of them is refused, and so is
// leaving the tenant without an owner. What was suspended here can be taken back
// by RestoreFederated.
func (s *Federation) SuspendFederated(tx *db.Tx, a actor.Actor, tenantID, which string, binds ...any) error {
	owners := false
	err := tx.Query(db.FillWords(`
		SELECT DISTINCT role
		FROM members
		WHERE status = 'active'
			AND ({which})`, "{which}", which), binds,
		func(r *db.Row) error {
			role := actor.Role(r.Text(0))
			owners = owners || role == actor.Owner
			if tenants.Rank(a.Role) > tenants.Rank(role) {
				return tenants.ErrAbove()
			}
			return nil
		})
	if err != nil {
		return err
	}
	n := len(binds)
	tx.Queue(fmt.Sprintf(suspendFederatedSQL, n+1, n+2, which),
		append(slices.Clone(binds), s.Now(), tenantID), nil)
	if err := s.Tenants.SuspendMembers(tx, which, binds...); err != nil || !owners {
		return err
	}
	return tenants.KeepOwner(tx, tenantID)
}

const onlyOwnerSQL = `
	SELECT user_id
	FROM members
	WHERE tenant_id = $1 AND role = 'owner' AND status = 'active'
	{for update}`

// OnlyOwner reports that a tenant has no other active owner than this person,
// and holds that until the transaction ends.
func (s *Federation) OnlyOwner(tx *db.Tx, tenantID, userID string) (bool, error) {
	his, others := false, false
	err := tx.Query(onlyOwnerSQL, []any{tenantID},
		func(r *db.Row) error {
			his, others = his || r.Text(0) == userID, others || r.Text(0) != userID
			return nil
		})
	return his && !others, err
}

// RestoreFederated takes back a suspension by SuspendFederated: the role is the
// one of before, and a membership that the tenant itself suspended stays so.
func (s *Federation) RestoreFederated(tx *db.Tx, tenantID, userID string, c accounts.Client) error {
	var changes []accounts.MemberChange
	err := tx.Query(`UPDATE members SET status = 'active', updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND user_id = $2 AND status <> 'active'
		AND EXISTS (SELECT 1 FROM sso_accounts a WHERE a.user_id = $2 AND a.tenant_id = $1 AND a.suspended_at IS NOT NULL)
			RETURNING tenant_id, id, user_id, role, status`,
		[]any{tenantID, userID, s.Now()}, func(r *db.Row) error {
			changes = append(changes, accounts.MemberChange{After: tenants.MemberRow(r)})
			return nil
		})
	if err != nil || len(changes) == 0 {
		return err
	}
	tenants.NotByDirectory(tx, tenantID, userID)
	s.Audit(tx, accounts.Event{Tenant: tenantID, User: userID, Action: "member.restored", Entity: "user", EntityID: userID,
		Details: map[string]any{"role": changes[0].After["role"], "by": "sso"}, Client: c})
	tx.After(func() { s.Forget(userID) })
	return s.Tenants.TellMembers(tx, changes)
}

// federatedUser finds the account by the provider's subject, never by address:
// a password account with the same one is somebody else's. An address that the
// provider doubts changes nothing: f has the account's own then.
func (s *Federation) federatedUser(tx *db.Tx, f *Federated, c accounts.Client) (*accounts.User, error) {
	name := FederatedProvider(f.Connection)
	owner, err := ownerOf(tx, name, f.Issuer, f.Subject)
	if err == nil {
		u, err := accounts.LockedUser(tx, owner)
		if err != nil {
			return nil, err
		}
		if f.Doubted {
			f.Email = u.Email
		}
		return u, s.refreshFederated(tx, u, *f)
	}
	if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err := f.MayLink(); err != nil {
		return nil, err
	}
	var u *accounts.User
	if f.Account != "" {
		u, err = accounts.LockedUser(tx, f.Account)
	} else {
		u, err = s.MakeFederated(tx, f.TenantID, f.Email, f.Profile, c)
	}
	if err != nil {
		return nil, err
	}
	now := s.Now()
	id := accounts.Identity{IdentityID: db.NewID(), ID: f.Subject, UserID: u.ID, Provider: name, Issuer: f.Issuer,
		Email: f.Email, Data: federatedData(*f),
		LastSignInAt: accounts.Time{Time: now}, CreatedAt: accounts.Time{Time: now}, UpdatedAt: accounts.Time{Time: now}}
	accounts.InsertIdentity(tx, &id)
	u.Identities = append(u.Identities, id)
	u.Derive()
	s.Audit(tx, accounts.Event{Tenant: f.TenantID, User: u.ID, Action: "user.identity_linked", Entity: "user",
		EntityID: u.ID, Details: map[string]any{"provider": name}, Client: c})
	return u, tx.Flush()
}

func federatedData(f Federated) map[string]any {
	m := map[string]any{"sub": f.Subject, "provider_id": f.Subject, "iss": f.Issuer, "email": f.Email,
		"email_verified": true, "phone_verified": false}
	for k, v := range f.Profile {
		m[k] = v
	}
	return m
}

const refreshFederatedSQL = `
	UPDATE identities
	SET data = $4, email = $5, last_sign_in_at = $6, updated_at = $6
	WHERE provider = $1 AND issuer = $2 AND subject = $3`

// refreshFederated takes over what the provider says now: address and profile.
func (s *Federation) refreshFederated(tx *db.Tx, u *accounts.User, f Federated) error {
	now := s.Now()
	tx.Queue(refreshFederatedSQL,
		[]any{FederatedProvider(f.Connection), f.Issuer, f.Subject, accounts.WriteJSON(federatedData(f)), f.Email, now}, nil)
	if m, err := accounts.Merge(u.UserMetadata, f.Profile); err == nil {
		u.UserMetadata = m
	}
	if u.Email != f.Email {
		u.Email = f.Email
		tx.Queue(`
			UPDATE members
			SET email = $3, updated_at = $4
			WHERE tenant_id = $1
				AND user_id = $2`,
			[]any{f.TenantID, u.ID, f.Email, now}, nil)
	}
	tx.Queue(`
		UPDATE users
		SET email = $2, user_metadata = $3, updated_at = $4
		WHERE id = $1`,
		[]any{u.ID, u.Email, accounts.WriteJSON(u.UserMetadata), now}, nil)
	tx.After(func() { s.Forget(u.ID) })
	return tx.Flush()
}

// MakeFederated inserts an account that signs in at its provider only.
func (s *Federation) MakeFederated(
	tx *db.Tx, tenantID, email string, profile map[string]any, c accounts.Client,
) (*accounts.User, error) {
	u := s.Accounts.Draft(email, nil)
	u.SSO, u.EmailConfirmedAt, u.ConfirmedAt = true, u.CreatedAt, u.CreatedAt
	if m, err := accounts.Merge(u.UserMetadata, profile); err == nil {
		u.UserMetadata = m
	}
	if err := accounts.InsertUser(tx, u); err != nil {
		return nil, err
	}
	s.Audit(tx, accounts.Event{Tenant: tenantID, User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID,
		Details: map[string]any{"provider": "sso"}, Client: c})
	return u, nil
}

// JoinFederated makes a provisioned account an active member.
func (s *Federation) JoinFederated(
	tx *db.Tx, tenantID string, u *accounts.User, role actor.Role, c accounts.Client,
) error {
	return s.Tenants.AddMember(tx, tenantID, u, role, c)
}

// EndSessions ends every session of an account, and the authorization codes
// that would begin one.
func (s *Federation) EndSessions(tx *db.Tx, userID string) error {
	codes.EndFlows(tx, userID)
	return s.EndSessionsWhere(tx, userID, "")
}

// Misled is the address to send a browser to after a failed sign-in: the
// target with what went wrong in query and fragment.
func (s *Federation) Misled(target string, err error) string {
	s.Links.Ours(err)
	return s.Links.Failure(target, err, true)
}

// Note is a row of the audit log for packages above.
type Note struct {
	Tenant, User, Key string
	Action, Outcome   string // outcome "" = ok
	Entity, EntityID  string
	Details           map[string]any
	Client            accounts.Client
}

// Record queues an audit row in the transaction of the change.
func (s *Federation) Record(tx *db.Tx, n Note) {
	s.Audit(tx, accounts.Event{Tenant: n.Tenant, User: n.User, Key: n.Key, Action: n.Action, Outcome: n.Outcome,
		Entity: n.Entity, EntityID: n.EntityID, Details: n.Details, Client: n.Client})
}
