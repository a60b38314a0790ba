package counting

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/handling"
)

// Expected is what the books say of one stock key.
type Expected struct {
	ItemID      string      `json:"item_id"`
	LotID       *string     `json:"lot_id"`
	Serial      *string     `json:"serial"`
	LPN         *string     `json:"lpn"`
	OwnerID     *string     `json:"owner_id"`
	StockStatus string      `json:"stock_status"`
	Quantity    decimal.Dec `json:"quantity"`

	Handling []handling.Part `json:"handling" doc:"The quantity by units, the largest first."`
}

// ListExpected lists what the books say of stock levels.
func ListExpected(tx *store.Tx, levels []store.Row) ([]Expected, error) {
	units, err := handling.ReadUnits(tx, store.TextColumn(levels, "item_id"))
	if err != nil {
		return nil, err
	}
	list := make([]Expected, len(levels))
	for i, l := range levels {
		item, quantity := l.Text("item_id"), l.Decimal("quantity")
		list[i] = Expected{item, optionalText(l, "lot_id"), optionalText(l, "serial"),
			optionalText(l, "lpn"), optionalText(l, "owner_id"), l.Text("stock_status"), quantity,
			units.SplitQuantity(item, quantity)}
	}
	return list, nil
}

func optionalText(r store.Row, name string) *string {
	if s, ok := r[name].(string); ok {
		return &s
	}
	return nil
}

// keyFields are the fields of a stock key that may be null.
var keyFields = [...]string{"lot_id", "serial", "owner_id", "lpn"}

// ListCounts lists the counts of the lines of a task.
func ListCounts(task store.Row, lines []store.Row) (counts []store.Row) {
	for _, line := range lines {
		count := store.Row{"zone_id": task["zone_id"], "item_id": line["item_id"], "stock_status": line["stock_status"],
			"counted": line["counted"], "counted_at": task["counted_at"]}
		for _, field := range append(keyFields[:], "reason_code") {
			if line.Text(field) != "" {
				count[field] = line[field]
			}
		}
		counts = append(counts, count)
	}
	return counts
}

// MissedRow is the line of stock that nobody named: it was not found.
func MissedRow(task, level store.Row) store.Row {
	row := store.Row{"count_task_id": task["id"], "item_id": level["item_id"], "stock_status": level["stock_status"],
		"counted": decimal.Dec(0), "expected": level["quantity"]}
	for _, field := range keyFields {
		if level[field] != nil {
			row[field] = level[field]
		}
	}
	return row
}

// bookingsSQL takes the movements of items $3 that book counts $2. No index names what a movement
// is of, so that its item leads to it.
const bookingsSQL = `
	item_id IN {ids $3}
		AND ref_type = 'stock_counts'
		AND ref_id IN {ids $2}`

// ReadMovements reads the movements that book counts, in the order in which they were booked.
func ReadMovements(tx *store.Tx, counts []store.Row) ([]store.Row, error) {
	moves, err := tx.Rows("stock_movements", bookingsSQL, query.List(store.TextColumn(counts, "id")),
		query.List(store.TextColumn(counts, "item_id")))
	store.SortByID(moves)
	return moves, err
}

// OpenTask opens a count task, unless one is open for the zone and item.
func OpenTask(tx *store.Tx, row store.Row) (store.Row, error) {
	const text = `
		SELECT count_no
		FROM count_tasks
		WHERE tenant_id = $1
			AND open_key = $2`
	err := tx.Query(text, []any{tx.TenantID, KeyOf(row)},
		func(r *db.Row) error {
			return fault.New(fault.Conflict, "HF004", "count %s is open for that place already", r.Text(0)).At("zone_id",
				"is being counted")
		})
	if err != nil {
		return nil, err
	}
	made, err := tx.InsertRows("count_tasks", []store.Row{row})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}
