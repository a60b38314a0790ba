package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"holdfast/internal/testkit"
)

// ledgerOf is an item whose goods are the tenant's and two clients', with the places and
// owners that random work is done with.
type ledgerOf struct {
	*goods
	zones, owners []string // an owner "" is the tenant itself
}

func newLedgerOf(t *testing.T, k *testkit.Kit) *ledgerOf {
	t.Helper()
	g := newGoods(t, k, map[string]any{"unit_cost": 2.5, "reorder_point": 40})
	l := &ledgerOf{goods: g, owners: []string{""}}
	for _, code := range []string{"OWN-A", "OWN-B"} {
		l.owners = append(l.owners, k.Insert(t, g.as, "goods_owners", map[string]any{"code": code, "name": code}))
		l.zones = append(l.zones, k.Insert(t, g.as, "zones", map[string]any{"code": "Z-" + code, "name": code}))
	}
	apart := map[string]any{"code": "Z-QUA", "name": "Apart", "kind": "quarantine"}
	l.zones = append(l.zones, k.Insert(t, g.as, "zones", apart))
	return l
}

// act does one random thing, which may be refused and does not fail.
func (l *ledgerOf) act(r *rand.Rand) {
	l.t.Helper()
	zone, other, owner := l.zones[r.IntN(3)], l.zones[r.IntN(3)], l.owners[r.IntN(3)]
	row := map[string]any{"item_id": l.item, "quantity": 1 + r.IntN(20)}
	if owner != "" {
		row["owner_id"] = owner
	}
	post := func(kind string, more map[string]any) testkit.Response {
		row["type"] = kind
		for name, v := range more {
			row[name] = v
		}
		return l.k.Post(l.as, "/v1/stock_movements", row)
	}
	patch := func(path string, set map[string]any) testkit.Response {
		return l.k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: l.as, Body: set})
	}
	answer := testkit.Response{}
	switch r.IntN(9) {
	case 0, 1:
		answer = post("receipt", map[string]any{"to_zone_id": zone})
	case 2:
		answer = post("transfer", map[string]any{"from_zone_id": zone, "to_zone_id": other})
	case 3:
		status := []string{"damaged", "hold"}[r.IntN(2)]
		answer = post("status_change", map[string]any{"from_zone_id": zone, "to_zone_id": zone, "to_status": status})
	case 4:
		answer = post("ship", map[string]any{"from_zone_id": zone})
	case 5:
		answer = patch("zones/"+zone, map[string]any{"status": []string{"active", "blocked"}[r.IntN(2)]})
	case 6:
		answer = patch("zones/"+zone, map[string]any{"kind": []string{"bin", "quarantine"}[r.IntN(2)]})
	case 7:
		answer = patch("items/"+l.item, map[string]any{"unit_cost": 1 + r.IntN(9)})
	case 8:
		l.orderOf(owner, r)
	}
	if answer.Status >= 500 {
		l.t.Errorf("%v: %d %s", row, answer.Status, answer.Body)
	}
}

// orderOf makes an order of an owner's goods and confirms it; half of them are cancelled.
func (l *ledgerOf) orderOf(owner string, r *rand.Rand) {
	l.t.Helper()
	head := map[string]any{"party_name": "Customer"}
	if owner != "" {
		head["owner_id"] = owner
	}
	order := l.k.Insert(l.t, l.as, "orders", head)
	line := map[string]any{"order_id": order, "line_no": 1, "item_id": l.item, "qty_ordered": 1 + r.IntN(9)}
	l.k.Insert(l.t, l.as, "order_lines", line)
	l.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
	if r.IntN(2) == 0 {
		l.say("cancel_order", map[string]any{"order_id": order}, 200, nil)
	}
}

// levelRow is a stock level with what decides whether it counts.
type levelRow struct {
	Quantity, Reserved float64
	Owner              *string `json:"owner_id"`
	Status             string  `json:"stock_status"`
	Zone               struct{ Status, Kind string }
}

// itemRow is an item with its totals.
type itemRow struct {
	OnHand  float64 `json:"on_hand"`
	Free    float64 `json:"available"`
	Value   float64 `json:"stock_value"`
	Low     bool    `json:"low_stock"`
	Cost    float64 `json:"unit_cost"`
	Reorder float64 `json:"reorder_point"`
}

