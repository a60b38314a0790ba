package warehouse_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// dear are goods whose costs are numbers that stand nowhere else, so that an answer
// that has one of them tells a cost.
type dear struct {
	k                            *testkit.Kit
	item, bin, dock              string
	order, shipment, receivedFor string
}

// Costs of the goods: what the item costs, what its purchase pays, and the freight; and
// what one person books alone, which with the most that passes tells a cost.
const (
	itemCost    = 7919.1357
	paidCost    = 6421.9753
	freightCost = 5303.8642
	adjustMost  = 4391.57
	countMost   = 3187.43
)

// tellingNumbers are the costs and what follows from them: the value of two pieces, and
// the average of both ways in; and the limits.
var tellingNumbers = []string{"7919.13", "6421.97", "5303.86", "15838.27", "7170.55", "4391.57", "3187.43"}

func makeDear(t *testing.T, k *testkit.Kit) *dear {
	t.Helper()
	admin, manager := testkit.As(actor.Admin), testkit.As(actor.Manager)
	k.Insert(t, admin, "settings", map[string]any{"section": "stock", "key": "costing_method",
		"value": "moving_average"})
	set(t, k, "adjust_limit_value", adjustMost)
	set(t, k, "count_auto_approve", countMost)
	d := &dear{k: k}
	d.item = k.Insert(t, manager, "items", map[string]any{"sku": "DEAR", "name": "Dear", "unit_cost": itemCost})
	d.bin = k.Insert(t, manager, "zones", map[string]any{"code": "DEAR-A", "name": "A", "kind": "bin"})
	d.dock = k.Insert(t, manager, "zones", map[string]any{"code": "DEAR-D", "name": "D", "kind": "staging"})
	k.Insert(t, manager, "stock_movements", map[string]any{"type": "receipt", "item_id": d.item, "to_zone_id": d.bin,
		"quantity": 1, "unit_cost": itemCost})
	d.receivedFor, _ = confirmed(t, k, "inbound", d.item, 1, map[string]any{"unit_price": paidCost})
	d.order = k.Insert(t, manager, "orders", map[string]any{"type": "outbound"})
	k.Insert(t, manager, "order_lines", map[string]any{"order_id": d.order, "line_no": 1, "item_id": d.item,
		"qty_ordered": 1, "unit_price": paidCost})
	d.shipment = k.Insert(t, manager, "shipments", map[string]any{"freight_cost": freightCost})
	return d
}

// tellsCost is the number by which a text tells a cost, "" where it tells none.
func tellsCost(body []byte) string {
	for _, number := range tellingNumbers {
		if strings.Contains(string(body), number) {
			return number
		}
	}
	return ""
}

// isSilent fails the test where an answer tells what goods cost, by one of the numbers
// or by a member of a cost's name.
func isSilent(t *testing.T, who, asked string, r testkit.Response) {
	t.Helper()
	if number := tellsCost(r.Body); number != "" {
		t.Errorf("%s is told %s by %s: %d %.400s", who, number, asked, r.Status, r.Body)
	}
	var answer any
	if json.Unmarshal(r.Body, &answer) != nil {
		return
	}
	if name := findCost(answer); name != "" {
		t.Errorf("%s is told a %s by %s: %d %.400s", who, name, asked, r.Status, r.Body)
	}
}

// findCost is the name of a member of an answer that has a cost's name and a number.
func findCost(v any) string {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			if name := findCost(each); name != "" {
				return name
			}
		}
	case map[string]any:
		for name, each := range v {
			if _, isNumber := each.(float64); isNumber && slices.Contains(costNames(), name) {
				return name
			}
			if name := findCost(each); name != "" {
				return name
			}
		}
	}
	return ""
}

// costNames are what columns and figures of cost are called, but for those that other
// things are called by too.
var costNames = sync.OnceValue(func() []string {
	names := []string{"total_stock_value", "owners_stock_value"}
	for _, r := range catalog.Default().All() {
		for _, f := range r.Fields {
			if f.Cost && f.Name != "value" && f.Name != "amount" {
				names = append(names, f.Name)
			}
		}
	}
	return names
})

