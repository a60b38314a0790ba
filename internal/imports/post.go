package imports

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// postRows is how many movements are posted at once. Every posting rewrites the
// zones and items it touches, and PostgreSQL, which cannot tidy up after a
// running transaction, walks over each such version at the next one.
const postRows = 10_000

// move posts stock movements; lots they name and nobody made yet are made
// first.
func (ap *application) move(rows []store.Row, lines []int) error {
	if err := ap.makeLots(rows, lines); err != nil {
		return err
	}
	for _, row := range rows {
		delete(row, targets.LotNumber)
		delete(row, targets.LotExpiry)
		row["import_job_id"] = ap.step.Job.ID
	}
	ids, err := ap.insert(rows, lines)
	ap.sum.fresh += int64(len(ids))
	ap.became(inserts(rows))
	return err
}

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
		ap.lots = ap.m.writer(ap.tx, ap.step.Actor, r)
	}
	ids := map[lotKey]string{}
	err := ap.tx.Query("SELECT id, item_id, lot_no FROM lots WHERE tenant_id = $1 AND "+ap.tx.DB().InUUID("item_id", 2)+" AND "+ap.tx.DB().InText("lot_no", 3),
		[]any{ap.actor.TenantID, query.List(items), query.List(numbers)}, func(r *db.Row) error {
			ids[lotKey{r.Text(1), r.Text(2)}] = r.Text(0)
			return nil
		})
	if err != nil {
		return fmt.Errorf("imports: look up lots: %w", err)
	}
	var fresh []store.Row
	var keys []lotKey
	for i, row := range want {
		k := lotKey{items[i], numbers[i]}
		if _, ok := ids[k]; ok {
			continue
		}
		ids[k] = ""
		keys = append(keys, k)
		fresh = append(fresh, store.Row{"item_id": k.item, "lot_no": k.no, "expires_on": row[targets.LotExpiry]})
	}
	made, err := ap.lots.insert(fresh, nil)
	if err != nil {
		return err
	}
	for i, id := range made {
		ids[keys[i]] = id
	}
	for i, row := range want {
		row["lot_id"] = ids[lotKey{items[i], numbers[i]}]
	}
	return nil
}
