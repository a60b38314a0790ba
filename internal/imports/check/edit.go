package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// maxEdits bounds the corrected rows of a job, and maxEditText the characters
// that they are kept in: past it the file is corrected where it was made.
const (
	maxEdits    = 10_000
	maxEditText = 32 << 20
)

// Edit corrects a row: the text of cells by their column's header.
type Edit struct {
	Cells map[string]string `json:"cells"`
}

// errStale says that a job was changed while a row of it was checked.
var errStale = errors.New("imports: the job changed meanwhile")

// EditRow corrects a row of a ready job. The row is checked anew together with
// its neighbours, and so stands beside the others as if the file had held it;
// when the job is processed again the correction stays. row counts from 1. What a valid
// row would write comes beside it, as far as the role may see it.
func (m *Checker) EditRow(
	ctx context.Context, a actor.Actor, jobID string, row int, e Edit,
) (*staged.Record, map[string]any, error) {
	ctx = db.Patient(ctx, jobs.WholeJob)
	job, err := m.jobs.LoadFor(ctx, a, jobID)
	if err != nil {
		return nil, nil, err
	}
	if len(e.Cells) == 0 {
		return nil, nil, fault.New(fault.Invalid, "cells", "name the cells to change").At("cells",
			"must be an object of column to text")
	}
	for try := 0; ; try++ {
		rec, parsed, err := m.editRow(ctx, a, job.ID, row, e)
		if errors.Is(err, errStale) && try < 3 {
			continue
		}
		if errors.Is(err, errStale) {
			return nil, nil, jobs.Busy(job)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("imports: edit row: %w", err)
		}
		return rec, parsed, nil
	}
}

// editing is one correction.
type editing struct {
	m    *Checker
	job  *jobs.Job
	plan *plan.Plan
	mask plan.FieldMask
	st   *stager
	seq  int
	at   int // index in the chunk
	list []staged.Record
}

func (m *Checker) editRow(
	ctx context.Context, a actor.Actor, jobID string, row int, e Edit,
) (*staged.Record, map[string]any, error) {
	ed := &editing{m: m}
	err := m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		return ed.loadRow(tx, a, jobID, row)
	})
	if err != nil {
		return nil, nil, err
	}
	if err := e.applyTo(&ed.list[ed.at], ed.mask); err != nil {
		return nil, nil, err
	}
	batch := make([]*draft.Draft, len(ed.list))
	for i := range ed.list {
		batch[i] = ed.st.v.Draft(ed.list[i].Sheet(), ed.st.defaults)
	}
	if err := ed.rereadLines(ctx); err != nil {
		return nil, nil, err
	}
	good, err := ed.st.judgeBatch(ctx, batch)
	if err != nil {
		return nil, nil, err
	}
	c, err := ed.st.packBatch(batch, good, ed.list)
	if err != nil {
		return nil, nil, err
	}
	if err := m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error { return ed.saveChunk(tx, a, row, c) }); err != nil {
		return nil, nil, err
	}
	rec := ed.mask.MaskRecord(&ed.list[ed.at])
	if len(rec.Errors) > 0 {
		return rec, nil, nil
	}
	return rec, ed.plan.Seen(ed.st.v.Target, a.Role, good[ed.at]), nil
}

