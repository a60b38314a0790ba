package imports

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// StagedRow is a row of a job's file. Row counts the records from 1; Line is
// where it stands in the file. Cells are in the order of the page's Columns. Of a
// valid row Parsed holds what would be written, by field, and once it is applied
// the others what was done (insert, update, unchanged) and to which record; a
// counted place that was as the file says has none, and of a job that is rolled
// back in part they are empty where the record is gone.
type StagedRow struct {
	Row    int               `json:"row"`
	Line   int               `json:"line"`
	Status string            `json:"status"` // valid, invalid; later applied, rolled_back, or skipped for an invalid one
	Edited bool              `json:"edited"`
	Cells  []string          `json:"cells"`
	Errors []staged.RowError `json:"errors"`
	Parsed map[string]any    `json:"parsed,omitempty"`

	Action     string `json:"action,omitempty"`
	EntityType string `json:"entity_type,omitempty"`
	EntityID   string `json:"entity_id,omitempty"`
}

// RowPage is one page of a job's rows. Total counts the rows that the filter
// lets through.
type RowPage struct {
	Columns  []string    `json:"columns"`
	Rows     []StagedRow `json:"rows"`
	Page     int         `json:"page"`
	PageSize int         `json:"pageSize"`
	Total    int64       `json:"total"`
	HasMore  bool        `json:"hasMore"`

	mask   plan.FieldMask
	sequel sequel
}

// RowFilter chooses rows: Status valid or invalid, whatever became of them, or
// applied, rolled_back or skipped; Code and Column those with such an error; empty
// = any.
type RowFilter struct {
	Status, Code, Column string
	Page, PageSize       int
}

func (f RowFilter) selectsErrors() bool { return f.Code != "" || f.Column != "" }

func (f RowFilter) checkFilter() error {
	if f.Page < 1 || f.PageSize < 1 || f.Page > 10_000_000 {
		return fault.New(fault.Invalid, "page", "page and pageSize count from 1")
	}
	if f.Status != "" && !slices.Contains([]string{"valid", "invalid", "applied", "skipped", "rolled_back"}, f.Status) {
		return fault.New(fault.Invalid, "status", "status must be valid, invalid, applied, skipped or rolled_back").
			At("status", "must be valid, invalid, applied, skipped or rolled_back")
	}
	return nil
}

// fate is what became of a chunk's rows: of those that are valid and those that
// are not. Rows are applied by the chunk, and the job counts them.
type fate struct{ good, bad string }

// fatesOf tells the fate of a job's chunks one after the other.
func fatesOf(j *jobs.Job) func(c staged.Chunk) fate {
	whole := j.Status == jobs.Completed
	var valid int64
	return func(c staged.Chunk) fate {
		valid += int64(c.Rows - c.Invalid)
		if !whole && (j.ImportedCount == 0 || valid > j.ImportedCount) {
			return fate{"valid", "invalid"}
		}
		if j.Status == jobs.RolledBack {
			return fate{"rolled_back", "skipped"}
		}
		return fate{"applied", "skipped"}
	}
}

func (f fate) statusOf(r *staged.Record) string {
	if len(r.Errors) > 0 {
		return f.bad
	}
	return f.good
}

// filterWithin is the filter for a chunk by its rows' errors alone; ok is false when
// none of them has the status.
func (f RowFilter) filterWithin(x fate) (_ RowFilter, ok bool) {
	switch f.Status {
	case "", "valid", "invalid":
	case x.good:
		f.Status = "valid"
	case x.bad:
		f.Status = "invalid"
	default:
		return f, false
	}
	return f, true
}

func (f RowFilter) matchesRow(r *staged.Record) bool {
	bad := len(r.Errors) > 0
	if f.Status == "valid" && bad || f.Status == "invalid" && !bad {
		return false
	}
	if !f.selectsErrors() {
		return true
	}
	return slices.ContainsFunc(r.Errors, func(e staged.RowError) bool {
		return (f.Code == "" || e.Code == f.Code) && (f.Column == "" || e.Column == f.Column)
	})
}

// countInChunk is how many of a chunk's rows the filter takes, or -1 when it has to
// be opened.
func (f RowFilter) countInChunk(c staged.Chunk) int {
	switch {
	case f.selectsErrors() && c.Invalid == 0:
		return 0
	case f.selectsErrors():
		return -1
	case f.Status == "invalid":
		return c.Invalid
	case f.Status == "valid":
		return c.Rows - c.Invalid
	}
	return c.Rows
}

