package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
)

// FormatTime returns t as canonical text.
func FormatTime(t time.Time) string { return t.UTC().Format(db.TimeLayout) }

// Value turns a value for field f into its stored form (see Row), or a fault
// with PostgreSQL's code that names the column. It takes what a body
// (json.RawMessage), a filter or file (string) or Go code may hold.
func Value(f *catalog.Field, v any) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return fromJSON(f, x)
	case string:
		return fromText(f, x)
	case *string:
		if x == nil {
			return nil, nil
		}
		return fromText(f, *x)
	case time.Time:
		return fromText(f, FormatTime(x))
	case *time.Time:
		if x == nil {
			return nil, nil
		}
		return fromText(f, FormatTime(*x))
	case bool:
		if f.Type == catalog.Bool {
			return x, nil
		}
		return fromText(f, strconv.FormatBool(x))
	case int64:
		return fromInt(f, x)
	case int:
		return fromInt(f, int64(x))
	case decimal.Dec:
		if f.Type == catalog.Decimal {
			return x, nil
		}
		return fromText(f, x.String())
	case float64:
		if f.Type == catalog.Float && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, nil
		}
		return fromText(f, strconv.FormatFloat(x, 'f', -1, 64))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, refuseSyntax(f, fmt.Sprint(v))
	}
	return fromJSON(f, raw)
}

// Stored reports a value that Value would return as it is. It costs less than to
// have Value do so, and does not know all: times and documents are never told.
func Stored(f *catalog.Field, v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case int64:
		return f.Type == catalog.Int
	case decimal.Dec:
		return f.Type == catalog.Decimal
	case bool:
		return f.Type == catalog.Bool
	case string:
		if f.Type == catalog.Text {
			return strings.IndexByte(x, 0) < 0 && utf8.ValidString(x) && (!isIdentifier(f) || isSpelled(x))
		}
		return f.Type == catalog.UUID && isCanonicalUUID(x)
	}
	return false
}

// isCanonicalUUID reports a UUID in lower case.
func isCanonicalUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := 0; i < len(s); i++ {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && (hexDigit(s[i]) < 0 || s[i] >= 'A' && s[i] <= 'F') {
			return false
		}
	}
	return true
}

func fromInt(f *catalog.Field, n int64) (any, error) {
	switch f.Type {
	case catalog.Int:
		return n, nil
	case catalog.Float:
		return float64(n), nil
	}
	return fromText(f, strconv.FormatInt(n, 10))
}

// fromJSON reads one JSON value. Numbers and booleans are taken for a text
// column as their own text, as PostgreSQL does.
func fromJSON(f *catalog.Field, raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, refuseSyntax(f, "")
	case f.Type == catalog.JSON:
		if raw[0] == 'n' {
			return nil, nil
		}
		return jsonText(f, raw)
	case f.Type == catalog.Array && raw[0] == '[':
		return arrayText(f, raw)
	}
	switch raw[0] {
	case 'n':
		return nil, nil
	case '"':
		s, err := unquoteJSON(raw)
		if err != nil {
			return nil, refuseSyntax(f, string(raw))
		}
		return fromText(f, s)
	case '{', '[':
		return nil, refuseSyntax(f, string(raw))
	}
	return fromText(f, string(raw))
}

func unquoteJSON(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 && len(raw) >= 2 && raw[len(raw)-1] == '"' {
		return string(raw[1 : len(raw)-1]), nil
	}
	if halfPair(raw) {
		return "", errors.New("query: half of a surrogate pair stands alone")
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func jsonText(f *catalog.Field, raw []byte) (any, error) {
	if !json.Valid(raw) {
		return nil, refuseSyntax(f, string(raw))
	}
	text, reason := NormalizeDocument(raw)
	if reason != "" {
		return nil, refuseValue(f, "22P02", "column %q cannot hold this JSON: %s", f.Name, reason)
	}
	if holdsNUL(text) {
		return nil, refuseNUL(f)
	}
	return json.RawMessage(text), nil
}

// holdsNUL reports the escape of the character NUL, which no text of PostgreSQL
// holds; an escaped backslash before u0000 is none.
func holdsNUL(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(text[i+1:], []byte("u0000")) {
			return true
		}
		i++
	}
	return false
}

// arrayText makes the canonical text of an array of strings.
func arrayText(f *catalog.Field, raw []byte) (any, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, refuseSyntax(f, string(raw))
	}
	list := make([]string, len(parts))
	for i, p := range parts {
		switch p[0] {
		case '"':
			s, err := unquoteJSON(p)
			if err != nil {
				return nil, refuseSyntax(f, string(p))
			}
			list[i] = s
		case '[', '{', 'n':
			return nil, refuseSyntax(f, string(p))
		default:
			list[i] = string(p)
		}
	}
	return stringArray(f, list)
}

func stringArray(f *catalog.Field, list []string) (any, error) {
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, refuseNUL(f)
		}
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = db.AppendString(b, spelledText(f, s))
	}
	return json.RawMessage(append(b, ']')), nil
}

