package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// tenantKey is a key of a tenant as requests are checked by it.
type tenantKey struct {
	actor                 actor.Actor
	places                []netip.Prefix
	expires, revoked, end time.Time // the key's, and its account's end
	closed                bool      // the tenant is
}

const keyQuery = `SELECT k.tenant_id, k.account_id, k.id, k.expires_at, k.revoked_at, a.expires_at, a.role, a.scopes, a.addresses, t.plan, t.status
	FROM service_keys k JOIN service_accounts a ON a.tenant_id = k.tenant_id AND a.id = k.account_id JOIN tenants t ON t.id = k.tenant_id WHERE k.`

// find looks a key up by its hash or id; nil = there is none. What it finds is
// at most as old as a session's standing.
func (s *ServiceAccounts) find(ctx context.Context, column, value string) (*tenantKey, error) {
	now := s.now()
	if k, ok := s.serviceKeys.Get(value, now); ok {
		return k, nil
	}
	began := time.Now()
	var k *tenantKey
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		k = nil
		return tx.Query(keyQuery+column+" = $1", []any{value}, func(r *db.Row) (err error) {
			k, err = scanKey(r)
			return err
		})
	})
	if err != nil || k == nil {
		return nil, err
	}
	s.serviceKeys.PutSince(value, k, began, now.Add(standingTTL))
	s.serviceKeys.PutSince(k.actor.KeyID, k, began, now.Add(standingTTL))
	return k, nil
}

func scanKey(r *db.Row) (*tenantKey, error) {
	k := &tenantKey{expires: r.Time(3), revoked: r.Time(4), end: r.Time(5), closed: r.Text(10) == "closed"}
	var words, places []string
	if err := json.Unmarshal([]byte(r.Text(7)), &words); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(r.Text(8)), &places); err != nil {
		return nil, err
	}
	for _, text := range places {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		k.places = append(k.places, p)
	}
	k.actor = actor.Actor{TenantID: r.Text(0), UserID: r.Text(1), KeyID: r.Text(2), Role: actor.Role(r.Text(6)), Plan: r.Text(9),
		Suspended: r.Text(10) == "suspended", Scope: actor.NewScope(words), Machine: true}
	return k, nil
}

// byKey is the actor of a key that was shown.
func (s *ServiceAccounts) byKey(ctx context.Context, key string, c Credential) (actor.Actor, error) {
	k, err := s.find(ctx, "hash", seal.Digest(key))
	if err != nil {
		return actor.Actor{}, err
	}
	return s.pass(k, c)
}

// byToken is the actor of an access token that a key was exchanged for: it
// falls with the key, and has no more than the account has now.
func (s *ServiceAccounts) byToken(ctx context.Context, v *verified, c Credential) (actor.Actor, error) {
	k, err := s.find(ctx, "id", v.key)
	if err != nil {
		return actor.Actor{}, err
	}
	if k != nil && (k.actor.UserID != v.user || k.actor.TenantID != v.tenant) {
		k = nil
	}
	a, err := s.pass(k, c)
	if err == nil {
		a.Scope = a.Scope.Narrow(cmp.Or(v.scope, "-"))
	}
	return a, err
}

// pass refuses a key that is none, at its end, or out of its place.
func (s *ServiceAccounts) pass(k *tenantKey, c Credential) (actor.Actor, error) {
	if k == nil {
		return actor.Actor{}, errKey()
	}
	now, reason := s.now(), ""
	switch {
	case !k.revoked.IsZero() && !now.Before(k.revoked):
		reason = "revoked"
	case !k.expires.IsZero() && !now.Before(k.expires), !k.end.IsZero() && !now.Before(k.end):
		reason = "expired"
	case k.closed:
		reason = "closed"
	}
	if reason != "" {
		return actor.Actor{}, s.refuse(k, reason, c, errKey())
	}
	if c.browser() {
		return actor.Actor{}, s.refuse(k, "browser", c, fault.New(fault.Unauthorized, "no_authorization", "A key of a tenant must not be used in a browser"))
	}
	if !k.from(c.Address) {
		return actor.Actor{}, s.refuse(k, "address", c,
			fault.New(fault.Forbidden, "no_authorization", "This key is not accepted from the address %s", cmp.Or(c.Address, "of this request")))
	}
	return k.actor, nil
}

