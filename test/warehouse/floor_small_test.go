package warehouse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// What was concluded of an incident changes by reopening it.
func TestClosedIncidentsStay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := testkit.As(actor.Safety)
		id := k.Insert(t, s, "incidents", map[string]any{"kind": "near_miss", "severity": "low", "title": "Box fell",
			"occurred_at": "2026-01-02T08:00:00Z"})
		var lead []struct {
			User string `json:"user_id"`
		}
		k.Get(testkit.As(actor.Admin), "/v1/members?select=user_id&email=eq."+s).JSON(t, &lead)
		set := func(want int, in map[string]any) string {
			t.Helper()
			r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/incidents/" + id, As: s, Body: in})
			if r.Status != want {
				t.Errorf("%v: %d %s, want %d", in, r.Status, r.Body, want)
			}
			return string(r.Body)
		}
		set(200, map[string]any{"status": "closed", "lessons": "Stack lower."})
		for _, in := range []map[string]any{{"severity": "high"}, {"title": "Nothing"},
			{"entities": []any{}, "lessons": "None."}} {
			if body := set(409, in); !strings.Contains(body, "HF006") || !strings.Contains(body, "reopen") {
				t.Errorf("%v: %s", in, body)
			}
		}
		set(200, map[string]any{"title": "Box fell"}) // as it is
		set(200, map[string]any{"status": "investigating", "reopen_reason": "it fell again", "severity": "medium",
			"lead_user_id": lead[0].User, "due_on": time.Now().AddDate(0, 0, 7).Format(time.DateOnly)})
		set(200, map[string]any{"title": "Boxes fell"})
	})
}

// Who begins a shift on a truck that asks for a certificate holds one; a shift
// that is over is taken as it was.
func TestShiftsAskCertificates(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, admin := testkit.As(actor.Manager), testkit.As(actor.Admin)
		course := k.Insert(t, admin, "courses", map[string]any{"code": "SHIFT-C", "title": "Reach trucks"})
		truck := k.Insert(t, m, "equipment", map[string]any{"asset_no": "SHIFT-1", "kind": "forklift",
			"required_course_id": course})
		bare := k.Insert(t, m, "equipment", map[string]any{"asset_no": "SHIFT-2", "kind": "forklift"})
		worker := k.Insert(t, m, "workers", map[string]any{"employee_no": "SHIFT-W", "name": "Wim"})
		at := func(h int) string { return time.Now().UTC().Add(time.Duration(h) * time.Hour).Format(time.RFC3339) }
		refused := func(on string) bool {
			t.Helper()
			r := k.Post(m, "/v1/shifts", map[string]any{"worker_id": worker, "equipment_id": on, "started_at": at(-1)})
			if r.Status/100 == 2 {
				var rows []struct{ ID string }
				k.Get(m, "/v1/shifts?select=id&ended_at=is.null&worker_id=eq."+worker).JSON(t, &rows)
				for _, row := range rows {
					k.Call(testkit.Request{Method: http.MethodDelete, Path: "/v1/shifts/" + row.ID, As: testkit.As(actor.Owner)})
				}
				return false
			}
			if r.Status != 409 || !strings.Contains(string(r.Body), "Reach trucks") {
				t.Errorf("%d %s", r.Status, r.Body)
			}
			return true
		}
		k.Insert(t, m, "shifts", map[string]any{"worker_id": worker, "equipment_id": truck, "started_at": at(-30),
			"ended_at": at(-26)})
		if !refused(truck) {
			t.Error("a truck was taken without a certificate")
		}
		if refused(bare) {
			t.Error("a truck that asks for nothing was refused")
		}
		held := map[string]any{"course_id": course, "worker_id": worker, "status": "completed", "completed_at": at(-96),
			"expires_on": time.Now().AddDate(0, 0, -2).Format(time.DateOnly)}
		cert := k.Insert(t, admin, "training_assignments", held)
		if !refused(truck) {
			t.Error("a truck was taken with a certificate that has run out")
		}
		k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/training_assignments/" + cert, As: admin,
			Body: map[string]any{"expires_on": time.Now().AddDate(0, 0, 30).Format(time.DateOnly)}})
		if refused(truck) {
			t.Error("a truck was refused to somebody with a certificate")
		}
	})
}

// Goods ordered by the box come in by the box or by the piece.
func TestReceiveInOtherUnits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		y := newYard(t, k, "RUNI", nil)
		k.Insert(t, testkit.As(actor.Manager), "item_uoms", map[string]any{"item_id": y.item, "uom": "BX", "factor": 12})
		order, line := confirmed(t, k, "inbound", y.item, 2, map[string]any{"uom": "BX", "unit_price": 6})
		is := func(want string) {
			t.Helper()
			r := k.Get(testkit.As(actor.Manager),
				"/v1/order_lines?select=uom,qty_ordered,qty_received,ordered_uom,ordered_qty,unit_price&id=eq."+line)
			if string(r.Body) != want {
				t.Errorf("line: %s, want %s", r.Body, want)
			}
		}
		is(`[{"uom":"EA","qty_ordered":24,"qty_received":0,"ordered_uom":"BX","ordered_qty":2,"unit_price":0.5}]`)
		in := func(q float64, unit string) map[string]any {
			return map[string]any{"order_id": order, "zone_id": y.dock,
				"lines": []any{map[string]any{"order_line_id": line, "quantity": q, "uom": unit}}}
		}
		k.Say(t, op, "receive", in(1, "BX"), 200, nil)
		k.Say(t, op, "receive", in(5, ""), 200, nil)
		is(`[{"uom":"EA","qty_ordered":24,"qty_received":17,"ordered_uom":"BX","ordered_qty":2,"unit_price":0.5}]`)
		refusedWith(t, k, op, "receive", "HF022", 409, in(1, "BX"))
		var out receiptOut
		k.Say(t, op, "receive", in(7, "EA"), 200, &out)
		if out.Order.Status != "completed" {
			t.Errorf("%+v", out.Order)
		}
		k.Verified(t)

		// A price that does not come out even a piece stays a price of the box.
		_, line = confirmed(t, k, "inbound", y.item, 2, map[string]any{"uom": "BX", "unit_price": 1})
		is(`[{"uom":"BX","qty_ordered":2,"qty_received":0,"ordered_uom":null,"ordered_qty":null,"unit_price":1}]`)
	})
}

// A reference to nothing, and a record that is still named, are refused in words
// for people beside those of the database.
func TestReferencesInWords(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		y := newYard(t, k, "WORD", nil)
		lot := k.Insert(t, m, "lots", map[string]any{"item_id": y.item, "lot_no": "WORD-1"})
		for want, r := range map[string]testkit.Response{
			"among your goods owners": k.Post(m, "/v1/orders", map[string]any{"owner_id": lot}),
			"Records of lots still name it as their item": k.Call(testkit.Request{Method: http.MethodDelete,
				Path: "/v1/items/" + y.item, As: m}),
		} {
			if r.Status != 409 || !strings.Contains(string(r.Body), want) {
				t.Errorf("%d %s, want %q", r.Status, r.Body, want)
			}
		}
		var people []struct{ Name *string }
		k.Get(testkit.As(actor.Operator), "/v1/workers?select=name&limit=3").JSON(t, &people)
		if len(people) != 3 || people[0].Name == nil {
			t.Errorf("an operator sees no names of those he works with: %+v", people)
		}
	})
}
