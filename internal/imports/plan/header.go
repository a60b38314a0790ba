package plan

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
)

// headRows is how many records of a file are looked at for its header: titles,
// dates of a report and blank lines may stand above it.
const headRows = 20

// opening is a file from its first record: some of them are known before they
// are read.
type opening struct {
	sheet.Records
	head []sheet.Record
	at   int
}

func openHead(open sheet.Source, f sheet.Format) (*opening, error) {
	rows, err := sheet.Open(open, f)
	if err != nil {
		return nil, err
	}
	o := &opening{Records: rows}
	for len(o.head) < headRows {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		kept := *rec
		kept.Cells, kept.Kinds = slices.Clone(rec.Cells), slices.Clone(rec.Kinds)
		o.head = append(o.head, kept)
	}
	return o, nil
}

// Next implements sheet.Records.
func (o *opening) Next() (*sheet.Record, error) {
	if o.at < len(o.head) {
		o.at++
		return &o.head[o.at-1], nil
	}
	return o.Records.Next()
}

// openFile opens the file behind what stands above its header, or above its data
// where it has none, and returns the first record.
func (v *Survey) openFile(f Upload, given map[string]Place) (rows sheet.Records, first *sheet.Record, err error) {
	o, err := openHead(f.Open, v.Format)
	if err != nil {
		return nil, nil, err
	}
	at := sheet.Records(o)
	defer func() {
		if err != nil {
			err = errors.Join(err, at.Close())
		}
	}()
	if len(o.head) == 0 {
		return nil, nil, fault.New(fault.Invalid, "empty_file", "the file holds no rows")
	}
	if v.Format.Skip, err = v.findHeader(f, o, given); err != nil {
		return nil, nil, err
	}
	if v.Format.Skip > 0 {
		again, err := sheet.Open(f.Open, v.Format)
		if err != nil {
			return nil, nil, err
		}
		if err := o.Close(); err != nil {
			return nil, nil, errors.Join(err, again.Close())
		}
		at = again
	}
	if first, err = at.Next(); err != nil {
		return nil, nil, err
	}
	if first.Bad != nil {
		return nil, nil, fault.New(fault.Invalid, first.Bad.Code, "line %d: %s", first.Line, first.Bad.Msg).
			At(fmt.Sprintf("line %d", first.Line), "%s", first.Bad.Msg)
	}
	if v.Headed && f.Kind != sheet.JSON {
		v.HeaderRow = first.Line
	}
	return at, first, nil
}

// findHeader decides which record is the header, or that the first is data
// already, and returns how many stand above it.
func (v *Survey) findHeader(f Upload, o *opening, given map[string]Place) (skip int, err error) {
	v.Headed = v.Settings.Header == nil || *v.Settings.Header || f.Kind == sheet.JSON
	switch {
	case !v.Headed || f.Kind == sheet.JSON:
		return 0, nil
	case v.Settings.HeaderRow > 0:
		return v.findChosenHeader(o)
	case v.Settings.Header != nil:
		return 0, nil
	}
	at := -1
	if given == nil && f.Known != nil {
		if at, err = findRememberedHeader(f, o.head); err != nil {
			return 0, err
		}
	}
	if at < 0 {
		at = v.findMatchingHeader(o.head, given)
	}
	if at > 0 {
		if err := onlyTitles(o.head[:at], &o.head[at]); err != nil {
			return 0, err
		}
		v.Warnings = append(v.Warnings, fmt.Sprintf("The header was found in line %d; what stands above it was left out.",
			o.head[at].Line))
	}
	if at >= 0 || given == nil || byHeader(given) {
		return max(at, 0), nil
	}
	switch first := &o.head[0]; findLikelyHeader(o.head) {
	case likeData:
		v.Headed = false
		v.Warnings = append(v.Warnings,
			fmt.Sprintf("The file has no header: line %d reads like those below it and was taken as a row.", first.Line))
	case unsure:
		return 0, askQuestion(
			"options.header",
			"is line %d (%s) the header, or data already? Say which, or on which line the header is",
			first.Line,
			excerptOf(first),
		).
			With("", "options.header: true or false; or options.header_row")
	}
	return 0, nil
}

// onlyTitles asks about a record above header that may be data: one that has
// as many cells, or cannot be read.
func onlyTitles(above []sheet.Record, header *sheet.Record) error {
	_, wide := countMatches(*header, nil)
	for i := range above {
		rec := &above[i]
		if _, filled := countMatches(*rec, nil); filled < wide && rec.Bad == nil {
			continue
		}
		return askQuestion(
			"options.header_row",
			"line %d (%s) reads like the header, but line %d (%s) above it may be data: say on which line the header is, or that there is none",
			header.Line,
			excerptOf(header),
			rec.Line,
			excerptOf(rec),
		).With("", "options.header_row; or options.header: true for the first line, false for none")
	}
	return nil
}

func excerptOf(rec *sheet.Record) string {
	return fault.Clip(cell.Line(strings.TrimRight(strings.Join(rec.Cells, ", "), ", ")), 80)
}

