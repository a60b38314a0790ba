package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// permissions is what /v1/permissions says.
type permissions struct {
	UserID      string `json:"user_id"`
	TenantID    string `json:"tenant_id"`
	Role        string
	ReadOnly    bool              `json:"read_only"`
	Currency    string            `json:"currency"`
	Timezone    string            `json:"timezone"`
	Sites       map[string]string `json:"site_timezones"`
	ZoneIDs     []string          `json:"zone_ids"`
	Collections map[string]map[string]json.RawMessage
	Functions   map[string]bool
}

type reach struct {
	Rows   string
	Fields []string
}

func (p permissions) right(t *testing.T, collection, verb string) *reach {
	t.Helper()
	var r *reach
	if err := json.Unmarshal(p.Collections[collection][verb], &r); err != nil {
		t.Fatalf("%s %s: %v", collection, verb, err)
	}
	return r
}

// What moments are told in: the tenant's zone, and those of the sites that are in another one.
func TestPermissionsSayTheZones(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin := testkit.As(actor.Admin)
		near := k.Insert(t, admin, "sites", map[string]any{"code": "NEAR", "name": "Near", "timezone": "Europe/Berlin"})
		far := k.Insert(t, admin, "sites", map[string]any{"code": "FAR", "name": "Far", "timezone": "Asia/Tokyo"})
		for _, role := range actor.Members {
			var p permissions
			k.Get(testkit.As(role), "/v1/permissions").JSON(t, &p)
			_, said := p.Sites[near]
			if p.Timezone != "Europe/Berlin" || p.Sites[far] != "Asia/Tokyo" || said {
				t.Errorf("%s: home %s, sites %v", role, p.Timezone, p.Sites)
			}
		}
	})
}

// What the view says is what requests meet: for every role, every collection
// in every way, and every function.
func TestPermissions(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, role := range actor.Members {
			var p permissions
			k.Get(testkit.As(role), "/v1/permissions").JSON(t, &p)
			if p.Role != string(role) || p.ReadOnly || p.Currency != "EUR" ||
				len(p.Collections) != len(catalog.Default().All()) {
				t.Errorf("%s: %+v", role, p)
			}
			for _, r := range catalog.Default().All() {
				agree(t, k, p, r.Name)
			}
			for _, f := range k.App.Functions() {
				// A body that cannot be read is refused after the caller is admitted.
				res := k.Call(testkit.Request{Method: f.Methods[0], Path: "/functions/v1/" + f.Name + "?page=x&days=x",
					As: testkit.As(role), Body: "["})
				if admitted := res.Status != http.StatusForbidden; admitted != p.Functions[f.Name] {
					t.Errorf("%s as %s: the view says %v, the answer is %d %s", f.Name, role, p.Functions[f.Name], res.Status,
						res.Body)
				}
			}
		}
	})
}

func agree(t *testing.T, k *testkit.Kit, p permissions, name string) {
	t.Helper()
	as := testkit.As(actor.Role(p.Role))
	nowhere := "?id=eq." + uuid.NewString()
	for _, c := range []struct{ verb, method, path, body string }{
		{"read", "GET", "?limit=1", ""}, {"create", "POST", "", "{}"}, {"update", "PATCH", nowhere, "{}"},
		{"delete", "DELETE", nowhere, ""},
	} {
		q := testkit.Request{Method: c.method, Path: "/rest/v1/" + name + c.path, As: as}
		if c.body != "" {
			q.Body = c.body
		}
		res := k.Call(q)
		said := p.right(t, name, c.verb)
		if admitted := res.Status != http.StatusForbidden; admitted != (said != nil) {
			t.Errorf("%s %s as %s: the view says %+v, the answer is %d %s", c.method, name, p.Role, said, res.Status, res.Body)
		}
		if c.verb != "read" || said == nil {
			continue
		}
		var rows []map[string]any
		res.JSON(t, &rows)
		for _, row := range rows {
			for field, value := range row {
				if value != nil && !slices.Contains(said.Fields, field) {
					t.Errorf("%s.%s shows as %s, the view says %v", name, field, p.Role, said.Fields)
				}
			}
		}
	}
}

