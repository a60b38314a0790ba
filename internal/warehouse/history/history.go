// Package history keeps what lay at a place from ever having been below zero: a movement
// that is said to have happened earlier may take only what was there from then on.
//
// Layer: domains. Begin at [CheckBalances].
package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// ClockTolerance is how far the clocks of clients and servers may differ. A movement dated
// ahead by less is taken, and one dated back by less happens now.
const ClockTolerance = 5 * time.Minute

// Keys returns the stock keys of where a movement's goods come from and go to, "" for
// outside the warehouse.
type Keys func(movement record.StockMovement) (from, to string)

// movement is a movement of goods as far as its places are concerned.
type movement struct {
	id, itemID string
	at         string // occurred_at
	booked     string // created_at
	from, to   string // stock keys, "" for outside the warehouse
	quantity   decimal.Dec
}

func readMovement(row record.StockMovement, keys Keys) movement {
	from, to := keys(row)
	return movement{
		id: row.ID(), itemID: row.ItemID(),
		at: row.OccurredAt(), booked: row.CreatedAt(),
		from: from, to: to, quantity: row.Quantity(),
	}
}

// step is a change of what lies at a place.
type step struct {
	at     string // occurred_at, at the latest when the movement was booked
	by     decimal.Dec
	change int // the place of the movement among the changes, -1 for an earlier one
}

// CheckBalances refuses movements dated back by which a place would have held less than
// nothing at some time since. The movements are inserted already, and their items locked.
// Movements of now cost no statement: what lies there now is checked with the stock levels.
func CheckBalances(tx *store.Tx, changes []store.Change, keys Keys) error {
	recent := query.FormatTime(tx.Now().Add(-ClockTolerance))
	since := recent
	added := map[string]int{}
	watched := map[string][]step{}
	var items []string
	for i, c := range record.Changes[record.StockMovement](changes) {
		if c.Op != store.Insert || c.After.HasReversalOf() && !tx.Store.Audited() {
			continue // bulk work dates what undoes its own where the past allows it
		}
		m := readMovement(c.After, keys)
		if m.at >= recent {
			continue
		}
		added[m.id] = i
		if m.from == "" {
			continue
		}
		since = min(since, m.at)
		watched[m.from] = nil
		items = append(items, m.itemID)
	}
	if len(watched) == 0 {
		return nil
	}

	rows, err := record.List[record.StockMovement](tx, "item_id IN {ids $2} AND occurred_at >= $3", query.List(items),
		since)
	if err != nil {
		return fmt.Errorf("history: movements since %s: %w", since, err)
	}
	for _, row := range rows {
		m := readMovement(row, keys)
		change, isNew := added[m.id]
		if !isNew {
			change = -1
		}
		for key, by := range map[string]decimal.Dec{m.from: -m.quantity, m.to: m.quantity} {
			if steps, isWatched := watched[key]; isWatched {
				watched[key] = append(steps, step{min(m.at, m.booked), by, change})
			}
		}
	}
	return checkPlaces(tx, changes, watched)
}

// levelsSQL reads what lies at some places. $1 tenant, $2 stock keys.
const levelsSQL = `
	SELECT stock_key, quantity
	FROM stock_levels
	WHERE tenant_id = $1
		AND {keys}`

// checkPlaces walks back from what lies at each place now.
func checkPlaces(tx *store.Tx, changes []store.Change, watched map[string][]step) error {
	names := slices.Sorted(maps.Keys(watched))
	left := map[string]decimal.Dec{}
	text := strings.ReplaceAll(levelsSQL, "{keys}", tx.DB().InText("stock_key", 2))
	err := tx.Query(text, []any{tx.TenantID, query.List(names)}, func(r *db.Row) error {
		left[r.Text(0)] = r.Dec(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("history: stock levels: %w", err)
	}
	for _, key := range names {
		if at, i := findShortage(left[key], watched[key]); i >= 0 {
			return refuseShortage(changes, i, at)
		}
	}
	return nil
}

// findShortage returns when a place would have held less than nothing, and the movement
// of the call that took part in that; -1 when it never does, or without the call's doing.
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

// refuseShortage refuses a movement after which less than nothing would have lain there.
func refuseShortage(changes []store.Change, i int, at string) error {
	err := fault.New(fault.Conflict, "HF002",
		"the goods were not there then: from %s on the place would have held less than nothing", at).
		With("", "date it later, or book what came in before it first").
		At("occurred_at", "is before the goods came")
	if len(changes) > 1 {
		err.Details = fmt.Sprintf("row %d", i+1)
	}
	return err
}
