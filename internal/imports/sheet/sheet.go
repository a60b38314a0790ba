// Package sheet reads rows out of a file somebody exported somewhere: it finds
// out encoding and delimiter by looking, reads workbooks and JSON, and gives
// records with the line they start on. It knows nothing of what the rows mean.
//
// Layer: across domains. Begin at [Open].
package sheet

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/internal/fault"
)

// Limits of a file. Past one of them the record (or the file) is refused by
// name; nothing is cut off silently.
const (
	MaxBytes   = 200 << 20
	MaxRows    = 1_000_000
	MaxColumns = 200
	MaxCell    = 32 << 10  // bytes of one cell, as UTF-8
	MaxRecord  = 128 << 10 // bytes of a record's cells together
)

// Record is one row of cells as they stand in the file, quotes removed. It is
// valid until the next call of Next.
type Record struct {
	Line  int // physical line its first byte stands on, or a sheet's row, from 1
	Cells []string
	Kinds []Kind  // of the cells, where the file tells them apart; nil = all Written
	Bad   *Damage // why the record cannot be trusted, or nil

	Hidden bool // a sheet's row that is not shown, by a filter or by hand
}

// Kind says how a cell's text came about.
type Kind uint8

// Kinds of cells.
const (
	Written Kind = iota // as a person wrote it: numbers and dates in the manner of a country
	Exact               // as a program wrote it: a number with a point, true, false
	Broken              // there is no value; the text says why
	Rounded             // a number of more digits than the program that wrote it keeps
	Dated               // a date that a program wrote
)

// Kind returns the kind of cell i.
func (r *Record) Kind(i int) Kind {
	if i < len(r.Kinds) {
		return r.Kinds[i]
	}
	return Written
}

// Damage is what is wrong with a record as a record, whatever it means.
type Damage struct {
	Code string // quote, unclosed_quote, cell_too_long, row_too_long, too_many_columns, json, encoding, control_character
	Cell int    // index of the cell, -1 = the whole record
	Msg  string
}

// rowTooLong is the code of a record over MaxRecord. None of its cells is given:
// half of a row could be taken for a whole one.
const rowTooLong = "row_too_long"

func tooLong() *Damage {
	return &Damage{Code: rowTooLong, Cell: -1,
		Msg: fmt.Sprintf("the row holds more than %d kB of text, which is more than a record can: shorten it", MaxRecord>>10)}
}

// Records gives the rows of a file one after another; io.EOF ends them. A
// spreadsheet reader has the same shape.
type Records interface {
	Next() (*Record, error)
	io.Closer
}

// Source opens the file anew; it is read more than once.
type Source func() (io.ReadCloser, error)

// Types of files.
const (
	CSV  = "csv"
	TSV  = "tsv"
	XLSX = "xlsx"
	JSON = "json" // one array of objects, or an object per line
)

// Format is how a file's bytes become rows.
type Format struct {
	Type      string // CSV, TSV, XLSX, JSON
	Encoding  string // one of Encodings
	Sample    string // words that told it, where it is not of Unicode
	BOM       bool
	Delimiter byte     // of CSV and TSV
	SepLine   bool     // the first line is Excel's "sep=;"
	Skip      int      // records above the first that counts
	Keys      []string // columns of JSON
	Sheet     int      // of a workbook, from 0
	Sheets    []string // names of a workbook's visible sheets
	Shown     bool     // rows of a sheet that are hidden are left out
	List      string   // the field of JSON's one object whose list the records are, "" = it is none
}

// Wish is what the caller knows of a file. The zero Wish leaves all to Detect.
type Wish struct {
	Type      string // XLSX, JSON; anything else is text
	Encoding  string // of text, one of Encodings
	Delimiter byte
	Sheet     string // name or number from 1 of a workbook's sheet; the first visible one when empty
}

// Detect finds a file's format. A file that holds no rows of text is
// fault.Invalid.
func Detect(open Source, wish Wish) (Format, error) {
	f := Format{Type: CSV}
	if wish.Type == XLSX {
		return f.detectSheet(open, wish.Sheet)
	}
	if err := f.detectEncoding(open, wish.Encoding); err != nil {
		return f, err
	}
	if wish.Type == JSON {
		f.Type = JSON
		return f, f.detectObjects(open)
	}
	head, whole, err := f.readHead(open)
	if err != nil {
		return f, err
	}
	f.detectDelimiter(head, whole)
	if wish.Delimiter != 0 {
		f.Delimiter = wish.Delimiter
	}
	if f.Delimiter == '\t' {
		f.Type = TSV
	}
	return f, nil
}

// detectSheet finds the sheet to read.
func (f Format) detectSheet(open Source, wish string) (Format, error) {
	w, err := openWorkbook(open, false)
	if err != nil {
		return f, err
	}
	defer w.src.Close()
	f.Type, f.Encoding, f.Sheet = XLSX, "utf-8", -1
	for i, t := range w.tabs {
		if !t.hidden {
			f.Sheets = append(f.Sheets, t.name)
		}
		if f.Sheet < 0 && (wish == "" && !t.hidden || wish != "" && (t.name == wish || strconv.Itoa(i+1) == wish)) {
			f.Sheet = i
		}
	}
	switch {
	case f.Sheet >= 0:
		return f, nil
	case wish == "":
		f.Sheet = 0
		return f, nil
	}
	bad := fault.New(fault.Invalid, "import_question", "the workbook has no sheet %q; its sheets are: %s", clipText(wish),
		strings.Join(f.Sheets, ", "))
	return f, bad.At("options.sheet", "must name a sheet of the workbook")
}

// headBytes of decoded text are enough for the first 50 records of any sane
// file.
const headBytes = 256 << 10

// readHead reads the beginning as UTF-8 and says whether that was all.
func (f Format) readHead(open Source) (text []byte, whole bool, err error) {
	src, err := open()
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	buf := make([]byte, headBytes)
	n, err := io.ReadFull(f.decodeText(src), buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return buf[:n], true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("sheet: %w", err)
	}
	return buf, false, nil
}

// Open starts reading the file's records from the first that counts.
func Open(open Source, f Format) (Records, error) {
	r, err := f.openRecords(open)
	if err != nil {
		return nil, err
	}
	for range f.Skip {
		if _, err := r.Next(); err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, r.Close())
		}
	}
	if g, ok := r.(*grid); ok {
		g.width = 0 // what stood above does not say how wide rows are
	}
	return r, nil
}

func (f Format) openRecords(open Source) (Records, error) {
	if f.Type == XLSX {
		return openGrid(open, f)
	}
	src, err := open()
	if err != nil {
		return nil, err
	}
	if f.Type == JSON {
		return openObjects(src, f)
	}
	r := NewReader(f.decodeText(src), f.Delimiter)
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