// Operators and drivers are told what goods cost by no list, file, function, description,
// answer of a write, verb or refusal, nor by an event. Managers are, by the same ways.
func TestCostsAreNotForTheFloor(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		d := makeDear(t, k)
		d.writeAsOperator(t)
		d.isRefused(t)
		for _, role := range []actor.Role{actor.Operator, actor.Driver} {
			d.eachAnswer(t, role, func(asked string, r testkit.Response) { isSilent(t, string(role), asked, r) })
		}
		told := map[string]bool{}
		d.eachAnswer(t, actor.Manager, func(_ string, r testkit.Response) {
			for _, number := range tellingNumbers {
				told[number] = told[number] || strings.Contains(string(r.Body), number)
			}
		})
		for _, number := range tellingNumbers {
			if !told[number] {
				t.Errorf("a manager is told %s nowhere: the loop looks at nothing", number)
			}
		}
		d.areLimitsUntold(t)
		d.isUnranked(t)
		d.isLogged(t)
		d.isInNoEvent(t)
	})
}

// writeAsOperator does the work of the floor with the goods: no answer tells their cost.
func (d *dear) writeAsOperator(t *testing.T) {
	t.Helper()
	operator := testkit.As(actor.Operator)
	move := map[string]any{"type": "transfer", "item_id": d.item, "from_zone_id": d.bin, "to_zone_id": d.dock, "quantity": 1}
	for _, accept := range []string{"application/json", "text/csv"} {
		r := d.k.Call(testkit.Request{Method: "POST", Path: "/v1/stock_movements", As: operator, Body: move,
			Header: map[string]string{"Prefer": "return=representation", "Accept": accept}})
		d.isDone(t, "a movement, answered as "+accept, r)
		move["from_zone_id"], move["to_zone_id"] = move["to_zone_id"], move["from_zone_id"]
	}
	r := d.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments?id=eq." + d.shipment, As: operator,
		Body: map[string]any{"tracking_no": "T-1"}, Header: map[string]string{"Prefer": "return=representation"}})
	d.isDone(t, "a shipment's number", r)
	r = d.k.Call(testkit.Request{Method: "POST", Path: "/v1/order_lines", As: operator,
		Body: map[string]any{"order_id": d.k.Insert(t, operator, "orders", map[string]any{"type": "outbound"}), "line_no": 1,
			"item_id": d.item, "qty_ordered": 1, "unit_price": paidCost},
		Header: map[string]string{"Prefer": "return=representation"}})
	d.isDone(t, "a line with its price", r)

	d.say(t, "receive", map[string]any{"order_id": d.receivedFor, "zone_id": d.dock,
		"lines": []any{map[string]any{"item_id": d.item, "quantity": 1}}})
	d.say(t, "scan", map[string]any{"code": "DEAR"})
	d.say(t, "adjust_stock", map[string]any{"item_id": d.item, "zone_id": d.dock, "quantity": 1, "reason_code": "found"})
	var count struct {
		Task struct{ ID string } `json:"count_task"`
	}
	d.say(t, "start_count", map[string]any{"zone_id": d.bin, "item_id": d.item}).JSON(t, &count)
	d.say(t, "enter_count", map[string]any{"count_task_id": count.Task.ID, "lines": []any{map[string]any{"counted": 2}}})
	r = d.k.Post(operator, "/v1/stock_movements", map[string]any{"type": "scrap", "item_id": d.item, "from_zone_id": d.bin,
		"quantity": 1, "reason_code": "broken"})
	if isSilent(t, "operator", "scrap above the limit", r); r.Status != http.StatusConflict {
		t.Errorf("scrap above the limit: %d %s", r.Status, r.Body)
	}
}

func (d *dear) say(t *testing.T, verb string, in map[string]any) testkit.Response {
	t.Helper()
	r := d.k.Post(testkit.As(actor.Operator), "/v1/rpc/"+verb, in)
	d.isDone(t, verb, r)
	return r
}

func (d *dear) isDone(t *testing.T, what string, r testkit.Response) {
	t.Helper()
	if r.Status/100 != 2 {
		t.Fatalf("%s: %d %s", what, r.Status, r.Body)
	}
	isSilent(t, "operator", what, r)
}

// isRefused asks by costs, and sets one: the ways of lists that are not by name are those
// of every locked column.
func (d *dear) isRefused(t *testing.T) {
	t.Helper()
	for _, ask := range []string{"items?unit_cost=gt.5", "items?order=stock_value.desc", "orders?select=total_value.sum()",
		"order_lines?unit_price=eq.6421.9753", "stock_adjustments?value=gt.1", "shipments?freight_cost=not.is.null",
		"items?select=sku,stock_movements!inner(type)&stock_movements.unit_cost=gt.1", "item_costs"} {
		r := d.k.Get(testkit.As(actor.Operator), "/v1/"+ask)
		if r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), "42501") {
			t.Errorf("an operator asks %s: %d %.200s", ask, r.Status, r.Body)
		}
	}
	r := d.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/order_lines?order_id=eq." + d.order,
		As: testkit.As(actor.Operator), Body: map[string]any{"unit_price": 1}})
	if r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), "unit_price") {
		t.Errorf("an operator changes a price: %d %s", r.Status, r.Body)
	}
	if r := d.k.Get(testkit.As(actor.Operator), "/v1/stock-value.csv"); r.Status != http.StatusForbidden {
		t.Errorf("an operator saves what stock is worth: %d %.200s", r.Status, r.Body)
	}
}

