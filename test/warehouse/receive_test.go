package warehouse_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// yard is a dock with a bin beside it and an item, all new.
type yard struct{ dock, bin, item string }

func newYard(t *testing.T, k *testkit.Kit, tag string, item map[string]any) yard {
	t.Helper()
	as := testkit.As(actor.Manager)
	y := yard{
		dock: k.Insert(t, as, "zones", map[string]any{"code": tag + "-DOCK", "name": "Dock", "kind": "dock", "x": 9000,
			"y": 9000}),
		bin: k.Insert(t, as, "zones", map[string]any{"code": tag + "-BIN", "name": "Bin", "max_capacity": 1000, "x": 9001,
			"y": 9000}),
	}
	all := map[string]any{"sku": tag, "name": tag}
	for name, v := range item {
		all[name] = v
	}
	y.item = k.Insert(t, as, "items", all)
	return y
}

// confirmed makes a confirmed order of one line and returns order and line.
func confirmed(t *testing.T, k *testkit.Kit, kind, item string, quantity any, line map[string]any) (order,
	lineID string) {
	t.Helper()
	as := testkit.As(actor.Manager)
	order = k.Insert(t, as, "orders", map[string]any{"type": kind})
	row := map[string]any{"order_id": order, "line_no": 1, "item_id": item, "qty_ordered": quantity}
	for name, v := range line {
		row[name] = v
	}
	lineID = k.Insert(t, as, "order_lines", row)
	if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders?id=eq." + order, As: as,
		Body: map[string]any{"status": "confirmed"}}); r.Status != http.StatusNoContent && r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	return order, lineID
}

type receiptOut struct {
	Receipt struct {
		No string `json:"receipt_no"`
	}
	Order struct {
		Status   string
		Received float64 `json:"qty_received"`
	}
	Lines []struct {
		Received float64 `json:"qty_received"`
	}
	Movements []struct {
		ID, Type, Serial string
		To               string `json:"to_status"`
		Quantity         float64
	}
	Tasks []struct {
		ID       string
		To       string `json:"to_zone_id"`
		Quantity float64
	} `json:"putaway_tasks"`
	Next []struct{ Verb string }
}

// Sixty of a hundred put the order in progress, forty more complete it, which is
// told; one more is refused and moves nothing.
func TestReceiveAnOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		y := newYard(t, k, "RECV", nil)
		order, _ := confirmed(t, k, "inbound", y.item, 100, nil)
		as := testkit.As(actor.Operator)
		in := func(q any) map[string]any {
			return map[string]any{"order_id": order, "zone_id": y.dock,
				"lines": []any{map[string]any{"item_id": y.item, "quantity": q}}}
		}
		completed := k.Told(t, "order.completed")
		var out receiptOut
		k.Say(t, as, "receive", in(60), 200, &out)
		if out.Order.Status != "in_progress" || out.Order.Received != 60 || out.Lines[0].Received != 60 ||
			!strings.HasPrefix(out.Receipt.No, "RC-") ||
			len(out.Movements) != 1 || len(out.Tasks) != 1 || out.Tasks[0].To != y.bin || len(out.Next) == 0 {
			t.Errorf("first receipt: %+v, want the bin %s suggested", out, y.bin)
		}
		if r := k.Say(t, as, "receive", in(41), 409, nil); !strings.Contains(string(r.Body), "HF022") {
			t.Errorf("one too many: %s", r.Body)
		}
		k.Say(t, as, "receive", in(40), 200, &out)
		if out.Order.Status != "completed" || out.Order.Received != 100 {
			t.Errorf("second receipt: %+v", out.Order)
		}
		if n := k.Told(t, "order.completed"); n != completed+1 {
			t.Errorf("order.completed was told %d times, want once", n-completed)
		}
		if r := k.Say(t, as, "receive", in(1), 409, nil); !strings.Contains(string(r.Body), "HF022") {
			t.Errorf("after the last: %s", r.Body)
		}
		if r := k.Get(as, "/v1/stock_levels?select=quantity&item_id=eq."+y.item); string(r.Body) != `[{"quantity":100}]` {
			t.Errorf("stock: %s", r.Body)
		}
		k.Verified(t)
	})
}

