package counting

import (
	"strconv"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// MovementOf is the movement that books a count, nil when the count was right.
func MovementOf(n store.Row) store.Row {
	diff := n.Decimal("variance")
	if diff == 0 {
		return nil
	}
	m := store.Row{"item_id": n["item_id"], "quantity": max(diff, -diff), "from_status": n["stock_status"],
		"to_status": n["stock_status"], "ref_type": "stock_counts", "ref_id": n["id"]}
	for _, f := range [...]string{"lot_id", "serial", "owner_id", "lpn", "reason_code", "worker_id", "approved_by"} {
		if n[f] != nil {
			m[f] = n[f]
		}
	}
	m["type"], m["to_zone_id"] = "count_gain", n["zone_id"]
	if diff < 0 {
		m["type"], m["from_zone_id"], m["to_zone_id"] = "count_loss", n["zone_id"], nil
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
