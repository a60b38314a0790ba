package check

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/imports/draft"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// bookedSQL selects the movements among some ids. $1 tenant, $2 ids.
const bookedSQL = `
	SELECT id
	FROM stock_movements
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// refuseBooked refuses rows of an export of movements that are booked already: nothing
// else tells a movement from another of the same goods.
func (st *stager) refuseBooked(ctx context.Context, batch []*draft.Draft) error {
	byID := map[string][]*draft.Draft{}
	var ids []string
	for _, d := range batch {
		if id, err := uuid.Parse(d.Exported); err == nil && !st.v.Settings.Force {
			byID[id.String()] = append(byID[id.String()], d)
			ids = append(ids, id.String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		return tx.Query(bookedSQL, []any{st.step.Actor.TenantID, query.List(ids)}, func(r *db.Row) error {
			for _, d := range byID[r.Text(0)] {
				d.Fail(st.v.ExportedHeader(), "booked", "the movement of this id is booked already: "+
					"a file that was exported would book it a second time (force books it all the same)")
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("imports: look up exported movements: %w", err)
	}
	return nil
}