// fromText reads a filter's or a file's text.
func fromText(f *catalog.Field, s string) (any, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, refuseNUL(f)
	}
	switch f.Type {
	case catalog.Text:
		if !utf8.ValidString(s) {
			return nil, fault.New(fault.Invalid, "22021", "invalid byte sequence for column %q", f.Name).At(f.Name, "not UTF-8")
		}
		return spelledText(f, s), nil
	case catalog.Int:
		return parseInt(f, strings.TrimSpace(s))
	case catalog.Decimal:
		d, err := decimal.Parse(strings.TrimSpace(s))
		if errors.Is(err, decimal.ErrRange) {
			return nil, outOfRange(f, s)
		}
		if err != nil {
			return nil, refuseSyntax(f, s)
		}
		return d, nil
	case catalog.Float:
		return parseFloat(f, strings.TrimSpace(s))
	case catalog.Bool:
		return parseBool(f, s)
	case catalog.UUID:
		return parseUUID(f, s)
	case catalog.Time:
		t, err := parseTime(f, s)
		if err != nil {
			return nil, err
		}
		return FormatTime(t), nil
	case catalog.Date:
		return parseDate(f, s)
	case catalog.Array:
		return parseArray(f, s)
	}
	if !json.Valid([]byte(s)) {
		return nil, refuseSyntax(f, s)
	}
	return jsonText(f, []byte(s))
}

// parseInt takes 3, and 3.0 or 3e2 because JSON writers may spell integers so.
func parseInt(f *catalog.Field, s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return nil, outOfRange(f, s)
	}
	d, err := decimal.Parse(s)
	if errors.Is(err, decimal.ErrRange) {
		return nil, outOfRange(f, s)
	}
	if err != nil || d%decimal.Scale != 0 {
		return nil, refuseSyntax(f, s)
	}
	return int64(d / decimal.Scale), nil
}

func parseFloat(f *catalog.Field, s string) (any, error) {
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return nil, refuseSyntax(f, s)
	}
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, outOfRange(f, s)
	}
	if err != nil {
		return nil, refuseSyntax(f, s)
	}
	if (len(s) > 15 || x == 0) && !isExact(s, x) {
		return nil, outOfRange(f, s)
	}
	return x, nil
}

// isExact reports that x reads back as the number s: what was sent is kept or
// refused, never rounded. Up to 15 digits always are.
func isExact(s string, x float64) bool {
	if x == 0 { // before big.Rat sees an exponent of any size
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		return strings.Trim(mantissa, "+-0.") == ""
	}
	sent, ok := new(big.Rat).SetString(s)
	if !ok {
		return false
	}
	kept, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	return sent.Cmp(kept) == 0
}

func parseBool(f *catalog.Field, s string) (any, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "t", "yes", "y", "on", "1":
		return true, nil
	case "false", "f", "no", "n", "off", "0":
		return false, nil
	}
	return nil, refuseSyntax(f, s)
}

func parseUUID(f *catalog.Field, given string) (any, error) {
	if isCanonicalUUID(given) {
		return given, nil
	}
	s := strings.ToLower(given)
	if !isCanonicalUUID(s) {
		return nil, refuseSyntax(f, given)
	}
	return s, nil
}

// parseTime reads an instant with any offset; without one it is UTC.
func parseTime(f *catalog.Field, s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return time.Time{}, badTime(f, s)
	}
	canon := strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z07", "2006-01-02",
	} {
		t, err := time.Parse(layout, canon)
		if err == nil {
			t = t.UTC().Round(time.Microsecond)
			if t.Year() < 1 || t.Year() > 9999 {
				return t, timeRange(f, s)
			}
			return t, nil
		}
		var pe *time.ParseError
		if errors.As(err, &pe) && strings.Contains(pe.Message, "out of range") {
			return time.Time{}, timeRange(f, s)
		}
	}
	return time.Time{}, badTime(f, s)
}

func parseDate(f *catalog.Field, s string) (any, error) {
	s = strings.TrimSpace(s)
	if len(s) > 10 {
		if _, err := parseTime(f, s); err != nil {
			return nil, err
		}
		s = s[:10]
	}
	t, err := time.Parse(time.DateOnly, s)
	if err == nil && t.Year() > 0 {
		return s, nil
	}
	var pe *time.ParseError
	if errors.As(err, &pe) && strings.Contains(pe.Message, "out of range") {
		return nil, timeRange(f, s)
	}
	return nil, badTime(f, s)
}

// parseArray reads a JSON array or PostgreSQL's {a,b}.
func parseArray(f *catalog.Field, s string) (any, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return json.RawMessage("[]"), nil
	case s[0] == '[':
		return arrayText(f, []byte(s))
	case s[0] == '{':
		list, err := splitBraces(f.Name, s)
		if err != nil {
			return nil, refuseSyntax(f, s)
		}
		return stringArray(f, list)
	}
	return nil, refuseSyntax(f, s)
}

func refuseValue(f *catalog.Field, code, format string, args ...any) *fault.Error {
	e := fault.New(fault.Invalid, code, format, args...)
	e.Details = fmt.Sprintf("column %q", f.Name)
	return e.At(f.Name, "%s", e.Msg)
}

func refuseSyntax(f *catalog.Field, s string) error {
	return refuseValue(f, "22P02", "invalid input syntax for type %s: %q", f.Type, clipText(s))
}

func badTime(f *catalog.Field, s string) error {
	return refuseValue(f, "22007", "invalid input syntax for type %s: %q", f.Type, clipText(s))
}

func refuseNUL(f *catalog.Field) error {
	return refuseValue(f, "22P05", "column %q cannot hold the character NUL", f.Name)
}
