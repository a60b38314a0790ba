package warehouse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// books are what a refused verb must leave as it was: how many rows of the floor's
// records both tenants have, and the sums of what they hold.
func books(t *testing.T, k *testkit.Kit) string {
	t.Helper()
	sums := []string{"COALESCE(SUM(quantity), 0), COALESCE(SUM(reserved), 0) FROM stock_levels",
		"COALESCE(SUM(quantity), 0), COUNT(*) FROM stock_movements",
		"COALESCE(SUM(quantity), 0), COUNT(*) FROM reservations WHERE state = 'active'",
		"COALESCE(SUM(qty_allocated), 0), COALESCE(SUM(qty_picked + qty_packed + qty_shipped + qty_received), 0) FROM order_lines",
		"COALESCE(SUM(version), 0), COUNT(*) FROM orders", "COALESCE(SUM(version), 0), COUNT(*) FROM pick_lines",
		"COALESCE(SUM(version), 0), COUNT(*) FROM items"}
	for _, table := range []string{"packages", "package_lines", "shipments", "receipts", "receipt_lines", "lots",
		"count_tasks", "putaway_tasks",
		"stock_adjustments"} {
		sums = append(sums, "COUNT(*), 0 FROM "+table)
	}
	var out []string
	testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		for _, s := range sums {
			if err := tx.One("SELECT "+s, nil, func(r *db.Row) error {
				out = append(out, fmt.Sprint(s, ": ", r.Text(0), " ", r.Text(1)))
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}))
	return strings.Join(out, "\n")
}

// floor is a place of each kind that refuses, and goods of each kind that may not
// leave, for TestBadGoods.
type floor struct {
	*goods
	yard                      yard
	blocked, full             string
	frozen                    string // an item of a cold class
	recalled, expired, client string
	order, line, pick, closed string
	ended                     string // an order of what is no longer sold
}

func newFloor(t *testing.T, k *testkit.Kit) *floor {
	t.Helper()
	m := testkit.As(actor.Manager)
	f := &floor{goods: newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "gtin": "4006381333931"}),
		yard: newYard(t, k, "BADG", nil)}
	zone := func(code string, more map[string]any) string {
		more["code"], more["name"] = code, code
		return k.Insert(t, m, "zones", more)
	}
	f.blocked, f.full = zone("BADG-BLOCKED", map[string]any{}), zone("BADG-FULL", map[string]any{"max_capacity": 1})
	stock(t, k, f.yard.item, f.blocked, 5, nil)
	f.patch("zones/"+f.blocked, map[string]any{"status": "blocked"})
	stock(t, k, f.yard.item, f.yard.bin, 50, nil)
	f.frozen = k.Insert(t, m, "items", map[string]any{"sku": "BADG-ICE", "name": "Ice", "storage_class": "frozen"})
	stock(t, k, f.frozen, zone("BADG-COLD", map[string]any{"storage_class": "frozen", "kind": "dock"}), 5, nil)
	retired := k.Insert(t, m, "items", map[string]any{"sku": "BADG-OLD", "name": "Old"})
	f.ended = k.Insert(t, m, "orders", map[string]any{"party_name": "Late"})
	k.Insert(t, m, "order_lines", map[string]any{"order_id": f.ended, "line_no": 1, "item_id": retired, "qty_ordered": 1})
	f.patch("items/"+retired, map[string]any{"status": "discontinued"})
	k.Insert(t, m, "uoms", map[string]any{"code": "BADG-BX", "name": "Box", "decimals": 0})
	k.Insert(t, m, "item_uoms", map[string]any{"item_id": f.yard.item, "uom": "BADG-BX", "factor": 6})
	f.expired = f.lot("GONE", -3, "released")
	f.bin("G-A", 10, f.expired)
	f.recalled = f.lot("BACK", 90, "released")
	f.bin("G-A", 10, f.recalled)
	f.say("recall_lot", map[string]any{"lot_id": f.recalled, "reason": "glass"}, 200, nil)
	f.client = k.Insert(t, m, "goods_owners", map[string]any{"code": "BADG", "name": "Client"})
	stock(t, k, f.item, zone("BADG-CLIENT", map[string]any{}), 4,
		map[string]any{"owner_id": f.client, "lot_id": f.lot("THEIRS", 90, "released")})
	f.bin("G-B", 20, f.lot("GOOD", 90, "released"))
	f.order, f.line = f.goods.order(8)
	_, picks := f.released(f.order)
	f.pick = picks[0]
	f.say("pick_line", map[string]any{"pick_line_id": f.pick, "quantity": 3, "to_zone_id": f.lane}, 200, nil)
	_, f.closed = f.packed1(f.order, f.line, 1)
	return f
}

