package warehouse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// costed are the movements of an item as they were posted.
const costed = "stock_movements?select=type,quantity,unit_cost&order=id&item_id=eq."

// A movement keeps what its item cost when it was posted: another cost holds for what
// moves from then on, and a reversal has the cost of what it reverses.
func TestMovementsKeepTheirCost(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		bin := g.bin("G-A", 10, "")
		first := testkit.List[struct{ ID string }](t, k, g.as, "stock_movements?select=id&item_id=eq."+g.item)[0].ID
		g.patched("items/"+g.item, map[string]any{"unit_cost": 4}, http.StatusOK)
		g.is(costed+g.item, `[{"type":"receipt","quantity":10,"unit_cost":2.5}]`)

		leave := func(more map[string]any) map[string]any {
			m := map[string]any{"type": "adjust_loss", "item_id": g.item, "from_zone_id": bin, "quantity": 2}
			for name, v := range more {
				m[name] = v
			}
			return m
		}
		k.Insert(t, g.as, "stock_movements", leave(nil))
		k.Insert(t, g.as, "stock_movements", leave(map[string]any{"reversal_of": first}))
		k.Insert(t, g.as, "stock_movements", leave(map[string]any{"reversal_of": first, "unit_cost": 2.5}))
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 3, "unit_cost": 3.75})
		want := `[{"type":"receipt","quantity":10,"unit_cost":2.5},{"type":"adjust_loss","quantity":2,"unit_cost":4},` +
			`{"type":"adjust_loss","quantity":2,"unit_cost":2.5},{"type":"adjust_loss","quantity":2,"unit_cost":2.5},` +
			`{"type":"receipt","quantity":3,"unit_cost":3.75}]`
		g.is(costed+g.item, want)

		r := k.Post(g.as, "/v1/stock_movements", leave(map[string]any{"reversal_of": first, "unit_cost": 4}))
		if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "unit_cost") {
			t.Errorf("a reversal at another cost: %d %s", r.Status, r.Body)
		}
		g.patched("items/"+g.item, map[string]any{"unit_cost": 9}, http.StatusOK)
		g.is(costed+g.item, want)
		k.Verified(t)
	})
}

// Whatever moves an order's goods posts what they cost then.
func TestWorkPostsCosts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		g.bin("G-A", 10, "")
		order, _ := g.order(4)
		_, lines := g.released(order)
		g.patched("items/"+g.item, map[string]any{"unit_cost": 4}, http.StatusOK)
		g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 4}, 200, nil)
		g.is(costed+g.item, `[{"type":"receipt","quantity":10,"unit_cost":2.5},{"type":"pick","quantity":4,"unit_cost":4}]`)
		g.patched("items/"+g.item, map[string]any{"unit_cost": 5}, http.StatusOK)
		g.say("adjust_stock", map[string]any{"item_id": g.item, "zone_id": g.bins["G-A"], "quantity": -1,
			"reason_code": "damage"}, 200, nil)
		g.is("stock_movements?select=type&unit_cost=is.null&item_id=eq."+g.item, `[]`)
		g.is("stock_movements?select=unit_cost&type=eq.adjust_loss&item_id=eq."+g.item, `[{"unit_cost":5}]`)
		k.Verified(t)
	})
}

// What an item of the house costs is not told to the client whose goods of it move; what
// an item of the client's costs, which the client sees, is.
func TestCostsOfClientsGoods(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		bin := g.bin("G-A", 10, "")
		owner := k.Insert(t, g.as, "goods_owners", map[string]any{"code": "COSTS", "name": "Client"})
		own := k.Insert(t, g.as, "items", map[string]any{"sku": "G-OWN", "name": "The client's", "unit_cost": 7,
			"owner_id": owner})
		for _, item := range []string{g.item, own} {
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin,
				"quantity": 1,
				"owner_id": owner})
		}
		g.is("stock_movements?select=unit_cost&order=id&owner_id=eq."+owner, `[{"unit_cost":null},{"unit_cost":7}]`)
		k.Verified(t)
	})
}

