package check

import (
	"context"
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Values is a field before and after.
type Values struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// Difference is what applying one row would do. Action is insert, update or
// unchanged; ID names the record there is; Fields are those that would change.
type Difference struct {
	Line   int               `json:"line"`
	Action string            `json:"action"`
	ID     string            `json:"id,omitempty"`
	Label  string            `json:"label,omitempty"`
	Fields map[string]Values `json:"fields"`
}

// comparison tells what rows would do to the records there are.
type comparison struct {
	store  *store.Store
	tx     *db.Tx
	actor  actor.Actor
	target *targets.Target
	lined  bool
	soft   []string // fields that a record there is does not take
}

// Differences are what applying rows by a plan would do.
func (m *Checker) Differences(
	tx *db.Tx, a actor.Actor, t *targets.Target, p *plan.Plan, rows []store.Row, lines []int,
) ([]Difference, error) {
	return comparison{m.store, tx, a, t, p.Lined, p.Soft}.compareRows(rows, lines)
}

func (c comparison) compareRows(rows []store.Row, lines []int) ([]Difference, error) {
	heads := make([]store.Row, len(rows))
	for i, row := range rows {
		heads[i] = c.target.Part(row, false)
	}
	old, err := c.readExisting(c.target.Resource, heads)
	if err != nil {
		return nil, err
	}
	var details map[string]store.Row
	parts := make([]store.Row, len(rows))
	if c.lined {
		for i, row := range rows {
			parts[i] = c.target.Part(row, true)
			if head := old[match.Key(c.target.Resource, heads[i])]; head != nil {
				parts[i][c.target.Parent] = head["id"]
			}
		}
		if details, err = c.readExisting(c.target.Lines, parts); err != nil {
			return nil, err
		}
	}
	out := make([]Difference, len(rows))
	for i, row := range rows {
		was := old[match.Key(c.target.Resource, heads[i])]
		if c.lined && was != nil {
			was = mergeLine(was, details[match.Key(c.target.Lines, parts[i])])
		}
		out[i] = c.differenceOf(was, row)
		out[i].Line = lines[i]
	}
	return out, nil
}

// mergeLine is a record together with its line, nil without one: its fields first.
func mergeLine(head, line store.Row) store.Row {
	if line == nil {
		return nil
	}
	out := maps.Clone(line)
	maps.Copy(out, head)
	return out
}

// readExisting reads the records of a resource that have the keys of rows.
func (c comparison) readExisting(r *catalog.Resource, rows []store.Row) (map[string]store.Row, error) {
	old := map[string]store.Row{}
	if len(r.Import.Key) == 0 {
		return old, nil
	}
	var ids []string
	err := match.Look(c.tx, c.actor.TenantID, r, rows, []string{"id"}, func(_ string, row *db.Row) {
		ids = append(ids, row.Text(0))
	})
	if err != nil || len(ids) == 0 {
		return old, err
	}
	kept, err := c.store.In(c.tx, c.actor).KeptFrom(r, ids) // what they hold is told to their readers alone
	if err != nil {
		return old, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(kept, id) })
	found, err := c.store.In(c.tx, jobs.Server(c.actor)).Rows(r.Name, "id IN {ids $2}", query.List(ids))
	for _, row := range found {
		old[match.Key(r, row)] = row
	}
	return old, err
}

func (c comparison) differenceOf(old, row store.Row) Difference {
	d := Difference{Action: "insert", Label: match.Label(row), Fields: map[string]Values{}}
	if old != nil {
		d.Action, d.Label = "unchanged", match.Label(old)
		d.ID, _ = old["id"].(string)
	}
	for name, after := range row {
		if c.target.Hides(name, c.actor.Role) {
			continue
		}
		col := c.target.Column(name)
		if old == nil || col == nil {
			d.Fields[name] = Values{After: after}
			continue
		}
		fixed := col.Field.Fixed || col.Field.ReadOnly && c.target.Posts == nil || slices.Contains(c.soft, name)
		if !fixed && !store.Same(old[name], after) {
			d.Action = "update"
			d.Fields[name] = Values{Before: old[name], After: after}
		}
	}
	return d
}

// countDryRun counts what a dry run's rows would do.
func (st *stager) countDryRun(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	if st.preview == nil {
		return nil
	}
	var rows []store.Row
	var lines []int
	for i, d := range batch {
		if len(d.Errs) == 0 {
			rows, lines = append(rows, good[i]), append(lines, d.Line)
		}
	}
	return st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		list, err := comparison{st.m.store, tx, st.step.Actor, st.v.Target, st.v.Lined(), st.soft}.compareRows(rows, lines)
		for _, d := range list {
			switch d.Action {
			case "insert":
				st.preview.Inserts++
			case "update":
				st.preview.Updates++
			default:
				st.preview.Unchanged++
			}
		}
		return err
	})
}
