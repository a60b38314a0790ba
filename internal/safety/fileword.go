package safety

import "strings"

// FileWord makes a code fit to be part of a file's name: letters, digits,
// dash and underscore, lower case.
func FileWord(code string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '-'
	}, code)
}
