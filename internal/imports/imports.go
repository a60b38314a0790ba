// Package imports takes a file of rows into the records and back out again:
// upload, check and stage, apply (in one transaction, or in chunks that resume),
// roll back by version. It
// speaks no HTTP. A job is a row of import_jobs and walks through its states
// only by compare-and-set under a row lock.
//
// Floor: between domains. Begin at [Importer].
package imports

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
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

// Importer runs import jobs. It is safe for concurrent use, also by several
// processes on one PostgreSQL database.
type Importer struct {
	store   *store.Store
	quiet   *store.Store // the same without audit rows
	db      *db.DB
	cat     *catalog.Catalog
	jobs    *jobs.Table
	shelf   *shelf
	whole   int64
	some    int // chunks, or batches of a rollback, in one transaction
	changed func(tenant string, resources []string)
	targets map[string]*targets.Target
}

// New returns an importer.
func New(o Options) *Importer {
	m := &Importer{store: o.Store, quiet: o.Store.Unaudited(), db: o.Store.DB(), cat: o.Store.Catalog(), changed: o.OnChange}
	if m.whole = o.Whole; m.whole == 0 {
		m.whole = wholeRows
	}
	if m.some = o.Together; m.some == 0 {
		m.some = together(m.db)
	}
	if m.changed == nil {
		m.changed = func(string, []string) {}
	}
	m.targets = targets.Of(m.cat)
	m.jobs = jobs.NewTable(o.Store, o.Lease, func(a actor.Actor, target string) error { return targets.MayImport(m.targets, a, target) })
	m.shelf = &shelf{db: m.db, cat: m.cat, now: o.Store.Now, jobs: m.jobs, files: o.Files, quota: o.Quota.filled()}
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

// Applied is the answer of Apply.
type Applied struct {
	Success       bool   `json:"success"`
	ImportedCount int64  `json:"imported_count"`
	Message       string `json:"message"`
}

// RolledBackResult is the answer of Rollback.
type RolledBackResult struct {
	Success    bool   `json:"success"`
	RolledBack int64  `json:"rolled_back"`
	Message    string `json:"message"`

	Kept      int        `json:"kept,omitempty"` // records in conflict that a partial rollback left
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Conflict is a record that keeps a rollback from happening.
type Conflict struct {
	EntityType string `json:"entity_type"`
	EntityID   string `json:"entity_id"`
	Label      string `json:"label"`
	Reason     string `json:"reason"`
}
