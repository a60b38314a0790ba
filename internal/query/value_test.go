package query

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
)

// What is sent is kept exactly or refused, never rounded or guessed.
func TestValue(t *testing.T) {
	raw := func(s string) any { return json.RawMessage(s) }
	for _, c := range []struct {
		typ  catalog.Type
		in   any
		want any // a string beginning with "!" is an error code
	}{
		{catalog.Int, raw("9007199254740993"), int64(9007199254740993)},
		{catalog.Int, raw("-0"), int64(0)},
		{catalog.Int, raw("1e3"), int64(1000)},
		{catalog.Int, raw("1.5"), "!22P02"},
		{catalog.Int, raw("9223372036854775808"), "!22003"},
		{catalog.Int, raw(`"12"`), int64(12)},
		{catalog.Int, "٣", "!22P02"},
		{catalog.Decimal, raw("0.1"), decimal.Dec(1000)},
		{catalog.Decimal, raw("0.30000000000000004"), "!22003"},
		{catalog.Decimal, raw("1e999"), "!22003"},
		{catalog.Decimal, 7, decimal.FromInt(7)},
		{catalog.Decimal, 2.5, decimal.Dec(25000)},
		{catalog.Float, raw("0.30000000000000004"), 0.30000000000000004},
		{catalog.Float, raw("1234567890123456789012345"), "!22003"},
		{catalog.Float, raw("0.10000000000000000000000001"), "!22003"},
		{catalog.Float, raw("-0.0"), math.Copysign(0, -1)},
		{catalog.Float, raw("1e-999999999"), "!22003"},
		{catalog.Float, raw("0.0000000001e-999999999"), "!22003"},
		{catalog.Float, raw("1e999"), "!22003"},
		{catalog.Float, "NaN", "!22P02"},
		{catalog.Float, "0x1p4", "!22P02"},
		{catalog.Bool, raw("true"), true},
		{catalog.Bool, "off", false},
		{catalog.Bool, raw("2"), "!22P02"},
		{catalog.Text, raw(`"a\u00e9\n\"b"`), "aé\n\"b"},
		{catalog.Text, raw("5"), "5"},
		{catalog.Text, raw(`{"a":1}`), "!22P02"},
		{catalog.Text, raw(`"\u0000"`), "!22P05"},
		{catalog.UUID, "0190A000-0000-7000-8000-00000000000F", "0190a000-0000-7000-8000-00000000000f"},
		{catalog.UUID, "0190a00000007000800000000000000f", "!22P02"},
		{catalog.UUID, "{0190a000-0000-7000-8000-00000000000f}", "!22P02"},
		{catalog.Time, "2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000000Z"},
		{catalog.Time, "2026-03-01 10:00:00.1234567-0130", "2026-03-01T11:30:00.123457Z"},
		{catalog.Time, "2026-03-01", "2026-03-01T00:00:00.000000Z"},
		{catalog.Time, "9999-12-31T23:59:59-10:00", "!22008"},
		{catalog.Time, "2026-02-30T00:00:00Z", "!22008"},
		{catalog.Time, "now", "!22007"},
		{catalog.Date, "2026-02-28", "2026-02-28"},
		{catalog.Date, "2026-02-28T10:00:00Z", "2026-02-28"},
		{catalog.Date, "28.02.2026", "!22007"},
		{catalog.Date, "2026-02-30", "!22008"},
		{catalog.JSON, raw(` {"a": 12345678901234567890.10} `), raw(`{"a":12345678901234567890.10}`)},
		{catalog.JSON, raw("null"), nil},
		{catalog.JSON, "{", "!22P02"},
		{catalog.Array, raw(`["a", 1, "b\"c"]`), raw(`["a","1","b\"c"]`)},
		{catalog.Array, `{a,"b,c"}`, raw(`["a","b,c"]`)},
		{catalog.Array, []string{"x"}, raw(`["x"]`)},
		{catalog.Array, raw(`[["a"]]`), "!22P02"},
		{catalog.Array, raw(`[null]`), "!22P02"},
	} {
		f := &catalog.Field{Name: "f", Type: c.typ}
		got, err := Value(f, c.in)
		if code, bad := strings.CutPrefix(text(c.want), "!"); bad {
			if !fault.HasCode(err, code) {
				t.Errorf("%s %v: got %v %v, want %s", c.typ, c.in, got, err, code)
			}
			continue
		}
		if err != nil || text(got) != text(c.want) {
			t.Errorf("%s %v: got %#v %v, want %#v", c.typ, c.in, got, err, c.want)
		}
	}
}

// text is a value's Go type and JSON, or the string itself.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// What is said to be stored already is what Value makes of it; the usual values
// of a record are known.
func TestStored(t *testing.T) {
	const id, now = "0190a1b2-c3d4-7e5f-8a6b-0123456789ab", "2026-01-02T03:04:05.000000Z"
	all := []catalog.Type{catalog.Text, catalog.Int, catalog.Decimal, catalog.Float, catalog.Bool, catalog.UUID,
		catalog.Time, catalog.Date,
		catalog.Array, catalog.JSON}
	values := []any{nil, "", "plain", "a\x00b", "\xff", id, strings.ToUpper(id), id[1:], strings.Replace(id, "a", "g", 1),
		strings.Replace(id, "-", "0", 1),
		now, "2026-13-01T00:00:00.000000Z", "12", int64(12), 12, decimal.FromInt(3), 2.5, math.NaN(), true,
		json.RawMessage(`{"a": 1}`), json.RawMessage(`[ 1 ]`)}
	for _, typ := range all {
		f := &catalog.Field{Name: "f", Type: typ}
		for _, v := range values {
			if !Stored(f, v) {
				continue
			}
			if got, err := Value(f, v); err != nil || got != v {
				t.Errorf("%v %#v is said to be stored: %#v, %v", typ, v, got, err)
			}
		}
	}
	for _, c := range []struct {
		typ catalog.Type
		v   any
	}{{catalog.Text, "plain"}, {catalog.Int, int64(1)}, {catalog.Decimal, decimal.FromInt(1)}, {catalog.Bool, false},
		{catalog.UUID, id}, {catalog.Time, nil}} {
		if !Stored(&catalog.Field{Name: "f", Type: c.typ}, c.v) {
			t.Errorf("%v %#v is not known to be stored", c.typ, c.v)
		}
	}
}
