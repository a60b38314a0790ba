package limit

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/crypto/argon2"
)

// slots lets as many hashes run as there are processors.
var slots = make(chan struct{}, runtime.NumCPU())

// hash is a sign-in that only hashes, at the cost the product hashes at.
func hash(w http.ResponseWriter, r *http.Request) {
	var in struct{ Password string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	slots <- struct{}{}
	argon2.IDKey([]byte(in.Password), []byte("a salt of sixteen"), 2, 19*1024, 1, 32)
	<-slots
	send(w, []byte("{}"))
}

// The statements of a refresh with stateful rotation: the session and its
// lock, the account with identities and factors, membership and rules, and the
// counter.
const (
	refreshSession = `SELECT id, user_id, tenant_id, aal, amr, counter, refresh_key, refreshed_at, not_after, created_at, factor_id,
		floor_counter, raised_at FROM sessions WHERE id = $1`
	refreshMember = `SELECT m.tenant_id, t.name, t.slug, t.plan, t.status, m.role, m.worker_id, m.zone_ids FROM members m JOIN tenants t ON t.id = m.tenant_id
		WHERE m.status = 'active' AND t.status <> 'closed' AND m.tenant_id = $1 AND m.user_id = $2`
	refreshRules   = `SELECT lower(key), value FROM settings WHERE tenant_id = $1 AND section = 'security'`
	refreshAdvance = `UPDATE sessions SET counter = counter + 1, refreshed_at = $2, updated_at = $2 WHERE id = $1`
)

// refreshUser are the statements by the account's id.
var refreshUser = []string{
	`SELECT id, email, phone, role, password_hash, email_confirmed_at, phone_confirmed_at, confirmation_sent_at, recovery_sent_at,
		email_change_sent_at, reauthentication_sent_at, new_email, invited_at, last_sign_in_at, banned_until, deleted_at, app_metadata, user_metadata,
		is_sso, is_anonymous, last_tenant_id, created_at, updated_at, new_phone, phone_change_sent_at FROM users WHERE id = $1 AND deleted_at IS NULL`,
	`SELECT id, user_id, provider, issuer, subject, email, data, last_sign_in_at, created_at, updated_at FROM identities
		WHERE user_id = $1 ORDER BY created_at, id`,
	`SELECT id, user_id, friendly_name, kind, status, phone, created_at, updated_at, last_challenged_at FROM mfa_factors WHERE user_id = $1`,
}

// renew answers a refresh whose token is the session's id; it signs an access
// token if asked to.
func (s *server) renew(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token string `json:"refresh_token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.refresh(r.Context(), s.tenant, in.Token); err != nil {
		fail(w, err)
		return
	}
	access, err := "", error(nil)
	if r.URL.Query().Has("sign") {
		if access, err = s.signed(in.Token); err != nil {
			fail(w, err)
			return
		}
	}
	send(w, []byte(`{"access_token":"`+access+`","refresh_token":"`+in.Token+`"}`))
}

// tokenHead and tokenClaims are as long as the product's.
const (
	tokenHead   = `{"alg":"ES256","kid":"01a3f0c2-0000-7000-8000-000000000000","typ":"JWT"}`
	tokenClaims = `{"iss":"http://127.0.0.1:8080/auth/v1","sub":"01a3f0c2-0000-7000-8000-000000000001","aud":"authenticated","exp":%d,"iat":%d,"nbf":%d,` +
		`"email":"owner-000000000001@bench.example","phone":"","app_metadata":{"provider":"email","providers":["email"],` +
		`"tenant_id":"01a3f0c2-0000-7000-8000-000000000002","tenant_role":"owner"},` +
		`"user_metadata":{"email":"owner-000000000001@bench.example","email_verified":true},` +
		`"role":"authenticated","tenant_id":"01a3f0c2-0000-7000-8000-000000000002","tenant_role":"owner",` +
		`"aal":"aal1","amr":[{"method":"password","timestamp":%d}],"session_id":%q,"is_anonymous":false}`
)

// signed returns an access token, ES256 (RFC 7518 section 3.4).
func (s *server) signed(session string) (string, error) {
	b64, now := base64.RawURLEncoding, time.Now().Unix()
	out := b64.AppendEncode(nil, []byte(tokenHead))
	out = b64.AppendEncode(append(out, '.'), fmt.Appendf(nil, tokenClaims, now+3600, now, now, now, session))
	digest := sha256.Sum256(out)
	a, b, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		return "", err
	}
	var sig [64]byte
	a.FillBytes(sig[:32])
	b.FillBytes(sig[32:])
	return string(b64.AppendEncode(append(out, '.'), sig[:])), nil
}
