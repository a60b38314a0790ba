package osha

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"holdfast/internal/pdf"
	"holdfast/internal/record"
)

func book(cases ...record.OSHACase) *Book {
	b := &Book{Site: record.Site{"id": "s", "code": "DFW 1/a", "name": "Dallas", "city": "Dallas", "state": "TX"},
		Year: 2025, Place: time.UTC}
	for i, c := range cases {
		row := record.OSHACase{"case_no": int64(i + 1), "recordable": "yes", "outcome": "other",
			"illness_type": "injury",
			"site_id":      "s", "year": int64(2025),
			"employee_name": "Ada"}
		for k, v := range c {
			row[k] = v
		}
		incident := record.Incident{"occurred_at": "2025-03-10T10:00:00.000000Z"}
		b.Entries = append(b.Entries, Entry{Case: row, Incident: incident, Days: statedDays(row)})
	}
	return b
}

// The log fills the width of its page and no more: a column that sticks out is
// cut by the printer.
func TestLogFitsThePage(t *testing.T) {
	sum := 0.0
	for _, c := range logColumns {
		sum += c.Width
	}
	if want := 279.4 - 2*pdf.Margin; sum > want+0.01 || sum < want-0.5 {
		t.Errorf("columns are %.1f mm wide, the page has %.1f", sum, want)
	}
}

// No text is cut: what a cell draws is all of its text, however long its words,
// and the longest row there can be fits on one page.
func TestCellsHoldTheirText(t *testing.T) {
	p, err := pdf.New(pdf.Paper{Across: true, Size: "Letter", Title: "t", Foot: "f", Made: time.Time{}})
	if err != nil {
		t.Fatal(err)
	}
	p.AddPage()
	tab := &pdf.Table{Page: p, Columns: logColumns, Size: 7}
	packed := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, s := range []string{strings.Repeat("Strained lower back ", 50), strings.Repeat("x", 1000),
		strings.Repeat("Wiśniewska-Müller ", 55),
		"a\nb", "🦺 glove", strings.Repeat("W", 200), " x "} {
		for _, c := range logColumns {
			if got, want := packed(strings.Join(tab.Wrapped(s, c, ""), "")), packed(p.Clean(s)); got != want {
				t.Errorf("%.20q in %.1f mm: %d of %d characters drawn", s, c.Width, len(got), len(want))
			}
		}
	}
	cells := make([]string, len(logColumns))
	for i, n := range map[int]int{1: 200, 2: 200, 4: 300, 5: 1000} {
		cells[i] = strings.Repeat("W", n)
	}
	_, high := p.GetPageSize()
	if h := tab.Tall(cells, ""); h > high-60 {
		t.Errorf("a row of the longest texts is %.0f mm high", h)
	}
	for _, c := range logColumns[6:] {
		if len(tab.Wrapped("999", c, "B")) > 1 {
			t.Errorf("a total of 999 breaks in column %q", c.Title)
		}
	}
	if no := "\u0378\U0003FFFD"; p.Clean(no) != "□□" {
		t.Errorf("signs that no font has are drawn as %q", p.Clean(no))
	}
}

// Forms of the same records are the same bytes, and grow by pages.
func TestForms(t *testing.T) {
	long := record.OSHACase{"what_happened": strings.Repeat("It went on and on. ", 260),
		"activity_before": strings.Repeat("w", 5000),
		"injury_detail":   strings.Repeat("Zażółć gęślą jaźń ", 270)}
	for name, c := range map[string]struct {
		make  func(*Book) ([]byte, error)
		b     *Book
		pages int
	}{
		"300 empty": {(*Book).Form300, book(), 1}, "300": {(*Book).Form300, book(make([]record.OSHACase, 120)...), 4},
		"300A": {(*Book).Form300A, book(record.OSHACase{}), 1},
		"301":  {(*Book).Form301, book(record.OSHACase{}, record.OSHACase{}), 2}, "301 long": {(*Book).Form301,
			book(long), 4},
	} {
		one, err := c.make(c.b)
		two, again := c.make(c.b)
		if err != nil || again != nil || !bytes.Equal(one, two) || !bytes.HasPrefix(one, []byte("%PDF-")) {
			t.Errorf("%s: %v, %v, %d and %d bytes", name, err, again, len(one), len(two))
		}
		if !bytes.Contains(one, fmt.Appendf(nil, "/Count %d", c.pages)) {
			t.Errorf("%s: not %d pages: %s", name, c.pages,
				bytes.Split(one[bytes.Index(one, []byte("/Count")):], []byte("\n"))[0])
		}
	}
}

