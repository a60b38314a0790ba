package warehouse

import (
	"sort"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/counting"
	"holdfast/internal/warehouse/kits"
)

// expectCounts notes beside what was counted what the books said. The items are
// locked first, as every movement does, so that nothing moves between the look
// and the booking; one place is counted once at a time. Less than what is promised is
// found where it is found: promises of the rest are given back.
func (w Watch) expectCounts(tx *store.Tx, changes []store.Change) error {
	l := ledger{levels: map[string]*level{}}
	var counts []record.StockCount
	for i, c := range record.Changes[record.StockCount](changes) {
		n := c.After
		for _, f := range [...]string{"serial", "lpn"} {
			if n[f] == "" {
				n[f] = nil
			}
		}
		at := spotOf(store.Row(n))
		if l.levels[at.stockKey()] != nil {
			return nameRow(fault.New(fault.Invalid, CodeMovement, "one place is counted twice").At("counted",
				"the same stock is counted above already"), i, len(changes))
		}
		if err := l.bookAt(at, 0, nil); err != nil {
			return err
		}
		l.items.addID(at.item)
		counts = append(counts, n)
	}
	places := placesOf(counts)
	held, err := counting.LockPromised(tx, places, MovementKeys)
	if err != nil {
		return err
	}
	if _, err := (work{tx, w}).yieldPromises(places, held); err != nil {
		return err
	}
	sort.Strings(l.items.list)
	lockItems(tx.Tx, tx.TenantID, jsonList(l.items.list))
	counted := kits.QueueKits(tx.Tx, tx.TenantID, l.items.list)
	l.queueLevels(tx.Tx, tx.TenantID)
	moved, err := counting.SumMoved(tx, places, MovementKeys)
	if err != nil {
		return err
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	var said []spoken
	for i, c := range record.Changes[record.StockCount](changes) {
		n := c.After
		if counted[n.ItemID()] != "" {
			return nameRow(fault.As(kits.RefuseStock(tx.Tx, tx.TenantID, n.ItemID())), i, len(changes))
		}
		key := places[i].Key
		if err := counting.ReckonCount(n, l.levels[key].quantity, moved[key]); err != nil {
			return nameRow(fault.As(err), i, len(changes))
		}
		n.SetExact(n.VarianceOrNull() == decimal.Dec(0))
		if !n.HasCountedAt() {
			n.SetCountedAt(query.FormatTime(tx.Now()))
		}
		said = append(said, spoken{item: n.ItemID(), member: "counted", quantity: n.Counted(),
			all: n.Expected(), row: i})
	}
	return fineRows(tx.Tx, tx.TenantID, said, len(changes))
}

func spotOf(n store.Row) spot {
	return spot{n.Text("zone_id"), n.Text("item_id"), n.Text("lot_id"), n.Text("serial"), n.Text("owner_id"),
		n.Text("lpn"), n.Text("stock_status")}
}

// bookCounts makes the books agree with what was counted: a movement for each
// variance, a date for each level that was right.
func bookCounts(tx *store.Tx, changes []store.Change) error {
	var moves []record.StockMovement
	var at []int // the count of each
	var right []string
	for i, c := range record.Changes[record.StockCount](changes) {
		if m := counting.MovementOf(c.After); m != nil {
			moves, at = append(moves, record.StockMovement(m)), append(at, i)
		} else {
			right = append(right, spotOf(store.Row(c.After)).stockKey())
		}
	}
	if len(right) > 0 {
		tx.Queue(`
			UPDATE stock_levels
			SET last_counted_at = $3
			WHERE tenant_id = $1
				AND stock_key IN {texts $2}`,
			[]any{tx.TenantID, jsonList(right), query.FormatTime(tx.Now())}, nil)
	}
	if len(moves) == 0 {
		return nil
	}
	_, err := record.Insert(tx, moves)
	if fault.HasCode(err, CodeStock) || fault.HasCode(err, CodeMovement) || fault.HasCode(err, CodeApproval) {
		return counting.NameRow(counting.HideBooks(fault.As(err)), at, len(changes))
	}
	return err
}

// placesOf are the places of counts.
func placesOf(counts []record.StockCount) []counting.Place {
	places := make([]counting.Place, len(counts))
	for i, n := range counts {
		at := spotOf(store.Row(n))
		places[i] = counting.Place{Key: at.stockKey(), ItemID: at.item, Found: n.Counted(), LookedAt: n.CountedAt()}
	}
	return places
}

// yieldPromises gives back promises of what counts have not found.
func (k work) yieldPromises(places []counting.Place, held counting.Held) ([]record.Reservation, error) {
	settle := func(lines []string) error { return k.updateOrderLines(lines, nil) }
	return counting.YieldPromises(k.Tx, places, held, MovementKeys,
		counting.Pledges{Cut: k.cutReservation, Release: k.releaseReservations, Settle: settle})
}
