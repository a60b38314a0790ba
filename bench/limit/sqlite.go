package limit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// lite is the embedded engine by hand: four readers and one writer on the
// driver's own connections.
type lite struct {
	readers chan *conn
	writer  *conn
	writes  chan *write
}

type conn struct {
	driver.Conn
	stmts map[string]driver.Stmt
	vals  []driver.Value
}

type write struct {
	sql  string
	args []any
	rows [][]any // of insertOrder, instead
	done chan error
}

// Pragmas are the settings the product opens its file with.
var Pragmas = []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
	"case_sensitive_like(ON)", "cache_size(-16000)", "temp_store(MEMORY)",
	"wal_autocheckpoint(2000)"}

func openConn(dir string) (*conn, error) {
	q := url.Values{"_pragma": Pragmas}
	c, err := new(sqlite.Driver).Open(filepath.Join(dir, db.FileName) + "?" + q.Encode())
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return &conn{Conn: c, stmts: map[string]driver.Stmt{}}, nil
}

func openSQLite(dir string) (engine, error) {
	l := &lite{readers: make(chan *conn, 4), writes: make(chan *write, 256)}
	var err error
	if l.writer, err = openConn(dir); err != nil {
		return nil, err
	}
	for range cap(l.readers) {
		c, err := openConn(dir)
		if err != nil {
			return nil, err
		}
		l.readers <- c
	}
	go l.loop()
	return l, nil
}

func (c *conn) prepare(sql string) (driver.Stmt, error) {
	if st := c.stmts[sql]; st != nil {
		return st, nil
	}
	st, err := c.Conn.Prepare(sql)
	if err == nil {
		c.stmts[sql] = st
	}
	return st, err
}

func (c *conn) exec(sql string, args ...any) error {
	st, err := c.prepare(sql)
	if err != nil {
		return err
	}
	_, err = st.(driver.StmtExecContext).ExecContext(context.Background(), named(args))
	return err
}

func named(args []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// read does not hand the request's context on: watching it costs the driver a
// goroutine per statement.
func (l *lite) read(_ context.Context, tenant string, list []statement, out [][]byte) error {
	c := <-l.readers
	defer func() { l.readers <- c }()
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	for i, s := range list {
		var err error
		if out[i], err = c.rows(s, tenant, out[i]); err != nil {
			return errors.Join(err, c.exec("ROLLBACK"))
		}
	}
	return c.exec("COMMIT")
}

func (c *conn) rows(s statement, tenant string, b []byte) ([]byte, error) {
	st, err := c.prepare(s.sql)
	if err != nil {
		return b, err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(context.Background(), named(append([]any{tenant}, s.args...)))
	if err != nil {
		return b, err
	}
	defer rows.Close()
	n := len(rows.Columns())
	for len(c.vals) < n {
		c.vals = append(c.vals, nil)
	}
	vals := c.vals[:n]
	for first := true; ; first = false {
		switch err := rows.Next(vals); {
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
		if s.cols == nil {
			name, _ := vals[0].(string)
			sum, _ := vals[1].(int64)
			b = append(strconv.AppendInt(append(append(b, name...), '\t'), sum, 10), '\n')
			continue
		}
		if !first {
			b = append(b, ',')
		}
		for i, col := range s.cols {
			b = appendLite(append(b, col.key...), col.kind, vals[i])
		}
		b = append(b, '}')
	}
}

func appendLite(b []byte, kind catalog.Type, v driver.Value) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		switch kind {
		case catalog.Decimal:
			return decimal.Dec(x).Append(b)
		case catalog.Bool:
			return strconv.AppendBool(b, x != 0)
		}
		return strconv.AppendInt(b, x, 10)
	case bool:
		return strconv.AppendBool(b, x)
	case float64:
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	case string:
		if kind == catalog.JSON || kind == catalog.Array {
			return append(b, x...)
		}
		return db.AppendString(b, x)
	}
	return append(b, "null"...)
}

func (l *lite) insert(_ context.Context, _, sql string, args []any) error {
	w := &write{sql: sql, args: args, done: make(chan error, 1)}
	l.writes <- w
	return <-w.done
}

func (l *lite) insertMany(_ context.Context, _ string, rows [][]any) error {
	w := &write{rows: rows, done: make(chan error, 1)}
	l.writes <- w
	return <-w.done
}

// group is how many writes share a commit.
const group = 64

func (l *lite) loop() {
	for w := range l.writes {
		batch := []*write{w}
		err := l.writer.exec("BEGIN IMMEDIATE")
		for err == nil {
			if err = l.one(w); err != nil || len(batch) == group {
				break
			}
			select {
			case w = <-l.writes:
				batch = append(batch, w)
				continue
			default:
			}
			break
		}
		if err == nil {
			err = l.writer.exec("COMMIT")
		} else {
			err = errors.Join(err, l.writer.exec("ROLLBACK"))
		}
		for _, w := range batch {
			w.done <- err
		}
	}
}

func (l *lite) one(w *write) error {
	for _, row := range w.rows {
		if err := l.writer.exec(insertOrder, row...); err != nil {
			return err
		}
	}
	if w.rows != nil {
		return nil
	}
	if w.sql == "refresh" {
		return l.writer.renew(w.args[0].(string), w.args[1].(string))
	}
	if w.sql != "+" {
		return l.writer.exec(w.sql, w.args...)
	}
	a := w.args
	return errors.Join(l.writer.exec(keepNumber, a[0]), l.writer.exec(insertOrder, a[:8]...),
		l.writer.exec(keepCounter, a[0], db.NoTenant), l.writer.exec(keepAudit, a[0], a[1], a[7], a[8]))
}

func (l *lite) refresh(ctx context.Context, tenant, session string) error {
	return l.insert(ctx, "", "refresh", []any{tenant, session})
}

func (c *conn) renew(tenant, session string) error {
	user, err := c.drain(refreshSession, session)
	if err != nil {
		return err
	}
	for _, sql := range refreshUser {
		if _, err := c.drain(sql, user); err != nil {
			return err
		}
	}
	if _, err := c.drain(refreshMember, tenant, user); err != nil {
		return err
	}
	if _, err := c.drain(refreshRules, tenant); err != nil {
		return err
	}
	return c.exec(refreshAdvance, session, time.Now().UTC().Format(db.TimeLayout))
}

// drain reads every row and returns the second column of the first.
func (c *conn) drain(sql string, args ...any) (second string, err error) {
	st, err := c.prepare(sql)
	if err != nil {
		return "", err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(context.Background(), named(args))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	vals := make([]driver.Value, len(rows.Columns()))
	for first := true; ; first = false {
		switch err := rows.Next(vals); {
		case errors.Is(err, io.EOF):
			return second, nil
		case err != nil:
			return "", err
		}
		if first && len(vals) > 1 {
			second, _ = vals[1].(string)
		}
	}
}
