package providers

import (
	"context"
	"crypto/subtle"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// Exchange redeems an authorization code with its verifier. The code works
// once; of two callers at the same moment one gets flow_state_not_found.
func (s *OAuth) Exchange(ctx context.Context, authCode, verifier string, c accounts.Client) (*sessions.Session, error) {
	if authCode == "" || verifier == "" {
		return nil, fault.New(fault.Invalid, "validation_failed",
			"invalid request: both auth code and code verifier should be non-empty")
	}
	if !codes.Unreserved(verifier) {
		return nil, codes.BadVerifier()
	}
	var g *sessions.Grant
	err := s.Write(ctx, func(tx *db.Tx) (err error) {
		g, err = s.redeemCode(tx, authCode, verifier, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fault.New(fault.Forbidden, "otp_expired", signin.Halfway)
	}
	return s.Sessions.Issue(g)
}

// redeemCode ends a flow; no grant and no error is the first half of an e-mail change.
func (s *OAuth) redeemCode(tx *db.Tx, authCode, verifier string, c accounts.Client) (*sessions.Grant, error) {
	f, err := codes.FlowBy(tx, "code_hash = $1", secrets.Digest(authCode))
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "flow_state_not_found", "invalid flow state, no valid flow state found")
	case err != nil:
		return nil, err
	case !s.Now().Before(f.Expires):
		return nil, fault.New(fault.Unprocessable, "flow_state_expired", "invalid flow state, flow state has expired")
	case subtle.ConstantTimeCompare([]byte(oidc.Challenge(verifier)), []byte(f.Challenge)) != 1:
		return nil, codes.BadVerifier()
	}
	n, err := s.Codes.EndFlow(tx, f.ID)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fault.New(fault.NotFound, "flow_state_not_found", "invalid flow state, no valid flow state found")
	}
	if f.TokenID != "" {
		return s.redeemMail(tx, f, c)
	}
	u, err := accounts.LockedUser(tx, f.User)
	if err != nil {
		return nil, err
	}
	if u.Banned(s.Now()) {
		return nil, accounts.ErrBanned()
	}
	sec, err := s.Codes.OpenFlow(f)
	if err != nil {
		return nil, err
	}
	if sec.Person != nil {
		if err := s.attachIdentity(tx, u, f.Provider, *sec.Person, c); err != nil {
			return nil, err
		}
	}
	if sec.Offer != "" {
		c.Invite = sec.Offer
	}
	g, err := s.Sessions.Begin(tx, u, token.Method{Method: f.Method, Provider: f.Provider}, c)
	if err != nil {
		return nil, err
	}
	g.ProviderToken, g.ProviderRefresh = sec.AccessToken, sec.RefreshToken
	return g, err
}

// redeemMail ends the one-time code behind the flow together with it.
func (s *OAuth) redeemMail(tx *db.Tx, f codes.Flow, c accounts.Client) (*sessions.Grant, error) {
	t, err := codes.CodeBy(tx, "id = $1", f.TokenID)
	if fault.Is(err, fault.NotFound) {
		return nil, codes.ErrLink()
	}
	if err != nil {
		return nil, err
	}
	sec, err := s.Codes.OpenFlow(f)
	if err != nil {
		return nil, err
	}
	t.Identity = sec.Identity
	g, _, err := s.Verification.Accept(tx, t, token.Method{Method: f.Method}, c)
	return g, err
}
