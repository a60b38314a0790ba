package apply

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/match"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// counted is a stock level as it is before a count is booked.
type counted struct {
	there    bool
	quantity decimal.Dec
}

// bookCounts books what a file says is there: nothing writes stock levels, so the
// difference to each becomes a movement, an opening where no stock was known.
func (ap *application) bookCounts(rows []store.Row, lines []int) error {
	if err := ap.makeLots(rows, lines); err != nil {
		return err
	}
	levels, err := ap.lockLevels(rows)
	if err != nil {
		return err
	}
	// What leaves a place is booked first: undone in the other order, it is never
	// in two places at a time.
	out, err := ap.vacatingMoves(rows, lines)
	if err != nil {
		return err
	}
	in := &moves{}
	booked := make([]store.Change, len(rows)) // by movements, of places
	for i, row := range rows {
		was := levels[match.Key(ap.target.Resource, row)]
		may := ap.mayMake
		if was.there {
			may = ap.mayChange
		}
		if err := may(lines[i]); err != nil {
			return err
		}
		m := recount{row, was}.countMovement()
		booked[i] = store.Change{Before: store.Row{}, After: m}
		switch {
		case m == nil:
			ap.sum.same++
			continue
		case was.there:
			ap.sum.again++
		default:
			ap.sum.fresh++
			booked[i].Before = nil
		}
		if m["from_zone_id"] != nil {
			out.addMove(m, lines[i])
		} else {
			in.addMove(m, lines[i])
		}
	}
	rows, lines = append(out.rows, in.rows...), append(out.lines, in.lines...)
	for _, m := range rows {
		m["import_job_id"] = ap.step.Job.ID
	}
	_, err = ap.Insert(rows, lines)
	ap.noteOutcomes(booked)
	return err
}

// moves are movements with the file's lines that they are of.
type moves struct {
	rows  []store.Row
	lines []int
}

func (m *moves) addMove(row store.Row, line int) {
	m.rows, m.lines = append(m.rows, row), append(m.lines, line)
}

// recount is a counted row beside the level it was counted at.
type recount struct {
	row store.Row
	was counted
}

// countMovement is what makes the level the count, nil when it is.
func (d recount) countMovement() store.Row {
	diff := match.Dec(d.row, "quantity") - d.was.quantity
	m := store.Row{"item_id": d.row["item_id"], "quantity": max(diff, -diff)}
	for _, f := range []string{"lot_id", "serial", "lpn"} {
		if d.row[f] != nil {
			m[f] = d.row[f]
		}
	}
	way := "to_"
	switch {
	case diff == 0:
		return nil
	case diff < 0:
		way, m["type"] = "from_", "count_loss"
	case d.was.there:
		m["type"] = "count_gain"
	default:
		m["type"] = "opening"
	}
	m[way+"zone_id"] = d.row["zone_id"]
	if s := d.row["stock_status"]; s != nil {
		m["from_status"], m["to_status"] = s, s
	}
	return m
}

const lockItemsSQL = `
	SELECT id FROM items WHERE tenant_id = $1 AND id IN {ids $2} ORDER BY id {for update}`

// lockLevels reads the stock levels that rows name. The items are locked first:
// that keeps every movement of them away until the count is booked.
func (ap *application) lockLevels(rows []store.Row) (map[string]counted, error) {
	items := match.Parts(ap.target.Column("item_id").Field, rows)
	if lock := ap.Tx.DB().ForUpdate(); lock != "" {
		ap.Tx.Queue(lockItemsSQL, []any{ap.Actor.TenantID, query.List(items)}, func(*db.Row) error { return nil })
	}
	out := map[string]counted{}
	err := match.Look(ap.Tx, ap.Actor.TenantID, ap.target.Resource, rows, []string{"quantity"},
		func(key string, r *db.Row) {
			out[key] = counted{true, r.Dec(0)}
		})
	if err != nil {
		return nil, fmt.Errorf("imports: read stock levels: %w", err)
	}
	return out, nil
}
