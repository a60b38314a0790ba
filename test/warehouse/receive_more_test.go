package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Goods come in against a notice (the inbound shipment's number or tracking number),
// for each of its orders; what a customer sends back is looked at before it can be sold
// again.
func TestReceiveByNotice(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "NOTE", nil)
		second := k.Insert(t, m, "items", map[string]any{"sku": "NOTE-2", "name": "Second"})
		purchase, _ := confirmed(t, k, "inbound", y.item, 10, nil)
		next, _ := confirmed(t, k, "inbound", second, 4, nil)
		k.Insert(t, m, "shipments", map[string]any{"direction": "inbound", "tracking_no": "TRACK-7",
			"order_ids": []string{purchase, next}})
		line := func(item string, q float64) map[string]any { return map[string]any{"item_id": item, "quantity": q} }
		receive := func(asn string, want int, lines ...any) (out receiptOut) {
			t.Helper()
			in := map[string]any{"asn": asn, "zone_id": y.dock, "lines": lines}
			if r := k.Post(op, "/v1/rpc/receive", in); r.Status != want {
				t.Fatalf("%s: %d %s, want %d", asn, r.Status, r.Body, want)
			} else if want == 200 {
				r.JSON(t, &out)
			} else if !strings.Contains(string(r.Body), map[int]string{404: "asn", 409: "HF022"}[want]) {
				t.Errorf("%s: %s", asn, r.Body)
			}
			return out
		}
		receive("NO-SUCH", 404, line(y.item, 1))
		receive("TRACK-7", 409, line(y.item, 10), line(second, 5))
		receive("TRACK-7", 200, line(y.item, 10), line(second, 3))
		state := func(order, want string) {
			t.Helper()
			if r := k.Get(op, "/v1/orders?select=status,stage,qty_received&id=eq."+order); string(r.Body) != want {
				t.Errorf("%s, want %s", r.Body, want)
			}
		}
		state(purchase, `[{"status":"completed","stage":"received","qty_received":10}]`)
		state(next, `[{"status":"in_progress","stage":"part_received","qty_received":3}]`)
		if r := k.Get(op, "/v1/receipts?select=asn,line_count&asn=eq.TRACK-7"); string(r.Body) != `[{"asn":"TRACK-7","line_count":2}]` {
			t.Errorf("receipts: %s", r.Body)
		}
		stock(t, k, y.item, y.bin, 2, nil)
		sold := map[string]any{"type": "ship", "item_id": y.item, "from_zone_id": y.bin, "quantity": 2}
		k.Insert(t, testkit.As(actor.Manager), "stock_movements", sold)
		back, _ := confirmed(t, k, "return", y.item, 2, nil)
		var out receiptOut
		k.Say(t, op, "receive", map[string]any{"order_id": back, "zone_id": y.dock, "lines": []any{line(y.item, 2)}}, 200,
			&out)
		if out.Order.Status != "completed" || out.Movements[0].Type != "return_in" || out.Movements[0].To != "quarantine" ||
			len(out.Tasks) != 0 {
			t.Errorf("a return: %+v", out)
		}
		if r := k.Get(op, "/v1/items?select=on_hand,available&id=eq."+y.item); string(r.Body) != `[{"on_hand":12,"available":10}]` {
			t.Errorf("item: %s", r.Body)
		}
		k.Verified(t)
	})
}

// More than was ordered comes in up to the tenant's tolerance, over all receipts of
// the line; what is missing is told and books nothing.
func TestOverReceipt(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		y := newYard(t, k, "OVER", nil)
		k.Insert(t, testkit.As(actor.Admin), "settings",
			map[string]any{"section": "stock", "key": "over_receipt_tolerance", "value": 0.05})
		order, _ := confirmed(t, k, "inbound", y.item, 100, nil)
		in := func(q float64, more map[string]any) map[string]any {
			line := map[string]any{"item_id": y.item, "quantity": q}
			for name, v := range more {
				line[name] = v
			}
			return map[string]any{"order_id": order, "zone_id": y.dock, "lines": []any{line}}
		}
		refusedWith(t, k, op, "receive", "lines[0].quantity: only 105", 409, in(106, nil))
		k.Say(t, op, "receive", in(60, nil), 200, nil)
		var out struct {
			receiptOut
			Rows []struct {
				Discrepancy string
				Quantity    float64
			} `json:"receipt_lines"`
		}
		k.Say(t, op, "receive", in(0, map[string]any{"discrepancy": "short", "note": "a pallet is missing"}), 200, &out)
		if len(out.Movements) != 0 || len(out.Rows) != 1 || out.Rows[0].Discrepancy != "short" || out.Order.Received != 60 ||
			out.Order.Status != "in_progress" {
			t.Errorf("a short: %+v", out)
		}
		refusedWith(t, k, op, "receive", "quantity", 400, in(0, nil))
		refusedWith(t, k, op, "receive", "lines[0].quantity: only 45", 409, in(46, nil))
		k.Say(t, op, "receive", in(45, map[string]any{"discrepancy": "over"}), 200, &out)
		if out.Order.Status != "completed" || out.Order.Received != 105 {
			t.Errorf("at the tolerance: %+v", out.Order)
		}
		k.Verified(t)
	})
}
