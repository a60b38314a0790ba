package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
	"holdfast/internal/trace"
)

// Kind is a sort of job: what is done for one, and how it is tried again.
type Kind struct {
	Name string
	Doc  string
	Run  func(ctx context.Context, j Job) error
	// Every makes a schedule: the server's one job of the kind is due again so
	// long after it was done. 0 = a queue of what Add brings.
	Every time.Duration
	First time.Duration // of a schedule: after how long its first job is due; 0 = Every
	// Claim is how long the node that does a job may be silent before another
	// takes it; it is renewed while Run goes on.
	Claim time.Duration
	// Timeout lets a job that is begun go on while the server stops, for at most
	// so long. 0 = its context ends with the server.
	Timeout time.Duration
	// Retries are the waits before the second and further tries, the last one
	// again and again. Empty = a minute.
	Retries []time.Duration
	Life    time.Duration // a job so old is given up when it fails; 0 = never
	Keep    time.Duration // what is done or given up is forgotten so long after it was made; 0 = a month
	// Faults is how many failures in a row end a round, because what is behind
	// them is away; 0 = no bound. A job that is given up, or failed Alone, does
	// not count.
	Faults int
	Idle   func() bool // true = nothing of the kind can be done for now; nil = never
}

const (
	look      = 10 * time.Second // how often each kind looks for what is due
	page      = 20
	usualWait = time.Minute
	usualKeep = 30 * 24 * time.Hour
	usualHold = 5 * time.Minute
	careful   = 10 * time.Second // that noting an outcome may take

	// What a kind that cannot go on waits between two rounds.
	leastPause = time.Second
	mostPause  = 30 * time.Second

	longestError = 4 << 10 // bytes of an error that a job's row keeps
)

// ErrLost ends the context of a job that another node has taken, because this one
// was not heard of for too long.
var ErrLost = errors.New("job: taken by another node")

// key of the one job of a schedule.
const scheduled = "every"

// Runner does the jobs of its kinds on this node.
type Runner struct {
	db    *db.DB
	now   func() time.Time
	log   *slog.Logger
	kinds map[string]Kind
	rings map[string]chan struct{}

	Trace *trace.Tracer // of each job; nil = none
}

// NewRunner returns a runner of kinds whose names differ.
func NewRunner(d *db.DB, now func() time.Time, log *slog.Logger, kinds ...Kind) *Runner {
	r := &Runner{db: d, now: now, log: log, kinds: map[string]Kind{}, rings: map[string]chan struct{}{}}
	r.Handle(kinds...)
	return r
}

// Handle adds kinds, before Work: what rings for them may be made in between.
func (r *Runner) Handle(kinds ...Kind) {
	for _, k := range kinds {
		if k.Claim == 0 {
			k.Claim = usualHold
		}
		if len(k.Retries) == 0 {
			k.Retries = []time.Duration{usualWait}
		}
		if k.Keep == 0 {
			k.Keep = usualKeep
		}
		r.kinds[k.Name], r.rings[k.Name] = k, make(chan struct{}, 1)
	}
}

// Kinds lists the runner's kinds by name.
func (r *Runner) Kinds() map[string]Kind { return r.kinds }

// Ring lets a kind look at once for what is due. One that is not handled is
// passed over.
func (r *Runner) Ring(kind string) {
	select {
	case r.rings[kind] <- struct{}{}:
	default:
	}
}

// Work does what becomes due until ctx ends, then waits for what is begun.
func (r *Runner) Work(ctx context.Context) {
	var all sync.WaitGroup
	for name := range r.kinds {
		all.Go(func() { r.followKind(ctx, name) })
	}
	all.Wait()
}

// followKind does a kind's rounds: every so often, when it rings, and after a round
// that could not go on, at growing intervals.
func (r *Runner) followKind(ctx context.Context, kind string) {
	pace := backoff.New(r.log, "do jobs of kind "+kind, leastPause, mostPause)
	tick := time.NewTicker(look)
	defer tick.Stop()
	r.workRound(ctx, kind, pace)
	if first := r.kinds[kind].First; first > 0 {
		// The look before has noted when a new schedule is due, which may be long before the next one.
		defer time.AfterFunc(first, func() { r.Ring(kind) }).Stop()
	}
	for r.awaitRound(ctx, kind, tick, pace) {
		r.workRound(ctx, kind, pace)
	}
}

// awaitRound waits for a kind's next round and reports whether there is one.
func (r *Runner) awaitRound(ctx context.Context, kind string, tick *time.Ticker, pace *backoff.Backoff) bool {
	if pace.IsFailing() {
		return pace.Wait(ctx)
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick.C:
	case <-r.rings[kind]:
	}
	return ctx.Err() == nil
}

