package warehouse_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// A picker who scans another lot of the item in the same bin takes it: the promise moves to
// what is free there.
func TestAnotherLotIsPicked(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "min_remaining_days": 5})
		first, second := g.lot("SW-1", 30, "released"), g.lot("SW-2", 60, "released")
		bin := g.bin("G-A", 10, first)
		g.bin("G-A", 6, second)
		order, line := g.order(4)
		_, picks := g.released(order)
		g.is("reservations?select=lot_id&order_line_id=eq."+line, `[{"lot_id":"`+first+`"}]`)

		g.say("pick_line", map[string]any{
			"pick_line_id": picks[0], "quantity": 1, "lot_no": "sw-2", "to_zone_id": g.lane}, 200, nil)
		g.is("pick_lines?select=lot_id,qty_picked&id=eq."+picks[0], `[{"lot_id":"`+second+`","qty_picked":1}]`)
		g.is("stock_levels?select=lot_id,quantity,reserved&zone_id=eq."+bin+"&order=quantity",
			`[{"lot_id":"`+second+`","quantity":5,"reserved":3},{"lot_id":"`+first+`","quantity":10,"reserved":0}]`)

		before := books(t, k)
		r := g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 1, "lot_no": "SW-1"}, 409, nil)
		if text := string(r.Body); !strings.Contains(text, "HF025") || !strings.Contains(text, "unpick") {
			t.Errorf("of two lots: %s", text)
		}
		if after := books(t, k); after != before {
			t.Errorf("something moved: %s, before %s", after, before)
		}
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 3, "lot_no": "SW-2"}, 200, nil)
		g.is("reservations?select=lot_id,picked&order_line_id=eq."+line+"&state=eq.active&order=id",
			`[{"lot_id":"`+second+`","picked":true},{"lot_id":"`+second+`","picked":true}]`)
		k.Verified(t)
	})
}

// Lots that two orders were promised change places when one is picked for the other. Each
// order still gets all of its goods.
func TestPromisesAreExchanged(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		first, second := g.lot("SW-1", 30, "released"), g.lot("SW-2", 60, "released")
		bin := g.bin("G-A", 4, first)
		g.bin("G-A", 4, second)
		mine, myLine := g.order(4)
		_, picks := g.released(mine)
		theirs, theirLine := g.order(4)
		_, others := g.released(theirs)
		g.is("reservations?select=lot_id&order_line_id=eq."+theirLine, `[{"lot_id":"`+second+`"}]`)

		pick := func(line, lot string, want int) {
			t.Helper()
			g.say("pick_line", map[string]any{
				"pick_line_id": line, "quantity": 4, "lot_no": lot, "to_zone_id": g.lane}, want, nil)
		}
		pick(picks[0], "SW-2", 200)
		g.is("reservations?select=lot_id,quantity&order_line_id=eq."+myLine, `[{"lot_id":"`+second+`","quantity":4}]`)
		g.is("reservations?select=lot_id,quantity&order_line_id=eq."+theirLine, `[{"lot_id":"`+first+`","quantity":4}]`)
		g.is("pick_lines?select=lot_id&id=eq."+others[0], `[{"lot_id":"`+first+`"}]`)
		g.is("stock_levels?select=lot_id,quantity,reserved&quantity=gt.0&zone_id=eq."+bin,
			`[{"lot_id":"`+first+`","quantity":4,"reserved":4}]`)
		pick(others[0], "SW-2", 409)
		pick(others[0], "SW-1", 200)
		k.Verified(t)
	})
}

// A serial number that was scanned beside the one promised is taken, free or another order's.
func TestAnotherSerialIsPicked(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "serial"})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "G-A", "name": "G-A"})
		for _, serial := range []string{"SN-1", "SN-2", "SN-3"} {
			k.Insert(t, g.as, "stock_movements", map[string]any{
				"type": "receipt", "item_id": g.item, "to_zone_id": bin, "quantity": 1, "serial": serial})
		}
		mine, myLine := g.order(1)
		_, picks := g.released(mine)
		theirs, theirLine := g.order(1)
		g.released(theirs)
		serialOf := func(line string) string {
			return list1(t, k, g.as, "reservations?select=id:serial&order_line_id=eq."+line)
		}
		was, other := serialOf(myLine), serialOf(theirLine)
		refused := g.say("pick_line", map[string]any{
			"pick_line_id": picks[0], "quantity": 1, "serials": []string{"SN-9"}, "to_zone_id": g.lane}, 409, nil)
		for _, want := range []string{"HF025", "SN-9", "G-A", "serials"} {
			if !strings.Contains(string(refused.Body), want) {
				t.Errorf("a number that is not there: %s, want %s", refused.Body, want)
			}
		}
		g.say("pick_line", map[string]any{
			"pick_line_id": picks[0], "quantity": 1, "serials": []string{other}, "to_zone_id": g.lane}, 200, nil)
		if serialOf(myLine) != other || serialOf(theirLine) != was {
			t.Errorf("promised: %s and %s", serialOf(myLine), serialOf(theirLine))
		}
		k.Verified(t)
	})
}

