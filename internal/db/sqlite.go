package db

import (
	"cmp"
	"container/list"
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"holdfast/internal/db/jsonb"
	"holdfast/internal/fault"
)

// minSQLite is the first version without the WAL-reset corruption bug
// (sqlite.org/wal.html#walresetbug).
const minSQLite = "3.51.3"

// FileName is the database inside the data directory.
const FileName = "holdfast.db"

type lite struct {
	db       *DB
	path     string
	inode    os.FileInfo
	bytes    atomic.Int64 // what the file was seen to have: it becomes shorter by a VACUUM from outside alone
	readers  *shelf
	size     int
	writer   *liteConn
	writes   chan *writeJob
	turns    chan func() // run by the writing goroutine between two groups
	atEnd    func()      // before the log is written back for the last time; nil = nothing
	shipped  bool        // the log is written back by Checkpoint alone
	beside   bool        // this may not be the process that ships it
	apart    bool        // nobody uses the file, and it is only read: not even its kind of journal changes
	file     *os.File    // the database, to be read past SQLite; closed behind the last connection
	done     chan struct{}
	lock     *os.File
	closing  sync.Once
	gathered int           // jobs of the last group; used by the writing goroutine alone
	rehearse bool          // each write runs twice, the first time undone
	careful  int           // groups that still use savepoints; used by the writing goroutine alone
	seen     atomic.Int64  // data_version at the last look
	longest  time.Duration // of a statement
	patience time.Duration // of a read that waits for a connection

	groupTime time.Duration // within which jobs join a group; set before the first write
}

var liteDriver = sync.OnceValues(func() (*sqlite.Driver, error) {
	d, p := new(sqlite.Driver), &patterns{compiled: map[string]*regexp.Regexp{}}
	if err := d.RegisterDeterministicScalarFunction("json_contains", 2, jsonb.Contains); err != nil {
		return nil, err
	}
	if err := d.RegisterDeterministicScalarFunction("json_legible", 1, replaceUnreadable); err != nil {
		return nil, err
	}
	return d, d.RegisterDeterministicScalarFunction("regexp", 2, p.matchPattern)
})

// patterns keeps the regular expressions compiled last: the operator is called
// for every row.
type patterns struct {
	sync.Mutex
	compiled map[string]*regexp.Regexp
}

// maxPatterns bounds the expressions kept. A request may have 20.
const maxPatterns = 256

// matchPattern backs the REGEXP operator: X REGEXP Y calls regexp(Y, X).
func (p *patterns) matchPattern(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	pattern, ok1 := args[0].(string)
	text, ok2 := args[1].(string)
	if !ok1 || !ok2 {
		return nil, nil
	}
	re, err := p.compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	return re.MatchString(text), nil
}

