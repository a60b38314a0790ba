package sheet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// lastRow and lastColumn are the ends of a worksheet (ECMA-376 names none;
// every program stops there).
const (
	lastRow    = 1 << 20
	lastColumn = 1 << 14
)

// grid reads the rows of a worksheet.
type grid struct {
	w      *workbook
	m      *markup
	part   io.Closer
	row    int
	left   int64 // bytes of text that may still come
	width  int   // of the first row: later ones are filled up to it
	shown  bool  // hidden rows are passed over
	inside bool  // in sheetData
	done   bool

	rec   Record
	text  []byte
	ends  []int
	kinds []Kind
	buf   []byte
}

// openGrid opens the sheet of a workbook that a format names.
func openGrid(open Source, f Format) (*grid, error) {
	w, err := openWorkbook(open, true)
	if err != nil {
		return nil, err
	}
	g := &grid{w: w, left: MaxBytes, shown: f.Shown}
	if g.m, g.part, err = w.openPart(w.tabs[f.Sheet].part); err == nil && g.m == nil {
		err = brokenWorkbook("the sheet %q is missing", clipText(w.tabs[f.Sheet].name))
	}
	if err != nil {
		w.src.Close()
		return nil, err
	}
	return g, nil
}

// Close closes the file below.
func (g *grid) Close() error { return errors.Join(g.part.Close(), g.w.src.Close()) }

// Next returns the next row that is not blank. Its line is the row's number.
func (g *grid) Next() (*Record, error) {
	for {
		if err := g.nextRow(); err != nil {
			if errors.Is(err, errMarkup) {
				err = brokenWorkbook("row %d or one after it is damaged", g.row)
			}
			return nil, err
		}
		if g.shown && g.rec.Hidden {
			continue
		}
		if g.rec.Bad != nil || !isBlankRow(g.rec.Cells) {
			return &g.rec, nil
		}
	}
}

// nextRow reads up to the end of a row.
func (g *grid) nextRow() error {
	for !g.done {
		err := g.m.nextTag()
		switch {
		case errors.Is(err, io.EOF):
			return brokenWorkbook("the sheet ends before its end")
		case err != nil:
			return err
		case g.m.name == "sheetData":
			g.inside = !g.m.closing && !g.m.empty
			g.done = !g.inside
		case g.m.name == "row" && g.inside && !g.m.closing:
			return g.readCells()
		}
	}
	return io.EOF
}

func (g *grid) readCells() error {
	if err := g.readRowNumber(); err != nil {
		return err
	}
	hidden := string(g.m.rawAttr("hidden"))
	g.rec = Record{Line: g.row, Cells: g.rec.Cells[:0], Hidden: hidden == "1" || hidden == "true"}
	g.text, g.ends, g.kinds = g.text[:0], g.ends[:0], g.kinds[:0]
	at := 0
	for ended := g.m.empty; !ended; {
		if err := g.m.nextTag(); err != nil {
			if errors.Is(err, io.EOF) {
				err = errMarkup
			}
			return err
		}
		switch {
		case g.m.name == "row" && g.m.closing:
			ended = true
		case g.m.name == "c" && !g.m.closing:
			var err error
			if at, err = g.readCell(at); err != nil {
				return err
			}
		}
	}
	if g.left -= int64(len(g.text)); g.left < 0 { // texts that cells share come again and again
		return tooBig("the rows of the sheet hold more than %d MB of text", MaxBytes>>20)
	}
	if g.rec.Bad != nil && g.rec.Bad.Code == rowTooLong {
		return nil
	}
	all := string(g.text)
	from := 0
	for _, to := range g.ends {
		g.rec.Cells = append(g.rec.Cells, all[from:to])
		from = to
	}
	if g.width == 0 && !isBlankRow(g.rec.Cells) && !(g.shown && g.rec.Hidden) {
		g.width = len(g.rec.Cells)
	}
	for len(g.rec.Cells) < g.width {
		g.rec.Cells = append(g.rec.Cells, "")
	}
	g.rec.Kinds = g.kinds
	if g.rec.Bad == nil {
		g.rec.Bad = findUnfit(all, g.rec.Cells)
	}
	return nil
}

