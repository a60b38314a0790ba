package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

func jobOf(r store.Row) *Job {
	text := func(k string) string { s, _ := r[k].(string); return s }
	num := func(k string) int64 { n, _ := r[k].(int64); return n }
	raw := func(k string) json.RawMessage { j, _ := r[k].(json.RawMessage); return j }
	j := &Job{
		ID: text("id"), TenantID: text("tenant_id"), JobNo: text("job_no"), Target: text("target"), FileName: text("file_name"), FileType: text("file_type"),
		Size: num("size"), SHA256: text("sha256"), Encoding: text("encoding"), Delimiter: text("delimiter"), Mapping: raw("mapping"), Options: raw("options"),
		TotalRows: num("total_rows"), ValidRows: num("valid_rows"), InvalidRows: num("invalid_rows"), ImportedCount: num("imported_count"),
		RolledBackCount: num("rolled_back_count"), Status: text("status"), Message: text("message"), CreatedAt: text("created_at"), Version: num("version"),
		blobKey: text("blob_key"),
	}
	if n, ok := r["header_row"].(int64); ok {
		j.HeaderRow = &n
	}
	j.lease, _ = time.Parse(db.TimeLayout, text("lease_until"))
	j.applied = r["applied_at"] != nil
	j.claim = num("lease_claim")
	return j
}

// loadFor is load for somebody who goes on to change the job.
func (m *Importer) loadFor(ctx context.Context, a actor.Actor, jobID string) (*Job, error) {
	if err := writable(a); err != nil {
		return nil, err
	}
	return m.load(ctx, a, jobID)
}

// load reads a job of the caller's tenant and checks that he may work on it.
func (m *Importer) load(ctx context.Context, a actor.Actor, jobID string) (*Job, error) {
	if err := m.allowed(a, ""); err != nil {
		return nil, err
	}
	id, err := uuid.Parse(jobID)
	if err != nil {
		return nil, fault.New(fault.Invalid, "22P02", "job_id is not a UUID").At("job_id", "is not a UUID")
	}
	var job *Job
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		job, err = m.read(tx, a, id.String(), "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return job, m.allowed(a, job.Target)
}

func (m *Importer) read(tx *db.Tx, a actor.Actor, jobID, lock string) (*Job, error) {
	rows, err := m.store.RowsTx(tx, a, m.jobs, "id = $2"+lock, []any{jobID})
	if err != nil {
		return nil, fmt.Errorf("imports: read job: %w", err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "job_not_found", "no import job %s", jobID)
	}
	return jobOf(rows[0]), nil
}

// locked reads a job and locks its row until the transaction ends.
func (m *Importer) locked(tx *db.Tx, a actor.Actor, jobID string) (*Job, error) {
	return m.read(tx, a, jobID, tx.DB().ForUpdate())
}

// set changes a locked job. Counters by status follow.
func (m *Importer) set(tx *db.Tx, a actor.Actor, jobID string, set store.Row) (*Job, error) {
	changes, err := m.quiet.UpdateTx(tx, server(a), m.jobs, []string{jobID}, set)
	if err != nil {
		return nil, fmt.Errorf("imports: change job: %w", err)
	}
	if len(changes) != 1 {
		return nil, fault.New(fault.NotFound, "job_not_found", "no import job %s", jobID)
	}
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("imports: change job: %w", err)
	}
	return jobOf(changes[0].After), nil
}

func wrongState(job *Job, what string) *fault.Error {
	return fault.New(fault.Conflict, "import_state", "the import job is %s and %s", strings.ReplaceAll(job.Status, "_", " "), what).
		With("status: "+job.Status, "")
}