// eachAnswer visits what a role is answered by every list, as JSON and as a file, with
// what is beside the item, and by every function that reads.
func (d *dear) eachAnswer(t *testing.T, role actor.Role, visit func(asked string, r testkit.Response)) {
	t.Helper()
	as := testkit.As(role)
	paths := []string{"/v1/permissions", "/v1/shipments/" + d.shipment + "/timeline",
		"/v1/items?id=eq." + d.item + "&select=*,stock_movements(*),order_lines(*,orders(*)),stock_adjustments(*)"}
	for _, r := range catalog.Default().All() {
		paths = append(paths, "/v1/"+r.Name+"?limit=500&order=id.desc")
	}
	for _, f := range d.k.App.Functions() {
		if slices.Contains(f.Methods, http.MethodGet) {
			paths = append(paths, "/functions/v1/"+f.Name)
		}
	}
	for _, path := range paths {
		visit(path, d.k.Get(as, path))
		if strings.Contains(path, "order=id.desc") {
			visit(path+" as a file", d.k.Call(testkit.Request{Method: "GET", Path: path, As: as,
				Header: map[string]string{"Accept": "text/csv"}}))
		}
	}
}

// areLimitsUntold books more than one person may: a manager is told the limit, an operator
// that there is one and how to ask a second person.
func (d *dear) areLimitsUntold(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		limit, path string
		body        map[string]any
	}{
		{"4391.57", "/v1/stock_movements", map[string]any{"type": "scrap", "item_id": d.item, "from_zone_id": d.bin,
			"quantity": 1, "reason_code": "broken"}},
		{"3187.43", "/v1/stock_counts", map[string]any{"item_id": d.item, "zone_id": d.bin, "counted": 9}},
	} {
		for _, role := range []actor.Role{actor.Operator, actor.Manager} {
			r := d.k.Post(testkit.As(role), c.path, c.body)
			body := string(r.Body)
			if r.Status != http.StatusConflict || !strings.Contains(body, "needs a second person") ||
				!strings.Contains(body, "start_count") && !strings.Contains(body, "adjust_stock") {
				t.Errorf("%s above the limit by %s: %d %s", c.path, role, r.Status, body)
			}
			if tells := strings.Contains(body, c.limit); tells != (role == actor.Manager) {
				t.Errorf("%s tells %s the limit: %t: %s", c.path, role, tells, body)
			}
		}
	}
}

// isUnranked asks which items have the most yearly value: with what left, that ranks costs.
func (d *dear) isUnranked(t *testing.T) {
	t.Helper()
	for _, role := range []actor.Role{actor.Operator, actor.Driver, actor.Manager} {
		r := d.k.Get(testkit.As(role), "/functions/v1/inventory-plan?abc=true")
		told := strings.Contains(string(r.Body), "suggested_abc_class")
		if r.Status != http.StatusOK || told != (role == actor.Manager) {
			t.Errorf("%s is told the class by value: %t: %d %.300s", role, told, r.Status, r.Body)
		}
	}
}

// isLogged finds the cost in the audit log, which keeps it for who may read the log.
func (d *dear) isLogged(t *testing.T) {
	t.Helper()
	path := "/v1/audit?select=after&entity_id=eq." + d.item
	if r := d.k.Get(testkit.As(actor.Admin), path); tellsCost(r.Body) == "" {
		t.Errorf("the log has no cost of the item: %d %s", r.Status, r.Body)
	}
}

// isInNoEvent reads every event there is: webhooks and streams send them to whoever reads
// the record that they are about.
func (d *dear) isInNoEvent(t *testing.T) {
	t.Helper()
	seen := 0
	testkit.Must(t, d.k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT type, data FROM outbox", nil, func(r *db.Row) error {
			seen++
			if number := tellsCost([]byte(r.Text(1))); number != "" {
				t.Errorf("%s tells %s: %s", r.Text(0), number, r.Text(1))
			}
			return nil
		})
	}))
	if seen == 0 {
		t.Error("there are no events: the loop looks at nothing")
	}
}
