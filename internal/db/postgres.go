package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	pool   *pgxpool.Pool
	pooler bool
}

func openPostgres(ctx context.Context, d *DB, o Options) (engine, string, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, "", fmt.Errorf("db: the database URL cannot be read: %w", err)
	}
	version, err := migratePostgres(ctx, cfg.ConnConfig.Copy(), o.Migrate)
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
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	if cfg.ConnConfig.ConnectTimeout == 0 || cfg.ConnConfig.ConnectTimeout > poolWait {
		cfg.ConnConfig.ConnectTimeout = poolWait
	}
	if o.PoolSize > 0 {
		cfg.MaxConns = int32(o.PoolSize)
	} else if cfg.MaxConns < 10 {
		cfg.MaxConns = 10
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, "", fmt.Errorf("db: %w", err)
	}
	return &postgres{db: d, pool: pool, pooler: o.Pooler}, version, nil
}

func (p *postgres) ping(ctx context.Context) error {
	return classify(p.read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT 1", nil, func(*Row) error { return nil })
	}))
}

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

func (p *postgres) read(ctx context.Context, s Scope, fn func(*Tx) error) error {
	_, err := p.transact(ctx, &Tx{ctx: ctx, scope: s, db: p.db, reads: true}, fn)
	return err
}

func (p *postgres) write(ctx context.Context, s Scope, fn func(*Tx) error) (*Tx, error) {
	return p.transact(ctx, &Tx{ctx: ctx, scope: s, db: p.db}, fn)
}

func (p *postgres) transact(ctx context.Context, tx *Tx, fn func(*Tx) error) (_ *Tx, err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	x := &pgTx{ctx: ctx, conn: conn.Conn().PgConn(), named: !p.pooler, head: p.head(tx)}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("db: panic in a transaction: %v", r)
		}
		if err != nil {
			x.rollback()
			tx.undone()
		}
	}()
	tx.run = func(q []stmt) error { return x.send(q, tx.last) }
	if err := fn(tx); err != nil {
		return nil, err
	}
	if err := tx.ended(); err != nil {
		return nil, err
	}
	q := tx.queue
	tx.queue = nil
	tx.busy = true
	if err := tx.watched(q, func(q []stmt) error { return x.send(q, true) }); err != nil {
		return nil, err
	}
	return tx, nil
}

// poolWait bounds the wait for a connection; a full pool is a 503, not a queue.
const poolWait = 5 * time.Second

func (p *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, poolWait)
	defer cancel()
	conn, err := p.pool.Acquire(wait)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() == nil && wait.Err() != nil {
		return nil, unavailable(err, "53300", "all database connections are busy")
	}
	return nil, err
}

// head is what opens every transaction. The values are canonical UUIDs,
// checked by Scope.check: SET LOCAL takes no parameters.
func (p *postgres) head(tx *Tx) []string {
	h, s := []string{"begin"}, tx.scope
	if tx.reads {
		h[0] = "begin isolation level repeatable read read only"
	}
	if p.pooler {
		h = append(h, "SET LOCAL ROLE "+appRole)
	}
	if d := longest(tx.ctx, statementTimeout); p.pooler || d != statementTimeout {
		h = append(h, fmt.Sprintf("SET LOCAL statement_timeout = %d", d.Milliseconds()))
	}
	if s.Tenant != "" {
		h = append(h, "SET LOCAL holdfast.tenant_id = '"+s.Tenant+"'")
	}
	if s.User != "" {
		h = append(h, "SET LOCAL holdfast.user_id = '"+s.User+"'")
	}
	if s.All {
		h = append(h, "SET LOCAL holdfast.all_tenants = 'on'")
	}
	return h
}

// answerTime is how long a flush of n statements may take, past the server's
// own limit: a server that has gone silent (a cut cable, a stopped process)
// must not hold requests for ever.
func answerTime(ctx context.Context, n int) time.Duration {
	return longest(ctx, statementTimeout) + 2*time.Second + time.Duration(n)*20*time.Millisecond
}

// pgTx is one transaction on one connection, spoken as extended-protocol
// pipelines: what is flushed together travels together.
type pgTx struct {
	ctx   context.Context
	conn  *pgconn.PgConn
	named bool
	head  []string
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
}

func (x *pgTx) statements() *pgStatements {
	const key = "holdfast.statements"
	p, ok := x.conn.CustomData()[key].(*pgStatements)
	if !ok {
		p = &pgStatements{known: map[string]*pgconn.StatementDescription{}}
		x.conn.CustomData()[key] = p
	}
	return p
}

func (p *pgStatements) add(name, sql string, d *pgconn.StatementDescription) {
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

// sent remembers what was put on the wire, to read the answers in order.
type sent struct {
	prepare string // statement text to remember once its parse succeeded
	name    string // and the name it was given
	stmt    *stmt  // nil = head, commit or housekeeping
	commit  bool
}

func (x *pgTx) send(q []stmt, commit bool) error {
	if commit && !x.begun && len(q) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.ctx, answerTime(x.ctx, len(q)))
	defer cancel()
	pipe := x.conn.StartPipeline(ctx)
	var wire []sent
	if !x.begun {
		for _, sql := range x.head {
			pipe.SendQueryParams(sql, nil, nil, nil, nil)
			wire = append(wire, sent{})
		}
		x.begun = true
	}
	known := x.statements()
	for _, name := range known.drop {
		pipe.SendDeallocate(name)
		wire = append(wire, sent{})
	}
	known.drop = nil
	fresh := map[string]string{}
	for i := range q {
		if err := x.queue(pipe, &q[i], known, fresh, &wire); err != nil {
			pipe.Close()
			return err
		}
	}
	if commit {
		pipe.SendQueryParams("commit", nil, nil, nil, nil)
		wire = append(wire, sent{commit: true})
	}
	if err := pipe.Sync(); err != nil {
		pipe.Close()
		return lost(err, commit)
	}
	err := x.receive(pipe, wire, known)
	x.begun = err != nil || !commit
	if cerr := pipe.Close(); err == nil && cerr != nil {
		err = lost(cerr, commit)
	}
	return err
}