// Goods that the order cannot have are refused in words, and nothing moves.
func TestSwapsThatAreRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "min_remaining_days": 20})
		first := g.lot("SW-1", 30, "released")
		g.bin("G-A", 4, first)
		order, _ := g.order(4)
		_, picks := g.released(order)

		g.bin("G-A", 9, g.lot("SW-BAD", 60, "quarantine"))
		g.bin("G-A", 9, g.lot("SW-OLD", 7, "released"))
		g.bin("G-A", 3, g.lot("SW-FEW", 60, "released"))
		g.bin("G-B", 9, g.lot("SW-FAR", 60, "released"))
		g.bin("G-A", 5, g.lot("SW-THEIRS", 60, "released"))
		owner := k.Insert(t, testkit.As(actor.Admin), "goods_owners", map[string]any{"code": "SW", "name": "Client"})
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": g.bins["G-A"],
			"quantity": 9, "lot_id": g.lot("SW-CLIENT", 60, "released"), "owner_id": owner})
		other := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Other"})
		k.Insert(t, g.as, "order_lines", map[string]any{"order_id": other, "line_no": 1, "item_id": g.item, "qty_ordered": 5,
			"lot_id": list1(t, k, g.as, "lots?select=id&lot_no=eq.SW-THEIRS&item_id=eq."+g.item)})
		g.say("confirm_order", map[string]any{"order_id": other}, 200, nil)

		before := books(t, k)
		for lot, words := range map[string]string{
			"SW-BAD":    "is quarantine",
			"SW-OLD":    "it expires on " + time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly),
			"SW-FEW":    "has 3 free, and the line asks for 4",
			"SW-FAR":    "lies in zone G-A",
			"SW-NONE":   "lies in zone G-A",
			"SW-CLIENT": "order's owner",
			"SW-THEIRS": "has 0 free, and the line asks for 4; promised to order " +
				list1(t, k, g.as, "orders?select=id:order_no&id=eq."+other),
		} {
			r := g.say("pick_line", map[string]any{
				"pick_line_id": picks[0], "quantity": 4, "lot_no": lot, "to_zone_id": g.lane}, 409, nil)
			text := string(r.Body)
			for _, want := range []string{"HF025", words, "lot_no", "pick lot SW-1"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s, want %q", lot, text, want)
				}
			}
		}
		if after := books(t, k); after != before {
			t.Errorf("something moved: %s, before %s", after, before)
		}
		k.Verified(t)
	})
}

// swapped is a scan of a lot at a pick line, of all that the line asks for.
func (g *goods) swapped(line, lot string, quantity float64, want int) string {
	g.t.Helper()
	return string(g.say("pick_line", map[string]any{
		"pick_line_id": line, "quantity": quantity, "lot_no": lot, "to_zone_id": g.lane}, want, nil).Body)
}

// A lot that is barred after it was promised is not handed to another order, but what was
// promised of it moves to goods that are free.
func TestSwapsHandOnNoBarredLot(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		first, second := g.lot("SW-1", 30, "released"), g.lot("SW-2", 60, "released")
		g.bin("G-A", 4, first)
		g.bin("G-A", 4, second)
		mine, myLine := g.order(4)
		_, picks := g.released(mine)
		theirs, theirLine := g.order(4)
		g.released(theirs)
		g.is("reservations?select=lot_id&order_line_id=eq."+theirLine, `[{"lot_id":"`+second+`"}]`)
		barred := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/lots/" + first, As: g.as,
			Body: map[string]any{"status": "quarantine"}})
		if barred.Status != 200 {
			t.Fatalf("the lot is barred: %d %s", barred.Status, barred.Body)
		}

		before := books(t, k)
		text := g.swapped(picks[0], "SW-2", 4, 409)
		if !strings.Contains(text, "lot SW-1, which is quarantine") || strings.Contains(text, "pick lot SW-1") {
			t.Errorf("an exchange for a barred lot: %s", text)
		}
		if after := books(t, k); after != before {
			t.Errorf("something moved: %s, before %s", after, before)
		}
		g.is("reservations?select=lot_id&order_line_id=eq."+myLine, `[{"lot_id":"`+first+`"}]`)
		g.is("reservations?select=lot_id&order_line_id=eq."+theirLine, `[{"lot_id":"`+second+`"}]`)

		g.bin("G-A", 4, g.lot("SW-3", 60, "released"))
		g.swapped(picks[0], "SW-3", 4, 200)
		k.Verified(t)
	})
}

