package db

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"holdfast/internal/fault"
)

// minSQLite is the first version without the WAL-reset corruption bug
// (sqlite.org/wal.html#walresetbug).
const minSQLite = "3.51.3"

// FileName is the database inside the data directory.
const FileName = "holdfast.db"

type lite struct {
	db      *DB
	path    string
	inode   os.FileInfo
	readers chan *liteConn
	size    int
	writer  *liteConn
	writes  chan *writeJob
	done    chan struct{}
	lock    *os.File
	closing sync.Once
	seen    int64 // data_version at the last look; used by the writing goroutine alone
}

var liteDriver = sync.OnceValues(func() (*sqlite.Driver, error) {
	d := new(sqlite.Driver)
	return d, d.RegisterDeterministicScalarFunction("regexp", 2, matchRegexp)
})

// matchRegexp backs the REGEXP operator: X REGEXP Y calls regexp(Y, X).
func matchRegexp(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	pattern, ok1 := args[0].(string)
	text, ok2 := args[1].(string)
	if !ok1 || !ok2 {
		return nil, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return re.MatchString(text), nil
}

func openSQLite(ctx context.Context, d *DB, o Options) (engine, string, error) {
	if _, err := liteDriver(); err != nil {
		return nil, "", fmt.Errorf("db: register regexp: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("db: data directory: %w", err)
	}
	l := &lite{db: d, path: filepath.Join(o.Dir, FileName), writes: make(chan *writeJob, 256), done: make(chan struct{})}
	if o.Exclusive {
		f, err := lockDir(o.Dir)
		if err != nil {
			return nil, "", err
		}
		l.lock = f
	}
	version, err := l.start(ctx, o)
	if err != nil {
		l.release()
		return nil, "", err
	}
	return l, version, nil
}

func (l *lite) start(ctx context.Context, o Options) (string, error) {
	var err error
	if l.writer, err = l.connect("-16000"); err != nil {
		return "", err
	}
	var version string
	if err := l.writer.query(ctx, "SELECT sqlite_version()", nil, func(r *Row) error { version = r.Text(0); return nil }); err != nil {
		return "", err
	}
	if older(version, minSQLite) {
		return "", fmt.Errorf("db: SQLite %s is too old: %s fixed a corruption bug; build with a newer driver", version, minSQLite)
	}
	if err := os.Chmod(l.path, 0o600); err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	if l.inode, err = os.Stat(l.path); err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	if err := l.migrate(ctx, o.Migrate); err != nil {
		return "", err
	}
	l.size = o.PoolSize
	if l.size == 0 {
		l.size = 4
	}
	l.readers = make(chan *liteConn, l.size)
	for range l.size {
		c, err := l.connect("-16000")
		if err != nil {
			return "", err
		}
		l.readers <- c
	}
	go l.writeLoop()
	return version, nil
}

// connect opens one connection. cache is its page cache in negative KiB.
func (l *lite) connect(cache string) (*liteConn, error) {
	q := url.Values{}
	for _, p := range []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
		"case_sensitive_like(ON)", "cache_size(" + cache + ")", "temp_store(MEMORY)", "wal_autocheckpoint(2000)"} {
		q.Add("_pragma", p)
	}
	drv, err := liteDriver()
	if err != nil {
		return nil, err
	}
	c, err := drv.Open(l.path + "?" + q.Encode())
	if err != nil {
		return nil, fmt.Errorf("db: open %s: %w", l.path, err)
	}
	return &liteConn{conn: c.(liteDriverConn), stmts: map[string]*list.Element{}, order: list.New()}, nil
}

func (l *lite) read(ctx context.Context, s Scope, fn func(*Tx) error) error {
	var c *liteConn
	select {
	case c = <-l.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.readers <- c }()
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer c.exec("COMMIT") // a read has nothing to lose
	tx := &Tx{ctx: ctx, scope: s, db: l.db, run: func(q []stmt) error { return c.runAll(ctx, q) }}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Flush()
}

func (l *lite) ping(ctx context.Context) error {
	now, err := os.Stat(l.path)
	if err != nil || !os.SameFile(now, l.inode) {
		return fault.Wrap(err, fault.Unavailable, "58030", "the database file was moved or replaced; restart on the right data directory")
	}
	return l.read(ctx, Scope{}, func(tx *Tx) error { return tx.Query("SELECT 1", nil, func(*Row) error { return nil }) })
}

func (l *lite) close() error {
	l.closing.Do(func() {
		close(l.writes)
		<-l.done
		for range l.size {
			(<-l.readers).close()
		}
		l.writer.exec("PRAGMA wal_checkpoint(TRUNCATE)")
		l.writer.close()
		l.release()
	})
	return nil
}

func (l *lite) release() {
	if l.lock != nil {
		l.lock.Close()
		l.lock = nil
	}
}

// liteDriverConn is what package sqlite's connections offer below
// database/sql, whose per-call locking and conversions cost a third of a page.
type liteDriverConn interface {
	driver.Conn
	driver.ConnPrepareContext
}

// liteConn is one connection with its prepared statements, least recently
// used first out.
type liteConn struct {
	conn  liteDriverConn
	stmts map[string]*list.Element
	order *list.List
	named []driver.NamedValue
	vals  []driver.Value
}

type liteStmt struct {
	sql  string
	stmt driver.Stmt
}

// maxStatements bounds the prepared statements of a connection.
const maxStatements = 400

func (c *liteConn) prepare(sql string) (driver.Stmt, error) {
	if e := c.stmts[sql]; e != nil {
		c.order.MoveToBack(e)
		return e.Value.(*liteStmt).stmt, nil
	}
	st, err := c.conn.PrepareContext(context.Background(), sql)
	if err != nil {
		return nil, fmt.Errorf("db: prepare %s: %w", sql, err)
	}
	c.stmts[sql] = c.order.PushBack(&liteStmt{sql, st})
	if c.order.Len() > maxStatements {
		old := c.order.Remove(c.order.Front()).(*liteStmt)
		delete(c.stmts, old.sql)
		old.stmt.Close()
	}
	return st, nil
}

func (c *liteConn) bind(args []any) ([]driver.NamedValue, error) {
	c.named = c.named[:0]
	for i, a := range args {
		v, err := encode(a)
		if err != nil {
			return nil, err
		}
		c.named = append(c.named, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.named, nil
}

func (c *liteConn) runAll(ctx context.Context, q []stmt) error {
	for _, s := range q {
		if err := c.runOne(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *liteConn) runOne(ctx context.Context, s stmt) error {
	if s.each != nil {
		return c.query(ctx, s.sql, s.args, s.each)
	}
	st, err := c.prepare(s.sql)
	if err != nil {
		return err
	}
	args, err := c.bind(s.args)
	if err != nil {
		return err
	}
	res, err := st.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return err
	}
	if s.n != nil {
		*s.n, err = res.RowsAffected()
	}
	return err
}

func (c *liteConn) query(ctx context.Context, sql string, args []any, each func(*Row) error) error {
	st, err := c.prepare(sql)
	if err != nil {
		return err
	}
	named, err := c.bind(args)
	if err != nil {
		return err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(ctx, named)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := len(rows.Columns())
	for cap(c.vals) < n {
		c.vals = append(c.vals[:cap(c.vals)], nil)
	}
	row := Row{vals: c.vals[:n]}
	for {
		switch err := rows.Next(row.vals); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(&row); err != nil {
			return err
		}
	}
}

func (c *liteConn) exec(sql string) error {
	return c.runOne(context.Background(), stmt{sql: sql})
}

func (c *liteConn) close() {
	for e := c.order.Front(); e != nil; e = e.Next() {
		e.Value.(*liteStmt).stmt.Close()
	}
	c.conn.Close()
}

func older(version, floor string) bool {
	v, f := strings.Split(version, "."), strings.Split(floor, ".")
	for i := range f {
		if i >= len(v) {
			return true
		}
		a, _ := strconv.Atoi(v[i])
		b, _ := strconv.Atoi(f[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// writeJob is one Write waiting for the group committer.
type writeJob struct {
	ctx   context.Context
	scope Scope
	fn    func(*Tx) error
	state chan struct{} // holds one token until somebody starts or abandons the job
	reply chan error
	after []func()
}

func (l *lite) write(ctx context.Context, s Scope, fn func(*Tx) error) (after []func(), err error) {
	defer func() {
		if recover() != nil { // the writes channel is closed: shutting down
			err = unavailable(nil, "57P01", "the server is stopping")
		}
	}()
	j := &writeJob{ctx: ctx, scope: s, fn: fn, state: make(chan struct{}, 1), reply: make(chan error, 1)}
	j.state <- struct{}{}
	select {
	case l.writes <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-j.reply:
		return j.after, err
	case <-ctx.Done():
	}
	select {
	case <-j.state:
		return nil, ctx.Err() // never started
	default:
		err := <-j.reply // running: its outcome is the truth
		return j.after, err
	}
}

// A group is closed after this many jobs or this long, whichever is first.
const (
	groupJobs = 64
	groupTime = 4 * time.Millisecond
)

// writeLoop owns the writing connection. Writes that wait together share one
// transaction and one fsync, each inside its own savepoint.
func (l *lite) writeLoop() {
	defer close(l.done)
	for j := range l.writes {
		l.group(j)
	}
}

func (l *lite) group(first *writeJob) {
	if err := l.writer.exec("BEGIN IMMEDIATE"); err != nil {
		first.finish(err)
		return
	}
	var waiting []*writeJob
	var broken error
	deadline := time.Now().Add(groupTime)
	for j := first; j != nil && broken == nil; j = l.next(len(waiting), deadline) {
		err, fatal := l.inSavepoint(j)
		switch {
		case fatal != nil:
			broken = fatal
			waiting = append(waiting, j)
		case err != nil:
			j.finish(err)
		default:
			waiting = append(waiting, j)
		}
	}
	if broken == nil {
		broken = l.writer.exec("COMMIT")
	}
	if broken != nil {
		l.writer.exec("ROLLBACK")
	}
	for _, j := range waiting {
		j.finish(broken)
	}
}

func (l *lite) next(n int, deadline time.Time) *writeJob {
	if n >= groupJobs || time.Now().After(deadline) {
		return nil
	}
	select {
	case j := <-l.writes:
		return j
	default:
		return nil
	}
}

func (j *writeJob) finish(err error) { j.reply <- err }

// inSavepoint runs one job. err is the job's own failure, undone alone; fatal
// means the shared transaction is gone (disk full, I/O error).
func (l *lite) inSavepoint(j *writeJob) (err, fatal error) {
	select {
	case <-j.state:
	default:
		return nil, nil // abandoned by its caller before it began
	}
	if j.ctx.Err() != nil {
		return j.ctx.Err(), nil
	}
	if err := l.writer.exec("SAVEPOINT w"); err != nil {
		return nil, err
	}
	err = l.runJob(j)
	if err != nil {
		if undo := l.writer.exec("ROLLBACK TO w"); undo != nil {
			return nil, err
		}
	}
	if release := l.writer.exec("RELEASE w"); release != nil {
		return nil, release
	}
	return err, nil
}

func (l *lite) runJob(j *writeJob) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("db: panic in a transaction: %v", p)
		}
	}()
	// A context that ends must not interrupt statements: SQLite would undo the
	// whole group. The job is asked between statements instead.
	tx := &Tx{ctx: j.ctx, scope: j.scope, db: l.db}
	tx.run = func(q []stmt) error {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		return l.writer.runAll(context.Background(), q)
	}
	if err := j.fn(tx); err != nil {
		return err
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	j.after = tx.after
	return nil
}

// WrittenByOthers reports whether another process committed to the embedded
// database since the last call. Only the writing connection can tell: its
// data_version rises for every commit that is not its own.
func (d *DB) WrittenByOthers(ctx context.Context) (bool, error) {
	l, ok := d.eng.(*lite)
	if !ok {
		return false, nil
	}
	changed := false
	err := d.Write(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT data_version FROM pragma_data_version", nil, func(r *Row) error {
			changed = l.seen != 0 && l.seen != r.Int(0)
			l.seen = r.Int(0)
			return nil
		})
	})
	return changed, err
}
