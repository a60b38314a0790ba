// Package imports takes a file of rows into the records and back out again:
// upload, check and stage, apply (in one transaction, or in chunks that resume),
// roll back by version. It
// speaks no HTTP. A job is a row of import_jobs and walks through its states
// only by compare-and-set under a row lock.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
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
	quiet   *store.Store // the same without audit rows: a job is audited as a whole
	db      *db.DB
	cat     *catalog.Catalog
	jobs    *catalog.Resource
	files   Files
	lease   time.Duration
	whole   int64
	some    int // chunks, or batches of a rollback, in one transaction
	quota   Quota
	changed func(tenant string, resources []string)
	targets map[string]*target
	running sync.Map // job ids at work in this process
	places  places
	claims  claims
	life    context.Context // of the steps, until Close
	stop    context.CancelFunc
}

// New returns an importer.
func New(o Options) *Importer {
	m := &Importer{store: o.Store, quiet: o.Store.Unaudited(), db: o.Store.DB(), cat: o.Store.Catalog(),
		files: o.Files, lease: o.Lease, quota: o.Quota.filled(), changed: o.OnChange}
	if m.whole = o.Whole; m.whole == 0 {
		m.whole = wholeRows
	}
	if m.some = o.Together; m.some == 0 {
		m.some = together(m.db)
	}
	if m.lease == 0 {
		m.lease = time.Minute
	}
	if m.changed == nil {
		m.changed = func(string, []string) {}
	}
	m.life, m.stop = context.WithCancel(context.Background())
	m.jobs, _ = m.cat.Get("import_jobs")
	m.targets = targets(m.cat)
	return m
}

// States of a job.
const (
	Created     = "created"
	Uploaded    = "uploaded"
	Processing  = "processing"
	Ready       = "ready"
	Applying    = "applying"
	Completed   = "completed"
	Failed      = "failed"
	Cancelled   = "cancelled"
	RollingBack = "rolling_back"
	RolledBack  = "rolled_back"
)

// Modes of an import: what happens to a row whose key exists already, or does
// not.
const (
	ModeInsert = "insert" // existing keys are refused
	ModeUpsert = "upsert" // existing records are changed, others made
	ModeUpdate = "update" // unknown keys are refused
)

// Settings are a job's options as JSON. A blank cell leaves the field as it
// is, or to its default in a new record.
type Settings struct {
	Mode string `json:"mode,omitempty"` // insert, upsert (default), update
	// false: the first row is data and the mapping gives column numbers; true: the first row
	// that is not blank is the header; found by looking when absent
	Header      *bool             `json:"header,omitempty"`
	HeaderRow   int               `json:"header_row,omitempty"`   // the line that the header begins on, or its row of a sheet; found by looking when absent
	Delimiter   string            `json:"delimiter,omitempty"`    // comma, semicolon, tab, pipe; found by looking when absent
	DateOrder   string            `json:"date_order,omitempty"`   // dmy, mdy or ymd, of columns that do not prove another, and of defaults
	DecimalMark string            `json:"decimal_mark,omitempty"` // "." or ",", likewise
	Timezone    string            `json:"timezone,omitempty"`     // of times without zone; the tenant's when absent
	Defaults    map[string]string `json:"defaults,omitempty"`     // field -> value for blank cells and absent columns
	Force       bool              `json:"force,omitempty"`        // apply although the same file was applied before
	Sheet       string            `json:"sheet,omitempty"`        // name or number from 1 of a workbook's sheet; the first visible one when absent
	Guess       bool              `json:"guess,omitempty"`        // recognise the columns anew, not as they were mapped for a file like it
	DryRun      bool              `json:"dry_run,omitempty"`      // check only: the job is never applied
}

// Request asks for a new job. Mapping is {field: header} or {field: column
// number from 1}, complete when given; nil = guessed from the header. Options
// is the JSON of Settings, or nil.
type Request struct {
	Target  string
	Mapping json.RawMessage
	Options json.RawMessage
}

