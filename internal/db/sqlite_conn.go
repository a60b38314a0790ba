package db

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// liteDriverConn is what package sqlite's connections offer below
// database/sql, whose per-call locking and conversions cost a third of a page.
type liteDriverConn interface {
	driver.Conn
	driver.ConnPrepareContext
}

// liteConn is one connection with its prepared statements, least recently
// used first out.
type liteConn struct {
	conn   liteDriverConn
	handle uintptr // the driver's own, for interrupt
	stmts  map[string]*list.Element
	order  *list.List
	named  []driver.NamedValue
	vals   []driver.Value
}

type liteStmt struct {
	sql   string
	stmt  driver.Stmt
	order []int // which argument each "?" takes
}

// maxStatements bounds the prepared statements of a connection.
const maxStatements = 400

func (c *liteConn) prepareText(sql string) (*liteStmt, error) {
	if e := c.stmts[sql]; e != nil {
		c.order.MoveToBack(e)
		return e.Value.(*liteStmt), nil
	}
	text, order := positionalParameters(sql)
	prepared, err := c.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("db: prepare %s: %w", sql, err)
	}
	st := &liteStmt{sql, prepared, order}
	c.stmts[sql] = c.order.PushBack(st)
	if c.order.Len() > maxStatements {
		old := c.order.Remove(c.order.Front()).(*liteStmt)
		delete(c.stmts, old.sql)
		old.stmt.Close()
	}
	return st, nil
}

// positionalParameters rewrites $1..$n as ?, and says which argument each takes. SQLite
// keeps the names of $n in a list that it walks for every parameter bound:
// with 256 rows to a statement, binding cost five times the insert.
func positionalParameters(sql string) (text string, order []int) {
	var b strings.Builder
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(sql[i+1:], c)
			if end < 0 {
				end = len(sql) - i - 2
			}
			b.WriteString(sql[i : i+end+2])
			i += end + 1
		case c == '$' && i+1 < len(sql) && sql[i+1] >= '1' && sql[i+1] <= '9':
			n := 0
			for i+1 < len(sql) && sql[i+1] >= '0' && sql[i+1] <= '9' {
				i++
				n = n*10 + int(sql[i]-'0')
			}
			order = append(order, n)
			b.WriteByte('?')
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), order
}

func (c *liteConn) bindArguments(st *liteStmt, args []any) ([]driver.NamedValue, error) {
	c.named = c.named[:0]
	for i, n := range st.order {
		if n > len(args) {
			return nil, fmt.Errorf("db: no argument for $%d", n)
		}
		v, err := encodeArgument(args[n-1])
		if err != nil {
			return nil, err
		}
		c.named = append(c.named, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.named, nil
}

// runAll runs q, each statement for at most longest, and ends the one that
// runs when ctx does.
func (c *liteConn) runAll(ctx context.Context, longest time.Duration, q []stmt) error {
	w := c.watchStatement(ctx, longest)
	defer w.stopWatching()
	for i, s := range q {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 {
			w.timer.Reset(longest)
		}
		if err := c.runOne(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *liteConn) runOne(s stmt) error {
	if s.each != nil {
		return c.queryRows(s.sql, s.args, s.each)
	}
	st, err := c.prepareText(s.sql)
	if err != nil {
		return err
	}
	args, err := c.bindArguments(st, s.args)
	if err != nil {
		return err
	}
	res, err := st.stmt.(driver.StmtExecContext).ExecContext(context.Background(), args)
	if err != nil {
		return err
	}
	if s.n != nil {
		*s.n, err = res.RowsAffected()
	}
	return err
}

func (c *liteConn) queryRows(sql string, args []any, each func(*Row) error) error {
	st, err := c.prepareText(sql)
	if err != nil {
		return err
	}
	named, err := c.bindArguments(st, args)
	if err != nil {
		return err
	}
	rows, err := st.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), named)
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
		if err := rows.Next(row.vals); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(&row); err != nil {
			return err
		}
	}
}

func (c *liteConn) execText(sql string) error {
	return c.runOne(stmt{sql: sql})
}

func (c *liteConn) closeConn() {
	for e := c.order.Front(); e != nil; e = e.Next() {
		e.Value.(*liteStmt).stmt.Close()
	}
	c.conn.Close()
}
