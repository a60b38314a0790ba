package cell_test

import (
	"testing"
	"time"

	"holdfast/internal/imports/cell"
)

// An amount is read without its currency, and nothing else is taken off it.
func TestAmount(t *testing.T) {
	for text, want := range map[string]string{
		"€ 5,50": "5,50", "7,25 €": "7,25", "1.234,50 EUR": "1.234,50", "CHF 9.50": "9.50", "CHF9.50": "9.50", "-€5": "-5",
		"$1,200.00": "1,200.00",
		"5":         "5", "ABC 5": "ABC 5", "EURO 5": "EURO 5", "five": "five", "": "", "-": "-", "€": "",
	} {
		if got := cell.Amount(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct{ text, unit, want string }{
		{"12,5 kg", "kg", "12,5"}, {"12KG", "kg", "12"}, {"5 %", "percent", "5"}, {"12 lb", "kg", "12 lb"},
		{"kg", "kg", "kg"}, {"5", "", "5"},
	} {
		if got := cell.WithoutUnit(c.text, c.unit); got != c.want {
			t.Errorf("%q in %q is %q, want %q", c.text, c.unit, got, c.want)
		}
	}
}

// A number of too many decimals is rounded, half away from zero.
func TestRounded(t *testing.T) {
	for text, want := range map[string]string{
		"0.021385": "0.0214", "-0.00005": "-0.0001", "24.80138": "24.8014", "1.5": "1.5", "3.33330000": "3.3333",
		"1e-3": "0.0010", "1e999": "1e999", "x": "x",
	} {
		if got, _ := cell.Rounded(text, 4); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if _, changed := cell.Rounded("3.33330000", 4); changed {
		t.Error("zeros behind are no decimals that were lost")
	}
}

// The minus of a negative number stands behind it in some programs.
func TestMinusBehindNumber(t *testing.T) {
	for text, want := range map[string]string{"12,500-": "-12.500", "0,000-": "-0.000", "\u22125": "-5"} {
		if got, err := cell.Number(text, ','); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"-", "-5-", "(5)-", "--"} {
		if got, err := cell.Number(text, ','); err == nil {
			t.Errorf("%q read as %q", text, got)
		}
	}
}

// Months are known by their names in seven languages.
func TestMonthNames(t *testing.T) {
	for text, want := range map[string]string{
		"5. März 2026": "2026-03-05", "5 mars 2026": "2026-03-05", "1er mars 2026": "2026-03-01",
		"5 de marzo de 2026": "2026-03-05", "5 mrt 2026": "2026-03-05",
		"12 août 2026": "2026-08-12", "3 gennaio 2026": "2026-01-03", "3 Dez 2026": "2026-12-03",
		"7 févr. 2026": "2026-02-07", "9 junho 2026": "2026-06-09",
		"9 juil. 2026": "2026-07-09", "5 jui 2026": "", "5 ma 2026": "",
	} {
		got := ""
		if m, err := cell.Date(text); err == nil {
			got = m.Date.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"02/2028": "2028-02-29", "2027-03": "2027-03-31", "12.2026": "2026-12-31",
		"13/2026": "", "2026": "", "1/2": ""} {
		if got, _ := cell.MonthEnd(text); got != want {
			t.Errorf("%q ends on %q, want %q", text, got, want)
		}
	}
}

// An hour that summer time leaves out was on no clock.
func TestTimeThatDoesNotExist(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"2026-03-29 02:30": false, "2026-03-29 01:59": true, "2026-03-29 03:00": true, "2026-03-29 02:30 UTC": true,
		"2026-10-25 02:30": true, "2026-03-29": true,
	} {
		m, err := cell.Date(text)
		if err != nil || m.Exists(berlin) != want {
			t.Errorf("%s exists: %v %v", text, !want, err)
		}
	}
}
