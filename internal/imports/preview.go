package imports

import (
	"context"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

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

// Preview returns one page of what applying a ready job would do; pageSize is
// at most 200.
func (m *Importer) Preview(ctx context.Context, a actor.Actor, jobID string, page, pageSize int) (*PreviewPage, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	if err := (RowFilter{Page: page, PageSize: pageSize}).checkFilter(); err != nil {
		return nil, err
	}
	if job.Status != jobs.Ready {
		return nil, jobs.WrongState(job, "only a ready one can be previewed")
	}
	t, err := m.targets.Named(job.Target)
	if err != nil {
		return nil, err
	}
	p := &PreviewPage{Page: page, PageSize: min(pageSize, 200), Rows: []Difference{}}
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		plan, _, err := plan.Of(tx, job)
		if err != nil {
			return err
		}
		p.Counts = plan.Result.Preview
		rows, lines, err := p.readPageRows(tx, job, plan)
		if err != nil || len(rows) == 0 {
			return err
		}
		p.Rows, err = m.checker.Differences(tx, a, t, plan, rows, lines)
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

// readPageRows reads the staged rows of the page.
func (p *PreviewPage) readPageRows(
	tx *db.Tx, job *jobs.Job, plan *plan.Plan,
) (rows []store.Row, lines []int, err error) {
	chunks, err := staged.Chunks(tx, job)
	if err != nil {
		return nil, nil, err
	}
	from, to := int64(p.Page-1)*int64(p.PageSize), int64(p.Page)*int64(p.PageSize)
	for _, c := range chunks {
		n := int64(c.Rows - c.Invalid)
		if p.Total+n <= from || p.Total >= to {
			p.Total += n
			continue
		}
		list, err := staged.ReadRows(tx, job.TenantID, job.ID, c.Seq, len(plan.Fields))
		for i, s := range list {
			if at := p.Total + int64(i); at >= from && at < to {
				rows, lines = append(rows, s.Fields(plan.Fields, 0)), append(lines, s.Line)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		p.Total += n
	}
	return rows, lines, nil
}
