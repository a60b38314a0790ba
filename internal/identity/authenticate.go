package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// Authenticator says who a request is from.
type Authenticator struct {
	*Base
	keyring         *Keyring
	proofs          *Proofs
	serviceAccounts *ServiceAccounts
}

// Credential is what a request shows of itself.
type Credential struct {
	Bearer       string // without "Bearer "
	APIKey       string // header apikey
	Address      string
	UserAgent    string
	Origin       string // header Origin
	SecFetchSite string // header Sec-Fetch-Site
	Cookie       bool   // a Cookie header is present
	RequestID    string
}

// CheckAudience refuses what the header X-JWT-AUD asks for, unless it is nothing
// or the one audience that accounts and tokens have here.
func CheckAudience(asked string) error {
	if asked == "" || asked == token.Audience {
		return nil
	}
	return fault.New(fault.Forbidden, "unexpected_audience", "Request audience does not match the audience of this server's tokens")
}

// Authenticate says who is asking. No credential, or the publishable key, is
// the anonymous actor; a bad one is fault.Unauthorized with GoTrue's code.
// Role, tenant, plan and zones come from membership rows, never from metadata.
// A session that lacks the second factor its tenant asks for is
// fault.Forbidden, insufficient_aal.
func (s *Authenticator) Authenticate(ctx context.Context, c Credential) (actor.Actor, error) {
	a, mfa, err := s.authenticate(ctx, c)
	if err == nil {
		err = mfa
	}
	return s.named(a, c, err)
}

// Identify is Authenticate without the tenant's demand for a second factor:
// for the account's own endpoints, where the factor is given.
func (s *Authenticator) Identify(ctx context.Context, c Credential) (actor.Actor, error) {
	a, _, err := s.authenticate(ctx, c)
	return s.named(a, c, err)
}

func (s *Authenticator) named(a actor.Actor, c Credential, err error) (actor.Actor, error) {
	if err != nil {
		return actor.Actor{}, err
	}
	a.Address, a.RequestID = c.Address, c.RequestID
	return a, nil
}

func (s *Authenticator) authenticate(ctx context.Context, c Credential) (a actor.Actor, mfa, err error) {
	switch {
	case c.Bearer == "" && c.APIKey == "":
		return actor.Actor{Role: actor.Anon}, nil, nil
	case c.Bearer == "":
		a, err = s.byAPIKey(ctx, c.APIKey, c)
		return a, nil, err
	case opaque(c.Bearer):
		a, err = s.byAPIKey(ctx, c.Bearer, c)
		return a, nil, err
	}
	v, err := s.verify(ctx, c.Bearer)
	if err != nil {
		return actor.Actor{}, nil, err
	}
	if v.session == "" {
		a, err = s.keyActor(ctx, v, c)
		return a, nil, err
	}
	st, err := s.standingOf(ctx, v)
	if err != nil {
		return actor.Actor{}, nil, err
	}
	return st.actor, st.mfa, st.err
}

// verify checks a token once and remembers it by its hash.
func (s *Authenticator) verify(ctx context.Context, raw string) (*verified, error) {
	if len(raw) > 16<<10 {
		return nil, fault.New(fault.Unauthorized, "bad_jwt", "invalid JWT: unable to parse or verify signature, token is too long")
	}
	// A buffer on the stack: a copy of every token on the heap would be all a
	// cached request allocates.
	var buf [2048]byte
	h := sha256.Sum256(append(buf[:0], raw...))
	now := s.now()
	if v := s.tokens.get(h); v != nil && now.Unix() < v.expires {
		return v, nil
	}
	ks := s.keyring.keys.Load()
	claims, err := ks.Verify(raw, s.issuer, now)
	if err != nil && s.unknownKey(ks, raw) {
		if err := s.keyring.loadKeys(ctx); err != nil {
			return nil, err
		}
		claims, err = s.keyring.keys.Load().Verify(raw, s.issuer, now)
	}
	if err != nil {
		return nil, err
	}
	v := &verified{user: claims.Subject, session: claims.SessionID, tenant: claims.TenantID, expires: claims.Expires, issued: claims.IssuedAt,
		role: claims.Role, aal: claims.AAL, key: claims.ID, scope: claims.Scope}
	s.tokens.put(h, v)
	return v, nil
}

