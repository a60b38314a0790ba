package jobs

import (
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

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

// Job is a job as callers see it.
type Job struct {
	ID        string `json:"id"`
	TenantID  string `json:"tenant_id"`
	JobNo     string `json:"job_no"`
	Target    string `json:"target"`
	FileName  string `json:"file_name,omitempty"`
	FileType  string `json:"file_type,omitempty"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256,omitempty"`
	Encoding  string `json:"encoding,omitempty"`
	Delimiter string `json:"delimiter,omitempty"`
	// line of the file; 0 = it has none, nil = not known, or of JSON
	HeaderRow       *int64          `json:"header_row,omitempty"`
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

	BlobKey string    `json:"-"` // "" = it has no file, or no more
	Lease   time.Time `json:"-"`
	Claim   int64     `json:"-"` // of the process that works on it, 0 = none
	applied bool      // completely
}

// FromRow is a job of a row of import_jobs.
func FromRow(r store.Row) *Job {
	text := func(k string) string { s, _ := r[k].(string); return s }
	num := func(k string) int64 { n, _ := r[k].(int64); return n }
	raw := func(k string) json.RawMessage { j, _ := r[k].(json.RawMessage); return j }
	j := &Job{
		ID: text("id"), TenantID: text("tenant_id"), JobNo: text("job_no"), Target: text("target"),
		FileName: text("file_name"), FileType: text("file_type"),
		Size: num("size"), SHA256: text("sha256"), Encoding: text("encoding"), Delimiter: text("delimiter"),
		Mapping: raw("mapping"), Options: raw("options"),
		TotalRows: num("total_rows"), ValidRows: num("valid_rows"), InvalidRows: num("invalid_rows"),
		ImportedCount:   num("imported_count"),
		RolledBackCount: num("rolled_back_count"), Status: text("status"), Message: text("message"),
		CreatedAt: text("created_at"), Version: num("version"),
		BlobKey: text("blob_key"),
	}
	if n, ok := r["header_row"].(int64); ok {
		j.HeaderRow = &n
	}
	j.Lease, _ = time.Parse(db.TimeLayout, text("lease_until"))
	j.applied = r["applied_at"] != nil
	j.Claim = num("lease_claim")
	return j
}

// Partly reports a job that was applied in part.
func (j *Job) Partly() bool {
	return j.ImportedCount > 0 && (j.Status == Ready || j.Status == Failed)
}

// Untouched refuses what may not happen to a job that was applied in part.
func (j *Job) Untouched() error {
	if j.RolledBackCount > 0 && j.Status != RolledBack {
		rows := fault.Counted(j.RolledBackCount, "of its rows was", "of its rows were")
		return WrongState(j, rows+" rolled back: roll it back to the end")
	}
	if j.Partly() {
		rows := fault.Counted(j.ImportedCount, "of its rows was", "of its rows were")
		return WrongState(j, rows+" applied: apply it again to go on, or roll it back")
	}
	return nil
}

// Rest is the stable state an interrupted step falls back to, "" when none is
// under way.
func (j *Job) Rest() string {
	switch j.Status {
	case Processing:
		return Uploaded
	case Applying:
		return Ready
	case RollingBack:
		if !j.applied {
			return Ready
		}
		return Completed
	}
	return ""
}

// Acted reports a job that was applied, if only in part, or is over.
func (j *Job) Acted() bool {
	switch j.Status {
	case Uploaded, Ready, Failed:
		return j.Partly()
	}
	return true
}

// Unplanned refuses to show the rows of a job that has no plan: not yet, or no
// longer.
func Unplanned(job *Job) *fault.Error {
	if job.Status == Completed || job.Status == RolledBack {
		return WrongState(job, "its rows are no longer kept")
	}
	return WrongState(job, "must be processed first")
}

// WrongState refuses what a job cannot do in the state it is in.
func WrongState(job *Job, what string) *fault.Error {
	return fault.New(fault.Conflict, "import_state", "the import job is %s and %s",
		strings.ReplaceAll(job.Status, "_", " "), what).
		With("status: "+job.Status, "")
}

// Server is the actor that writes on behalf of a: the store asks it for no
// grant, and the record of who did it stays.
func Server(a actor.Actor) actor.Actor {
	a.Role = actor.Service
	return a
}
