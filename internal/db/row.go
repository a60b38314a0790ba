package db

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/internal/decimal"
)

// Row is one result row, valid during its callback only. Columns are read by
// index; a null reads as the zero value.
type Row struct {
	vals   []driver.Value            // SQLite
	raw    [][]byte                  // PostgreSQL, binary format
	fields []pgconn.FieldDescription // PostgreSQL
}

// Len returns the number of columns.
func (r *Row) Len() int {
	if r.raw != nil {
		return len(r.raw)
	}
	return len(r.vals)
}

// Null reports whether column i is null.
func (r *Row) Null(i int) bool {
	if r.raw != nil {
		return r.raw[i] == nil
	}
	return r.vals[i] == nil
}

// Text returns column i as text: a uuid in lower case, a time in TimeLayout.
func (r *Row) Text(i int) string {
	if r.raw == nil {
		if s, ok := r.vals[i].(string); ok {
			return s
		}
	}
	return string(r.AppendText(nil, i))
}

// AppendText appends what Text returns, without allocating.
func (r *Row) AppendText(b []byte, i int) []byte {
	if r.raw != nil {
		return appendRaw(b, r.raw[i], r.fields[i].DataTypeOID)
	}
	switch v := r.vals[i].(type) {
	case string:
		return append(b, v...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	case []byte:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case time.Time:
		return v.UTC().AppendFormat(b, TimeLayout)
	}
	return b
}

// UUID returns a uuid column, uuid.Nil for null.
func (r *Row) UUID(i int) uuid.UUID {
	if r.raw != nil {
		if len(r.raw[i]) == 16 {
			return uuid.UUID(r.raw[i])
		}
		return uuid.Nil
	}
	s, _ := r.vals[i].(string)
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// Int returns an integer column.
func (r *Row) Int(i int) int64 {
	if r.raw != nil {
		return rawInt(r.raw[i], r.fields[i].DataTypeOID)
	}
	switch v := r.vals[i].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// Dec returns a scaled decimal column.
func (r *Row) Dec(i int) decimal.Dec { return decimal.Dec(r.Int(i)) }

// Float returns a floating column.
func (r *Row) Float(i int) float64 {
	if r.raw != nil {
		b := r.raw[i]
		if b == nil {
			return 0
		}
		if r.fields[i].DataTypeOID == pgtype.Float8OID {
			return math.Float64frombits(binary.BigEndian.Uint64(b))
		}
		if r.fields[i].DataTypeOID == pgtype.NumericOID {
			f, _ := strconv.ParseFloat(string(appendRaw(nil, b, pgtype.NumericOID)), 64)
			return f
		}
		return float64(rawInt(b, r.fields[i].DataTypeOID))
	}
	switch v := r.vals[i].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

// Bool returns a boolean column.
func (r *Row) Bool(i int) bool {
	if r.raw != nil {
		return len(r.raw[i]) > 0 && r.raw[i][len(r.raw[i])-1] != 0
	}
	switch v := r.vals[i].(type) {
	case bool:
		return v
	case int64:
		return v != 0
	}
	return false
}

// Time returns a timestamp column in UTC, the zero time for null.
func (r *Row) Time(i int) time.Time {
	if r.raw != nil {
		if r.raw[i] == nil {
			return time.Time{}
		}
		return pgTime(r.raw[i])
	}
	switch v := r.vals[i].(type) {
	case time.Time:
		return v.UTC()
	case string:
		t, _ := time.Parse(time.RFC3339Nano, v)
		return t.UTC()
	}
	return time.Time{}
}

// Bytes returns a copy of a binary column.
func (r *Row) Bytes(i int) []byte {
	if r.raw != nil {
		return append([]byte(nil), r.raw[i]...)
	}
	switch v := r.vals[i].(type) {
	case []byte:
		return append([]byte(nil), v...)
	case string:
		return []byte(v)
	}
	return nil
}

func rawInt(b []byte, oid uint32) int64 {
	if oid == pgtype.NumericOID {
		n, _ := strconv.ParseInt(string(appendRaw(nil, b, oid)), 10, 64)
		return n
	}
	switch len(b) {
	case 8:
		if oid == pgtype.Float8OID {
			return int64(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return int64(binary.BigEndian.Uint64(b))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 1:
		return int64(b[0])
	}
	return 0
}

// pgEpoch is PostgreSQL's zero instant, 2000-01-01, in Unix microseconds.
const pgEpoch = 946684800 * 1e6

func pgTime(b []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b)) + pgEpoch).UTC()
}

func appendRaw(b, raw []byte, oid uint32) []byte {
	if raw == nil {
		return b
	}
	switch oid {
	case pgtype.UUIDOID:
		return AppendUUID(b, [16]byte(raw))
	case pgtype.TimestamptzOID:
		return appendTime(b, pgTime(raw))
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
		return strconv.AppendInt(b, rawInt(raw, oid), 10)
	case pgtype.BoolOID:
		return strconv.AppendBool(b, raw[0] != 0)
	case pgtype.Float8OID:
		return strconv.AppendFloat(b, math.Float64frombits(binary.BigEndian.Uint64(raw)), 'g', -1, 64)
	case pgtype.NumericOID:
		return appendNumeric(b, raw)
	}
	return append(b, raw...)
}

func appendNumeric(b, raw []byte) []byte {
	var n pgtype.Numeric
	if err := pgtype.NewMap().Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, raw, &n); err != nil {
		return b
	}
	t, err := n.MarshalJSON()
	if err != nil {
		return b
	}
	return append(b, t...)
}

// AppendUUID appends an id in lower case (RFC 9562, section 4), without
// allocating.
func AppendUUID(b []byte, id uuid.UUID) []byte {
	var t [36]byte
	hex.Encode(t[0:8], id[0:4])
	t[8] = '-'
	hex.Encode(t[9:13], id[4:6])
	t[13] = '-'
	hex.Encode(t[14:18], id[6:8])
	t[18] = '-'
	hex.Encode(t[19:23], id[8:10])
	t[23] = '-'
	hex.Encode(t[24:36], id[10:16])
	return append(b, t[:]...)
}

// appendTime writes TimeLayout by hand: it is on the path of every list cell.
func appendTime(b []byte, t time.Time) []byte {
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	us := t.Nanosecond() / 1000
	b = append(b, byte('0'+y/1000%10), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10), '-')
	b = append(appendTwoDigits(b, int(mo)), '-')
	b = append(appendTwoDigits(b, d), 'T')
	b = append(appendTwoDigits(b, h), ':')
	b = append(appendTwoDigits(b, mi), ':')
	b = append(appendTwoDigits(b, s), '.')
	for div := 100000; div > 0; div /= 10 {
		b = append(b, byte('0'+us/div%10))
	}
	return append(b, 'Z')
}

func appendTwoDigits(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func textOf(a any) (string, bool) {
	if raw, ok := a.(json.RawMessage); ok {
		return string(raw), true
	}
	v := reflect.ValueOf(a)
	if v.Kind() == reflect.String {
		return v.String(), true
	}
	return "", false
}
