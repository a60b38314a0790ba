package counting

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
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
func ListExpected(tx *store.Tx, levels []record.StockLevel) ([]Expected, error) {
	units, err := handling.ReadUnits(tx, record.Texts(levels, record.StockLevel.ItemID))
	if err != nil {
		return nil, err
	}
	list := make([]Expected, len(levels))
	for i, l := range levels {
		item, quantity := l.ItemID(), l.Quantity()
		list[i] = Expected{item, optionalText(l, "lot_id"), optionalText(l, "serial"),
			optionalText(l, "lpn"), optionalText(l, "owner_id"), l.StockStatus(), quantity,
			units.SplitQuantity(item, quantity)}
	}
	return list, nil
}

func optionalText(r record.StockLevel, name string) *string {
	if s, ok := r[name].(string); ok {
		return &s
	}
	return nil
}

// keyFields are the fields of a stock key that may be null.
var keyFields = [...]string{"lot_id", "serial", "owner_id", "lpn"}

// ListCounts lists the counts of the lines of a task.
func ListCounts(task record.CountTask, lines []record.CountLine) (counts []store.Row) {
	for _, line := range lines {
		count := store.Row{"zone_id": task.ZoneID(), "item_id": line.ItemIDOrNull(),
			"stock_status": line.StockStatusOrNull(),
			"counted":      line.CountedOrNull(), "counted_at": task.CountedAtOrNull()}
		for _, field := range append(keyFields[:], "reason_code") {
			if store.Row(line).Text(field) != "" {
				count[field] = line[field]
			}
		}
		counts = append(counts, count)
	}
	return counts
}

// MissedRow is the line of stock that nobody named: it was not found.
func MissedRow(task record.CountTask, level record.StockLevel) record.CountLine {
	row := record.CountLine{"count_task_id": task.ID(), "item_id": level.ItemID(), "stock_status": level.StockStatus(),
		"counted": decimal.Dec(0), "expected": level.Quantity()}
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
func ReadMovements(tx *store.Tx, counts []record.StockCount) ([]record.StockMovement, error) {
	moves, err := record.List[record.StockMovement](tx, bookingsSQL, query.List(record.IDs(counts)),
		query.List(record.Texts(counts, record.StockCount.ItemID)))
	store.SortByID(record.Rows(moves))
	return moves, err
}

// OpenTask opens a count task, unless one is open for the zone and item.
func OpenTask(tx *store.Tx, row record.CountTask) (record.CountTask, error) {
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
	made, err := record.Insert(tx, []record.CountTask{row})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}
