package sessions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// ServiceKey reports a request that shows the service key, alone or as bearer, to
// a route that asks for no credential, and keeps that as a use of it.
func (s *Authenticator) ServiceKey(ctx context.Context, c accounts.Credential, method, route string) bool {
	key := c.Bearer
	if key == "" {
		key = c.APIKey
	}
	if key == "" {
		return false
	}
	a, err := s.byAPIKey(ctx, key, c)
	if err != nil || a.Role != actor.Service {
		return false
	}
	s.Keyring.KeyUsed(keyring.KeyUse{Key: a.KeyID, Address: c.Address, Method: method, Route: route}, c.RequestID)
	return true
}

// Authenticator says who a request is from.
type Authenticator struct {
	*accounts.Base
	Keyring         *keyring.Keyring
	Proofs          *accounts.Proofs
	ServiceAccounts *ServiceAccounts
}

// CheckAudience refuses what the header X-JWT-AUD asks for, unless it is nothing
// or the one audience that accounts and tokens have here.
func CheckAudience(asked string) error {
	if asked == "" || asked == token.Audience {
		return nil
	}
	return fault.New(fault.Forbidden, "unexpected_audience",
		"Request audience does not match the audience of this server's tokens")
}

// Authenticate says who is asking. No credential, or the publishable key, is
// the anonymous actor; a bad one is fault.Unauthorized with GoTrue's code.
// Role, tenant, plan and zones come from membership rows, never from metadata.
// A session that lacks the second factor its tenant asks for is
// fault.Forbidden, insufficient_aal.
func (s *Authenticator) Authenticate(ctx context.Context, c accounts.Credential) (actor.Actor, error) {
	a, mfa, err := s.authenticateCredential(ctx, c)
	if err == nil {
		err = mfa
	}
	return s.withClient(a, c, err)
}

// Identify is Authenticate without the tenant's demand for a second factor:
// for the account's own endpoints, where the factor is given.
func (s *Authenticator) Identify(ctx context.Context, c accounts.Credential) (actor.Actor, error) {
	a, _, err := s.authenticateCredential(ctx, c)
	return s.withClient(a, c, err)
}

func (s *Authenticator) withClient(a actor.Actor, c accounts.Credential, err error) (actor.Actor, error) {
	if err != nil {
		return actor.Actor{}, err
	}
	a.Address, a.RequestID = c.Address, c.RequestID
	return a, nil
}

func (s *Authenticator) authenticateCredential(
	ctx context.Context, c accounts.Credential,
) (a actor.Actor, mfa, err error) {
	switch {
	case c.Bearer == "" && c.APIKey == "":
		return actor.Actor{Role: actor.Anon}, nil, nil
	case c.Bearer == "":
		a, err = s.byAPIKey(ctx, c.APIKey, c)
		return a, nil, err
	case accounts.Opaque(c.Bearer):
		a, err = s.byAPIKey(ctx, c.Bearer, c)
		return a, nil, err
	}
	v, err := s.verifyToken(ctx, c.Bearer)
	if err != nil {
		return actor.Actor{}, nil, err
	}
	if v.Session == "" {
		a, err = s.keyActor(ctx, v, c)
		return a, nil, err
	}
	st, err := s.standingOf(ctx, v)
	if err != nil {
		return actor.Actor{}, nil, err
	}
	return st.Actor, st.MFA, st.Err
}

// verifyToken checks a token once and remembers it by its hash.
func (s *Authenticator) verifyToken(ctx context.Context, raw string) (*accounts.Verified, error) {
	if len(raw) > 16<<10 {
		return nil, fault.New(fault.Unauthorized, "bad_jwt",
			"invalid JWT: unable to parse or verify signature, token is too long")
	}
	// A buffer on the stack: a copy of every token on the heap would be all a
	// cached request allocates.
	var buf [2048]byte
	h := sha256.Sum256(append(buf[:0], raw...))
	now := s.Now()
	if v := s.Tokens.Get(h); v != nil && now.Unix() < v.Expires {
		return v, nil
	}
	ks := s.Keyring.Signing.Load()
	claims, err := ks.Verify(raw, s.TokenIssuer, now)
	if err != nil && s.unknownKey(ks, raw) {
		if err := s.Keyring.LoadKeys(ctx); err != nil {
			return nil, err
		}
		claims, err = s.Keyring.Signing.Load().Verify(raw, s.TokenIssuer, now)
	}
	if err != nil {
		return nil, err
	}
	v := &accounts.Verified{User: claims.Subject, Session: claims.SessionID, Tenant: claims.TenantID,
		Expires: claims.Expires, Issued: claims.IssuedAt,
		Role: claims.Role, AAL: claims.AAL, Key: claims.ID, Scope: claims.Scope}
	s.Tokens.Put(h, v)
	return v, nil
}