// By moving average a receipt costs what its order pays a piece, whatever unit the price is
// of; a return costs no such thing, since its price is the customer's.
func TestReceiptsCostWhatTheirOrderPays(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		y := newYard(t, k, "AVG", map[string]any{"unit_cost": 4})
		as := testkit.As(actor.Manager)
		k.Insert(t, as, "item_uoms", map[string]any{"item_id": y.item, "uom": "CS", "factor": 12})
		g := &goods{t: t, k: k, as: as}
		receive := func(quantity float64, line map[string]any) {
			t.Helper()
			order, _ := confirmed(t, k, "inbound", y.item, quantity, line)
			k.Say(t, testkit.As(actor.Operator), "receive", map[string]any{"order_id": order, "zone_id": y.dock,
				"lines": []any{map[string]any{"item_id": y.item, "quantity": quantity}}}, 200, nil)
		}
		const kept = "item_costs?select=quantity,average_cost&item_id=eq."
		receive(10, map[string]any{"unit_price": 99}) // by standard cost the price is the order's alone
		g.is(costed+y.item, `[{"type":"receipt","quantity":10,"unit_cost":4}]`)
		g.is(kept+y.item, `[{"quantity":10,"average_cost":4}]`)

		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "stock", "key": "costing_method",
			"value": "moving_average"})
		receive(30, map[string]any{"unit_price": 21.20, "price_uom": "CS"}) // 1.766666... a piece
		g.is(kept+y.item, `[{"quantity":40,"average_cost":2.325}]`)         // (10 x 4 + 30 x 1.7667) / 40 = 2.325025
		receive(10, nil)
		g.patched("items/"+y.item, map[string]any{"unit_cost": 5}, http.StatusOK)
		g.say("adjust_stock", map[string]any{"item_id": y.item, "zone_id": y.dock, "quantity": -2,
			"reason_code": "damage"}, 200, nil)
		g.is(costed+y.item, `[{"type":"receipt","quantity":10,"unit_cost":4},{"type":"receipt","quantity":30,"unit_cost":1.7667},`+
			`{"type":"receipt","quantity":10,"unit_cost":2.325},{"type":"adjust_loss","quantity":2,"unit_cost":2.325}]`)
		g.is(kept+y.item, `[{"quantity":48,"average_cost":2.325}]`)

		r := k.Post(testkit.As(actor.Admin), "/v1/settings", map[string]any{"section": "stock", "key": "costing_method",
			"value": "fifo"})
		if r.Status != http.StatusUnprocessableEntity || !strings.Contains(string(r.Body), "moving_average") {
			t.Errorf("a method that there is not: %d %s", r.Status, r.Body)
		}
		for _, role := range []actor.Role{actor.Operator, actor.Driver} {
			if r := k.Get(testkit.As(role), "/v1/item_costs"); r.Status != http.StatusForbidden {
				t.Errorf("%s reads averages: %d %s", role, r.Status, r.Body)
			}
		}
		k.Verified(t)
	})
}

// The stock of a day and its worth is a file; it is not for who carries the goods.
func TestStockValueAsAFile(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		bin := g.bin("G-A", 10, "")
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 10, "unit_cost": 3.5, "occurred_at": "2026-01-10T12:00:00Z"})
		g.patched("items/"+g.item, map[string]any{"unit_cost": 100}, http.StatusOK)
		row := func(query string) string {
			t.Helper()
			r := k.Get(g.as, "/v1/stock-value.csv"+query)
			if r.Status != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/csv") {
				t.Fatalf("%s: %d %s", query, r.Status, r.Body)
			}
			for line := range strings.Lines(string(r.Body)) {
				if strings.Contains(line, ",G-1,") || strings.Contains(line, "no stock") {
					_, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
					return rest
				}
			}
			return ""
		}
		if got := row(""); got != "G-1,Goods,,,20,EA,3,60,EUR" {
			t.Errorf("today: %s", got)
		}
		if got := row("?as_of=2026-01-10"); got != "G-1,Goods,,,10,EA,3.5,35,EUR" {
			t.Errorf("when ten were there: %s", got)
		}
		if got := row("?as_of=2001-01-01"); got != ",no stock at the end of this day,,,0,,,0,EUR" {
			t.Errorf("before the first movement: %s", got)
		}
		var kpis struct {
			KPIs struct {
				Value  *float64 `json:"stock_value"`
				Owners *float64 `json:"owners_stock_value"`
				Basis  string   `json:"stock_value_basis"`
				AsOf   string   `json:"stock_value_as_of"`
			}
		}
		k.Get(g.as, "/functions/v1/warehouse-kpis").JSON(t, &kpis)
		if v := kpis.KPIs; v.Value == nil || *v.Value < 60 || v.Owners == nil || v.Basis != "average_cost" {
			t.Errorf("figures: %+v", v)
		}
		theirs := k.Insert(t, g.as, "goods_owners", map[string]any{"code": "G-CLIENT", "name": "Client"})
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 4, "unit_cost": 2, "owner_id": theirs, "occurred_at": "2025-01-10T12:00:00Z"})
		own := k.Insert(t, g.as, "items", map[string]any{"sku": "G-OLD", "name": "Old goods"})
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": own, "to_zone_id": bin,
			"quantity": 3, "unit_cost": 7, "occurred_at": "2000-06-01T12:00:00Z"})
		for _, c := range []struct{ day, want string }{{"2000-05-31", "0 0"}, {"2000-06-01", "21 0"}} {
			k.Get(g.as, "/functions/v1/warehouse-kpis?as_of="+c.day).JSON(t, &kpis)
			if got := fmt.Sprint(*kpis.KPIs.Value, *kpis.KPIs.Owners); got != c.want || kpis.KPIs.AsOf != c.day {
				t.Errorf("at the end of %s: %s, %s, want %s", c.day, got, kpis.KPIs.AsOf, c.want)
			}
		}
		k.Get(g.as, "/functions/v1/warehouse-kpis?as_of=2025-01-10").JSON(t, &kpis)
		if *kpis.KPIs.Owners != 8 {
			t.Errorf("the client's goods were worth %v", *kpis.KPIs.Owners)
		}
		for _, bad := range []string{"2026-02-30", "tomorrow", "2999-01-01"} {
			for _, role := range []actor.Role{actor.Manager, actor.Operator, actor.Driver} {
				r := k.Get(testkit.As(role), "/functions/v1/warehouse-kpis?as_of="+bad)
				if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "as_of") {
					t.Errorf("figures as_of=%s: %s %d %s", bad, role, r.Status, r.Body)
				}
			}
		}
		for _, bad := range []string{"2026-02-30", "tomorrow", "", "2999-01-01"} {
			r := k.Get(g.as, "/v1/stock-value.csv?as_of="+bad)
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "as_of") {
				t.Errorf("as_of=%s: %d %s", bad, r.Status, r.Body)
			}
		}
		for _, role := range []actor.Role{actor.Operator, actor.Driver} {
			if r := k.Get(testkit.As(role), "/v1/stock-value.csv"); r.Status != http.StatusForbidden {
				t.Errorf("%s: %d", role, r.Status)
			}
			k.Get(testkit.As(role), "/functions/v1/warehouse-kpis").JSON(t, &kpis)
			if kpis.KPIs.Value != nil || kpis.KPIs.Owners != nil {
				t.Errorf("%s is told what the stock is worth: %+v", role, kpis.KPIs)
			}
		}
		k.Verified(t)
	})
}

