package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/store"
)

// stager is the second reading of a file: rows are checked and written away in
// chunks, as they were read and, the valid ones, as they will be applied.
type stager struct {
	m        *Importer
	step     *step
	v        *survey
	refs     *resolver
	fields   []string
	defaults map[string]string
	edits    map[int]correction // by line, or row of JSON
	shift    int                // rows by which the corrections' numbers are too high

	stats   Stats
	preview *Counts
	first   []RowError // for the answer
	chunks  int
	seen    *keys
	others  *keys           // of the records' other keys
	book    *ledgerOf       // of records with lines
	torn    map[string]bool // records with lines, some of which have errors
	hours   *hoursBook      // of shifts
	serials *serials        // of stock
	beat    time.Time

	packer packer
	staged []byte // of the chunk at hand
}

func (m *Importer) stager(s *step, v *survey) *stager {
	st := &stager{m: m, step: s, v: v, refs: m.resolver(s.actor), seen: newKeys(v.rows), others: newKeys(0)}
	st.fields, st.defaults = v.fields(), v.defaults()
	if v.lined() {
		st.book, st.torn = newLedger(), map[string]bool{}
	}
	if v.target.name == "shifts" {
		st.hours = newHours()
	}
	if v.target.posts != nil && slices.Contains(st.fields, "serial") {
		st.serials = newSerials()
	}
	if v.settings.DryRun {
		st.preview = &Counts{}
	}
	return st
}

func (st *stager) run(ctx context.Context, open sheet.Source) error {
	if st.serials != nil && st.v.target.name == "stock_levels" {
		if err := st.read(open, func(list []record) error { return st.lookAhead(ctx, list) }); err != nil {
			return err
		}
	}
	return st.read(open, func(list []record) error { return st.stage(ctx, list) })
}

// read hands over the file's records, chunk by chunk.
func (st *stager) read(open sheet.Source, take func([]record) error) error {
	rows, err := sheet.Open(open, st.v.format)
	if err != nil {
		return err
	}
	defer rows.Close()
	if st.v.headed {
		if _, err := rows.Next(); err != nil {
			return err
		}
	}
	var list []record
	size := 0
	for no := 1; ; no++ {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return take(list)
		}
		if err != nil {
			return err
		}
		r := st.corrected(no, rec)
		list, size = append(list, r), size+r.size()
		if len(list) == chunkRows || size >= chunkBytes {
			if err := take(list); err != nil {
				return err
			}
			list, size = list[:0], 0
		}
	}
}

// corrected is a record as it stands in the file, or as somebody corrected it.
// Several records of JSON may stand on one line, and rows of other files get
// other numbers when another line is their header.
func (st *stager) corrected(no int, rec *sheet.Record) record {
	at := rec.Line
	if st.v.format.Type == sheet.JSON {
		at = no
	}
	c, ok := st.edits[at]
	if !ok {
		return recordOf(rec)
	}
	st.shift = c.row - no
	return c.record
}

// stage checks a chunk of records and writes it away.
func (st *stager) stage(ctx context.Context, list []record) error {
	if len(list) == 0 {
		return nil
	}
	batch := make([]*draft, len(list))
	for i := range list {
		batch[i] = st.v.draftOf(list[i].sheet(), st.defaults)
	}
	good, err := st.judge(ctx, batch)
	if err != nil {
		return err
	}
	c, err := st.pack(batch, good, list)
	if err != nil {
		return err
	}
	if err := st.foresee(ctx, batch, good); err != nil {
		return err
	}
	st.stats.TotalRows += int64(len(list))
	st.stats.ValidRows += int64(c.valid)
	st.stats.InvalidRows += int64(c.invalid)
	for i := range list {
		st.first = append(st.first, list[i].Errors[:min(len(list[i].Errors), shownErrors-len(st.first))]...)
	}
	return st.write(ctx, len(list), c)
}

// judge resolves and validates a batch. A draft without errors has its row.
func (st *stager) judge(ctx context.Context, batch []*draft) ([]store.Row, error) {
	if err := st.refs.resolve(ctx, st.v, batch); err != nil {
		return nil, err
	}
	good := make([]store.Row, len(batch))
	for i, d := range batch {
		if st.book != nil {
			st.book.enter(st.v, d)
		}
		if good[i] = st.m.check(st.v, d); good[i] != nil {
			st.unique(d, good[i])
		}
		if st.hours != nil && good[i] != nil && len(d.errs) == 0 {
			if line, overlaps := st.hours.enter(good[i], d.line); overlaps {
				d.fail(st.v.header("started_at"), "overlap", "line %d has a shift of the same worker at that time", line)
			}
		}
	}
	if err := st.present(ctx, batch, good); err != nil {
		return nil, err
	}
	if err := st.promised(ctx, batch, good); err != nil {
		return nil, err
	}
	if err := st.oneUnit(ctx, batch, good); err != nil {
		return nil, err
	}
	return good, st.rehearse(ctx, batch, good)
}

// chunk is a checked batch as it is kept.
type chunk struct {
	valid, invalid, errors int
	staged, records        []byte
}

