package counting

import (
	"strconv"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// MovementOf is the movement that books a count, nil when the count was right.
func MovementOf(n record.StockCount) store.Row {
	diff := n.Variance()
	if diff == 0 {
		return nil
	}
	m := store.Row{"item_id": n.ItemIDOrNull(), "quantity": max(diff, -diff), "from_status": n.StockStatusOrNull(),
		"to_status": n.StockStatusOrNull(), "ref_type": "stock_counts", "ref_id": n.IDOrNull()}
	for _, f := range [...]string{"lot_id", "serial", "owner_id", "lpn", "reason_code", "worker_id", "approved_by"} {
		if n[f] != nil {
			m[f] = n[f]
		}
	}
	m["type"] = "count_gain"
	m["to_zone_id"] = n.ZoneIDOrNull()
	if diff < 0 {
		m["type"] = "count_loss"
		m["from_zone_id"] = n.ZoneIDOrNull()
		m["to_zone_id"] = nil
	}
	return m
}

// NameRow makes the row of a movement that was refused that of its count. at are the
// places of the counts that the movements book, of n counts.
func NameRow(err *fault.Error, at []int, n int) error {
	row := 1
	if len(at) > 1 {
		var bad error
		row, bad = strconv.Atoi(strings.TrimPrefix(err.Details, "row "))
		if bad != nil || row < 1 || row > len(at) {
			return err
		}
	}
	if n > 1 {
		err.Details = "row " + decimal.FromInt(int64(at[row-1]+1)).String()
	}
	return err
}
