package imports

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
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

// PreviewPage is one page of differences, in file order. Counts are those of a
// dry run, else nil. Total counts the valid rows.
type PreviewPage struct {
	Counts   *plan.Counts `json:"counts,omitempty"`
	Rows     []Difference `json:"rows"`
	Page     int          `json:"page"`
	PageSize int          `json:"pageSize"`
	Total    int64        `json:"total"`
	HasMore  bool         `json:"hasMore"`
}

// comparison tells what rows would do to the records there are.
type comparison struct {
	m      *Importer
	tx     *db.Tx
	actor  actor.Actor
	target *targets.Target
	lined  bool
	soft   []string // fields that a record there is does not take
}

func (c comparison) of(rows []store.Row, lines []int) ([]Difference, error) {
	heads := make([]store.Row, len(rows))
	for i, row := range rows {
		heads[i] = c.target.Part(row, false)
	}
	old, err := c.there(c.target.Resource, heads)
	if err != nil {
		return nil, err
	}
	var details map[string]store.Row
	parts := make([]store.Row, len(rows))
	if c.lined {
		for i, row := range rows {
			parts[i] = c.target.Part(row, true)
			if head := old[keyText(c.target.Resource, heads[i])]; head != nil {
				parts[i][c.target.Parent] = head["id"]
			}
		}
		if details, err = c.there(c.target.Lines, parts); err != nil {
			return nil, err
		}
	}
	out := make([]Difference, len(rows))
	for i, row := range rows {
		was := old[keyText(c.target.Resource, heads[i])]
		if c.lined && was != nil {
			was = both(was, details[keyText(c.target.Lines, parts[i])])
		}
		out[i] = c.difference(was, row)
		out[i].Line = lines[i]
	}
	return out, nil
}

// both is a record together with its line, nil without one: its fields first.
func both(head, line store.Row) store.Row {
	if line == nil {
		return nil
	}
	out := maps.Clone(line)
	maps.Copy(out, head)
	return out
}

// there reads the records of a resource that have the keys of rows.
func (c comparison) there(r *catalog.Resource, rows []store.Row) (map[string]store.Row, error) {
	old := map[string]store.Row{}
	if len(r.Import.Key) == 0 {
		return old, nil
	}
	var ids []string
	err := lookKeys(c.tx, c.actor.TenantID, r, rows, []string{"id"}, func(_ string, row *db.Row) { ids = append(ids, row.Text(0)) })
	if err != nil || len(ids) == 0 {
		return old, err
	}
	found, err := c.m.store.RowsTx(c.tx, jobs.Server(c.actor), r, c.tx.DB().InUUID("id", 2), []any{query.List(ids)})
	for _, row := range found {
		old[keyText(r, row)] = row
	}
	return old, err
}

func (c comparison) difference(old, row store.Row) Difference {
	d := Difference{Action: "insert", Label: label(row), Fields: map[string]Values{}}
	if old != nil {
		d.Action, d.Label = "unchanged", label(old)
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

// foresee counts what a dry run's rows would do.
func (st *stager) foresee(ctx context.Context, batch []*draft, good []store.Row) error {
	if st.preview == nil {
		return nil
	}
	var rows []store.Row
	var lines []int
	for i, d := range batch {
		if len(d.errs) == 0 {
			rows, lines = append(rows, good[i]), append(lines, d.line)
		}
	}
	return st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		list, err := comparison{st.m, tx, st.step.Actor, st.v.Target, st.v.Lined(), st.v.Soft()}.of(rows, lines)
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

// Preview returns one page of what applying a ready job would do; pageSize is
// At most 200.
func (m *Importer) Preview(ctx context.Context, a actor.Actor, jobID string, page, pageSize int) (*PreviewPage, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	if err := (RowFilter{Page: page, PageSize: pageSize}).check(); err != nil {
		return nil, err
	}
	if job.Status != jobs.Ready {
		return nil, jobs.WrongState(job, "only a ready one can be previewed")
	}
	t, err := m.target(job.Target)
	if err != nil {
		return nil, err
	}
	p := &PreviewPage{Page: page, PageSize: min(pageSize, 200), Rows: []Difference{}}
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		plan, _, err := planOf(tx, a, job)
		if err != nil {
			return err
		}
		p.Counts = plan.Result.Preview
		rows, lines, err := p.pick(tx, job, plan)
		if err != nil || len(rows) == 0 {
			return err
		}
		p.Rows, err = comparison{m, tx, a, t, plan.Lined, plan.Soft}.of(rows, lines)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil, jobs.WrongState(job, "must be processed first")
	}
	if err != nil {
		return nil, fmt.Errorf("imports: preview: %w", err)
	}
	p.HasMore = int64(page)*int64(p.PageSize) < p.Total
	return p, nil
}

// pick reads the staged rows of the page.
func (p *PreviewPage) pick(tx *db.Tx, job *jobs.Job, plan *plan.Plan) (rows []store.Row, lines []int, err error) {
	chunks, err := chunksOf(tx, job)
	if err != nil {
		return nil, nil, err
	}
	from, to := int64(p.Page-1)*int64(p.PageSize), int64(p.Page)*int64(p.PageSize)
	for _, c := range chunks {
		n := int64(c.rows - c.invalid)
		if p.Total+n <= from || p.Total >= to {
			p.Total += n
			continue
		}
		err := tx.One("SELECT rows, data FROM import_chunks WHERE tenant_id = $1 AND job_id = $2 AND seq = $3", []any{job.TenantID, job.ID, c.seq},
			func(r *db.Row) error {
				list, err := staged.Decode(r.Bytes(1), len(plan.Fields), int(r.Int(0)))
				for i, s := range list {
					if at := p.Total + int64(i); at >= from && at < to {
						rows, lines = append(rows, s.Fields(plan.Fields, 0)), append(lines, s.Line)
					}
				}
				return err
			})
		if err != nil {
			return nil, nil, err
		}
		p.Total += n
	}
	return rows, lines, nil
}
