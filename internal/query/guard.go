package query

import (
	"strings"
	"unicode/utf8"
)

// formulaSigns are the first characters that spreadsheet programs run as a
// formula, with their full-width forms (OWASP, "CSV Injection").
const formulaSigns = "=+-@\t\r\n＝＋－＠"

// Guard puts an apostrophe before a text of a CSV file that a spreadsheet would
// run as a formula. Numbers stay as they are; a text that has such apostrophes
// already gets one more, so that Unguard gives back any text that was guarded.
func Guard(s string) string {
	if !isFormula(s) || (s[0] == '-' || s[0] == '+') && len(s) > 1 && strings.Trim(s[1:], "0123456789.,") == "" {
		return s
	}
	return "'" + s
}

// Unguard takes off the apostrophe of Guard: an exported file reads back as the
// data it came from.
func Unguard(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && isFormula(rest) {
		return rest
	}
	return s
}

// isFormula reports a text that, behind any apostrophes, begins as formulas do.
func isFormula(s string) bool {
	s = strings.TrimLeft(s, "'")
	first, _ := utf8.DecodeRuneInString(s)
	return s != "" && strings.ContainsRune(formulaSigns, first)
}
