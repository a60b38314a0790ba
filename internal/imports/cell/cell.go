// Package cell reads what people write into table cells: dates in the order of
// their country, numbers with either decimal mark, yes and no, and the names
// of a closed set. Where a text has two readings it says so instead of
// choosing.
//
// Layer: across domains. Begin at [Date].
package cell

import (
	"slices"
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
// blanks or dashes for underscores, or by one of the folded words for members.
func Choice(s string, set []string, words map[string]string) (string, bool) {
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
	if m := words[f]; slices.Contains(set, m) {
		return m, true
	}
	return "", false
}

// bools are the words for true and false in English, German, French, Spanish,
// Italian, Dutch and Portuguese.
var bools = indexBools("true t yes y 1 x on ja j wahr oui o vrai si s verdadero cierto vero waar sim verdadeiro",
	"false f no n 0 off nein falsch non faux falso onwaar nee nao")

func indexBools(yes, no string) map[string]bool {
	index := map[string]bool{}
	for _, w := range strings.Fields(yes) {
		index[w] = true
	}
	for _, w := range strings.Fields(no) {
		index[w] = false
	}
	return index
}

// Bool reads yes or no.
func Bool(s string) (value, ok bool) {
	value, ok = bools[Fold(s)]
	return value, ok
}