// lost names an unknown outcome: the connection went away around a commit.
func lost(err error, commit bool) error {
	var pe *pgconn.PgError
	if !commit || errors.As(err, &pe) {
		return err
	}
	return unavailable(err, "08007", "the connection was lost during commit, so the outcome is unknown")
}

func (x *pgTx) queue(pipe *pgconn.Pipeline, s *stmt, p *pgStatements, fresh map[string]string, wire *[]sent) error {
	params, formats, err := wireParams(s.args)
	if err != nil {
		return err
	}
	if !x.named {
		pipe.SendQueryParams(s.sql, params, nil, formats, binary1)
		*wire = append(*wire, sent{stmt: s})
		return nil
	}
	if sd := p.known[s.sql]; sd != nil {
		pipe.SendQueryStatement(sd, params, formats, binary1)
		*wire = append(*wire, sent{stmt: s})
		return nil
	}
	name := fresh[s.sql]
	if name == "" {
		p.made++
		name = "hf" + strconv.Itoa(p.made)
		fresh[s.sql] = name
		pipe.SendPrepare(name, s.sql, nil)
		*wire = append(*wire, sent{prepare: s.sql, name: name})
	}
	pipe.SendQueryPrepared(name, params, formats, binary1)
	*wire = append(*wire, sent{stmt: s})
	return nil
}

// receive reads the answers. After the first error the server skips the rest
// of the pipeline, and so do we.
func (x *pgTx) receive(pipe *pgconn.Pipeline, wire []sent, p *pgStatements) error {
	for _, w := range wire {
		res, err := pipe.GetResults()
		if err != nil {
			return lost(err, w.commit)
		}
		switch r := res.(type) {
		case *pgconn.StatementDescription:
			p.add(w.name, w.prepare, r)
		case *pgconn.ResultReader:
			if err := readRows(r, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func readRows(r *pgconn.ResultReader, w sent) error {
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
		return lost(err, w.commit)
	}
	if w.commit && tag.String() == "ROLLBACK" {
		return errors.New("db: the transaction was already aborted")
	}
	if w.stmt != nil && w.stmt.n != nil {
		*w.stmt.n = tag.RowsAffected()
	}
	return failed
}

// rollback ends a transaction that failed. A connection that cannot even roll
// back is closed, so that the pool replaces it.
func (x *pgTx) rollback() {
	if !x.begun || x.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 2*time.Second)
	defer cancel()
	if _, err := x.conn.Exec(ctx, "rollback").ReadAll(); err != nil {
		x.conn.Close(ctx)
	}
}

// wireParams sends every parameter in text format and lets the server infer
// its type from the statement, so that one Go value fits uuid, timestamptz and
// bigint columns alike. Only bytes, which are never anything else, go as they
// are; formats is nil where there are none.
func wireParams(args []any) (params [][]byte, formats []int16, err error) {
	params = make([][]byte, len(args))
	for i, a := range args {
		v, err := encode(a)
		if err != nil {
			return nil, nil, err
		}
		switch v := v.(type) {
		case string:
			params[i] = []byte(v)
		case int64:
			params[i] = strconv.AppendInt(nil, v, 10)
		case bool:
			params[i] = strconv.AppendBool(nil, v)
		case float64:
			params[i] = strconv.AppendFloat(nil, v, 'g', -1, 64)
		case []byte:
			if formats == nil {
				formats = make([]int16, len(args))
			}
			params[i], formats[i] = v, 1
		}
	}
	return params, formats, nil
}

// byteOrder refuses a database that sorts text by the rules of a language:
// numbering relies on ':' standing behind the digits, and pages would come in
// another order than on SQLite.
func byteOrder(ctx context.Context, c *pgx.Conn) error {
	var bytes bool
	var collation string
	if err := c.QueryRow(ctx,
		"SELECT '-' < '0' AND '9' < ':' AND 'B' < 'a' AND 'z' < 'é' AND 'a b' < 'aa', (SELECT datcollate FROM pg_database WHERE datname = "+
			"current_database())").Scan(&bytes, &collation); err != nil {
		return classify(err)
	}
	if !bytes {
		return fault.New(fault.Unavailable, "", "the database sorts text by the rules of a language (LC_COLLATE %s), not by bytes; "+
			"make one with CREATE DATABASE holdfast TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C', and copy the old one's data with "+
			"pg_dump and pg_restore", collation)
	}
	return nil
}

// serverVersion refuses a server older than the SQL we write.
func serverVersion(ctx context.Context, c *pgx.Conn) (string, error) {
	var text string
	var num int
	if err := c.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('server_version_num')::int").Scan(&text, &num); err != nil {
		return "", classify(err)
	}
	if num < 150000 {
		return "", fault.New(fault.Unavailable, "", "PostgreSQL %s is too old: 15 or newer is needed", text)
	}
	return text, nil
}
