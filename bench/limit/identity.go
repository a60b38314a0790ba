package limit

import (
	"encoding/json"
	"net/http"
	"runtime"

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
	refreshSession = `SELECT id, user_id, tenant_id, aal, amr, counter, refresh_key, refreshed_at, not_after, created_at, factor_id, floor_counter, raised_at FROM sessions WHERE id = $1`
	refreshMember  = `SELECT m.tenant_id, t.name, t.slug, t.plan, t.status, m.role, m.worker_id, m.zone_ids FROM members m JOIN tenants t ON t.id = m.tenant_id
		WHERE m.status = 'active' AND t.status <> 'closed' AND m.tenant_id = $1 AND m.user_id = $2`
	refreshRules   = `SELECT lower(key), value FROM settings WHERE tenant_id = $1 AND section = 'security'`
	refreshAdvance = `UPDATE sessions SET counter = counter + 1, refreshed_at = $2, updated_at = $2 WHERE id = $1`
)

// refreshUser are the statements by the account's id.
var refreshUser = []string{
	`SELECT id, email, phone, role, password_hash, email_confirmed_at, phone_confirmed_at, confirmation_sent_at, recovery_sent_at,
		email_change_sent_at, reauthentication_sent_at, new_email, invited_at, last_sign_in_at, banned_until, deleted_at, app_metadata, user_metadata,
		is_sso, is_anonymous, last_tenant_id, created_at, updated_at, new_phone, phone_change_sent_at FROM users WHERE id = $1 AND deleted_at IS NULL`,
	`SELECT id, user_id, provider, issuer, subject, email, data, last_sign_in_at, created_at, updated_at FROM identities WHERE user_id = $1 ORDER BY created_at, id`,
	`SELECT id, user_id, friendly_name, kind, status, phone, created_at, updated_at, last_challenged_at FROM mfa_factors WHERE user_id = $1`,
}

// renew answers a refresh whose token is the session's id; it signs nothing.
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
	send(w, []byte(`{"refresh_token":"`+in.Token+`"}`))
}
