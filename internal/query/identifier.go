package query

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// invisible are characters that nobody sees, and that make two names of what looks
// like one: the soft hyphen, the zero width space, the word joiner and the byte
// order mark.
const invisible = "\u00AD\u200B\u2060\uFEFF"

// Identifier brings a name or code into its one spelling: composed (Unicode
// Normalization Form C, UAX 15) and without invisible characters.
func Identifier(s string) string {
	if isASCII(s) {
		return s
	}
	if strings.ContainsAny(s, invisible) {
		s = strings.Map(func(r rune) rune {
			if strings.ContainsRune(invisible, r) {
				return -1
			}
			return r
		}, s)
	}
	return norm.NFC.String(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