// Of a lot that lies on plates and loose, the goods are taken of which enough is free, or
// those that another order can exchange.
func TestSwapsLookAtAllPlates(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		first, second := g.lot("SW-1", 30, "released"), g.lot("SW-2", 60, "released")
		bin := g.bin("G-A", 8, first)
		stand := func(plate string, lot string) {
			t.Helper()
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
				"quantity": 4, "lot_id": lot, "lpn": plate})
		}
		mine, _ := g.order(4)
		_, picks := g.released(mine)
		next, nextLine := g.order(4)
		_, nextPicks := g.released(next)
		stand("SW-P1", second)
		theirs, theirLine := g.order(4)
		g.released(theirs)
		g.is("reservations?select=lot_id,lpn&order_line_id=eq."+theirLine, `[{"lot_id":"`+second+`","lpn":"SW-P1"}]`)
		g.bin("G-A", 2, second)

		g.swapped(picks[0], "SW-2", 4, 200)
		g.is("reservations?select=lot_id,lpn&order_line_id=eq."+theirLine, `[{"lot_id":"`+first+`","lpn":null}]`)
		stand("SW-P2", second)
		g.swapped(nextPicks[0], "SW-2", 4, 200)
		g.is("reservations?select=lot_id,picked&order_line_id=eq."+nextLine, `[{"lot_id":"`+second+`","picked":true}]`)
		g.is("stock_levels?select=quantity,reserved&lpn=eq.SW-P2&quantity=gt.0&zone_id=eq."+bin, `[]`)
		k.Verified(t)
	})
}

// A refusal names what was wrong of a scan: the lot beside a right serial number, or that
// more than one number was scanned.
func TestSwapsNameWhatWasWrong(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "serial"})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "G-A", "name": "G-A"})
		lots := map[string]string{"SN-1": "SW-1", "SN-2": "SW-2"}
		for _, serial := range []string{"SN-1", "SN-2"} {
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
				"quantity": 1, "serial": serial, "lot_id": g.lot(lots[serial], 60, "released")})
		}
		order, line := g.order(1)
		_, picks := g.released(order)
		mine := list1(t, k, g.as, "reservations?select=id:serial&order_line_id=eq."+line)
		other := map[string]string{"SN-1": "SN-2", "SN-2": "SN-1"}[mine]
		before := books(t, k)
		for _, c := range []struct {
			lot, words, field string
			serials           []string
		}{
			{lots[other], "serial number " + mine + " of item G-1 is of lot " + lots[mine], "lot_no", []string{mine}},
			{"SW-9", "and lot SW-9 was scanned", "lot_no", []string{mine}},
			{"", "more than one was scanned: SN-1, SN-2", "serials", []string{mine, other}},
			{lots[other], "more than one was scanned: SN-1, SN-2", "serials", []string{mine, other}},
			{lots[other], "none was scanned", "serials", nil},
		} {
			in := map[string]any{"pick_line_id": picks[0], "quantity": 1, "serials": c.serials, "to_zone_id": g.lane}
			if c.lot != "" {
				in["lot_no"] = c.lot
			}
			text := string(g.say("pick_line", in, 409, nil).Body)
			if !strings.Contains(text, c.words) || !strings.Contains(text, `"details":"`+c.field+`: `) {
				t.Errorf("lot %q, numbers %v: %s, want %q at %s", c.lot, c.serials, text, c.words, c.field)
			}
		}
		if after := books(t, k); after != before {
			t.Errorf("something moved: %s, before %s", after, before)
		}
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 1, "serials": []string{other, other},
			"lot_no": lots[other], "to_zone_id": g.lane}, 200, nil)
		k.Verified(t)
	})
}

// A swap to goods that are free, or that cannot be exchanged, waits for no other order.
func TestSwapsWaitForNoOtherOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if k.App.DB.ForUpdate() == "" {
			return // one writes at a time there, so nothing is locked
		}
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		first, second := g.lot("SW-1", 30, "released"), g.lot("SW-2", 60, "released")
		g.bin("G-A", 4, first)
		g.bin("G-A", 12, second)
		mine, _ := g.order(4)
		_, picks := g.released(mine)
		theirs, _ := g.order(4)
		g.released(theirs)
		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE orders SET version = version WHERE id = $1", theirs)
			if err == nil {
				g.swapped(picks[0], "SW-2", 4, 200)
			}
			return err
		}))
		k.Verified(t)
	})
}