// pack puts a judged batch into its two forms; the errors go to their records.
func (st *stager) pack(batch []*draft, good []store.Row, list []record) (*chunk, error) {
	c, staged := &chunk{}, st.staged[:0]
	for i, d := range batch {
		list[i].Errors = nil
		if len(d.errs) == 0 {
			c.valid++
			staged = appendStaged(staged, st.fields, d.line, good[i])
			continue
		}
		for _, e := range d.errs {
			e.Message = clip(e.Message, 500)
			list[i].Errors = append(list[i].Errors, e)
		}
		c.invalid++
		c.errors += len(d.errs)
		if st.torn != nil {
			st.torn[strings.Clone(text(d.row[st.v.keyFields()[0]]))] = true // not the whole row with it
		}
	}
	st.staged = staged
	var err error
	if c.staged, err = st.packer.staged(staged); err != nil {
		return nil, err
	}
	c.records, err = st.packer.records(list)
	return c, err
}

// write puts a chunk into the database, and renews the lease.
func (st *stager) write(ctx context.Context, rows int, c *chunk) error {
	seq := st.chunks + 1
	a, job := st.step.actor, st.step.job
	err := st.m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := st.hold(tx); err != nil {
			return err
		}
		tx.Queue("INSERT INTO import_chunks (tenant_id, job_id, seq, rows, data) VALUES ($1, $2, $3, $4, $5)", []any{a.TenantID, job.ID, seq, c.valid, c.staged}, nil)
		tx.Queue("INSERT INTO import_records (tenant_id, job_id, seq, rows, invalid, errors, data) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			[]any{a.TenantID, job.ID, seq, rows, c.invalid, c.errors, c.records}, nil)
		return tx.Flush()
	})
	if err != nil {
		return err
	}
	st.chunks = seq
	return nil
}

// hold tells how far the work is, renewing the lease, and makes sure before
// that it is still ours.
func (st *stager) hold(tx *db.Tx) error {
	if err := st.m.hold(tx, st.step); err != nil {
		return err
	}
	if time.Since(st.beat) < min(st.m.lease/3, time.Second/2) {
		return nil
	}
	job, err := st.m.set(tx, st.step.actor, st.step.job.ID, store.Row{"lease_until": st.m.renew(st.step),
		"total_rows": int64(st.v.rows), "valid_rows": st.stats.ValidRows, "invalid_rows": st.stats.InvalidRows})
	if err != nil {
		return err
	}
	tx.After(func() { st.step.job, st.beat = job, time.Now() })
	return nil
}

// finish writes the plan and makes the job ready.
func (st *stager) finish(ctx context.Context) (*Processed, error) {
	res := st.result()
	err := st.m.db.Write(ctx, store.Scope(st.step.actor), func(tx *db.Tx) error {
		if err := st.m.hold(tx, st.step); err != nil {
			return err
		}
		a, job := st.step.actor, st.step.job
		if w, ok := st.m.repeated(tx, a, job.Target, job.SHA256, job.ID).(string); ok && !slices.Contains(res.Warnings, w) {
			res.Warnings = append(res.Warnings, w)
			res.say()
		}
		p := &plan{Reading: reading, Fingerprint: settingsText(st.v.settings, job.Mapping), Mode: st.v.settings.Mode, Fields: st.fields,
			Chunks: st.chunks, Result: res}
		st.v.keep(p)
		if err := st.renumber(tx); err != nil {
			return err
		}
		if err := st.m.saveMapping(tx, a, job, st.v); err != nil {
			return err
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO import_plans (tenant_id, job_id, plan) VALUES ($1, $2, $3)", a.TenantID, job.ID, string(text)); err != nil {
			return err
		}
		st.m.audit(tx, a, job, "import_jobs.process", map[string]any{"target": job.Target, "file": job.FileName, "sha256": job.SHA256,
			"valid": res.Stats.ValidRows, "invalid": res.Stats.InvalidRows})
		_, err = st.m.set(tx, a, job.ID, store.Row{"status": Ready, "lease_until": nil, "processed_at": st.m.store.Now(), "message": clip(res.Message, 2000),
			"file_type": res.FileType, "encoding": st.v.format.Encoding, "delimiter": delimiterText(st.v.format), "header_row": st.v.headerLine(),
			"total_rows": res.Stats.TotalRows, "valid_rows": res.Stats.ValidRows, "invalid_rows": res.Stats.InvalidRows})
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// headerLine is null where no line is asked for.
func (v *survey) headerLine() any {
	if v.format.Type == sheet.JSON {
		return nil
	}
	return int64(v.headerRow)
}

// delimiterText is null where nothing delimits.
func delimiterText(f sheet.Format) any {
	if f.Delimiter == 0 {
		return nil
	}
	return string(rune(f.Delimiter))
}

func (st *stager) result() *Processed {
	res := &Processed{Success: true, JobID: st.step.job.ID, FileType: st.v.format.Type, Stats: st.stats, Mapping: st.v.layout.used(),
		Columns: st.v.explain(), Preview: st.preview,
		Ignored: append([]string{}, st.v.layout.ignored...), Warnings: append([]string{}, st.v.warnings...), Errors: append([]RowError{}, st.first...)}
	if st.v.format.Encoding == "windows-1252" {
		res.Warnings = append(res.Warnings, "The file is not UTF-8 and was read as Windows-1252.")
	}
	for name, text := range st.v.target.defaults {
		if st.v.layout.column(name) == nil && st.v.settings.Defaults[name] == "" && st.v.settings.Mode != ModeUpdate {
			res.Warnings = append(res.Warnings, fmt.Sprintf("No column gives %s: every row is taken as %s.", st.v.target.words(name), text))
		}
	}
	delete(st.torn, text(nil))
	if n := len(st.torn); n > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("The rows with errors are lines of %d %s, which would come without them.", n, spoken(st.v.target.name)))
	}
	res.say()
	return res
}
