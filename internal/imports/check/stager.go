package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// stager is the second reading of a file: rows are checked and written away in
// chunks, as they were read and, the valid ones, as they will be applied.
type stager struct {
	m        *Checker
	step     *jobs.Step
	v        *draft.Reader
	refs     *draft.Resolver
	fields   []string
	defaults map[string]string
	soft     []string           // fields that only a new record takes
	edits    map[int]correction // by line, or row of JSON
	shift    int                // rows by which the corrections' numbers are too high

	stats   plan.Stats
	notes   map[draft.Note]int // how many cells each holds for
	preview *plan.Counts
	first   []staged.RowError // for the answer
	chunks  int
	seen    *staged.Keys
	others  *staged.Keys    // of the records' other keys
	book    *draft.Ledger   // of records with lines
	partial map[string]bool // records with lines, some of which have errors
	hours   *draft.Hours    // of shifts
	unknown []draft.Unknown // different ones, some of them
	serials *serials        // of stock
	renewed time.Time

	packer staged.Packer
	staged []byte // of the chunk at hand
}

func (m *Checker) newStager(s *jobs.Step, v *draft.Reader) *stager {
	st := &stager{
		m: m, step: s, v: v, refs: draft.NewResolver(m.db, s.Actor),
		seen: staged.NewKeys(v.Rows), others: staged.NewKeys(0), notes: map[draft.Note]int{},
	}
	st.fields, st.defaults, st.soft = v.Fields(), v.Defaults(), v.Soft()
	if v.Lined() {
		st.book, st.partial = draft.NewLedger(), map[string]bool{}
	}
	if v.Target.Name == "shifts" {
		st.hours = draft.NewHours()
	}
	if v.Target.Posts != nil && slices.Contains(st.fields, "serial") {
		st.serials = newSerials()
	}
	if v.Settings.DryRun {
		st.preview = &plan.Counts{}
	}
	return st
}

func (st *stager) runStager(ctx context.Context, open sheet.Source) error {
	if st.serials != nil && st.v.Target.Name == "stock_levels" {
		if err := st.readChunks(open, func(list []staged.Record) error { return st.lookAhead(ctx, list) }); err != nil {
			return err
		}
	}
	return st.readChunks(open, func(list []staged.Record) error { return st.stageChunk(ctx, list) })
}

// readChunks hands over the file's records, chunk by chunk.
func (st *stager) readChunks(open sheet.Source, take func([]staged.Record) error) error {
	rows, err := sheet.Open(open, st.v.Format)
	if err != nil {
		return err
	}
	defer rows.Close()
	if st.v.Headed {
		if _, err := rows.Next(); err != nil {
			return err
		}
	}
	var list []staged.Record
	size := 0
	for no := 1; ; no++ {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return take(list)
		}
		if err != nil {
			return err
		}
		if st.v.LeavesOut(rec) {
			continue
		}
		r := st.correctedRecord(no, rec)
		list, size = append(list, r), size+r.Size()
		if len(list) == staged.ChunkRows || size >= staged.ChunkBytes {
			if err := take(list); err != nil {
				return err
			}
			list, size = list[:0], 0
		}
	}
}

// correctedRecord is a record as it stands in the file, or as somebody corrected it.
// Several records of JSON may stand on one line, and rows of other files get
// other numbers when another line is their header.
func (st *stager) correctedRecord(no int, rec *sheet.Record) staged.Record {
	at := rec.Line
	if st.v.Format.Type == sheet.JSON {
		at = no
	}
	c, ok := st.edits[at]
	if !ok {
		return staged.RecordOf(rec)
	}
	st.shift = c.row - no
	return c.Record
}

// stageChunk checks a chunk of records and writes it away.
func (st *stager) stageChunk(ctx context.Context, list []staged.Record) error {
	if len(list) == 0 {
		return nil
	}
	batch := make([]*draft.Draft, len(list))
	for i := range list {
		batch[i] = st.v.Draft(list[i].Sheet(), st.defaults)
	}
	good, err := st.judgeBatch(ctx, batch)
	if err != nil {
		return err
	}
	c, err := st.packBatch(batch, good, list)
	if err != nil {
		return err
	}
	if err := st.countDryRun(ctx, batch, good); err != nil {
		return err
	}
	st.stats.TotalRows += int64(len(list))
	st.stats.ValidRows += int64(c.valid)
	st.stats.InvalidRows += int64(c.invalid)
	for i := range list {
		st.first = append(st.first, list[i].Errors[:min(len(list[i].Errors), shownErrors-len(st.first))]...)
	}
	return st.writeChunk(ctx, len(list), c)
}

