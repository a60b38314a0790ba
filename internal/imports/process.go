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

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// shownErrors is how many row errors the answer of Process lists.
const shownErrors = 100

// Process reads a job's file, checks every row and stages the valid ones. A
// ready job is answered with its first result unless its mapping or options
// were changed since. Row errors do not fail the job; a file that cannot be
// understood does, with a question where an option would settle it.
func (m *Importer) Process(ctx context.Context, a actor.Actor, jobID string) (*Processed, error) {
	var before *Processed
	s, err := m.begin(ctx, a, jobID, Processing, func(tx *db.Tx, job *Job) error {
		switch job.Status {
		case Uploaded, Failed, Ready:
		case Created:
			return wrongState(job, "has no file yet")
		default:
			return wrongState(job, "cannot be processed")
		}
		if job.blobKey == "" {
			return wrongState(job, "has no file")
		}
		if err := job.untouched(); err != nil {
			return err
		}
		if job.Status == Ready {
			p, settings, err := m.planOf(tx, a, job)
			if err == nil && p.Fingerprint == settingsText(settings, job.Mapping) && settings.DryRun == (p.Result.Preview != nil) {
				before = p.Result
				return errAnswered
			}
		}
		return m.clear(tx, a.TenantID, job.ID)
	})
	if errors.Is(err, errAnswered) {
		return before, nil
	}
	if err != nil {
		return nil, fmt.Errorf("imports: process: %w", err)
	}
	var res *Processed
	err = guarded(func() (err error) {
		res, err = m.process(ctx, s)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("imports: process: %w", err), m.end(ctx, s, failedState(err, Uploaded), fault.As(err).Msg))
	}
	return res, m.end(ctx, s, "", "")
}

// errAnswered ends a transaction that found the answer already there.
var errAnswered = errors.New("imports: answered before")

// failedState is where a step that broke leaves its job: failed when the job
// is at fault, back where it was when the server is.
func failedState(err error, rest string) string {
	switch fault.As(err).Kind {
	case fault.Internal, fault.Unavailable, fault.NoSpace:
		return rest
	}
	return Failed
}

// planOf reads what was decided about a job's file, and its options as they
// are now.
func (m *Importer) planOf(tx *db.Tx, a actor.Actor, job *Job) (*plan, Settings, error) {
	settings, err := parseSettings(job.Options)
	if err != nil {
		return nil, settings, err
	}
	p := &plan{}
	err = tx.One("SELECT plan FROM import_plans WHERE tenant_id = $1 AND job_id = $2", []any{a.TenantID, job.ID}, func(r *db.Row) error {
		return json.Unmarshal(r.Bytes(0), p)
	})
	return p, settings, err
}

func (m *Importer) process(ctx context.Context, s *step) (*Processed, error) {
	t, err := m.target(s.job.Target)
	if err != nil {
		return nil, err
	}
	settings, err := parseSettings(s.job.Options)
	if err != nil {
		return nil, err
	}
	for name := range settings.Defaults {
		if t.column(name) == nil {
			return nil, unknownField(t, name)
		}
	}
	mapping, err := parseMapping(t, s.job.Mapping)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return m.files.Open(s.job.blobKey) }
	f := upload{open: open, kind: s.job.FileType}
	if !settings.Guess {
		f.known = func(headers []string) (json.RawMessage, string, error) {
			return m.savedMapping(ctx, s.actor, t.name, headers)
		}
	}
	v, err := look(f, t, settings, mapping)
	if err != nil {
		return nil, err
	}
	if settings.Timezone == "" {
		if settings.Timezone, err = m.zoneOf(ctx, s.actor); err != nil {
			return nil, err
		}
	}
	if v.zone, err = time.LoadLocation(settings.Timezone); err != nil {
		v.zone = time.UTC
	}
	st := m.stager(s, v)
	if mapping == nil && v.saved == "" {
		if err := st.refs.strangers(ctx, v); err != nil {
			return nil, err
		}
		st.fields, st.defaults = v.fields(), v.defaults()
	}
	if st.edits, err = m.edits(ctx, s.actor, s.job.ID); err != nil {
		return nil, err
	}
	if err := st.run(ctx, open); err != nil {
		return nil, err
	}
	return st.finish(ctx)
}

// stager is the second reading of a file: rows are checked and written away in
// chunks, as they were read and, the valid ones, as they will be applied.
type stager struct {
	m        *Importer
	step     *step
	v        *survey
	refs     *resolver
	fields   []string
	defaults map[string]string
	edits    map[int]record // corrections by row

	stats   Stats
	preview *Counts
	first   []RowError // for the answer
	chunks  int
	seen    *keys
	beat    time.Time
}

func (m *Importer) stager(s *step, v *survey) *stager {
	st := &stager{m: m, step: s, v: v, refs: m.resolver(s.actor), seen: newKeys()}
	st.fields, st.defaults = v.fields(), v.defaults()
	if v.settings.DryRun {
		st.preview = &Counts{}
	}
	return st
}

