package query

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"holdfast/internal/catalog"
)

// invisible are characters that nobody sees, and that make two names of what looks
// like one: the soft hyphen, the zero width space, the word joiner and the byte
// order mark.
const invisible = "\u00AD\u200B\u2060\uFEFF"

// Identifier brings a name or code into its one spelling: composed (Unicode
// Normalization Form C, UAX 15), without invisible characters, and without white space
// before or after it, which a scanner or a spreadsheet adds and nobody sees.
func Identifier(s string) string {
	if isASCII(s) {
		return strings.TrimSpace(s)
	}
	if strings.ContainsAny(s, invisible) {
		s = strings.Map(func(r rune) rune {
			if strings.ContainsRune(invisible, r) {
				return -1
			}
			return r
		}, s)
	}
	return norm.NFC.String(strings.TrimSpace(s))
}

// isSpelled reports a text that Identifier leaves as it is. It is false for some that
// Identifier would leave as well: those that are not ASCII.
func isSpelled(s string) bool { return isASCII(s) && len(strings.TrimSpace(s)) == len(s) }

// spelledText is a text of a field as records hold it: a name or code in its one
// spelling, any other text as it is.
func spelledText(f *catalog.Field, s string) string {
	if isIdentifier(f) {
		return Identifier(s)
	}
	return s
}

// isIdentifier reports a field of names or codes, which have one spelling. Members of a
// closed set have none: what is not one of them is refused.
func isIdentifier(f *catalog.Field) bool { return f.Format != catalog.Plain && len(f.OneOf) == 0 }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
