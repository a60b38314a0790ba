package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A function refuses each parameter and member that it does not read, and what the
// query and the body say differently, names it and says what was probably meant.
func TestFunctionsRefuseWhatTheyDoNotRead(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		refused := func(what string, q testkit.Request, names ...string) {
			t.Helper()
			if q.Bearer == "" {
				q.As = testkit.As(actor.Owner)
			}
			a := k.Call(q)
			for _, name := range names {
				if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), name) {
					t.Errorf("%s, %s %s: %d %s, want 400 with %s", what, q.Method, q.Path, a.Status, a.Body, name)
				}
			}
		}
		for _, fn := range k.App.Functions() {
			path := "/functions/v1/" + fn.Name
			for _, method := range fn.Methods {
				refused("an unknown parameter", testkit.Request{Method: method, Path: path + "?no_such=1"}, "no_such")
				refused("another tenant", testkit.Request{Method: method, Path: path + "?tenant_id=" + demo.South}, "tenant_id")
				if method == "GET" {
					refused("a body", testkit.Request{Method: method, Path: path, Body: `{"days": 7}`}, "body")
					continue
				}
				refused("an unknown member", testkit.Request{Method: method, Path: path, Body: `{"no_such": null}`}, "no_such")
				refused("another tenant", testkit.Request{Method: method, Path: path, Body: `{"tenant_id": "` + demo.South + `"}`},
					"tenant_id")
			}
		}
		const clusters = "/functions/v1/assign-risk-clusters"
		refused("a misspelt name", testkit.Request{Method: "POST", Path: clusters, Body: `{"entity_typ": "zone"}`},
			"entity_typ", "did you mean entity_type?")
		refused("a misspelt name", testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis?day=7"},
			"did you mean days?")
		for member, value := range map[string]string{"entity_type": `"driver"`, "min_score": "50"} {
			refused("a contradiction", testkit.Request{Method: "POST", Path: clusters + "?entity_type=zone&min_score=10",
				Body: fmt.Sprintf(`{%q: %s}`, member, value)}, member, "query")
		}
		refused("two tenants", testkit.Request{Method: "POST", Path: clusters + "?tenant_id=" + demo.North,
			Bearer: k.Service(),
			Body:   `{"tenant_id": "` + demo.South + `"}`}, "tenant_id")

		for what, q := range map[string]testkit.Request{
			"the same in query and body": {Method: "POST", Path: clusters + "?min_score=010&entity_type=zone",
				Body: `{"min_score": 10.0, "entity_type": "zone"}`},
			"its own tenant": {Method: "POST", Path: clusters,
				Body: `{"tenant_id": "` + demo.North + `", "entity_type": "zone"}`},
			"a region of supabase-js": {Method: "GET", Path: "/functions/v1/safety-kpis?forceFunctionRegion=eu-central-1"},
			"JSON as a text": {Method: "POST", Path: clusters, Body: `{"entity_type": "zone"}`,
				Header: map[string]string{"Content-Type": "text/plain;charset=UTF-8"}},
		} {
			q.As = testkit.As(actor.Owner)
			if a := k.Call(q); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", what, a.Status, a.Body)
			}
		}
		text := map[string]string{"Content-Type": "text/plain"}
		refused("a text that is no JSON", testkit.Request{Method: "POST", Path: clusters, Body: "zone", Header: text}, "JSON")
	})
}

// A second check of the rules has no events, and says how many stand and where.
func TestComplianceSaysWhatStands(t *testing.T) {
	type answer struct {
		Events   []struct{ Status string }
		Standing struct {
			Count int
			URL   string
		}
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		check := func(as actor.Role) (a answer) {
			t.Helper()
			r := k.Post(testkit.As(as), "/functions/v1/check-compliance-rules", map[string]any{})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			r.JSON(t, &a)
			return a
		}
		first := check(actor.Owner)
		bad := first.Standing.Count
		for _, e := range first.Events {
			if e.Status == "warning" || e.Status == "breach" {
				bad++
			}
		}
		second := check(actor.Owner)
		if bad == 0 || len(second.Events) != 0 || second.Standing.Count != bad {
			t.Errorf("%d are no longer compliant after the first check; then %d events, %d standing", bad, len(second.Events),
				second.Standing.Count)
		}
		u, err := url.Parse(second.Standing.URL)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(testkit.List[map[string]any](t, k, testkit.As(actor.Owner),
			strings.TrimPrefix(u.Path, "/v1/")+"?"+u.RawQuery)); n < bad {
			t.Errorf("%s lists %d events of %d that stand", second.Standing.URL, n, bad)
		}
	})
}
