package query

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// Body is what a write was sent: its rows and the columns they may set, each
// value still raw.
type Body struct {
	Rows    []Row
	Columns []string // in order of first appearance, or those of columns=
}

func badBody(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "PGRST102", format, args...)
}

// JSONBody reads an object or an array of objects. Without columns every
// object must have the same keys.
func JSONBody(b []byte, columns []string) (*Body, error) {
	if len(b) > MaxBody {
		return nil, fault.New(fault.TooLarge, "PGRST102", "the body is longer than %d bytes", MaxBody)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, badBody("the body is empty; expected a JSON object or an array of objects")
	}
	if !utf8.Valid(b) {
		return nil, badBody("the body is not UTF-8")
	}
	if err := checkNesting(b); err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		return nil, jsonFault(b)
	}
	d := &decoder{in: b}
	body, err := d.readRows()
	if err != nil {
		return nil, err
	}
	return body, body.settleColumns(columns)
}

// jsonFault says where the JSON breaks.
func jsonFault(b []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(b, &v)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return badBody("the body is not valid JSON").With(
			strings.TrimSuffix(se.Error(), ".")+" at byte "+formatInt(se.Offset), "")
	}
	return badBody("the body is not valid JSON")
}

// checkNesting counts brackets outside strings before anything recursive sees them.
func checkNesting(b []byte) error {
	depth, in := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case in:
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return badBody("the body is nested deeper than %d levels", maxJSONDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// decoder walks JSON already known to be valid.
type decoder struct {
	in  []byte
	pos int
}

func (d *decoder) skipBlanks() {
	for d.pos < len(d.in) && d.in[d.pos] <= ' ' {
		d.pos++
	}
}

func (d *decoder) readRows() (*Body, error) {
	d.skipBlanks()
	switch d.in[d.pos] {
	case '{':
		row, err := d.readObject()
		return &Body{Rows: []Row{row}}, err
	case '[':
	default:
		return nil, badBody("expected a JSON object or an array of objects")
	}
	body := &Body{Rows: []Row{}}
	for d.pos++; ; d.pos++ {
		d.skipBlanks()
		if d.in[d.pos] == ']' {
			return body, nil
		}
		if d.in[d.pos] != '{' {
			return nil, badBody("element %d of the array is not an object", len(body.Rows)+1)
		}
		if len(body.Rows) == MaxWriteRows {
			return nil, fault.New(fault.TooLarge, "PGRST102", "more than %d rows in one write", MaxWriteRows)
		}
		row, err := d.readObject()
		if err != nil {
			return nil, err
		}
		body.Rows = append(body.Rows, row)
		if d.skipBlanks(); d.in[d.pos] == ']' {
			return body, nil
		}
	}
}

func (d *decoder) readObject() (Row, error) {
	row := Row{}
	for d.pos++; ; d.pos++ {
		d.skipBlanks()
		if d.in[d.pos] == '}' {
			d.pos++
			return row, nil
		}
		key, err := unquoteJSON(d.readValue())
		if err != nil {
			return nil, badBody("a key cannot be read")
		}
		d.skipBlanks()
		d.pos++ // the colon
		d.skipBlanks()
		if _, twice := row[key]; twice {
			return nil, badBody("key %q appears twice in one object", clipText(key))
		}
		if len(row) == maxColumns {
			return nil, badBody("more than %d keys in one object", maxColumns)
		}
		row[key] = json.RawMessage(d.readValue())
		if d.skipBlanks(); d.in[d.pos] == '}' {
			d.pos++
			return row, nil
		}
	}
}

// readValue steps over one value and returns its text.
func (d *decoder) readValue() []byte {
	start, depth := d.pos, 0
	for {
		switch c := d.in[d.pos]; c {
		case '"':
			for d.pos++; d.in[d.pos] != '"'; d.pos++ {
				if d.in[d.pos] == '\\' {
					d.pos++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
		default: // a number or a word
			for d.pos+1 < len(d.in) && !strings.ContainsRune(",:]} \t\n\r", rune(d.in[d.pos+1])) {
				d.pos++
			}
		}
		if d.pos++; depth == 0 {
			return d.in[start:d.pos]
		}
	}
}

// settleColumns finds the columns: those asked for, else the keys all rows share.
func (b *Body) settleColumns(columns []string) error {
	if columns != nil {
		b.Columns = columns
		for _, row := range b.Rows {
			for k := range row {
				if !containsText(columns, k) {
					delete(row, k)
				}
			}
		}
		return nil
	}
	for i, row := range b.Rows {
		if i == 0 {
			for k := range row {
				b.Columns = append(b.Columns, k)
			}
			sort.Strings(b.Columns)
			continue
		}
		if len(row) != len(b.Columns) {
			return badBody("All object keys must match").With("row "+formatInt(int64(i+1))+" has other keys than the first", "")
		}
		for _, k := range b.Columns {
			if _, ok := row[k]; !ok {
				return badBody("All object keys must match").With("row "+formatInt(int64(i+1))+" lacks "+clipText(k), "")
			}
		}
	}
	return nil
}

// CSVBody reads a header line and records (RFC 4180). A bare NULL is null, an
// empty cell the empty string.
func CSVBody(b []byte, columns []string) (*Body, error) {
	if len(b) > MaxBody {
		return nil, fault.New(fault.TooLarge, "PGRST102", "the body is longer than %d bytes", MaxBody)
	}
	if !isCleanText(string(b)) {
		return nil, badBody("the body is not UTF-8, or holds a NUL")
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	head, err := r.Read()
	if err != nil {
		return nil, badBody("the body has no header line")
	}
	if len(head) > maxColumns {
		return nil, badBody("more than %d columns", maxColumns)
	}
	for i, h := range head {
		if containsText(head[:i], h) {
			return nil, badBody("column %q appears twice in the header", clipText(h))
		}
	}
	body := &Body{Rows: []Row{}}
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badBody("a line of the CSV cannot be read").With(err.Error(), "")
		}
		if len(body.Rows) == MaxWriteRows {
			return nil, fault.New(fault.TooLarge, "PGRST102", "more than %d rows in one write", MaxWriteRows)
		}
		row := make(Row, len(head))
		for i, h := range head {
			if row[h] = any(Unguard(rec[i])); rec[i] == "NULL" {
				row[h] = nil
			}
		}
		body.Rows = append(body.Rows, row)
	}
	if columns == nil {
		columns = head
	}
	return body, body.settleColumns(columns)
}

func containsText(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
