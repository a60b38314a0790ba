package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A record's ETag changes with what the answer holds, also where another
// record's change did not make a new version; If-Match asks for the version.
func TestRecordTags(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		const item, order = "0190c0de-0000-7000-8000-0000000000a1", "0190c0de-0000-7000-8000-0000000000a2"
		const zone, line = "0190c0de-0000-7000-8000-0000000000a3", "0190c0de-0000-7000-8000-0000000000a4"
		add := func(path string, body map[string]any) {
			t.Helper()
			if r := k.Post(m, path, body); r.Status != 201 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		add("/v1/items", map[string]any{"id": item, "sku": "TAG-1", "name": "Tagged"})
		add("/v1/zones", map[string]any{"id": zone, "code": "TAG-Z", "name": "Tagged", "max_capacity": 100})
		add("/v1/orders", map[string]any{"id": order, "type": "outbound"})
		get := func(path, tag string) (int, string) {
			r := k.Call(testkit.Request{Method: "GET", Path: path, As: m, Header: map[string]string{"If-None-Match": tag}})
			return r.Status, r.Header.Get("ETag")
		}
		paths := []string{"/v1/items/" + item, "/v1/zones/" + zone, "/v1/orders/" + order,
			"/v1/orders/" + order + "?select=id,order_lines(qty_ordered)"}
		first := map[string]string{}
		for _, p := range paths {
			if _, first[p] = get(p, ""); !strings.HasPrefix(first[p], `"1-`) {
				t.Fatalf("%s: tag %s", p, first[p])
			}
			if status, _ := get(p, `"x", W/`+first[p]); status != 304 {
				t.Errorf("%s unchanged: %d", p, status)
			}
		}
		add("/v1/stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": zone, "quantity": 4})
		add("/v1/order_lines", map[string]any{"id": line, "order_id": order, "line_no": 1, "item_id": item, "qty_ordered": 2})
		for _, p := range paths {
			status, tag := get(p, first[p])
			if status != 200 || tag == first[p] {
				t.Errorf("%s after others changed it: %d %s", p, status, tag)
			}
			first[p] = tag
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/order_lines/" + line, As: m,
			Body: map[string]any{"qty_ordered": 3}}); r.Status != 200 {
			t.Fatalf("line: %d %s", r.Status, r.Body)
		}
		if status, _ := get(paths[3], first[paths[3]]); status != 200 {
			t.Errorf("an embedded record changed: %d", status)
		}
		// What an editor was shown is still the version it may change.
		patch := func(tag string) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: paths[0], As: m, Body: map[string]any{"name": "Renamed"},
				Header: map[string]string{"If-Match": tag}})
		}
		r := patch(first[paths[0]])
		if status, _ := get(paths[0], r.Header.Get("ETag")); r.Status != 200 || status != 304 {
			t.Errorf("a change with the tag: %d, and its own tag: %d", r.Status, status)
		}
		for _, stale := range []string{first[paths[0]], `"1"`} {
			if r := patch(stale); r.Status != 409 {
				t.Errorf("a change with %s: %d", stale, r.Status)
			}
		}
		if r := patch(`"2"`); r.Status != 200 {
			t.Errorf("a change with the version alone: %d %s", r.Status, r.Body)
		}
	})
}