// loadRow reads the job, what was decided about its file, and the row's chunk.
func (ed *editing) loadRow(tx *db.Tx, a actor.Actor, jobID string, row int) error {
	m := ed.m
	job, err := m.jobs.Read(tx, a, jobID, "")
	if err != nil {
		return err
	}
	if job.Status != jobs.Ready {
		return jobs.WrongState(job, "its rows can be corrected only when it is ready")
	}
	if err := job.Untouched(); err != nil {
		return err
	}
	p, settings, err := plan.Of(tx, job)
	if err != nil {
		return err
	}
	if err := p.Anew(job); err != nil {
		return err
	}
	if p.Fingerprint != plan.Fingerprint(settings, job.Mapping) {
		return jobs.WrongState(job, "was changed after it was processed: process it again")
	}
	if row < 1 || int64(row) > job.TotalRows {
		return fault.New(fault.NotFound, "row_not_found", "the file has no row %d: it has %s", row,
			fault.Counted(job.TotalRows, "row", "rows"))
	}
	ed.job, ed.plan = job, p
	if err := ed.findChunk(tx, row); err != nil {
		return err
	}
	t, err := m.targets.Named(job.Target)
	if err != nil {
		return err
	}
	ed.mask = p.FieldMask(t, a.Role)
	v := &draft.Reader{Survey: p.Survey(t, settings), Now: m.store.Now()}
	v.Rows = int(job.TotalRows)
	ed.st = m.newStager(&jobs.Step{Job: job, Actor: a}, v)
	ed.st.fields = p.Fields
	return ed.rememberKeys(tx, a.TenantID)
}

// findChunk reads the chunk that the row is in.
func (ed *editing) findChunk(tx *db.Tx, row int) error {
	chunks, err := staged.Chunks(tx, ed.job)
	if err != nil {
		return err
	}
	ed.at = row - 1
	for _, c := range chunks {
		if ed.seq = c.Seq; ed.at < c.Rows {
			break
		}
		ed.at -= c.Rows
	}
	if ed.list, err = staged.ReadRecords(tx, ed.job.TenantID, ed.job.ID, ed.seq); err != nil {
		return err
	}
	if ed.at >= len(ed.list) {
		return staged.ErrRecords
	}
	return nil
}

// rememberKeys takes down the keys of the other chunks' rows, so that the row
// cannot become the second with one key.
func (ed *editing) rememberKeys(tx *db.Tx, tenant string) error {
	if !ed.st.v.Target.Keyed() && ed.st.serials == nil {
		return nil
	}
	return tx.Query(`
		SELECT rows, data, seq
		FROM import_chunks
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq <> $3
		ORDER BY seq`,
		[]any{tenant, ed.job.ID, ed.seq}, func(r *db.Row) error {
			rows, err := staged.Decode(r.Bytes(1), len(ed.plan.Fields), int(r.Int(0)))
			if err != nil {
				return err
			}
			for _, s := range rows {
				row := s.Fields(ed.plan.Fields, 0)
				if key := ed.st.v.RowKey(row); key != "" {
					ed.st.seen.Put(key, s.Line)
				}
				for at, fields := range ed.st.v.Target.Resource.Unique {
					if k := match.OtherKey(ed.st.v.Target.Resource, at, row); k != "" &&
						!slices.Equal(fields, ed.st.v.Target.Resource.Import.Key) {
						ed.st.takeKey(k, row, s.Line)
					}
				}
				if ed.st.serials != nil {
					ed.st.recallRow(row, s.Line, int(r.Int(2)) < ed.seq)
				}
				if ed.st.hours != nil {
					ed.st.hours.Enter(row, s.Line)
				}
			}
			return nil
		})
}

// rereadLines enters the rows before the chunk into the book of records with lines:
// what a line is called depends on those before it.
func (ed *editing) rereadLines(ctx context.Context) error {
	st := ed.st
	for seq := 1; st.book != nil && seq < ed.seq; seq++ {
		if seq > staged.CountedChunks {
			ctx = db.Counted(ctx)
		}
		var list []staged.Record
		err := ed.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) (err error) {
			list, err = staged.ReadRecords(tx, ed.job.TenantID, ed.job.ID, seq)
			return err
		})
		if err != nil {
			return err
		}
		batch := make([]*draft.Draft, len(list))
		for i := range list {
			batch[i] = st.v.Draft(list[i].Sheet(), st.defaults)
		}
		if err := st.refs.Resolve(ctx, st.v, batch); err != nil {
			return err
		}
		for _, d := range batch {
			st.book.Enter(st.v, d)
		}
	}
	return nil
}

