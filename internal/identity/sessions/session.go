package sessions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// EndAll ends every session of everybody, and with it every token that
// was given out, and writes an audit row with the action and details. It returns
// how many sessions ended.
func (s *Store) EndAll(ctx context.Context, action string, details map[string]any) (n int64, err error) {
	err = s.Write(ctx, func(tx *db.Tx) error {
		if n, err = tx.Exec("DELETE FROM sessions"); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Action: action, Details: details})
		return nil
	})
	return n, err
}

// Store begins, renews, changes and ends sessions, and issues their tokens.
type Store struct {
	*accounts.Base
	Invitations *tenants.Invitations
	Keyring     *keyring.Keyring
}

// Session is the answer to a successful sign-in.
type Session struct {
	AccessToken          string         `json:"access_token"`
	TokenType            string         `json:"token_type"`
	ExpiresIn            int64          `json:"expires_in"` // seconds
	ExpiresAt            int64          `json:"expires_at"` // Unix seconds
	RefreshToken         string         `json:"refresh_token"`
	User                 *accounts.User `json:"user"`
	ProviderToken        string         `json:"provider_token,omitempty"`
	ProviderRefreshToken string         `json:"provider_refresh_token,omitempty"`

	// at a sign-in with a password that would be refused by now
	WeakPassword *WeakPassword `json:"weak_password,omitempty"`
}

// WeakPassword is what the policy has against a password that let its owner in.
type WeakPassword struct {
	Message string   `json:"message"`
	Reasons []string `json:"reasons"` // length, characters, pwned
}

// Row is one row of sessions. The tenant is where it works now; whether it
// may is asked of the members table each time.
type Row struct {
	ID, user, Tenant, aal string
	AMR                   []token.Method
	counter               int64
	key                   []byte
	refreshed, notAfter   time.Time
	Created               time.Time
	factor                string    // what raised it to aal2: a factor, a passkey; "" = a recovery code
	floor                 int64     // refresh tokens below this counter are of aal1
	raised                time.Time // when it was raised
	arrived               time.Time // when an access token of the last refresh was first used
}

// Grant is what a sign-in or refresh decided inside its transaction; issue
// turns it into tokens after the commit, so that no signature is computed
// while a lock is held.
type Grant struct {
	user                           *accounts.User
	sess                           Row
	member                         accounts.Member
	rules                          accounts.Rules // of the member's tenant
	ProviderToken, ProviderRefresh string
}

// Begin opens a session: the invitation that the call names is accepted, the
// tenant is chosen, the row written.
func (s *Store) Begin(tx *db.Tx, u *accounts.User, how token.Method, c accounts.Client) (*Grant, error) {
	return s.BeginBy(tx, u, Entrance{How: how}, c)
}

// Entrance is how an account comes in.
type Entrance struct {
	How     token.Method
	Passkey string                    // id of one held by somebody its authenticator has recognised: two factors at once
	Belongs *accounts.UserMemberships // nil = to be asked
}

// BeginBy is Begin for an entrance that says more than its method.
func (s *Store) BeginBy(tx *db.Tx, u *accounts.User, in Entrance, c accounts.Client) (*Grant, error) {
	now, how, st := s.Now(), in.How, in.Belongs
	how.Timestamp = now.Unix()
	if u.Banned(now) {
		return nil, accounts.ErrBanned() // since the account was looked at
	}
	if c.Invite != "" {
		if err := s.Invitations.TakeUp(tx, u, c.Invite, c); err != nil {
			return nil, err
		}
		st = nil
	}
	if st == nil || st.Email != u.Email {
		var err error
		if st, err = accounts.MembershipsOf(tx, u); err != nil {
			return nil, err
		}
	}
	m := st.Home(u)
	sess := Row{ID: db.NewID(), user: u.ID, Tenant: m.TenantID, aal: aal1, AMR: []token.Method{how},
		key: []byte(secrets.RandomHex(16)), Created: now, notAfter: now.Add(s.Config.SessionTTL)}
	if in.Passkey != "" {
		sess.aal, sess.factor = accounts.AAL2, in.Passkey
	}
	if err := s.checkConnectionRules(tx, u, st, &sess); err != nil {
		return nil, err
	}
	g := &Grant{user: u, member: m, rules: st.Rules[m.TenantID]}
	if err := s.endOtherSessions(tx, sess, m, g.rules); err != nil {
		return nil, err
	}
	u.LastSignInAt = accounts.Time{Time: now}
	tx.Queue(`INSERT INTO sessions (id, user_id, tenant_id, aal, amr, counter, refresh_key, not_after, user_agent, address, created_at, updated_at, factor_id)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $10, $11)`,
		[]any{sess.ID, u.ID, db.Null(sess.Tenant), sess.aal, accounts.WriteJSON(sess.AMR), sess.key, sess.notAfter,
			clipAgent(c.UserAgent), db.Null(c.Address), now,
			db.Null(sess.factor)}, nil)
	u.SettledIn(tx, sess.Tenant)
	if err := u.Arrived(tx, now, sess.aal, c); err != nil {
		return nil, err
	}
	s.noteSeen(tx, sess.Tenant, u.ID, true)
	s.Audit(tx, accounts.Event{Tenant: m.TenantID, User: u.ID, Action: "session.started", Entity: "session",
		EntityID: sess.ID, Details: map[string]any{"method": how.Method}, Client: c})
	g.sess = sess
	return g, nil
}

