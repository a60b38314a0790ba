package route

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/access"
	"holdfast/internal/actor"
)

func done(w http.ResponseWriter, _ *Call) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A route that is not said whole keeps the server from starting: one without a
// caller would be open to everybody.
func TestRouteIsSaidWhole(t *testing.T) {
	whole := Route{Method: "GET", Pattern: "/x", Who: Public, Doc: "X", Handle: done}
	if _, err := Handler(&Authenticator{}, []Route{whole}); err != nil {
		t.Fatal(err)
	}
	for missing, r := range map[string]Route{
		"caller":        {Method: "GET", Pattern: "/x", Doc: "X", Handle: done},
		"has no caller": {Method: "GET", Pattern: "/x", Who: callers, Doc: "X", Handle: done},
		"description":   {Method: "GET", Pattern: "/x", Who: Public, Handle: done},
		"handler":       {Method: "GET", Pattern: "/x", Who: Public, Doc: "X"},
		"path":          {Method: "GET", Who: Public, Doc: "X", Handle: done},
	} {
		if _, err := Handler(&Authenticator{}, []Route{whole, r}); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("a route without %s: %v", missing, err)
		}
	}
	if _, err := Handler(&Authenticator{}, []Route{whole, whole}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("one route twice: %v", err)
	}
}

// Every kind of caller has words for it and somebody who lets it in.
func TestCallersAreKnown(t *testing.T) {
	for who := Public; who < callers; who++ {
		if described[who] == "" {
			t.Errorf("caller %d is not described", who)
		}
	}
	if Caller(0).String() != "nobody" || callers.String() != "nobody" {
		t.Error("who is no caller has a name")
	}
	h, err := Handler(&Authenticator{}, []Route{{Method: "GET", Pattern: "/x", Who: callers - 1, Doc: "X", Handle: done}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(h, "GET", "/x", "").Code; got < 400 {
		t.Errorf("a provisioner's route answers anybody: %d", got)
	}
}

func ask(h http.Handler, method, path, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Who may call a route is looked at before its handler is, by every kind of the
// gate's; what a route writes is closed to a suspended tenant.
func TestGateCallers(t *testing.T) {
	callers := map[string]actor.Actor{
		"":          {Role: actor.Anon},
		"stray":     {UserID: "u", Role: ""},
		"viewer":    {UserID: "u", TenantID: "t", Role: actor.Viewer},
		"suspended": {UserID: "u", TenantID: "t", Role: actor.Owner, Suspended: true},
		"service":   {Role: actor.Service},
	}
	g := access.New(func(r *http.Request) (actor.Actor, error) { return callers[r.Header.Get("Authorization")], nil }, nil)
	var routes []Route
	for path, who := range map[string]Caller{"/visitor": Visitor, "/signed": SignedIn, "/asking": SignedIn,
		"/tenant": TenantMember} {
		for _, m := range []string{"GET", "POST"} {
			routes = append(routes, Route{Method: m, Pattern: path, Who: who, Doc: path, Handle: done,
				Question: path == "/asking"})
		}
	}
	h, err := Handler(&Authenticator{Gate: g}, routes)
	if err != nil {
		t.Fatal(err)
	}
	tenant := "?tenant_id=0190a000-0000-7000-8000-000000000001"
	for _, c := range []struct {
		who, method, path string
		want              int
	}{
		{"", "GET", "/visitor", 204}, {"", "GET", "/signed", 401}, {"", "GET", "/asking", 401}, {"", "GET", "/tenant", 401},
		{"stray", "GET", "/signed", 204}, {"stray", "GET", "/tenant", 403},
		{"viewer", "GET", "/tenant", 204}, {"viewer", "POST", "/tenant", 204},
		{"suspended", "GET", "/tenant", 204}, {"suspended", "POST", "/tenant", 403},
		{"service", "GET", "/tenant", 400}, {"service", "GET", "/tenant?tenant_id=x", 400},
		{"service", "POST", "/tenant" + tenant, 204},
		{"viewer", "GET", "/tenant?a=%zz", 400},
	} {
		if got := ask(h, c.method, c.path, c.who); got.Code != c.want {
			t.Errorf("%s %s as %q: %d %s, want %d", c.method, c.path, c.who, got.Code, got.Body, c.want)
		}
	}
}

// A path's other methods, and what is no path, are refused in the words of the
// surface.
func TestSurfaces(t *testing.T) {
	route := func(method, path string) Route {
		return Route{Method: method, Pattern: path, Who: Public, Doc: path, Handle: done}
	}
	beside := route("POST", "/v1/beside")
	beside.Beside = true
	h, err := Handler(&Authenticator{}, []Route{route("GET", "/v1/x"), route("POST", "/v1/x"), beside,
		route("GET", "/auth/v1/x/{id}"), route("GET", "/auth/v1/scim/v2/x"), route("GET", "/v1/{$}")})
	if err != nil {
		t.Fatal(err)
	}
	const id = "/auth/v1/x/0190a000-0000-7000-8000-000000000001"
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"PUT", "/v1/x", 405, `"code":"PGRST117"`},
		{"GET", "/v1/beside", 404, `"code":"PGRST125"`}, // as if it were not there
		{"GET", "/nowhere", 404, `"code":"PGRST125"`},
		{"GET", "/v1//x", 404, `without empty or dotted segments: /v1/x`},
		{"GET", "/v1", 204, ""}, {"GET", "/v1/", 204, ""},
		{"GET", id, 204, ""}, {"GET", id + "/", 204, ""}, {"HEAD", id, 204, ""},
		{"GET", "/auth/v1/x/y%2Fz", 404, `"error_code":"not_found"`},
		{"GET", "/auth/v1/x/y", 404, `"error_code":"validation_failed"`},
		{"PUT", id, 405, `"error_code":"method_not_allowed"`},
		{"GET", "/auth/v1/nowhere", 404, `"error_code":"not_found"`},
		{"GET", "/auth/v1/scim/v2/nowhere", 404, "urn:ietf:params:scim:api:messages:2.0:Error"},
		{"PUT", "/auth/v1/scim/v2/x", 405, "urn:ietf:params:scim:api:messages:2.0:Error"},
		{"GET", "/functions/v1", 404, `"error":"nothing is served`},
	} {
		if got := ask(h, c.method, c.path, ""); got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.Code, got.Body)
		}
	}
	if got := ask(h, "OPTIONS", "/v1/x", ""); got.Code != 204 || got.Header().Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("OPTIONS: %d %v", got.Code, got.Header())
	}
}

// One reader of credentials: what stands around a token does not matter, an
// address bar does not speak.
func TestCredential(t *testing.T) {
	for header, want := range map[string]string{"Bearer x": "x", "bearer   x ": "x", "Basic x": "", "Bearer": "", "": ""} {
		r := httptest.NewRequest("GET", "/?access_token=y&apikey=z", nil)
		r.Header.Set("Authorization", header)
		if c := Credential(r); c.Bearer != want || c.APIKey != "" {
			t.Errorf("%q shows %q, %q", header, c.Bearer, c.APIKey)
		}
	}
}

func TestWildcards(t *testing.T) {
	if got := wildcardNames("/a/{id}/b/{other_id}/{$}"); !slices.Equal(got, []string{"id", "other_id"}) {
		t.Error(got)
	}
}
