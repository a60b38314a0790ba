package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

type functionFault struct {
	Error   *string `json:"error"`
	Details *string `json:"details"`
}

// Every function refuses in the interface's order: 405, 401, 403, then 400,
// always as {error, details}.
func TestFunctionsRefuse(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, fn := range k.App.Functions() {
			path, method := "/functions/v1/"+fn.Name, fn.Methods[0]
			wrong := "DELETE"
			for _, c := range []struct {
				what   string
				req    testkit.Request
				status int
			}{
				{"wrong method without a token", testkit.Request{Method: wrong, Path: path}, 405},
				{"no token", testkit.Request{Method: method, Path: path}, 401},
				{"garbage token", testkit.Request{Method: method, Path: path, Bearer: "garbage"}, 401},
				{"no tenant", testkit.Request{Method: method, Path: path, As: "nobody@none.example"}, 403},
				{"service key without a tenant", testkit.Request{Method: method, Path: path, Bearer: k.Service()}, 400},
				{"service key with a bad tenant", testkit.Request{Method: method, Path: path + "?tenant_id=x",
					Bearer: k.Service()}, 400},
				{"service key from a browser",
					testkit.Request{Method: method, Path: path, Bearer: k.Service(),
						Header: map[string]string{"Origin": "https://evil.example"}}, 401},
				{"service key in the address bar",
					testkit.Request{Method: method, Path: path + "?tenant_id=" + demo.North + "&apikey=" + url.QueryEscape(k.Service())}, 401},
				{"token in the address bar", testkit.Request{Method: method,
					Path: path + "?access_token=" + k.Token(testkit.As(actor.Owner))}, 401},
				{"broken escape in the query", testkit.Request{Method: method, Path: path + "?days=%zz",
					As: testkit.As(actor.Owner)}, 400},
			} {
				r := k.Call(c.req)
				var f functionFault
				r.JSON(t, &f)
				if r.Status != c.status || f.Error == nil || f.Details == nil {
					t.Errorf("%s, %s: %d %s, want %d with error and details", fn.Name, c.what, r.Status, r.Body, c.status)
				}
				if c.status == 405 && !strings.Contains(r.Header.Get("Allow"), method) {
					t.Errorf("%s: Allow = %q", fn.Name, r.Header.Get("Allow"))
				}
			}
			for _, role := range actor.Members {
				if len(fn.Roles) == 0 || slices.Contains(fn.Roles, role) {
					continue
				}
				if r := k.Call(testkit.Request{Method: method, Path: path, As: testkit.As(role)}); r.Status != 403 {
					t.Errorf("%s as %s: %d, want 403", fn.Name, role, r.Status)
				}
			}
		}
		if r := k.Get(testkit.As(actor.Owner), "/functions/v1/nothing"); r.Status != 404 {
			t.Errorf("unknown function: %d", r.Status)
		}
	})
}

// Numbers are read strictly and out of range is refused or clamped, never a
// server error.
func TestFunctionParameters(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, v := range []string{"-1", "0", "201", "2147483648", "9223372036854775808", "1e3", "NaN", "%20", "%D9%A3",
			"1.0", "0x1", "1&%s=2"} {
			for _, c := range []struct{ fn, name string }{
				{"get-dashboard-snapshot-v2", "page"}, {"get-dashboard-snapshot-v2", "pageSize"}, {"safety-kpis", "days"},
				{"get-dashboard-snapshot-v2", "lightweight"},
			} {
				value := v
				if strings.Contains(v, "%s") {
					value = fmt.Sprintf(v, c.name)
				}
				r := k.Get(testkit.As(actor.Owner), "/functions/v1/"+c.fn+"?"+c.name+"="+value)
				want := 400
				if v == "201" && (c.name == "pageSize" || c.name == "page" || c.name == "days") || v == "2147483648" &&
					(c.name == "pageSize" || c.name == "page") {
					want = 200
				}
				if r.Status != want {
					t.Errorf("%s?%s=%s: %d %.200s, want %d", c.fn, c.name, v, r.Status, r.Body, want)
				}
			}
		}
		var out struct {
			Pagination struct{ Page, PageSize int }
		}
		k.Get(testkit.As(actor.Owner), "/functions/v1/get-dashboard-snapshot-v2?pageSize=201").JSON(t, &out)
		if out.Pagination.PageSize != 200 {
			t.Errorf("pageSize 201 is reported as %d, want 200", out.Pagination.PageSize)
		}
	})
}