// What a line cannot be is one 4xx that names the place, and nothing moves.
func TestReceiveRefuses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		y := newYard(t, k, "RBAD", map[string]any{"tracking": "lot", "has_expiry": true, "gtin": "4006381333931"})
		saw := k.Insert(t, as, "items", map[string]any{"sku": "RBAD-SAW", "name": "Saw", "tracking": "serial"})
		draft := k.Insert(t, as, "items", map[string]any{"sku": "RBAD-DRAFT", "name": "Draft", "status": "draft"})
		k.Insert(t, as, "lots", map[string]any{"item_id": y.item, "lot_no": "OLD", "expires_on": "2020-01-01"})
		k.Insert(t, as, "lots", map[string]any{"item_id": y.item, "lot_no": "KNOWN", "expires_on": "2099-01-01"})
		k.Insert(t, as, "uoms", map[string]any{"code": "RBX", "name": "Box", "decimals": 0})
		k.Insert(t, as, "item_uoms", map[string]any{"item_id": y.item, "uom": "RBX", "factor": 6})
		order, _ := confirmed(t, k, "inbound", y.item, 10, nil)
		outbound, _ := confirmed(t, k, "outbound", draftless(t, k), 1, nil)
		open := k.Insert(t, as, "orders", map[string]any{"type": "inbound"})
		movements := k.Counted(t, "stock_movements")
		for name, c := range map[string]struct {
			line   map[string]any
			order  string
			status int
			want   string
		}{
			"negative":        {map[string]any{"item_id": y.item, "quantity": -1}, "", 400, "quantity"},
			"nothing":         {map[string]any{"item_id": saw}, "", 400, "quantity"},
			"no item":         {map[string]any{"quantity": 1}, "", 400, "lines[0].item_id"},
			"unknown barcode": {map[string]any{"barcode": "NO-SUCH", "quantity": 1}, "", 404, "lines[0].barcode"},
			"damaged label":   {map[string]any{"barcode": "(01)04006381333932", "quantity": 1}, "", 400, "check digit"},
			"barcode of another": {map[string]any{"barcode": "4006381333931", "item_id": saw, "quantity": 1}, "", 409,
				"HF025"},
			"no lot": {map[string]any{"item_id": y.item, "quantity": 1}, "", 400, "lines[0].lot_no"},
			"new lot, no expiry": {map[string]any{"item_id": y.item, "quantity": 1, "lot_no": "N"}, "", 400,
				"lines[0].expires_on"},
			"expired lot": {map[string]any{"item_id": y.item, "quantity": 1, "lot_no": "OLD"}, "", 409, "HF020"},
			"lot of another date": {map[string]any{"item_id": y.item, "quantity": 1, "lot_no": "KNOWN",
				"expires_on": "2098-01-01"}, "", 409, "lines[0].expires_on"},
			"half a box": {map[string]any{"item_id": y.item, "quantity": 0.5, "uom": "RBX", "lot_no": "KNOWN"}, "",
				400, "lines[0].quantity"},
			"wrong unit": {map[string]any{"item_id": y.item, "quantity": 1, "uom": "PL", "lot_no": "KNOWN"}, "", 400,
				"lines[0].uom"},
			"too few serials": {map[string]any{"item_id": saw, "quantity": 2, "serials": []any{"S1"}}, "", 400,
				"lines[0].serials"},
			"a serial twice": {map[string]any{"item_id": saw, "quantity": 2, "serials": []any{"S1", "S1"}}, "", 400,
				"lines[0].serials"},
			"a draft": {map[string]any{"item_id": draft, "quantity": 1}, "", 409, "lines[0].item_id"},
			"more than ordered": {map[string]any{"item_id": y.item, "quantity": 2, "uom": "RBX", "lot_no": "KNOWN"}, order,
				409, "HF022"},
			"not ordered": {map[string]any{"item_id": saw, "quantity": 1, "serials": []any{"S1"}}, order, 409, "HF022"},
			"for an outbound one": {map[string]any{"item_id": y.item, "quantity": 1, "lot_no": "KNOWN"}, outbound, 409,
				"HF006"},
			"for a draft order": {map[string]any{"item_id": y.item, "quantity": 1, "lot_no": "KNOWN"}, open, 409, "HF006"},
			"another order's line": {map[string]any{"order_line_id": k.Foreign(t, "order_lines"), "quantity": 1}, order, 404,
				"lines[0].order_line_id"},
		} {
			in := map[string]any{"zone_id": y.dock, "lines": []any{c.line}}
			if c.order != "" {
				in["order_id"] = c.order
			}
			r := k.Post(as, "/v1/rpc/receive", in)
			if r.Status != c.status || !strings.Contains(string(r.Body), c.want) {
				t.Errorf("%s: %d %s, want %d with %s", name, r.Status, r.Body, c.status, c.want)
			}
		}
		if n := k.Counted(t, "stock_movements"); n != movements {
			t.Errorf("%d movements were booked", n-movements)
		}
	})
}

// draftless is an item of the demonstration that orders take.
func draftless(t *testing.T, k *testkit.Kit) string {
	t.Helper()
	var out []struct{ ID string }
	k.Get(testkit.As(actor.Manager), "/v1/items?select=id&status=eq.active&limit=1").JSON(t, &out)
	return out[0].ID
}