// readRowNumber takes the row's number, which must go up and stay on the sheet.
func (g *grid) readRowNumber() error {
	n := g.row + 1
	if r := g.m.rawAttr("r"); r != nil {
		var err error
		if n, err = strconv.Atoi(string(r)); err != nil || n <= g.row {
			return brokenWorkbook("a row has the number %q after row %d", clipText(string(r)), g.row)
		}
	}
	if n > lastRow {
		return brokenWorkbook("it has a row %d, and a sheet ends at row %d", n, lastRow)
	}
	g.row = n
	return nil
}

// parseColumn reads the column of a reference such as AB12, from 0.
func parseColumn(ref []byte) (int, bool) {
	n, i := 0, 0
	for ; i < len(ref) && i < 4 && ref[i]|0x20 >= 'a' && ref[i]|0x20 <= 'z'; i++ {
		n = n*26 + int(ref[i]|0x20-'a') + 1
	}
	return n - 1, i > 0 && n <= lastColumn
}

// readCell reads one cell and returns the column after it.
func (g *grid) readCell(at int) (int, error) {
	if ref := g.m.rawAttr("r"); ref != nil {
		n, ok := parseColumn(ref)
		if !ok || n < at {
			return 0, brokenWorkbook("row %d has a cell %q out of place", g.row, clipText(string(ref)))
		}
		at = n
	}
	kind, style := string(g.m.rawAttr("t")), string(g.m.rawAttr("s"))
	v, err := g.readContent(kind)
	if err != nil {
		return 0, err
	}
	text, k := v.buf, Written
	if kind != "inlineStr" {
		text, k = g.valueText(kind, style, v)
	} else {
		text = decodeEscapes(replaceEntities(nil, text))
	}
	if v.over || len(text) > MaxCell {
		g.noteDamage(at, "cell_too_long", fmt.Sprintf("the cell is longer than %d bytes", MaxCell))
		text = nil
	}
	if len(text) > 0 {
		g.putCell(at, text, k)
	}
	return at + 1, nil
}

// content is what stands inside a cell: its value, or the text of an inline
// string.
type content struct {
	gather
	valued  bool // has a value
	formula bool
}

func (g *grid) readContent(kind string) (*content, error) {
	v := &content{gather: gather{buf: g.buf[:0]}}
	for ended := g.m.empty; !ended; {
		if err := g.m.nextTag(); err != nil {
			if errors.Is(err, io.EOF) {
				err = errMarkup
			}
			return nil, err
		}
		switch {
		case g.m.name == "c" && g.m.closing:
			ended = true
		case g.m.name == "f":
			v.formula = true
		case g.m.name == "v" && !g.m.closing && !g.m.empty:
			g.m.keepNextText(max(0, 6*MaxCell-len(v.buf)))
			v.valued = true
		case g.m.name == "v" && g.m.closing:
			v.over = v.over || g.m.over
			v.buf = append(v.buf, g.m.text...)
			g.m.room = 0
		case kind == "inlineStr":
			v.handleTag(g.m)
		}
	}
	g.buf = v.buf
	return v, nil
}

// valueText turns a cell's value into text. A formula gives the result it had when
// the workbook was saved.
func (g *grid) valueText(kind, style string, v *content) ([]byte, Kind) {
	if v.formula && !v.valued {
		return []byte("holds a formula without its result: open the workbook in a spreadsheet program, save it and upload it again"), Broken
	}
	switch kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(string(v.buf)))
		text, ok := g.w.texts.getText(n)
		switch {
		case !v.valued:
			return nil, Written
		case err == nil && n >= 0 && n < len(g.w.texts.at) && !ok:
			v.over = true
		case !ok:
			return []byte("names a text that the workbook does not have"), Broken
		}
		return text, Written
	case "str":
		return decodeEscapes(replaceEntities(nil, v.buf)), Written
	case "d":
		return replaceEntities(nil, v.buf), Written
	case "b":
		if s := strings.TrimSpace(string(v.buf)); s == "1" || s == "true" {
			return []byte("true"), Exact
		}
		return []byte("false"), Exact
	case "e":
		return append([]byte("shows the error "), replaceEntities(nil, v.buf)...), Broken
	}
	return g.numberOrDate(style, strings.TrimSpace(string(v.buf)))
}

