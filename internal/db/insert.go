package db

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Column is a column that Insert writes: its name and its SQL type.
type Column struct{ Name, Type string }

// insertRows is how many rows one statement of Insert takes on PostgreSQL.
const insertRows = 1000

// Insert queues many rows of one table; each row has its values in the order of
// the columns, nil = null. PostgreSQL gets a column at a time as an array,
// which costs it half of what a parameter for each value costs; rows that are
// alike in all columns must not come together, as no table's rows are. SQLite gets a
// row at a time by one prepared statement, which costs it least.
func (t *Tx) Insert(table string, cols []Column, rows [][]any) error {
	if t.DB().Engine() == SQLite {
		text := insertRow(table, cols)
		for _, row := range rows {
			t.Queue(text, row, nil)
		}
		return nil
	}
	for len(rows) > 0 {
		n := min(insertRows, len(rows))
		text, args, err := insertArrays(table, cols, rows[:n])
		if err != nil {
			return err
		}
		t.Queue(text, args, nil)
		rows = rows[n:]
	}
	return nil
}

func insertInto(table string, cols []Column) []byte {
	b := []byte("INSERT INTO " + table + " (")
	for i, c := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, c.Name...)
	}
	return append(b, ") "...)
}

func insertRow(table string, cols []Column) string {
	b := append(insertInto(table, cols), "VALUES ("...)
	for i := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(append(b, '$'), int64(i+1), 10)
	}
	return string(append(b, ')'))
}

// insertArrays is the statement for rows: columns that differ come as arrays,
// a value that all rows share as itself. Arrays unrolled in the list of what is
// selected go in step, and past the temporary table that FROM would fill. Which these are hardly changes between
// the batches of one import, so the statement stays prepared.
func insertArrays(table string, cols []Column, rows [][]any) (string, []any, error) {
	b := append(insertInto(table, cols), "SELECT "...)
	args := make([]any, len(cols))
	for i, c := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		v, shared, err := column(rows, i, c.Type)
		if err != nil {
			return "", nil, fmt.Errorf("db: insert into %s, column %s: %w", table, c.Name, err)
		}
		args[i] = v
		if shared {
			b = fmt.Appendf(b, "CAST($%d AS %s)", i+1, c.Type)
		} else {
			b = fmt.Appendf(b, "unnest(CAST($%d AS %s[]))", i+1, c.Type)
		}
	}
	return string(b), args, nil
}

// column is what a column's values are sent as: the one that all rows share, or
// an array.
func column(rows [][]any, col int, kind string) (v any, shared bool, err error) {
	values := make([]any, len(rows))
	shared = true
	for i, row := range rows {
		if values[i], err = encode(row[col]); err != nil {
			return nil, false, err
		}
		_, bytes := values[i].([]byte)
		shared = shared && !bytes && values[i] == values[0]
	}
	if shared {
		return values[0], true, nil
	}
	if b := binaryArray(values, kind); b != nil {
		return b, false, nil
	}
	text, err := array(values)
	return text, false, err
}

// binaryArray is values as PostgreSQL receives an array in binary (array_recv in
// its arrayfuncs.c), where it has nothing to parse; nil where a value is not of
// the kind. The element types are those of pg_type.
func binaryArray(values []any, kind string) []byte {
	oids := map[string]uint32{"text": pgtype.TextOID, "bigint": pgtype.Int8OID, "boolean": pgtype.BoolOID, "uuid": pgtype.UUIDOID}
	oid, ok := oids[kind]
	if !ok {
		return nil
	}
	be := binary.BigEndian
	b := make([]byte, 0, 20+24*len(values))
	b = be.AppendUint32(be.AppendUint32(b, 1), 1) // one dimension, with nulls
	b = be.AppendUint32(be.AppendUint32(be.AppendUint32(b, oid), uint32(len(values))), 1)
	for _, v := range values {
		if b = appendBinary(b, v, kind); b == nil {
			return nil
		}
	}
	return b
}

// appendBinary appends one element with its length, -1 for null.
func appendBinary(b []byte, v any, kind string) []byte {
	be := binary.BigEndian
	switch v := v.(type) {
	case nil:
		return be.AppendUint32(b, math.MaxUint32)
	case int64:
		if kind == "bigint" {
			return be.AppendUint64(be.AppendUint32(b, 8), uint64(v))
		}
	case bool:
		if kind == "boolean" && v {
			return append(be.AppendUint32(b, 1), 1)
		} else if kind == "boolean" {
			return append(be.AppendUint32(b, 1), 0)
		}
	case string:
		if kind == "text" {
			return append(be.AppendUint32(b, uint32(len(v))), v...)
		}
		if id, err := uuid.Parse(v); kind == "uuid" && err == nil {
			return append(be.AppendUint32(b, 16), id[:]...)
		}
	}
	return nil
}

// array is values as a literal of a PostgreSQL array
// (documentation of PostgreSQL, 8.15.2 Array Value Input).
func array(values []any) (string, error) {
	b := make([]byte, 0, 16*len(values)+2)
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case nil:
			b = append(b, "NULL"...)
		case string:
			b = appendElement(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case bool:
			b = strconv.AppendBool(b, v)
		case float64:
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		default:
			return "", fmt.Errorf("cannot send %T", v)
		}
	}
	return string(append(b, '}')), nil
}

// appendElement quotes a text, so that nothing in it is read as the array's.
func appendElement(b []byte, s string) []byte {
	b = append(b, '"')
	for {
		i := strings.IndexAny(s, `"\`)
		if i < 0 {
			return append(append(b, s...), '"')
		}
		b = append(append(b, s[:i]...), '\\', s[i])
		s = s[i+1:]
	}
}
