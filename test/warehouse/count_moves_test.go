package warehouse_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// What is picked between the counter's look and the entry of the count is reckoned: it is no
// variance, and no promise is given back for it, at the entry and where a second person
// decides later.
func TestCountBesidePicks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 1})
		bin := g.bin("G-A", 30, "")
		first, _ := g.order(4)
		_, picks := g.released(first)
		second, _ := g.order(20)
		_, more := g.released(second)
		pick := func(id string, q float64) {
			t.Helper()
			g.say("pick_line", map[string]any{"pick_line_id": id, "quantity": q, "to_zone_id": g.lane}, 200, nil)
		}
		look := func() (task, at string) {
			t.Helper()
			var begun tally
			g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
			return begun.Task.ID, time.Now().UTC().Format(time.RFC3339Nano)
		}
		enter := func(task, at string, counted float64, want int) (out tally, body string) {
			t.Helper()
			r := g.say("enter_count", map[string]any{"count_task_id": task, "counted_at": at,
				"lines": []any{map[string]any{"counted": counted}}}, want, nil)
			if want == 200 {
				r.JSON(t, &out)
			}
			return out, string(r.Body)
		}

		task, at := look()
		pick(picks[0], 2)
		if out, _ := enter(task, at, 30, 200); out.Task.Status != "approved" || len(out.Movements) != 0 {
			t.Errorf("30 found, then 2 picked: %+v", out)
		}
		g.is("stock_levels?select=quantity&zone_id=eq."+bin, `[{"quantity":28}]`)

		task, at = look()
		pick(picks[0], 2)
		out, _ := enter(task, at, 23, 200)
		if len(out.Movements) != 1 || out.Movements[0].Type != "count_loss" || out.Movements[0].Quantity != 5 {
			t.Errorf("23 of 28 found, then 2 picked: %+v", out)
		}
		g.is("stock_levels?select=quantity,reserved&zone_id=eq."+bin, `[{"quantity":21,"reserved":20}]`)
		g.is("orders?select=qty_allocated&id=eq."+second, `[{"qty_allocated":20}]`)

		limitAt(t, k, 2)
		task, at = look()
		if out, _ := enter(task, at, 25, 200); out.Task.Status != "counted" {
			t.Errorf("above the limit: %+v", out)
		}
		pick(more[0], 20)
		k.Say(t, testkit.As(actor.Admin), "approve_count", map[string]any{"count_task_id": task, "reason": "seen"}, 200, &out)
		g.is("stock_levels?select=quantity&zone_id=eq."+bin, `[{"quantity":5}]`)

		task, _ = look()
		for _, bad := range []string{
			time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().Add(-time.Hour).Format(time.RFC3339), "noon",
		} {
			if _, body := enter(task, bad, 5, 400); !strings.Contains(body, "counted_at") {
				t.Errorf("looked at %s: %s", bad, body)
			}
		}
		k.Verified(t)
	})
}

// Counts and picks at once: whichever comes first, what the counter saw before is no variance.
func TestCountsAndPicksAtOnce(t *testing.T) {
	const rounds = 12
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 1})
		bin := g.bin("G-A", 3*rounds, "")
		order, _ := g.order(2 * rounds)
		_, picks := g.released(order)
		for n := range rounds {
			var begun tally
			g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
			count := map[string]any{"count_task_id": begun.Task.ID, "counted_at": time.Now().Format(time.RFC3339Nano),
				"lines": []any{map[string]any{"counted": 3*rounds - 2*n}}}
			pick := map[string]any{"pick_line_id": picks[0], "quantity": 1, "to_zone_id": g.lane}
			g.atOnce(
				testkit.Request{Path: "/v1/rpc/pick_line", Body: pick},
				testkit.Request{Path: "/v1/rpc/enter_count", Body: count},
				testkit.Request{Path: "/v1/rpc/pick_line", Body: pick},
			)
			g.is("count_tasks?select=status,variance_value&id=eq."+begun.Task.ID, `[{"status":"approved","variance_value":0}]`)
			g.is("count_lines?select=variance&count_task_id=eq."+begun.Task.ID, `[{"variance":0}]`)
		}
		g.is("stock_movements?select=id&type=in.(count_gain,count_loss)&item_id=eq."+g.item, `[]`)
		g.is("stock_levels?select=quantity,reserved&zone_id=eq."+bin, `[{"quantity":12,"reserved":0}]`)
		k.Verified(t)
	})
}