// unknownKey reports a key id this node has not seen: another node may have
// rotated. Asked at most every few seconds, so forged ids cost nothing.
func (s *Authenticator) unknownKey(ks *signingKeys, raw string) bool {
	kid := token.Header(raw)
	age := s.now().Sub(ks.at)
	return kid != "" && !ks.Has(kid) && (age < 0 || age > standingTTL)
}

// byAPIKey takes an opaque key, or a key in JWT form in the apikey header. An
// unknown publishable key is nobody; an unknown secret one is refused.
func (s *Authenticator) byAPIKey(ctx context.Context, key string, c Credential) (actor.Actor, error) {
	if !opaque(key) {
		v, err := s.verify(ctx, key)
		if err != nil || v.session != "" {
			// An apikey that is no key identifies no project, and a user's
			// token does not belong into this header.
			return actor.Actor{Role: actor.Anon}, ignore(err)
		}
		return s.keyActor(ctx, v, c)
	}
	if strings.HasPrefix(key, token.TenantPrefix) {
		return s.serviceAccounts.byKey(ctx, key, c)
	}
	keys, err := s.keyring.currentAPIKeys(ctx)
	if err != nil {
		return actor.Actor{}, err
	}
	h := seal.Digest(key)
	k := keys.byHash[h]
	ok := k.live(s.now())
	switch {
	case ok && k.kind == kindSecret:
		return s.serviceActor(k.id, c)
	case strings.HasPrefix(key, token.SecretPrefix):
		return actor.Actor{}, fault.New(fault.Unauthorized, "no_authorization", "Invalid API key")
	case !ok:
		return actor.Actor{Role: actor.Anon}, nil
	}
	return actor.Actor{Role: actor.Anon, KeyID: k.id}, nil
}

// ignore keeps only the errors that are ours.
func ignore(err error) error {
	if fault.Is(err, fault.Unauthorized) {
		return nil
	}
	return err
}

// keyActor is an API key in JWT form. One that names a key of ours dies with
// it; one the operator made with the configured secret has no id.
func (s *Authenticator) keyActor(ctx context.Context, v *verified, c Credential) (actor.Actor, error) {
	if v.role == token.RoleAccount {
		return s.serviceAccounts.byToken(ctx, v, c)
	}
	if v.key != "" {
		keys, err := s.keyring.currentAPIKeys(ctx)
		if err != nil {
			return actor.Actor{}, err
		}
		if !keys.byID[v.key].live(s.now()) {
			return actor.Actor{}, fault.New(fault.Unauthorized, "no_authorization", "This API key was revoked")
		}
	}
	id := v.key
	if id == "" {
		id = jwtKey + v.role
	}
	if v.role == token.RoleService || v.role == token.RoleSupabaseAdmin {
		return s.serviceActor(id, c)
	}
	return actor.Actor{Role: actor.Anon, KeyID: id}, nil
}

// serviceActor refuses the service key wherever a browser is at work: it was
// shipped to one by mistake. Sec-Fetch-Mode is not looked at, because Node's
// own fetch sends it. It is refused as well from where the operator has none.
func (s *Authenticator) serviceActor(id string, c Credential) (actor.Actor, error) {
	if c.browser() {
		return actor.Actor{}, s.keyring.refuseKey(id, "browser", c, fault.New(fault.Unauthorized, "no_authorization",
			"The service key must not be used in a browser"))
	}
	if !s.keyring.fromHome(c.Address) {
		return actor.Actor{}, s.keyring.refuseKey(id, "address", c, fault.New(fault.Forbidden, "no_authorization",
			"The service key is not accepted from the address %s", cmp.Or(c.Address, "of this request")))
	}
	return actor.Actor{Role: actor.Service, KeyID: id}, nil
}

// browser reports a request that a browser made.
func (c *Credential) browser() bool {
	return c.Origin != "" || c.SecFetchSite != "" || c.Cookie || strings.HasPrefix(c.UserAgent, "Mozilla/")
}