// rollImport takes a step of an import job as an administrator.
func (g *goods) rollImport(step, job string) {
	g.t.Helper()
	r := g.k.Post(testkit.As(actor.Admin), "/functions/v1/"+step+"-import-job", map[string]any{"job_id": job})
	if r.Status != http.StatusOK {
		g.t.Fatalf("%s: %d %s", step, r.Status, r.Body)
	}
}

// importMovements imports a file of movements and returns the job.
func (g *goods) importMovements(text string) string {
	g.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	testkit.Must(g.t, w.WriteField("target", "stock_movements"))
	file, err := w.CreateFormFile("file", "m.csv")
	testkit.Must(g.t, err)
	_, err = file.Write([]byte(text))
	testkit.Must(g.t, err)
	testkit.Must(g.t, w.Close())
	r := g.k.Call(testkit.Request{Method: http.MethodPost, Path: "/v1/import-jobs", As: testkit.As(actor.Admin),
		Body: b.Bytes(), Header: map[string]string{"Content-Type": w.FormDataContentType()}})
	var job struct{ ID string }
	testkit.Must(g.t, json.Unmarshal(r.Body, &job))
	g.rollImport("process", job.ID)
	g.rollImport("apply", job.ID)
	return job.ID
}

// stockOf reads quantity, cost and worth of the item G-1 at the end of a day, "" for none.
func (g *goods) stockOf(date string) string {
	g.t.Helper()
	r := g.k.Get(g.as, "/v1/stock-value.csv?as_of="+date)
	if r.Status != http.StatusOK {
		g.t.Fatalf("%d %s", r.Status, r.Body)
	}
	for line := range strings.Lines(string(r.Body)) {
		if cells := strings.Split(line, ","); cells[1] == "G-1" {
			return strings.Join([]string{cells[5], cells[7], cells[8]}, ",")
		}
	}
	return ""
}

