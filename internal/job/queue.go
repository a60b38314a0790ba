package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/db"
)

// States of a job. While a node does it, it is "running", and due says until when
// the node need not be heard of.
const (
	Pending = "pending" // is done when it is due
	Done    = "done"
	Failed  = "failed" // given up
)

// Job is one piece of work. Tenant, Kind and Key name it: what is added under the
// name of a job that is there, done or not, is not added again.
type Job struct {
	Tenant  string // db.NoTenant: the server's own
	Kind    string
	Key     string
	Payload []byte // JSON, what Run needs to know
	Made    time.Time
	Due     time.Time // not done before; the time it was made when zero
	Tries   int64     // begun so often, this time included
	claim   int64
}

// Decode reads the payload.
func (j Job) Decode(v any) error {
	if err := json.Unmarshal(j.Payload, v); err != nil {
		return Stop(fmt.Errorf("job: payload of %s %s: %w", j.Kind, j.Key, err))
	}
	return nil
}

// Stopped is an error that no further try mends.
type Stopped struct{ Err error }

// Error implements error.
func (s Stopped) Error() string { return s.Err.Error() }

// Unwrap returns what went wrong.
func (s Stopped) Unwrap() error { return s.Err }

// Stop marks an error that no further try mends: the job is given up.
func Stop(err error) error { return Stopped{err} }

// Alone marks an error that says nothing of the next job of the kind.
func Alone(err error) error { return lone{err} }

type lone struct{ error }

func (l lone) Unwrap() error { return l.error }

var columns = []db.Column{
	{Name: "tenant_id", Type: "uuid"}, {Name: "kind", Type: "text"}, {Name: "key", Type: "text"},
	{Name: "payload", Type: "text"},
	{Name: "status", Type: "text"}, {Name: "tries", Type: "bigint"}, {Name: "claim", Type: "bigint"},
	{Name: "made_at", Type: "timestamptz"}, {Name: "due_at", Type: "timestamptz"},
}

// Add queues the writing of jobs with the transaction.
func Add(tx *db.Tx, list ...Job) error {
	rows := tx.InsertMany("jobs", columns, "ON CONFLICT (tenant_id, kind, key) DO NOTHING")
	for _, j := range list {
		if j.Due.IsZero() {
			j.Due = j.Made
		}
		payload := string(j.Payload)
		if payload == "" {
			payload = "null"
		}
		if err := rows.Add(j.Tenant, j.Kind, j.Key, payload, Pending, int64(0), int64(0), j.Made.UTC(),
			j.Due.UTC()); err != nil {
			return fmt.Errorf("job: add %s: %w", j.Kind, err)
		}
	}
	rows.Queue()
	return nil
}

// addOnceSQL: $6 is until when a job that waits is too early.
const addOnceSQL = `
	INSERT INTO jobs (tenant_id, kind, key, payload, status, tries, claim, made_at, due_at)
	SELECT $1, $2, $3, 'null', 'pending', 0, 0, $4, $5
	WHERE NOT EXISTS (
		SELECT 1
		FROM jobs AS waiting
		WHERE waiting.tenant_id = $1
			AND waiting.kind = $2
			AND waiting.status = 'pending'
			AND waiting.tries = 0
			AND waiting.due_at > $6
	)`

// AddOnce queues the writing of a job without a payload, unless one of its tenant and kind waits
// that is due later than a moment: that one is then begun when this transaction is over, and
// sees what it wrote. One that has failed and waits for its next try is none of these. Two
// transactions at the same time may add one each; none waits for the other.
func AddOnce(tx *db.Tx, j Job, later time.Time) {
	tx.Queue(addOnceSQL, []any{j.Tenant, j.Kind, j.Key, j.Made.UTC(), j.Due.UTC(), later.UTC()}, nil)
}

// Made counts a tenant's jobs of a kind that were made since a moment.
func Made(tx *db.Tx, tenant, kind string, since time.Time) (n int64, err error) {
	err = tx.One(`
		SELECT COUNT(*)
		FROM jobs
		WHERE tenant_id = $1
			AND kind = $2
			AND made_at > $3`,
		[]any{tenant, kind, since.UTC()}, func(r *db.Row) error {
			n = r.Int(0)
			return nil
		})
	if err != nil {
		return 0, fmt.Errorf("job: made of %s: %w", kind, err)
	}
	return n, nil
}