func errKey() error { return fault.New(fault.Unauthorized, "no_authorization", "Invalid API key") }

// from reports an address the key is taken from.
func (k *tenantKey) from(address string) bool {
	if len(k.places) == 0 {
		return true
	}
	a, err := netip.ParseAddr(address)
	a = a.Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(k.places, func(p netip.Prefix) bool { return p.Contains(a) })
}

// refuse keeps for WriteKeyUses that a key was shown where it is refused.
func (s *ServiceAccounts) refuse(k *tenantKey, reason string, c Credential, err error) error {
	s.keyring.keyUses.add(KeyUse{Key: k.actor.KeyID, Address: c.Address, refused: reason, Tenant: k.actor.TenantID, Account: k.actor.UserID},
		keyUsed{1, s.now(), s.now(), c.RequestID, c.Address})
	return err
}

func (s *Keyring) lastUse(tx *db.Tx, u KeyUse, n keyUsed) {
	tx.Queue("UPDATE service_keys SET last_used_at = $3, last_used_from = COALESCE($4, last_used_from) WHERE tenant_id = $1 AND id = $2 "+
		"AND (last_used_at IS NULL OR last_used_at < $3)", []any{u.Tenant, u.Key, n.last, null(n.address)}, nil)
}

// accountTokenTTL is how long an access token of the client-credentials grant
// lives: the key is at hand to get another.
const accountTokenTTL = 15 * time.Minute

// AccountToken is the answer of the client-credentials grant (RFC 6749 section
// 4.4.3): no refresh token.
type AccountToken struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"`
	Scope       string `json:"scope"`
}

// oauth is an error in the words of RFC 6749 section 5.2.
func oauth(kind fault.Kind, code, text string) error {
	f := fault.New(kind, code, "%s", text)
	f.Data = OAuthStyle{}
	return f
}

// Exchange gives a short-lived token for a service account's id and key, with
// the scopes asked for, "" = all it has.
func (s *ServiceAccounts) Exchange(ctx context.Context, clientID, secret, scope string, c Credential) (AccountToken, error) {
	if clientID == "" || secret == "" {
		return AccountToken{}, oauth(fault.Invalid, "invalid_request", "client_id and client_secret are required")
	}
	bad := oauth(fault.Unauthorized, "invalid_client", "There is no such client, or its secret is not valid")
	k, err := s.find(ctx, "hash", seal.Digest(secret))
	if err != nil {
		return AccountToken{}, err
	}
	if k == nil || k.actor.UserID != strings.ToLower(clientID) {
		return AccountToken{}, bad
	}
	a, err := s.pass(k, c)
	if fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Forbidden) {
		return AccountToken{}, bad
	}
	if err != nil {
		return AccountToken{}, err
	}
	granted := a.Scope.Narrow(scope)
	if scope != "" && len(granted) < len(strings.Fields(scope)) || len(granted) == 0 {
		return AccountToken{}, oauth(fault.Invalid, "invalid_scope", "The client does not have what scope asks for")
	}
	now := s.now()
	exp := now.Add(accountTokenTTL)
	for _, end := range []time.Time{k.expires, k.revoked, k.end} {
		if !end.IsZero() && end.Before(exp) {
			exp = end
		}
	}
	words := strings.Join(slices.Sorted(maps.Keys(granted)), " ")
	raw, err := s.keyring.keys.Load().Sign(token.Claims{Issuer: s.issuer, Subject: a.UserID, Audience: token.Audience, Expires: exp.Unix(), IssuedAt: now.Unix(),
		NotBefore: now.Unix(), ID: a.KeyID, Role: token.RoleAccount, TenantID: a.TenantID, TenantRole: string(a.Role), Scope: words})
	if err != nil {
		return AccountToken{}, err
	}
	s.keyring.KeyUsed(KeyUse{Key: a.KeyID, Tenant: a.TenantID, Account: a.UserID, Address: c.Address, Method: "POST", Route: "/auth/v1/token"}, c.RequestID)
	return AccountToken{AccessToken: raw, TokenType: "bearer", ExpiresIn: max(1, exp.Unix()-now.Unix()), Scope: words}, nil
}
