package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/internal/fault"
)

// appRole is what every request runs as: neither owner nor BYPASSRLS, so that
// row level security binds it.
const appRole = "holdfast_app"

type postgres struct {
	db     *DB
	url    string
	pool   *pgxpool.Pool
	pooler bool
	citus  bool
	left   departures
}

func openPostgres(ctx context.Context, d *DB, o Options) (engine, string, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, "", fmt.Errorf("db: the database URL cannot be read: %w", err)
	}
	followPrimary(cfg, o.URL)
	server, err := migratePostgres(ctx, cfg.ConnConfig.Copy(), o.Migrate)
	if err != nil {
		return nil, "", err
	}
	if !o.Pooler {
		cfg.ConnConfig.RuntimeParams["role"] = appRole
		cfg.ConnConfig.RuntimeParams["jit"] = "off"
		cfg.ConnConfig.RuntimeParams["statement_timeout"] = strconv.Itoa(int(statementTimeout.Milliseconds()))
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "holdfast"
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelTime}
	}
	if cfg.ConnConfig.ConnectTimeout == 0 || cfg.ConnConfig.ConnectTimeout > poolWait {
		cfg.ConnConfig.ConnectTimeout = poolWait
	}
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { return trustAnew(o.URL, c) }
	if o.PoolSize > 0 {
		cfg.MaxConns = int32(o.PoolSize)
	} else if cfg.MaxConns < 10 {
		cfg.MaxConns = 10
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, "", fmt.Errorf("db: %w", err)
	}
	return &postgres{db: d, url: o.URL, pool: pool, pooler: o.Pooler, citus: server.citus}, server.version, nil
}

// trustAnew has a new connection go by the files that the URL names as they are
// now: the password in passfile, the certificates and the key.
func trustAnew(url string, c *pgx.ConnConfig) error {
	now, err := pgx.ParseConfig(url)
	if err != nil {
		return unavailableFault(err, "08006", "the files that the database's URL names cannot be read")
	}
	c.Password, c.TLSConfig, c.Fallbacks = now.Password, now.TLSConfig, now.Fallbacks
	return nil
}

// ping asks for a table of the schema: an empty database answers too.
func (p *postgres) ping(ctx context.Context) error {
	return classifyError(p.read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT 1 FROM probes LIMIT 1", nil, func(*Row) error { return nil })
	}))
}

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

func (p *postgres) read(ctx context.Context, s Scope, fn func(*Tx) error) error {
	_, err := p.runTransaction(ctx, &Tx{ctx: ctx, scope: s, db: p.db, reads: true}, fn)
	return err
}

func (p *postgres) write(ctx context.Context, s Scope, fn func(*Tx) error) (*Tx, error) {
	return p.runTransaction(ctx, &Tx{ctx: ctx, scope: s, db: p.db}, fn)
}

func (p *postgres) runTransaction(ctx context.Context, tx *Tx, fn func(*Tx) error) (_ *Tx, err error) {
	conn, err := p.acquireConn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	x := &pgTx{ctx: ctx, conn: conn.Conn().PgConn(), p: p, tx: tx}
	isRefused := false // by fn
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("db: panic in a transaction: %v", r)
		}
		if err != nil {
			tx.lost = fault.HasCode(err, "08007")
			x.rollbackOrClose()
			p.leaveReadOnly(tx, err)
			tx.runUndo()
			err = tx.rerunGuessed(err, isRefused)
		}
	}()
	tx.run = func(q []stmt) error { return x.sendBatch(q, tx.last) }
	if err := fn(tx); err != nil {
		isRefused = true
		return nil, err
	}
	if err := tx.endedError(); err != nil {
		return nil, err
	}
	q := tx.queue
	tx.queue = nil
	tx.busy = true
	if err := tx.runWatched(q, func(q []stmt) error { return x.sendBatch(q, true) }); err != nil {
		return nil, err
	}
	return tx, nil
}

// poolWait bounds the wait for a connection; a full pool is a 503, not a queue.
const poolWait = 5 * time.Second

func (p *postgres) acquireConn(ctx context.Context) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, poolWait)
	defer cancel()
	conn, err := p.pool.Acquire(wait)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() == nil && wait.Err() != nil {
		return nil, unavailableFault(err, "53300", "all database connections are busy")
	}
	return nil, err
}

