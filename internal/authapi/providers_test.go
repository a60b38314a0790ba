package authapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/identity"
	"holdfast/internal/identity/sms"
)

// silent is a text message service that drops everything.
type silent struct{}

func (silent) Send(context.Context, sms.Message) error { return nil }

func TestAnonymous(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.AnonymousUsers = true }, func(s *server) {
		r := s.call("POST", "/signup", obj{"data": obj{"theme": "dark"}, "gotrue_meta_security": obj{"captcha_token": nil}})
		u, _ := r.body["user"].(obj)
		if r.status != 200 || u["is_anonymous"] != true || len(u["identities"].([]any)) != 0 || len(u["app_metadata"].(obj)) != 0 || len(u["user_metadata"].(obj)) != 1 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.want(s.call("POST", "/factors", obj{"factor_type": "totp"}, bearer(r.body)), 403, "no_authorization")
		up := s.call("PUT", "/user", obj{"email": "a@x.example", "password": pw}, bearer(r.body))
		if up.status != 200 || up.body["is_anonymous"] != false || up.body["id"] != u["id"] {
			s.Errorf("%d %s", up.status, up.text)
		}
	})
}

func TestPhone(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.Phone, c.SMS, c.PhoneCodes = true, silent{}, map[string]string{"15550001111": "424242"}
	}, func(s *server) {
		r := s.call("POST", "/otp", obj{"phone": "+15550001111", "create_user": true, "channel": "sms", "data": obj{}})
		if r.status != 200 || len(r.body["message_id"].(string)) != 36 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		if got := s.limits[len(s.limits)-1]; got != "phone:15550001111" {
			s.Errorf("counted %q", got)
		}
		var in reply
		for range 1500 { // the code is made off the request path
			time.Sleep(20 * time.Millisecond)
			if in = s.call("POST", "/verify", obj{"type": "sms", "phone": "15550001111", "token": "424242"}); in.status == 200 {
				break
			}
		}
		if in.status != 200 || in.body["user"].(obj)["phone"] != "15550001111" {
			s.Fatalf("%d %s", in.status, in.text)
		}
		s.want(s.call("POST", "/resend", obj{"type": "sms", "phone": "15550001111"}), 429, "over_sms_send_rate_limit")
		s.want(s.call("POST", "/resend", obj{"type": "nonsense", "phone": "15550001111"}), 400, "validation_failed")
		s.want(s.call("POST", "/otp", obj{"phone": "12"}), 400, "validation_failed")
		if r = s.call("GET", "/settings", nil); r.body["external"].(obj)["phone"] != true {
			s.Error(r.text)
		}
	})
}

// RFC 6749 errors: status 400, error and error_description, and no code.
func TestIDTokenErrors(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.OIDC = map[string]identity.Provider{"google": {ClientID: "web,ios"}}
		c.ManualLinking = true
	}, func(s *server) {
		for _, head := range []string{dated, "X-None: 1"} {
			// Not a JWT: nothing is asked of the network.
			r := s.call("POST", "/token?grant_type=id_token", obj{"provider": "google", "id_token": "nonsense"}, head)
			if r.status != 400 || r.text != `{"error":"invalid request","error_description":"Bad ID token"}`+"\n" {
				s.Errorf("%d %s", r.status, r.text)
			}
		}
		s.want(s.call("POST", "/token?grant_type=id_token", obj{"provider": "google", "id_token": "x", "link_identity": true}), 401, "no_authorization")
		sess := s.signUp("a@x.example")
		s.want(s.call("DELETE", "/user/identities/x", nil, bearer(sess)), 422, "identity_not_found")
		s.want(s.call("GET", "/user/identities/authorize?provider=none&skip_http_redirect=true", nil, bearer(sess)), 400, "validation_failed")
	})
}

// Linking is begun by a script, which needs the address and not a redirect.
func TestLinkAddress(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.OIDC = map[string]identity.Provider{"github": {ClientID: "id", Secret: "s"}}
		c.ManualLinking = true
	}, func(s *server) {
		sess := s.signUp("a@x.example")
		r := s.call("GET", "/user/identities/authorize?provider=github&skip_http_redirect=true", nil, bearer(sess))
		if to, _ := r.body["url"].(string); r.status != 200 || !strings.HasPrefix(to, "https://github.com/login/oauth/authorize?") || strings.Contains(to, "skip_http_redirect") {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r = s.call("GET", "/user/identities/authorize?provider=github", nil, bearer(sess)); r.status != 302 {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}
