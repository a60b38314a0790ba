package plan

import (
	"fmt"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
)

// Records may stand elsewhere in a file than where they are looked for first: in the
// list of one object of JSON, on another sheet of a workbook.

// arrangeElsewhere finds the columns in the one list that a file of JSON holds, and says
// so; of a workbook it adds to the question about its columns which sheet fits. Any
// other error stays.
func (v *Survey) arrangeElsewhere(
	f Upload, given map[string]Place, because error,
) (rows sheet.Records, first *sheet.Record, err error) {
	q := fault.As(because)
	if q.Code != "import_question" {
		return nil, nil, because
	}
	if v.Format.Type == sheet.XLSX && v.Settings.Sheet == "" {
		v.suggestSheet(q, f, given)
		return nil, nil, because
	}

	in, ok, err := v.Format.InList(f.Open)
	if err != nil || !ok {
		return nil, nil, because
	}
	v.Format = in
	v.Warnings = append(v.Warnings, fmt.Sprintf("The records are those of the list %q.", in.List))
	return v.arrangeFile(f, given)
}

// triedSheets is how many sheets of a workbook are tried for one that fits.
const triedSheets = 10

// suggestSheet adds to a question about a workbook's columns the first other sheet that
// has those that records need.
func (v *Survey) suggestSheet(q *fault.Error, f Upload, given map[string]Place) {
	f.Known, f.Others = nil, nil
	names := v.Format.Sheets
	for _, name := range names[:min(len(names), triedSheets)] {
		format, err := sheet.Detect(f.Open, sheet.Wish{Type: sheet.XLSX, Sheet: name})
		if err != nil || format.Sheet == v.Format.Sheet {
			continue
		}
		format.Shown = v.Format.Shown
		other := &Survey{Target: v.Target, Settings: v.Settings, Format: format}
		rows, _, err := other.arrangeFile(f, given)
		if err != nil || rows.Close() != nil {
			continue
		}
		q.Msg += fmt.Sprintf("; the sheet %q fits: say which is meant (sheet)", name)
		q.Hint = strings.TrimPrefix(q.Hint+"; options.sheet", "; ")
		q.At("options.sheet", "the sheet %q fits", name)
		return
	}
}

// noteHidden says how many of the rows that are read a sheet does not show.
func (v *Survey) noteHidden(rows int) {
	if rows == 0 {
		return
	}
	says := "1 row is hidden on the sheet and was read too; it can be left out (skip_hidden)."
	if rows > 1 {
		says = fmt.Sprintf("%d rows are hidden on the sheet and were read too; "+
			"they can be left out (skip_hidden).", rows)
	}
	v.Warnings = append(v.Warnings, says)
}
