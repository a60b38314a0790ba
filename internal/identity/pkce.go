package identity

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// PKCE is the challenge a client sends ahead (RFC 7636).
type PKCE struct{ Challenge, Method string }

// Bounds of verifier and challenge, RFC 7636 sections 4.1 and 4.2.
const minVerifier, maxVerifier = 43, 128

// check refuses half a pair, malformed challenges and every method but S256:
// a plain challenge is the verifier itself, for whoever sees it.
func (p PKCE) check() error {
	switch {
	case p.Challenge == "" && p.Method == "":
		return nil
	case p.Challenge == "" || p.Method == "":
		return fault.New(fault.Invalid, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge")
	case !strings.EqualFold(p.Method, "s256"):
		return fault.New(fault.Invalid, "validation_failed", "code_challenge_method must be s256")
	case !unreserved(p.Challenge):
		return fault.New(fault.Invalid, "validation_failed", "code challenge has to be between %d and %d characters of A-Z a-z 0-9 - . _ ~", minVerifier, maxVerifier)
	}
	return nil
}

func unreserved(s string) bool {
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

// flow is a stored sign-in on its way through a browser.
type flow struct {
	invite                                                                string // of its secrets
	id, user, method, provider, redirect, challenge, browserHash, tokenID string
	linkUser                                                              string // the signed-in account that an identity is to be linked to
	secrets                                                               []byte
	used                                                                  bool
	issued, expires                                                       time.Time
}

func flowBy(tx *db.Tx, where string, args ...any) (flow, error) {
	var f flow
	err := tx.One(`SELECT id, user_id, method, provider, redirect_to, challenge, browser_hash, token_id, secrets, used_at, issued_at, expires_at, link_user_id FROM flow_states WHERE `+where+tx.DB().ForUpdate(),
		args, func(r *db.Row) error {
			f = flow{id: r.Text(0), user: r.Text(1), method: r.Text(2), provider: r.Text(3), redirect: r.Text(4), challenge: r.Text(5),
				browserHash: r.Text(6), tokenID: r.Text(7),
				secrets: r.Bytes(8), used: !r.Null(9), issued: r.Time(10), expires: r.Time(11), linkUser: r.Text(12)}
			return nil
		})
	return f, err
}

// issueCode gives a flow its authorization code. The code is derived from the
// flow, so that a link opened twice, first by a mail scanner, shows the same
// one, while the database holds its hash. A provider's answer comes once, and
// the code's life counts from it; a mailed link can be opened until it ends, and
// the life counts from the last time: the scanner's opening takes nothing from
// the reader's.
func (s *Codes) issueCode(tx *db.Tx, f flow) (string, error) {
	c := s.secrets.UUID("auth-code", f.id)
	if !f.issued.IsZero() && f.tokenID == "" {
		return c, nil
	}
	now := s.now()
	_, err := tx.Exec("UPDATE flow_states SET code_hash = $2, issued_at = $3, expires_at = $4 WHERE id = $1", f.id, seal.Digest(c), now, now.Add(s.cfg.FlowTTL))
	return c, err
}

// Exchange redeems an authorization code with its verifier. The code works
// once; of two callers at the same moment one gets flow_state_not_found.
func (s *OAuth) Exchange(ctx context.Context, authCode, verifier string, c Client) (*Session, error) {
	if authCode == "" || verifier == "" {
		return nil, fault.New(fault.Invalid, "validation_failed", "invalid request: both auth code and code verifier should be non-empty")
	}
	if !unreserved(verifier) {
		return nil, badVerifier()
	}
	var g *grant
	err := s.write(ctx, func(tx *db.Tx) (err error) {
		g, err = s.redeem(tx, authCode, verifier, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fault.New(fault.Forbidden, "otp_expired", Halfway)
	}
	return s.sessions.issue(g)
}

func badVerifier() error {
	return fault.New(fault.Invalid, "bad_code_verifier", "code challenge does not match previously saved code verifier")
}

// redeem ends a flow; no grant and no error is the first half of an e-mail change.
func (s *OAuth) redeem(tx *db.Tx, authCode, verifier string, c Client) (*grant, error) {
	f, err := flowBy(tx, "code_hash = $1", seal.Digest(authCode))
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "flow_state_not_found", "invalid flow state, no valid flow state found")
	case err != nil:
		return nil, err
	case !s.now().Before(f.expires):
		return nil, fault.New(fault.Unprocessable, "flow_state_expired", "invalid flow state, flow state has expired")
	case subtle.ConstantTimeCompare([]byte(oidc.Challenge(verifier)), []byte(f.challenge)) != 1:
		return nil, badVerifier()
	}
	n, err := tx.Exec("DELETE FROM flow_states WHERE id = $1", f.id)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fault.New(fault.NotFound, "flow_state_not_found", "invalid flow state, no valid flow state found")
	}
	if f.tokenID != "" {
		return s.redeemMail(tx, f, c)
	}
	u, err := locked(tx, f.user)
	if err != nil {
		return nil, err
	}
	if u.banned(s.now()) {
		return nil, errBanned()
	}
	sec, err := s.codes.openFlow(f)
	if err != nil {
		return nil, err
	}
	if sec.Person != nil {
		if err := s.attach(tx, u, f.provider, *sec.Person, c); err != nil {
			return nil, err
		}
	}
	if sec.Offer != "" {
		c.Invite = sec.Offer
	}
	g, err := s.sessions.begin(tx, u, token.Method{Method: f.method, Provider: f.provider}, c)
	if err != nil {
		return nil, err
	}
	g.providerToken, g.providerRefresh = sec.AccessToken, sec.RefreshToken
	return g, err
}

// redeemMail ends the one-time code behind the flow together with it.
func (s *OAuth) redeemMail(tx *db.Tx, f flow, c Client) (*grant, error) {
	t, err := codeBy(tx, "id = $1", f.tokenID)
	if fault.Is(err, fault.NotFound) {
		return nil, errLink()
	}
	if err != nil {
		return nil, err
	}
	sec, err := s.codes.openFlow(f)
	if err != nil {
		return nil, err
	}
	t.identity = sec.Identity
	g, _, err := s.verification.accept(tx, t, token.Method{Method: f.method}, c)
	return g, err
}

// flowSecrets is what a provider flow keeps, sealed.
type flowSecrets struct {
	Nonce, Verifier, AccessToken, RefreshToken string
	Person                                     *oidc.Person `json:",omitempty"` // who is linked when the code is redeemed
	Identity                                   string       `json:",omitempty"` // what a mailed link's proof is of
	Invite                                     string       `json:",omitempty"` // the invitation's code that a sign-in takes up
	Offer                                      string       `json:",omitempty"` // the tenant's invitation that it accepts, by its token
}

func (s *Codes) sealFlow(id string, v flowSecrets) []byte {
	return s.secrets.Close(seal.FlowSecrets, []byte(writeJSON(v)), id)
}

func (s *Codes) openFlow(f flow) (flowSecrets, error) {
	var v flowSecrets
	if len(f.secrets) == 0 {
		return v, nil
	}
	plain, err := s.secrets.Open(seal.FlowSecrets, f.secrets, f.id)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(plain, &v)
}
