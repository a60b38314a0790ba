package identity

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/seal"
	"holdfast/internal/identity/token"
)

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
}

// grant is what a sign-in or refresh decided inside its transaction; issue
// turns it into tokens after the commit, so that no signature is computed
// while a lock is held.
type grant struct {
	user                           *User
	sess                           session
	member                         Member
	providerToken, providerRefresh string
}

// begin opens a session: standing invitations are accepted, the tenant is
// chosen, the row written.
func (s *Service) begin(tx *db.Tx, u *User, how token.Method, c Client) (*grant, error) {
	now := s.now()
	how.Timestamp = now.Unix()
	m, err := s.enter(tx, u, c)
	if err != nil {
		return nil, err
	}
	sess := session{id: newID(), user: u.ID, tenant: m.TenantID, aal: "aal1", amr: []token.Method{how}, key: []byte(seal.RandomHex(16)), created: now, notAfter: now.Add(s.cfg.SessionTTL)}
	u.LastSignInAt = Time{Time: now}
	tx.Queue(`INSERT INTO sessions (id, user_id, tenant_id, aal, amr, counter, refresh_key, not_after, user_agent, address, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $10)`,
		[]any{sess.id, u.ID, null(sess.tenant), sess.aal, writeJSON(sess.amr), sess.key, sess.notAfter, clip(c.UserAgent), null(c.Address), now}, nil)
	tx.Queue("UPDATE users SET last_sign_in_at = $2 WHERE id = $1", []any{u.ID, now}, nil)
	s.record(tx, event{tenant: m.TenantID, user: u.ID, action: "session.started", entity: "session", entityID: sess.id, details: map[string]any{"method": how.Method}, client: c})
	return &grant{user: u, sess: sess, member: m}, tx.Flush()
}

// enter accepts what the account is invited to and chooses its tenant.
func (s *Service) enter(tx *db.Tx, u *User, c Client) (Member, error) {
	if !u.EmailConfirmedAt.IsZero() {
		if err := s.acceptInvitations(tx, u, c); err != nil {
			return Member{}, err
		}
	}
	return s.homeTenant(tx, u)
}

func clip(s string) any {
	if len(s) > 300 {
		s = s[:300]
	}
	return null(s)
}

// issue signs the tokens of a grant.
func (s *Service) issue(g *grant) (*Session, error) {
	g.user.in(g.member)
	now := s.now()
	exp := now.Add(s.cfg.AccessTokenTTL)
	if g.sess.notAfter.Before(exp) {
		exp = g.sess.notAfter
	}
	access, err := s.keys.Load().Sign(token.Claims{
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
	case "", token.RoleAnon, token.RoleService, token.RoleSupabaseAdmin:
		return token.Audience
	}
	return role
}

// refreshKey mixes the row's key with a secret that is not in the database: a
// copy of the database mints nothing.
func (s *Service) refreshKey(sess session) []byte {
	return s.secrets.Sum("refresh", sess.id, string(sess.key))
}

func sessionBy(tx *db.Tx, id string) (session, error) {
	var out session
	err := tx.One(`SELECT id, user_id, tenant_id, aal, amr, counter, refresh_key, refreshed_at, not_after, created_at FROM sessions WHERE id = $1`+tx.DB().ForUpdate(),
		[]any{id}, func(r *db.Row) error {
			out = session{id: r.Text(0), user: r.Text(1), tenant: r.Text(2), aal: r.Text(3), counter: r.Int(5), key: r.Bytes(6), refreshed: r.Time(7), notAfter: r.Time(8), created: r.Time(9)}
			return json.Unmarshal([]byte(r.Text(4)), &out.amr)
		})
	return out, err
}

// endSessions deletes the sessions that where names and empties the cache.
func (s *Service) endSessions(tx *db.Tx, userID, where string, args ...any) error {
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
func (s *Service) Logout(ctx context.Context, a actor.Actor, scope string) error {
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
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		s.record(tx, event{tenant: a.TenantID, user: a.UserID, action: "session.ended", entity: "session", entityID: a.SessionID, details: map[string]any{"scope": scope}, client: clientOf(a)})
		return s.endSessions(tx, a.UserID, where, args...)
	})
}
