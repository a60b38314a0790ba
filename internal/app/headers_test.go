package app_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// rateHeaders are the interface's, "all API responses".
var rateHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used"}

// Every answer under /auth/v1 says what is left: whoever asks and with whatever,
// and what nothing is served for too.
func TestEveryIdentityAnswerSaysWhatIsLeft(t *testing.T) {
	type route struct{ method, path string }
	last := map[string]string{"/logout": "after all"} // which need the session
	routes := []route{{"GET", "/nowhere"}, {"DELETE", "/token"}, {"GET", "/scim/v2/Nothing"}, {"DELETE", "/sso"}, {"GET", "/authorize?provider=custom:none"}}
	id := regexp.MustCompile(`\{[a-z_]+\}`)
	add := func(method, pattern string) {
		routes = append(routes, route{method, id.ReplaceAllString(pattern, "0192f0c0-1111-7000-8000-0000000000aa")})
	}
	for _, r := range new(auth.API).Routes() {
		add(r.Method, strings.TrimPrefix(r.Pattern, "/auth/v1"))
	}
	for _, r := range new(ssoapi.API).Routes() {
		add(r.Method, strings.TrimPrefix(r.Pattern, "/auth/v1"))
	}
	slices.SortStableFunc(routes, func(a, b route) int { return strings.Compare(last[a.path], last[b.path]) })
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		n := 0
		for _, shown := range []string{"", "garbage", k.Service(), k.Token(testkit.As(actor.Viewer)), k.Token(testkit.As(actor.Owner))} {
			for _, r := range routes {
				for _, body := range []any{map[string]string{}, "{"} {
					n++
					req := testkit.Request{Method: r.method, Path: "/auth/v1" + r.path, Bearer: shown, Body: body,
						Header: map[string]string{"X-Forwarded-For": fmt.Sprintf("198.51.%d.%d", n>>8, n&255)}}
					if r.method == http.MethodGet {
						req.Body = nil
					}
					a := k.Call(req)
					for _, h := range rateHeaders {
						if a.Header.Get(h) == "" {
							t.Errorf("%s %s with %.8q: %d %s without %s", r.method, r.path, shown, a.Status, a.Body, h)
							break
						}
					}
				}
			}
		}
	}, testkit.Limited, func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} })
}

// Whoever fails to be let in is counted on his address, and refused in the end.
func TestFailedAdmissionsCount(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, path := range []string{"/auth/v1/user", "/auth/v1/admin/users", "/auth/v1/sso/connections"} {
			last := 0
			for n := 0; n < 2000 && last != http.StatusTooManyRequests; n++ {
				last = k.Call(testkit.Request{Method: "GET", Path: path, Bearer: "garbage"}).Status
			}
			if last != http.StatusTooManyRequests {
				t.Errorf("%s: %d after 2000 tokens that are none", path, last)
			}
		}
	}, testkit.Limited)
}

// The service key is the operator's own server, which stands for many people: it
// signs in as many as it likes from its address, and tries one account no more often
// than anybody may, or its visitors would guess without end.
func TestServiceKeySignsManyIn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		otp := func(bearer, email string) int {
			return k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/verify", Bearer: bearer,
				Body: map[string]string{"type": "email", "email": email, "token": "000000"}}).Status
		}
		for n := range 30 {
			if s := otp(k.Service(), fmt.Sprintf("somebody%d@x.example", n)); s == http.StatusTooManyRequests {
				t.Fatalf("refused after %d", n)
			}
		}
		for name, c := range map[string][2]string{"one account with it": {k.Service(), testkit.As(actor.Viewer)}, "without it": {"", "nobody@x.example"}} {
			last := 0
			for n := 0; n < 600 && last != http.StatusTooManyRequests; n++ {
				last = otp(c[0], c[1])
			}
			if last != http.StatusTooManyRequests {
				t.Errorf("%s: %d", name, last)
			}
		}
		for n := 0; n < 30; n++ {
			if s := k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/sso", Bearer: k.Service(),
				Body: map[string]string{"domain": "nobody.example"}}).Status; s == http.StatusTooManyRequests {
				t.Fatalf("/sso refused after %d", n)
			}
		}
	}, testkit.Limited)
}

// The operator may give addresses more attempts than the interface's.
func TestSigninLimit(t *testing.T) {
	k := testkit.New(t, "sqlite", testkit.Limited, func(c *config.Config) { c.SigninLimit = "240/40" })
	for range 40 {
		r := k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/verify",
			Body: map[string]string{"type": "email", "email": "nobody@x.example", "token": "000000"}})
		if r.Status == http.StatusTooManyRequests || r.Header.Get("X-RateLimit-Limit") != "240" {
			t.Fatalf("%d %v", r.Status, r.Header)
		}
	}
}
