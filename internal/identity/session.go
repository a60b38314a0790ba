package identity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// Sessions begins, renews, changes and ends sessions, and issues their tokens.
type Sessions struct {
	*Base
	invitations *Invitations
	keyring     *Keyring
}

// Session is the answer to a successful sign-in.
type Session struct {
	AccessToken          string `json:"access_token"`
	TokenType            string `json:"token_type"`
	ExpiresIn            int64  `json:"expires_in"` // seconds
	ExpiresAt            int64  `json:"expires_at"` // Unix seconds
	RefreshToken         string `json:"refresh_token"`
	User                 *User  `json:"user"`
	ProviderToken        string `json:"provider_token,omitempty"`
	ProviderRefreshToken string `json:"provider_refresh_token,omitempty"`

	WeakPassword *WeakPassword `json:"weak_password,omitempty"` // at a sign-in with a password that would be refused by now
}

// WeakPassword is what the policy has against a password that let its owner in.
type WeakPassword struct {
	Message string   `json:"message"`
	Reasons []string `json:"reasons"` // length, characters, pwned
}

// session is one row of sessions. The tenant is where it works now; whether it
// may is asked of the members table each time.
type session struct {
	id, user, tenant, aal string
	amr                   []token.Method
	counter               int64
	key                   []byte
	refreshed, notAfter   time.Time
	created               time.Time
	factor                string    // what raised it to aal2: a factor, a passkey; "" = a recovery code
	floor                 int64     // refresh tokens below this counter are of aal1
	raised                time.Time // when it was raised
	arrived               time.Time // when an access token of the last refresh was first used
}

// grant is what a sign-in or refresh decided inside its transaction; issue
// turns it into tokens after the commit, so that no signature is computed
// while a lock is held.
type grant struct {
	user                           *User
	sess                           session
	member                         Member
	rules                          rules // of the member's tenant
	providerToken, providerRefresh string
}

// begin opens a session: the invitation that the call names is accepted, the
// tenant is chosen, the row written.
func (s *Sessions) begin(tx *db.Tx, u *User, how token.Method, c Client) (*grant, error) {
	return s.beginBy(tx, u, entrance{how: how}, c)
}

// entrance is how an account comes in.
type entrance struct {
	how     token.Method
	passkey string     // id of one held by somebody its authenticator has recognised: two factors at once
	belongs *belonging // nil = to be asked
}

func (s *Sessions) beginBy(tx *db.Tx, u *User, in entrance, c Client) (*grant, error) {
	now, how, st := s.now(), in.how, in.belongs
	how.Timestamp = now.Unix()
	if u.banned(now) {
		return nil, errBanned() // since the account was looked at
	}
	if c.Invite != "" {
		if err := s.invitations.takeUp(tx, u, c.Invite, c); err != nil {
			return nil, err
		}
		st = nil
	}
	if st == nil || st.email != u.Email {
		var err error
		if st, err = belongingOf(tx, u); err != nil {
			return nil, err
		}
	}
	m := st.home(u)
	sess := session{id: newID(), user: u.ID, tenant: m.TenantID, aal: aal1, amr: []token.Method{how}, key: []byte(seal.RandomHex(16)), created: now,
		notAfter: now.Add(s.cfg.SessionTTL)}
	if in.passkey != "" {
		sess.aal, sess.factor = aal2, in.passkey
	}
	if err := s.federate(tx, u, st, &sess); err != nil {
		return nil, err
	}
	g := &grant{user: u, member: m, rules: st.rules[m.TenantID]}
	if err := s.alone(tx, sess, m, g.rules); err != nil {
		return nil, err
	}
	u.LastSignInAt = Time{Time: now}
	tx.Queue(`INSERT INTO sessions (id, user_id, tenant_id, aal, amr, counter, refresh_key, not_after, user_agent, address, created_at, updated_at, factor_id)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $10, $11)`,
		[]any{sess.id, u.ID, null(sess.tenant), sess.aal, writeJSON(sess.amr), sess.key, sess.notAfter, clip(c.UserAgent), null(c.Address), now,
			null(sess.factor)}, nil)
	u.settledIn(tx, sess.tenant)
	if err := u.arrived(tx, now, sess.aal, c); err != nil {
		return nil, err
	}
	s.seen(tx, sess.tenant, u.ID, true)
	s.record(tx, event{tenant: m.TenantID, user: u.ID, action: "session.started", entity: "session", entityID: sess.id,
		details: map[string]any{"method": how.Method}, client: c})
	g.sess = sess
	return g, nil
}