// Whoever chooses a course's threshold learns a person's score from whether the
// course is assigned: those who may not know it make courses without.
func TestThresholds(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, role := range []actor.Role{actor.Owner, actor.Admin, actor.Safety, actor.Manager} {
			as, may := testkit.As(role), role != actor.Manager
			code := "T-" + string(role)
			send := func(method, path, body string, want int) {
				t.Helper()
				r := k.Call(testkit.Request{Method: method, Path: path, As: as, Body: body,
					Header: map[string]string{"Prefer": "resolution=merge-duplicates"}})
				if !may && strings.Contains(body, "risk_threshold") {
					want = http.StatusForbidden
				}
				if r.Status != want {
					t.Errorf("%s %s %s as %s: %d %s, want %d", method, path, body, role, r.Status, r.Body, want)
				}
			}
			plain, bound := fmt.Sprintf(`{"code":%q,"title":"x"}`, code),
				fmt.Sprintf(`{"code":"%s-2","title":"x","risk_threshold":30,"entity_types":["worker"]}`, code)
			for _, face := range []string{"/v1/courses", "/rest/v1/courses"} {
				send("POST", face+"?on_conflict=code", bound, http.StatusCreated)
				bound = strings.Replace(bound, "-2", "-3", 1)
			}
			send("POST", "/rest/v1/courses?columns=code,title,risk_threshold",
				strings.NewReplacer("-3", "-4", "30", "null").Replace(bound), http.StatusCreated)
			k.Call(testkit.Request{Method: "POST", Path: "/v1/courses", As: as, Body: plain})
			var made []map[string]any
			k.Get(as, "/v1/courses?select=code,risk_threshold&code=like."+code+"*").JSON(t, &made)
			if want := map[bool]int{true: 4, false: 1}[may]; len(made) != want {
				t.Errorf("%s made %v", role, made)
			}
			send("PATCH", "/v1/courses?code=eq."+code, `{"risk_threshold":40}`, http.StatusNoContent)
			var view struct {
				Collections map[string]struct {
					Create struct{ Fields []string }
				}
			}
			k.Get(as, "/v1/permissions").JSON(t, &view)
			if f := view.Collections["courses"].Create.Fields; (f == nil) != may || slices.Contains(f, "risk_threshold") ||
				!may && !slices.Contains(f, "title") {
				t.Errorf("%s may give %v", role, f)
			}
		}
	})
}

// Administrators may ask for others, nobody else may; zones and ownership
// bound the rows, and a suspended tenant's members may read only.
func TestPermissions_ofOthers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var driver, operator, none permissions
		k.Get(testkit.As(actor.Driver), "/v1/permissions").JSON(t, &driver)
		k.Get(testkit.As(actor.Operator), "/v1/permissions").JSON(t, &operator)
		var seen permissions
		k.Get(testkit.As(actor.Admin), "/v1/permissions?user_id="+driver.UserID).JSON(t, &seen)
		if fmt.Sprint(seen) != fmt.Sprint(driver) {
			t.Errorf("an administrator sees another view:\n%v\n%v", seen, driver)
		}
		if r := driver.right(t, "shipments", "read"); r == nil || r.Rows != "own" {
			t.Errorf("%+v", r)
		}
		for as, want := range map[string]int{testkit.As(actor.Manager): 403, testkit.As(actor.Viewer): 403,
			"admin@south.example": 404, "": 401, "nobody@none.example": 403} {
			if r := k.Get(as, "/v1/permissions?user_id="+driver.UserID); r.Status != want {
				t.Errorf("%s: %d %s", as, r.Status, r.Body)
			}
		}
		if r := k.Get(testkit.As(actor.Admin), "/v1/permissions?user_id=x"); r.Status != 400 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		var zones []struct{ ID string }
		k.Get(testkit.As(actor.Admin), "/v1/zones?limit=1").JSON(t, &zones)
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?user_id=eq." + operator.UserID,
			As:   testkit.As(actor.Admin),
			Body: map[string]any{"zone_ids": []string{zones[0].ID}}})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		k.Get(testkit.As(actor.Operator), "/v1/permissions").JSON(t, &operator)
		if !slices.Equal(operator.ZoneIDs, []string{zones[0].ID}) ||
			!strings.Contains(operator.right(t, "stock_levels", "read").Rows, "zones") {
			t.Errorf("%v %+v", operator.ZoneIDs, operator.right(t, "stock_levels", "read"))
		}
		r = k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + operator.TenantID, Bearer: k.Service(),
			Body: map[string]any{"status": "suspended"}})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		k.Get(testkit.As(actor.Admin), "/v1/permissions").JSON(t, &none)
		if w := none.right(t, "zones", "create"); !none.ReadOnly || w != nil || none.right(t, "zones", "read") == nil ||
			none.Functions["process-import-job"] {
			t.Errorf("suspended: %+v", w)
		}
	})
}
