package cell_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/imports/cell"
)

// given are the orders in a text.
func given(s string) []string { return strings.Fields(s) }

func TestDate(t *testing.T) {
	for _, c := range []struct{ text, order, want string }{
		{"2025-01-31", "", "2025-01-31T00:00:00Z"},
		{"2025/1/3", "", "2025-01-03T00:00:00Z"},
		{"20250131", "", "2025-01-31T00:00:00Z"},
		{"2016-01-01 00:00:00", "", "2016-01-01T00:00:00Z"},
		{"2016-01-01T13:05:09.25+02:00", "", "2016-01-01T11:05:09.25Z"},
		{"2016-01-01T13:05Z", "", "2016-01-01T13:05:00Z"},
		{"01/31/2025", cell.MDY, "2025-01-31T00:00:00Z"},
		{"31/01/2025", cell.DMY, "2025-01-31T00:00:00Z"},
		{"03.04.2025", cell.DMY, "2025-04-03T00:00:00Z"},
		{"03.04.2025", cell.MDY, "2025-03-04T00:00:00Z"},
		{"12/1/10 8:26", cell.MDY, "2010-12-01T08:26:00Z"},
		{"1/2/99 8:26 PM", cell.MDY, "1999-01-02T20:26:00Z"},
		{"1/2/99 12:05 am", cell.DMY, "1999-02-01T00:05:00Z"},
		{"31-Jan-2025", cell.MDY, "2025-01-31T00:00:00Z"},
		{"Jan 31, 2025 10:00", cell.DMY, "2025-01-31T10:00:00Z"},
		{"5 September 24", cell.MDY, "2024-09-05T00:00:00Z"},
		{"29/02/2024", cell.DMY, "2024-02-29T00:00:00Z"},
		{"25-01-31", cell.DMY, "2031-01-25T00:00:00Z"},
		{"25-01-31", cell.YMD, "2025-01-31T00:00:00Z"},
		{"99.1.31 8:30", cell.YMD, "1999-01-31T08:30:00Z"},
		{"2025-01-31", cell.YMD, "2025-01-31T00:00:00Z"},
		{"31/01/2025", "", "2025-01-31T00:00:00Z"},
		{"05/05/2025", "", "2025-05-05T00:00:00Z"},
		{"45-01-31", "", "2045-01-31T00:00:00Z"},
		{"25/01/31", "", "2031-01-25T00:00:00Z"},
		{"05.05.10", "", "2010-05-05T00:00:00Z"},
		{"25/01/31", cell.YMD, "2025-01-31T00:00:00Z"},
		{"05-05-10", "dmy mdy", "2010-05-05T00:00:00Z"},
	} {
		m, err := cell.Date(c.text, given(c.order)...)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := m.In(time.UTC).Format(time.RFC3339Nano); got != c.want {
			t.Errorf("%q (%s) = %s, want %s", c.text, c.order, got, c.want)
		}
	}
	for _, text := range []string{"", "soon", "2025-13-01", "2025-02-30", "31/31/2025", "29.02.2023", "1/2", "1/2/3/4",
		"2025-01-31 25:00",
		"2025-01-31 10", "12345678", "99999999", "2025-01-01 10:00 xx", "31-Foo-2025", "0000-01-01"} {
		if m, err := cell.Date(text, cell.DMY); err == nil {
			t.Errorf("%q read as %v", text, m.Date)
		}
	}
	for _, c := range []struct{ text, order, why string }{
		{"03/04/2025", "", "date order"}, {"25-01-31", "", "date order"}, {"31/01/2025", cell.YMD, "with the year first"},
		{"5-01-31", cell.YMD, "with the year first"}, {"31/01/2025", cell.MDY, "with the month first"},
		{"31/31/2025", "", "does not exist"},
		{"45/01/31", "", "with the day or the month first"}, {"03/04/2025", "dmy mdy", "date order"},
	} {
		if m, err := cell.Date(c.text, given(c.order)...); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q (%s): %v %v", c.text, c.order, m.Date, err)
		}
	}
}

