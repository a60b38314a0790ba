package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Table is the jobs of all tenants, and who works on each. It is safe for
// concurrent use, also by several processes on one PostgreSQL database.
type Table struct {
	store    *store.Store
	quiet    *store.Store // the same without audit rows: a job is audited as a whole
	db       *db.DB
	Resource *catalog.Resource
	may      func(a actor.Actor, target string) error // import into it
	lease    time.Duration
	running  sync.Map // job ids at work in this process
	places   places
	claims   claims
	life     context.Context // of the steps, until Close
	stop     context.CancelFunc
}

// WholeJob is how long a statement may take that looks at all rows of a job.
const WholeJob = 30 * time.Minute

// NewTable returns the jobs that s holds. A lease of 0 is a minute; may refuses
// a caller who may not import into a target.
func NewTable(s *store.Store, lease time.Duration, may func(a actor.Actor, target string) error) *Table {
	t := &Table{store: s, quiet: s.Unaudited(), db: s.DB(), lease: lease, may: may}
	if t.lease == 0 {
		t.lease = time.Minute
	}
	t.life, t.stop = context.WithCancel(context.Background())
	t.Resource, _ = s.Catalog().Get("import_jobs")
	return t
}

// LeaseTime is how long a step is let alone that gives no sign of life.
func (t *Table) LeaseTime() time.Duration { return t.lease }

// TakeClaim is the claim to work under, nil where there is none.
func (t *Table) TakeClaim(ctx context.Context) any { return t.claims.claimKey(ctx, t.db) }

// Here reports that this process works on a job.
func (t *Table) Here(id string) bool {
	_, busy := t.running.Load(id)
	return busy
}

// Allowed refuses callers who may not run imports into a target, "" = into any:
// those whom the catalog gives jobs to make, and a right on the target's
// records.
func (t *Table) Allowed(a actor.Actor, name string) error {
	if a.TenantID == "" {
		return fault.New(fault.Forbidden, "no_tenant", "no tenant is chosen")
	}
	if !query.May(t.Resource.Access.Create, a.Role) {
		return fault.New(fault.Forbidden, "42501", "role %q may not run imports", a.Role)
	}
	return t.may(a, name)
}

// Writable refuses what a suspended tenant may not do: it may only read.
func Writable(a actor.Actor) error {
	if a.Suspended {
		return fault.New(fault.Forbidden, "tenant_suspended", "the tenant is suspended: nothing can be written")
	}
	return nil
}

// LoadFor is load for somebody who goes on to change the job.
func (t *Table) LoadFor(ctx context.Context, a actor.Actor, jobID string) (*Job, error) {
	if err := Writable(a); err != nil {
		return nil, err
	}
	return t.Load(ctx, a, jobID)
}

// Load reads a job of the caller's tenant and checks that he may work on it.
func (t *Table) Load(ctx context.Context, a actor.Actor, jobID string) (*Job, error) {
	if err := t.Allowed(a, ""); err != nil {
		return nil, err
	}
	id, err := uuid.Parse(jobID)
	if err != nil {
		return nil, fault.New(fault.Invalid, "22P02", "job_id is not a UUID").At("job_id", "is not a UUID")
	}
	var job *Job
	err = t.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		job, err = t.Read(tx, a, id.String(), "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return job, t.Allowed(a, job.Target)
}

// Read reads a job of the caller's tenant; lock goes behind the condition, to lock
// its row. A missing job is fault.NotFound.
func (t *Table) Read(tx *db.Tx, a actor.Actor, jobID, lock string) (*Job, error) {
	rows, err := t.store.In(tx, a).Rows(t.Resource.Name, "id = $2"+lock, jobID)
	if err != nil {
		return nil, fmt.Errorf("imports: read job: %w", err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "job_not_found", "no import job %s", jobID)
	}
	return FromRow(rows[0]), nil
}

// Locked reads a job and locks its row until the transaction ends.
func (t *Table) Locked(tx *db.Tx, a actor.Actor, jobID string) (*Job, error) {
	return t.Read(tx, a, jobID, tx.DB().ForUpdate())
}

// Set changes a locked job. Counters by status follow.
func (t *Table) Set(tx *db.Tx, a actor.Actor, jobID string, set store.Row) (*Job, error) {
	changes, err := t.quiet.In(tx, Server(a)).ChangeRows(t.Resource.Name, []string{jobID}, set)
	if err != nil {
		return nil, fmt.Errorf("imports: change job: %w", err)
	}
	if len(changes) != 1 {
		return nil, fault.New(fault.NotFound, "job_not_found", "no import job %s", jobID)
	}
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("imports: change job: %w", err)
	}
	return FromRow(changes[0].After), nil
}