// Job is a job as callers see it.
type Job struct {
	ID              string          `json:"id"`
	TenantID        string          `json:"tenant_id"`
	JobNo           string          `json:"job_no"`
	Target          string          `json:"target"`
	FileName        string          `json:"file_name,omitempty"`
	FileType        string          `json:"file_type,omitempty"`
	Size            int64           `json:"size"`
	SHA256          string          `json:"sha256,omitempty"`
	Encoding        string          `json:"encoding,omitempty"`
	Delimiter       string          `json:"delimiter,omitempty"`
	HeaderRow       *int64          `json:"header_row,omitempty"` // line of the file; 0 = it has none, nil = not known, or of JSON
	Mapping         json.RawMessage `json:"mapping,omitempty"`
	Options         json.RawMessage `json:"options"`
	TotalRows       int64           `json:"total_rows"`
	ValidRows       int64           `json:"valid_rows"`
	InvalidRows     int64           `json:"invalid_rows"`
	ImportedCount   int64           `json:"imported_count"`
	RolledBackCount int64           `json:"rolled_back_count"`
	Status          string          `json:"status"`
	Message         string          `json:"message,omitempty"`
	CreatedAt       string          `json:"created_at"`
	Version         int64           `json:"version"`

	blobKey string
	lease   time.Time
	claim   int64 // of the process that works on it, 0 = none
	applied bool  // completely
}

// Stats counts a file's rows.
type Stats struct {
	TotalRows   int64 `json:"total_rows"`
	ValidRows   int64 `json:"valid_rows"`
	InvalidRows int64 `json:"invalid_rows"`
}

// RowError is one thing wrong with one row: the physical line the record
// starts on, the column's header, and a code for programs.
type RowError struct {
	Line    int    `json:"line"`
	Column  string `json:"column"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ErrorPage is one page of a job's row errors.
type ErrorPage struct {
	Errors   []RowError `json:"errors"`
	Page     int        `json:"page"`
	PageSize int        `json:"pageSize"`
	Total    int64      `json:"total"`
	HasMore  bool       `json:"hasMore"`
}

// Processed is the answer of Process.
type Processed struct {
	Success  bool              `json:"success"`
	JobID    string            `json:"job_id"`
	FileType string            `json:"file_type"`
	Stats    Stats             `json:"stats"`
	Message  string            `json:"message"`
	Mapping  map[string]string `json:"mapping"`
	Columns  []Column          `json:"columns"`
	Preview  *Counts           `json:"preview,omitempty"` // of a dry run
	Ignored  []string          `json:"ignored_columns"`
	Warnings []string          `json:"warnings"`
	Errors   []RowError        `json:"errors"`
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

// server is the actor that writes on behalf of a: the store asks it for no
// grant, and the record of who did it stays.
func server(a actor.Actor) actor.Actor {
	a.Role = actor.Service
	return a
}

func parseSettings(raw json.RawMessage) (Settings, error) {
	var s Settings
	if len(raw) == 0 || string(raw) == "null" {
		s.Mode = ModeUpsert
		return s, nil
	}
	if err := strictJSON(raw, &s); err != nil {
		why := "must be an object of the documented options"
		var typ *json.UnmarshalTypeError
		switch {
		case errors.As(err, &typ) && typ.Field != "":
			why = "the option " + typ.Field + " cannot be " + typ.Value
		case strings.Contains(err.Error(), "unknown field"):
			why = strings.TrimPrefix(err.Error(), "json: ")
		}
		return s, fault.Wrap(err, fault.Invalid, "options", "the options cannot be used: %s", why).At("options", "%s", why)
	}
	if s.Mode == "" {
		s.Mode = ModeUpsert
	}
	return s, s.check()
}

// orders are the given order of dates, if any.
func (s *Settings) orders() []string {
	if s.DateOrder == "" {
		return nil
	}
	return []string{s.DateOrder}
}

// mark is the given decimal mark, 0 for none.
func (s *Settings) mark() byte {
	if s.DecimalMark == "" {
		return 0
	}
	return s.DecimalMark[0]
}

func (s *Settings) check() error {
	bad := func(field, format string, args ...any) error {
		f := fault.New(fault.Invalid, "options", "the "+spoken(field)+" "+format, args...)
		return f.At("options."+field, format, args...)
	}
	switch {
	case s.Mode != ModeInsert && s.Mode != ModeUpsert && s.Mode != ModeUpdate:
		return bad("mode", "must be insert, upsert or update")
	case s.DateOrder != "" && !slices.Contains([]string{cell.DMY, cell.MDY, cell.YMD}, s.DateOrder):
		return bad("date_order", "must be dmy, mdy or ymd")
	case s.HeaderRow < 0 || s.HeaderRow > 0 && s.Header != nil && !*s.Header:
		return bad("header_row", "must be a line from 1, of a file that has a header")
	case s.DecimalMark != "" && s.DecimalMark != "." && s.DecimalMark != ",":
		return bad("decimal_mark", `must be "." or ","`)
	}
	if _, err := sheet.ParseDelimiter(s.Delimiter); err != nil {
		return bad("delimiter", "must be comma, semicolon, tab or pipe")
	}
	if s.Timezone != "" {
		if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
			return bad("timezone", "is not an IANA time zone")
		}
	}
	return nil
}