// A privacy case has no name on the log, its description is the discreet one,
// and a redacted book names nobody (29 CFR 1904.29(b)(6)-(10)).
func TestPrivacy(t *testing.T) {
	b := book(record.OSHACase{"privacy_case": true, "privacy_reason": "sexual_assault", "description": "told",
		"discreet_description": "Injury of the body"},
		record.OSHACase{"description": "Cut"})
	if l := b.logLine(b.Entries[0]); l[1] != "Privacy case" || l[5] != "Injury of the body" {
		t.Errorf("log shows %q", l)
	}
	if l := b.logLine(b.Entries[1]); l[1] != "Ada" || l[5] != "Cut" {
		t.Errorf("log shows %q", l)
	}
	b.Redact()
	if l := b.logLine(b.Entries[1]); l[1] != "Withheld" || b.Entries[1].Case["birth_date"] != nil {
		t.Errorf("redacted log shows %q", l)
	}
	if got := b.FileName("300", ".pdf"); got != "osha-300-dfw-1-a-2025.pdf" {
		t.Errorf("file %s", got)
	}
}

// Case data that OSHA's upload would refuse are refused here, by case and
// field.
func TestCaseSheet(t *testing.T) {
	b := book(record.OSHACase{"hire_date": "2020-01-01"})
	if _, err := b.CaseSheet(); err == nil || !strings.Contains(err.Error(), "birth_date is missing in case 1") ||
		strings.Contains(err.Error(), "hire_date") {
		t.Errorf("incomplete case: %v", err)
	}
	if s, err := book().CaseSheet(); err != nil || len(s.Rows) != 0 || len(s.Header) != 24 {
		t.Errorf("no cases: %v %v", s, err)
	}
	whole := record.OSHACase{"birth_date": "1990-03-05", "hire_date": "2020-01-01", "activity_before": "B",
		"what_happened": "W", "injury_detail": "I",
		"object_substance": "O", "job_title": "Picker", "where_occurred": "Dock", "description": "Cut"}
	for _, c := range []struct {
		more record.OSHACase
		want string // what the file says of outcome, days, type, sex, treatment and time
	}{
		{record.OSHACase{"outcome": "death", "death_date": "2025-03-11", "sex": "F", "emergency_room": true,
			"in_patient": true,
			"event_time": "09:30",
			"work_began": "06:00"}, "1 0 0 1 F 1 1 06:00 09:30 0 03/11/2025"},
		{record.OSHACase{"outcome": "days_away", "days_away": int64(180), "illness_type": "skin_disorder", "sex": "M",
			"emergency_room": true},
			"2 180 0 2 M 1 0  10:00 0 "},
		{record.OSHACase{"outcome": "restricted", "days_restricted": int64(3), "illness_type": "respiratory",
			"in_patient":   true,
			"time_unknown": true},
			"3 0 3 3  0 1   1 "},
		{record.OSHACase{"illness_type": "poisoning"},
			"4 0 0 4  0 0  10:00 0 "}, {record.OSHACase{"illness_type": "hearing_loss"},
			"4 0 0 5  0 0  10:00 0 "}, {record.OSHACase{"illness_type": "other_illness"}, "4 0 0 6  0 0  10:00 0 "},
	} {
		row := maps.Clone(whole)
		maps.Copy(row, c.more)
		s, err := book(row).CaseSheet()
		if err != nil {
			t.Fatal(err)
		}
		r := s.Rows[0]
		got := strings.Join([]string{r[7], r[8], r[9], r[10], r[13], r[14], r[15], r[16], r[17], r[18], r[23]}, " ")
		if got != c.want || r[4] != "03/10/2025" || r[11] != "03/05/1990" || r[12] != "01/01/2020" {
			t.Errorf("%v: %q, want %q", c.more, got, c.want)
		}
	}
	for field, most := range map[string]int{"where_occurred": 255, "description": 255} {
		for extra, ok := range []bool{true, false} {
			row := maps.Clone(whole)
			row[field] = strings.Repeat("ü", most+extra)
			if _, err := book(row).CaseSheet(); (err == nil) != ok || err != nil &&
				!strings.Contains(err.Error(), field+" of case 1") {
				t.Errorf("%s of %d: %v", field, most+extra, err)
			}
		}
	}
}
