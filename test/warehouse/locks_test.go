package warehouse_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Whoever works on an order's goods takes the locks in one order, so that two
// wait for each other in turn and not in a circle: while a request waits for a row,
// somebody else holds it, the rows that come after are free. Rows lock on
// PostgreSQL alone; on SQLite the requests are only held to their answers.
func TestLocksInOneOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 60, "")
		order, line := g.order(6)
		list, lines := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		var sent struct{ Shipment struct{ ID string } }
		of := []any{map[string]any{"order_line_id": line, "quantity": 2}}
		patch := func(path string, set map[string]any) func() testkit.Response {
			return func() testkit.Response {
				return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: g.as, Body: set})
			}
		}
		verb := func(name string, in map[string]any) func() testkit.Response {
			return func() testkit.Response { return k.Post(g.as, "/v1/rpc/"+name, in) }
		}
		// A shipment of lines: the order before the lines.
		made := g.during("orders", order, "order_lines", line,
			verb("create_shipment", map[string]any{"carrier": "PARCEL", "lines": of}))
		made.JSON(t, &sent)
		var box struct{ Package struct{ ID string } }
		g.say("pack", map[string]any{"shipment_id": sent.Shipment.ID, "lines": of}, 200, &box)
		// A package that is closed: the shipment before the package.
		g.during("shipments", sent.Shipment.ID, "packages", box.Package.ID,
			verb("close_package", map[string]any{"package_id": box.Package.ID, "weight_kg": 1}))
		// A shipment that leaves: the order before what is promised to it.
		held := list1(t, k, g.as, "reservations?select=id&picked=is.true&state=eq.active&order_line_id=eq."+line)
		g.during("orders", order, "reservations", held, verb("dispatch", map[string]any{"shipment_id": sent.Shipment.ID}))
		// A pick by change of state: the order before the line, the list before the line.
		g.during("orders", order, "pick_lines", lines[0], patch("pick_lines/"+lines[0], map[string]any{"qty_picked": 3}))
		g.during("pick_lists", list, "pick_lines", lines[0],
			verb("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 1, "to_zone_id": g.lane}))
		// A list that is called off: the order before the list. Two have left with the shipment.
		second, _ := g.order(3)
		again, _ := g.released(second)
		g.during("orders", second, "pick_lists", again, patch("pick_lists/"+again, map[string]any{"status": "cancelled"}))
		// Stock that is given back: the list before its lines.
		third, _ := g.order(3)
		thirds, of3 := g.released(third)
		g.during("pick_lists", thirds, "pick_lines", of3[0], verb("deallocate_order", map[string]any{"order_id": third}))
		k.Verified(t)
	})
}

// An order that ends, by a verb or a change of its row, waits for its shipments and waves
// before it holds the order, and for its pick lists before it holds the item.
func TestEndingLocksWorkBeforeOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 100, "")
		patch := func(path string, set map[string]any) func() testkit.Response {
			return func() testkit.Response {
				return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: g.as, Body: set})
			}
		}
		verb := func(name string, in map[string]any) func() testkit.Response {
			return func() testkit.Response { return k.Post(g.as, "/v1/rpc/"+name, in) }
		}
		confirmed := func(q float64) (order, line string) {
			order, line = g.order(q)
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			return order, line
		}

		order, line := confirmed(3)
		ship := g.consigned(line, 3, nil)
		g.during("shipments", ship, "orders", order, patch("order_lines/"+line, map[string]any{"qty_cancelled": 0}))
		g.during("shipments", ship, "orders", order, verb("cancel_order", map[string]any{"order_id": order}))
		order, line = confirmed(2)
		ship = g.consigned(line, 2, nil)
		g.during("shipments", ship, "orders", order, patch("orders/"+order, map[string]any{"status": "cancelled"}))

		order, line = confirmed(2)
		ship = g.consigned(line, 2, nil)
		var planned struct{ Wave struct{ ID string } }
		g.say("plan_wave", map[string]any{"order_ids": []string{order}}, 200, &planned)
		g.during("waves", planned.Wave.ID, "shipments", ship, verb("cancel_order", map[string]any{"order_id": order}))

		order, _ = g.order(2)
		list, _ := g.released(order)
		g.during("pick_lists", list, "items", g.item, verb("cancel_order", map[string]any{"order_id": order}))

		order, line = g.order(6)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		left, stays := g.consigned(line, 2, nil), g.consigned(line, 2, nil)
		g.packed(left, line, 2)
		g.say("dispatch", map[string]any{"shipment_id": left}, 200, nil)
		g.during("shipments", stays, "orders", order, verb("close_order", map[string]any{"order_id": order}))
		k.Verified(t)
	})
}