const latestSQL = `
	SELECT key, payload, made_at, due_at, status, tries
	FROM jobs
	WHERE tenant_id = $1 AND kind = $2 AND made_at > $3
	ORDER BY made_at, key
	{for update}`

// Latest returns a tenant's jobs of a kind made since a moment, oldest first, and
// locks them: who works on one meanwhile waits for the transaction. Untouched
// tells which nobody has begun; Replace still changes those.
func Latest(tx *db.Tx, tenant, kind string, since time.Time) (list []Latter, err error) {
	err = tx.Query(latestSQL, []any{tenant, kind, since.UTC()}, func(r *db.Row) error {
		list = append(list, Latter{
			Job: Job{
				Tenant: tenant, Kind: kind, Key: r.Text(0), Payload: []byte(r.Text(1)),
				Made: r.Time(2), Due: r.Time(3), Tries: r.Int(5),
			},
			Untouched: r.Text(4) == Pending && r.Int(5) == 0,
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("job: latest of %s: %w", kind, err)
	}
	return list, nil
}

// Latter is a job that was made lately.
type Latter struct {
	Job
	Untouched bool // nobody has begun it
}

// Replace queues a new payload for a job that nobody has begun.
func Replace(tx *db.Tx, j Job) {
	tx.Queue(`
		UPDATE jobs
		SET payload = $4
		WHERE tenant_id = $1
			AND kind = $2
			AND key = $3
			AND status = 'pending'
			AND tries = 0`,
		[]any{j.Tenant, j.Kind, j.Key, string(j.Payload)}, nil)
}

const turnSQL = `
	INSERT INTO jobs (tenant_id, kind, key, payload, status, tries, claim, made_at, due_at)
	VALUES ($1, $2, 'turn', 'null', 'done', 0, 0, $3, $3)
	ON CONFLICT (tenant_id, kind, key) DO UPDATE SET made_at = excluded.made_at`

// LockKind queues taking the lock of a tenant for a kind of job: another transaction that takes it waits for
// the end of the transaction.
func LockKind(tx *db.Tx, tenant, kind string, now time.Time) {
	tx.Queue(turnSQL, []any{tenant, kind, now.UTC()}, nil)
}

// LastKeys returns the last key of a kind in the order of bytes, by tenant.
func LastKeys(tx *db.Tx, kind string) (map[string]string, error) {
	last := map[string]string{}
	err := tx.Query(`
		SELECT tenant_id, MAX(key)
		FROM jobs
		WHERE kind = $1
		GROUP BY tenant_id`, []any{kind},
		func(r *db.Row) error {
			last[r.Text(0)] = r.Text(1)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("job: last keys of %s: %w", kind, err)
	}
	return last, nil
}

const markSQL = `
	INSERT INTO jobs (tenant_id, kind, key, payload, status, tries, claim, made_at, due_at)
	VALUES ($1, $2, $3, 'null', 'done', 0, 0, $4, $4)
	ON CONFLICT (tenant_id, kind, key) DO NOTHING`

// Mark notes that something was done, under a name that Add then passes over, and
// says whether this transaction is the first to note it.
func Mark(tx *db.Tx, j Job) (first bool, err error) {
	n, err := tx.Exec(markSQL, j.Tenant, j.Kind, j.Key, j.Made.UTC())
	if err != nil {
		return false, fmt.Errorf("job: mark %s: %w", j.Kind, err)
	}
	return n == 1, nil
}

// Status is a job as an operator sees it.
type Status struct {
	Tenant string     `json:"tenant_id,omitempty"`
	Kind   string     `json:"kind"`
	Key    string     `json:"key"`
	Status string     `json:"status"`
	Tries  int64      `json:"tries"`
	Made   time.Time  `json:"made_at"`
	Due    time.Time  `json:"due_at"`
	Done   *time.Time `json:"done_at,omitempty"`
	Error  string     `json:"error,omitempty"`
}

// Filter says which jobs are meant; an empty member means all.
type Filter struct {
	Tenant, Kind, Key, Status string
	Open                      bool // those that are not done
}

func (f Filter) whereClause() (string, []any) {
	text, args := "1 = 1", []any(nil)
	for _, c := range [...]struct{ column, value string }{{"tenant_id", f.Tenant}, {"kind", f.Kind}, {"key", f.Key},
		{"status", f.Status}} {
		if c.value != "" {
			args = append(args, c.value)
			text += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	if f.Open {
		text += " AND status <> 'done'"
	}
	return text, args
}

// filterScope is that of the tenant whose jobs are meant, where they are one's.
func (f Filter) filterScope() db.Scope {
	if f.Tenant == "" {
		return scopeOfAll()
	}
	return db.Scope{Tenant: f.Tenant}
}

// orderClause puts those due first in front; of those that are done, the last.
func (f Filter) orderClause() string {
	if f.Status == Done {
		return "due_at DESC, kind, key"
	}
	return "due_at, kind, key"
}

const listSQL = `
	SELECT tenant_id, kind, key, status, tries, made_at, due_at, done_at, error
	FROM jobs
	WHERE %s
	ORDER BY %s
	LIMIT %d`

// List returns at most limit jobs, those due first in front, of those that are
// done the last.
func List(ctx context.Context, d *db.DB, f Filter, limit int) (list []Status, err error) {
	where, args := f.whereClause()
	err = d.Read(ctx, f.filterScope(), func(tx *db.Tx) error {
		list = nil
		return tx.Query(fmt.Sprintf(listSQL, where, f.orderClause(), limit), args, func(r *db.Row) error {
			s := Status{Tenant: r.Text(0), Kind: r.Text(1), Key: r.Text(2), Status: r.Text(3), Tries: r.Int(4),
				Made: r.Time(5), Due: r.Time(6), Error: r.Text(8)}
			if s.Tenant == db.NoTenant {
				s.Tenant = ""
			}
			if !r.Null(7) {
				at := r.Time(7)
				s.Done = &at
			}
			list = append(list, s)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("job: list: %w", err)
	}
	return list, nil
}

const hurrySQL = `
	UPDATE jobs
	SET status = 'pending', due_at = $%d, made_at = CASE WHEN status = 'failed' THEN $%d ELSE made_at END,
		tries = CASE WHEN status = 'failed' THEN 0 ELSE tries END
	WHERE %s AND status IN ('pending', 'failed')`

// Hurry makes jobs due at once: those that wait and those that were given up. It
// returns how many.
func Hurry(ctx context.Context, d *db.DB, now time.Time, f Filter) (n int64, err error) {
	where, args := f.whereClause()
	args = append(args, now.UTC())
	err = d.Write(ctx, f.filterScope(), func(tx *db.Tx) (err error) {
		n, err = tx.Exec(fmt.Sprintf(hurrySQL, len(args), len(args), where), args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("job: hurry: %w", err)
	}
	return n, nil
}

// takeBackSQL: $1 now.
const takeBackSQL = `
	UPDATE jobs
	SET status = 'pending',
		due_at = $1
	WHERE status = 'running'`

// TakeBack makes due again the jobs that nodes hold which are not there any more: those
// of the original in a restored copy.
func TakeBack(ctx context.Context, d *db.DB, now time.Time) error {
	err := d.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		_, err := tx.Exec(takeBackSQL, now.UTC())
		return err
	})
	if err != nil {
		return fmt.Errorf("job: take back: %w", err)
	}
	return nil
}

// Counts is how many jobs of a kind wait or were given up, and since when the
// oldest of those that wait is due; nil when none is.
type Counts struct {
	Pending, Failed int64
	DueSince        *time.Time
}

const countSQL = `
	SELECT kind, status, COUNT(*), MIN(due_at)
	FROM jobs
	WHERE status IN ('pending', 'failed')
	GROUP BY kind, status`

// Count counts by kind what is not done.
func Count(ctx context.Context, d *db.DB, now time.Time) (map[string]Counts, error) {
	out := map[string]Counts{}
	err := d.Read(ctx, scopeOfAll(), func(tx *db.Tx) error {
		clear(out)
		return tx.Query(countSQL, nil, func(r *db.Row) error {
			c := out[r.Text(0)]
			if r.Text(1) == Failed {
				c.Failed = r.Int(2)
			} else if c.Pending = r.Int(2); r.Time(3).Before(now) {
				at := r.Time(3)
				c.DueSince = &at
			}
			out[r.Text(0)] = c
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("job: count: %w", err)
	}
	return out, nil
}

func scopeOfAll() db.Scope { return db.Scope{All: true} }

func isLone(err error) bool {
	var l lone
	return errors.As(err, &l)
}

func isStopped(err error) bool {
	var s Stopped
	return errors.As(err, &s)
}
