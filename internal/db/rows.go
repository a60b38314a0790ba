package db

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Column is a column of many rows: its name and its SQL type, one of uuid, text,
// bigint, double precision, boolean and timestamptz.
type Column struct{ Name, Type string }

// Rows inserts many rows with few statements, so that their number hardly
// depends on the number of rows. SQLite gets them as one JSON array; PostgreSQL
// gets each column as an array in binary, where it has nothing to parse, and a
// value that all rows share once. It writes past the store: the caller audits
// the whole. Values come column by column, End closes a row.
type Rows struct {
	tx       *Tx
	table    string
	conflict string
	cols     []Column
	n        int      // rows gathered
	at       int      // column whose value comes next
	json     []byte   // SQLite: the rows
	vectors  []vector // PostgreSQL: the columns
	elem     []byte   // PostgreSQL: the value that comes next
	err      error    // of the first value that its column cannot take
}

// rowsPerStatement bounds the memory of an insert.
const rowsPerStatement = 2500

// InsertMany starts an insert into a table. conflict is an ON CONFLICT clause or "".
// Two rows of one insert never agree in every column, as no table's rows do.
func (t *Tx) InsertMany(table string, cols []Column, conflict string) *Rows {
	r := &Rows{tx: t, table: table, conflict: conflict, cols: cols}
	if t.DB().Engine() == PostgreSQL {
		r.vectors = make([]vector, len(cols))
	}
	return r
}

// Add appends a row: nil, a text, int, int64, float64, bool, decimal.Dec or
// time.Time for each column.
func (r *Rows) Add(values ...any) error {
	if err := r.setValues(values); err != nil {
		return err
	}
	return r.End()
}

func (r *Rows) setValues(values []any) error {
	for _, v := range values {
		v, err := encodeArgument(v)
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case string:
			r.Text(v)
		case int64:
			r.Int(v)
		case float64:
			r.Float(v)
		case bool:
			r.Bool(v)
		case nil:
			r.Null()
		default:
			r.refuseValue(fmt.Sprintf("%T", v))
		}
	}
	return nil
}

// nextColumnType begins the next value and returns the type of its column, "" past the
// last one.
func (r *Rows) nextColumnType() string {
	if r.at >= len(r.cols) {
		r.refuseValue("one value more")
		return ""
	}
	if r.vectors != nil {
		r.elem = r.elem[:0]
		return r.cols[r.at].Type
	}
	switch {
	case r.at > 0:
		r.json = append(r.json, ',')
	case r.n > 0:
		r.json = append(r.json, ",["...)
	default:
		r.json = append(r.json[:0], "[["...)
	}
	return r.cols[r.at].Type
}

func (r *Rows) refuseValue(what string) {
	if r.err == nil {
		name := "the last"
		if r.at < len(r.cols) {
			name = r.cols[r.at].Name
		}
		r.err = fmt.Errorf("db: insert into %s: column %s cannot take %s", r.table, name, what)
	}
}

// Null, and the functions after it, set the next column of the row.
func (r *Rows) Null() {
	if r.nextColumnType(); r.vectors == nil {
		r.json = append(r.json, "null"...)
	} else {
		r.elem = binary.BigEndian.AppendUint32(r.elem, math.MaxUint32) // length -1
	}
	r.endValue()
}

// Text sets a text, or a uuid or an instant written out.
func (r *Rows) Text(s string) {
	kind := r.nextColumnType()
	if r.vectors == nil {
		r.json = AppendString(r.json, s)
		r.endValue()
		return
	}
	switch kind {
	case "text":
		r.elem = append(binary.BigEndian.AppendUint32(r.elem, uint32(len(s))), s...)
	case "uuid":
		id, err := uuid.Parse(s)
		if err != nil {
			r.refuseValue(strconv.Quote(s))
		}
		r.elem = append(binary.BigEndian.AppendUint32(r.elem, 16), id[:]...)
	case "timestamptz":
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			r.refuseValue(strconv.Quote(s))
		}
		r.elem = appendMicros(r.elem, at)
	default:
		r.refuseValue("a text")
	}
	r.endValue()
}

// Time sets an instant.
func (r *Rows) Time(at time.Time) {
	kind := r.nextColumnType()
	if r.vectors == nil {
		r.json = append(appendTime(append(r.json, '"'), at.UTC()), '"')
	} else if kind == "timestamptz" {
		r.elem = appendMicros(r.elem, at)
	} else {
		r.refuseValue("an instant")
	}
	r.endValue()
}

func appendMicros(b []byte, at time.Time) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(at.UnixMicro()-pgEpoch))
}

// UUID sets a uuid.
func (r *Rows) UUID(id uuid.UUID) {
	kind := r.nextColumnType()
	if r.vectors == nil {
		r.json = append(AppendUUID(append(r.json, '"'), id), '"')
	} else if kind == "uuid" {
		r.elem = append(binary.BigEndian.AppendUint32(r.elem, 16), id[:]...)
	} else {
		r.refuseValue("a uuid")
	}
	r.endValue()
}

// Int sets a whole number, or a decimal as it is scaled.
func (r *Rows) Int(n int64) {
	kind := r.nextColumnType()
	if r.vectors == nil {
		r.json = strconv.AppendInt(r.json, n, 10)
	} else if kind == "bigint" {
		r.elem = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(r.elem, 8), uint64(n))
	} else {
		r.refuseValue("a whole number")
	}
	r.endValue()
}