// workRound is a round whose failures go to the log.
func (r *Runner) workRound(ctx context.Context, kind string, pace *backoff.Backoff) {
	_, failed, err := r.doRound(ctx, kind)
	pace.Note(ctx, err)
	if failed != nil && err == nil && ctx.Err() == nil {
		r.log.Warn("a job failed; it will be tried again", "kind", kind, "error", failed)
	}
}

// Round does the jobs of a kind that are due, those of all tenants in turn, and
// returns how many it did. Several nodes may: each job is claimed by one. It ends
// early where the database takes no claims, or where what the jobs need is away.
func (r *Runner) Round(ctx context.Context, kind string) (done int, err error) {
	done, failed, err := r.doRound(ctx, kind)
	return done, errors.Join(err, failed)
}

const listDueSQL = `
	SELECT tenant_id, key, payload, made_at, due_at, tries, claim
	FROM (SELECT tenant_id, key, payload, made_at, due_at, tries, claim,
			ROW_NUMBER() OVER (PARTITION BY tenant_id ORDER BY due_at, key) AS turn
		FROM jobs
		WHERE kind = $1 AND status IN ('pending', 'running') AND due_at <= $2) j
	ORDER BY turn, due_at, key
	LIMIT %d`

func (r *Runner) listDue(ctx context.Context, k Kind) (list []Job, err error) {
	if k.Every > 0 {
		if err := r.ensureScheduled(ctx, k); err != nil {
			return nil, err
		}
	}
	err = r.db.Read(ctx, scopeOfAll(), func(tx *db.Tx) error {
		list = nil
		return tx.Query(fmt.Sprintf(listDueSQL, page),
			[]any{k.Name, r.now().UTC()}, func(row *db.Row) error {
				list = append(list, Job{Tenant: row.Text(0), Kind: k.Name, Key: row.Text(1), Payload: []byte(row.Text(2)),
					Made: row.Time(3), Due: row.Time(4), Tries: row.Int(5), claim: row.Int(6)})
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("job: due of %s: %w", k.Name, err)
	}
	return list, nil
}

// ensureScheduled sees to it that the one job of a schedule is there.
func (r *Runner) ensureScheduled(ctx context.Context, k Kind) error {
	there := false
	err := r.db.Read(ctx, scopeOfAll(), func(tx *db.Tx) error {
		there = false
		return tx.Query(`
			SELECT key
			FROM jobs
			WHERE tenant_id = $1
				AND kind = $2
				AND key = $3`,
			[]any{db.NoTenant, k.Name, scheduled}, func(*db.Row) error {
				there = true
				return nil
			})
	})
	if err == nil && !there {
		err = r.db.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
			return Add(tx, Job{Tenant: db.NoTenant, Kind: k.Name, Key: scheduled, Made: r.now(),
				Due: r.now().Add(cmp.Or(k.First, k.Every))})
		})
	}
	if err != nil {
		return fmt.Errorf("job: schedule %s: %w", k.Name, err)
	}
	return nil
}

// doJob claims a job, does it and notes what became of it. It returns false where
// another node has it.
func (r *Runner) doJob(ctx context.Context, k Kind, j Job) (mine bool, err error) {
	if mine, err = r.claimJob(ctx, k, &j); err != nil || !mine {
		return false, err
	}
	err = r.runJob(ctx, k, j)
	if errors.Is(err, ErrLost) {
		return true, err // it is another's to note
	}
	if err != nil && ctx.Err() != nil && k.Timeout == 0 {
		return true, r.writeOutcome(ctx, k, j, outcome{Pending, r.now(), nil}) // told to stop: the next node begins at once
	}
	noted := r.writeOutcome(ctx, k, j, r.outcomeOf(k, j, err))
	if err = errors.Join(err, noted); err != nil {
		return true, fmt.Errorf("job: %s %s: %w", j.Kind, j.Key, err)
	}
	return true, nil
}

const claimJobSQL = `
	UPDATE jobs
	SET status = 'running', tries = tries + 1, claim = claim + 1, due_at = $5
	WHERE tenant_id = $1
		AND kind = $2
		AND key = $3
		AND claim = $4
		AND status IN ('pending', 'running')
	RETURNING payload`

// claimJob takes a job that no other node has taken: the number of claims tells. It
// reads the payload again, which may have been replaced since.
func (r *Runner) claimJob(ctx context.Context, k Kind, j *Job) (mine bool, err error) {
	err = r.db.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		mine = false
		return tx.Query(claimJobSQL,
			[]any{j.Tenant, j.Kind, j.Key, j.claim, r.now().Add(k.Claim).UTC()}, func(row *db.Row) error {
				mine, j.Payload = true, []byte(row.Text(0))
				return nil
			})
	})
	if err != nil {
		return false, unstored{fmt.Errorf("job: claim %s %s: %w", j.Kind, j.Key, err)}
	}
	j.Tries++
	j.claim++
	return mine, nil
}