func (st *stager) run(ctx context.Context, open sheet.Source) error {
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
	st.beat = time.Now()
	var list []record
	for no := 1; ; no++ {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return st.stage(ctx, list)
		}
		if err != nil {
			return err
		}
		r, edited := st.edits[no]
		if !edited {
			r = recordOf(rec)
		}
		if list = append(list, r); len(list) == chunkRows {
			if err := st.stage(ctx, list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
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
		if good[i] = st.m.check(st.v, d); good[i] != nil {
			st.unique(d, good[i])
		}
	}
	return good, st.present(ctx, batch, good)
}

// chunk is a checked batch as it is kept.
type chunk struct {
	valid, invalid, errors int
	staged, records        []byte
}

// pack puts a judged batch into its two forms; the errors go to their records.
func (st *stager) pack(batch []*draft, good []store.Row, list []record) (*chunk, error) {
	c := &chunk{staged: []byte{}}
	for i, d := range batch {
		list[i].Errors = nil
		if len(d.errs) == 0 {
			c.valid++
			c.staged = appendStaged(c.staged, st.fields, d.line, good[i])
			continue
		}
		for _, e := range d.errs {
			e.Message = clip(e.Message, 500)
			list[i].Errors = append(list[i].Errors, e)
		}
		c.invalid++
		c.errors += len(d.errs)
	}
	var err error
	c.records, err = packRecords(list)
	return c, err
}

// unique refuses a key that an earlier row of the file has.
func (st *stager) unique(d *draft, row store.Row) {
	key := keyText(st.v.target.resource, row)
	if key == "" {
		return
	}
	if line, ok := st.seen.put(key, d.line); ok {
		cols := make([]string, 0, 2)
		for _, k := range st.v.target.resource.Import.Key {
			cols = append(cols, st.v.header(k))
		}
		d.fail(cols[len(cols)-1], "duplicate", "line %d has the same %s", line, strings.Join(cols, " and "))
	}
}

// keyText is a row's import key as text, "" when part of it is missing.
// Codes are equal without regard to case.
func keyText(r *catalog.Resource, row store.Row) string {
	var b []byte
	for _, k := range r.Import.Key {
		s, ok := row[k].(string)
		if !ok || s == "" {
			return ""
		}
		if f, _ := r.Field(k); f.Type == catalog.Text && f.Format == catalog.Code {
			s = strings.ToLower(s)
		}
		b = append(append(b, s...), 0)
	}
	return string(b)
}

// present refuses keys that exist already when only new records are wanted,
// unknown ones when only existing ones are, and states that a record cannot
// begin in or move to.
func (st *stager) present(ctx context.Context, batch []*draft, good []store.Row) error {
	r, mode := st.v.target.resource, st.v.settings.Mode
	states := r.States != nil && slices.Contains(st.fields, r.States.Field)
	if !st.v.target.keyed() || mode == ModeUpsert && !states {
		return nil
	}
	read := []string{"id"}
	if states {
		read = append(read, r.States.Field)
	}
	there := map[string]string{}
	err := st.m.db.Read(ctx, store.Scope(st.step.actor), func(tx *db.Tx) error {
		return lookKeys(tx, st.step.actor.TenantID, r, good, read, func(key string, row *db.Row) { there[key] = row.Text(len(read) - 1) })
	})
	if err != nil {
		return err
	}
	last := r.Import.Key[len(r.Import.Key)-1]
	for i, d := range batch {
		if good[i] == nil || len(d.errs) > 0 {
			continue
		}
		was, exists := there[keyText(r, good[i])]
		switch {
		case mode == ModeInsert && exists:
			d.fail(st.v.header(last), "exists", "%v exists already", good[i][last])
		case mode == ModeUpdate && !exists:
			d.fail(st.v.header(last), "unknown", "there is no record %v to update", good[i][last])
		case states:
			st.movable(d, good[i], was, exists)
		}
	}
	return nil
}

// movable holds a row's state to the state machine.
func (st *stager) movable(d *draft, row store.Row, was string, exists bool) {
	machine := st.v.target.resource.States
	to, ok := row[machine.Field].(string)
	switch {
	case !ok || exists && was == to:
	case !exists && !slices.Contains(machine.Initial, to):
		d.fail(st.v.header(machine.Field), "state", "a new record starts as %s, not as %s", strings.Join(machine.Initial, " or "), to)
	case exists:
		if legal, permitted := machine.Allows(was, to, st.step.actor.Role); !legal || !permitted {
			d.fail(st.v.header(machine.Field), "state", "the record is %s and cannot become %s", was, to)
		}
	}
}

// lookKeys reads columns of the records that have the keys of rows. The key
// columns must be texts or ids.
func lookKeys(tx *db.Tx, tenant string, r *catalog.Resource, rows []store.Row, cols []string, each func(key string, row *db.Row)) error {
	where := "tenant_id = $1"
	args := []any{tenant}
	read := append([]string(nil), cols...)
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		seen := map[string]bool{}
		var list []string
		for _, row := range rows {
			s, _ := row[k].(string)
			if f.Format == catalog.Code && f.Type == catalog.Text {
				s = strings.ToLower(s)
			}
			if s != "" && !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
		args = append(args, query.List(list))
		switch {
		case f.Type == catalog.UUID:
			where += " AND " + tx.DB().InUUID(k, len(args))
		case f.Format == catalog.Code:
			where += " AND " + tx.DB().InText("lower("+k+")", len(args))
		default:
			where += " AND " + tx.DB().InText(k, len(args))
		}
		read = append(read, k)
	}
	return tx.Query("SELECT "+strings.Join(read, ", ")+" FROM "+r.Name+" WHERE "+where, args, func(row *db.Row) error {
		key := store.Row{}
		for i, k := range r.Import.Key {
			key[k] = row.Text(len(cols) + i)
		}
		each(keyText(r, key), row)
		return nil
	})
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
	if time.Since(st.beat) < min(st.m.lease/3, time.Second) {
		return nil
	}
	job, err := st.m.set(tx, st.step.actor, st.step.job.ID, store.Row{"lease_until": st.m.store.Now().Add(st.m.lease),
		"total_rows": st.stats.TotalRows, "valid_rows": st.stats.ValidRows, "invalid_rows": st.stats.InvalidRows})
	if err != nil {
		return err
	}
	st.beat = time.Now()
	tx.After(func() { st.step.job = job })
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
		p := &plan{Fingerprint: settingsText(st.v.settings, job.Mapping), Mode: st.v.settings.Mode, Fields: st.fields, Chunks: st.chunks, Result: res}
		st.v.keep(p)
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
		_, err = st.m.set(tx, a, job.ID, store.Row{"status": Ready, "lease_until": nil, "processed_at": st.m.store.Now(), "message": clip(res.Message, 2000),
			"file_type": res.FileType, "encoding": st.v.format.Encoding, "delimiter": delimiterText(st.v.format),
			"total_rows": res.Stats.TotalRows, "valid_rows": res.Stats.ValidRows, "invalid_rows": res.Stats.InvalidRows})
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// delimiterText is null where nothing delimits.
func delimiterText(f sheet.Format) any {
	if f.Delimiter == 0 {
		return nil
	}
	return string(rune(f.Delimiter))
}

func (st *stager) result() *Processed {
	res := &Processed{Success: true, JobID: st.step.job.ID, FileType: st.v.format.Type, Stats: st.stats, Mapping: st.v.layout.used(), Columns: st.v.explain(), Preview: st.preview,
		Ignored: append([]string{}, st.v.layout.ignored...), Warnings: append([]string{}, st.v.warnings...), Errors: append([]RowError{}, st.first...)}
	if st.v.format.Encoding == "windows-1252" {
		res.Warnings = append(res.Warnings, "The file is not UTF-8 and was read as Windows-1252.")
	}
	for name, text := range st.v.target.defaults {
		if st.v.layout.column(name) == nil && st.v.settings.Defaults[name] == "" && st.v.settings.Mode != ModeUpdate {
			res.Warnings = append(res.Warnings, fmt.Sprintf("No column gives the %s: every row is taken as %s.", name, text))
		}
	}
	res.say()
	return res
}

// say puts the numbers into a sentence, with the warnings after it.
func (p *Processed) say() {
	n := p.Stats
	switch {
	case n.TotalRows == 0:
		p.Message = "The file has no rows below its header."
	case n.InvalidRows == 0:
		p.Message = fmt.Sprintf("All %d rows are ready to be applied.", n.TotalRows)
	default:
		p.Message = fmt.Sprintf("%d of %d rows are ready to be applied; %d have errors and will be left out.", n.ValidRows, n.TotalRows, n.InvalidRows)
	}
	if c := p.Preview; c != nil {
		p.Message += fmt.Sprintf(" They would make %d records, change %d and leave %d as they are.", c.Inserts, c.Updates, c.Unchanged)
	}
	for _, w := range p.Warnings {
		p.Message += " " + w
	}
}

// repeated warns when the same file was applied to the same target before and
// still stands. It returns nil or the warning.
func (m *Importer) repeated(tx *db.Tx, a actor.Actor, target, sha, except string) any {
	var no string
	err := tx.Query("SELECT job_no FROM import_jobs WHERE tenant_id = $1 AND sha256 = $2 AND target = $3 AND status = 'completed' AND id <> $4 ORDER BY id DESC LIMIT 1",
		[]any{a.TenantID, sha, target, except}, func(r *db.Row) error {
			no = r.Text(0)
			return nil
		})
	if err != nil || no == "" {
		return nil
	}
	return fmt.Sprintf("The same file was applied before by %s: applying it again needs the option force.", no)
}

// decOf reads a decimal out of a row; null is zero.
func decOf(row store.Row, field string) decimal.Dec {
	d, _ := row[field].(decimal.Dec)
	return d
}
