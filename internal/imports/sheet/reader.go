package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Reader splits delimited text after RFC 4180, leniently where a file's
// meaning stays certain: any of LF, CRLF and CR ends a line, quoted cells may
// hold all of them, a quote inside an unquoted cell is a character. Blank
// lines, and lines of delimiters only, are no records.
type Reader struct {
	src    io.Reader
	closer io.Closer
	delim  byte

	buf      []byte
	pos, end int
	eof      bool
	fail     error

	line  int // physical line at pos
	rec   Record
	text  []byte // the record's cells end to end
	ends  []int
	start int  // offset in text of the cell under way
	cells int  // cells of the record, also those past the limit
	cut   bool // the cell under way is longer than one can be, and the rest of it is dropped
}

// NewReader reads UTF-8 text from src.
func NewReader(src io.Reader, delim byte) *Reader {
	return &Reader{src: src, delim: delim, buf: make([]byte, 64<<10), line: 1}
}

// Close closes the file below.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// Next returns the next record that is not blank.
func (r *Reader) Next() (*Record, error) {
	for {
		if err := r.readRecord(); err != nil {
			return nil, err
		}
		if r.rec.Bad != nil || !isBlankRow(r.rec.Cells) {
			return &r.rec, nil
		}
	}
}

func isBlankRow(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// peekByte returns the next byte without taking it.
func (r *Reader) peekByte() (byte, bool) {
	for r.pos == r.end {
		if r.eof {
			return 0, false
		}
		n, err := r.src.Read(r.buf)
		r.pos, r.end = 0, n
		if err != nil {
			r.eof = true
			if !errors.Is(err, io.EOF) {
				r.fail = fmt.Errorf("sheet: %w", err)
			}
		}
	}
	return r.buf[r.pos], true
}

func (r *Reader) readRecord() error {
	r.rec = Record{Line: r.line, Cells: r.rec.Cells[:0]}
	r.text, r.ends, r.cells, r.start = r.text[:0], r.ends[:0], 0, 0
	if _, ok := r.peekByte(); !ok {
		if r.fail != nil {
			return r.fail
		}
		return io.EOF
	}
	for more := true; more; {
		more = r.readCell()
		r.endCell()
	}
	if r.fail != nil {
		return r.fail
	}
	r.finishRecord()
	return nil
}

// endsCell reads c if it ends a cell, and reports whether another one follows.
func (r *Reader) endsCell(c byte) (yes, more bool) {
	switch c {
	case r.delim:
		r.pos++
		return true, true
	case '\n', '\r':
		r.readNewline(c)
		return true, false
	}
	return false, false
}

// readCell reads one cell and reports whether a delimiter followed it.
func (r *Reader) readCell() bool {
	for opens := true; ; { // a quote opens a quoted cell after nothing but blanks
		c, ok := r.peekByte()
		if !ok {
			return false
		}
		if ended, more := r.endsCell(c); ended {
			return more
		} else if c == '"' && opens {
			r.text = r.text[:r.start]
			r.pos++
			return r.readQuoted()
		}
		opens = r.readPlain() && opens
	}
}

// readPlain takes bytes up to the next one with a meaning. A quote it starts at is
// a character: cell has seen that it opens nothing. It reports whether they
// were all blanks.
func (r *Reader) readPlain() bool {
	i := r.pos + 1
	for i < r.end {
		if c := r.buf[i]; c == r.delim || c == '\n' || c == '\r' || c == '"' {
			break
		}
		i++
	}
	run := r.buf[r.pos:i]
	r.pos = i
	r.keepBytes(run)
	return len(bytes.TrimLeft(run, " ")) == 0
}

// readNewline takes one line end.
func (r *Reader) readNewline(c byte) {
	r.pos++
	r.line++
	if c == '\r' {
		if n, ok := r.peekByte(); ok && n == '\n' {
			r.pos++
		}
	}
}

// readQuoted reads from behind the opening quote to the end of the cell.
func (r *Reader) readQuoted() bool {
	opened := r.line
	for {
		c, ok := r.peekByte()
		if !ok {
			r.rec.Bad = &Damage{Code: "unclosed_quote", Cell: r.cells,
				Msg: fmt.Sprintf("the quote opened on line %d is never closed: everything after it was read as one cell", opened)}
			return false
		}
		if c != '"' {
			r.readQuotedRun()
			continue
		}
		r.pos++
		if n, ok := r.peekByte(); !ok || n != '"' {
			return r.afterQuote()
		}
		r.keepBytes(r.buf[r.pos : r.pos+1])
		r.pos++
	}
}

// readQuotedRun takes bytes up to the next quote, with all line ends among them.
func (r *Reader) readQuotedRun() {
	run := r.buf[r.pos:r.end]
	if i := bytes.IndexByte(run, '"'); i >= 0 {
		run = run[:i]
	}
	r.pos += len(run)
	r.keepBytes(run)
	r.line += bytes.Count(run, []byte{'\n'})
	for at := bytes.IndexByte(run, '\r'); at >= 0; {
		if run = run[at+1:]; len(run) == 0 {
			if n, ok := r.peekByte(); !ok || n != '\n' {
				r.line++
			}
			return
		}
		if run[0] != '\n' {
			r.line++
		}
		at = bytes.IndexByte(run, '\r')
	}
}

// afterQuote reads what stands between a closing quote and the cell's end:
// blanks, or damage.
func (r *Reader) afterQuote() bool {
	for {
		c, ok := r.peekByte()
		if !ok {
			return false
		}
		if ended, more := r.endsCell(c); ended {
			return more
		} else if c != ' ' {
			r.noteDamage("quote", "text follows a closing quote: a quote inside a quoted cell must be doubled")
			r.keepBytes([]byte{c})
		}
		r.pos++
	}
}

// keepBytes appends to the cell under way, up to its limit.
func (r *Reader) keepBytes(p []byte) {
	if r.cells >= MaxColumns || r.cut {
		return
	}
	room := MaxCell - (len(r.text) - r.start)
	if r.cut = len(p) > room; r.cut {
		r.noteDamage("cell_too_long", fmt.Sprintf("the cell is longer than %d bytes", MaxCell))
		p = p[:room]
	}
	if len(r.text)+len(p) > MaxRecord {
		r.rec.Bad, r.cut = tooLong(), true
		return
	}
	r.text = append(r.text, p...)
	if r.cut {
		r.text = r.text[:r.start+len(withoutBrokenEnd(r.text[r.start:]))]
	}
}

// withoutBrokenEnd cuts off a character that a text has only the beginning of.
func withoutBrokenEnd(text []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(text)); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return text[:at]
			}
			return text
		}
	}
	return text
}

