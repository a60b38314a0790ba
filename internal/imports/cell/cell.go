// Package cell reads what people write into table cells: dates in the order of
// their country, numbers with either decimal mark, yes and no, and the names
// of a closed set. Where a text has two readings it says so instead of
// choosing.
//
// Layer: across domains. Begin at [Date].
package cell

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold reduces a header or a name to its letters and digits: case, blanks,
// punctuation and accents do not tell two of them apart.
func Fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		if r == 'ß' {
			b.WriteString("ss")
		} else if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// Line makes one line of a text: line breaks and runs of blanks become one
// blank, none stays at either end.
func Line(s string) string {
	if !strings.ContainsAny(s, "\r\n\t\v\f\u00a0") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// Choice finds the member of a closed set that s names, in any case and with
// blanks or dashes for underscores.
func Choice(s string, set []string) (string, bool) {
	for _, m := range set {
		if m == s {
			return m, true
		}
	}
	f := Fold(s)
	for _, m := range set {
		if Fold(m) == f {
			return m, true
		}
	}
	return "", false
}

// bools are the words for true and false in the languages of our users.
var bools = map[string]bool{
	"true": true, "t": true, "yes": true, "y": true, "1": true, "x": true, "on": true, "ja": true, "oui": true, "si": true,
	"sim": true, "wahr": true, "vrai": true,
	"false": false, "f": false, "no": false, "n": false, "0": false, "off": false, "nein": false, "non": false, "nao": false, "falsch": false, "faux": false,
}

// Bool reads yes or no.
func Bool(s string) (value, ok bool) {
	value, ok = bools[Fold(s)]
	return value, ok
}

// roman maps the accident levels of the IHM register (I the least, VI the
// worst; the register publishes no thresholds) to our four severities.
var roman = map[string]string{"i": "low", "ii": "low", "iii": "medium", "iv": "high", "v": "critical", "vi": "critical"}

// severities are other registers' words for the four.
var severities = map[string]string{
	"minor": "low", "slight": "low", "negligible": "low", "moderate": "medium", "serious": "high", "major": "high", "severe": "high",
	"catastrophic": "critical", "fatal": "critical", "extreme": "critical",
}

// Severity reads a severity: one of the set, a Roman numeral from I to VI, or
// a common word. The numerals I and II are low, III medium, IV high, V and VI
// critical.
func Severity(s string, set []string) (string, bool) {
	if v, ok := Choice(s, set); ok {
		return v, true
	}
	f := Fold(s)
	if v, ok := roman[f]; ok {
		return v, true
	}
	v, ok := severities[f]
	return v, ok
}