// Rows returns one page of a processed job's rows in file order; pageSize is
// at most 200.
func (m *Importer) Rows(ctx context.Context, a actor.Actor, jobID string, f RowFilter) (*RowPage, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	if err := f.checkFilter(); err != nil {
		return nil, err
	}
	f.PageSize = min(f.PageSize, 200)
	p := &RowPage{Page: f.Page, PageSize: f.PageSize, Rows: []StagedRow{}, Columns: []string{}}
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		mask, planned, err := fieldMaskOf(tx, m.targets, a, job)
		if err != nil {
			return err
		}
		if !planned {
			return jobs.Unplanned(job)
		}
		p.mask, p.Columns = mask, mask.Header()
		if p.sequel, err = m.sequelFor(tx, a, job); err != nil {
			return err
		}
		if err := p.fillPage(tx, job, f); err != nil || job.RolledBackCount == 0 && job.Status != jobs.RollingBack {
			return err
		}
		return p.withoutGone(tx, job.TenantID)
	})
	if err != nil {
		return nil, fmt.Errorf("imports: rows: %w", err)
	}
	p.HasMore = int64(f.Page)*int64(f.PageSize) < p.Total
	return p, nil
}

func (p *RowPage) fillPage(tx *db.Tx, job *jobs.Job, f RowFilter) error {
	chunks, err := staged.Chunks(tx, job)
	if err != nil {
		return err
	}
	from, to := int64(f.Page-1)*int64(f.PageSize), int64(f.Page)*int64(f.PageSize)
	fates := fatesOf(job)
	next := 1 // the number of the next chunk's first row
	for _, c := range chunks {
		first, became := next, fates(c)
		next += c.Rows
		f, ok := f.filterWithin(became)
		if !ok {
			continue
		}
		n := f.countInChunk(c)
		if n >= 0 && (p.Total+int64(n) <= from || p.Total >= to) {
			p.Total += int64(n)
			continue
		}
		if err := p.takeChunk(tx, job, portion{c, became, first}, f); err != nil {
			return err
		}
	}
	return nil
}

// portion is a chunk that is opened: what became of its rows, and the number of
// the first.
type portion struct {
	staged.Chunk
	became fate
	first  int
}

// takeChunk counts the rows of a chunk that the filter lets through, and adds those
// of the page.
func (p *RowPage) takeChunk(tx *db.Tx, job *jobs.Job, c portion, f RowFilter) error {
	list, err := staged.ReadRecords(tx, job.TenantID, job.ID, c.Seq)
	if err != nil {
		return err
	}
	from, to := int64(p.Page-1)*int64(p.PageSize), int64(p.Page)*int64(p.PageSize)
	var after *sequel
	good := -1 // index of the newest valid row
	for i := range list {
		r := &list[i]
		if len(r.Errors) == 0 {
			good++
		}
		if !f.matchesRow(r) {
			continue
		}
		p.Total++
		if p.Total <= from || p.Total > to {
			continue
		}
		row := stagedRow(p.mask.MaskRecord(r), c.first+i)
		row.Status = c.became.statusOf(r)
		if after == nil {
			if after, err = p.sequelOf(tx, job, c); err != nil {
				return err
			}
		}
		if len(r.Errors) == 0 {
			after.addOutcome(&row, good)
		}
		p.Rows = append(p.Rows, row)
	}
	return nil
}

func stagedRow(r *staged.Record, no int) StagedRow {
	s := StagedRow{Row: no, Line: r.Line, Status: "valid", Edited: r.Edited, Cells: append([]string{}, r.Cells...),
		Errors: append([]staged.RowError{}, r.Errors...)}
	if len(r.Errors) > 0 {
		s.Status = "invalid"
	}
	return s
}

// RowErrors returns one page of a job's row errors in file order. page counts
// from 1; pageSize is at most 200.
func (m *Importer) RowErrors(ctx context.Context, a actor.Actor, jobID string, page, pageSize int) (*ErrorPage, error) {
	job, err := m.jobs.Load(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	if err := (RowFilter{Page: page, PageSize: pageSize}).checkFilter(); err != nil {
		return nil, err
	}
	p := &ErrorPage{Page: page, PageSize: min(pageSize, 200), Errors: []staged.RowError{}}
	from, to := int64(page-1)*int64(p.PageSize), int64(page)*int64(p.PageSize)
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		mask, _, err := fieldMaskOf(tx, m.targets, a, job)
		if err != nil {
			return err
		}
		chunks, err := staged.Chunks(tx, job)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if n := int64(c.Errors); p.Total+n <= from || p.Total >= to {
				p.Total += n
				continue
			}
			list, err := staged.ReadRecords(tx, job.TenantID, job.ID, c.Seq)
			if err != nil {
				return err
			}
			for i := range list {
				for _, e := range mask.MaskErrors(list[i].Errors) {
					if p.Total >= from && p.Total < to {
						p.Errors = append(p.Errors, e)
					}
					p.Total++
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: row errors: %w", err)
	}
	p.HasMore = int64(page)*int64(p.PageSize) < p.Total
	return p, nil
}
