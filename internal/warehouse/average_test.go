package warehouse_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/verify"
)

// paper is an item of one owner as a clerk keeps it on paper, in ten-thousandths.
type paper struct{ quantity, average *big.Int }

func newPaper() *paper { return &paper{big.NewInt(0), nil} }

// take books quantity at a cost, both with their signs, rounded half up.
func (p *paper) take(quantity, cost int64) {
	q, c := big.NewInt(quantity), big.NewInt(cost)
	after := new(big.Int).Add(p.quantity, q)
	if p.average == nil || p.quantity.Sign() == 0 {
		p.average = c
	} else {
		worth := new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).Mul(p.quantity, p.average), new(big.Int).Mul(q, c)))
		mean := worth.Quo(worth, new(big.Rat).SetInt(after))
		mean.Add(mean, big.NewRat(1, 2))
		p.average = new(big.Int).Div(mean.Num(), mean.Denom())
	}
	p.quantity = after
}

// giveMethod sets at what cost goods move.
func (k *kit) giveMethod(method string) string {
	k.Helper()
	return k.add("settings", store.Row{"section": "stock", "key": "costing_method", "value": `"` + method + `"`})
}

// keptCosts shows what is kept of an item, by owner, "" for the tenant itself.
func (k *kit) keptCosts(item string) map[string]string {
	k.Helper()
	out := map[string]string{}
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.as).Rows(k.resource("item_costs").Name, "item_id = $2", item)
		for _, r := range rows {
			out[r.Text("owner_id")] = show(r["quantity"]) + " at " + show(r["average_cost"])
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return out
}

// By moving average what comes in at its own cost moves the average of its item and owner,
// and what leaves, moves or is found goes at the average of that moment; whatever the item
// costs meanwhile. A clerk with paper comes to the same.
func TestMovingAverage(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.giveMethod("moving_average")
		client := k.add("goods_owners", store.Row{"code": "CL", "name": "Client"})
		k.set("items", f.bolt, store.Row{"owner_id": client}) // so that the client's goods have a cost, too
		books := map[string]*paper{"": newPaper(), client: newPaper()}
		rnd := rand.New(rand.NewPCG(33, 11))
		for n := range 120 {
			owner := []string{"", client}[rnd.IntN(2)]
			if rnd.IntN(4) == 0 {
				k.set("items", f.bolt, store.Row{"unit_cost": decimal.Dec(rnd.Int64N(90000))})
			}
			own := books[owner]
			quantity, cost := 1+rnd.Int64N(70000), rnd.Int64N(2_000_000)
			m := store.Row{"item_id": f.bolt, "quantity": decimal.Dec(quantity)}
			if owner != "" {
				m["owner_id"] = owner
			}
			stated := false
			switch kind := rnd.IntN(5); {
			case kind < 2 || own.quantity.Int64() < quantity:
				m["type"], m["to_zone_id"], m["unit_cost"], stated = "receipt", f.other, decimal.Dec(cost), true
			case kind == 2:
				m["type"], m["to_zone_id"] = []string{"count_gain", "return_in", "adjust_gain"}[rnd.IntN(3)], f.other
			default:
				m["type"], m["from_zone_id"] = []string{"ship", "count_loss", "scrap"}[rnd.IntN(3)], f.other
			}
			if !stated {
				cost = own.average.Int64()
			}
			if m["from_zone_id"] != nil {
				quantity = -quantity
			}
			id := k.add("stock_movements", m)
			if got := k.row("stock_movements", id)["unit_cost"]; got != any(decimal.Dec(cost)) {
				t.Fatalf("movement %d, %s, is posted at %v, want %s", n, m["type"], got, decimal.Dec(cost))
			}
			if quantity > 0 {
				own.take(quantity, cost)
			} else {
				own.quantity.Add(own.quantity, big.NewInt(quantity))
			}
			want := fmt.Sprintf("%s at %s", decimal.Dec(own.quantity.Int64()), decimal.Dec(own.average.Int64()))
			if got := k.keptCosts(f.bolt)[owner]; got != want {
				t.Fatalf("after movement %d, %s %s: %s, want %s", n, m["type"], m["quantity"], got, want)
			}
		}
		k.agree()
	})
}

// What has no stock takes the cost of what comes; a receipt that is reversed leaves the
// average as it was before it; goods that are dated back are reckoned where they are posted.
func TestMovingAverageAtItsEdges(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		setting := k.giveMethod("moving_average")
		at := func(want string) {
			t.Helper()
			if got := k.keptCosts(f.bolt)[""]; got != want {
				t.Errorf("kept is %s, want %s", got, want)
			}
			k.agree()
		}
		receive := func(quantity, cost string, more store.Row) string {
			m := in("receipt", f.bolt, f.other, quantity)
			m["unit_cost"] = cost
			for name, v := range more {
				m[name] = v
			}
			return k.add("stock_movements", m)
		}
		first := in("receipt", f.bolt, f.other, "4")
		id := k.add("stock_movements", first) // nobody says what it cost, and nothing is known: the item does
		k.is("stock_movements", id, "unit_cost", "0.25")
		at("4 at 0.25")
		k.add("stock_movements", out("ship", f.bolt, f.other, "4"))
		at("0 at 0.25")
		k.set("items", f.bolt, store.Row{"unit_cost": "9"})
		id = k.add("stock_movements", in("return_in", f.bolt, f.other, "1")) // at the last average, not at 9
		k.is("stock_movements", id, "unit_cost", "0.25")
		k.add("stock_movements", out("scrap", f.bolt, f.other, "1"))
		receive("3", "10", nil)
		at("3 at 10")
		wrong := receive("1", "1000", store.Row{"occurred_at": "2026-02-27T12:00:00.000000Z"})
		at("4 at 257.5")
		undo := out("adjust_loss", f.bolt, f.other, "1")
		undo["reversal_of"] = wrong
		k.add("stock_movements", undo)
		at("3 at 10")
		if _, err := k.try("stock_movements", in("receipt", f.bolt, f.other, "1"), out("ship", f.bolt, f.other, "1"),
			in("receipt", f.bolt, f.bin, "2"), out("ship", f.bolt, f.bin, "2")); err != nil {
			t.Fatal(err) // one request may bring much of one item
		}
		at("3 at 10")
		k.set("settings", setting, store.Row{"value": `"standard"`})
		id = k.add("stock_movements", out("ship", f.bolt, f.other, "1"))
		k.is("stock_movements", id, "unit_cost", "9")
		at("2 at 10") // it is kept on, for when the setting is taken back
	})
}

// verify reckons the averages from the movements, and tells what differs.
func TestVerifyTellsOfAverages(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.add("stock_movements", in("receipt", f.bolt, f.other, "4"))
		var diffs []verify.Difference
		err := k.tx(func(tx *db.Tx) error {
			tx.Queue("UPDATE item_costs SET average_cost = 7, quantity = 8 WHERE tenant_id = $1", []any{north}, nil)
			return tx.Flush()
		})
		if err != nil {
			t.Fatal(err)
		}
		err = k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) (err error) {
			diffs, err = verify.RecountTotals(tx, k.s.Catalog(), north)
			return err
		})
		told := strings.ReplaceAll(fmt.Sprint(diffs), f.bolt, "BOLT")
		if want := "[cost of item BOLT average_cost is 7, the rows say 2500 cost of item BOLT quantity is 8, " +
			"the rows say 40000]"; err != nil || told != want {
			t.Errorf("verify tells %s, %v, want %s", told, err, want)
		}
	})
}
