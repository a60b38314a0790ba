package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A token means the tenant that it was made for, however often its user
// switches: what a function answers, and out of which cache, goes by it.
func TestTokensKeepTheirTenant(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		type minted struct{ token, tenant string }
		tokens := []minted{{token: k.Token("both@both.example")}}
		about := func(token string) string {
			t.Helper()
			var got struct {
				TenantID string `json:"tenant_id"`
			}
			r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token})
			if r.JSON(t, &got); r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			return got.TenantID
		}
		home := about(tokens[0].token)
		away := map[string]string{demo.North: demo.South, demo.South: demo.North}[home]
		tokens[0].tenant = home
		for _, to := range []string{away, home} {
			var s struct {
				AccessToken string `json:"access_token"`
			}
			r := k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/tenant", Bearer: tokens[len(tokens)-1].token,
				Body: map[string]any{"tenant_id": to}})
			if r.JSON(t, &s); r.Status != http.StatusOK {
				t.Fatalf("switch to %s: %d %s", to, r.Status, r.Body)
			}
			tokens = append(tokens, minted{s.AccessToken, to})
		}
		for range 2 { // the second time out of the cache
			for i, m := range tokens {
				if got := about(m.token); got != m.tenant {
					t.Errorf("token %d is of %s and shows %s", i, m.tenant, got)
				}
			}
		}
	})
}

// An administrator who is made an operator loses at once what the role opened,
// with the token of before and with warm caches.
func TestLoweredAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Admin)
		const board = "/functions/v1/safety-engagement"
		may := func() (string, int, int) {
			r := k.Get(as, board)
			body := string(r.Body)
			undo := k.Post(as, "/functions/v1/rollback-import-job",
				map[string]any{"job_id": "0190a000-0000-7000-8000-000000000000"})
			return body, undo.Status, k.Get(as, "/v1/members?limit=1").Status
		}
		k.Get(as, board)
		if body, undo, _ := may(); !strings.Contains(body, `"team_scores"`) || undo != http.StatusNotFound {
			t.Fatalf("before: a rollback %d, %s", undo, body)
		}
		var m []struct{ ID string }
		k.Get(testkit.As(actor.Owner), "/v1/members?select=id&email=eq."+as).JSON(t, &m)
		lower := testkit.Request{Method: "PATCH", Path: "/v1/members?id=eq." + m[0].ID, As: testkit.As(actor.Owner),
			Body: map[string]any{"role": "operator"}}
		if r := k.Call(lower); r.Status != http.StatusNoContent {
			t.Fatalf("lower: %d %s", r.Status, r.Body)
		}
		if body, undo, _ := may(); strings.Contains(body, `"team_scores"`) || undo != http.StatusForbidden {
			t.Errorf("afterwards: a rollback %d, %s", undo, body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?id=eq." + m[0].ID, As: as,
			Body: map[string]any{"role": "admin"}}); r.Status < 400 {
			t.Errorf("raises itself again: %d", r.Status)
		}
	})
}

// Whatever a filter, a selection or an order of any collection names, nothing of
// another tenant is shown.
func TestFiltersStayInTheTenant(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, res := range catalog.Default().All() {
			for i, query := range []string{
				"tenant_id=eq." + demo.South, "tenant_id=neq." + demo.North,
				"tenant_id=in.(" + demo.North + "," + demo.South + ")", "tenant_id=not.is.null",
				"or=(tenant_id.eq." + demo.South + ",id.not.is.null)", "not.and=(tenant_id.eq." + demo.North + ",id.not.is.null)",
				"select=*,tenants(*)", "select=tenants(*)", "order=(select tenant_id from tenants)",
				"order=tenant_id.desc,id&limit=1000",
				"select=tenant_id,id&tenant_id=gt." + demo.North,
			} {
				path := []string{"/v1/", "/rest/v1/"}[i%2] + res.Name + "?" + strings.ReplaceAll(query, " ", "%20")
				r := k.Get(testkit.As(actor.Owner), path)
				if r.Status != http.StatusOK && r.Status != http.StatusBadRequest {
					t.Errorf("%s: %d %.300s", path, r.Status, r.Body)
				}
				if r.Status == http.StatusOK && strings.Contains(string(r.Body), demo.South) {
					t.Errorf("%s shows the other tenant: %.300s", path, r.Body)
				}
			}
		}
	})
}

// What only the server sets is refused where a body names it, or reads back as
// the server set it.
func TestServersFieldsAreItsOwn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const at, id = "2001-01-01T00:00:00Z", "0190a000-0000-7000-8000-00000000beef"
		for name, v := range map[string]any{"tenant_id": demo.South, "created_by": id, "created_at": at, "updated_at": at,
			"version": 77, "role": "owner"} {
			code := "OWN-" + strings.ToUpper(name)
			plain := map[string]any{"code": code, "name": "x"}
			if r := k.Post(testkit.As(actor.Owner), "/v1/zones", plain); r.Status != http.StatusCreated {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			before := k.Get(testkit.As(actor.Owner), "/v1/zones?code=eq."+code)
			for _, q := range []testkit.Request{
				{Method: "POST", Path: "/v1/zones", Body: map[string]any{"code": code + "-2", "name": "x", name: v}},
				{Method: "PATCH", Path: "/v1/zones?code=eq." + code, Body: map[string]any{name: v}},
			} {
				q.As = testkit.As(actor.Owner)
				named := name
				if name == "tenant_id" {
					named = "42501" // PostgREST's answer where a policy forbids the row
				}
				if r := k.Call(q); r.Status < 400 || r.Status >= 500 || !strings.Contains(string(r.Body), named) {
					t.Errorf("%s with %s: %d %s", q.Method, name, r.Status, r.Body)
				}
			}
			if after := k.Get(testkit.As(actor.Owner), "/v1/zones?code=eq."+code); string(after.Body) != string(before.Body) {
				t.Errorf("%s changed the row:\n%s\n%s", name, before.Body, after.Body)
			}
			if r := k.Get(testkit.As(actor.Owner), fmt.Sprintf("/v1/zones?code=eq.%s-2", code)); string(r.Body) != "[]" {
				t.Errorf("%s: a row was made: %s", name, r.Body)
			}
		}
	})
}
