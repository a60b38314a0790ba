package gs1

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheckDigits(t *testing.T) {
	for key, want := range map[string]bool{
		"96385074":           true,  // GTIN-8
		"614141000036":       true,  // GTIN-12
		"4006381333931":      true,  // GTIN-13
		"09506000134352":     true,  // GTIN-14
		"106141412345678908": true,  // SSCC, GS1 General Specifications
		"9506000134352":      true,  // GLN form
		"9506000134353":      false, // last digit off by one
		"9506000143352":      false, // two digits exchanged
		"":                   false,
		"7":                  false,
		"95060001343A2":      false,
		"９506000134352":      false, // a digit that is not ASCII
	} {
		if got := Checked(key); got != want {
			t.Errorf("Checked(%q) = %v", key, got)
		}
	}
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"96385074": "00000096385074", "614141000036": "00614141000036", "4006381333931": "04006381333931",
		"09506000134352": "09506000134352",
	} {
		if got, ok := GTIN(in); !ok || got != want {
			t.Errorf("GTIN(%s) = %s, %v", in, got, ok)
		}
	}
	for _, bad := range []string{"", "123", "4006381333932", "106141412345678908"} {
		if got, ok := GTIN(bad); ok {
			t.Errorf("GTIN(%s) = %s", bad, got)
		}
	}
	if !IsSSCC("106141412345678908") || IsSSCC("106141412345678907") || IsSSCC("9506000134352") ||
		!IsGLN("9506000134352") || IsGLN("09506000134352") {
		t.Error("SSCC or GLN misjudged")
	}
	if got, err := SSCC(1, "0614141", 234567890); err != nil || got != "106141412345678908" {
		t.Errorf("SSCC = %s, %v", got, err)
	}
	for name, bad := range map[string]func() (string, error){
		"extension":       func() (string, error) { return SSCC(10, "0614141", 1) },
		"short prefix":    func() (string, error) { return SSCC(0, "061", 1) },
		"prefix of words": func() (string, error) { return SSCC(0, "06141AB", 1) },
		"long serial":     func() (string, error) { return SSCC(0, "061414112345", 12345) },
		"negative serial": func() (string, error) { return SSCC(0, "0614141", -1) },
	} {
		if got, err := bad(); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestDay(t *testing.T) {
	for _, c := range []struct {
		in   string
		year int
		want string
	}{
		{"261231", 2026, "2026-12-31"},
		{"260200", 2026, "2026-02-28"},
		{"280200", 2026, "2028-02-29"},
		{"261200", 2026, "2026-12-31"},
		{"760101", 2026, "2076-01-01"}, // 50 ahead: this century
		{"770101", 2026, "1977-01-01"}, // 51 ahead: the one before
		{"300101", 2080, "2130-01-01"}, // 50 behind: the next
		{"310101", 2080, "2031-01-01"}, // 49 behind: this one
		{"000101", 2000, "2000-01-01"},
		{"260230", 2026, ""}, {"261301", 2026, ""}, {"260001", 2026, ""}, {"26011", 2026, ""}, {"2601AA", 2026, ""},
		{"260132", 2026, ""},
	} {
		got, ok := Day(c.in, c.year)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("Day(%s, %d) = %s, %v, want %s", c.in, c.year, got, ok, c.want)
		}
	}
}

// What is written for a label is read from it again; what its identifier does
// not allow is not written.
func TestCompose(t *testing.T) {
	l, err := Compose(Element{AI: "01", Value: "09506000134352"}, Element{AI: "10", Value: "A/1"},
		Element{AI: "17", Value: "261231"})
	if err != nil || l.Encoded() != "010950600013435210A/1\x1d17261231" ||
		l.String() != "(01)09506000134352(10)A/1(17)261231" ||
		l.Elements[1].Title != "BATCH/LOT" {
		t.Errorf("composed %q, %v", l.Encoded(), err)
	}
	for _, bad := range []Element{{AI: "00", Value: "106141412345678907"}, {AI: "10", Value: "Größe"},
		{AI: "10", Value: "A B"}, {AI: "10"},
		{AI: "10", Value: "123456789012345678901"}, {AI: "17", Value: "261331"}, {AI: "77", Value: "1"},
		{AI: "01", Value: ""}} {
		if l, err := Compose(bad); err == nil {
			t.Errorf("(%s)%s is composed: %v", bad.AI, bad.Value, l)
		}
	}
	for date, want := range map[string]string{"2026-12-31": "261231", "2076-01-01": "760101", "1978-01-01": "780101",
		"2078-01-01": "", "": "", "2026-13-01": "",
		"soon": ""} {
		if v, ok := YYMMDD(date, 2026); ok != (want != "") || ok && v != want {
			t.Errorf("YYMMDD(%s) = %s, %v", date, v, ok)
		}
	}
}