// An import of movements that is rolled back leaves nothing in any past day, and imported
// again it stands there once. Where goods that left since were its own, the days before
// the rollback keep both: no place ever held less than nothing.
func TestRolledBackMovementsLeaveThePast(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "G-A", "name": "G-A"})
		const file = "occurred_at,type,sku,zone,quantity,unit_cost\n2026-03-05T10:00:00Z,receipt,G-1,G-A,10,20\n"
		isWorth := func(want string) {
			t.Helper()
			if got := g.stockOf("2026-04-01"); got != want {
				t.Errorf("worth %q, want %q", got, want)
			}
		}
		g.rollImport("rollback", g.importMovements(file))
		isWorth("")
		job := g.importMovements(file)
		isWorth("10,20,200")
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "adjust_loss", "item_id": g.item, "from_zone_id": bin,
			"quantity": 8, "occurred_at": "2026-03-10T10:00:00Z"})
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 9, "occurred_at": "2026-03-20T10:00:00Z", "unit_cost": 20})
		g.rollImport("rollback", job)
		isWorth("11,20,220")
		g.is("items?select=on_hand&id=eq."+g.item, `[{"on_hand":1}]`)
		k.Verified(t)
	})
}

// Who carries goods does not say what they cost: the server and managers do. And stock that
// is worth more than a number holds leaves all other figures as they are.
func TestCostsAreSaidByManagers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2})
		bin := g.bin("G-A", 10, "")
		came := func(item string, cost any) map[string]any {
			return map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": 1000000, "unit_cost": cost}
		}
		r := k.Post(testkit.As(actor.Operator), "/v1/stock_movements", came(g.item, 99))
		if r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), "unit_cost") {
			t.Errorf("an operator says what goods cost: %d %s", r.Status, r.Body)
		}
		g.is("item_costs?select=quantity,average_cost&item_id=eq."+g.item, `[{"quantity":10,"average_cost":2}]`)
		for i := range 10 {
			item := k.Insert(t, g.as, "items", map[string]any{"sku": fmt.Sprint("DEAR-", i), "name": "Dear"})
			k.Insert(t, g.as, "stock_movements", came(item, 99999999))
		}
		var kpis struct {
			KPIs struct {
				Value *float64 `json:"stock_value"`
				Basis string   `json:"stock_value_basis"`
			}
		}
		got := k.Get(g.as, "/functions/v1/warehouse-kpis")
		if got.JSON(t, &kpis); got.Status != http.StatusOK || kpis.KPIs.Value != nil || kpis.KPIs.Basis != "average_cost" {
			t.Errorf("figures of dear stock: %d %s", got.Status, got.Body)
		}
	})
}

// An item's cost of 0, with which every item begins, is what nobody said: by moving average it is no cost of what comes
// in, and it hides nothing from the limits that ask for a second person.
func TestCostThatNobodySaid(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		k.Insert(t, testkit.As(actor.Admin), "settings",
			map[string]any{"section": "stock", "key": "costing_method", "value": "moving_average"})
		set(t, k, "adjust_limit_value", 250)
		manager, operator := testkit.As(actor.Manager), testkit.As(actor.Operator)
		bin := k.Insert(t, manager, "zones", map[string]any{"code": "NS-A", "name": "A", "kind": "bin"})
		item := k.Insert(t, manager, "items", map[string]any{"sku": "NS-1", "name": "Nobody said"})
		move := func(as string, m map[string]any) testkit.Response {
			m["item_id"] = item
			return k.Post(as, "/v1/stock_movements", m)
		}
		is := func(want string) {
			t.Helper()
			r := k.Get(manager, "/v1/item_costs?select=quantity,average_cost&item_id=eq."+item)
			if string(r.Body) != want {
				t.Errorf("kept is %s, want %s", r.Body, want)
			}
		}

		move(manager, map[string]any{"type": "receipt", "to_zone_id": bin, "quantity": 10})
		is(`[{"quantity":10,"average_cost":null}]`)
		move(manager, map[string]any{"type": "receipt", "to_zone_id": bin, "quantity": 10, "unit_cost": 50})
		is(`[{"quantity":20,"average_cost":50}]`)

		scrap := func(quantity int) testkit.Response {
			return move(operator, map[string]any{"type": "scrap", "from_zone_id": bin, "quantity": quantity, "reason_code": "broken"})
		}
		if r := scrap(5); r.Status != http.StatusCreated {
			t.Errorf("250 worth of goods: %d %s", r.Status, r.Body)
		}
		if r := scrap(1); r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "HF023") {
			t.Errorf("300 worth of goods: %d %s", r.Status, r.Body)
		}
		r := k.Post(operator, "/v1/rpc/adjust_stock", map[string]any{"item_id": item, "zone_id": bin, "quantity": -6,
			"reason_code": "broken"})
		if r.Status >= 300 || !strings.Contains(string(r.Body), `"status":"waiting"`) {
			t.Errorf("a loss of 300 waits for nobody: %d %s", r.Status, r.Body)
		}
		r = k.Get(manager, "/v1/stock_adjustments?select=value&item_id=eq."+item)
		if string(r.Body) != `[{"value":300}]` {
			t.Errorf("what waits is worth %s, not 300", r.Body)
		}
		k.Verified(t)
	})
}
