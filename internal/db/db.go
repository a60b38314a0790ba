// Package db is the only package that knows the engine. It runs one SQL text
// on SQLite (embedded) and on the PostgreSQL family: readers and a single
// group-committing writer on SQLite; the scope, statements and commit in one
// pipelined round trip on PostgreSQL.
//
// House rules for SQL text are few: $1..$n by number, CAST instead of ::, the
// caller passes the time, NULLS FIRST or LAST always said, no JSON operators.
// Where the engines differ a statement has a word in braces, as in
// "id IN {ids $2}": see statement.go.
//
// Layer: adapters. Begin at [Open].
package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/trace"
)

// Engine names a database family.
type Engine string

// Engines.
const (
	SQLite     Engine = "SQLite"
	PostgreSQL Engine = "PostgreSQL"
)

// TimeLayout is the fixed-width UTC form of every instant, in JSON and in
// SQLite, so that texts sort as times do.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Signs of life that nodes and holders of work give each other in rows of the
// database: how often, and after how long without one a node counts no more.
const (
	BeatEvery = 10 * time.Second
	DeadAfter = 35 * time.Second
)

// NoTenant is the tenant of rows that belong to the platform itself.
const NoTenant = "00000000-0000-0000-0000-000000000000"

// Options say which database to open.
type Options struct {
	URL       string                                    // postgres://...; empty = SQLite in Dir
	Dir       string                                    // data directory of the embedded engine
	Exclusive bool                                      // take the data directory's lock (the server does)
	Pooler    bool                                      // a transaction pooler stands between: no named statements
	Shipped   bool                                      // the embedded engine's log is written back by Checkpoint alone
	Kept      *Keeper                                   // what kept the log in place so far; may be nil
	Migrate   bool                                      // bring the schema up to date
	PoolSize  int                                       // PostgreSQL connections or SQLite readers; 0 = a default
	Observe   func(s Scope, write bool, statements int) // called after each transaction that is not Counted; may be nil
	// for tests: SQLite runs each write twice, the first time undone (see Write)
	Rehearse bool
	// MarkEvery is how often a server's mark follows what is written (see LostCommits); 0 = 30 s.
	MarkEvery time.Duration
	Slow      Slow // what is told of statements that take long
}

// Scope is whose rows a transaction may touch.
type Scope struct {
	Tenant string // rows of this tenant
	User   string // and this user's own memberships
	All    bool   // every tenant: service key, maintenance
}

// DB is an open database, safe for concurrent use.
type DB struct {
	eng     engine
	kind    Engine
	version string
	observe func(s Scope, write bool, statements int)
	health  health
	slow    Slow
	log     atomic.Pointer[Log]

	recalled recalled

	statements     sync.Map // by their text, as the engine gets them
	statementCount atomic.Int64
}

type engine interface {
	read(ctx context.Context, s Scope, fn func(*Tx) error) error
	write(ctx context.Context, s Scope, fn func(*Tx) error) (*Tx, error)
	ping(ctx context.Context) error
	stats() Pool
	close() error
}

// Open opens, checks and (with o.Migrate) migrates the database.
func Open(ctx context.Context, o Options) (*DB, error) {
	d := &DB{observe: o.Observe, slow: o.Slow}
	if d.observe == nil {
		d.observe = func(Scope, bool, int) {}
	}
	var err error
	if o.URL == "" {
		d.kind = SQLite
		d.eng, d.version, err = openSQLite(d, o)
	} else {
		d.kind = PostgreSQL
		d.eng, d.version, err = openPostgres(ctx, d, o)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Engine returns the database family.
func (d *DB) Engine() Engine { return d.kind }

// Version returns the engine's own version text.
func (d *DB) Version() string { return d.version }

// Ping reports whether a statement can run and, on SQLite, whether the
// database file is still the one that was opened. After a write that failed for
// a full or read-only disk it is that failure until one succeeds, which Ping
// tries.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.eng.ping(ctx); err != nil {
		return err
	}
	return d.probeWrite(ctx)
}

// Log is what a process knows of what it writes to the audit log (package audit).
type Log interface {
	// PrepareWrite is called before each write transaction; write runs one that does not ask for it again.
	PrepareWrite(ctx context.Context, write LogWriter) error
}

// LogWriter runs a write transaction of all tenants.
type LogWriter func(ctx context.Context, fn func(*Tx) error) error

