package safety

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
)

// Column is a column of a bulk insert; Type is its SQL type (uuid, text,
// bigint, "double precision", boolean, timestamptz).
type Column struct{ Name, Type string }

// Rows inserts many rows with few statements: they travel as one JSON array,
// so that the number of statements hardly depends on the number of rows. It
// writes past the store; the caller audits the whole.
type Rows struct {
	tx   *db.Tx
	sql  string
	buf  []byte
	n    int
	cols int
}

// rowsPerStatement bounds the memory of a bulk insert.
const rowsPerStatement = 2500

// NewRows starts a bulk insert. conflict is an ON CONFLICT clause or "".
func NewRows(tx *db.Tx, table string, cols []Column, conflict string) *Rows {
	names, typed, picked := make([]string, len(cols)), make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		key := "c" + strconv.Itoa(i)
		names[i] = c.Name
		typed[i] = key + " " + c.Type
		picked[i] = fmt.Sprintf("v.value ->> '%s'", key)
		if tx.DB().Engine() == db.PostgreSQL {
			picked[i] = "v." + key
		}
	}
	from := "json_each($1) v"
	if tx.DB().Engine() == db.PostgreSQL {
		from = "json_to_recordset(CAST($1 AS json)) AS v (" + strings.Join(typed, ", ") + ")"
	}
	// SQLite needs the WHERE to tell an upsert from a join's ON.
	sql := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(picked, ", ") + " FROM " + from + " WHERE 1 = 1 " + conflict
	return &Rows{tx: tx, sql: sql, cols: len(cols)}
}

// Add appends a row: nil, string, int64, int, float64, bool, decimal.Dec or
// time.Time by column. It sends what has gathered when that is enough.
func (r *Rows) Add(values ...any) error {
	if len(values) != r.cols {
		return fmt.Errorf("safety: %d values for %d columns", len(values), r.cols)
	}
	r.open()
	for i, v := range values {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(strconv.AppendInt(append(r.buf, `"c`...), int64(i), 10), `":`...)
		r.buf = appendValue(r.buf, v)
	}
	return r.close()
}

// AddFunc appends a row whose members "c0":...,"c1":... the function writes.
func (r *Rows) AddFunc(row func(b []byte) []byte) error {
	r.open()
	r.buf = row(r.buf)
	return r.close()
}

func (r *Rows) open() {
	if r.n == 0 {
		r.buf = append(r.buf[:0], '[')
	} else {
		r.buf = append(r.buf, ',')
	}
	r.buf = append(r.buf, '{')
}

func (r *Rows) close() error {
	r.buf = append(r.buf, '}')
	r.n++
	if r.n == rowsPerStatement {
		return r.Send()
	}
	return nil
}

// Queue leaves the last statement to the transaction's next flush.
func (r *Rows) Queue() {
	if r.n > 0 {
		r.n = 0
		r.tx.Queue(r.sql, []any{string(append(r.buf, ']'))}, nil)
	}
}

// Send runs the statement for what has gathered.
func (r *Rows) Send() error {
	if r.n == 0 {
		return nil
	}
	r.n = 0
	r.buf = append(r.buf, ']')
	return r.tx.Query(r.sql, []any{string(r.buf)}, nil)
}

func appendValue(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return query.AppendString(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case int:
		return strconv.AppendInt(b, int64(x), 10)
	case float64:
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	case bool:
		return strconv.AppendBool(b, x)
	case decimal.Dec:
		return strconv.AppendInt(b, int64(x), 10)
	case time.Time:
		return query.AppendString(b, query.FormatTime(x))
	}
	return append(b, "null"...)
}