// A promise that is made while a count waits for the orders that it takes from is one of an
// order that the count does not hold: the count begins again, and waits for no order while it
// holds the item.
func TestCountHoldsOrdersFirst(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 10, "")
		first, _ := g.order(4)
		g.say("confirm_order", map[string]any{"order_id": first}, 200, nil)
		later, _ := g.order(6)
		var begun tally
		g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
		count := func() testkit.Response {
			in := map[string]any{"count_task_id": begun.Task.ID, "lines": []any{map[string]any{"counted": 3}}}
			return k.Post(g.as, "/v1/rpc/enter_count", in)
		}
		confirm := map[string]any{"order_id": later}
		if d := k.App.DB; d.ForUpdate() == "" {
			g.say("confirm_order", confirm, 200, nil)
			g.answered("nothing", count())
		} else {
			answer, failed := make(chan testkit.Response, 1), make(chan error, 1)
			held, free := make(chan bool), make(chan bool)
			begin, hold := sync.OnceFunc(func() { go func() { answer <- count() }() }), sync.OnceFunc(func() { close(held) })
			release := sync.OnceFunc(func() { close(free) })
			defer release()
			go func() {
				failed <- d.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
					const text = "SELECT id FROM orders WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
					err := tx.Query(text, []any{demo.North, first}, func(*db.Row) error { return nil })
					if err != nil {
						return err
					}
					begin()
					if err := waitForWaiter(tx); err != nil {
						return err
					}
					hold()
					<-free
					return nil
				})
			}()
			select {
			case <-held:
			case err := <-failed:
				t.Fatal(err)
			}
			g.say("confirm_order", confirm, 200, nil)
			g.answered("a promise made meanwhile", g.during("orders", later, "items", g.item, func() testkit.Response {
				release()
				return <-answer
			}))
			testkit.Must(t, <-failed)
		}
		g.is("stock_levels?select=quantity,reserved&zone_id=eq."+bin, `[{"quantity":3,"reserved":3}]`)
		k.Verified(t)
	})
}

// waitForWaiter waits until somebody waits for a row that the transaction holds.
func waitForWaiter(tx *db.Tx) error {
	const text = "SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		waiting := false
		err := tx.Query(text, nil, func(*db.Row) error { waiting = true; return nil })
		if err != nil || waiting {
			return err
		}
	}
	return errors.New("the count waits for no order")
}

// A shipment of which nothing reached the receiver is an exception and not completed; a
// second try that reaches him is.
func TestDeliverNothing(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(4)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		shipment := g.consigned(line, 4, nil)
		g.packed(shipment, line, 4)
		g.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)

		missing := map[string]any{"order_line_id": line, "short": 4}
		in := map[string]any{"shipment_id": shipment, "lines": []any{missing}}
		g.say("deliver", in, 200, nil)
		g.is("shipments?select=status,exception_code,completed_at&id=eq."+shipment,
			`[{"status":"exception","exception_code":"NOTHING_DELIVERED","completed_at":null}]`)
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"shipped"}]`)

		again := testkit.Request{Method: http.MethodPatch, Path: "/v1/shipments/" + shipment, As: g.as,
			Body: map[string]any{"status": "in_transit", "exception_note": "nobody at the gate"}}
		if r := k.Call(again); r.Status/100 != 2 {
			t.Fatalf("a second try: %d %s", r.Status, r.Body)
		}
		g.say("deliver", map[string]any{"shipment_id": shipment, "proof": map[string]any{"name": "Gate"}}, 200, nil)
		g.is("shipments?select=status,exception_code,exception_note&id=eq."+shipment,
			`[{"status":"delivered","exception_code":null,"exception_note":null}]`)
		g.is("shipment_lines?select=qty_short&shipment_id=eq."+shipment, `[{"qty_short":0}]`)
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"delivered"}]`)
		k.Verified(t)
	})
}
