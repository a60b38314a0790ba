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
		honest.iss = true
		start, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "evil",
			Redirect: "https://app.example.com/in", PKCE: challenge()})
		k.ok(err)
		// The evil provider leads on to the honest one, with its own request.
		code, _ := honest.grant(start.Location)
		state := queryOf(k, start.Location, "state")
		for name, door := range map[string]string{"the honest provider's address": "corp",
			"an address of no provider": "nobody", "the address of all": ""} {
			to := k.svc.OAuth.FinishOAuth(k.ctx, identity.Callback{Provider: door, State: state, Code: code,
				Cookie: func(string) string { return start.Browser }}, nobody)
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
		// One that says it always names itself has to (RFC 9207).
		for iss, code := range map[string]string{"": "bad_oauth_callback", evil.URL: "bad_oauth_callback", honest.URL: ""} {
			cb, _ := k.begin(honest, challenge())
			cb.Issuer = iss
			if to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location; queryOf(k, to, "error_code") != code ||
				(queryOf(k, to, "code") != "") != (code == "") {
				k.Errorf("iss %q of a provider that always names itself: %s", iss, to)
			}
		}
		if n := honest.shown.Load(); n != 1 {
			k.Errorf("the honest provider was shown %d codes", n)
		}
	})
}