// beside says something while a row is locked, and holds it to not waiting for that row.
func (g *goods) beside(resource, id string, say func() testkit.Response) {
	g.t.Helper()
	d := g.k.App.DB
	if d.ForUpdate() == "" {
		g.answered(resource, say())
		return
	}
	answer := make(chan testkit.Response, 1)
	err := d.Write(g.t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		const text = " WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
		if err := tx.Query("SELECT id FROM "+resource+text, []any{demo.North, id}, func(*db.Row) error {
			return nil
		}); err != nil {
			return err
		}
		go func() { answer <- say() }()
		select {
		case r := <-answer:
			g.answered(resource, r)
		case <-time.After(5 * time.Second):
			g.t.Errorf("what ends nothing waits for a row of %s", resource)
		}
		return nil
	})
	testkit.Must(g.t, err)
}

// answered holds an answer to a success.
func (g *goods) answered(beside string, r testkit.Response) {
	g.t.Helper()
	if r.Status/100 != 2 {
		g.t.Errorf("beside %s: %d %s", beside, r.Status, r.Body)
	}
}

// A change that ends no work waits for no shipment, wave, list or item: a note on an order,
// a price of its line, the place of a zone, by PATCH and by upsert.
func TestNotesWaitForNoWork(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 100, "")
		order, line := g.order(3)
		list, _ := g.released(order)
		ship := g.consigned(line, 3, nil)
		patch := func(path string, set map[string]any) func() testkit.Response {
			return func() testkit.Response {
				return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: g.as, Body: set})
			}
		}
		g.beside("shipments", ship, patch("orders/"+order, map[string]any{"notes": "ring twice"}))
		g.beside("shipments", ship, patch("orders?id=eq."+order, map[string]any{"priority": 1}))
		g.beside("shipments", ship, patch("order_lines/"+line, map[string]any{"unit_price": 2}))
		g.beside("pick_lists", list, patch("order_lines/"+line, map[string]any{"unit_price": 3}))
		g.beside("orders", order, patch("pick_lists/"+list, map[string]any{"priority": 1}))
		g.beside("items", g.item, patch("zones/"+g.bins["G-A"], map[string]any{"x": 4}))
		g.beside("items", g.item, func() testkit.Response {
			return k.Call(testkit.Request{Method: http.MethodPost, Path: "/v1/zones?on_conflict=code", As: g.as,
				Header: map[string]string{"Prefer": "resolution=merge-duplicates"},
				Body:   []any{map[string]any{"code": "G-A", "name": "Bin", "y": 5}}})
		})
		g.is("zones?select=x,y&id=eq."+g.bins["G-A"], `[{"x":4,"y":5}]`)
		g.is("orders?select=notes,priority&id=eq."+order, `[{"notes":"ring twice","priority":1}]`)
		// What ends something still waits.
		g.during("shipments", ship, "orders", order, patch("orders/"+order,
			map[string]any{"status": "cancelled", "notes": "called off"}))
		k.Verified(t)
	})
}