// judgeBatch resolves and validates a batch. A draft without errors has its row.
func (st *stager) judgeBatch(ctx context.Context, batch []*draft.Draft) ([]store.Row, error) {
	if err := st.refs.Resolve(ctx, st.v, batch); err != nil {
		return nil, err
	}
	if err := st.refuseBooked(ctx, batch); err != nil {
		return nil, err
	}
	good := make([]store.Row, len(batch))
	for i, d := range batch {
		if st.book != nil {
			st.book.Enter(st.v, d)
		}
		if good[i] = st.v.Check(st.m.store, d); good[i] != nil {
			st.refuseRepeatedKey(d, good[i])
		}
		if st.hours != nil && good[i] != nil && len(d.Errs) == 0 {
			if line, overlaps := st.hours.Enter(good[i], d.Line); overlaps {
				d.Fail(st.v.Header("started_at"), "overlap", "line %d has a shift of the same worker at that time", line)
			}
		}
	}
	if err := st.checkPresence(ctx, batch, good); err != nil {
		return nil, err
	}
	if err := st.refuseBelowReserved(ctx, batch, good); err != nil {
		return nil, err
	}
	if err := st.oneUnit(ctx, batch, good); err != nil {
		return nil, err
	}
	return good, st.rehearseEffects(ctx, batch, good)
}

// chunk is a checked batch as it is kept.
type chunk struct {
	valid, invalid, errors int
	staged, records        []byte
}

// packBatch puts a judged batch into its two forms; the errors go to their records.
func (st *stager) packBatch(batch []*draft.Draft, good []store.Row, list []staged.Record) (*chunk, error) {
	c, rows := &chunk{}, st.staged[:0]
	for i, d := range batch {
		list[i].Errors = nil
		if len(d.Errs) == 0 {
			c.valid++
			for _, n := range d.Notes {
				st.notes[n]++
			}
			rows = staged.Append(rows, st.fields, d.Line, good[i])
			continue
		}
		for _, e := range d.Errs {
			e.Message = fault.Clip(e.Message, 500)
			list[i].Errors = append(list[i].Errors, e)
		}
		st.noteUnknown(d.Unknown)
		c.invalid++
		c.errors += len(d.Errs)
		if st.partial != nil {
			st.partial[strings.Clone(match.Text(d.Row[st.v.KeyFields()[0]]))] = true // not the whole row with it
		}
	}
	st.staged = rows
	var err error
	if c.staged, err = st.packer.Rows(rows); err != nil {
		return nil, err
	}
	c.records, err = st.packer.Records(list)
	return c, err
}

// unknownLimit bounds the different texts without a meaning that are kept of a file.
const unknownLimit = 200

// noteUnknown keeps texts that name no member of a closed set, or no record.
func (st *stager) noteUnknown(list []draft.Unknown) {
	for _, u := range list {
		if len(st.unknown) < unknownLimit && !slices.Contains(st.unknown, u) {
			u.Text = strings.Clone(fault.Clip(u.Text, 80)) // not the whole row with it
			st.unknown = append(st.unknown, u)
		}
	}
}