const aal1 = "aal1"

// readTenantRules reads the rules of the tenant a session begins to work in, and ends
// the user's others there when it may be the only one.
func (s *Store) readTenantRules(tx *db.Tx, sess Row, m accounts.Member) (accounts.Rules, error) {
	ru, err := accounts.RulesOf(tx, m.TenantID)
	if err != nil {
		return ru, err
	}
	return ru, s.endOtherSessions(tx, sess, m, ru)
}

// endOtherSessions ends the user's other sessions in a tenant that allows one.
func (s *Store) endOtherSessions(tx *db.Tx, sess Row, m accounts.Member, ru accounts.Rules) error {
	if !ru.Single {
		return nil
	}
	return s.EndSessionsWhere(tx, sess.user, " AND id <> $2 AND tenant_id = $3", sess.ID, m.TenantID)
}

// StandingGrant is a grant for a session as it is: its membership may have
// ended, which leaves it without a tenant.
func StandingGrant(tx *db.Tx, u *accounts.User, sess Row) (*Grant, error) {
	g := queueGrant(tx, sess)
	g.user = u
	return g, tx.Flush()
}

// queueGrant reads membership and rules of a session at the next flush.
func queueGrant(tx *db.Tx, sess Row) *Grant {
	g := &Grant{sess: sess}
	if sess.Tenant == "" {
		return g
	}
	tx.Queue(accounts.MemberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{sess.Tenant, sess.user},
		func(r *db.Row) (err error) {
			g.member, err = accounts.ScanMember(r)
			return err
		})
	tx.Queue(accounts.RulesQuery, []any{sess.Tenant}, func(r *db.Row) error {
		if g.member.TenantID == "" {
			return nil
		}
		return g.rules.Add(r)
	})
	return g
}

const raiseSQL = `
	UPDATE sessions
	SET aal = $2, amr = $3, counter = $4, floor_counter = $4, raised_at = $5, factor_id = $6,
		updated_at = $5
	WHERE id = $1`

// Raise lifts a session to two factors. The refresh counter jumps by two, and
// no token from before the jump is good any more: a stolen one of the lower
// level must not turn into one of the higher.
func (s *Store) Raise(tx *db.Tx, sess *Row, method, factorID string) error {
	now := s.Now()
	sess.aal, sess.factor, sess.raised = accounts.AAL2, factorID, now
	sess.counter += 2
	sess.floor = sess.counter
	amr := []token.Method{{Method: method, Timestamp: now.Unix()}}
	for _, m := range sess.AMR {
		if m.Method != method {
			amr = append(amr, m)
		}
	}
	sess.AMR = amr
	_, err := tx.Exec(raiseSQL, sess.ID, sess.aal, accounts.WriteJSON(sess.AMR), sess.counter, now, db.Null(factorID))
	user := sess.user
	tx.After(func() { s.Forget(user) })
	return err
}

const lowerSQL = `
	SELECT id, amr FROM sessions WHERE user_id = $1 AND factor_id = $2 {for update}`

// Lower takes the second factor from the sessions that a factor raised; the
// tokens they hold fall back with them, because the lower of the two levels
// counts.
func (s *Store) Lower(tx *db.Tx, userID, factorID, method string) error {
	var list []Row
	err := tx.Query(lowerSQL, []any{userID, factorID}, func(r *db.Row) error {
		sess := Row{ID: r.Text(0)}
		err := json.Unmarshal([]byte(r.Text(1)), &sess.AMR)
		list = append(list, sess)
		return err
	})
	if err != nil {
		return err
	}
	for _, sess := range list {
		amr := slices.DeleteFunc(sess.AMR, func(m token.Method) bool { return m.Method == method && len(sess.AMR) > 1 })
		tx.Queue(`
			UPDATE sessions
			SET aal = 'aal1', factor_id = NULL, amr = $2, updated_at = $3
			WHERE id = $1`,
			[]any{sess.ID, accounts.WriteJSON(amr), s.Now()}, nil)
	}
	tx.After(func() { s.Forget(userID) })
	return tx.Flush()
}