// Authenticator assurance levels: one factor, or two.
const (
	aal1 = "aal1"
	aal2 = "aal2"
)

// settle reads the rules of the tenant a session begins to work in, and ends
// the user's others there when it may be the only one.
func (s *Sessions) settle(tx *db.Tx, sess session, m Member) (rules, error) {
	ru, err := rulesOf(tx, m.TenantID)
	if err != nil {
		return ru, err
	}
	return ru, s.alone(tx, sess, m, ru)
}

// alone ends the user's other sessions in a tenant that allows one.
func (s *Sessions) alone(tx *db.Tx, sess session, m Member, ru rules) error {
	if !ru.single {
		return nil
	}
	return s.endSessions(tx, sess.user, " AND id <> $2 AND tenant_id = $3", sess.id, m.TenantID)
}

// standingGrant is a grant for a session as it is: its membership may have
// ended, which leaves it without a tenant.
func standingGrant(tx *db.Tx, u *User, sess session) (*grant, error) {
	g := queueGrant(tx, sess)
	g.user = u
	return g, tx.Flush()
}

// queueGrant reads membership and rules of a session at the next flush.
func queueGrant(tx *db.Tx, sess session) *grant {
	g := &grant{sess: sess}
	if sess.tenant == "" {
		return g
	}
	tx.Queue(memberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{sess.tenant, sess.user}, func(r *db.Row) (err error) {
		g.member, err = scanMember(r)
		return err
	})
	tx.Queue(rulesQuery, []any{sess.tenant}, func(r *db.Row) error {
		if g.member.TenantID == "" {
			return nil
		}
		return g.rules.add(r)
	})
	return g
}

// raise lifts a session to two factors. The refresh counter jumps by two, and
// no token from before the jump is good any more: a stolen one of the lower
// level must not turn into one of the higher.
func (s *Sessions) raise(tx *db.Tx, sess *session, method, factorID string) error {
	now := s.now()
	sess.aal, sess.factor, sess.raised = aal2, factorID, now
	sess.counter += 2
	sess.floor = sess.counter
	amr := []token.Method{{Method: method, Timestamp: now.Unix()}}
	for _, m := range sess.amr {
		if m.Method != method {
			amr = append(amr, m)
		}
	}
	sess.amr = amr
	_, err := tx.Exec("UPDATE sessions SET aal = $2, amr = $3, counter = $4, floor_counter = $4, raised_at = $5, factor_id = $6, updated_at = $5 WHERE id = $1",
		sess.id, sess.aal, writeJSON(sess.amr), sess.counter, now, null(factorID))
	user := sess.user
	tx.After(func() { s.Forget(user) })
	return err
}

// lower takes the second factor from the sessions that a factor raised; the
// tokens they hold fall back with them, because the lower of the two levels
// counts.
func (s *Sessions) lower(tx *db.Tx, userID, factorID, method string) error {
	var list []session
	err := tx.Query("SELECT id, amr FROM sessions WHERE user_id = $1 AND factor_id = $2"+tx.DB().ForUpdate(), []any{userID, factorID}, func(r *db.Row) error {
		sess := session{id: r.Text(0)}
		err := json.Unmarshal([]byte(r.Text(1)), &sess.amr)
		list = append(list, sess)
		return err
	})
	if err != nil {
		return err
	}
	for _, sess := range list {
		amr := slices.DeleteFunc(sess.amr, func(m token.Method) bool { return m.Method == method && len(sess.amr) > 1 })
		tx.Queue("UPDATE sessions SET aal = 'aal1', factor_id = NULL, amr = $2, updated_at = $3 WHERE id = $1", []any{sess.id, writeJSON(amr), s.now()}, nil)
	}
	tx.After(func() { s.Forget(userID) })
	return tx.Flush()
}