func (r *Runner) runJob(ctx context.Context, k Kind, j Job) (err error) {
	if k.Timeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithoutCancel(ctx), k.Timeout)
		defer end()
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beats sync.WaitGroup
	beats.Go(func() { r.holdClaim(work, k, j, cancel) })
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a job panicked", "kind", k.Name, "key", j.Key, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
		if errors.Is(context.Cause(work), ErrLost) {
			err = ErrLost
		}
		cancel(nil)
		beats.Wait()
	}()
	traced, span := r.Trace.Root(work, "job", k.Name)
	defer func() { span.End(err) }()
	return k.Run(traced, j)
}

// holdClaim renews a claim while its job goes on, and ends it when it is another's.
func (r *Runner) holdClaim(ctx context.Context, k Kind, j Job, lost context.CancelCauseFunc) {
	t := time.NewTicker(k.Claim / 4)
	defer t.Stop()
	renewals := backoff.New(r.log, "renew the claim of a job of kind "+k.Name, 0, 0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		still := true
		err := r.db.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
			n, err := tx.Exec(`
				UPDATE jobs
				SET due_at = $5
				WHERE tenant_id = $1
					AND kind = $2
					AND key = $3
					AND claim = $4
					AND status = 'running'`,
				j.Tenant, j.Kind, j.Key, j.claim, r.now().Add(k.Claim).UTC())
			still = err != nil || n == 1
			return err
		})
		renewals.Note(ctx, err)
		if err == nil && !still {
			lost(ErrLost)
			return
		}
	}
}

// outcome is what becomes of a job that was begun.
type outcome struct {
	status string
	due    time.Time
	err    error
}

func (r *Runner) outcomeOf(k Kind, j Job, err error) outcome {
	now := r.now()
	wait := k.Retries[min(int(j.Tries), len(k.Retries))-1]
	switch {
	case k.Every > 0 && err == nil:
		return outcome{Pending, now.Add(k.Every), nil}
	case k.Every > 0:
		return outcome{Pending, now.Add(wait), err}
	case err == nil:
		return outcome{Done, now, nil}
	case isStopped(err), k.Life > 0 && now.Sub(j.Made) >= k.Life:
		return outcome{Failed, now, err}
	}
	return outcome{Pending, now.Add(wait), err}
}

const writeOutcomeSQL = `
	UPDATE jobs
	SET status = $5, due_at = $6, error = $7, tries = $8, done_at = COALESCE($9, done_at)
	WHERE tenant_id = $1 AND kind = $2 AND key = $3 AND claim = $4`

// writeOutcome writes what became of a claimed job, also while the server stops.
func (r *Runner) writeOutcome(ctx context.Context, k Kind, j Job, o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), careful)
	defer cancel()
	text, tries, done := any(nil), j.Tries, any(nil)
	if o.err != nil {
		text = storable(o.err.Error())
	} else if k.Every > 0 {
		tries = 0
	}
	if o.err == nil && (o.status == Done || k.Every > 0) {
		done = r.now().UTC()
	}
	err := r.db.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		_, err := tx.Exec(writeOutcomeSQL, j.Tenant, j.Kind, j.Key, j.claim, o.status, o.due.UTC(), text, tries, done)
		return err
	})
	if err != nil {
		return unstored{fmt.Errorf("job: note %s %s: %w", j.Kind, j.Key, err)}
	}
	return nil
}

// storable cuts an error and takes out what a database text cannot hold.
func storable(text string) string {
	text = text[:min(len(text), longestError)]
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// Sweep forgets jobs that were done or given up, and marks, when their time is
// over.
func (r *Runner) Sweep(ctx context.Context) error {
	return r.db.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		own, args := "''", []any{r.now().Add(-usualKeep).UTC()}
		for name, k := range r.kinds {
			tx.Queue(`
				DELETE FROM jobs
				WHERE kind = $1
					AND status IN ('done', 'failed')
					AND made_at < $2`,
				[]any{name, r.now().Add(-k.Keep).UTC()}, nil)
			args = append(args, name)
			own += fmt.Sprintf(", $%d", len(args))
		}
		tx.Queue(db.FillWords(`
			DELETE FROM jobs
			WHERE status IN ('done', 'failed')
				AND made_at < $1
				AND kind NOT IN ({own})`, "{own}", own), args, nil)
		return nil
	})
}