// unknownKey reports a key id this node has not seen: another node may have
// rotated. Asked at most every few seconds, so forged ids cost nothing.
func (s *Authenticator) unknownKey(ks *keyring.SigningKeys, raw string) bool {
	kid := token.Header(raw)
	age := s.Now().Sub(ks.At)
	return kid != "" && !ks.Has(kid) && (age < 0 || age > accounts.StandingTTL)
}

// byAPIKey takes an opaque key, or a key in JWT form in the apikey header. An
// unknown publishable key is nobody; an unknown secret one is refused.
func (s *Authenticator) byAPIKey(ctx context.Context, key string, c accounts.Credential) (actor.Actor, error) {
	if !accounts.Opaque(key) {
		v, err := s.verifyToken(ctx, key)
		if err != nil || v.Session != "" {
			// An apikey that is no key identifies no project, and a user's
			// token does not belong into this header.
			return actor.Actor{Role: actor.Anon}, keepOurErrors(err)
		}
		return s.keyActor(ctx, v, c)
	}
	if strings.HasPrefix(key, token.TenantPrefix) {
		return s.ServiceAccounts.byKey(ctx, key, c)
	}
	keys, err := s.Keyring.CurrentAPIKeys(ctx)
	if err != nil {
		return actor.Actor{}, err
	}
	h := secrets.Digest(key)
	k := keys.ByHash[h]
	ok := k.Live(s.Now())
	switch {
	case ok && k.Kind == keyring.KindSecret:
		return s.serviceActor(k.ID, c)
	case strings.HasPrefix(key, token.SecretPrefix):
		return actor.Actor{}, fault.New(fault.Unauthorized, "no_authorization", "Invalid API key")
	case !ok:
		return actor.Actor{Role: actor.Anon}, nil
	}
	return actor.Actor{Role: actor.Anon, KeyID: k.ID}, nil
}

// keepOurErrors keeps only the errors that are ours.
func keepOurErrors(err error) error {
	if fault.Is(err, fault.Unauthorized) {
		return nil
	}
	return err
}

// keyActor is an API key in JWT form. One that names a key of ours dies with
// it; one the operator made with the configured secret has no id.
func (s *Authenticator) keyActor(
	ctx context.Context, v *accounts.Verified, c accounts.Credential,
) (actor.Actor, error) {
	if v.Role == token.RoleAccount {
		return s.ServiceAccounts.byToken(ctx, v, c)
	}
	if v.Key != "" {
		keys, err := s.Keyring.CurrentAPIKeys(ctx)
		if err != nil {
			return actor.Actor{}, err
		}
		if !keys.ByID[v.Key].Live(s.Now()) {
			return actor.Actor{}, fault.New(fault.Unauthorized, "no_authorization", "This API key was revoked")
		}
	}
	id := v.Key
	if id == "" {
		id = keyring.JWTKey + v.Role
	}
	if v.Role == token.RoleService || v.Role == token.RoleSupabaseAdmin {
		return s.serviceActor(id, c)
	}
	return actor.Actor{Role: actor.Anon, KeyID: id}, nil
}

// serviceActor refuses the service key wherever a browser is at work: it was
// shipped to one by mistake. Sec-Fetch-Mode is not looked at, because Node's
// own fetch sends it. It is refused as well from where the operator has none.
func (s *Authenticator) serviceActor(id string, c accounts.Credential) (actor.Actor, error) {
	if c.Browser() {
		return actor.Actor{}, s.Keyring.RefuseKey(id, "browser", c, fault.New(fault.Unauthorized, "no_authorization",
			"The service key must not be used in a browser"))
	}
	if !s.Keyring.FromHome(c.Address) {
		return actor.Actor{}, s.Keyring.RefuseKey(id, "address", c, fault.New(fault.Forbidden, "no_authorization",
			"The service key is not accepted from the address %s", cmp.Or(c.Address, "of this request")))
	}
	return actor.Actor{Role: actor.Service, KeyID: id}, nil
}