// openingStatements is what opens a transaction. It travels with the first statements, and
// stays prepared as they do: the values are parameters.
//
// A transaction that is sent whole needs neither begin nor commit, which cost
// PostgreSQL as much as a look-up each: what stands before a Sync is one
// transaction, which ends with it (PostgreSQL, "Extended Query Overview").
func (p *postgres) openingStatements(tx *Tx, whole bool) []stmt {
	h, s := make([]stmt, 0, 3), tx.scope
	switch {
	case whole:
	case tx.reads:
		h = append(h, stmt{sql: "begin isolation level repeatable read read only"})
	default:
		h = append(h, stmt{sql: "begin"})
	}
	if p.pooler {
		h = append(h, stmt{sql: "SET LOCAL ROLE " + appRole})
	}
	var values [len(settings)]any
	if d := longestStatement(tx.ctx, statementTimeout); p.pooler || d != statementTimeout {
		values[0] = d.Milliseconds()
	}
	if s.Tenant != "" {
		values[1] = s.Tenant
	}
	if s.User != "" {
		values[2] = s.User
	}
	if s.All {
		values[3] = "on"
	}
	if whole && tx.reads {
		values[4] = "on"
	}
	return p.addSettings(h, &values)
}

// isSentWhole reports that q is all of a transaction and its end, which the next Sync
// can be. Several reads want one snapshot, which only begin asks for. Behind a
// pooler and on Citus SET LOCAL stands before them, which wants a begin.
func (p *postgres) isSentWhole(tx *Tx, q []stmt, commit bool) bool {
	return commit && !p.pooler && !p.citus && (!tx.reads || len(q) == 1)
}

// addSettings adds the one statement that sets what has a value. Citus tells its other
// servers of SET LOCAL alone, which takes no parameters; Scope.check has seen to
// it that the values are UUIDs.
func (p *postgres) addSettings(head []stmt, values *[len(settings)]any) []stmt {
	if p.citus {
		for i, v := range values {
			if v != nil {
				head = append(head, stmt{sql: fmt.Sprintf("SET LOCAL %s = '%v'", settings[i], v), once: true})
			}
		}
		return head
	}
	choice, args := 0, make([]any, 0, len(settings))
	for i, v := range values {
		if v != nil {
			choice |= 1 << i
			args = append(args, v)
		}
	}
	if choice == 0 {
		return head
	}
	return append(head, stmt{sql: settingTexts[choice], args: args})
}

// settings are what a transaction may set for itself.
var settings = [...]string{"statement_timeout", "holdfast.tenant_id", "holdfast.user_id", "holdfast.all_tenants",
	"transaction_read_only"}

// settingTexts holds the statement for each choice of settings, a bit for each.
var settingTexts = func() (texts [1 << len(settings)]string) {
	for choice := range texts {
		var calls []string
		for i, name := range settings {
			if choice>>i&1 == 1 {
				calls = append(calls, fmt.Sprintf("set_config('%s', $%d, true)", name, len(calls)+1))
			}
		}
		if calls != nil {
			texts[choice] = "SELECT " + strings.Join(calls, ", ")
		}
	}
	return texts
}()

const (
	// silence is how long a server may say nothing after the time at which it
	// ends a statement by itself.
	silence = 1500 * time.Millisecond
	// cancelTime is how long the server may take to end what it was asked to.
	cancelTime = time.Second
)

// answerTime is how long a flush of n statements may take, past the server's
// own limit: a server that has gone silent (a cut cable, a stopped process)
// must not hold requests for ever.
func answerTime(ctx context.Context, n int) time.Duration {
	return longestStatement(ctx, statementTimeout) + silence + time.Duration(n)*20*time.Millisecond
}

// pgTx is one transaction on one connection, spoken as extended-protocol
// pipelines: what is flushed together travels together.
type pgTx struct {
	ctx   context.Context
	conn  *pgconn.PgConn
	p     *postgres
	tx    *Tx
	begun bool
}

// binary asks for every result column in binary format.
var binary1 = []int16{1}

// pgStatements are a connection's prepared statements by text. The oldest are
// closed when there are too many; their texts can be prepared again.
type pgStatements struct {
	known map[string]*pgconn.StatementDescription
	order []string // texts, oldest first
	made  int      // names given out
	drop  []string // names to close with the next pipeline
	wire  []sent   // room for the next pipeline's
	args  wireArgs
}

func (x *pgTx) preparedStatements() *pgStatements {
	const key = "holdfast.statements"
	p, ok := x.conn.CustomData()[key].(*pgStatements)
	if !ok {
		p = &pgStatements{known: map[string]*pgconn.StatementDescription{}}
		x.conn.CustomData()[key] = p
	}
	return p
}

func (p *pgStatements) addPrepared(name, sql string, d *pgconn.StatementDescription) {
	d.Name, d.SQL = name, sql
	p.known[sql] = d
	p.order = append(p.order, sql)
	if len(p.order) > maxStatements {
		old := p.order[0]
		p.order = p.order[1:]
		p.drop = append(p.drop, p.known[old].Name)
		delete(p.known, old)
	}
}