// A cached answer says so, a write it depends on drops it, and no tenant or
// role ever gets another's.
func TestFunctionCache(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const path = "/functions/v1/get-dashboard-snapshot-v2?lightweight=true"
		look := func(as string) (string, bool, string, int) {
			t.Helper()
			r := k.Get(as, path)
			var out struct {
				TenantID string `json:"tenant_id"`
				Cached   bool   `json:"cached"`
				Zones    struct{ Total int }
			}
			r.JSON(t, &out)
			return r.Header.Get("X-Cache"), out.Cached, out.TenantID, out.Zones.Total
		}
		x, cached, tenant, before := look(testkit.As(actor.Manager))
		if x != "MISS" || cached || tenant != demo.North {
			t.Errorf("first: %s %v %s", x, cached, tenant)
		}
		if x, cached, _, _ := look(testkit.As(actor.Manager)); x != "HIT" || !cached {
			t.Errorf("second: %s %v", x, cached)
		}
		if x, _, tenant, _ := look("admin@south.example"); x != "MISS" || tenant != demo.South {
			t.Errorf("another tenant: %s %s", x, tenant)
		}
		if r := k.Post(testkit.As(actor.Manager), "/v1/zones",
			map[string]any{"code": "NEW-1", "name": "New"}); r.Status != 201 {
			t.Fatalf("insert: %d %s", r.Status, r.Body)
		}
		if x, _, _, after := look(testkit.As(actor.Manager)); x != "MISS" || after != before+1 {
			t.Errorf("after a write: %s, %d zones, want MISS and %d", x, after, before+1)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: path, As: testkit.As(actor.Manager),
			Header: map[string]string{"Cache-Control": "no-cache"}}); r.Header.Get("X-Cache") != "MISS" {
			t.Errorf("no-cache: %s", r.Header.Get("X-Cache"))
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/cache", As: testkit.As(actor.Viewer)}); r.Status != 403 {
			t.Errorf("clear as viewer: %d", r.Status)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/cache", As: testkit.As(actor.Admin)}); r.Status != 204 {
			t.Errorf("clear as admin: %d", r.Status)
		}
	})
}

// Every collection: nobody in without a token or tenant, no role beyond its
// grants, and a row of another tenant looks like a missing one.
func TestCollectionsRefuse(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const missing = "0190a000-0000-7000-8000-000000000000"
		for _, res := range catalog.Default().All() {
			for _, prefix := range []string{"/v1/", "/rest/v1/"} {
				path := prefix + res.Name
				if r := k.Call(testkit.Request{Method: "GET", Path: path}); r.Status != 401 {
					t.Errorf("%s without a token: %d", path, r.Status)
				}
				if r := k.Get("nobody@none.example", path); r.Status != 403 {
					t.Errorf("%s without a tenant: %d %s", path, r.Status, r.Body)
				}
				if r := k.Call(testkit.Request{Method: "TRACE", Path: path, As: testkit.As(actor.Owner)}); r.Status != 405 {
					t.Errorf("TRACE %s: %d", path, r.Status)
				}
			}
			for _, role := range actor.Members {
				_, may := catalog.Find(res.Access.Read, role)
				r := k.Get(testkit.As(role), "/v1/"+res.Name+"?limit=1")
				if may != (r.Status == 200) || !may && r.Status != 403 {
					t.Errorf("GET %s as %s: %d %.200s, grant %v", res.Name, role, r.Status, r.Body, may)
				}
			}
			checkForeign(t, k, res, missing)
		}
	})
}

// checkForeign compares a row of tenant south with a row that is nowhere.
func checkForeign(t *testing.T, k *testkit.Kit, res *catalog.Resource, missing string) {
	foreign := foreignID(t, k, res)
	if foreign == "" {
		return
	}
	for _, c := range []struct {
		method string
		body   any
	}{{"GET", nil}, {"PATCH", map[string]any{}}, {"DELETE", nil}} {
		for _, form := range []string{"/v1/" + res.Name + "?id=eq.%s", "/v1/" + res.Name + "/%s"} {
			ask := func(id string) testkit.Response {
				return k.Call(testkit.Request{Method: c.method, Path: fmt.Sprintf(form, id), As: testkit.As(actor.Owner),
					Body:   c.body,
					Header: map[string]string{"Prefer": "return=representation"}})
			}
			a, b := ask(foreign), ask(missing)
			if a.Status != b.Status || strings.ReplaceAll(string(a.Body), foreign, missing) != string(b.Body) {
				t.Errorf("%s %s tells foreign from missing: %d %s / %d %s", c.method, form, a.Status, a.Body, b.Status, b.Body)
			}
		}
	}
}

func foreignID(t *testing.T, k *testkit.Kit, res *catalog.Resource) string {
	if res.Root {
		return demo.South
	}
	r := k.Call(testkit.Request{Method: "GET", Path: "/v1/" + res.Name + "?select=id&limit=1&tenant_id=eq." + demo.South,
		Bearer: k.Service()})
	var rows []struct{ ID string }
	if r.Status != 200 || json.Unmarshal(r.Body, &rows) != nil {
		t.Errorf("%s with the service key: %d %s", res.Name, r.Status, r.Body)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].ID
}

