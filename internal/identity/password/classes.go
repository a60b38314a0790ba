package password

import (
	"slices"
	"strings"
)

// Classes are sets of characters of which a password must have one each.
type Classes []string

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	symbols = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~"
)

// ClassesOf reads what the setting password_requirements says, by the names
// that the Supabase CLI has for it. It reports whether it knows the name.
func ClassesOf(requirements string) (Classes, bool) {
	switch requirements {
	case "":
		return nil, true
	case "letters_digits":
		return Classes{lower + upper, digits}, true
	case "lower_upper_letters_digits":
		return Classes{lower, upper, digits}, true
	case "lower_upper_letters_digits_symbols":
		return Classes{lower, upper, digits, symbols}, true
	}
	return nil, false
}

func (c Classes) areIn(pw string) bool {
	return !slices.ContainsFunc(c, func(set string) bool { return !strings.ContainsAny(pw, set) })
}

// String lists the sets as GoTrue's message does.
func (c Classes) String() string { return strings.Join(c, ", ") }