// begin moves a job into a working state and takes the lease. admit may refuse
// the state it is in. Whoever began ends with leave.
func (m *Importer) begin(ctx context.Context, a actor.Actor, jobID, working string, admit func(tx *db.Tx, job *Job) error) (begun *step, err error) {
	job, err := m.loadFor(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	jobID = job.ID
	if _, busy := m.running.LoadOrStore(jobID, true); busy {
		return nil, busyJob(job)
	}
	if !m.places.take(job.TenantID) {
		m.running.Delete(jobID)
		return nil, crowded()
	}
	defer func() {
		if begun == nil { // refused, or it panicked
			m.places.give(job.TenantID)
			m.running.Delete(jobID)
		}
	}()
	s := &step{actor: a, working: working}
	claim := m.claims.of(ctx, m.db)
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		job, err := m.locked(tx, a, jobID)
		if err != nil {
			return err
		}
		if rest := job.rest(); rest != "" {
			orphan, err := m.orphaned(tx, job)
			if err != nil {
				return err
			}
			if !orphan {
				return busyJob(job)
			}
			job.Status = rest
		}
		if err := admit(tx, job); err != nil {
			return err
		}
		s.from, s.last, s.leases = job.Status, job.lease, nil
		s.job, err = m.set(tx, a, jobID, store.Row{"status": working, "lease_until": m.renew(s), "lease_claim": claim})
		return err
	})
	if err != nil {
		return nil, err
	}
	if !m.db.Alone() {
		m.beat(s)
	}
	return s, nil
}

// leave says that this process no longer works on a job, whatever came of it.
func (m *Importer) leave(s *step) {
	if s.rest != nil {
		s.rest()
	}
	m.places.give(s.job.TenantID)
	m.running.Delete(s.job.ID)
}

func crowded() error {
	f := fault.New(fault.Conflict, "import_busy",
		"%d import jobs are being worked on, and more at once are not: try again when one of them has finished", stepsAtOnce)
	f.RetryAfter = time.Second
	return f
}

func busyJob(job *Job) error {
	f := fault.New(fault.Conflict, "import_busy", "the import job is being worked on: try again when it has finished").With("status: "+job.Status, "")
	f.RetryAfter = time.Second
	return f
}

// orphaned reports that nobody works on a job in a working state. The caller
// has seen to it that this process does not; another one does as long as its
// claim is held, whatever the clocks say, or, where it could take none, its lease
// lasts.
func (m *Importer) orphaned(tx *db.Tx, job *Job) (bool, error) {
	switch {
	case m.db.Alone() || m.claims.ours(job.claim):
		return true, nil
	case job.claim == 0:
		return m.store.Now().After(job.lease), nil
	}
	return tx.Unclaimed(job.claim)
}

// hold locks the job inside a transaction of the step and makes sure that the
// lease is still this step's: the fence against a worker that was given up.
func (m *Importer) hold(tx *db.Tx, s *step) error {
	_, err := m.held(tx, s)
	return err
}

// held is hold that returns the job as it stands.
func (m *Importer) held(tx *db.Tx, s *step) (*Job, error) {
	job, err := m.locked(tx, s.actor, s.job.ID)
	if err != nil {
		return nil, err
	}
	if job.Status != s.working || !s.took(job.lease) {
		return nil, fault.New(fault.Conflict, "import_lost", "the import job was taken over by another worker")
	}
	return job, nil
}

// guarded runs work on a file's content; a panic there is an error of the job,
// which then ends like any other.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("imports: panic: %v", p)
		}
	}()
	return work()
}

// end leaves the job of a step that failed in state, with a message, unless
// somebody else has it by now. Of a step that Close ended it says what Recover
// would.
func (m *Importer) end(ctx context.Context, s *step, state, message string) error {
	ctx = context.WithoutCancel(ctx)
	if m.life.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeCare)
		defer cancel()
	}
	return m.db.Write(ctx, store.Scope(s.actor), func(tx *db.Tx) error {
		job, err := m.held(tx, s)
		if err != nil {
			if fault.HasCode(err, "import_lost") {
				return nil // its new owner says what became of it
			}
			return err
		}
		if m.life.Err() != nil {
			state, message = job.rest(), interrupted(job)
		}
		_, err = m.set(tx, s.actor, s.job.ID, store.Row{"status": state, "lease_until": nil, "message": clip(message, 2000)})
		return err
	})
}

