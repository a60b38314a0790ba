package apply

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// postMovements posts stock movements; lots they name and nobody made yet are made
// first.
func (ap *application) postMovements(rows []store.Row, lines []int) error {
	if err := ap.makeLots(rows, lines); err != nil {
		return err
	}
	for _, row := range rows {
		delete(row, targets.LotNumber)
		delete(row, targets.LotExpiry)
		row["import_job_id"] = ap.step.Job.ID
	}
	ids, err := ap.Insert(rows, lines)
	ap.sum.fresh += int64(len(ids))
	ap.noteOutcomes(insertChanges(rows))
	return err
}

const findLotsSQL = `
	SELECT id, item_id, lot_no
	FROM lots
	WHERE tenant_id = $1 AND item_id IN {ids $2} AND lot_no IN {texts $3}`

func (ap *application) makeLots(rows []store.Row, lines []int) error {
	var want []store.Row
	var items, numbers []string
	for _, row := range rows {
		if no, ok := row[targets.LotNumber].(string); ok {
			want = append(want, row)
			items, numbers = append(items, row["item_id"].(string)), append(numbers, no)
		}
	}
	if len(want) == 0 {
		return nil
	}
	if ap.lots == nil {
		r, _ := ap.m.cat.Get("lots")
		ap.lots = ap.m.records.Writer(ap.Tx, ap.step.Actor, r)
	}
	ids := map[match.LotKey]string{}
	err := ap.Tx.Query(findLotsSQL,
		[]any{ap.Actor.TenantID, query.List(items), query.List(numbers)}, func(r *db.Row) error {
			ids[match.LotKey{Item: r.Text(1), No: r.Text(2)}] = r.Text(0)
			return nil
		})
	if err != nil {
		return fmt.Errorf("imports: look up lots: %w", err)
	}
	var fresh []store.Row
	var keys []match.LotKey
	for i, row := range want {
		k := match.LotKey{Item: items[i], No: numbers[i]}
		if _, ok := ids[k]; ok {
			continue
		}
		ids[k] = ""
		keys = append(keys, k)
		fresh = append(fresh, store.Row{"item_id": k.Item, "lot_no": k.No, "expires_on": row[targets.LotExpiry]})
	}
	made, err := ap.lots.Insert(fresh, nil)
	if err != nil {
		return err
	}
	for i, id := range made {
		ids[keys[i]] = id
	}
	for i, row := range want {
		row["lot_id"] = ids[match.LotKey{Item: items[i], No: numbers[i]}]
	}
	return nil
}