// Local times become instants in the tenant's zone.
func TestDateInZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	m, err := cell.Date("2025-07-01 08:30")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.In(berlin).Format(time.RFC3339); got != "2025-07-01T06:30:00Z" {
		t.Error(got)
	}
}

// A zone is told by its offset, its abbreviation, the word for its region, which
// has summer time, or its name.
func TestZoneWords(t *testing.T) {
	for text, want := range map[string]string{
		"2020-09-25 00:18:59 EDT":                "2020-09-25T04:18:59Z",
		"2018-11-09 20:56:02 EST":                "2018-11-10T01:56:02Z",
		"2020-07-01 3:15 PM Mountain":            "2020-07-01T21:15:00Z",
		"2020-01-01 3:15 pm mountain":            "2020-01-01T22:15:00Z",
		"2020-07-01 3:15pm Pacific Time":         "2020-07-01T22:15:00Z",
		"2020-07-01 15:15 Central (standard)":    "",
		"2020-07-01 15:15 Eastern Standard Time": "2020-07-01T20:15:00Z",
		"2020-07-01 15:15 (CEST)":                "2020-07-01T13:15:00Z",
		"2020-07-01 15:15 Europe/Berlin":         "2020-07-01T13:15:00Z",
		"2020-07-01T15:15:00z":                   "2020-07-01T15:15:00Z",
		"2020-07-01 15:15 GMT":                   "2020-07-01T15:15:00Z",
		"Jul 1, 2020 9:05 AM PST":                "2020-07-01T17:05:00Z",
		"2020-07-01 15:15 IST":                   "",
		"2020-07-01 15:15 Mars/Base":             "",
		"2020-07-01 15:15 ../etc":                "",
	} {
		m, err := cell.Date(text)
		got := ""
		if err == nil {
			got = m.In(time.UTC).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s is %q (%v), want %q", text, got, err, want)
		}
	}
}

// The order of day, month and year is what the values of the column prove
// together, never a guess. Where they have several readings there is something to
// ask; where none has, there is nothing, and any order that they do not rule out.
// A year of two digits stands in front of dashes, unless somebody says so.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		values     []string
		want, asks string
	}{
		{[]string{"01/02/2025", "01/31/2025"}, cell.MDY, ""},
		{[]string{"01/02/2025", "31/01/2025"}, cell.DMY, ""},
		{[]string{"01/02/2025", "03/04/2025"}, "dmy mdy", "01/02/2025 dmy mdy"},
		{[]string{"05/05/2025", "03/04/2025"}, "dmy mdy", "03/04/2025 dmy mdy"},
		{[]string{"13/01/2025", "01/13/2025"}, "", "?"},
		{[]string{"2025-01-02", ""}, "", ""},
		{[]string{"05/05/2025"}, "dmy mdy", ""},
		{[]string{"31-Jan-2025"}, "", ""},
		{[]string{"25-01-31", "26-02-28"}, "dmy ymd", "25-01-31 dmy ymd"},
		{[]string{"05-05-10", "12-11-10"}, "", "05-05-10 dmy mdy ymd"},
		{[]string{"05/05/10", "12/11/10"}, "dmy mdy", "12/11/10 dmy mdy"},
		{[]string{"25.01.31", "26.02.28"}, cell.DMY, ""},
		{[]string{"05/13/10", "01/31/31"}, cell.MDY, ""},
		{[]string{"05/05/10"}, "dmy mdy", ""},
		{[]string{"05-05-10", "05/05/2025"}, "dmy mdy", ""},
		{[]string{"10-05-10", "20-05-20"}, "dmy ymd", ""},
		{[]string{"25/01/31", "25-01-31"}, "dmy ymd", "25-01-31 dmy ymd"},
		{[]string{"45/01/31", "25/01/31"}, "", "?"},
		{[]string{"45-01-31", "25/01/31"}, cell.YMD, ""},
		{[]string{"25-01-31", "45-01-31"}, cell.YMD, ""},
		{[]string{"25-01-31", "5-01-31"}, cell.DMY, ""},
		{[]string{"31/01/25", "03/04/2025"}, cell.DMY, ""},
		{[]string{"12/1/10", "12/13/10"}, cell.MDY, ""},
		{[]string{"05/05/10", "03/04/2025"}, "dmy mdy", "03/04/2025 dmy mdy"},
		{[]string{"45-01-31", "03/04/2025"}, "", "?"},
		{[]string{"85/03/14", "90/12/01"}, cell.YMD, ""},
		{[]string{"85.03.14", "2025-01-31"}, cell.YMD, ""},
		{[]string{"31/01/25", "32/01/25"}, "", "?"},
		{[]string{"85/03/14", "03/04/2025"}, "", "?"},
	} {
		var d cell.Dates
		for _, v := range c.values {
			d.Add(v)
		}
		example, in, asks := d.Unclear()
		got := strings.Join(append([]string{example}, in...), " ")
		switch {
		case !asks:
			got = ""
		case len(in) == 0:
			got = "?"
		}
		if order := strings.Join(d.Orders(""), " "); order != c.want || got != c.asks {
			t.Errorf("%v: %q, asks %q, want %q, %q", c.values, order, got, c.want, c.asks)
		}
	}
}