// byHeader reports that a mapping names headers.
func byHeader(given map[string]Place) bool {
	for _, p := range given {
		if p.header != "" || slices.ContainsFunc(p.parts, func(part Place) bool { return part.header != "" }) {
			return true
		}
	}
	return false
}

// findChosenHeader finds the record on the line that the options name.
func (v *Survey) findChosenHeader(o *opening) (skip int, err error) {
	want := v.Settings.HeaderRow
	defer func() { o.at = 0 }()
	for ; ; skip++ {
		rec, err := o.Next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && rec.Line > want:
			return 0,
				askQuestion("options.header_row",
					"line %d of the file is blank, or not there, or inside a row that begins above it: say on which line its header begins", want)
		case err != nil:
			return 0, err
		case rec.Line == want:
			return skip, nil
		}
	}
}

// findMatchingHeader is the record whose cells are called most like the columns that are
// looked for, -1 when none is. A later one has to be wider than one that
// matched before it, or a header from end to end.
func (v *Survey) findMatchingHeader(head []sheet.Record, given map[string]Place) int {
	names, named := map[string]bool{}, byHeader(given)
	for _, p := range given {
		for _, one := range append(p.parts, p) {
			if one.header != "" {
				names[cell.Fold(shortHeading(one.header))] = true
			}
		}
	}
	if !named {
		for _, c := range v.Target.Columns {
			for _, f := range c.Fold {
				names[f] = true
			}
		}
	}
	best, most, wide := -1, 0, 0
	for i := range head {
		n, filled := countMatches(head[i], names)
		enough := i == 0 || n > 1 || named && n == len(names)
		if given != nil && !named { // the file may have no header: a row of data can hold such words
			enough = n > 1 && (n == filled || i == 0 && 2*n > filled)
		}
		if enough && n > most && (best < 0 || filled > wide || n == filled) {
			best, most, wide = i, n, filled
		}
	}
	return best
}

// countMatches counts the cells that are called like one of names, each name once,
// and those that are not blank.
func countMatches(rec sheet.Record, names map[string]bool) (n, filled int) {
	if rec.Bad != nil {
		return 0, 0
	}
	seen := map[string]bool{}
	for _, c := range rec.Cells {
		if strings.TrimSpace(c) == "" {
			continue
		}
		filled++
		if f := cell.Fold(shortHeading(c)); names[f] && !seen[f] {
			seen[f] = true
			n++
		}
	}
	return n, filled
}

// findRememberedHeader is the record that has the headers of a file whose mapping is kept:
// the first one, or the first of the widest.
func findRememberedHeader(f Upload, head []sheet.Record) (at int, err error) {
	widest, most := 0, 0
	for i := range head {
		if _, filled := countMatches(head[i], nil); filled > most {
			widest, most = i, filled
		}
	}
	for _, i := range slices.Compact([]int{0, widest}) {
		cells := head[i].Cells
		for i > 0 && len(cells) > 0 && cells[len(cells)-1] == "" && f.Kind == sheet.XLSX {
			cells = cells[:len(cells)-1] // filled up to the width of the first
		}
		raw, _, err := f.Known(cells)
		if err != nil {
			return -1, err
		}
		if raw != nil {
			return i, nil
		}
	}
	return -1, nil
}

// What a first record that nothing is known of looks like beside those below.
const (
	unsure = iota
	likeHeader
	likeData
)

// findLikelyHeader tells a header by words above numbers or dates, data by numbers or
// dates above such: in two columns, or wherever the first record is not blank,
// as one column may well be called by its year.
func findLikelyHeader(head []sheet.Record) int {
	words, values, texts := 0, 0, 0
	for i, c := range head[0].Cells {
		if strings.TrimSpace(c) == "" {
			continue
		}
		first := isMeasured(&head[0], i)
		if !first {
			texts++
		}
		switch {
		case !measuredBelow(head[1:], i):
		case first:
			values++
		default:
			words++
		}
	}
	if words > 0 && values == 0 {
		return likeHeader
	}
	if words == 0 && (values > 1 || values > 0 && texts == 0) {
		return likeData
	}
	return unsure
}

// measuredBelow reports a column of numbers and dates.
func measuredBelow(rows []sheet.Record, i int) bool {
	found := false
	for j := range rows {
		rec := &rows[j]
		if i >= len(rec.Cells) || strings.TrimSpace(rec.Cells[i]) == "" {
			continue
		}
		if !isMeasured(rec, i) {
			return false
		}
		found = true
	}
	return found
}

// isMeasured reports a number or a date, however it is written.
func isMeasured(rec *sheet.Record, i int) bool {
	text := rec.Cells[i]
	if rec.Kind(i) == sheet.Exact || rec.Kind(i) == sheet.Rounded {
		return true
	}
	_, dot := cell.Number(text, '.')
	_, comma := cell.Number(text, ',')
	return dot == nil || comma == nil || slices.ContainsFunc([]string{cell.DMY, cell.MDY, cell.YMD},
		func(order string) bool {
			_, err := cell.Date(text, order)
			return err == nil
		})
}