// applyTo puts the texts into a record. What was damaged about it is settled by
// writing the damaged cells anew.
func (e Edit) applyTo(r *staged.Record, v plan.FieldMask) error {
	headers, anew := v.Headers, map[int]bool{}
	for name, text := range e.Cells {
		at := slices.Index(headers, name)
		if at < 0 {
			at = slices.IndexFunc(headers, func(h string) bool { return h != "" && cell.Fold(h) == cell.Fold(name) })
		}
		if at < 0 || v.At[at] {
			return fault.New(fault.Invalid, "cells", "the file has no column %q", fault.Clip(name, 80)).At("cells."+
				fault.Clip(name, 80), "is no column of the file")
		}
		if len(text) > sheet.MaxCell {
			return fault.New(fault.Invalid, "cells", "the text for %s is longer than %d bytes", headers[at],
				sheet.MaxCell).At("cells."+headers[at], "is too long")
		}
		for len(r.Cells) <= at {
			r.Cells = append(r.Cells, "")
		}
		r.Cells[at], anew[at] = text, true
		if at < len(r.Kinds) {
			r.Kinds[at] = sheet.Written
		}
	}
	for len(r.Cells) < len(headers) {
		r.Cells = append(r.Cells, "")
	}
	if r.Size() > sheet.MaxRecord {
		return fault.New(fault.Invalid, "cells",
			"the row would hold more than %d kB of text, which is more than a record can", sheet.MaxRecord>>10).
			At("cells", "are too long together")
	}
	r.Bad, r.Edited = remainingDamage(r, anew, len(headers)), true
	return nil
}

// remainingDamage is what is still damaged about a record some cells of which were
// written anew.
func remainingDamage(r *staged.Record, anew map[int]bool, columns int) *sheet.Damage {
	if r.Bad == nil || r.Bad.Cell < 0 || r.Bad.Cell >= columns {
		return nil
	}
	left := *r.Bad
	for i, c := range r.Cells[:columns] {
		garbled := r.Bad.Code == "encoding" && strings.ContainsRune(c, utf8.RuneError) // what was no text is kept as that
		if !anew[i] && (i == r.Bad.Cell || garbled) {
			left.Cell = i
			return &left
		}
	}
	return nil
}

const countEditsSQL = `
	SELECT COUNT(*), CAST(COALESCE(SUM(LENGTH(cells)), 0) AS bigint)
	FROM import_edits
	WHERE tenant_id = $1 AND job_id = $2 AND row_no <> $3`

const updateRecordsSQL = `
	UPDATE import_records
	SET rows = $4, invalid = $5, errors = $6, data = $7
	WHERE tenant_id = $1 AND job_id = $2 AND seq = $3`

const insertEditSQL = `
	INSERT INTO import_edits (tenant_id, job_id, row_no, cells, edited_by, edited_at)
	VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (tenant_id, job_id, row_no) DO UPDATE SET cells = excluded.cells, edited_by = excluded.edited_by,
		edited_at = excluded.edited_at`

// saveChunk writes the chunk back, unless the job moved on since it was read.
func (ed *editing) saveChunk(tx *db.Tx, a actor.Actor, row int, c *chunk) error {
	job, err := ed.m.jobs.Locked(tx, a, ed.job.ID)
	if err != nil {
		return err
	}
	if job.Version != ed.job.Version {
		return errStale
	}
	kept := ed.list[ed.at]
	kept.Errors = nil // they come anew when the job is processed again
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	var edits, length, was int64
	tx.Queue(countEditsSQL, []any{a.TenantID, job.ID, row}, func(r *db.Row) error {
		edits, length = r.Int(0), r.Int(1)
		return nil
	})
	err = tx.One(`
		SELECT invalid
		FROM import_records
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		[]any{a.TenantID, job.ID, ed.seq}, func(r *db.Row) error {
			was = r.Int(0)
			return nil
		})
	if err != nil {
		return err
	}
	if edits >= maxEdits {
		return fault.New(fault.Invalid, "too_many_edits",
			"%d rows of the file were corrected already: correct the rest in the file itself", maxEdits)
	}
	if length+int64(utf8.RuneCount(text)) > maxEditText {
		return fault.New(fault.Invalid, "too_many_edits",
			"the corrected rows of the file hold %d million characters already: correct the rest in the file itself",
			maxEditText>>20)
	}
	tx.Queue(updateRecordsSQL,
		[]any{a.TenantID, job.ID, ed.seq, len(ed.list), c.invalid, c.errors, c.records}, nil)
	tx.Queue(`
		UPDATE import_chunks
		SET rows = $4, data = $5
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		[]any{a.TenantID, job.ID, ed.seq, c.valid, c.staged}, nil)
	tx.Queue(insertEditSQL,
		[]any{a.TenantID, job.ID, row, string(text), orNull(a.UserID), ed.m.store.Now()}, nil)
	return ed.updateJob(tx, a, job, int64(c.invalid)-was)
}