// clipAgent makes of what a client calls itself a text that both engines take: a
// header may hold any bytes.
func clipAgent(agent string) any {
	return db.Null(accounts.CutText(strings.ToValidUTF8(strings.ReplaceAll(agent, "\x00", ""), ""), 300))
}

// Issue signs the tokens of a grant.
func (s *Store) Issue(g *Grant) (*Session, error) {
	g.user.WorksIn(g.member)
	now := s.Now()
	exp := now.Add(g.rules.TokenLife(s.Config.AccessTokenTTL))
	if g.sess.notAfter.Before(exp) {
		exp = g.sess.notAfter
	}
	access, err := s.Keyring.Signing.Load().Sign(token.Claims{
		Issuer: s.TokenIssuer, Subject: g.user.ID, Audience: token.Audience, Expires: exp.Unix(), IssuedAt: now.Unix(),
		NotBefore: now.Unix(),
		Email:     g.user.Email, Phone: g.user.Phone, AppMetadata: accounts.RawJSON(g.user.AppMetadata),
		UserMetadata: accounts.RawJSON(g.user.UserMetadata),
		Role:         databaseRole(g.user.Role),
		TenantID:     g.member.TenantID, TenantRole: string(g.member.Role), AAL: g.sess.aal, AMR: g.sess.AMR,
		SessionID: g.sess.ID, Anonymous: g.user.IsAnonymous,
	})
	if err != nil {
		return nil, err
	}
	refresh, err := token.NewRefresh(g.sess.ID, uint64(g.sess.counter), s.refreshKey(g.sess))
	if err != nil {
		return nil, err
	}
	return &Session{AccessToken: access, TokenType: "bearer", ExpiresIn: max(1, exp.Unix()-now.Unix()),
		ExpiresAt: exp.Unix(), RefreshToken: refresh, User: g.user,
		ProviderToken: g.ProviderToken, ProviderRefreshToken: g.ProviderRefresh}, nil
}

// databaseRole keeps the roles of API keys out of users' tokens, whatever an
// account's row says.
func databaseRole(role string) string {
	switch role {
	case "", token.RoleAnon, token.RoleService, token.RoleSupabaseAdmin, token.RoleAccount:
		return token.Audience
	}
	return role
}

// refreshKey mixes the row's key with a secret that is not in the database: a
// copy of the database mints nothing.
func (s *Store) refreshKey(sess Row) []byte {
	return s.Secrets.Sum("refresh", sess.ID, string(sess.key))
}

const sessionBySQL = `
	SELECT id, user_id, tenant_id, aal, amr, counter, refresh_key, refreshed_at, not_after,
		created_at, factor_id, floor_counter, raised_at, arrived_at
	FROM sessions
	WHERE id = $1
	{for update}`

// SessionBy finds and locks a session.
func SessionBy(tx *db.Tx, id string) (Row, error) {
	var out Row
	err := tx.One(sessionBySQL, []any{id}, func(r *db.Row) error {
		out = Row{ID: r.Text(0), user: r.Text(1), Tenant: r.Text(2), aal: r.Text(3), counter: r.Int(5), key: r.Bytes(6),
			refreshed: r.Time(7), notAfter: r.Time(8), Created: r.Time(9),
			factor: r.Text(10), floor: r.Int(11), raised: r.Time(12), arrived: r.Time(13)}
		return json.Unmarshal([]byte(r.Text(4)), &out.AMR)
	})
	return out, err
}

// Scopes of Logout.
const (
	LogoutGlobal = "global"
	LogoutLocal  = "local"
	LogoutOthers = "others"
)

// Logout ends sessions of the caller: all, this one, or all but this one.
func (s *Store) Logout(ctx context.Context, a actor.Actor, scope string) error {
	where, args := "", []any{}
	switch scope {
	case "", LogoutGlobal:
		scope = LogoutGlobal
	case LogoutLocal:
		where, args = " AND id = $2", []any{a.SessionID}
	case LogoutOthers:
		where, args = " AND id <> $2", []any{a.SessionID}
	default:
		return fault.New(fault.Invalid, "validation_failed", "Unsupported logout scope %q", scope)
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Action: "session.ended", Entity: "session",
			EntityID: a.SessionID, Details: map[string]any{"scope": scope}, Client: accounts.ClientOf(a)})
		return s.EndSessionsWhere(tx, a.UserID, where, args...)
	})
}

// Mailed reports a session that began without a password, by a proof that was
// mailed or texted: its owner may have forgotten the password.
func (sess Row) Mailed() bool {
	first := sess.AMR[max(0, len(sess.AMR)-1):] // the newest stands first
	return len(first) == 1 && slices.Contains([]string{"otp", "recovery", "magiclink", "invite"}, first[0].Method)
}
