package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// What Prefer: tx=rollback asks for is answered as it would be, and nothing of it is
// kept: of no method of a collection, and of no verb.
func TestRollbackKeepsNothing(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		zone := k.Insert(t, as, "zones", map[string]any{"code": "ROLL", "name": "Before"})
		order := begin(t, k, "orders", "confirmed")
		traces := func() string {
			return fmt.Sprint(k.Counted(t, "audit"), k.Counted(t, "outbox"), k.Counted(t, "zones"),
				k.Counted(t, "zones WHERE name = 'Before' AND version = 1"), k.Counted(t, "orders WHERE status = 'confirmed'"))
		}
		before := traces()
		for _, c := range []struct {
			method, path string
			body         any
			status       int
			want         string
		}{
			{"POST", "/v1/zones", map[string]any{"code": "NEW", "name": "After"}, 201, "After"},
			{"POST", "/v1/zones?on_conflict=code", map[string]any{"code": "ROLL", "name": "After"}, 409, "23505"},
			{"PATCH", "/v1/zones?code=eq.ROLL", map[string]any{"name": "After"}, 200, "After"},
			{"PATCH", "/v1/zones/" + zone, map[string]any{"name": "After"}, 200, "After"},
			{"PUT", "/v1/zones?id=eq." + zone, map[string]any{"id": zone, "code": "ROLL", "name": "After"}, 200, "After"},
			{"DELETE", "/v1/zones?code=eq.ROLL", nil, 200, "ROLL"},
			{"DELETE", "/v1/zones/" + zone, nil, 200, "ROLL"},
			{"POST", "/v1/rpc/hold_order", map[string]any{"order_id": order, "reason": "wait", "dry_run": false}, 200,
				"on_hold"},
		} {
			prefer := "tx=rollback, return=representation"
			if strings.Contains(c.path, "/rpc/") {
				prefer = "handling=strict, tx=rollback"
			}
			r := k.Call(testkit.Request{Method: c.method, Path: c.path, As: as, Body: c.body,
				Header: map[string]string{"Prefer": prefer, "Idempotency-Key": "roll-" + c.method}})
			if r.Status != c.status || !strings.Contains(string(r.Body), c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, r.Status, r.Body)
			}
			if applied := r.Header.Get("Preference-Applied"); r.Status < 300 && !strings.Contains(applied, "tx=rollback") {
				t.Errorf("%s %s: applied %q", c.method, c.path, applied)
			}
			if after := traces(); after != before {
				t.Errorf("%s %s left traces: %s, before %s", c.method, c.path, after, before)
			}
		}
	})
}

// An upsert by the primary key that meets another unique key is refused with the hint
// that on_conflict names that one; a plain insert is not.
func TestUpsertHintsAtConflict(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		zone := map[string]any{"code": "TWICE", "name": "Zone"}
		k.Insert(t, as, "zones", zone)
		for prefer, hinted := range map[string]bool{"": false, "resolution=merge-duplicates": true} {
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/zones", As: as, Body: zone,
				Header: map[string]string{"Prefer": prefer}})
			body := string(r.Body)
			if r.Status != http.StatusConflict || !strings.Contains(body, "23505") ||
				strings.Contains(body, "on_conflict=") != hinted {
				t.Errorf("%q: %d %s", prefer, r.Status, r.Body)
			}
		}
	})
}

