package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/testkit"
)

// Every route of /v1 refuses a parameter that it does not read, names it, and says
// which was probably meant; what it reads, the document says.
func TestRoutesRefuseUnknownParameters(t *testing.T) {
	other := regexp.MustCompile(`\{[a-zA-Z_.]+\}`)
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		asked := 0
		for _, rt := range k.App.Routes() {
			if !strings.HasPrefix(rt.Pattern, "/v1/") || rt.Who != route.SignedIn && rt.Who != route.TenantMember {
				continue
			}
			asked++
			path := other.ReplaceAllString(rt.Pattern, "0192f0c0-1111-7000-8000-0000000000aa") + "?no_such=1"
			a := k.Call(testkit.Request{Method: rt.Method, Path: path, As: testkit.As(actor.Owner)})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "no_such") {
				t.Errorf("%s %s: %d %s, want 400 with no_such", rt.Method, path, a.Status, a.Body)
			}
		}
		if asked < 40 {
			t.Errorf("only %d routes were asked", asked)
		}
		for path, hint := range map[string]string{
			"/v1/jobs?state=failed":        "did you mean status?",
			"/v1/permissions?userid=1":     "did you mean user_id?",
			"/v1/osha/300.pdf?yaer=2026":   "did you mean year?",
			"/v1/audit-chain?from=2026":    "from",
			"/v1/epcis/events?perpage=7":   "did you mean perPage?",
			"/v1/events?type=order.picked": "did you mean types?",
		} {
			a := k.Call(testkit.Request{Method: "GET", Path: path, As: testkit.As(actor.Owner)})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), hint) {
				t.Errorf("%s: %d %s, want 400 with %s", path, a.Status, a.Body, hint)
			}
		}
	})
}

// Endpoints that neither GoTrue nor PostgREST has refuse a member that they do not
// read.
func TestOwnEndpointsRefuseUnknownMembers(t *testing.T) {
	const id = "/0192f0c0-1111-7000-8000-0000000000aa"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, path := range []string{
			"POST /v1/webhooks", "POST /v1/jobs/retry", "POST /v1/import-jobs", "PATCH /v1/import-jobs" + id + "/rows/1",
			"POST /auth/v1/tenant", "POST /auth/v1/tenant/transfer", "POST /auth/v1/invitations",
			"POST /auth/v1/invitations/opened",
			"POST /auth/v1/mail-templates/preview", "POST /auth/v1/tenant/service-accounts",
			"PATCH /auth/v1/tenant/service-accounts" + id,
			"POST /auth/v1/tenant/service-accounts" + id + "/keys", "POST /auth/v1/reauthenticate", "POST /auth/v1/setup",
			"POST /auth/v1/sso/connections", "PUT /auth/v1/sso/connections" + id,
		} {
			method, at, _ := strings.Cut(path, " ")
			a := k.Call(testkit.Request{Method: method, Path: at, As: testkit.As(actor.Owner), Body: `{"no_such": {"a": 1}}`})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "no_such") {
				t.Errorf("%s: %d %s, want 400 with no_such", path, a.Status, a.Body)
			}
		}
		a := k.Call(testkit.Request{Method: "POST", Path: "/v1/webhooks", As: testkit.As(actor.Owner),
			Body: `{"url":"https://a.example/","event":["*"]}`})
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "did you mean events?") {
			t.Errorf("a misspelt member: %d %s", a.Status, a.Body)
		}
	})
}

// A header list of 90 kB is refused in the words of each surface, which name the
// field, and is counted like any other request. Codings of nonsense are passed over.
func TestUnreadableHeaders(t *testing.T) {
	paths := []string{"/v1/zones?limit=1", "/rest/v1/zones?limit=1", "/functions/v1/safety-kpis", "/auth/v1/user",
		"/v1/rate-limit/status", "/openapi.json",
		"/v1/nowhere"}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, path := range paths {
			ask := func(name, value string) testkit.Response {
				return k.Call(testkit.Request{Method: "GET", Path: path, As: testkit.As(actor.Owner),
					Header: map[string]string{name: value}})
			}
			a := ask("X-Very-Long", strings.Repeat("x", 90<<10))
			if a.Status != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(string(a.Body), "X-Very-Long") ||
				a.Body[0] != '{' {
				t.Errorf("%s with 90 kB of header: %d %s", path, a.Status, a.Body)
			}
			for _, h := range rateHeaders {
				if path != "/openapi.json" && a.Header.Get(h) == "" {
					t.Errorf("%s: the refusal of a header list has no %s", path, h)
				}
			}
			plain := ask("Accept-Encoding", "identity").Status
			for _, coding := range []string{"nonsense", ";;;,,q=", "gzip;q=banana", strings.Repeat("a,", 9000),
				"gzip;q=0, *;q=0", "GZIP ; Q=1.0"} {
				if got := ask("Accept-Encoding", coding); got.Status != plain {
					t.Errorf("%s with Accept-Encoding %.20q: %d %.100s, want %d as without", path, coding, got.Status, got.Body, plain)
				}
			}
		}
	}, testkit.Limited)
}

// Preferences that cannot be honoured are passed over, and under strict handling
// refused by name: on collections and on verbs.
func TestPreferencesThatCannotBeHonoured(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, q := range []testkit.Request{{Method: "GET", Path: "/v1/zones?limit=1"},
			{Method: "POST", Path: "/v1/skills?columns=name", Body: `[]`},
			{Method: "GET", Path: "/v1/rpc/scan?code=x"}} {
			for _, prefer := range []string{"timezone=Europe/Berlin", "return=everything", "count=guessed", "wait=10",
				"nonsense"} {
				q.As, q.Header = testkit.As(actor.Owner), map[string]string{"Prefer": prefer}
				if a := k.Call(q); a.Status >= 500 || strings.Contains(string(a.Body), "PGRST122") {
					t.Errorf("%s %s with Prefer: %s: %d %s", q.Method, q.Path, prefer, a.Status, a.Body)
				}
				q.Header = map[string]string{"Prefer": "handling=strict, " + prefer}
				a := k.Call(q)
				if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "PGRST122") ||
					!strings.Contains(string(a.Body), prefer) {
					t.Errorf("%s %s with Prefer: handling=strict, %s: %d %s", q.Method, q.Path, prefer, a.Status, a.Body)
				}
			}
		}
	})
}