// noteDamage keeps the first thing that is wrong with the record.
func (r *Reader) noteDamage(code, msg string) {
	if r.rec.Bad == nil {
		r.rec.Bad = &Damage{Code: code, Cell: r.cells, Msg: msg}
	}
}

func (r *Reader) endCell() {
	if r.cells < MaxColumns {
		r.ends = append(r.ends, len(r.text))
	}
	r.start, r.cut = len(r.text), false
	r.cells++
}

// finishRecord turns the bytes into cells: one string for the record, cut in pieces.
func (r *Reader) finishRecord() {
	if r.rec.Bad != nil && r.rec.Bad.Code == rowTooLong {
		return
	}
	all := string(r.text)
	from := 0
	for _, to := range r.ends {
		r.rec.Cells = append(r.rec.Cells, all[from:to])
		from = to
	}
	if r.cells > MaxColumns && r.rec.Bad == nil {
		r.rec.Bad = &Damage{Code: "too_many_columns", Cell: -1,
			Msg: fmt.Sprintf("%d columns; at most %d are read", r.cells, MaxColumns)}
	}
	if r.rec.Bad == nil {
		r.rec.Bad = findUnfit(all, r.rec.Cells)
	}
}

// findUnfit finds what no text column holds: broken UTF-8, which the other encodings
// become where they are broken, and NUL.
func findUnfit(all string, cells []string) *Damage {
	if utf8.ValidString(all) && strings.IndexByte(all, 0) < 0 {
		return nil
	}
	for i, c := range cells {
		if !utf8.ValidString(c) {
			return &Damage{Code: "encoding", Cell: i, Msg: "the cell holds bytes that are no text, unlike the rest of the file"}
		}
		if strings.IndexByte(c, 0) >= 0 {
			return &Damage{Code: "control_character", Cell: i, Msg: "the cell holds a NUL character"}
		}
	}
	return &Damage{Code: "encoding", Cell: -1, Msg: "the record holds bytes that are no text"}
}