// KeepLog gives what package audit keeps of a database. One without is nobody's yet: what is
// written to its log is not taken for the server's.
func (d *DB) KeepLog(l Log) { d.log.Store(&l) }

// Log returns what KeepLog was given; nil before that.
func (d *DB) Log() Log {
	if l := d.log.Load(); l != nil {
		return *l
	}
	return nil
}

// prepareLog has the audit log get ready for a write.
func (d *DB) prepareLog(ctx context.Context) error {
	l := d.Log()
	if l == nil {
		return nil
	}
	err := classifyError(l.PrepareWrite(ctx, func(ctx context.Context, fn func(*Tx) error) error {
		_, err := d.eng.write(ctx, Scope{All: true}, fn)
		return err
	}))
	if err != nil {
		d.health.noteWrite(err)
	}
	return err
}

// Close waits for running transactions and closes the database.
func (d *DB) Close() error { return d.eng.close() }

// Read runs fn on one snapshot of the rows in scope. fn must not write.
func (d *DB) Read(ctx context.Context, s Scope, fn func(*Tx) error) error {
	if err := s.checkUUIDs(); err != nil {
		return err
	}
	n := 0
	err := d.eng.read(ctx, s, countStatements(fn, &n))
	d.observeTransaction(ctx, s, false, n)
	return classifyError(err)
}

// countStatements runs fn and leaves the number of statements it asked for in n.
func countStatements(fn func(*Tx) error, n *int) func(*Tx) error {
	return func(t *Tx) error {
		err := fn(t)
		*n = t.asked
		return err
	}
}

// retries is how often a write that lost a serialization race runs again.
const retries = 3

// Write runs fn in one transaction; a nil result means it is durable. On any
// error nothing was written, except that a fault with code 08007 says the
// connection was lost during commit and the outcome is unknown. fn may run
// more than once: after a deadlock or serialization failure, and on SQLite when
// a write failed that shared its transaction. So it works on nothing that an
// earlier run has changed, or takes that back with Tx.Undone.
func (d *DB) Write(ctx context.Context, s Scope, fn func(*Tx) error) (err error) {
	if err := s.checkUUIDs(); err != nil {
		return err
	}
	if err := d.prepareLog(ctx); err != nil {
		return err
	}
	ctx, span := trace.Begin(ctx, "transaction", "")
	defer func() { span.End(err) }()
	for attempt := 1; ; attempt++ {
		n := 0
		tx, err := d.eng.write(ctx, s, countStatements(fn, &n))
		d.observeTransaction(ctx, s, true, n)
		if err == nil {
			for _, f := range tx.after {
				f()
			}
			return nil
		}
		err = classifyError(err)
		d.health.noteWrite(err)
		if attempt > retries || !isRetryable(err) || ctx.Err() != nil {
			return err
		}
		// Two that collided and wait equally long collide again.
		time.Sleep(time.Duration(attempt)*5*time.Millisecond + rand.N(20*time.Millisecond))
	}
}

func isRetryable(err error) bool {
	code := fault.As(err).Code
	return code == "40001" || code == "40P01"
}

// checkUUIDs keeps anything but UUIDs out of the scope, and so of SET LOCAL's text.
func (s Scope) checkUUIDs() error {
	for _, id := range []string{s.Tenant, s.User} {
		if id == "" {
			continue
		}
		if _, err := uuid.Parse(id); err != nil || len(id) != 36 || strings.ToLower(id) != id {
			return fmt.Errorf("db: scope id %q is not canonical", id)
		}
	}
	return nil
}

type stmt struct {
	sql  string
	args []any
	each func(*Row) error
	n    *int64
	once bool // its text is not worth keeping prepared
}

// Tx is a running transaction. Queued statements run at the next Flush, or
// with the commit; on PostgreSQL what is flushed together is one round trip.
type Tx struct {
	ctx   context.Context
	scope Scope
	db    *DB
	queue []stmt
	run   func([]stmt) error
	after []func()
	undo  []func()
	busy  bool
	reads bool // only
	last  bool // nothing comes after the flush that runs
	lost  bool // whether it was committed is unknown
	asked int

	guessed []string // keys of what it recalled and the database has not confirmed
}

// Context returns the context the transaction runs under.
func (t *Tx) Context() context.Context { return t.ctx }

// DB returns the database, for its fragments.
func (t *Tx) DB() *DB { return t.db }

