package warehouse_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/costs"
)

// slip is a movement as a clerk notes it, in the order of posting.
type slip struct {
	at             time.Time
	owner          string
	from, to       string // sites, "" for outside
	quantity, cost int64  // ten-thousandths
}

// stockOf reckons from slips what there was before a moment and what it was worth, a line
// for each owner and site.
func stockOf(slips []slip, before time.Time) string {
	books, places := map[string]*paper{}, map[[2]string]int64{}
	for _, s := range slips {
		if !s.at.Before(before) {
			continue
		}
		if books[s.owner] == nil {
			books[s.owner] = newPaper()
		}
		own := books[s.owner]
		if s.from == "" {
			own.take(s.quantity, s.cost)
		} else if s.to == "" {
			own.quantity.Sub(own.quantity, big.NewInt(s.quantity))
		}
		places[[2]string{s.owner, s.from}] -= s.quantity
		places[[2]string{s.owner, s.to}] += s.quantity
	}
	var lines []string
	for at, quantity := range places {
		if at[1] == "" || quantity == 0 {
			continue
		}
		worth := new(big.Int).Mul(big.NewInt(quantity), books[at[0]].average)
		worth.Add(worth, big.NewInt(decimal.Scale/2)).Div(worth, big.NewInt(decimal.Scale))
		lines = append(lines, fmt.Sprintf("%s %s %s %s", at[0], at[1], decimal.Dec(quantity), decimal.Dec(worth.Int64())))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// stockOfDay is the same as the books have it.
func (k *kit) stockOfDay(date string) string {
	k.Helper()
	day, err := costs.NewBooks(k.s).ReadDay(context.Background(), k.as, date)
	if err != nil {
		k.Fatal(err)
	}
	var lines []string
	for _, s := range day.Stock {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", s.OwnerCode, s.SiteCode, s.Quantity, s.Value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// What a day's stock was worth is what its movements come to, whoever's it is and wherever it
// lies, on each day that the tenant's calendar has; and no cost that an item gets later
// changes any of it.
func TestValueOfAnyDay(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		k.set("tenants", north, store.Row{"timezone": zone.String()})
		k.giveMethod("moving_average")
		client := k.add("goods_owners", store.Row{"code": "CL", "name": "Client"})
		k.set("items", f.bolt, store.Row{"owner_id": client})
		place := map[string]string{}
		for _, code := range []string{"EAST", "WEST"} {
			site := k.add("sites", store.Row{"code": code, "name": code})
			place[code] = k.add("zones", store.Row{"code": "Z-" + code, "name": code, "site_id": site})
		}
		began := k.now.In(zone)
		rnd := rand.New(rand.NewPCG(33, 12))
		var slips []slip
		held := map[[2]string]int64{}
		for range 90 {
			k.now = k.now.Add(time.Duration(1+rnd.IntN(9)) * time.Hour)
			s := slip{at: k.now, owner: []string{"", "CL"}[rnd.IntN(2)], quantity: 1 + rnd.Int64N(70000), cost: rnd.Int64N(3_000_000)}
			here := []string{"EAST", "WEST"}[rnd.IntN(2)]
			m := store.Row{"item_id": f.bolt, "quantity": decimal.Dec(s.quantity)}
			if s.owner != "" {
				m["owner_id"] = client
			}
			switch kind := rnd.IntN(4); {
			case kind == 0 || held[[2]string{s.owner, here}] < s.quantity:
				m["type"], m["to_zone_id"], m["unit_cost"], s.to = "receipt", place[here], decimal.Dec(s.cost), here
				if rnd.IntN(3) == 0 { // found out later
					s.at = k.now.Add(-time.Duration(rnd.IntN(70)) * time.Hour)
					m["occurred_at"] = s.at.Format("2006-01-02T15:04:05.000000Z")
				}
			case kind == 1:
				s.from, s.to = here, map[string]string{"EAST": "WEST", "WEST": "EAST"}[here]
				m["type"], m["from_zone_id"], m["to_zone_id"] = "transfer", place[here], place[s.to]
			default:
				s.from = here
				m["type"], m["from_zone_id"] = "ship", place[here]
			}
			if rnd.IntN(4) == 0 {
				k.set("items", f.bolt, store.Row{"unit_cost": decimal.Dec(rnd.Int64N(90000))})
			}
			k.add("stock_movements", m)
			slips = append(slips, s)
			held[[2]string{s.owner, s.from}] -= s.quantity
			held[[2]string{s.owner, s.to}] += s.quantity
		}
		first := time.Date(began.Year(), began.Month(), began.Day()-4, 0, 0, 0, 0, zone)
		told := map[string]string{}
		for day := first; day.Before(k.now); day = day.AddDate(0, 0, 1) {
			date := day.Format(time.DateOnly)
			told[date] = k.stockOfDay(date)
			if want := stockOf(slips, day.AddDate(0, 0, 1)); told[date] != want {
				t.Fatalf("at the end of %s there is\n%s\nwant\n%s", date, told[date], want)
			}
		}
		if told[first.Format(time.DateOnly)] != "" || len(told) < 15 {
			t.Errorf("%d days, before the first movement %q", len(told), told[first.Format(time.DateOnly)])
		}
		k.set("items", f.bolt, store.Row{"unit_cost": "77"})
		for date, was := range told {
			if got := k.stockOfDay(date); got != was {
				t.Errorf("another cost of the item makes of %s\n%s\nit was\n%s", date, got, was)
			}
		}
		k.agree()
	})
}
