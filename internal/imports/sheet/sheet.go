// Package sheet reads rows out of a file somebody exported somewhere: it finds
// out encoding and delimiter by looking, and gives records with the line they
// start on. It knows nothing of what the rows mean.
package sheet

import (
	"errors"
	"fmt"
	"io"

	"holdfast/internal/fault"
)

// Limits of a file. Past one of them the record (or the file) is refused by
// name; nothing is cut off silently.
const (
	MaxBytes   = 50 << 20
	MaxRows    = 200_000
	MaxColumns = 200
	MaxCell    = 32 << 10 // bytes of one cell, as UTF-8
)

// Record is one row of cells as they stand in the file, quotes removed. It is
// valid until the next call of Next.
type Record struct {
	Line  int // physical line its first byte stands on, from 1
	Cells []string
	Bad   *Damage // why the record cannot be trusted, or nil
}

// Damage is what is wrong with a record as a record, whatever it means.
type Damage struct {
	Code string // quote, unclosed_quote, cell_too_long, too_many_columns, encoding, control_character
	Cell int    // index of the cell, -1 = the whole record
	Msg  string
}

// Records gives the rows of a file one after another; io.EOF ends them. A
// spreadsheet reader has the same shape.
type Records interface {
	Next() (*Record, error)
	io.Closer
}

// Source opens the file anew; it is read more than once.
type Source func() (io.ReadCloser, error)

// Format is how a file's bytes become rows.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be, windows-1252
	BOM       bool
	Delimiter byte
	SepLine   bool // the first line is Excel's "sep=;"
}

// Type is the format's name: csv, or tsv where tabs delimit.
func (f Format) Type() string {
	if f.Delimiter == '\t' {
		return "tsv"
	}
	return "csv"
}

// Detect finds a file's format. A file that holds no text is fault.Invalid.
// delimiter is the caller's word, or 0.
func Detect(open Source, delimiter byte) (Format, error) {
	var f Format
	if err := f.detectEncoding(open); err != nil {
		return f, err
	}
	head, whole, err := f.head(open)
	if err != nil {
		return f, err
	}
	f.detectDelimiter(head, whole)
	if delimiter != 0 {
		f.Delimiter = delimiter
	}
	return f, nil
}

// headBytes of decoded text are enough for the first 50 records of any sane
// file.
const headBytes = 256 << 10

// head reads the beginning as UTF-8 and says whether that was all.
func (f Format) head(open Source) (text []byte, whole bool, err error) {
	src, err := open()
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	buf := make([]byte, headBytes)
	n, err := io.ReadFull(f.decode(src), buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return buf[:n], true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("sheet: %w", err)
	}
	return buf, false, nil
}

// Open starts reading the file's records from the first.
func Open(open Source, f Format) (Records, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	r := NewReader(f.decode(src), f.Delimiter)
	r.closer = src
	if f.SepLine {
		if _, err := r.Next(); err != nil && !errors.Is(err, io.EOF) {
			src.Close()
			return nil, err
		}
	}
	return r, nil
}

// Delimiters are the characters that may stand between cells.
const Delimiters = ",;\t|"

// ParseDelimiter reads the name or character of a delimiter.
func ParseDelimiter(s string) (byte, error) {
	switch s {
	case "":
		return 0, nil
	case ",", "comma":
		return ',', nil
	case ";", "semicolon":
		return ';', nil
	case "\t", `\t`, "tab":
		return '\t', nil
	case "|", "pipe":
		return '|', nil
	}
	return 0, fault.New(fault.Invalid, "delimiter", "%q is no delimiter: use comma, semicolon, tab or pipe", s)
}