// A tenant id in user metadata is a wish and opens nothing.
func TestMetadataOpensNothing(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		south := k.Get("admin@south.example", "/v1/zones?select=id&limit=1")
		r := k.Call(testkit.Request{Method: "PUT", Path: "/auth/v1/user", As: testkit.As(actor.Operator),
			Body: map[string]any{"data": map[string]any{"tenant_id": demo.South}}})
		if r.Status != 403 {
			t.Errorf("switch to a foreign tenant: %d %s", r.Status, r.Body)
		}
		if r := k.Get(testkit.As(actor.Operator), "/v1/zones?select=id&tenant_id=eq."+demo.South); string(r.Body) != "[]" {
			t.Errorf("foreign rows: %s (south has %s)", r.Body, south.Body)
		}
		r = k.Post("", "/auth/v1/signup",
			map[string]any{"email": "stranger@else.example", "password": "a long enough one",
				"data": map[string]any{"tenant_id": demo.South}})
		var s struct {
			AccessToken string `json:"access_token"`
		}
		r.JSON(t, &s)
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis",
			Bearer: s.AccessToken}); r.Status != 403 {
			t.Errorf("stranger with a tenant wish: %d %s", r.Status, r.Body)
		}
	})
}

// Limits refuse with the interface's body and headers, and say how long.
func TestRateLimits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		token := k.Token(testkit.As(actor.Viewer))
		var last testkit.Response
		n := 0
		if r := setLimits(t, k, demo.North, few); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		for ; n < 40; n++ {
			last = k.Call(testkit.Request{Method: "GET", Path: "/v1/rate-limit/status", Bearer: token})
			if last.Status != 200 {
				break
			}
		}
		if n != 20 || last.Status != http.StatusTooManyRequests {
			t.Fatalf("%d requests passed, then %d: want 20, then 429", n, last.Status)
		}
		var body map[string]any
		last.JSON(t, &body)
		if body["error"] != "rate_limit_exceeded" || body["remaining"] != 0.0 || body["limit"] != 20.0 ||
			body["retry_after"] == nil ||
			body["reset_at"] == nil || body["message"] == nil {
			t.Errorf("body %s", last.Body)
		}
		for _, h := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			"X-RateLimit-Used"} {
			if last.Header.Get(h) == "" {
				t.Errorf("header %s is missing", h)
			}
		}
		if r := k.Get("admin@south.example", "/v1/rate-limit/status"); r.Status != 200 {
			t.Errorf("another tenant is limited too: %d", r.Status)
		}
	}, testkit.Limited)
}

// No path is answered with a redirect or in HTML: one that is not written as
// the routes are gets its surface's error.
func TestOddPaths(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for path, c := range map[string]struct {
			status int
			member string
		}{
			"/v1": {200, "swagger"}, "/rest/v1": {200, "swagger"},
			"/v1//zones": {404, "code"}, "/rest/v1/./zones": {404, "code"}, "//v1/zones": {404, "code"},
			"/v1/zones/../items": {404, "code"},
			"/functions/v1":      {404, "details"}, "/functions/v1//safety-kpis": {404, "details"},
			"/functions/v1/../v1/safety-kpis": {404, "details"},
			"/auth/v1":                        {404, "msg"}, "/auth/v1//user": {404, "msg"}, "/auth//v1/user": {404, "msg"},
			"/nowhere": {404, "code"}, "/v1/zones/": {404, "code"}, "/functions/v1/safety-kpis/": {404, "details"},
		} {
			r := k.Get(testkit.As(actor.Owner), path)
			var body map[string]any
			if err := json.Unmarshal(r.Body, &body); err != nil || r.Status != c.status || body[c.member] == nil ||
				r.Header.Get("Location") != "" {
				t.Errorf("%s: %d %s %.200s, want %d with %s", path, r.Status, r.Header.Get("Location"), r.Body, c.status, c.member)
			}
		}
	})
}

// A token that cannot be read is refused in the server's own words, whatever the
// library of tokens found at fault.
func TestUnreadableToken(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		good := strings.Split(k.Token(testkit.As(actor.Owner)), ".")
		for _, token := range []string{"garbage", "a.b.c", good[0] + "." + good[1] + ".AAAA",
			"eyJhbGciOiJub25lIn0." + good[1] + "."} {
			r := k.Call(testkit.Request{Method: "GET", Path: "/rest/v1/zones", Bearer: token})
			var f struct{ Code, Message string }
			r.JSON(t, &f)
			if r.Status != 401 || f.Code != "PGRST301" || f.Message != "the token is not valid" {
				t.Errorf("%s: %d %s", token, r.Status, r.Body)
			}
			if h := r.Header.Get("WWW-Authenticate"); h != `Bearer error="invalid_token", error_description="the token is not valid"` {
				t.Errorf("%s: challenge %q", token, h)
			}
		}
	})
}