// Audit writes the one row that tells of a whole import.
func (t *Table) Audit(tx *db.Tx, a actor.Actor, job *Job, action string, details map[string]any) {
	audit.Write(tx, audit.Entry{Tenant: a.TenantID, At: t.store.Now(), By: a, Action: action, EntityType: "import_jobs",
		EntityID: job.ID, Details: details})
}

// Begin moves a job into a working state and takes the lease. admit may refuse
// the state it is in. Whoever began ends with leave.
func (t *Table) Begin(
	ctx context.Context, a actor.Actor, jobID, working string, admit func(tx *db.Tx, job *Job) error,
) (begun *Step, err error) {
	job, err := t.LoadFor(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	jobID = job.ID
	if _, busy := t.running.LoadOrStore(jobID, true); busy {
		return nil, Busy(job)
	}
	if !t.places.takePlace(job.TenantID) {
		t.running.Delete(jobID)
		return nil, refuseCrowded()
	}
	defer func() {
		if begun == nil { // refused, or it panicked
			t.places.givePlace(job.TenantID)
			t.running.Delete(jobID)
		}
	}()
	s := &Step{Actor: a, working: working}
	claim := t.TakeClaim(ctx)
	err = t.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		job, err := t.Locked(tx, a, jobID)
		if err != nil {
			return err
		}
		if rest := job.Rest(); rest != "" {
			orphan, err := t.Orphaned(tx, job)
			if err != nil {
				return err
			}
			if !orphan {
				return Busy(job)
			}
			job.Status = rest
		}
		if err := admit(tx, job); err != nil {
			return err
		}
		s.From, s.last, s.leases = job.Status, job.Lease, nil
		s.Job, err = t.Set(tx, a, jobID, store.Row{"status": working, "lease_until": t.Renew(s), "lease_claim": claim})
		return err
	})
	if err != nil {
		return nil, err
	}
	if !t.db.Alone() {
		t.renewLease(s)
	}
	return s, nil
}

// Leave says that this process no longer works on a job, whatever came of it.
func (t *Table) Leave(s *Step) {
	if s.rest != nil {
		s.rest()
	}
	t.places.givePlace(s.Job.TenantID)
	t.running.Delete(s.Job.ID)
}

func refuseCrowded() error {
	f := fault.New(fault.Conflict, "import_busy",
		"%d import jobs are being worked on, and more at once are not: try again when one of them has finished", stepsAtOnce)
	f.RetryAfter = time.Second
	return f
}

// Busy refuses a job that somebody works on.
func Busy(job *Job) error {
	f := fault.New(fault.Conflict, "import_busy",
		"the import job is being worked on: try again when it has finished").With("status: "+job.Status, "")
	f.RetryAfter = time.Second
	return f
}

// Orphaned reports that nobody works on a job in a working state. The caller
// has seen to it that this process does not; another one does as long as its
// claim is held, whatever the clocks say, or, where it could take none, its lease
// lasts.
func (t *Table) Orphaned(tx *db.Tx, job *Job) (bool, error) {
	if t.db.Alone() || t.claims.isOurs(job.Claim) {
		return true, nil
	}
	if job.Claim == 0 {
		return t.store.Now().After(job.Lease), nil
	}
	return tx.Unclaimed(job.Claim)
}

// Hold locks the job inside a transaction of the step and makes sure that the
// lease is still this step's: the fence against a worker that was given up.
func (t *Table) Hold(tx *db.Tx, s *Step) error {
	_, err := t.Held(tx, s)
	return err
}

// Held is hold that returns the job as it stands.
func (t *Table) Held(tx *db.Tx, s *Step) (*Job, error) {
	job, err := t.Locked(tx, s.Actor, s.Job.ID)
	if err != nil {
		return nil, err
	}
	if job.Status != s.working || !s.tookLease(job.Lease) {
		return nil, fault.New(fault.Conflict, "import_lost", "the import job was taken over by another worker")
	}
	return job, nil
}

