// Package history keeps what lay at a place from ever having been below zero: a movement
// that is said to have happened earlier may take only what was there from then on.
//
// Layer: domains. Begin at [CheckBalances].
package history

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Keys returns the stock keys of where a movement's goods come from and go to, "" for
// outside the warehouse.
type Keys func(movement store.Row) (from, to string)

// step is a change of what lies at a place.
type step struct {
	at     string // occurred_at
	by     decimal.Dec
	change int // the place of the movement among the changes, -1 for an earlier one
}

// CheckBalances refuses movements dated back by which a place would have held less than
// nothing at some time since. The movements are inserted already, and their items locked.
// Movements of now cost nothing: what lies there now is checked with the stock levels.
func CheckBalances(tx *store.Tx, changes []store.Change, keys Keys) error {
	now := query.FormatTime(tx.Now())
	since := now
	added := map[string]int{}
	watched := map[string][]step{}
	var items []string
	for i, c := range changes {
		if c.Op != store.Insert || c.After.Text("occurred_at") >= now {
			continue
		}
		from, _ := keys(c.After)
		added[c.After.Text("id")] = i
		if from == "" {
			continue
		}
		since = min(since, c.After.Text("occurred_at"))
		watched[from] = nil
		items = append(items, c.After.Text("item_id"))
	}
	if len(watched) == 0 {
		return nil
	}

	moves, err := tx.Rows("stock_movements", "item_id IN {ids $2} AND occurred_at >= $3", query.List(items), since)
	if err != nil {
		return fmt.Errorf("history: movements since %s: %w", since, err)
	}
	for _, m := range moves {
		change, isNew := added[m.Text("id")]
		if !isNew {
			change = -1
		}
		from, to := keys(m)
		for key, by := range map[string]decimal.Dec{from: -m.Decimal("quantity"), to: m.Decimal("quantity")} {
			if steps, isWatched := watched[key]; isWatched {
				watched[key] = append(steps, step{m.Text("occurred_at"), by, change})
			}
		}
	}
	return checkPlaces(tx, changes, watched)
}

// checkPlaces walks back from what lies at each place now.
func checkPlaces(tx *store.Tx, changes []store.Change, watched map[string][]step) error {
	var names []string
	for key := range watched {
		names = append(names, key)
	}
	levels, err := tx.Rows("stock_levels", tx.DB().InText("stock_key", 2), query.List(names))
	if err != nil {
		return fmt.Errorf("history: stock levels: %w", err)
	}
	left := map[string]decimal.Dec{}
	for _, l := range levels {
		left[l.Text("stock_key")] = l.Decimal("quantity")
	}
	slices.Sort(names)
	for _, key := range names {
		if at, i := findShortage(left[key], watched[key]); i >= 0 {
			return refuse(changes, i, at)
		}
	}
	return nil
}

// findShortage returns when a place would have held less than nothing, and the movement
// of the call that takes it there; -1 when it never does, or did so before.
func findShortage(left decimal.Dec, steps []step) (string, int) {
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(b.at, a.at) })
	for i := 0; i < len(steps); {
		at := steps[i].at
		if left < 0 {
			own, culprit := decimal.Dec(0), -1
			for j := i; j < len(steps); j++ {
				if steps[j].change < 0 {
					continue
				}
				if own += steps[j].by; culprit < 0 && steps[j].by < 0 {
					culprit = steps[j].change
				}
			}
			if own < 0 && culprit >= 0 {
				return at, culprit
			}
		}
		for ; i < len(steps) && steps[i].at == at; i++ {
			left -= steps[i].by
		}
	}
	return "", -1
}

func refuse(changes []store.Change, i int, at string) error {
	err := fault.New(fault.Conflict, "HF002", "the goods were not there then: from %s on less would have been there than nothing", at).
		With("", "date it later, or book what came in before it first").
		At("occurred_at", "is before the goods came")
	if len(changes) > 1 {
		err.Details = fmt.Sprintf("row %d", i+1)
	}
	return err
}