// writeChunk puts a chunk into the database, and renews the lease.
func (st *stager) writeChunk(ctx context.Context, rows int, c *chunk) error {
	seq := st.chunks + 1
	a, job := st.step.Actor, st.step.Job
	err := st.m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := st.holdJob(tx); err != nil {
			return err
		}
		tx.Queue(`
			INSERT INTO import_chunks (tenant_id, job_id, seq, rows, data)
			VALUES ($1, $2, $3, $4, $5)`,
			[]any{a.TenantID, job.ID, seq, c.valid, c.staged}, nil)
		tx.Queue(`
			INSERT INTO import_records (tenant_id, job_id, seq, rows, invalid, errors, data)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			[]any{a.TenantID, job.ID, seq, rows, c.invalid, c.errors, c.records}, nil)
		return tx.Flush()
	})
	if err != nil {
		return err
	}
	st.chunks = seq
	return nil
}

// holdJob tells how far the work is, renewing the lease, and makes sure before
// that it is still ours.
func (st *stager) holdJob(tx *db.Tx) error {
	if err := st.m.jobs.Hold(tx, st.step); err != nil {
		return err
	}
	if time.Since(st.renewed) < min(st.m.jobs.LeaseTime()/3, time.Second/2) {
		return nil
	}
	job, err := st.m.jobs.Set(tx, st.step.Actor, st.step.Job.ID, store.Row{"lease_until": st.m.jobs.Renew(st.step),
		"total_rows": int64(st.v.Rows), "valid_rows": st.stats.ValidRows, "invalid_rows": st.stats.InvalidRows})
	if err != nil {
		return err
	}
	tx.After(func() { st.step.Job, st.renewed = job, time.Now() })
	return nil
}

// finishPlan writes the plan and makes the job ready.
func (st *stager) finishPlan(ctx context.Context) (*plan.Processed, error) {
	res := st.processedResult()
	err := st.m.db.Write(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		if err := st.m.jobs.Hold(tx, st.step); err != nil {
			return err
		}
		a, job := st.step.Actor, st.step.Job
		if w := st.m.jobs.Repeated(tx, a, job.Target, job.SHA256, job.ID); w != "" && !slices.Contains(res.Warnings, w) {
			res.Warnings = append(res.Warnings, w)
			res.Say()
		}
		p := &plan.Plan{Reading: plan.Reading, Fingerprint: plan.Fingerprint(st.v.Settings, job.Mapping),
			Mode: st.v.Settings.Mode, Fields: st.fields, Chunks: st.chunks, Result: res}
		st.v.Keep(p)
		if err := st.renumberEdits(tx); err != nil {
			return err
		}
		if err := st.m.saveMapping(tx, a, job, st.v); err != nil {
			return err
		}
		if err := p.Write(tx, job); err != nil {
			return err
		}
		st.m.jobs.Audit(tx, a, job, "import_jobs.process", map[string]any{"target": job.Target, "file": job.FileName,
			"sha256": job.SHA256, "valid": res.Stats.ValidRows, "invalid": res.Stats.InvalidRows})
		_, err := st.m.jobs.Set(tx, a, job.ID, store.Row{"status": jobs.Ready, "lease_until": nil,
			"processed_at": st.m.store.Now(), "message": fault.Clip(res.Message, 2000),
			"file_type": res.FileType, "encoding": st.v.Format.Encoding, "delimiter": delimiterText(st.v.Format),
			"header_row": headerLine(st.v),
			"total_rows": res.Stats.TotalRows, "valid_rows": res.Stats.ValidRows, "invalid_rows": res.Stats.InvalidRows})
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// headerLine is null where no line is asked for.
func headerLine(v *draft.Reader) any {
	if v.Format.Type == sheet.JSON {
		return nil
	}
	return int64(v.HeaderRow)
}

// delimiterText is null where nothing delimits.
func delimiterText(f sheet.Format) any {
	if f.Delimiter == 0 {
		return nil
	}
	return string(rune(f.Delimiter))
}

func (st *stager) processedResult() *plan.Processed {
	res := &plan.Processed{Success: true, JobID: st.step.Job.ID, FileType: st.v.Format.Type, Stats: st.stats,
		Mapping: st.v.Layout.Used(), Columns: st.v.Explain(), Preview: st.preview,
		Ignored: append([]string{}, st.v.Layout.Ignored...), Warnings: append([]string{}, st.v.Warnings...),
		Errors: append([]staged.RowError{}, st.first...)}
	for _, u := range st.unknown {
		res.NoteUnknown(u.Field, u.Text)
	}
	var notes []string
	for n, cells := range st.notes {
		notes = append(notes, n.Say(cells))
	}
	slices.Sort(notes)
	res.Warnings = append(res.Warnings, notes...)
	assumed := st.v.Assumed()
	for _, name := range slices.Sorted(maps.Keys(assumed)) {
		if st.v.Settings.Mode != targets.ModeUpdate {
			res.Warnings = append(res.Warnings, fmt.Sprintf("No column gives %s: it is %s in every row.",
				st.v.Target.Words(name), targets.Spoken(assumed[name])))
		}
	}
	delete(st.partial, match.Text(nil))
	if n := len(st.partial); n > 0 {
		res.Warnings = append(res.Warnings,
			fmt.Sprintf("The rows with errors are lines of %d %s, which would come without them.",
				n, targets.Spoken(st.v.Target.Name)))
	}
	res.Say()
	return res
}
