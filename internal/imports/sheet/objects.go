package sheet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// maxObject bounds one JSON record.
const maxObject = 1 << 20

// splitter cuts JSON into records without understanding them: one array of
// objects, or objects one after another (JSON Lines). What is no object ends
// with its line, so that one damaged record does not take the others along.
type splitter struct {
	r    *bufio.Reader
	line int
	raw  []byte
	at   int  // line the record begins on
	long bool // it did not fit
	list bool // records end with the list that they stand in
}

// nextRecord returns the next record's bytes, valid until the next call; bad says
// why they are none.
func (s *splitter) nextRecord() (raw []byte, bad string, err error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return nil, "", err
		}
		switch c {
		case '\n':
			s.line++
		case ']':
			if s.list {
				return nil, "", io.EOF
			}
		case ' ', '\t', '\r', ',', '[':
		case '{':
			s.at = s.line
			bad, err := s.readObject()
			return s.raw, bad, err
		default:
			s.at = s.line
			return nil, "is no JSON object: a file of records is [{...}, {...}] or one object per line", s.dropLine()
		}
	}
}

// dropLine drops the line under way.
func (s *splitter) dropLine() error {
	for {
		c, err := s.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case c == '\n':
			s.line++
			return nil
		}
	}
}

// readObject reads up to the brace that closes the record.
func (s *splitter) readObject() (bad string, err error) {
	s.raw = append(s.raw[:0], '{')
	depth, quoted, escaped := 1, false, false
	s.long = false
	for depth > 0 {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return "begins here and the file ends inside it", nil
		}
		if err != nil {
			return "", err
		}
		switch {
		case c == '\n':
			s.line++
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if escaped && c == '\n' {
			escaped = false
		}
		if len(s.raw) < maxObject {
			s.raw = append(s.raw, c)
		} else {
			s.long = true
		}
	}
	return "", nil
}

// objects reads records of JSON as rows whose columns are Format.Keys.
type objects struct {
	s      splitter
	closer io.Closer
	keys   []string
	index  map[string]int
	headed bool // the keys were given out
	rec    Record
}

func openObjects(src io.ReadCloser, f Format) (*objects, error) {
	s, err := newSplitter(src, f)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	o := &objects{s: s, closer: src, keys: f.Keys, index: map[string]int{}}
	for i, k := range f.Keys {
		o.index[k] = i
	}
	return o, nil
}

// newSplitter begins at the records of a file: at its beginning, or in the list that
// the format names.
func newSplitter(src io.Reader, f Format) (splitter, error) {
	s := splitter{r: bufio.NewReaderSize(f.decodeText(src), 64<<10), line: 1}
	if f.List == "" {
		return s, nil
	}
	s.list = true
	_, err := s.findList(func(key string) bool { return key == f.List })
	return s, err
}

// Close closes the file below.
func (o *objects) Close() error { return o.closer.Close() }

// Next returns the keys first and then every record.
func (o *objects) Next() (*Record, error) {
	if !o.headed {
		o.headed = true
		o.rec = Record{Line: 1, Cells: append(o.rec.Cells, o.keys...)}
		return &o.rec, nil
	}
	for {
		raw, bad, err := o.s.nextRecord()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("sheet: %w", err)
			}
			return nil, err
		}
		o.rec = Record{Line: o.s.at, Cells: o.rec.Cells[:0], Kinds: o.rec.Kinds[:0]}
		for range o.keys {
			o.rec.Cells, o.rec.Kinds = append(o.rec.Cells, ""), append(o.rec.Kinds, Written)
		}
		if bad != "" {
			o.rec.Bad = &Damage{Code: "json", Cell: -1, Msg: "the record " + bad}
			return &o.rec, nil
		}
		o.fillCells(raw, o.s.long)
		if o.rec.Bad != nil || !isBlankRow(o.rec.Cells) {
			return &o.rec, nil
		}
	}
}