func TestRead(t *testing.T) {
	const gtin = "09506000134352"
	for _, c := range []struct {
		raw  string
		form Form
		want string // as brackets
	}{
		{"(01)" + gtin + "(17)261231(10)AB-1", Bracketed, "(01)" + gtin + "(17)261231(10)AB-1"},
		{"(10)A(B)C(21)7", Bracketed, "(10)A(B)C(21)7"},
		{"]C101" + gtin + "10AB-1\x1d37120", Symbol, "(01)" + gtin + "(10)AB-1(37)120"},
		{"]d2\x1d01" + gtin + "21S1", Symbol, "(01)" + gtin + "(21)S1"},
		{"]Q300106141412345678908", Symbol, "(00)106141412345678908"},
		{"]e001" + gtin + "3103012500", Symbol, "(01)" + gtin + "(3103)012500"},
		{"01" + gtin + "10AB-1\x1d17261231", Separated, "(01)" + gtin + "(10)AB-1(17)261231"},
		{"01" + gtin + "\x1d10AB", Separated, "(01)" + gtin + "(10)AB"}, // a separator where none is needed
		{"\x1d10LOT7", Separated, "(10)LOT7"},
		{"01" + gtin + "1726123110AB-1", Plain, "(01)" + gtin + "(17)261231(10)AB-1"},
		{"00106141412345678908", Plain, "(00)106141412345678908"},
		{"4149506000134352", Plain, "(414)9506000134352"},
		{"02" + gtin + "3724", Plain, "(02)" + gtin + "(37)24"},
		{"]C1420NL-1234\x1d4215281234AB", Symbol, "(420)NL-1234(421)5281234AB"},
		{"]C1400PO-7\x1d410" + "9506000134352", Symbol, "(400)PO-7(410)9506000134352"},
		{"]C110X\x1d10X", Symbol, "(10)X"}, // the same said twice
		{"https://id.gs1.org/01/" + gtin + "/10/AB%2F1?17=261231&linkType=gs1:pip", DigitalLink,
			"(01)" + gtin + "(10)AB/1(17)261231"},
		{"https://example.com/shop/01/9506000134352/21/S1", DigitalLink, "(01)" + gtin + "(21)S1"},
		{"http://example.com/00/106141412345678908", DigitalLink, "(00)106141412345678908"},
	} {
		got, err := Read(c.raw)
		if err != nil || got.Form != c.form || got.String() != c.want {
			t.Errorf("Read(%q) = %s %s, %v", c.raw, got.Form, got, err)
		}
	}
}

// What does not claim to be GS1 is another barcode: nobody's lot number is cut
// into an identifier and a rest.
func TestReadLeavesOtherBarcodes(t *testing.T) {
	for _, raw := range []string{"", "10D9T", "10LOT7", "21SN-1", "0109506000134353", "01095060001343", "A-01-02",
		"37120", "(AB)12", "(kg)", "9506000134352",
		"https://example.com/items/7", "https:///01/09506000134352", "https://id.gs1.org/01"} {
		if got, err := Read(raw); !errors.Is(err, ErrNotGS1) {
			t.Errorf("Read(%q) = %v, %v", raw, got, err)
		}
	}
}

