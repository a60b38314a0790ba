package token

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/fault"
)

// Roles of API keys in JWT form. They never appear in a token with a session.
const (
	RoleAnon          = "anon"
	RoleService       = "service_role"
	RoleSupabaseAdmin = "supabase_admin"
)

// RoleAccount is the role of an access token of a service account, which a key
// was exchanged for: its ID names the key, its Scope what it is for.
const RoleAccount = "service_account"

// Audience is the audience of every access token.
const Audience = "authenticated"

// leeway is how far clocks may differ.
const leeway = 30 * time.Second

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 16 << 10

// Method is one authentication method reference with its time in Unix seconds.
type Method struct {
	Method    string `json:"method"`
	Timestamp int64  `json:"timestamp"`
	Provider  string `json:"provider,omitempty"`
}

// Claims is the payload of an access token, or of an API key in JWT form
// (role, and neither subject nor session). Times are Unix seconds.
type Claims struct {
	Issuer       string          `json:"iss,omitempty"`
	Subject      string          `json:"sub,omitempty"`
	Audience     string          `json:"aud,omitempty"`
	Expires      int64           `json:"exp,omitempty"`
	IssuedAt     int64           `json:"iat,omitempty"`
	NotBefore    int64           `json:"nbf,omitempty"`
	ID           string          `json:"jti,omitempty"`
	Email        string          `json:"email"`
	Phone        string          `json:"phone"`
	AppMetadata  json.RawMessage `json:"app_metadata,omitempty"`
	UserMetadata json.RawMessage `json:"user_metadata,omitempty"`
	Role         string          `json:"role"`
	TenantID     string          `json:"tenant_id,omitempty"`
	TenantRole   string          `json:"tenant_role,omitempty"`
	AAL          string          `json:"aal,omitempty"`
	AMR          []Method        `json:"amr,omitempty"`
	SessionID    string          `json:"session_id,omitempty"`
	Anonymous    bool            `json:"is_anonymous"`
	Scope        string          `json:"scope,omitempty"`
}

// keyRole reports a role that only an API key may carry.
func keyRole(role string) bool {
	return role == RoleAnon || role == RoleService || role == RoleSupabaseAdmin
}

// Sign makes an access token.
func (s *Keys) Sign(c Claims) (string, error) {
	if s.signer == nil {
		return "", fmt.Errorf("token: no key signs")
	}
	body, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("token: encode claims: %w", err)
	}
	return s.signer.signPayload(body)
}

// Header returns the kid a token claims to be signed with, for a set that may
// need reloading; nothing else may be done with it.
func Header(raw string) string {
	jws, err := parseToken(raw)
	if err != nil {
		return ""
	}
	return jws.Signatures[0].Header.KeyID
}

func parseToken(raw string) (*jose.JSONWebSignature, error) {
	if len(raw) > maxToken {
		return nil, badJWT("token is malformed: too long")
	}
	if strings.Count(raw, ".") != 2 {
		return nil, badJWT("token is malformed: token contains an invalid number of segments")
	}
	jws, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.HS256})
	if err != nil {
		return nil, badJWT("token is malformed or its signing method is not allowed")
	}
	return jws, nil
}

// Verify checks signature, times, issuer and audience. issuer is what access
// tokens must carry.
func (s *Keys) Verify(raw, issuer string, now time.Time) (Claims, error) {
	var c Claims
	jws, err := parseToken(raw)
	if err != nil {
		return c, err
	}
	h := jws.Signatures[0].Header
	if !isJWTType(h) {
		return c, badJWT("token is of another type")
	}
	var payload []byte
	if h.Algorithm == string(jose.HS256) {
		payload, err = s.verifyShared(jws)
	} else {
		payload, err = s.verifyOwn(jws, h)
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return c, badJWT("claims are malformed")
	}
	if h.Algorithm == string(jose.HS256) && (!keyRole(c.Role) || c.SessionID != "") {
		return Claims{}, badJWT("signing method HS256 is not allowed for user tokens")
	}
	return c, c.checkClaims(issuer, now)
}

// isJWTType refuses what was signed for another purpose and says so (RFC 8725
// section 3.11): ours say JWT, an API key from elsewhere may say nothing.
func isJWTType(h jose.Header) bool {
	said, given := h.ExtraHeaders[jose.HeaderType]
	name, _ := said.(string)
	return strings.EqualFold(name, "JWT") || !given && h.Algorithm == string(jose.HS256)
}

func (s *Keys) verifyOwn(jws *jose.JSONWebSignature, h jose.Header) ([]byte, error) {
	k, ok := s.verify[h.KeyID]
	if !ok || h.KeyID == "" {
		return nil, badJWT("unrecognized JWT kid")
	}
	if k.Algorithm != h.Algorithm {
		return nil, badJWT("signing method does not belong to this key")
	}
	payload, err := jws.Verify(k)
	if err != nil {
		return nil, badJWT("signature is invalid")
	}
	return payload, nil
}

// verifyShared takes HS256 with our configured secret only; a token that
// names a key is never checked against it.
func (s *Keys) verifyShared(jws *jose.JSONWebSignature) ([]byte, error) {
	if s.secret == nil || jws.Signatures[0].Header.KeyID != "" && s.Has(jws.Signatures[0].Header.KeyID) {
		return nil, badJWT("signing method HS256 is not allowed")
	}
	payload, err := jws.Verify(s.secret)
	if err != nil {
		return nil, badJWT("signature is invalid")
	}
	return payload, nil
}

func (c *Claims) checkClaims(issuer string, now time.Time) error {
	if c.Expires == 0 || now.Add(-leeway).Unix() >= c.Expires {
		return badJWT("token has invalid claims: token is expired")
	}
	if limit := now.Add(leeway).Unix(); c.IssuedAt > limit || c.NotBefore > limit {
		return badJWT("token has invalid claims: token used before issued")
	}
	if keyRole(c.Role) && c.SessionID == "" {
		return nil
	}
	switch {
	case c.Subject == "":
		return badClaim("missing sub claim")
	case !isUUID(c.Subject):
		return badClaim("sub claim must be a UUID")
	case c.Role == RoleAccount && c.SessionID == "" && (!isUUID(c.ID) || c.TenantID == ""):
		return badClaim("a service account's token names its key and its tenant")
	case c.Role != RoleAccount && !isUUID(c.SessionID), c.Role == RoleAccount && c.SessionID != "":
		return badClaim("session_id claim must be a UUID")
	case c.TenantID != "" && !isUUID(c.TenantID):
		return badClaim("tenant_id claim must be a UUID")
	case c.Issuer != issuer:
		return badClaim("issuer is not this service")
	case c.Audience != Audience:
		return badClaim("audience is not authenticated")
	case c.IssuedAt == 0 || c.NotBefore == 0:
		return badClaim("missing iat or nbf claim")
	}
	return nil
}

func badClaim(what string) error {
	return fault.New(fault.Unauthorized, "bad_jwt", "invalid claim: %s", what)
}

// isUUID accepts the canonical lower-case form only.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
