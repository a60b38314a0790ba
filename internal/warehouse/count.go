package warehouse

import (
	"sort"
	"strconv"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// expectCounts notes beside what was counted what the books said. The items are
// locked first, as every movement does, so that nothing moves between the look
// and the booking; one place is counted once at a time.
func expectCounts(tx *store.Tx, changes []store.Change) error {
	l := ledger{levels: map[string]*level{}}
	for i, c := range changes {
		n := c.After
		for _, f := range [...]string{"serial", "lpn"} {
			if n[f] == "" {
				n[f] = nil
			}
		}
		at := spotOf(n)
		if l.levels[at.stockKey()] != nil {
			return nameRow(fault.New(fault.Invalid, CodeMovement, "one place is counted twice").At("counted",
				"the same stock is counted above already"), i, len(changes))
		}
		if err := l.bookAt(at, 0, nil); err != nil {
			return err
		}
		l.items.addID(at.item)
	}
	sort.Strings(l.items.list)
	lockItems(tx.Tx, tx.TenantID, jsonList(l.items.list))
	l.queueLevels(tx.Tx, tx.TenantID)
	if err := tx.Flush(); err != nil {
		return err
	}
	var said []spoken
	for i, c := range changes {
		n := c.After
		n["expected"] = l.levels[spotOf(n).stockKey()].quantity
		n["variance"] = n.Decimal("counted") - n.Decimal("expected")
		n["exact"] = n["variance"] == decimal.Dec(0)
		n["counted_at"] = query.FormatTime(tx.Now())
		said = append(said, spoken{item: n.Text("item_id"), member: "counted", quantity: n.Decimal("counted"),
			all: n.Decimal("expected"), row: i})
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
	var moves []store.Row
	var at []int // the count of each
	var right []string
	for i, c := range changes {
		if m := countMove(c.After); m != nil {
			moves, at = append(moves, m), append(at, i)
		} else {
			right = append(right, spotOf(c.After).stockKey())
		}
	}
	if len(right) > 0 {
		tx.Queue("UPDATE stock_levels SET last_counted_at = $3 WHERE tenant_id = $1 AND "+tx.DB().InText("stock_key", 2),
			[]any{tx.TenantID, jsonList(right), query.FormatTime(tx.Now())}, nil)
	}
	if len(moves) == 0 {
		return nil
	}
	_, err := tx.InsertRows("stock_movements", moves)
	if fault.HasCode(err, CodeStock) || fault.HasCode(err, CodeMovement) || fault.HasCode(err, CodeApproval) {
		return atCount(fault.As(err), at, len(changes))
	}
	return err
}

// atCount makes the row of a movement that was refused that of its count.
func atCount(err *fault.Error, at []int, n int) error {
	if len(at) == 1 {
		return nameRow(err, at[0], n)
	}
	i, bad := strconv.Atoi(strings.TrimPrefix(err.Details, "row "))
	if bad != nil || i < 1 || i > len(at) {
		return err
	}
	return nameRow(err, at[i-1], n)
}

// countMove is the movement that books a count, nil when it was right.
func countMove(n store.Row) store.Row {
	diff := n.Decimal("variance")
	m := store.Row{"item_id": n["item_id"], "quantity": max(diff, -diff), "from_status": n["stock_status"],
		"to_status": n["stock_status"], "ref_type": "stock_counts", "ref_id": n["id"]}
	for _, f := range [...]string{"lot_id", "serial", "owner_id", "lpn", "reason_code", "worker_id", "approved_by"} {
		if n[f] != nil {
			m[f] = n[f]
		}
	}
	switch {
	case diff > 0:
		m["type"], m["to_zone_id"] = "count_gain", n["zone_id"]
	case diff < 0:
		m["type"], m["from_zone_id"] = "count_loss", n["zone_id"]
	default:
		return nil
	}
	return m
}