// numberOrDate is a number, or the date that its style makes of it.
func (g *grid) numberOrDate(style, s string) ([]byte, Kind) {
	if s == "" {
		return nil, Written
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return []byte("holds a number that cannot be read"), Broken
	}
	look := g.lookOf(style)
	if look.date {
		if text, ok := serialDate(f, g.w.epoch); ok {
			return []byte(text), Dated
		}
	}
	if math.Abs(f) >= 1e15 {
		return longNumber(s)
	}
	// A workbook's numbers have 15 digits; what a double has more is noise.
	f, err = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	if err != nil {
		return []byte("holds a number that cannot be read"), Broken
	}
	if a := math.Abs(f); a != 0 && (a < 1e-30 || a >= 1e21) {
		return strconv.AppendFloat(nil, f, 'e', -1, 64), Exact
	}
	text := strconv.AppendFloat(nil, f, 'f', -1, 64)
	if look.shape != "" || look.percent {
		return []byte(look.showNumber(string(text))), Exact
	}
	return text, Exact
}

// lookOf is how a cell's style shows its numbers.
func (g *grid) lookOf(style string) format {
	if n, err := strconv.Atoi(style); err == nil && n >= 0 && n < len(g.w.looks) {
		return g.w.looks[n]
	}
	return format{}
}

// longNumber is a number of more than 15 digits. One that is written out digit by
// digit is as the program meant it; what a spreadsheet program has written with
// an exponent it has rounded.
func longNumber(s string) ([]byte, Kind) {
	if digits := strings.TrimPrefix(s, "-"); strings.Trim(digits, "0123456789") == "" {
		return []byte(s), Exact
	}
	return []byte(s), Rounded
}

// serialDate writes the date of a serial number as ISO 8601. Day 60 of the 1900
// system is a 29 February that never was (kept from Lotus 1-2-3): days before
// it count from 1899-12-31, those after from 1899-12-30. In the 1904 system
// day 0 is 1904-01-01. A number under 1 is a time of day.
func serialDate(f float64, from1904 bool) (string, bool) {
	const last = 2_958_466 // 10000-01-01
	if f < 0 || f >= last {
		return "", false
	}
	days := math.Floor(f)
	clock := time.Duration(math.Round((f-days)*86_400_000)) * time.Millisecond
	if clock >= 24*time.Hour {
		days, clock = days+1, 0
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days == 60:
		return "1900-02-29", true
	case days < 60:
		first = first.AddDate(0, 0, 1)
	}
	t := first.AddDate(0, 0, int(days)).Add(clock)
	if t.Year() > 9999 {
		return "", false
	}
	layout := time.DateOnly
	if clock > 0 {
		layout = "2006-01-02T15:04:05.999"
	}
	if days == 0 && clock > 0 && !from1904 {
		layout = "15:04:05.999"
	}
	return t.Format(layout), true
}

// putCell appends a cell, with blank ones for those that were left out before it.
func (g *grid) putCell(at int, text []byte, k Kind) {
	if at >= MaxColumns {
		g.noteDamage(-1, "too_many_columns", fmt.Sprintf("more than %d columns; at most %d are read", MaxColumns, MaxColumns))
		return
	}
	if len(g.text)+len(text) > MaxRecord {
		g.rec.Bad = tooLong()
		return
	}
	for len(g.ends) < at {
		g.ends, g.kinds = append(g.ends, len(g.text)), append(g.kinds, Written)
	}
	g.text = append(g.text, text...)
	g.ends, g.kinds = append(g.ends, len(g.text)), append(g.kinds, k)
}

func (g *grid) noteDamage(at int, code, msg string) {
	if g.rec.Bad == nil {
		g.rec.Bad = &Damage{Code: code, Cell: at, Msg: msg}
	}
}