// Guarded runs work on a file's content; a panic there is an error of the job,
// which then ends like any other.
func Guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("imports: panic: %v", p)
		}
	}()
	return work()
}

// ErrAnswered ends a transaction that found the answer already there.
var ErrAnswered = errors.New("imports: answered before")

// FailedState is where a step that broke leaves its job: failed when the job
// is at fault, back where it was when the server is, or who asked.
func FailedState(err error, rest string) string {
	switch fault.As(err).Kind {
	case fault.Internal, fault.Unavailable, fault.NoSpace, fault.Forbidden:
		return rest
	}
	return Failed
}

// Write runs a transaction of a step's work.
func (t *Table) Write(ctx context.Context, s *Step, work func(tx *db.Tx) error) error {
	return t.db.Write(ctx, store.Scope(s.Actor), func(tx *db.Tx) error {
		return Guarded(func() error { return work(tx) })
	})
}

// End leaves the job of a step that failed in state, with a message, unless
// somebody else has it by now. Of a step that Close ended it says what Recover
// would.
func (t *Table) End(ctx context.Context, s *Step, state, message string) error {
	ctx = context.WithoutCancel(ctx)
	if t.life.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeCare)
		defer cancel()
	}
	return t.db.Write(ctx, store.Scope(s.Actor), func(tx *db.Tx) error {
		job, err := t.Held(tx, s)
		if err != nil {
			if fault.HasCode(err, "import_lost") {
				return nil // its new owner says what became of it
			}
			return err
		}
		if t.life.Err() != nil {
			state, message = job.Rest(), interruptedMessage(job)
		}
		_, err = t.Set(tx, s.Actor, s.Job.ID, store.Row{"status": state, "lease_until": nil,
			"message": fault.Clip(message, 2000)})
		return err
	})
}

// Recover gives jobs back that were being worked on when a process died:
// processing becomes uploaded, applying ready, rolling_back what it was before.
// Of an apply the finished chunks are kept, and of a rollback the finished
// batches. Call it at the
// start and now and then. It returns how many jobs it gave back.
func (t *Table) Recover(ctx context.Context) (int, error) {
	type orphan struct{ tenant, id string }
	var found []orphan
	err := t.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT tenant_id, id
			FROM import_jobs
			WHERE status IN ('processing', 'applying', 'rolling_back')`,
			nil, func(r *db.Row) error {
				found = append(found, orphan{r.Text(0), r.Text(1)})
				return nil
			})
	})
	if err != nil {
		return 0, fmt.Errorf("imports: recover: %w", err)
	}
	n := 0
	for _, o := range found {
		given, err := t.giveBack(ctx, o.tenant, o.id)
		if err != nil {
			return n, fmt.Errorf("imports: recover: %w", err)
		}
		if given {
			n++
		}
	}
	return n, nil
}

// interruptedMessage tells what a step left that ended with its process.
func interruptedMessage(job *Job) string {
	if job.Status == Applying && job.ImportedCount > 0 {
		return fmt.Sprintf("The server stopped during the work: %d of %s applied. Apply again to go on, or roll back.",
			job.ImportedCount, fault.Counted(job.ValidRows, "row was", "rows were"))
	}
	if job.Status == RollingBack && job.RolledBackCount > 0 {
		return fmt.Sprintf("The server stopped during the work: %d of %s rolled back. Roll back again to go on.",
			job.RolledBackCount, fault.Counted(job.ImportedCount, "record was", "records were"))
	}
	return "The server stopped during the work; nothing was changed. Run it again."
}

func (t *Table) giveBack(ctx context.Context, tenant, id string) (given bool, err error) {
	if _, busy := t.running.LoadOrStore(id, true); busy {
		return false, nil
	}
	defer t.running.Delete(id)
	a := actor.Actor{TenantID: tenant, Role: actor.Service}
	err = t.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		given = false
		// A job whose row is locked is being worked on, lease or not.
		rows, err := t.store.In(tx, a).Rows(t.Resource.Name, "id = $2 {skip locked}", id)
		if err != nil || len(rows) == 0 {
			return err
		}
		job := FromRow(rows[0])
		rest := job.Rest()
		if rest == "" {
			return nil
		}
		if given, err = t.Orphaned(tx, job); err != nil || !given {
			return err
		}
		_, err = t.Set(tx, a, id, store.Row{"status": rest, "lease_until": nil, "message": interruptedMessage(job)})
		return err
	})
	return given, err
}