// updateJob brings the job's numbers and its answer up to date.
func (ed *editing) updateJob(tx *db.Tx, a actor.Actor, job *jobs.Job, more int64) error {
	p, res := *ed.plan, *ed.plan.Result // copies: the transaction may run again
	p.Result = &res
	res.Stats.InvalidRows += more
	res.Stats.ValidRows -= more
	res.Preview = nil // counted anew when the job is processed again
	res.Errors = slices.DeleteFunc(slices.Clone(res.Errors), func(e staged.RowError) bool {
		return slices.ContainsFunc(ed.list, func(r staged.Record) bool { return r.Line == e.Line })
	})
	for i := range ed.list {
		res.Errors = append(res.Errors, ed.list[i].Errors...)
	}
	slices.SortStableFunc(res.Errors, func(x, y staged.RowError) int { return x.Line - y.Line })
	res.Errors = res.Errors[:min(len(res.Errors), shownErrors)]
	res.Say()
	if err := p.Rewrite(tx, job); err != nil {
		return err
	}
	_, err := ed.m.jobs.Set(tx, a, job.ID, store.Row{"valid_rows": res.Stats.ValidRows,
		"invalid_rows": res.Stats.InvalidRows, "message": fault.Clip(res.Message, 2000)})
	return err
}

// correction is a corrected record, and the number of its row when that was
// corrected.
type correction struct {
	staged.Record
	row int
}

// readEdits are the corrections of a job: by line, or by row where the file is JSON.
func (m *Checker) readEdits(ctx context.Context, a actor.Actor, jobID, fileType string) (map[int]correction, error) {
	out := map[int]correction{}
	err := m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		return tx.Query(`
			SELECT row_no, cells
			FROM import_edits
			WHERE tenant_id = $1
				AND job_id = $2`,
			[]any{a.TenantID, jobID}, func(r *db.Row) error {
				rec := correction{row: int(r.Int(0))}
				if err := json.Unmarshal(r.Bytes(1), &rec.Record); err != nil {
					return fmt.Errorf("%w: %w", staged.ErrRecords, err)
				}
				rec.Errors = nil
				if fileType == sheet.JSON {
					out[rec.row] = rec
				} else {
					out[rec.Line] = rec
				}
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("imports: read corrections: %w", err)
	}
	return out, nil
}

// renumberEdits gives the corrections the numbers that their rows have now. Those of
// lines that are no rows any more get numbers below 1 and wait there.
func (st *stager) renumberEdits(tx *db.Tx) error {
	if st.shift == 0 {
		return nil
	}
	const away = 1 << 30 // where no row has its number: two of them never share one on the way
	for _, by := range []int{away, -away - st.shift} {
		if _, err := tx.Exec(`
			UPDATE import_edits
			SET row_no = row_no + $3
			WHERE tenant_id = $1
				AND job_id = $2`,
			st.step.Actor.TenantID, st.step.Job.ID, by); err != nil {
			return fmt.Errorf("imports: number the corrections: %w", err)
		}
	}
	return nil
}
