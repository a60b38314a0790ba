package password

import (
	"strings"
	"unicode"
)

// isPersonal reports a password that is one of the words, a part of one or two of
// its parts, whatever is put around and between them: of anna.berg@north.example
// and Anna Berg these are the address, "Anna-Berg!", "bergAnna77", "berg2026".
func isPersonal(pw string, own []string) bool {
	plain, core := lettersOnly(pw), lettersOnly(stemOf(strings.ToLower(pw)))
	is := func(word string) bool { return word != "" && (plain == word || core == word) }
	for _, o := range own {
		if is(lettersOnly(o)) {
			return true
		}
		local, _, _ := strings.Cut(o[:min(len(o), longestName)], "@")
		parts := strings.FieldsFunc(local, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for i, a := range parts {
			if a = lettersOnly(a); len(a) >= shortestPart && is(a) {
				return true
			}
			for j, b := range parts {
				if i != j && is(a+lettersOnly(b)) {
					return true
				}
			}
		}
		if whole := lettersOnly(local); whole != "" && core == lettersOnly(stemOf(whole)) && len(core) >= shortestPart {
			return true
		}
	}
	return false
}

// shortestPart is the length from which a part of a name counts, in bytes.
const shortestPart = 4

// longestName bounds the work that a name makes, in bytes.
const longestName = 100

// lettersOnly is text without what stands between its letters and digits, in small
// letters, look-alikes undone.
func lettersOnly(s string) string {
	return leet.Replace(strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("@$!", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.TrimRight(s, "!")))
}
