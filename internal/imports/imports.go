// Package imports takes a file of rows into the records and back out again: upload,
// check and stage, apply (in one transaction, or in chunks that resume), roll back by
// version. It speaks no HTTP. A job is a row of import_jobs and walks through its
// states only by compare-and-set under a row lock. Each step has a room of its own,
// which the Importer builds; it takes uploads itself, shows and exports the rows of
// jobs, and removes files whose time is over.
//
// Layer: across domains. Begin at [Importer].
package imports

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/imports/apply"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/check"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/imports/undo"
	"holdfast/internal/store"
)

// Files keeps uploads; a blob.Store is one.
type Files interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error)
	Open(ctx context.Context, key string) (io.ReadSeekCloser, error)
	Delete(ctx context.Context, key string) error
	List(ctx context.Context) iter.Seq2[blob.Info, error]
}

// MaxFile is the largest file taken, in bytes.
const MaxFile = sheet.MaxBytes

// Options are what an Importer works with. Lease 0 = one minute. OnChange is
// told, beside the store's own listeners, after a commit that wrote many rows,
// which resources of which tenant these were; nil = nobody listens.
type Options struct {
	Store    *store.Store
	Files    Files
	Lease    time.Duration
	Whole    int64 // rows applied in one transaction; 0 = 20,000
	Together int   // chunks of a larger job in one transaction; 0 = as the database likes them
	Quota    Quota // of each tenant
	OnChange func(tenant string, resources []string)
}

// wholeRows is how many rows are applied in one transaction. A larger job is
// applied chunk by chunk, so that other writers come in between; each chunk has
// its row in the journal, and a job that broke off goes on behind the last one.
const wholeRows = 20_000

// chunksTogether is how many chunks, or batches of a rollback, go into one
// transaction. A commit costs as much as writing some hundred rows; but on the
// embedded database all other writers wait for its end.
func chunksTogether(d *db.DB) int {
	if d.Engine() == db.SQLite {
		return 1
	}
	return 5
}

// Importer runs import jobs. It is safe for concurrent use, also by several
// processes on one PostgreSQL database.
type Importer struct {
	store   *store.Store
	db      *db.DB
	jobs    *jobs.Table
	targets targets.All
	shelf   *shelf
	checker *check.Checker
	applier *apply.Applier
	undoer  *undo.Undoer
}

// New returns an importer.
func New(o Options) *Importer {
	m := &Importer{store: o.Store, db: o.Store.DB(), targets: targets.Of(o.Store.Catalog())}
	if o.Whole == 0 {
		o.Whole = wholeRows
	}
	if o.Together == 0 {
		o.Together = chunksTogether(m.db)
	}
	if o.OnChange == nil {
		o.OnChange = func(string, []string) {}
	}
	records := bulk.New(o.Store, o.OnChange)
	m.jobs = jobs.NewTable(o.Store, o.Lease, func(a actor.Actor, target string) error {
		return targets.MayImport(m.targets, a, target)
	})
	m.shelf = &shelf{db: m.db, cat: o.Store.Catalog(), now: o.Store.Now, jobs: m.jobs, files: o.Files,
		quota: o.Quota.withDefaults()}
	m.checker = check.New(check.Options{Store: o.Store, Jobs: m.jobs, Records: records, Targets: m.targets,
		Files: o.Files})
	m.applier = apply.New(apply.Options{Store: o.Store, Jobs: m.jobs, Records: records, Targets: m.targets, Whole: o.Whole,
		Together: o.Together})
	m.undoer = undo.New(undo.Options{Store: o.Store, Jobs: m.jobs, Records: records, Targets: m.targets, Whole: o.Whole,
		Together: o.Together})
	return m
}

// Close ends the steps that are under way, each after a statement, and leaves
// their jobs as if the process had died, to go on where they can be asked to.
func (m *Importer) Close() { m.jobs.Close() }

// Recover gives jobs back that were being worked on when a process died, and
// returns how many. Call it at the start and now and then.
func (m *Importer) Recover(ctx context.Context) (int, error) { return m.jobs.Recover(ctx) }

// Request asks for a new job. Mapping is {field: header} or {field: column
// number from 1}, complete when given; nil = guessed from the header. Options
// is the JSON of Settings, or nil.
type Request struct {
	Target  string
	Mapping json.RawMessage
	Options json.RawMessage
}

// ErrorPage is one page of a job's row errors.
type ErrorPage struct {
	Errors   []staged.RowError `json:"errors"`
	Page     int               `json:"page"`
	PageSize int               `json:"pageSize"`
	Total    int64             `json:"total"`
	HasMore  bool              `json:"hasMore"`
}

// Process reads a job's file, checks every row and stages the valid ones:
// [check.Checker.Process].
func (m *Importer) Process(ctx context.Context, a actor.Actor, jobID string) (*plan.Processed, error) {
	return m.checker.Process(ctx, a, jobID)
}

// EditRow corrects a row of a ready job: [check.Checker.EditRow].
func (m *Importer) EditRow(ctx context.Context, a actor.Actor, jobID string, row int, e Edit) (*StagedRow, error) {
	rec, parsed, err := m.checker.EditRow(ctx, a, jobID, row, e)
	if err != nil {
		return nil, err
	}
	out := stagedRow(rec, row)
	out.Parsed = parsed
	return &out, nil
}

// Apply writes a ready job's valid rows: [apply.Applier.Apply].
func (m *Importer) Apply(ctx context.Context, a actor.Actor, jobID string) (*Applied, error) {
	return m.applier.Apply(ctx, a, jobID)
}

// Rollback puts back what an import changed: [undo.Undoer.Rollback].
func (m *Importer) Rollback(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.undoer.Rollback(ctx, a, jobID)
}

// RollbackRest is Rollback that leaves the records in conflict as they are:
// [undo.Undoer.RollbackRest].
func (m *Importer) RollbackRest(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.undoer.RollbackRest(ctx, a, jobID)
}