func (x *pgTx) sendBatch(q []stmt, commit bool) error {
	if commit && !x.begun && len(q) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.ctx, answerTime(x.ctx, len(q)))
	defer cancel()
	pipe := x.conn.StartPipeline(ctx)
	known := x.preparedStatements()
	w := pgWire{pipe: pipe, p: known, named: !x.p.pooler, sent: known.wire[:0]}
	whole := !x.begun && x.p.isSentWhole(x.tx, q, commit)
	if err := w.encodeBatch(x, q, commit, whole); err != nil {
		pipe.Close()
		return err
	}
	ends := commit && !x.tx.reads
	if err := pipe.Sync(); err != nil {
		pipe.Close()
		return commitLost(err, ends)
	}
	err := x.receiveAnswers(pipe, w.sent, known, ends)
	if whole && err == nil {
		_, err = pipe.GetResults() // of the Sync
		err = commitLost(err, ends)
	}
	clear(w.sent)
	known.wire = w.sent
	x.begun = !whole && (err != nil || !commit)
	if cerr := pipe.Close(); err == nil {
		err = commitLost(cerr, ends)
	}
	return err
}

// commitLost names an unknown outcome: the connection went away while a commit was on
// its way.
func commitLost(err error, commit bool) error {
	var pe *pgconn.PgError
	if err == nil || !commit || errors.As(err, &pe) {
		return err
	}
	return unavailableFault(err, "08007", "the connection was lost during commit, so the outcome is unknown")
}

// receiveAnswers reads the answers. After the first error the server skips the rest
// of the pipeline, and so do we. ends says that a write's commit is among them.
func (x *pgTx) receiveAnswers(pipe *pgconn.Pipeline, wire []sent, p *pgStatements, ends bool) error {
	for _, w := range wire {
		res, err := pipe.GetResults()
		if err != nil {
			return commitLost(err, ends)
		}
		switch r := res.(type) {
		case *pgconn.StatementDescription:
			p.addPrepared(w.name, w.prepare, r)
		case *pgconn.ResultReader:
			if err := readRows(r, w, ends); err != nil {
				return err
			}
		}
	}
	return nil
}

func readRows(r *pgconn.ResultReader, w sent, ends bool) error {
	row := Row{fields: r.FieldDescriptions()}
	var failed error
	for r.NextRow() {
		if w.stmt == nil || w.stmt.each == nil || failed != nil {
			continue
		}
		row.raw = r.Values()
		failed = w.stmt.each(&row)
	}
	tag, err := r.Close()
	if err != nil {
		return commitLost(err, ends)
	}
	if w.commit && tag.String() == "ROLLBACK" {
		return errors.New("db: the transaction was already aborted")
	}
	if w.stmt != nil && w.stmt.n != nil {
		*w.stmt.n = tag.RowsAffected()
	}
	return failed
}

// rollbackOrClose ends a transaction that failed. A connection that cannot even roll
// back is closed, so that the pool replaces it.
func (x *pgTx) rollbackOrClose() {
	if !x.begun || x.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 2*time.Second)
	defer cancel()
	if _, err := x.conn.Exec(ctx, "rollback").ReadAll(); err != nil {
		x.conn.Close(ctx)
	}
}

// byteOrder refuses a database that sorts text by the rules of a language:
// numbering relies on ':' standing behind the digits, and pages would come in
// another order than on SQLite.
func byteOrder(ctx context.Context, c *pgx.Conn) error {
	var bytes bool
	var collation string
	if err := c.QueryRow(ctx, `
			SELECT '-' < '0' AND '9' < ':' AND 'B' < 'a' AND 'z' < 'é' AND 'a b' < 'aa', (
				SELECT datcollate
				FROM pg_database
				WHERE datname = current_database()
			)`).Scan(&bytes, &collation); err != nil {
		return classifyError(err)
	}
	if !bytes {
		return fault.New(fault.Unavailable, "",
			"the database sorts text by the rules of a language (LC_COLLATE %s), not by bytes; "+
				"make one with CREATE DATABASE holdfast TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C', and copy the old one's data with "+
				"pg_dump and pg_restore", collation)
	}
	return nil
}

// pgServer is what a server says of itself.
type pgServer struct {
	version string
	citus   bool // tables may live on other servers
}

// askServer refuses a server older than the SQL we write.
func askServer(ctx context.Context, c *pgx.Conn) (pgServer, error) {
	var s pgServer
	var num int
	if err := c.QueryRow(ctx, `
		SELECT current_setting('server_version'), current_setting('server_version_num')::int, EXISTS (
			SELECT
			FROM pg_extension
			WHERE extname = 'citus'
		)`).Scan(&s.version, &num, &s.citus); err != nil {
		return s, classifyError(err)
	}
	if num < 150000 {
		return s, fault.New(fault.Unavailable, "", "PostgreSQL %s is too old: 15 or newer is needed", s.version)
	}
	return s, nil
}