// Orders that end beside shipments that leave and waves that are released are each answered,
// and the database breaks no circle of waits.
func TestEndingBesideWork(t *testing.T) {
	const rounds = 25
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 100*rounds, "")
		before := g.deadlocks()
		for range rounds {
			order, line := g.order(6)
			_, picks := g.released(order)
			g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
			gone, leaves := g.consigned(line, 2, nil), g.consigned(line, 2, nil)
			g.packed(gone, line, 2)
			g.packed(leaves, line, 2)
			g.say("dispatch", map[string]any{"shipment_id": gone}, 200, nil)
			first, _ := g.order(1)
			second, _ := g.order(1)
			for _, id := range []string{first, second} {
				g.say("confirm_order", map[string]any{"order_id": id}, 200, nil)
			}
			var planned struct{ Wave struct{ ID string } }
			g.say("plan_wave", map[string]any{"order_ids": []string{first, second}}, 200, &planned)

			fewer, none := map[string]any{"qty_cancelled": 1}, map[string]any{"status": "cancelled"}
			g.atOnce(
				testkit.Request{Path: "/v1/rpc/dispatch", Body: map[string]any{"shipment_id": leaves}},
				testkit.Request{Path: "/v1/rpc/close_order", Body: map[string]any{"order_id": order}},
				testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines/" + line, Body: fewer},
				testkit.Request{Path: "/v1/rpc/release_picks", Body: map[string]any{"wave_id": planned.Wave.ID}},
				testkit.Request{Path: "/v1/rpc/cancel_order", Body: map[string]any{"order_id": first}},
				testkit.Request{Method: http.MethodPatch, Path: "/v1/orders/" + second, Body: none},
			)
		}
		if n := g.deadlocks() - before; n != 0 {
			t.Errorf("the database broke %d circles of waits", n)
		}
		k.Verified(t)
	})
}

// atOnce sends requests at once, each of which may be refused and does not fail.
func (g *goods) atOnce(requests ...testkit.Request) {
	g.t.Helper()
	var all sync.WaitGroup
	for _, q := range requests {
		if q.As = g.as; q.Method == "" {
			q.Method = http.MethodPost
		}
		all.Go(func() {
			if r := g.k.Call(q); r.Status >= 500 {
				g.t.Errorf("%s %s: %d %s", q.Method, q.Path, r.Status, r.Body)
			}
		})
	}
	all.Wait()
}

// deadlocks is how often the database has ended a transaction to break a circle of waits;
// always 0 on SQLite, which has one writer.
func (g *goods) deadlocks() (n int64) {
	g.t.Helper()
	d := g.k.App.DB
	if d.ForUpdate() == "" {
		return 0
	}
	const text = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	err := d.Read(g.t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		return tx.Query(text, nil, func(r *db.Row) error { n = r.Int(0); return nil })
	})
	testkit.Must(g.t, err)
	return n
}

// list1 is the id of the one row of a path.
func list1(t *testing.T, k *testkit.Kit, as, path string) string {
	t.Helper()
	rows := testkit.List[struct{ ID string }](t, k, as, path)
	if len(rows) != 1 {
		t.Fatalf("%s: %d rows", path, len(rows))
	}
	return rows[0].ID
}

// during says something while a row is locked, and holds it to waiting for that
// row before it locks the other. It returns the answer, a 200.
func (g *goods) during(resource, id, after, other string, say func() testkit.Response) testkit.Response {
	g.t.Helper()
	d := g.k.App.DB
	answer := make(chan testkit.Response, 1)
	if d.ForUpdate() == "" {
		answer <- say()
	} else {
		err := d.Write(g.t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			ids := func(text string, args ...any) (n int) {
				err := tx.Query(text, args, func(*db.Row) error { n++; return nil })
				if err != nil {
					g.t.Error(err)
				}
				return n
			}
			ids("SELECT id FROM "+resource+" WHERE tenant_id = $1 AND id = $2 FOR UPDATE", demo.North, id)
			go func() { answer <- say() }()
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
				if ids("SELECT l.pid FROM pg_locks l WHERE NOT l.granted AND pg_backend_pid() = ANY(pg_blocking_pids(l.pid))") > 0 {
					break
				}
				if time.Now().After(end) {
					g.t.Errorf("nobody waits for the row of %s", resource)
					return nil
				}
			}
			if ids("SELECT id FROM "+after+" WHERE tenant_id = $1 AND id = $2 FOR UPDATE SKIP LOCKED", demo.North, other) == 0 {
				g.t.Errorf("who waits for a row of %s holds one of %s", resource, after)
			}
			return nil
		})
		testkit.Must(g.t, err)
	}
	r := <-answer
	if r.Status != http.StatusOK {
		g.t.Fatalf("%s before %s: %d %s", resource, after, r.Status, r.Body)
	}
	return r
}
