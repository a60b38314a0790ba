package apply

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// vacatingMoves are the losses by which units that are counted leave where the books
// have them. Where rows of this batch find nothing there, they say so
// themselves; others of the file come later, or came before.
func (ap *application) vacatingMoves(rows []store.Row, lines []int) (*moves, error) {
	r := ap.target.Resource
	var come []store.Row
	here := map[string]bool{}
	for _, row := range rows {
		if _, ok := match.UnitOf(row); !ok {
			continue
		}
		if match.Dec(row, "quantity") > 0 {
			come = append(come, row)
		} else {
			here[match.Key(r, row)] = true
		}
	}
	there, err := match.Stands(ap.Tx, ap.m.cat, ap.Actor.TenantID, come)
	if err != nil {
		return nil, err
	}
	out := &moves{}
	for i, row := range rows {
		u, ok := match.UnitOf(row)
		if !ok || match.Dec(row, "quantity") == 0 {
			continue
		}
		for _, s := range match.Elsewhere(there[u], match.Key(r, row)) {
			if here[s.Key] {
				continue
			}
			empty, err := ap.emptiedPlaces()
			if err != nil {
				return nil, err
			}
			if s.Key == "" || empty.Line(s.Key) == 0 {
				return nil, bulk.Stale(lines[i], fmt.Sprintf("by now the books have serial number %s in %s", u.Serial, s))
			}
			out.addMove(recount{row: s.Level, was: counted{true, decimal.One}}.countMovement(), lines[i])
		}
	}
	return out, nil
}

// emptiedPlaces are the places of units in which the whole file finds nothing. Few
// counts ask, and those once.
func (ap *application) emptiedPlaces() (*staged.Keys, error) {
	if ap.plan.Vacant != nil {
		return ap.plan.Vacant, nil
	}
	places := staged.NewKeys(0)
	err := ap.Tx.Query(`
		SELECT rows, data
		FROM import_chunks
		WHERE tenant_id = $1
			AND job_id = $2`,
		[]any{ap.Actor.TenantID, ap.step.Job.ID}, func(r *db.Row) error {
			list, err := staged.Decode(r.Bytes(1), len(ap.plan.Fields), int(r.Int(0)))
			for i := range list {
				match.Vacant(places, ap.target.Resource, ap.rowFields(list[i], 0), list[i].Line)
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("imports: look for places that were counted as empty: %w", err)
	}
	ap.plan.Vacant = places
	return places, nil
}
