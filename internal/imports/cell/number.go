package cell

import (
	"errors"
	"strings"
)

// ErrNumber says that a text is no number.
var ErrNumber = errors.New("is not a number")

// ErrMark says that a text is two numbers, and nothing tells which.
var ErrMark = errors.New("may have a mark for thousands or one for the fraction: write it without the first or with another digit behind the " +
	"second, or say for the whole file which mark stands before a fraction (decimal mark)")

// Marks collects, over a column or a file, what tells the decimal mark.
type Marks struct {
	Dot, Comma int    // values that read only with this decimal mark
	Unclear    int    // values such as 1,234 with two readings
	Example    string // the first unclear one
}

// Add looks at one value.
func (m *Marks) Add(s string) {
	s = dropGrouping(s)
	dots, commas := strings.Count(s, "."), strings.Count(s, ",")
	switch {
	case dots == 0 && commas == 0:
	case dots > 0 && commas > 0:
		if strings.LastIndexByte(s, '.') > strings.LastIndexByte(s, ',') {
			m.Dot++
		} else {
			m.Comma++
		}
	case dots > 1:
		m.Comma++
	case commas > 1:
		m.Dot++
	case maySeparateThousands(s):
		if m.Unclear++; m.Example == "" {
			m.Example = s
		}
	case dots == 1:
		m.Dot++
	default:
		m.Comma++
	}
}

// maySeparateThousands reports whether the one mark in s may separate thousands: one to
// three digits before it, the first no zero, three after.
func maySeparateThousands(s string) bool {
	i := strings.IndexAny(s, ".,")
	whole, frac := strings.TrimLeft(s[:i], "+-"), s[i+1:]
	return len(whole) >= 1 && len(whole) <= 3 && whole[0] != '0' && len(frac) == 3
}

// Mark decides: '.' or ',' where some value proves it, and 0 where values have
// two readings and none proves one, and where none has a mark. Proof on both
// sides goes to the majority: the others are errors of their rows.
func (m *Marks) Mark() byte {
	switch {
	case m.Dot > m.Comma:
		return '.'
	case m.Comma > m.Dot:
		return ','
	}
	return 0
}

// dropGrouping drops what groups digits besides dot and comma: blanks, the narrow and
// the fixed one, and the Swiss apostrophe.
// A number in parentheses is negative, as bookkeepers write it, and so is one with
// its minus behind, as SAP writes it.
func dropGrouping(s string) string {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "\u2212") {
		s = strings.ReplaceAll(s, "\u2212", "-")
	}
	n := len(s)
	switch {
	case n > 2 && s[0] == '(' && s[n-1] == ')' && !strings.ContainsAny(s[1:n-1], "()+-"):
		s = "-" + strings.TrimSpace(s[1:n-1])
	case n > 1 && s[n-1] == '-' && !strings.ContainsAny(s[:n-1], "()+-"):
		s = "-" + strings.TrimSpace(s[:n-1])
	}
	if !strings.ContainsAny(s, " '’\u00a0\u202f") {
		return s
	}
	return strings.NewReplacer(" ", "", "'", "", "’", "", "\u00a0", "", "\u202f", "").Replace(s)
}

// Asks reports values with two readings, or of two kinds, of which no more are
// of one kind than of the other.
func (m *Marks) Asks() bool { return m.Mark() == 0 && m.Unclear+m.Dot > 0 }

// Number reads a number whose decimal mark is known and returns it as JSON
// writes it. Groups of digits must be groups of three. Where the mark is 0, not
// known, a text with two readings is none.
func Number(s string, mark byte) (string, error) {
	s = dropGrouping(s)
	if mark == 0 {
		var m Marks
		if m.Add(s); m.Unclear > 0 {
			return "", ErrMark
		}
		if mark = m.Mark(); mark == 0 {
			mark = '.'
		}
	}
	if s == "" || len(s) > 64 {
		return "", ErrNumber
	}
	group := byte(',')
	if mark == ',' {
		group = '.'
	}
	whole, frac, pointed := strings.Cut(s, string(mark))
	if strings.IndexByte(frac, group) >= 0 || !isGrouped(whole, group) {
		return "", ErrNumber
	}
	whole = strings.ReplaceAll(whole, string(group), "")
	if pointed {
		whole += "." + frac
	}
	if strings.Trim(whole, "0123456789+-.eE") != "" || strings.Trim(whole, "+-.eE") == "" || hasStraySign(whole) {
		return "", ErrNumber
	}
	return whole, nil
}

// hasStraySign reports a sign that stands neither in front nor behind the e of an
// exponent.
func hasStraySign(number string) bool {
	i := strings.LastIndexAny(number, "+-")
	return i > 0 && number[i-1] != 'e' && number[i-1] != 'E'
}

// isGrouped reports whether every group separator in whole has three digits
// behind it and some before.
func isGrouped(whole string, group byte) bool {
	if strings.IndexByte(whole, group) < 0 {
		return true
	}
	parts := strings.Split(strings.TrimLeft(whole, "+-"), string(group))
	for i, p := range parts {
		if i == 0 && (len(p) < 1 || len(p) > 3) || i > 0 && len(p) != 3 {
			return false
		}
	}
	return true
}