// After calls f once the transaction has committed.
func (t *Tx) After(f func()) { t.after = append(t.after, f) }

// Relaxed lets the commit return before it is durable, for what may be lost when
// the database server breaks down. SQLite shares its commits anyway.
func (t *Tx) Relaxed() {
	if t.db.Engine() == PostgreSQL {
		t.queue = append(t.queue, stmt{sql: "SELECT set_config('synchronous_commit', 'off', true)"})
	}
}

// Undone calls f if what the transaction did is undone: because it failed, or
// because it has to run once more. f is for what the transaction's function
// noted outside the database.
func (t *Tx) Undone(f func()) { t.undo = append(t.undo, f) }

// IsLost reports to what Undone calls that the connection went away during the commit: whether
// the transaction was committed is unknown.
func (t *Tx) IsLost() bool { return t.lost }

func (t *Tx) runUndo() {
	for _, f := range t.undo {
		f()
	}
}

// Queue adds a statement to run at the next Flush or at commit. each is called
// for every row and must neither keep the Row nor use the transaction; nil for
// a statement without rows. A statement whose result may veto the transaction
// must be flushed before the transaction's function returns.
func (t *Tx) Queue(sql string, args []any, each func(*Row) error) {
	t.asked++
	t.queue = append(t.queue, stmt{sql: t.db.expandStatement(sql), args: args, each: each})
}

// Flush runs what is queued, in order, and stops at the first error.
func (t *Tx) Flush() error {
	if len(t.queue) == 0 {
		return nil
	}
	if err := t.endedError(); err != nil {
		return err
	}
	q := t.queue
	t.queue = nil
	t.busy = true
	defer func() { t.busy = t.last }()
	if err := t.runWatched(q, t.run); err != nil {
		return err
	}
	t.guessed = nil // the database has answered the same
	return nil
}

// endedError is the error of a statement that comes too late.
func (t *Tx) endedError() error {
	if t.busy && len(t.queue) > 0 {
		return errors.New("db: a row callback used its own transaction, or a read its ended one")
	}
	return nil
}

// Last says that a read asks for nothing more after its next flush, so that its
// end can travel with that: a read of one flush is then one round trip, and if it
// is one statement, no more than that statement. In a write it does nothing.
func (t *Tx) Last() *Tx {
	t.last = t.reads
	return t
}

// End is the last Flush of a read.
func (t *Tx) End() error { return classifyError(t.Last().Flush()) }

// Query queues a statement and flushes.
func (t *Tx) Query(sql string, args []any, each func(*Row) error) error {
	t.Queue(sql, args, each)
	return classifyError(t.Flush())
}

// One runs a statement and scans its first row; no row is fault.NotFound.
func (t *Tx) One(sql string, args []any, scan func(*Row) error) error {
	found := false
	err := t.Query(sql, args, func(r *Row) error {
		if found {
			return nil
		}
		found = true
		return scan(r)
	})
	if err == nil && !found {
		return fault.New(fault.NotFound, "", "not found")
	}
	return err
}

// Exec flushes, runs a statement and returns the rows it affected.
func (t *Tx) Exec(sql string, args ...any) (int64, error) {
	var n int64
	t.asked++
	t.queue = append(t.queue, stmt{sql: t.db.expandStatement(sql), args: args, n: &n})
	err := classifyError(t.Flush())
	return n, err
}

// encodeArgument turns an argument into nil, string, int64, bool, float64 or []byte.
func encodeArgument(a any) (any, error) {
	switch v := a.(type) {
	case nil, string, int64, bool, float64:
		return v, nil
	case []byte:
		if v == nil {
			return nil, nil
		}
		return v, nil
	case int:
		return int64(v), nil
	case decimal.Dec:
		return int64(v), nil
	case time.Time:
		return v.UTC().Format(TimeLayout), nil
	case *time.Time:
		if v == nil {
			return nil, nil
		}
		return v.UTC().Format(TimeLayout), nil
	case *string:
		if v == nil {
			return nil, nil
		}
		return *v, nil
	case *int64:
		if v == nil {
			return nil, nil
		}
		return *v, nil
	}
	// Named string types (roles, states) and raw JSON bind as their text.
	if s, ok := textOf(a); ok {
		return s, nil
	}
	return nil, fmt.Errorf("db: cannot bind %T", a)
}