// recounted is the item's totals as its stock levels say, and what of it is the tenant's.
func (l *ledgerOf) recounted(cost, reorder float64) (want itemRow, own float64) {
	l.t.Helper()
	want = itemRow{Cost: cost, Reorder: reorder}
	const columns = "quantity,reserved,owner_id,stock_status,zone:zones!inner(status,kind)"
	for _, at := range testkit.List[levelRow](l.t, l.k, l.as, "stock_levels?select="+columns+"&item_id=eq."+l.item) {
		want.OnHand += at.Quantity
		if at.Owner != nil {
			continue
		}
		own += at.Quantity
		if at.Status == "available" && at.Zone.Status == "active" && at.Zone.Kind != "quarantine" {
			want.Free += at.Quantity - at.Reserved
		}
	}
	want.Value = own * cost
	want.Low = want.Free <= reorder
	return want, own
}

// compare holds the item and the plan for it to what its stock levels and movements say.
func (l *ledgerOf) compare() {
	l.t.Helper()
	const columns = "on_hand,available,stock_value,low_stock,unit_cost,reorder_point"
	has := testkit.List[itemRow](l.t, l.k, l.as, "items?select="+columns+"&id=eq."+l.item)[0]
	want, own := l.recounted(has.Cost, has.Reorder)
	if has != want {
		l.t.Errorf("the item is %+v, its stock levels say %+v", has, want)
	}
	var plan struct {
		Items []struct {
			OnHand float64 `json:"on_hand"`
			Free   float64 `json:"available"`
			Demand float64 `json:"demand_per_day"`
			Low    bool    `json:"low_stock"`
		}
	}
	l.k.Get(l.as, "/functions/v1/inventory-plan?item_id="+l.item).JSON(l.t, &plan)
	shipped := 0.0
	for _, m := range testkit.List[struct{ Quantity float64 }](l.t, l.k, l.as,
		"stock_movements?select=quantity&type=eq.ship&owner_id=is.null&item_id=eq."+l.item) {
		shipped += m.Quantity
	}
	if len(plan.Items) != 1 {
		l.t.Fatalf("the plan has %d items", len(plan.Items))
	}
	got := fmt.Sprint(plan.Items[0])
	if says := fmt.Sprint(struct {
		OnHand, Free, Demand float64
		Low                  bool
	}{own, want.Free, shipped, want.Low}); got != says {
		l.t.Errorf("the plan is %s, the tenant's own movements of today say %s", got, says)
	}
}

// worth is the value of the tenant's stock as its dashboard has it.
func (l *ledgerOf) worth() float64 {
	l.t.Helper()
	var out struct {
		Inventory struct {
			Metrics struct {
				Value float64 `json:"total_stock_value"`
			}
		}
	}
	l.k.Get(l.as, "/functions/v1/get-dashboard-snapshot-v2").JSON(l.t, &out)
	return out.Inventory.Metrics.Value
}

// What is valued, available, low and in demand is the tenant's own stock, however it comes,
// moves and goes: goods of two owners, blocked places and places for quarantine stand
// apart. The totals are recomputed from the collections after random work.
func TestTotalsCountOwnStock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		l := newLedgerOf(t, k)
		before := l.worth()
		r := rand.New(rand.NewPCG(7, 7))
		for range 12 {
			for range 8 {
				l.act(r)
			}
			l.compare()
		}
		has := testkit.List[itemRow](t, k, l.as, "items?select=stock_value&id=eq."+l.item)[0]
		if rise := l.worth() - before; has.Value == 0 || rise-has.Value > 0.005 || has.Value-rise > 0.005 {
			t.Errorf("the dashboard's value rose by %v, the item's own stock is worth %v", rise, has.Value)
		}
		k.Verified(t)
	})
}

// A place that is blocked takes what lies there off what is available, and gives it back
// when it is opened; so does one that becomes a place for quarantine.
func TestBlockedPlacesAreNotAvailable(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"reorder_point": 5})
		bin := g.bin("G-A", 10, "")
		for _, step := range []struct {
			set       map[string]any
			available string
		}{
			{map[string]any{"status": "blocked"}, "0"},
			{map[string]any{"status": "active"}, "10"},
			{map[string]any{"kind": "quarantine"}, "0"},
			{map[string]any{"kind": "bin"}, "10"},
		} {
			low := fmt.Sprint(step.available == "0")
			g.patched("zones/"+bin, step.set, 200)
			want := `[{"on_hand":10,"available":` + step.available + `,"low_stock":` + low + `}]`
			g.is("items?select=on_hand,available,low_stock&id=eq."+g.item, want)
		}
		k.Verified(t)
	})
}