// Float sets a number that is finite.
func (r *Rows) Float(f float64) {
	kind := r.nextColumnType()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.refuseValue("what is no number")
	} else if r.vectors == nil {
		r.json = strconv.AppendFloat(r.json, f, 'g', -1, 64)
	} else if kind == "double precision" {
		r.elem = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(r.elem, 8), math.Float64bits(f))
	} else {
		r.refuseValue("a number")
	}
	r.endValue()
}

// Bool sets a truth value.
func (r *Rows) Bool(b bool) {
	kind := r.nextColumnType()
	if r.vectors == nil {
		r.json = strconv.AppendBool(r.json, b)
	} else if kind != "boolean" {
		r.refuseValue("a truth value")
	} else if r.elem = binary.BigEndian.AppendUint32(r.elem, 1); b {
		r.elem = append(r.elem, 1)
	} else {
		r.elem = append(r.elem, 0)
	}
	r.endValue()
}

// endValue ends a value.
func (r *Rows) endValue() {
	if r.vectors != nil && r.err == nil {
		r.vectors[r.at].addElement(r.elem)
	}
	r.at++
}

// End closes a row. It sends what has gathered when that is enough.
func (r *Rows) End() error {
	if err := r.closeRows(); err != nil || r.n < rowsPerStatement {
		return err
	}
	return r.Send()
}

func (r *Rows) closeRows() error {
	if r.err == nil && r.at < len(r.cols) {
		r.refuseValue("nothing")
	}
	if r.err != nil {
		return r.err
	}
	if r.vectors == nil {
		r.json = append(r.json, ']')
	}
	r.at = 0
	r.n++
	return nil
}

// Queue leaves the last statement to the transaction's next flush.
func (r *Rows) Queue() {
	if r.n > 0 {
		r.tx.Queue(r.takeStatement())
	}
}

// Send runs the statement for what has gathered.
func (r *Rows) Send() error {
	if r.n == 0 {
		return nil
	}
	return r.tx.Query(r.takeStatement())
}

// takeStatement takes what has gathered. What it returns outlives the next rows.
func (r *Rows) takeStatement() (string, []any, func(*Row) error) {
	b := append(insertInto(r.table, r.cols), "SELECT "...)
	args := []any{nil}
	if r.vectors == nil {
		for i := range r.cols {
			b = fmt.Appendf(b, "v.value ->> %d, ", i)
		}
		b = append(b[:len(b)-2], " FROM json_each($1) v"...)
		args[0] = string(append(r.json, ']'))
	} else {
		b, args = appendVectors(b, r.vectors, r.cols, r.n)
	}
	r.n = 0
	// SQLite needs the WHERE to tell an upsert from a join's ON.
	return strings.TrimSuffix(string(b)+" WHERE 1 = 1 "+r.conflict, " WHERE 1 = 1 "), args, nil
}

// appendVectors writes what is selected, and empties the vectors. Arrays
// unrolled there go in step, and past the temporary table that FROM would fill.
// Which columns are shared hardly changes between the statements of one insert,
// so the statement stays prepared.
func appendVectors(b []byte, vectors []vector, cols []Column, n int) ([]byte, []any) {
	args := make([]any, len(vectors))
	for i := range vectors {
		v := &vectors[i]
		if i > 0 {
			b = append(b, ", "...)
		}
		// A single unrolled column keeps the number of the rows.
		if v.rest == nil && (i > 0 || n == 1) {
			b = fmt.Appendf(b, "CAST($%d AS %s)", i+1, cols[i].Type)
			args[i] = v.sharedValue()
		} else {
			b = fmt.Appendf(b, "unnest(CAST($%d AS %s[]))", i+1, cols[i].Type)
			args[i] = v.arrayValue(cols[i].Type)
		}
		*v = vector{}
	}
	return b, args
}

// vector is a column on its way to PostgreSQL: elements in binary, each after
// its length (array_recv in PostgreSQL's arrayfuncs.c).
type vector struct {
	n     int
	first []byte // the element that all have as long as rest is nil
	rest  []byte // room for the array's head and all elements, from the second value on
}

func (v *vector) addElement(elem []byte) {
	switch {
	case v.n == 0:
		v.first = append([]byte(nil), elem...)
	case v.rest != nil:
		v.rest = append(v.rest, elem...)
	case !bytes.Equal(v.first, elem):
		v.spreadShared()
		v.rest = append(v.rest, elem...)
	}
	v.n++
}

// spreadShared writes the shared element out for each row so far.
func (v *vector) spreadShared() {
	v.rest = make([]byte, arrayHead, arrayHead+len(v.first)*rowsPerStatement*9/8)
	for range v.n {
		v.rest = append(v.rest, v.first...)
	}
}

// sharedValue is the shared element as a parameter.
func (v *vector) sharedValue() any {
	if len(v.first) == 4 && binary.BigEndian.Uint32(v.first) == math.MaxUint32 {
		return nil
	}
	return v.first[4:]
}

// elementTypes are the object ids of PostgreSQL's catalog pg_type.
var elementTypes = map[string]uint32{"boolean": 16, "bigint": 20, "text": 25, "double precision": 701,
	"timestamptz": 1184, "uuid": 2950}

// arrayHead is the length of what stands before the elements.
const arrayHead = 5 * 4

// arrayValue is the column as a parameter: one dimension from 1 on, with nulls.
func (v *vector) arrayValue(kind string) []byte {
	if v.rest == nil {
		v.spreadShared()
	}
	head := v.rest[:0]
	for _, n := range [...]uint32{1, 1, elementTypes[kind], uint32(v.n), 1} {
		head = binary.BigEndian.AppendUint32(head, n)
	}
	return v.rest
}