func TestReadNamesTheDamage(t *testing.T) {
	for raw, want := range map[string]string{
		"(01)09506000134353":                    "check digit",
		"(01)0950600013435":                     "13 characters",
		"(17)261331":                            "no date",
		"(77)1":                                 "(77) is not known",
		"]C17712":                               "character 1",
		"]C1":                                   "nothing follows",
		"]C1" + "01095060":                      "6 characters",
		"\x1d10AB#\x1d21X":                      "character that GS1 does not know",
		"(10)A(10)B":                            "twice",
		"(30)12A":                               "must be digits",
		"(10)":                                  "0 characters",
		"(421)AB1234":                           "country",
		"(10)123456789012345678901":             "21 characters",
		"https://x.org/01/09506000134353":       "check digit",
		"https://x.org/01/09506000134352/99x/1": "not known",
	} {
		_, err := Read(raw)
		if err == nil || errors.Is(err, ErrNotGS1) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q) = %v, want %q", raw, err, want)
		}
	}
}

func TestLabelValues(t *testing.T) {
	l, err := Read("(01)09506000134352(3103)012500(17)260200")
	if err != nil {
		t.Fatal(err)
	}
	if l.Weight("310") != "12.5" || l.Weight("330") != "" || l.Date("17", 2026) != "2026-02-28" ||
		l.Date("15", 2026) != "" || l.Value("01") != "09506000134352" {
		t.Errorf("weight %s, date %s", l.Weight("310"), l.Date("17", 2026))
	}
	for in, want := range map[string]string{"000001": "0.001", "001000": "1", "000000": "0"} {
		if got := insertPoint(in, 3); got != want {
			t.Errorf("decimals(%s) = %s", in, got)
		}
	}
}

// FuzzRead: whatever is scanned, reading ends, and what was read is read again
// from what is printed.
func TestLink(t *testing.T) {
	for want, elements := range map[string][]Element{
		"https://id.gs1.org/01/09506000134352": {{AI: "01", Value: "09506000134352"}},
		"https://id.gs1.org/01/09506000134352/10/A%2F1/21/7": {{AI: "01", Value: "09506000134352"}, {AI: "10", Value: "A/1"},
			{AI: "21", Value: "7"}},
		"https://id.gs1.org/01/09506000134352/10/50%25%3F": {{AI: "01", Value: "09506000134352"},
			{AI: "10", Value: "50%?"}},
		"https://id.gs1.org/00/106141412345678908": {{AI: "00", Value: "106141412345678908"}},
		"https://id.gs1.org/414/9506000134352/254/A-01": {{AI: "414", Value: "9506000134352"},
			{AI: "254", Value: "A-01"}},
	} {
		if got, err := Link(elements...); err != nil || got != want {
			t.Errorf("%v: %s, %v, want %s", elements, got, err, want)
		}
	}
	for _, bad := range [][]Element{nil, {{AI: "10", Value: "L1"}}, {{AI: "01", Value: "09506000134353"}},
		{{AI: "01", Value: ""}},
		{{AI: "01", Value: "09506000134352"}, {AI: "10", Value: ""}},
		{{AI: "01", Value: "09506000134352"}, {AI: "10", Value: "Los ä"}},
		{{AI: "414", Value: "9506000134352"}, {AI: "254", Value: "longer than twenty characters"}}} {
		if got, err := Link(bad...); err == nil {
			t.Errorf("%v: %s", bad, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"(01)09506000134352(10)A(B)C", "]C10109506000134352\x1d10X\x1d3712", "10D9T",
		"https://id.gs1.org/01/09506000134352/10/A%2F1?17=261231", "]Q3", "(", "\x1d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		l, err := Read(raw)
		if err != nil {
			return
		}
		again, err := Read("]C1" + l.Encoded())
		if err != nil || !slices.Equal(again.Elements, l.Elements) {
			t.Fatalf("%q: %v, again %v, %v", raw, l, again, err)
		}
		if !slices.Contains(linkKeys, l.Elements[0].AI) {
			return
		}
		link, err := Link(l.Elements...)
		if again, _ = Read(link); err != nil || !slices.EqualFunc(again.Elements, l.Elements,
			func(a, b Element) bool { return a.AI == b.AI && a.Value == b.Value }) {
			t.Fatalf("%q: %v, as the link %s %v, %v", raw, l, link, again, err)
		}
	})
}