// standingOf returns what the token's session may do now, from memory when
// that is fresh.
func (s *Authenticator) standingOf(ctx context.Context, v *accounts.Verified) (*accounts.Standing, error) {
	if st := v.Standing.Load(); st != nil {
		if age := s.Now().Sub(st.At); age >= 0 && age < accounts.StandingTTL {
			return st, nil
		}
	}
	gen := s.Tokens.Gen.Load()
	st, err := s.readStanding(ctx, v)
	if err != nil {
		return nil, err
	}
	if s.Tokens.Gen.Load() == gen {
		v.Standing.Store(st)
	}
	return st, nil
}

// readStanding loads session, user and membership by (sub, session, tenant of
// the token): the token means the tenant it was minted for, wherever the
// session has moved since.
func (s *Authenticator) readStanding(ctx context.Context, v *accounts.Verified) (*accounts.Standing, error) {
	st := &accounts.Standing{At: s.Now()}
	var found struct {
		user, session      bool
		bannedUntil, until time.Time
		created, refreshed time.Time
		aal                string
		managed            bool
		waits              bool // the last refresh, for a use of what it issued
		factor             bool // the account has a second one
	}
	var ru accounts.Rules
	var m accounts.Member
	scope := db.Scope{Tenant: v.Tenant, User: v.User}
	err := s.DB.Read(ctx, scope, func(tx *db.Tx) error {
		st.Actor = actor.Actor{UserID: v.User, SessionID: v.Session}
		tx.Queue(`
			SELECT banned_until, is_sso
			FROM users
			WHERE id = $1
				AND deleted_at IS NULL`, []any{v.User},
			func(r *db.Row) error {
				found.user, found.bannedUntil, found.managed = true, r.Time(0), r.Bool(1)
				return nil
			})
		tx.Queue(db.FillWords(`
			SELECT not_after, refreshed_at, aal, {session times}, arrived_at
			FROM sessions
			WHERE id = $1
				AND user_id = $2`, "{session times}", accounts.SessionTimes),
			[]any{v.Session, v.User}, func(r *db.Row) error {
				found.waits = !r.Null(1) && r.Null(6) && v.Issued >= r.Time(1).Unix()
				found.session, found.until, found.refreshed, found.aal, found.created = true, r.Time(0), r.Time(1), r.Text(2),
					r.Time(3)
				st.Actor.Proved = accounts.LastProof(r, 3)
				return nil
			})
		tx.Queue(`
			SELECT 1
			FROM mfa_factors
			WHERE user_id = $1
				AND status = $2
			LIMIT 1`, []any{v.User, factor.Verified},
			func(*db.Row) error {
				found.factor = true
				return nil
			})
		if v.Tenant != "" {
			ru = accounts.Rules{}
			tx.Queue(accounts.RulesQuery, []any{v.Tenant}, ru.Add)
			tx.Queue(accounts.MemberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{v.Tenant, v.User},
				func(r *db.Row) (err error) {
					m, err = accounts.ScanMember(r)
					st.Actor.TenantID, st.Actor.Role, st.Actor.WorkerID, st.Actor.ZoneIDs = m.TenantID, m.Role, m.WorkerID, m.ZoneIDs
					st.Actor.GoodsOwner = m.Owner
					st.Actor.Plan, st.Actor.Suspended = m.Plan, m.Status == "suspended"
					return err
				})
		}
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	if found.session && found.waits {
		if err := s.Proofs.Answered(ctx, v.Session); err != nil {
			s.Config.Log.Warn("the use of a refreshed session is not noted; a copy of its refresh token is not told apart",
				"error", err)
		}
	}
	// The lower of the token's and the session's level: a token from before
	// the second factor stays what it was, and one from after falls with it.
	st.Actor.AAL = min(v.AAL, found.aal)
	st.Actor.Guarded = found.factor || !found.managed && !ru.Grace(m).IsZero()
	if st.Actor.AAL != accounts.AAL2 {
		st.MFA = s.Proofs.Lacks(ru, m, found.factor, found.managed)
	}
	switch now := s.Now(); {
	case !found.user:
		st.Err = fault.New(fault.Unauthorized, "user_not_found", "User from sub claim in JWT does not exist")
	case now.Before(found.bannedUntil):
		// Before the session, which the ban has ended.
		st.Err = fault.New(fault.Unauthorized, "user_banned", "User is banned")
	case !found.session || !now.Before(found.until) || ru.Over(found.created, found.refreshed, now):
		st.Err = accounts.SessionGone(nil)
	}
	return st, nil
}
