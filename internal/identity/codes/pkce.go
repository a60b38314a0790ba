package codes

import (
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/secrets"
)

// CookieName names the cookie of one flow, so that two in one browser do not
// disturb each other.
func CookieName(flowID string) string { return "hf-flow-" + flowID[len(flowID)-12:] }

// PKCE is the challenge a client sends ahead (RFC 7636).
type PKCE struct{ Challenge, Method string }

// Bounds of verifier and challenge, RFC 7636 sections 4.1 and 4.2.
const minVerifier, maxVerifier = 43, 128

// Check refuses half a pair, malformed challenges and every method but S256:
// a plain challenge is the verifier itself, for whoever sees it.
func (p PKCE) Check() error {
	switch {
	case p.Challenge == "" && p.Method == "":
		return nil
	case p.Challenge == "" || p.Method == "":
		return fault.New(fault.Invalid, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge")
	case !strings.EqualFold(p.Method, "s256"):
		return fault.New(fault.Invalid, "validation_failed", "code_challenge_method must be s256")
	case !Unreserved(p.Challenge):
		return fault.New(fault.Invalid, "validation_failed",
			"code challenge has to be between %d and %d characters of A-Z a-z 0-9 - . _ ~", minVerifier, maxVerifier)
	}
	return nil
}

// Unreserved reports a code verifier as RFC 7636 section 4.1 has it.
func Unreserved(s string) bool {
	if len(s) < minVerifier || len(s) > maxVerifier {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0) {
			return false
		}
	}
	return true
}

// Flow is a stored sign-in on its way through a browser.
type Flow struct {
	Invite                                                                string // of its secrets
	ID, User, Method, Provider, Redirect, Challenge, BrowserHash, TokenID string
	// the signed-in account that an identity is to be linked to
	LinkUser        string
	secrets         []byte
	Used            bool
	issued, Expires time.Time
}

// FlowBy finds the flow of a condition.
func FlowBy(tx *db.Tx, where string, args ...any) (Flow, error) {
	var f Flow
	err := tx.One(`SELECT id, user_id, method, provider, redirect_to, challenge, browser_hash, token_id, secrets, used_at, issued_at,
		expires_at, link_user_id FROM flow_states WHERE `+where+tx.DB().ForUpdate(),
		args, func(r *db.Row) error {
			f = Flow{ID: r.Text(0), User: r.Text(1), Method: r.Text(2), Provider: r.Text(3), Redirect: r.Text(4),
				Challenge: r.Text(5), BrowserHash: r.Text(6), TokenID: r.Text(7),
				secrets: r.Bytes(8), Used: !r.Null(9), issued: r.Time(10), Expires: r.Time(11), LinkUser: r.Text(12)}
			return nil
		})
	return f, err
}

// EndFlows deletes the flows of an account, and so the authorization codes that
// would begin a session.
func EndFlows(tx *db.Tx, userID string) {
	tx.Queue("DELETE FROM flow_states WHERE user_id = $1", []any{userID}, nil)
}

// EndFlow deletes a flow and returns how many there were.
func (s *Store) EndFlow(tx *db.Tx, id string) (int64, error) {
	return tx.Exec("DELETE FROM flow_states WHERE id = $1", id)
}

// IssueCode gives a flow its authorization code. The code is derived from the
// flow, so that a link opened twice, first by a mail scanner, shows the same
// one, while the database holds its hash. A provider's answer comes once, and
// the code's life counts from it; a mailed link can be opened until it ends, and
// the life counts from the last time: the scanner's opening takes nothing from
// the reader's.
func (s *Store) IssueCode(tx *db.Tx, f Flow) (string, error) {
	c := s.Secrets.UUID("auth-code", f.ID)
	if !f.issued.IsZero() && f.TokenID == "" {
		return c, nil
	}
	now := s.Now()
	_, err := tx.Exec(`
		UPDATE flow_states
		SET code_hash = $2, issued_at = $3, expires_at = $4
		WHERE id = $1`,
		f.ID, secrets.Digest(c), now, now.Add(s.Config.FlowTTL))
	return c, err
}

// BadVerifier refuses a code verifier that does not fit its challenge.
func BadVerifier() error {
	return fault.New(fault.Invalid, "bad_code_verifier", "code challenge does not match previously saved code verifier")
}

// FlowSecrets is what a provider flow keeps, sealed.
type FlowSecrets struct {
	Nonce, Verifier, AccessToken, RefreshToken string
	Person                                     *oidc.Person `json:",omitempty"` // who is linked when the code is redeemed
	Identity                                   string       `json:",omitempty"` // what a mailed link's proof is of
	// the invitation's code that a sign-in takes up
	Invite string `json:",omitempty"`
	Offer  string `json:",omitempty"` // the tenant's invitation that it accepts, by its token
}

// SealFlow seals the secrets of the flow with an id.
func (s *Store) SealFlow(id string, v FlowSecrets) []byte {
	return s.Secrets.Close(secrets.FlowSecrets, []byte(accounts.WriteJSON(v)), id)
}

// OpenFlow returns the secrets of a flow; none are empty.
func (s *Store) OpenFlow(f Flow) (FlowSecrets, error) {
	var v FlowSecrets
	if len(f.secrets) == 0 {
		return v, nil
	}
	plain, err := s.Secrets.Open(secrets.FlowSecrets, f.secrets, f.ID)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(plain, &v)
}