// fillCells sets the cells from a record.
func (o *objects) fillCells(raw []byte, long bool) {
	if long {
		o.rec.Bad = tooLong()
		return
	}
	if !utf8.Valid(raw) || web.LoneSurrogate(raw) {
		o.rec.Bad = &Damage{Code: "encoding", Cell: -1, Msg: "the record holds bytes, or an escape, that are no text"}
		return
	}
	bytesOf := 0
	seen := make([]bool, len(o.keys))
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		i, ok := o.index[key]
		if !ok {
			return fmt.Errorf("has a field %q that came out of nowhere", clipText(key))
		}
		if seen[i] {
			return fmt.Errorf("has the field %q twice", clipText(key))
		}
		seen[i] = true
		var err error
		o.rec.Cells[i], o.rec.Kinds[i], err = scalarText(value)
		if bytesOf += len(o.rec.Cells[i]); bytesOf > MaxRecord {
			return errTooLong
		}
		if err == nil && len(o.rec.Cells[i]) > MaxCell {
			err = fmt.Errorf("has a value longer than %d bytes", MaxCell)
		}
		return err
	})
	if errors.Is(err, errTooLong) {
		o.rec.Cells, o.rec.Bad = o.rec.Cells[:0], tooLong()
		return
	}
	if err != nil {
		o.rec.Bad = &Damage{Code: "json", Cell: -1, Msg: "the record " + err.Error()}
		return
	}
	for i, c := range o.rec.Cells {
		if d := findUnfit(c, []string{c}); d != nil {
			d.Cell = i
			o.rec.Bad = d
			return
		}
	}
}

var errTooLong = errors.New("sheet: a record over the bound")

// scalarText is a value as a cell holds it: a text as it is, a number as an exact
// one, lists and objects as JSON.
func scalarText(value json.RawMessage) (string, Kind, error) {
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, Written, err
	case 'n':
		return "", Written, nil
	case 't', 'f':
		return string(value), Exact, nil
	case '[', '{':
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return "", Written, err
		}
		return b.String(), Written, nil
	}
	return string(value), Exact, nil
}

// eachMember calls f for every member of an object in its order.
func eachMember(raw []byte, f func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		key, ok := t.(string)
		if !ok {
			return errors.New("is not valid JSON")
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return notJSON(err)
		}
		if err := f(key, v); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return fmt.Errorf("is not valid JSON (%s)", s)
	}
	return errors.New("is not valid JSON")
}

// detectObjects reads the file once for the names of its fields, in the order
// they come up.
func (f *Format) detectObjects(open Source) error {
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	s, err := newSplitter(src, *f)
	if err != nil {
		return err
	}
	if c, err := firstByte(s.r); err != nil || c != '{' && c != '[' {
		return fault.New(fault.Invalid, "json",
			"the file holds no JSON records: it must be [{...}, {...}] or one object per line")
	}
	seen := map[string]bool{}
	bytesOf := 0
	for {
		raw, bad, err := s.nextRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("sheet: %w", err)
		}
		if bad != "" || s.long {
			continue
		}
		err = eachMember(raw, func(key string, _ json.RawMessage) error {
			if !seen[key] {
				seen[key] = true
				f.Keys = append(f.Keys, key)
				bytesOf += len(key)
			}
			if len(f.Keys) > MaxColumns || bytesOf > MaxColumns*256 {
				return errTooWide
			}
			return nil
		})
		if errors.Is(err, errTooWide) {
			return fault.New(fault.Invalid, "too_many_columns", "line %d: the records have more than %s different fields", s.at,
				strconv.Itoa(MaxColumns))
		}
	}
	if len(f.Keys) == 0 {
		if in, ok, err := f.InList(open); ok || err != nil {
			*f = in
			return err
		}
		return fault.New(fault.Invalid, "empty_file", "the file holds no records")
	}
	return nil
}

var errTooWide = errors.New("sheet: too many fields")

// firstByte looks at the first byte that is no blank.
func firstByte(r *bufio.Reader) (byte, error) {
	for n := 1; n <= 4096; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return 0, err
		}
		if c := b[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}