func (p *patterns) compilePattern(pattern string) (*regexp.Regexp, error) {
	p.Lock()
	defer p.Unlock()
	if re := p.compiled[pattern]; re != nil {
		return re, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if len(p.compiled) >= maxPatterns {
		clear(p.compiled)
	}
	p.compiled[pattern] = re
	return re, nil
}

func openSQLite(d *DB, o Options) (engine, string, error) {
	if _, err := liteDriver(); err != nil {
		return nil, "", fmt.Errorf("db: register regexp: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("db: data directory: %w", err)
	}
	l := &lite{db: d, rehearse: o.Rehearse, path: filepath.Join(o.Dir, FileName), writes: make(chan *writeJob, 256),
		turns: make(chan func()), shipped: o.Shipped || shippedIn(o.Dir), beside: !o.Exclusive,
		done: make(chan struct{}), longest: statementTimeout, patience: poolWait, groupTime: groupTime}
	take := joinDir
	if o.Exclusive {
		take = lockDir
	}
	f, err := take(o.Dir)
	if err != nil {
		return nil, "", err
	}
	l.lock = f
	version, err := l.openFile(o)
	if err != nil {
		l.releaseLock()
		return nil, "", err
	}
	return l, version, nil
}

func (l *lite) openFile(o Options) (string, error) {
	defer o.Kept.Close()
	if o.Kept == nil { // else Keep has looked; to close the file now would take its locks away
		if err := checkWholeFile(l.path); err != nil {
			return "", err
		}
	}
	var err error
	if l.writer, err = l.openConn("-16000"); err != nil {
		return "", err
	}
	var version string
	if err := l.writer.queryRows("SELECT sqlite_version()", nil, func(r *Row) error {
		version = r.Text(0)
		return nil
	}); err != nil {
		return "", err
	}
	if isOlderVersion(version, minSQLite) {
		return "", fmt.Errorf("db: SQLite %s is too old: %s fixed a corruption bug; build with a newer driver", version,
			minSQLite)
	}
	if err := os.Chmod(l.path, 0o600); err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	if l.inode, err = os.Stat(l.path); err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	l.bytes.Store(l.inode.Size())
	if l.file, err = os.Open(l.path); err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	if err := l.migrate(o.Migrate); err != nil {
		return "", err
	}
	l.size = o.PoolSize
	if l.size == 0 {
		l.size = 4
	}
	l.readers = newShelf(l.size)
	for range l.size {
		c, err := l.openConn("-16000")
		if err == nil {
			err = c.execText("PRAGMA query_only = ON")
		}
		if err != nil {
			return "", err
		}
		l.readers.putBack(c)
	}
	go l.writeLoop()
	if o.Exclusive {
		keepReserve(o.Dir)
		go l.keepMark(cmp.Or(o.MarkEvery, markEvery))
	}
	return version, nil
}

// openConn opens one connection. cache is its page cache in negative KiB.
func (l *lite) openConn(cache string) (*liteConn, error) {
	q := url.Values{}
	pragmas := []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
		"case_sensitive_like(ON)", "cache_size(" + cache + ")", "temp_store(MEMORY)", "wal_autocheckpoint(" +
			l.checkpointPages() + ")"}
	if l.apart {
		pragmas = slices.DeleteFunc(pragmas, func(p string) bool { return p == "journal_mode(WAL)" })
	}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	drv, err := liteDriver()
	if err != nil {
		return nil, err
	}
	c, err := drv.Open(l.path + "?" + q.Encode())
	if err != nil && takeReserve(l.path, err) {
		c, err = drv.Open(l.path + "?" + q.Encode())
	}
	if err != nil {
		return nil, fmt.Errorf("db: open %s: %w", l.path, classifyError(err))
	}
	handle, err := handleOf(c)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &liteConn{conn: c.(liteDriverConn), handle: handle, stmts: map[string]*list.Element{}, order: list.New()}, nil
}

// logPages is how many pages the log gathers before they are written back.
const logPages = 8000

// checkpointPages is after how many pages a commit writes the log back; 0 = it never does.
func (l *lite) checkpointPages() string {
	if l.shipped {
		return "0"
	}
	return strconv.Itoa(logPages)
}

// waitForReader waits for a connection; when all are busy for long it is a 503, not a
// queue.
func (l *lite) waitForReader(ctx context.Context) (*liteConn, error) {
	select {
	case <-l.readers.free:
		return l.readers.takeIdle(), nil
	default:
	}
	wait := time.NewTimer(l.patience)
	defer wait.Stop()
	select {
	case <-l.readers.free:
		return l.readers.takeIdle(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, unavailableFault(nil, "53300", "all database connections are busy")
	}
}

func (l *lite) read(ctx context.Context, s Scope, fn func(*Tx) error) error {
	c, err := l.waitForReader(ctx)
	if err != nil {
		return err
	}
	defer l.readers.putBack(c)
	begun := false
	tx := &Tx{ctx: ctx, scope: s, db: l.db, reads: true}
	tx.run = func(q []stmt) error {
		if !begun && (len(q) > 1 || !tx.last) {
			if err := c.execText("BEGIN"); err != nil {
				return err
			}
			begun = true
		}
		return c.runAll(ctx, longestStatement(ctx, l.longest), q)
	}
	defer func() {
		if begun {
			c.execText("COMMIT") // a read has nothing to lose
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Flush()
}

// checkFileInPlace reports whether the database file was moved, replaced, deleted or cut
// off. The open file would go on taking writes that nobody will find again.
func (l *lite) checkFileInPlace() error {
	least := l.bytes.Load()
	now, err := os.Stat(l.path)
	if err != nil || !os.SameFile(now, l.inode) {
		return fault.Wrap(err, fault.Unavailable, "58030",
			"the database file was moved or replaced; put it back, or restart on the right data directory")
	}
	if now.Size() < max(least, 1) && !isVacuumed(l.file, now.Size()) {
		return fault.New(fault.Unavailable, "58030",
			"the end of the database file is missing: it had %d bytes and has %d; restart, and restore the last backup if that is refused",
			least, now.Size())
	}
	if now.Size() != least {
		l.bytes.CompareAndSwap(least, now.Size()) // who is beaten has seen it as late
	}
	return nil
}

// cutOff reports whether the file that is open is shorter than it was.
func (l *lite) cutOff() bool {
	now, err := os.Stat(l.path)
	return err == nil && os.SameFile(now, l.inode) && now.Size() < l.bytes.Load() && !isVacuumed(l.file, now.Size())
}

func (l *lite) ping(ctx context.Context) error {
	if err := l.checkFileInPlace(); err != nil {
		return err
	}
	return l.read(ctx, Scope{}, func(tx *Tx) error { return tx.Query("SELECT 1", nil, func(*Row) error { return nil }) })
}

func (l *lite) close() error {
	l.closing.Do(func() {
		close(l.writes)
		<-l.done
		for range l.size {
			<-l.readers.free
			l.readers.takeIdle().closeConn()
		}
		if l.atEnd != nil {
			l.atEnd()
		}
		// else the log would be written into what is left, and hide it: the process keeps it open until its end
		if !l.cutOff() {
			if !l.shipped || !l.beside { // SQLite does it itself where this is the last
				l.writer.execText("PRAGMA wal_checkpoint(TRUNCATE)")
			}
			l.writer.closeConn()
		}
		l.file.Close() // not before: it would take the locks of this process on the database along
		l.releaseLock()
	})
	return nil
}

func (l *lite) releaseLock() {
	if l.lock != nil {
		l.lock.Close()
		l.lock = nil
	}
}

func isOlderVersion(version, floor string) bool {
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

// Alone reports whether no other process can be at work on the embedded
// database; on PostgreSQL nobody knows.
func (d *DB) Alone() bool {
	l, ok := d.eng.(*lite)
	return ok && aloneIn(filepath.Dir(l.path))
}

// WrittenByOthers reports whether another process committed to the embedded
// database since the last call. Only the writing connection can tell: its
// data_version rises for every commit that is not its own.
func (d *DB) WrittenByOthers(ctx context.Context) (bool, error) {
	l, ok := d.eng.(*lite)
	if !ok {
		return false, nil
	}
	if err := l.checkFileInPlace(); err != nil {
		return false, err
	}
	var version int64
	err := d.Write(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT data_version FROM pragma_data_version", nil, func(r *Row) error {
			version = r.Int(0)
			return nil
		})
	})
	if err != nil {
		return false, err
	}
	before := l.seen.Swap(version)
	return before != 0 && before != version, nil
}
