package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
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
		if r.status != 200 || u["is_anonymous"] != true || len(u["identities"].([]any)) != 0 ||
			len(u["app_metadata"].(obj)) != 0 ||
			len(u["user_metadata"].(obj)) != 1 {
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
		s.want(s.call("POST", "/token?grant_type=id_token",
			obj{"provider": "google", "id_token": "x", "link_identity": true}), 401, "no_authorization")
		sess := s.signUp("a@x.example")
		s.want(s.call("DELETE", "/user/identities/01a1fdd3-49a8-71f7-afb0-243f4650b256", nil, bearer(sess)), 422,
			"identity_not_found")
		s.want(s.call("GET", "/user/identities/authorize?provider=none&skip_http_redirect=true", nil, bearer(sess)), 400,
			"validation_failed")
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
		if to, _ := r.body["url"].(string); r.status != 200 ||
			!strings.HasPrefix(to, "https://github.com/login/oauth/authorize?") ||
			strings.Contains(to, "skip_http_redirect") {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r = s.call("GET", "/user/identities/authorize?provider=github", nil, bearer(sess)); r.status != 302 {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}

// hub is GitHub with a person whose address it does not vouch for.
func hub(t *testing.T) *httptest.Server {
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(body))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login/oauth/access_token", answer(`{"access_token":"t","token_type":"bearer"}`))
	mux.HandleFunc("GET /api/v3/user", answer(`{"id":1,"login":"octo"}`))
	mux.HandleFunc("GET /api/v3/user/emails", answer(`[{"email":"octo@cat.example","primary":true,"verified":false}]`))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// A sign-in that waits for the mailed link is finished in its browser only: that
// one knows the page by a cookie. Elsewhere the link proves the mailbox, and the
// identity at the provider is not the account's.
func TestProviderProof(t *testing.T) {
	for browser, same := range map[string]bool{"the same browser": true, "another browser": false} {
		t.Run(browser, func(t *testing.T) {
			srv := hub(t)
			onBoth(t, func(c *identity.Config) {
				c.Autoconfirm, c.OIDC = false, map[string]identity.Provider{"github": {ClientID: "id", Secret: "s",
					Issuer: srv.URL}}
			}, func(s *server) {
				enter := func() reply {
					r := s.call("GET", "/authorize?provider=github&redirect_to=https://app.example.com/in", nil)
					at, err := url.Parse(r.header.Get("Location"))
					if err != nil || r.status != 302 {
						s.Fatal(r.status, r.text)
					}
					c := (&http.Response{Header: r.header}).Cookies()[0]
					return s.call("GET", "/callback/github?code=c&state="+url.QueryEscape(at.Query().Get("state")), nil,
						"Cookie: "+c.Name+"="+c.Value)
				}
				r := enter()
				held := "Cookie: none=x"
				for _, c := range (&http.Response{Header: r.header}).Cookies() {
					if c.Path != "/auth/v1/verify" {
						continue
					}
					if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 {
						s.Errorf("%+v", c)
					}
					held = "Cookie: " + c.Name + "=" + c.Value
				}
				if !strings.Contains(r.header.Get("Location"), "provider_email_needs_verification") || held == "Cookie: none=x" {
					s.Fatal(r.header)
				}
				if !same {
					held = "Cookie: none=x"
				}
				link := regexp.MustCompile(`http://127\.0\.0\.1:8080/auth/v1(/verify\S+)`).FindStringSubmatch(s.mail("confirmation").Text)[1]
				for accept, want := range map[string]int{"Accept: text/html": 200,
					"Accept: */*": 303} { // a scanner, of either kind
					if r = s.call("GET", link, nil, accept); r.status != want ||
						strings.Contains(r.header.Get("Location"), "access_token") {
						s.Errorf("%s: %d %s", accept, r.status, r.text)
					}
				}
				r = s.call("POST", link, "", "Content-Type: application/x-www-form-urlencoded", held)
				if r.status != 303 || !strings.Contains(r.header.Get("Location"), "access_token=") {
					s.Error(r.status, r.header.Get("Location"))
				}
				if at := enter().header.Get("Location"); strings.Contains(at, "access_token=") != same {
					s.Errorf("afterwards: %s", at)
				}
			})
		})
	}
}