// With strict handling a preference that means nothing for the request is refused by
// name; without it, it is passed over and not said to be applied.
func TestStrictPreferences(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		body := map[string]any{"code": "ANY"}
		for _, c := range []struct{ method, path, prefer string }{
			{"GET", "/v1/zones", "return=representation"},
			{"GET", "/v1/zones", "resolution=merge-duplicates"},
			{"GET", "/v1/zones", "max-affected=3"},
			{"GET", "/v1/zones", "timezone=Europe/Berlin"},
			{"GET", "/v1/zones", "tx=perhaps"},
			{"GET", "/v1/zones", "count=roughly"},
			{"PATCH", "/v1/zones?code=eq.ANY", "resolution=ignore-duplicates"},
			{"PATCH", "/v1/zones?code=eq.ANY", "missing=default"},
			{"POST", "/v1/zones", "max-affected=3"},
			{"POST", "/v1/rpc/scan", "return=minimal"},
			{"POST", "/v1/rpc/scan", "resolution=merge-duplicates"},
			{"GET", "/v1/rpc/scan?code=A", "missing=default"},
		} {
			q := testkit.Request{Method: c.method, Path: c.path, As: as,
				Header: map[string]string{"Prefer": "handling=strict, " + c.prefer}}
			if c.method != http.MethodGet {
				q.Body = body
			}
			r := k.Call(q)
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "PGRST122") ||
				!strings.Contains(string(r.Body), c.prefer) {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, c.prefer, r.Status, r.Body)
			}
			q.Header["Prefer"] = c.prefer
			r = k.Call(q)
			if strings.Contains(string(r.Body), "PGRST122") || r.Header.Get("Preference-Applied") != "" {
				t.Errorf("%s %s leniently with %s: %d %s, applied %q", c.method, c.path, c.prefer, r.Status, r.Body,
					r.Header.Get("Preference-Applied"))
			}
		}
		zones := k.Call(testkit.Request{Method: "GET", Path: "/v1/zones", As: as,
			Header: map[string]string{"Prefer": "handling=strict, timezone=UTC, tx=rollback, count=exact"}})
		if got := zones.Header.Get("Preference-Applied"); zones.Status >= 300 ||
			got != "count=exact, tx=rollback, handling=strict, timezone=UTC" {
			t.Errorf("what can be honoured: %d, applied %q", zones.Status, got)
		}
		few := k.Call(testkit.Request{Method: "POST", Path: "/v1/rpc/scan", As: as, Body: body,
			Header: map[string]string{"Prefer": "handling=strict, max-affected=0"}})
		if few.Status != http.StatusBadRequest || !strings.Contains(string(few.Body), "PGRST124") {
			t.Errorf("no row may be affected: %d %s", few.Status, few.Body)
		}
	})
}

// A verb that only answers is said by GET too, its arguments in the query, and
// answers the same; one that changes something is not.
func TestVerbsByGet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		k.Insert(t, as, "zones", map[string]any{"code": "GETTABLE", "name": "Zone"})
		item := k.Insert(t, as, "items", map[string]any{"sku": "GET-1", "name": "Item", "base_uom": "EA"})
		for _, c := range []struct {
			verb, query string
			body        map[string]any
		}{
			{"scan", "code=GETTABLE", map[string]any{"code": "GETTABLE"}},
			{"suggest_putaway", "item_id=" + item + "&quantity=2.5", map[string]any{"item_id": item, "quantity": 2.5}},
		} {
			posted := k.Post(as, "/v1/rpc/"+c.verb, c.body)
			for _, prefix := range []string{"/v1", "/rest/v1"} {
				got := k.Get(as, prefix+"/rpc/"+c.verb+"?"+c.query)
				if got.Status != http.StatusOK || string(got.Body) != string(posted.Body) {
					t.Errorf("GET %s: %d %s\nPOST: %d %s", c.verb, got.Status, got.Body, posted.Status, posted.Body)
				}
			}
			head := k.Call(testkit.Request{Method: "HEAD", Path: "/v1/rpc/" + c.verb + "?" + c.query, As: as})
			if head.Status != http.StatusOK || len(head.Body) > 0 {
				t.Errorf("HEAD %s: %d %s", c.verb, head.Status, head.Body)
			}
		}
		for path, status := range map[string]int{
			"scan?code=A&cod=B":                                  http.StatusBadRequest,
			"scan?code=A&code=B":                                 http.StatusBadRequest,
			"scan?code=A&tenant_id=" + item:                      http.StatusBadRequest,
			"suggest_putaway?item_id=x&quantity=1":               http.StatusBadRequest,
			"suggest_putaway?quantity=1":                         http.StatusBadRequest,
			"suggest_putaway?item_id=" + item + "&quantity=many": http.StatusBadRequest,
			"hold_order?order_id=" + item:                        http.StatusMethodNotAllowed,
		} {
			if r := k.Get(as, "/v1/rpc/"+path); r.Status != status || !strings.Contains(string(r.Body), `"code"`) {
				t.Errorf("GET %s: %d %s, want %d", path, r.Status, r.Body, status)
			}
		}
		if r := k.Post(as, "/v1/rpc/scan?cod=A", map[string]any{"code": "A"}); r.Status != http.StatusBadRequest ||
			!strings.Contains(string(r.Body), "cod") {
			t.Errorf("a parameter that is not read: %d %s", r.Status, r.Body)
		}
	})
}