// A given order is that of all columns but those that prove another.
func TestGivenOrder(t *testing.T) {
	for _, c := range []struct {
		values      []string
		given, want string
	}{
		{[]string{"25-01-31", "26-02-28"}, cell.YMD, cell.YMD},
		{[]string{"25-01-31", "26-02-28"}, cell.DMY, cell.DMY},
		{[]string{"14/11/2025", "03/04/2025"}, cell.YMD, cell.DMY},
		{[]string{"11/14/2025", "03/04/2025"}, cell.YMD, cell.MDY},
		{[]string{"03/04/2025"}, cell.YMD, "dmy mdy"},
		{[]string{"45-01-31", "25-01-31"}, cell.DMY, cell.YMD},
		{[]string{"11/14/2025", "03/04/2025"}, cell.DMY, cell.DMY},
		{[]string{"14/11/2025", "11/14/2025"}, cell.YMD, cell.YMD},
		{[]string{"25/01/31", "26/02/28"}, cell.YMD, cell.YMD},
		{[]string{"2025-01-31"}, cell.MDY, cell.MDY},
		{[]string{"85/03/14", "90/12/01"}, cell.DMY, cell.YMD},
		{[]string{"31/01/25", "32/01/25"}, cell.DMY, cell.DMY},
	} {
		var d cell.Dates
		for _, v := range c.values {
			d.Add(v)
		}
		if got := strings.Join(d.Orders(c.given), " "); got != c.want {
			t.Errorf("%v, given %s: %q, want %q", c.values, c.given, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		text string
		mark byte
		want string
	}{
		{"12", '.', "12"}, {"12.5", '.', "12.5"}, {"1,234.5", '.', "1234.5"}, {"12,5", ',', "12.5"},
		{"1.234,5", ',', "1234.5"},
		{"1 234,5", ',', "1234.5"}, {"1'234.5", '.', "1234.5"}, {"1\u202f234,5", ',', "1234.5"}, {"-1,234", '.', "-1234"},
		{".5", '.',
			".5"}, {"1,234,567", '.', "1234567"},
		{"(12)", '.', "-12"}, {"(1,234.50)", '.', "-1234.50"}, {" ( 1.234,5 ) ", ',', "-1234.5"},
		{"12", 0, "12"}, {"1.5", 0, "1.5"}, {"1,5", 0, "1.5"}, {"1.234,5", 0, "1234.5"}, {"0.125", 0, "0.125"},
	} {
		if got, err := cell.Number(c.text, c.mark); err != nil || got != c.want {
			t.Errorf("%q with %c = %q %v, want %q", c.text, c.mark, got, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		mark byte
	}{{"1,23", '.'}, {"1.23", ','}, {"12,3456", '.'}, {"1234,567", '.'}, {",123", '.'}, {"1.5,000", '.'}, {"", '.'},
		{"1,234", 0}, {"1.234", 0}, {"x", 0}, {"(-5)", '.'}, {"()", '.'}, {"((5))", '.'}} {
		if got, err := cell.Number(c.text, c.mark); err == nil {
			t.Errorf("%q with %c read as %q", c.text, c.mark, got)
		}
	}
}

// So is the decimal mark.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   byte
	}{
		{[]string{"1", "2"}, 0}, {[]string{"1.5", "1,234"}, '.'}, {[]string{"1,5", "1.234"}, ','}, {[]string{"1,234"}, 0},
		{[]string{"1.234"}, 0},
		{[]string{"1,234.50"}, '.'}, {[]string{"1.234,50"}, ','}, {[]string{"1.234.567"}, ','}, {[]string{"0.125"}, '.'},
		{[]string{"0,125"},
			','}, {[]string{"1234.567"}, '.'},
	} {
		var m cell.Marks
		for _, v := range c.values {
			m.Add(v)
		}
		if got := m.Mark(); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
		if asks := c.want == 0 && c.values[0] != "1"; m.Asks() != asks {
			t.Errorf("%v: asks %t", c.values, !asks)
		}
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{"Product Code": "productcode", "product_code": "productcode",
		" Größe (mm) ": "großemm",
		"Désignation":  "designation", "ﬁle-No.": "fileno"} {
		if want == "großemm" {
			want = "grossemm"
		}
		if got := cell.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"\nNot applicable": "Not applicable", " a  b\tc ": "a b c", "x": "x",
		"a\u00a0b": "a b"} {
		if got := cell.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	kinds := []string{"near_miss", "injury"}
	words := map[string]string{"beinaheunfall": "near_miss", "gone": "gone"}
	for in, want := range map[string]string{"Near Miss": "near_miss", "near-miss": "near_miss", "INJURY": "injury",
		"fall":           "",
		"Beinahe-Unfall": "near_miss", "gone": ""} {
		if got, _ := cell.Choice(in, kinds, words); got != want {
			t.Errorf("Choice(%q) = %q, want %q", in, got, want)
		}
	}
}

// A date that reads is a day that exists, and reads the same again as ISO.
func FuzzDate(f *testing.F) {
	for _, s := range []string{"2025-01-31", "31/01/2025 8:26 PM", "Jan 31, 2025", "20250131", "1.2.99",
		"2016-01-01T13:05:09.25+02:00"} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, s string, which uint8) {
		order := []string{cell.DMY, cell.MDY, cell.YMD, "", "dmy mdy"}[which%5]
		var d cell.Dates
		d.Add(s)
		m, err := cell.Date(s, given(order)...)
		if err != nil {
			return
		}
		iso := m.Date.Format(time.DateOnly)
		again, err := cell.Date(iso, given(order)...)
		if err != nil || !again.Date.Equal(m.Date) {
			t.Fatalf("%q is %s, which reads as %v %v", s, iso, again.Date, err)
		}
		m.In(time.UTC)
	})
}

// A number that reads has no group separators left and one mark at most.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1,234.5", "1.234,5", "-1 234", "'", ".", ","} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, dot bool) {
		var m cell.Marks
		m.Add(s)
		mark := byte(',')
		if dot {
			mark = '.'
		}
		got, err := cell.Number(s, mark)
		if err != nil {
			return
		}
		if again, err := cell.Number(got, '.'); mark == '.' && (err != nil || again != got) {
			t.Fatalf("%q is %q, which reads as %q %v", s, got, again, err)
		}
	})
}
