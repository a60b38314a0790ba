package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// chance is a floor of its own on which clients say verbs at random.
type chance struct {
	t     *testing.T
	k     *testkit.Kit
	as    string
	items []string
	zones []string // dock, lane, bins

	mu   sync.Mutex
	done map[string]int // verbs that were taken
	said int
}

// one is a value of a random row, "" where there is none, nor one of what args name: another
// client may have ended the last of it.
func (c *chance) one(text string, args ...any) (out string) {
	if slices.Contains(args, any("")) {
		return ""
	}
	err := c.k.App.DB.Read(c.t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		out = ""
		return tx.Query(text+" ORDER BY random() LIMIT 1", append([]any{demo.North}, args...), func(r *db.Row) error {
			out = r.Text(0)
			return nil
		})
	})
	if err != nil {
		c.t.Error(err)
	}
	return out
}

// say says a verb, which may be refused and never fails.
func (c *chance) say(verb string, in map[string]any) (ok bool, r testkit.Response) {
	r = c.k.Post(c.as, "/v1/rpc/"+verb, in)
	if r.Status >= 500 || r.Status == http.StatusTooManyRequests || r.Status == http.StatusUnauthorized {
		c.t.Errorf("%s %v: %d %s", verb, in, r.Status, r.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said++
	if r.Status == http.StatusOK {
		c.done[verb]++
	}
	return r.Status == http.StatusOK, r
}

// untaken are the verbs on the way from the dock to a lane that none has taken yet.
func (c *chance) untaken() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, verb := range []string{"receive", "move_stock", "confirm_order", "release_picks", "pick_line"} {
		if c.done[verb] == 0 {
			out = append(out, verb)
		}
	}
	return out
}

const (
	ours     = " AND order_id IN (SELECT o.id FROM orders o WHERE o.tenant_id = $1 AND o.party_name = 'Chance')"
	oneOrder = "SELECT id FROM orders WHERE tenant_id = $1 AND party_name = 'Chance'"
	oneShip  = "SELECT shipment_id FROM shipment_lines WHERE tenant_id = $1" + ours
	oneBox   = "SELECT package_id FROM package_lines WHERE tenant_id = $1 AND item_id IN (SELECT i.id FROM items i WHERE i.tenant_id = $1 AND " +
		"i.category = 'Chance')"
	onePick = "SELECT id FROM pick_lines WHERE tenant_id = $1 AND order_line_id IN (SELECT id FROM order_lines WHERE tenant_id = $1" + ours + ")"
)

// act does one random thing.
func (c *chance) act(r *rand.Rand) {
	item, zone, other := c.items[r.IntN(len(c.items))], c.zones[r.IntN(len(c.zones))], c.zones[r.IntN(len(c.zones))]
	q := 1 + r.IntN(6)
	order := func() string { return c.one(oneOrder) }
	reason := func(in map[string]any) map[string]any { in["reason"] = "chance"; return in }
	switch r.IntN(30) {
	case 0, 1:
		c.say("receive", map[string]any{"zone_id": c.zones[0],
			"lines": []any{map[string]any{"item_id": item, "quantity": 5 * q}}})
	case 2, 3:
		at := c.one("SELECT zone_id FROM stock_levels WHERE tenant_id = $1 AND quantity > reserved AND item_id = $2", item)
		c.say("move_stock", map[string]any{"item_id": item, "from_zone_id": at, "to_zone_id": other, "quantity": q})
	case 4, 5, 6:
		c.order(r)
	case 7:
		c.say("allocate_order", map[string]any{"order_id": order()})
	case 8:
		c.say("deallocate_order", map[string]any{"order_id": order()})
	case 9:
		verb := []string{"hold_order", "resume_order", "resume_order", "cancel_order"}[r.IntN(4)]
		c.say(verb, reason(map[string]any{"order_id": order()}))
	case 10, 11, 12:
		c.say("release_picks", map[string]any{"order_ids": []any{order(), order()}, "method": "batch"})
	case 13, 14, 15:
		c.say("pick_line", map[string]any{"pick_line_id": c.one(onePick + " AND status = 'pending'"), "quantity": q,
			"to_zone_id": c.zones[1]})
	case 16:
		c.say("short_pick", reason(map[string]any{"pick_line_id": c.one(onePick + " AND status = 'pending'"),
			"found": r.IntN(3)}))
	case 17:
		c.say("unpick", map[string]any{"pick_line_id": c.one(onePick + " AND qty_picked > 0"), "quantity": 1,
			"to_zone_id": zone})
	case 18:
		c.say("adjust_stock", map[string]any{"item_id": item, "zone_id": zone, "quantity": q - 3, "reason_code": "chance"})
	case 19:
		c.say("start_count", map[string]any{"zone_id": zone, "item_id": item})
		task := c.one("SELECT id FROM count_tasks WHERE tenant_id = $1 AND status IN ('open', 'counting') AND zone_id = $2",
			zone)
		c.say("enter_count", map[string]any{"count_task_id": task,
			"lines": []any{map[string]any{"item_id": item, "counted": 4 * q}}})
	case 20:
		c.say("unpack", map[string]any{"package_id": c.one(oneBox)})
	case 21:
		c.cancelRecord("shipments", c.one(oneShip))
	case 22:
		c.say("plan_wave", map[string]any{"order_ids": []any{order(), order()}})
		c.say("release_picks", map[string]any{"wave_id": c.one("SELECT id FROM waves WHERE tenant_id = $1 AND status = 'planned'")})
	case 23:
		c.say("close_order", map[string]any{"order_id": order()})
	case 24:
		c.endSomething(r, order())
	default:
		c.ship(order())
	}
}

// sendChange changes or deletes a record, which may be refused and never fails.
func (c *chance) sendChange(method, collection, id string, body any) {
	r := c.k.Call(testkit.Request{Method: method, Path: "/v1/" + collection + "/" + id, As: c.as, Body: body})
	if r.Status >= 500 {
		c.t.Errorf("%s %s %s: %d %s", method, collection, id, r.Status, r.Body)
	}
}

// cancelRecord cancels a record by a change of its state.
func (c *chance) cancelRecord(collection, id string) {
	c.sendChange(http.MethodPatch, collection, id, map[string]any{"status": "cancelled"})
}

// endSomething ends something of an order by a change of a row.
func (c *chance) endSomething(r *rand.Rand, order string) {
	if order == "" {
		return
	}
	line := c.one("SELECT id FROM order_lines WHERE tenant_id = $1 AND order_id = $2", order)
	pick := c.one(onePick + " AND status = 'pending'")
	switch r.IntN(7) {
	case 0:
		c.cancelRecord("orders", order)
	case 1:
		c.sendChange(http.MethodDelete, "orders", order, nil)
	case 2:
		c.sendChange(http.MethodPatch, "order_lines", line, map[string]any{"qty_cancelled": 1 + r.IntN(8)})
	case 3:
		c.sendChange(http.MethodDelete, "order_lines", line, nil)
	case 4:
		c.cancelRecord("pick_lines", pick)
	case 5:
		c.sendChange(http.MethodDelete, "pick_lines", pick, nil)
	default:
		c.cancelRecord("pick_lists", c.one("SELECT pick_list_id FROM pick_lines WHERE tenant_id = $1 AND id = $2", pick))
	}
}

// order makes and confirms an order of one or two lines.
func (c *chance) order(r *rand.Rand) {
	id := c.k.Insert(c.t, c.as, "orders", map[string]any{"party_name": "Chance"})
	for n := range 1 + r.IntN(2) {
		in := map[string]any{"order_id": id, "line_no": n + 1, "item_id": c.items[r.IntN(len(c.items))],
			"qty_ordered": 1 + r.IntN(8)}
		if a := c.k.Post(c.as, "/v1/order_lines", in); a.Status != http.StatusCreated &&
			a.Status != http.StatusConflict { // cancelled meanwhile
			c.t.Errorf("a line: %d %s", a.Status, a.Body)
		}
	}
	c.say("confirm_order", map[string]any{"order_id": id})
}

// ship packs what is picked of an order and sends off what is packed.
func (c *chance) ship(order string) {
	if order == "" {
		return
	}
	line := c.one("SELECT id FROM order_lines WHERE tenant_id = $1 AND order_id = $2 AND qty_picked > qty_packed", order)
	if line != "" {
		picked := c.one("SELECT (qty_picked - qty_packed) / 10000 FROM order_lines WHERE tenant_id = $1 AND id = $2", line)
		q, _ := strconv.Atoi(picked)
		lines := []any{map[string]any{"order_line_id": line, "quantity": q}}
		ok, r := c.say("create_shipment", map[string]any{"carrier": "PARCEL", "lines": lines})
		if ok {
			var out struct{ Shipment struct{ ID string } }
			r.JSON(c.t, &out)
			if ok, r = c.say("pack", map[string]any{"shipment_id": out.Shipment.ID,
				"package": map[string]any{"lpn": "C-" + line}, "lines": lines}); ok {
				var box struct{ Package struct{ ID string } }
				r.JSON(c.t, &box)
				c.say("close_package", map[string]any{"package_id": box.Package.ID, "weight_kg": 1})
			}
		}
	}
	c.say("dispatch", map[string]any{"shipment_id": c.one(oneShip)})
	c.say("deliver", map[string]any{"shipment_id": c.one(oneShip), "proof": map[string]any{"name": "Chance"}})
}

// fetched is how much more often goods of a reservation were picked than put back.
const fetched = "(SELECT COALESCE(SUM(CASE m.type WHEN 'pick' THEN 1 WHEN 'unpick' THEN -1 ELSE 0 END), 0) FROM stock_movements m " +
	"WHERE m.tenant_id = $1 AND m.reservation_id = r.id)"

// invariants are statements that find rows which cannot be: what domain rules say
// of stock, promises and lines, computed from the rows themselves.
var invariants = map[string]string{
	"a level below zero, or promised beyond what is there": "SELECT id FROM stock_levels WHERE tenant_id = $1 AND " +
		"(quantity < 0 OR reserved < 0 OR reserved > quantity)",
	"a level that is not the sum of its movements": "SELECT v.id FROM stock_levels v WHERE v.tenant_id = $1 AND v.quantity <> " +
		"(SELECT COALESCE(SUM(CASE WHEN m.to_zone_id = v.zone_id AND m.to_status = v.stock_status THEN m.quantity ELSE 0 END) - " +
		"SUM(CASE WHEN m.from_zone_id = v.zone_id AND m.from_status = v.stock_status THEN m.quantity ELSE 0 END), 0) FROM stock_movements m " +
		"WHERE m.tenant_id = $1 AND m.item_id = v.item_id AND COALESCE(CAST(m.lot_id AS text), '') = COALESCE(CAST(v.lot_id AS text), '') " +
		"AND COALESCE(m.serial, '') = COALESCE(v.serial, '') AND COALESCE(m.lpn, '') = COALESCE(v.lpn, '') " +
		"AND COALESCE(CAST(m.owner_id AS text), '') = COALESCE(CAST(v.owner_id AS text), '')) AND v.item_id IN " +
		"(SELECT i.id FROM items i WHERE i.tenant_id = $1 AND i.category = 'Chance')",
	"a level whose reserved is not the sum of its promises": "SELECT v.id FROM stock_levels v WHERE v.tenant_id = $1 AND v.reserved <> " +
		"(SELECT COALESCE(SUM(r.quantity), 0) FROM reservations r WHERE r.tenant_id = $1 AND r.stock_key = v.stock_key AND r.state = 'active')",
	"a promise on stock that is not there": "SELECT r.id FROM reservations r WHERE r.tenant_id = $1 AND r.state = 'active' AND NOT EXISTS " +
		"(SELECT 1 FROM stock_levels v WHERE v.tenant_id = $1 AND v.stock_key = r.stock_key AND v.quantity >= r.quantity)",
	"a line out of order": "SELECT id FROM order_lines WHERE tenant_id = $1" + ours + " AND NOT (0 <= qty_shipped AND qty_shipped <= qty_packed " +
		"AND qty_packed <= qty_picked AND qty_picked <= qty_allocated AND qty_allocated <= qty_ordered - qty_cancelled)",
	"a line that is promised other than its reservations": "SELECT l.id FROM order_lines l WHERE l.tenant_id = $1" + ours + " AND l.qty_allocated <> " +
		"(SELECT COALESCE(SUM(r.quantity), 0) FROM reservations r WHERE r.tenant_id = $1 AND r.order_line_id = l.id AND r.state <> 'released')",
	"a line that is picked other than its reservations": "SELECT l.id FROM order_lines l WHERE l.tenant_id = $1" + ours + " AND l.qty_picked <> " +
		"(SELECT COALESCE(SUM(r.quantity), 0) FROM reservations r WHERE r.tenant_id = $1 AND r.order_line_id = l.id AND r.state <> 'released' AND r.picked)",
	"goods that a pick took to a lane, promised as if they lay in their bin": "SELECT r.id FROM reservations r WHERE r.tenant_id = $1 AND " +
		"r.state = 'active' AND NOT r.picked AND " + fetched + " > 0",
	"goods that went back to their bin, promised as if they were picked": "SELECT r.id FROM reservations r WHERE r.tenant_id = $1 AND " +
		"r.state = 'active' AND r.picked AND " + fetched + " < 0",
	"an item that is not the sum of its levels": "SELECT i.id FROM items i WHERE i.tenant_id = $1 AND i.on_hand <> " +
		"(SELECT COALESCE(SUM(v.quantity), 0) FROM stock_levels v WHERE v.tenant_id = $1 AND v.item_id = i.id)",
	"a cancelled order that holds a promise": "SELECT r.id FROM reservations r JOIN order_lines l ON l.tenant_id = $1 AND l.id = r.order_line_id " +
		"JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id WHERE r.tenant_id = $1 AND r.state = 'active' AND o.status = 'cancelled'",
}

// Whatever four clients say at once, in whatever order, stock is the sum of its
// movements, promises are kept and lines never overtake themselves.
// HOLDFAST_RANDOM_VERBS is how many steps each client takes; they take more while
// a verb that moves goods to a lane was never said with success.
func TestRandomVerbs(t *testing.T) {
	steps := 25
	if s := os.Getenv("HOLDFAST_RANDOM_VERBS"); s != "" {
		var err error
		steps, err = strconv.Atoi(s)
		testkit.Must(t, err)
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := &chance{t: t, k: k, as: testkit.As(actor.Manager), done: map[string]int{}}
		for n := range 3 {
			c.items = append(c.items, k.Insert(t, c.as, "items",
				map[string]any{"sku": fmt.Sprint("CHANCE-", n), "name": "Chance", "category": "Chance"}))
		}
		for n, kind := range []string{"dock", "staging", "bin", "bin", "bin"} {
			c.zones = append(c.zones, k.Insert(t, c.as, "zones",
				map[string]any{"code": fmt.Sprint("CHANCE-", n), "name": "Chance", "kind": kind}))
		}
		for _, item := range c.items {
			stock(t, k, item, c.zones[2], 40, nil)
		}
		var all sync.WaitGroup
		for client := range 4 {
			r := rand.New(rand.NewPCG(uint64(client), rand.Uint64()))
			all.Go(func() {
				for step := 0; step < steps || len(c.untaken()) > 0 && step < 20*steps; step++ {
					c.act(r)
				}
			})
		}
		all.Wait()
		for what, text := range invariants {
			if id := c.one(text); id != "" {
				t.Errorf("%s: %s", what, id)
			}
		}
		k.Verified(t)
		t.Logf("%d verbs said, taken: %v", c.said, c.done)
		if left := c.untaken(); len(left) > 0 {
			t.Errorf("%v were never taken: the test says nothing of them", left)
		}
	})
}