// A GS1 label says item, lot, expiry and number at once; boxes are booked in
// pieces, pieces with numbers one by one; damaged goods do not become
// available.
func TestReceiveByLabel(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Operator)
		y := newYard(t, k, "RGS1", map[string]any{"tracking": "lot", "has_expiry": true, "gtin": "4006381333931"})
		k.Insert(t, testkit.As(actor.Manager), "item_uoms",
			map[string]any{"item_id": y.item, "uom": "BX", "factor": 12, "gtin": "14006381333938"})
		saw := k.Insert(t, testkit.As(actor.Manager), "items",
			map[string]any{"sku": "RGS1-SAW", "name": "Saw", "tracking": "serial"})
		order, _ := confirmed(t, k, "inbound", y.item, 5, map[string]any{"uom": "BX"})
		var out receiptOut
		k.Say(t, as, "receive", map[string]any{"order_id": order, "zone_id": y.dock, "lines": []any{
			map[string]any{"barcode": "(02)14006381333938(37)4(17)701200(10)L7"},
			map[string]any{"barcode": "]C10114006381333938" + "10L7\x1d17701231", "quantity": 1, "discrepancy": "damaged"},
			map[string]any{"item_id": saw, "serials": []any{"A1", "A2"}, "discrepancy": "unannounced"},
		}}, 200, &out)
		if out.Order.Status != "completed" || out.Lines[0].Received != 60 || len(out.Movements) != 4 ||
			out.Movements[0].Quantity != 48 ||
			out.Movements[1].To != "damaged" ||
			out.Movements[3].Serial != "A2" {
			t.Errorf("%+v", out)
		}
		r := k.Get(as, "/v1/lots?select=lot_no,expires_on,status&item_id=eq."+y.item)
		if string(r.Body) != `[{"lot_no":"L7","expires_on":"2070-12-31","status":"released"}]` {
			t.Errorf("lots: %s", r.Body)
		}
		r = k.Get(as, "/v1/items?select=on_hand,available&id=eq."+y.item)
		if string(r.Body) != `[{"on_hand":60,"available":48}]` {
			t.Errorf("item: %s", r.Body)
		}
		k.Verified(t)
	})
}

// A label that counts pieces in a trade item of variable measure (AI 30) counts them in base
// units, whatever unit its number is on; one that counts trade items (AI 37) counts units.
func TestCountOfALabel(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Operator)
		y := newYard(t, k, "RCNT", map[string]any{"gtin": "4006381333931"})
		k.Insert(t, testkit.As(actor.Manager), "item_uoms",
			map[string]any{"item_id": y.item, "uom": "BX", "factor": 12, "gtin": "94006381333934"})
		for _, c := range []struct {
			label, unit string
			pieces      float64
		}{
			{"(01)94006381333934(30)5", "", 5},
			{"(02)94006381333934(37)5", "BX", 60},
		} {
			var seen struct {
				UoM    string `json:"uom"`
				Parsed struct{ Count string }
			}
			k.Say(t, as, "scan", map[string]any{"code": c.label}, 200, &seen)
			if seen.UoM != c.unit || seen.Parsed.Count != "5" {
				t.Errorf("scan of %s: %+v", c.label, seen)
			}
			var out receiptOut
			order, _ := confirmed(t, k, "inbound", y.item, c.pieces, nil)
			k.Say(t, as, "receive", map[string]any{"order_id": order, "zone_id": y.dock,
				"lines": []any{map[string]any{"barcode": c.label}}}, 200, &out)
			if len(out.Movements) != 1 || out.Movements[0].Quantity != c.pieces {
				t.Errorf("receipt of %s: %+v", c.label, out.Movements)
			}
		}
		var fixed struct{ Parsed struct{ Count string } }
		k.Say(t, as, "scan", map[string]any{"code": "(01)04006381333931(30)5"}, 200, &fixed)
		if fixed.Parsed.Count != "" {
			t.Errorf("of a trade item of fixed measure AI 30 counts %s", fixed.Parsed.Count)
		}
		k.Insert(t, testkit.As(actor.Manager), "items",
			map[string]any{"sku": "RCNT-KG", "name": "Cheese", "base_uom": "KGM", "gtin": "98712345678909"})
		weighed := map[string]any{"zone_id": y.dock, "lines": []any{map[string]any{
			"barcode": "(01)98712345678909(30)5(3103)012500", "discrepancy": "unannounced"}}}
		refused(t, k.Say(t, as, "receive", weighed, 400, nil), "counts 5 pieces", "KGM", "lines[0].quantity")
	})
}