// bad is one thing that is asked and cannot be.
type bad struct {
	verb, path string // path where it is no verb, with PATCH or POST
	in         map[string]any
	status     int
	code, says string
}

// Whatever cannot be is one 4xx with its code that names the member, and neither
// stock, the ledger, promises nor records are touched, those of other tenants
// included.
func TestBadGoods(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFloor(t, k)
		k.Insert(t, "admin@south.example", "items", map[string]any{"sku": "BADG-THEIRS", "name": "Theirs",
			"gtin": "96385074"})
		move := func(more map[string]any) map[string]any {
			in := map[string]any{"item_id": f.yard.item, "from_zone_id": f.yard.bin, "to_zone_id": f.yard.dock, "quantity": 1}
			for name, v := range more {
				in[name] = v
			}
			return in
		}
		ship := func(lot string) map[string]any {
			return map[string]any{"type": "ship", "item_id": f.item, "lot_id": lot, "from_zone_id": f.bins["G-A"], "quantity": 1}
		}
		good := map[string]any{"item_id": f.yard.item, "quantity": 2}
		receive := func(lines ...any) map[string]any { return map[string]any{"zone_id": f.yard.dock, "lines": lines} }
		k.Say(t, testkit.As(actor.Operator), "move_stock", move(map[string]any{"idempotency_key": "badg"}), 200, nil)
		before := books(t, k)
		stale := testkit.Request{Method: http.MethodPatch, Path: "/v1/orders/" + f.order, As: f.as,
			Body:   map[string]any{"notes": "late"},
			Header: map[string]string{"If-Match": `"1"`}}
		if r := k.Call(stale); r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "version") ||
			books(t, k) != before {
			t.Errorf("a stale version: %d %s", r.Status, r.Body)
		}
		for name, c := range map[string]bad{
			"a negative quantity": {"move_stock", "", move(map[string]any{"quantity": -1}), 400, "22023", "quantity"},
			"a negative movement": {
				"", "stock_movements",
				map[string]any{"type": "opening", "item_id": f.item, "to_zone_id": f.lane, "quantity": -1},
				400, "2", "quantity",
			},
			"a negative second line": {
				"receive", "",
				receive(good, map[string]any{"item_id": f.yard.item, "quantity": -1}),
				400, "22023", "lines[1].quantity",
			},
			"a quantity too fine": {
				"move_stock", "",
				move(map[string]any{"quantity": 0.00001}),
				400, "22023", "quantity",
			},
			"half a box": {
				"move_stock", "",
				move(map[string]any{"quantity": 0.5, "uom": "badg-bx"}),
				400, "HF003", "quantity: ",
			},
			"an unknown unit": {"move_stock", "", move(map[string]any{"uom": "BARREL"}), 400, "HF003", "uom: "},
			"another item's unit": {
				"receive", "",
				receive(good, map[string]any{"item_id": f.frozen, "uom": "BADG-BX", "quantity": 1}),
				400, "HF003", "lines[1].uom: ",
			},
			"frozen goods in the warm": {
				"put_away", "",
				map[string]any{"item_id": f.frozen, "from_zone_id": f.where(f.frozen), "to_zone_id": f.yard.bin, "quantity": 1},
				409, "HF021", "frozen",
			},
			"an item that has ended": {"confirm_order", "", map[string]any{"order_id": f.ended}, 409, "HF006", "BADG-OLD"},
			"an expired lot":         {"", "stock_movements", ship(f.expired), 409, "HF020", "expired"},
			"a recalled lot":         {"", "stock_movements", ship(f.recalled), 409, "HF020", "recalled"},
			"a blocked place": {
				"move_stock", "",
				move(map[string]any{"from_zone_id": f.blocked}),
				409, "HF003", "blocked",
			},
			"into a blocked place": {
				"move_stock", "",
				move(map[string]any{"to_zone_id": f.blocked}),
				409, "HF003", "blocked",
			},
			"a full place": {
				"move_stock", "",
				move(map[string]any{"to_zone_id": f.full, "quantity": 2}),
				409, "HF021", "BADG-FULL",
			},
			"an unknown barcode": {
				"receive", "",
				receive(good, map[string]any{"barcode": "NO-SUCH", "quantity": 1}),
				404, "PGRST116", "lines[1].barcode",
			},
			"another tenant's label": {
				"receive", "",
				receive(good, map[string]any{"barcode": "(01)00000096385074", "quantity": 1}),
				404, "PGRST116", "lines[1].barcode",
			},
			"a scan of it": {"scan", "", map[string]any{"code": "96385074"}, 404, "PGRST116", "code"},
			"a bin scanned wrong": {
				"pick_line", "",
				map[string]any{"pick_line_id": f.pick, "quantity": 1, "zone_scan": "G-A"},
				409, "HF025", "zone_scan",
			},
			"goods scanned wrong": {
				"pick_line", "",
				map[string]any{"pick_line_id": f.pick, "quantity": 1, "item_scan": "BADG"},
				409, "HF025", "item_scan",
			},
			"another owner's stock": {"move_stock", "", move(map[string]any{"item_id": f.item,
				"from_zone_id": f.where(f.client), "lot_id": f.lotOf("THEIRS")}), 409,
				"HF026", "owner"},
			"a pick above its promise": {
				"pick_line", "",
				map[string]any{"pick_line_id": f.pick, "quantity": 6},
				409, "HF022", "quantity",
			},
			"packed above what is picked": {"pack", "", map[string]any{"order_id": f.order,
				"lines": []any{map[string]any{"order_line_id": f.line, "quantity": 3}}},
				409, "HF022", "lines[0].quantity"},
			"a package closed twice": {
				"close_package", "",
				map[string]any{"package_id": f.closed},
				409, "HF004", "package_id: ",
			},
			"the unit of what lies here": {
				"", "items/" + f.yard.item,
				map[string]any{"base_uom": "KGM"},
				409, "HF004", "base_uom: ",
			},
			"a repeat with other content": {
				"move_stock", "",
				move(map[string]any{"quantity": 2, "idempotency_key": "badg"}),
				422, "HF014", "Idempotency-Key",
			},
			"a barcode of two items": {
				"", "items/" + f.yard.item,
				map[string]any{"gtin": "4006381333931"},
				409, "23505", "04006381333931",
			},
		} {
			q := testkit.Request{Method: http.MethodPost, Path: "/v1/rpc/" + c.verb, As: f.as, Body: c.in}
			if c.verb == "move_stock" { // a manager may into a blocked place
				q.As = testkit.As(actor.Operator)
			}
			if c.verb == "" {
				q.Path = "/v1/" + c.path
			}
			if strings.Contains(c.path, "/") {
				q.Method = http.MethodPatch
			}
			r := k.Call(q)
			if r.Status != c.status || !strings.Contains(string(r.Body), `"code":"`+c.code) ||
				!strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s: %d %s, want %d %s %s", name, r.Status, r.Body, c.status, c.code, c.says)
			}
			if after := books(t, k); after != before {
				t.Errorf("%s moved something:\n%s\nbefore:\n%s", name, after, before)
				before = after
			}
		}
		k.Verified(t)
	})
}

func (f *floor) where(of string) string {
	f.t.Helper()
	return testkit.List[struct {
		Zone string `json:"zone_id"`
	}](f.t, f.k, f.as, "stock_levels?select=zone_id&limit=1&quantity=gt.0&or=(item_id.eq."+of+",owner_id.eq."+of+")")[0].Zone
}

func (f *floor) lotOf(no string) string {
	f.t.Helper()
	return testkit.List[struct{ ID string }](f.t, f.k, f.as, "lots?select=id&lot_no=eq."+no+"&item_id=eq."+f.item)[0].ID
}

// patch changes a record that may be changed.
func (f *floor) patch(path string, set map[string]any) {
	f.t.Helper()
	if r := f.k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: f.as,
		Body: set}); r.Status != http.StatusOK {
		f.t.Fatalf("%s %v: %d %s", path, set, r.Status, r.Body)
	}
}