// standingOf returns what the token's session may do now, from memory when
// that is fresh.
func (s *Authenticator) standingOf(ctx context.Context, v *verified) (*standing, error) {
	if st := v.standing.Load(); st != nil {
		if age := s.now().Sub(st.at); age >= 0 && age < standingTTL {
			return st, nil
		}
	}
	gen := s.tokens.gen.Load()
	st, err := s.readStanding(ctx, v)
	if err != nil {
		return nil, err
	}
	if s.tokens.gen.Load() == gen {
		v.standing.Store(st)
	}
	return st, nil
}

// readStanding loads session, user and membership by (sub, session, tenant of
// the token): the token means the tenant it was minted for, wherever the
// session has moved since.
func (s *Authenticator) readStanding(ctx context.Context, v *verified) (*standing, error) {
	st := &standing{at: s.now()}
	var found struct {
		user, session      bool
		bannedUntil, until time.Time
		created, refreshed time.Time
		aal                string
		managed            bool
		waits              bool // the last refresh, for a use of what it issued
	}
	var ru rules
	var m Member
	scope := db.Scope{Tenant: v.tenant, User: v.user}
	err := s.db.Read(ctx, scope, func(tx *db.Tx) error {
		st.actor = actor.Actor{UserID: v.user, SessionID: v.session}
		tx.Queue("SELECT banned_until, is_sso FROM users WHERE id = $1 AND deleted_at IS NULL", []any{v.user}, func(r *db.Row) error {
			found.user, found.bannedUntil, found.managed = true, r.Time(0), r.Bool(1)
			return nil
		})
		tx.Queue("SELECT not_after, refreshed_at, aal, "+sessionTimes+", arrived_at FROM sessions WHERE id = $1 AND user_id = $2",
			[]any{v.session, v.user}, func(r *db.Row) error {
				found.waits = !r.Null(1) && r.Null(6) && v.issued >= r.Time(1).Unix()
				found.session, found.until, found.refreshed, found.aal, found.created = true, r.Time(0), r.Time(1), r.Text(2), r.Time(3)
				st.actor.Proved = lastProof(r, 3)
				return nil
			})
		tx.Queue("SELECT 1 FROM mfa_factors WHERE user_id = $1 AND status = $2 LIMIT 1", []any{v.user, factor.Verified}, func(*db.Row) error {
			st.actor.Guarded = true
			return nil
		})
		if v.tenant != "" {
			ru = rules{}
			tx.Queue(rulesQuery, []any{v.tenant}, ru.add)
			tx.Queue(memberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{v.tenant, v.user}, func(r *db.Row) (err error) {
				m, err = scanMember(r)
				st.actor.TenantID, st.actor.Role, st.actor.WorkerID, st.actor.ZoneIDs = m.TenantID, m.Role, m.WorkerID, m.ZoneIDs
				st.actor.Plan, st.actor.Suspended = m.Plan, m.Status == "suspended"
				return err
			})
		}
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	if found.session && found.waits {
		if err := s.proofs.answered(ctx, v.session); err != nil {
			s.cfg.Log.Warn("the use of a refreshed session is not noted; a copy of its refresh token is not told apart", "error", err)
		}
	}
	// The lower of the token's and the session's level: a token from before
	// the second factor stays what it was, and one from after falls with it.
	st.actor.AAL = min(v.aal, found.aal)
	if st.actor.AAL != aal2 {
		st.mfa = s.proofs.lacks(ru, m, st.actor.Guarded, found.managed)
	}
	switch now := s.now(); {
	case !found.user:
		st.err = fault.New(fault.Unauthorized, "user_not_found", "User from sub claim in JWT does not exist")
	case now.Before(found.bannedUntil):
		// Before the session, which the ban has ended.
		st.err = fault.New(fault.Unauthorized, "user_banned", "User is banned")
	case !found.session || !now.Before(found.until) || ru.over(found.created, found.refreshed, now):
		st.err = sessionGone(nil)
	}
	return st, nil
}

// sessionGone is the answer for a token whose session ended; any error but an
// absent row is passed on, because a busy database must not sign people out.
func sessionGone(err error) error {
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.Wrap(err, fault.Unauthorized, "session_not_found", "Session from session_id claim in JWT does not exist")
}
