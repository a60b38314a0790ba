package identity_test

import (
	"strings"
	"testing"

	"holdfast/internal/identity"
)

// A person chose one provider, and the answer that the browser
// brings is of another, which the first one sent it to. The code must not be
// shown to the provider that was chosen.
func TestOAuth_mixUp(t *testing.T) {
	evil := newIDP(t, nil)
	withIDP(t, func(c *identity.Config) {
		c.OIDC["evil"] = identity.Provider{ClientID: "client", Secret: "s", Issuer: evil.URL}
	}, func(k *kit, honest *idp) {
		start, err := k.svc.Authorize(k.ctx, identity.Authorize{Provider: "evil", Redirect: "https://app.example.com/in", PKCE: challenge()})
		k.ok(err)
		// The evil provider leads on to the honest one, with its own request.
		code, _ := honest.grant(start.Location)
		state := queryOf(k, start.Location, "state")
		for name, door := range map[string]string{"the honest provider's address": "corp", "an address of no provider": "nobody", "the address of all": ""} {
			to := k.svc.FinishOAuth(k.ctx, identity.Callback{Provider: door, State: state, Code: code, Cookie: func(string) string { return start.Browser }}, nobody)
			if !strings.Contains(to.Location, "error_code=bad_oauth_state") || strings.Contains(to.Location, "?code=") {
				k.Errorf("%s: %s", name, to.Location)
			}
		}
		if n := evil.shown.Load(); n != 0 {
			k.Errorf("the evil provider was shown %d codes", n)
		}
		if n := k.count("SELECT COUNT(*) FROM users"); n != 0 {
			k.Errorf("%d accounts", n)
		}
	})
}
