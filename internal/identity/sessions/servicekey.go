package sessions

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
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// OAuthStyle marks a fault that is written as RFC 6749 section 5.2 has it; its
// code is the error member.
type OAuthStyle struct{}

const keyQuery = `SELECT k.tenant_id, k.account_id, k.id, k.expires_at, k.revoked_at, a.expires_at, a.role, a.scopes, a.addresses, t.plan, t.status
	FROM service_keys k JOIN service_accounts a ON a.tenant_id = k.tenant_id AND a.id = k.account_id JOIN tenants t ON t.id = k.tenant_id WHERE k.`

// findKey looks a key up by its hash or id; nil = there is none. What it finds is
// at most as old as a session's standing.
func (s *ServiceAccounts) findKey(ctx context.Context, column, value string) (*accounts.TenantKey, error) {
	now := s.Now()
	if k, ok := s.ServiceKeys.Get(value, now); ok {
		return k, nil
	}
	began := time.Now()
	var k *accounts.TenantKey
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		k = nil
		return tx.Query(keyQuery+column+" = $1", []any{value}, func(r *db.Row) (err error) {
			k, err = scanKey(r)
			return err
		})
	})
	if err != nil || k == nil {
		return nil, err
	}
	s.ServiceKeys.PutSince(value, k, began, now.Add(accounts.StandingTTL))
	s.ServiceKeys.PutSince(k.Actor.KeyID, k, began, now.Add(accounts.StandingTTL))
	return k, nil
}

func scanKey(r *db.Row) (*accounts.TenantKey, error) {
	k := &accounts.TenantKey{Expires: r.Time(3), Revoked: r.Time(4), End: r.Time(5), Closed: r.Text(10) == "closed"}
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
		k.Places = append(k.Places, p)
	}
	k.Actor = actor.Actor{TenantID: r.Text(0), UserID: r.Text(1), KeyID: r.Text(2), Role: actor.Role(r.Text(6)),
		Plan: r.Text(9), Suspended: r.Text(10) == "suspended", Scope: actor.NewScope(words), Machine: true}
	return k, nil
}

// byKey is the actor of a key that was shown.
func (s *ServiceAccounts) byKey(ctx context.Context, key string, c accounts.Credential) (actor.Actor, error) {
	k, err := s.findKey(ctx, "hash", secrets.Digest(key))
	if err != nil {
		return actor.Actor{}, err
	}
	return s.checkKey(k, c)
}

// byToken is the actor of an access token that a key was exchanged for: it
// falls with the key, and has no more than the account has now.
func (s *ServiceAccounts) byToken(
	ctx context.Context, v *accounts.Verified, c accounts.Credential,
) (actor.Actor, error) {
	k, err := s.findKey(ctx, "id", v.Key)
	if err != nil {
		return actor.Actor{}, err
	}
	if k != nil && (k.Actor.UserID != v.User || k.Actor.TenantID != v.Tenant) {
		k = nil
	}
	a, err := s.checkKey(k, c)
	if err == nil {
		a.Scope = a.Scope.Narrow(cmp.Or(v.Scope, "-"))
	}
	return a, err
}

// checkKey refuses a key that is none, at its end, or out of its place.
func (s *ServiceAccounts) checkKey(k *accounts.TenantKey, c accounts.Credential) (actor.Actor, error) {
	if k == nil {
		return actor.Actor{}, errKey()
	}
	now, reason := s.Now(), ""
	switch {
	case !k.Revoked.IsZero() && !now.Before(k.Revoked):
		reason = "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires), !k.End.IsZero() && !now.Before(k.End):
		reason = "expired"
	case k.Closed:
		reason = "closed"
	}
	if reason != "" {
		return actor.Actor{}, s.noteRefusedKey(k, reason, c, errKey())
	}
	if c.Browser() {
		return actor.Actor{}, s.noteRefusedKey(k, "browser", c,
			fault.New(fault.Unauthorized, "no_authorization", "A key of a tenant must not be used in a browser"))
	}
	if !k.From(c.Address) {
		return actor.Actor{}, s.noteRefusedKey(k, "address", c,
			fault.New(fault.Forbidden, "no_authorization", "This key is not accepted from the address %s",
				cmp.Or(c.Address, "of this request")))
	}
	return k.Actor, nil
}

func errKey() error { return fault.New(fault.Unauthorized, "no_authorization", "Invalid API key") }

// noteRefusedKey keeps for WriteKeyUses that a key was shown where it is refused.
func (s *ServiceAccounts) noteRefusedKey(k *accounts.TenantKey, reason string, c accounts.Credential, err error) error {
	s.Keyring.KeyUses.Add(keyring.KeyUse{Key: k.Actor.KeyID, Address: c.Address, Refused: reason, Tenant: k.Actor.TenantID,
		Account: k.Actor.UserID},
		keyring.KeyUsed{Times: 1, Since: s.Now(), Last: s.Now(), Request: c.RequestID, Address: c.Address})
	return err
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

// oauthError is an error in the words of RFC 6749 section 5.2.
func oauthError(kind fault.Kind, code, text string) error {
	f := fault.New(kind, code, "%s", text)
	f.Data = OAuthStyle{}
	return f
}

// Exchange gives a short-lived token for a service account's id and key, with
// the scopes asked for, "" = all it has.
func (s *ServiceAccounts) Exchange(
	ctx context.Context, clientID, secret, scope string, c accounts.Credential,
) (AccountToken, error) {
	if clientID == "" || secret == "" {
		return AccountToken{}, oauthError(fault.Invalid, "invalid_request", "client_id and client_secret are required")
	}
	bad := oauthError(fault.Unauthorized, "invalid_client", "There is no such client, or its secret is not valid")
	k, err := s.findKey(ctx, "hash", secrets.Digest(secret))
	if err != nil {
		return AccountToken{}, err
	}
	if k == nil || k.Actor.UserID != strings.ToLower(clientID) {
		return AccountToken{}, bad
	}
	a, err := s.checkKey(k, c)
	if fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Forbidden) {
		return AccountToken{}, bad
	}
	if err != nil {
		return AccountToken{}, err
	}
	granted := a.Scope.Narrow(scope)
	if scope != "" && len(granted) < len(strings.Fields(scope)) || len(granted) == 0 {
		return AccountToken{}, oauthError(fault.Invalid, "invalid_scope", "The client does not have what scope asks for")
	}
	now := s.Now()
	exp := now.Add(accountTokenTTL)
	for _, end := range []time.Time{k.Expires, k.Revoked, k.End} {
		if !end.IsZero() && end.Before(exp) {
			exp = end
		}
	}
	words := strings.Join(slices.Sorted(maps.Keys(granted)), " ")
	raw, err := s.Keyring.Signing.Load().Sign(token.Claims{Issuer: s.TokenIssuer, Subject: a.UserID,
		Audience: token.Audience, Expires: exp.Unix(), IssuedAt: now.Unix(),
		NotBefore: now.Unix(), ID: a.KeyID, Role: token.RoleAccount, TenantID: a.TenantID, TenantRole: string(a.Role),
		Scope: words})
	if err != nil {
		return AccountToken{}, err
	}
	s.Keyring.KeyUsed(keyring.KeyUse{Key: a.KeyID, Tenant: a.TenantID, Account: a.UserID, Address: c.Address,
		Method: "POST", Route: "/auth/v1/token"}, c.RequestID)
	return AccountToken{AccessToken: raw, TokenType: "bearer", ExpiresIn: max(1, exp.Unix()-now.Unix()), Scope: words}, nil
}