// clip keeps the first n bytes of a text, at a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// Cancel ends a job nothing of which was applied, and drops its file.
func (m *Importer) Cancel(ctx context.Context, a actor.Actor, jobID string) (*Job, error) {
	job, err := m.loadFor(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	var done *Job
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		old, err := m.locked(tx, a, job.ID)
		if err != nil {
			return err
		}
		switch old.Status {
		case Created, Uploaded, Ready, Failed:
		default:
			return wrongState(old, "cannot be cancelled")
		}
		if err := old.untouched(); err != nil {
			return err
		}
		if err := m.forget(tx, a.TenantID, job.ID); err != nil {
			return err
		}
		m.audit(tx, a, old, "import_jobs.cancel", map[string]any{"target": old.Target, "file": old.FileName, "sha256": old.SHA256})
		done, err = m.set(tx, a, job.ID, store.Row{"status": Cancelled, "blob_key": nil})
		if err == nil {
			done.blobKey = old.blobKey
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("imports: cancel: %w", err)
	}
	m.drop(ctx, done.blobKey)
	return done, nil
}

// forget drops what a job has staged and what people corrected in it.
func (m *Importer) forget(tx *db.Tx, tenant, jobID string) error {
	tx.Queue("DELETE FROM import_edits WHERE tenant_id = $1 AND job_id = $2", []any{tenant, jobID}, nil)
	return m.clear(tx, tenant, jobID)
}

// clear drops what a job has staged.
func (m *Importer) clear(tx *db.Tx, tenant, jobID string) error {
	for _, table := range []string{"import_chunks", "import_records", "import_outcomes", "import_plans"} {
		tx.Queue("DELETE FROM "+table+" WHERE tenant_id = $1 AND job_id = $2", []any{tenant, jobID}, nil)
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("imports: clear staged rows: %w", err)
	}
	return nil
}

// Recover gives jobs back that were being worked on when a process died:
// processing becomes uploaded, applying ready, rolling_back what it was before.
// Of an apply the finished chunks are kept, and of a rollback the finished
// batches. Call it at the
// start and now and then. It returns how many jobs it gave back.
func (m *Importer) Recover(ctx context.Context) (int, error) {
	type orphan struct{ tenant, id string }
	var found []orphan
	err := m.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT tenant_id, id FROM import_jobs WHERE status IN ('processing', 'applying', 'rolling_back')", nil, func(r *db.Row) error {
			found = append(found, orphan{r.Text(0), r.Text(1)})
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("imports: recover: %w", err)
	}
	n := 0
	for _, o := range found {
		given, err := m.giveBack(ctx, o.tenant, o.id)
		if err != nil {
			return n, fmt.Errorf("imports: recover: %w", err)
		}
		if given {
			n++
		}
	}
	return n, nil
}

// interrupted tells what a step left that ended with its process.
func interrupted(job *Job) string {
	if job.Status == Applying && job.ImportedCount > 0 {
		return fmt.Sprintf("The server stopped during the work: %d of %d rows were applied. Apply again to go on, or roll back.", job.ImportedCount, job.ValidRows)
	}
	if job.Status == RollingBack && job.RolledBackCount > 0 {
		return fmt.Sprintf("The server stopped during the work: %d of %d records were rolled back. Roll back again to go on.", job.RolledBackCount, job.ImportedCount)
	}
	return "The server stopped during the work; nothing was changed. Run it again."
}

func (m *Importer) giveBack(ctx context.Context, tenant, id string) (given bool, err error) {
	if _, busy := m.running.LoadOrStore(id, true); busy {
		return false, nil
	}
	defer m.running.Delete(id)
	a := actor.Actor{TenantID: tenant, Role: actor.Service}
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		given = false
		// A job whose row is locked is being worked on, lease or not.
		rows, err := m.store.RowsTx(tx, a, m.jobs, "id = $2"+tx.DB().SkipLocked(), []any{id})
		if err != nil || len(rows) == 0 {
			return err
		}
		job := jobOf(rows[0])
		rest := job.rest()
		if rest == "" {
			return nil
		}
		if given, err = m.orphaned(tx, job); err != nil || !given {
			return err
		}
		_, err = m.set(tx, a, id, store.Row{"status": rest, "lease_until": nil, "message": interrupted(job)})
		return err
	})
	return given, err
}