// clip makes of what a client calls itself a text that both engines take: a
// header may hold any bytes.
func clip(agent string) any {
	return null(cut(strings.ToValidUTF8(strings.ReplaceAll(agent, "\x00", ""), ""), 300))
}

// issue signs the tokens of a grant.
func (s *Sessions) issue(g *grant) (*Session, error) {
	g.user.in(g.member)
	now := s.now()
	exp := now.Add(g.rules.tokenLife(s.cfg.AccessTokenTTL))
	if g.sess.notAfter.Before(exp) {
		exp = g.sess.notAfter
	}
	access, err := s.keyring.keys.Load().Sign(token.Claims{
		Issuer: s.issuer, Subject: g.user.ID, Audience: token.Audience, Expires: exp.Unix(), IssuedAt: now.Unix(), NotBefore: now.Unix(),
		Email: g.user.Email, Phone: g.user.Phone, AppMetadata: raw(g.user.AppMetadata), UserMetadata: raw(g.user.UserMetadata), Role: databaseRole(g.user.Role),
		TenantID: g.member.TenantID, TenantRole: string(g.member.Role), AAL: g.sess.aal, AMR: g.sess.amr, SessionID: g.sess.id, Anonymous: g.user.IsAnonymous,
	})
	if err != nil {
		return nil, err
	}
	refresh, err := token.NewRefresh(g.sess.id, uint64(g.sess.counter), s.refreshKey(g.sess))
	if err != nil {
		return nil, err
	}
	return &Session{AccessToken: access, TokenType: "bearer", ExpiresIn: max(1, exp.Unix()-now.Unix()), ExpiresAt: exp.Unix(), RefreshToken: refresh, User: g.user,
		ProviderToken: g.providerToken, ProviderRefreshToken: g.providerRefresh}, nil
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
func (s *Sessions) refreshKey(sess session) []byte {
	return s.secrets.Sum("refresh", sess.id, string(sess.key))
}

func sessionBy(tx *db.Tx, id string) (session, error) {
	var out session
	err := tx.One(`SELECT id, user_id, tenant_id, aal, amr, counter, refresh_key, refreshed_at, not_after, created_at, factor_id, floor_counter, raised_at,
		arrived_at FROM sessions WHERE id = $1`+tx.DB().ForUpdate(),
		[]any{id}, func(r *db.Row) error {
			out = session{id: r.Text(0), user: r.Text(1), tenant: r.Text(2), aal: r.Text(3), counter: r.Int(5), key: r.Bytes(6), refreshed: r.Time(7),
				notAfter: r.Time(8), created: r.Time(9),
				factor: r.Text(10), floor: r.Int(11), raised: r.Time(12), arrived: r.Time(13)}
			return json.Unmarshal([]byte(r.Text(4)), &out.amr)
		})
	return out, err
}

// endSessions deletes the sessions that where names and empties the cache.
func (s *Base) endSessions(tx *db.Tx, userID, where string, args ...any) error {
	_, err := tx.Exec("DELETE FROM sessions WHERE user_id = $1"+where, append([]any{userID}, args...)...)
	tx.After(func() { s.Forget(userID) })
	return err
}

// Scopes of Logout.
const (
	LogoutGlobal = "global"
	LogoutLocal  = "local"
	LogoutOthers = "others"
)

// Logout ends sessions of the caller: all, this one, or all but this one.
func (s *Sessions) Logout(ctx context.Context, a actor.Actor, scope string) error {
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
	return s.write(ctx, func(tx *db.Tx) error {
		s.record(tx, event{tenant: a.TenantID, user: a.UserID, action: "session.ended", entity: "session", entityID: a.SessionID,
			details: map[string]any{"scope": scope}, client: clientOf(a)})
		return s.endSessions(tx, a.UserID, where, args...)
	})
}
