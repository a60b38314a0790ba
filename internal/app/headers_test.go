package app_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
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
	routes := []route{{"GET", "/nowhere"}, {"DELETE", "/token"}, {"GET", "/scim/v2/Nothing"}, {"DELETE", "/sso"},
		{"GET", "/authorize?provider=custom:none"}}
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
		for _, shown := range []string{"", "garbage", k.Service(), k.Token(testkit.As(actor.Viewer)),
			k.Token(testkit.As(actor.Owner))} {
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
		for name, c := range map[string][2]string{"one account with it": {k.Service(), testkit.As(actor.Viewer)},
			"without it": {"", "nobody@x.example"}} {
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

// Every answer of the API says what is left: of every route by every method,
// asked by anyone, by a signed-in member and with the service key, of paths that
// nothing is served at, and where limits are off.
func TestEveryAnswerSaysWhatIsLeft(t *testing.T) {
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"}
	named := strings.NewReplacer("{name}", "zones", "{id}", "0192f0c0-1111-7000-8000-0000000000aa", "{$}", "")
	other := regexp.MustCompile(`\{[a-zA-Z_.]+\}`)
	askAll := func(t *testing.T, k *testkit.Kit) {
		paths := []string{"/v1/nowhere", "/v1/zones/a/b", "/v2/zones", "/v3/rpc/pick_line", "/rest/v2/zones", "/v1//zones",
			"/functions/v1/nowhere",
			"/functions/v1/safety-kpis", "/functions/v1/safety-kpis/more", "/functions/v2/safety-kpis", "/functions/v1",
			"/functions", "/v1/rpc/nowhere",
			"/v1/rpc/pick_line", "/rest/v1/rpc/nowhere", "/auth/v2/user", "/auth/v1", "/auth"}
		for _, rt := range k.App.Routes() {
			path := other.ReplaceAllString(named.Replace(rt.Pattern), "0192f0c0-1111-7000-8000-0000000000aa")
			isAPI := strings.HasPrefix(path, "/v1") || strings.HasPrefix(path, "/rest/") ||
				strings.HasPrefix(path, "/functions/") ||
				strings.HasPrefix(path, "/auth/")
			if path == "/v1/events" {
				path += "?no=stream" // which would not end
			}
			if isAPI && path != "/auth/v1/logout" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		n := 0
		for _, path := range append(paths, "/auth/v1/logout") {
			for _, method := range methods {
				for _, shown := range []string{"", k.Service(), k.Token(testkit.As(actor.Owner))} {
					n++
					a := k.Call(testkit.Request{Method: method, Path: path, Bearer: shown,
						Header: map[string]string{"X-Forwarded-For": fmt.Sprintf("198.51.%d.%d", n>>8, n&255)}})
					for _, h := range rateHeaders {
						if a.Header.Get(h) == "" {
							t.Errorf("%s %s with %.8q: %d %.200s without %s", method, path, shown, a.Status, a.Body, h)
							break
						}
					}
				}
			}
		}
	}
	behindProxy := func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }
	t.Run("limits on", func(t *testing.T) { testkit.Run(t, askAll, testkit.Limited, behindProxy) })
	t.Run("limits off", func(t *testing.T) { testkit.Run(t, askAll, behindProxy) })
}

// What is refused before anybody is known, and what asks for methods, is counted
// of the caller all the same: it uses up what the caller has.
func TestRefusalsCount(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		used := 0
		for _, c := range []struct {
			method, path string
			status       int
		}{
			{"GET", "/v1/rate-limit/status", 200},
			{"GET", "/functions/v1/nowhere", 404}, {"DELETE", "/functions/v1/safety-kpis", 405},
			{"OPTIONS", "/functions/v1/safety-kpis", 204},
			{"POST", "/v1/rpc/nowhere", 404}, {"DELETE", "/v1/rpc/pick_line", 405}, {"OPTIONS", "/v1/rpc/pick_line", 204},
			{"GET", "/v2/zones", 404}, {"GET", "/v1/zones/a/b", 404}, {"GET", "/v1//zones", 404}, {"GET", "/v1/nowhere", 404},
			{"OPTIONS", "/v1/zones", 200}, {"OPTIONS", "/v1/permissions", 204}, {"PATCH", "/v1/permissions", 405},
		} {
			r := k.Call(testkit.Request{Method: c.method, Path: c.path, As: testkit.As(actor.Owner)})
			if r.Status != c.status || r.Header.Get("X-RateLimit-Used") != strconv.Itoa(used) {
				t.Errorf("%s %s: %d, used %s, want %d, %d", c.method, c.path, r.Status, r.Header.Get("X-RateLimit-Used"), c.status,
					used)
			}
			used++
		}
	}, testkit.Limited)
}

// A page of another origin may read every header that an answer has.
func TestEveryHeaderIsExposed(t *testing.T) {
	unread := []string{"Cache-Control", "Content-Language", "Content-Length", "Content-Type", "Expires", "Last-Modified",
		"Pragma", // always
		"Vary", "X-Content-Type-Options", "Referrer-Policy", "Strict-Transport-Security", "Access-Control-Allow-Origin",
		"Access-Control-Expose-Headers"} // for the browser
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, q := range []testkit.Request{
			{Method: "GET", Path: "/v1/items?limit=2&order=name.desc.nullslast,unit_cost"},
			{Method: "GET", Path: "/v1/items?limit=2", Header: map[string]string{"Prefer": "count=exact", "Accept": "text/csv"}},
			{Method: "GET", Path: "/v1/nowhere"}, {Method: "GET", Path: "/v1/items", Bearer: "garbage"},
			{Method: "OPTIONS", Path: "/v1/items"},
			{Method: "POST", Path: "/v1/skills", Body: []any{},
				Header: map[string]string{"Prefer": "return=headers-only", "Idempotency-Key": "exposed"}},
			{Method: "PATCH", Path: "/v1/permissions"}, {Method: "GET", Path: "/functions/v1/safety-kpis"},
			{Method: "GET", Path: "/functions/v1/safety-kpis"},
			{Method: "GET", Path: "/functions/v1/nowhere"}, {Method: "GET", Path: "/auth/v1/user"},
			{Method: "GET", Path: "/auth/v1/user", Bearer: "garbage"},
			{Method: "GET", Path: "/auth/v1/admin/users", Bearer: k.Service()}, {Method: "GET", Path: "/openapi.json"},
			{Method: "GET", Path: "/v1/"},
		} {
			if q.Bearer == "" {
				q.As = testkit.As(actor.Owner)
			}
			if q.Header == nil {
				q.Header = map[string]string{}
			}
			q.Header["Origin"] = "https://app.example"
			if q.Bearer == k.Service() {
				delete(q.Header, "Origin") // it is no browser's
			}
			a := k.Call(q)
			exposed := a.Header.Get("Access-Control-Expose-Headers")
			for name := range a.Header {
				is := func(other string) bool { return strings.EqualFold(strings.TrimSpace(other), name) }
				if q.Header["Origin"] != "" && !slices.ContainsFunc(strings.Split(exposed, ","), is) &&
					!slices.ContainsFunc(unread, is) {
					t.Errorf("%s %s: %d, no page may read %s", q.Method, q.Path, a.Status, name)
				}
			}
		}
	}, func(c *config.Config) { c.CORSOrigins = []string{"*"} })
}
