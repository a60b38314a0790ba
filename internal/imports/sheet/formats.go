package sheet

import (
	"strconv"
	"strings"
)

// format is how a cell style shows numbers.
type format struct {
	date    bool   // as a date or a time of day
	percent bool   // as hundredths
	shape   string // zeros for the digits that are always shown, and literal text between them; "" = as they are
}

// readStyles finds out how cell styles show numbers.
func (w *workbook) readStyles(name string) error {
	codes := map[int]format{} // own number formats
	inside := false
	return w.eachTag(name, func(m *markup) error {
		switch {
		case m.name == "cellXfs":
			inside = !m.closing && !m.empty
		case m.closing:
		case m.name == "numFmt" && len(codes) < maxNamed:
			id, err := strconv.Atoi(m.attribute("numFmtId"))
			if err == nil {
				code := m.attribute("formatCode")
				codes[id] = format{date: dateCode(code), percent: hasPercent(code), shape: shapeOf(code)}
			}
		case m.name == "xf" && inside && len(w.looks) < maxNamed:
			id, err := strconv.Atoi(m.attribute("numFmtId"))
			look, own := codes[id]
			if !own {
				look = format{date: builtinDate(id), percent: id == 9 || id == 10}
			}
			if err != nil {
				look = format{}
			}
			w.looks = append(w.looks, look)
		}
		return nil
	})
}

// eachCode gives the characters of the first part of a format code, which is for positive
// numbers, and says which stand in quotes or behind an escape. In brackets stand colours
// and conditions, which are left out.
func eachCode(code string, give func(c rune, literal bool)) {
	quoted, escaped, bracket := false, false, false
	for _, c := range code {
		switch {
		case escaped:
			give(c, true)
			escaped = false
		case c == '"':
			quoted = !quoted
		case quoted:
			give(c, true)
		case bracket:
			bracket = c != ']'
		case c == '[':
			bracket = true
		case c == '\\':
			escaped = true
		case c == ';':
			return
		default:
			give(c, false)
		}
	}
}

// hasPercent reports a format code that shows hundredths.
func hasPercent(code string) bool {
	found := false
	eachCode(code, func(c rune, literal bool) { found = found || c == '%' && !literal })
	return found
}

// shapeOf is a format code that shows numbers with zeros in front, or with letters, as
// codes have them: 00000, 000-000, "SKU-"0. Any other is "".
func shapeOf(code string) string {
	var shape strings.Builder
	zeros, letters, plain := 0, false, true
	eachCode(code, func(c rune, literal bool) {
		switch {
		case literal && c == '0':
			plain = false // it could not be told from a digit
		case c == '0':
			zeros++
		case literal && zeros == 0:
			letters = letters || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		case !literal && c != '-' && c != ' ' && c != '/':
			plain = false
		}
		shape.WriteRune(c)
	})
	if !plain || zeros == 0 || zeros == 1 && !letters {
		return ""
	}
	return shape.String()
}

// shapeNumber shows a whole number without a sign as a shape has it. The first zero takes
// the digits that are more than the zeros.
func shapeNumber(shape, digits string) string {
	zeros := strings.Count(shape, "0")
	if more := zeros - len(digits); more > 0 {
		digits = strings.Repeat("0", more) + digits
	}
	var out strings.Builder
	at := 0
	for _, c := range shape {
		if c != '0' {
			out.WriteRune(c)
			continue
		}
		n := 1
		if at == 0 {
			n = len(digits) - zeros + 1
		}
		out.WriteString(digits[at : at+n])
		at += n
	}
	return out.String()
}

// showNumber writes a number as a cell style shows it.
func (f format) showNumber(number string) string {
	if f.shape != "" && strings.Trim(number, "0123456789") == "" {
		return shapeNumber(f.shape, number)
	}
	if f.percent {
		return percentOf(number)
	}
	return number
}

// percentOf is a share of one as hundredths.
func percentOf(number string) string {
	share, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	hundredths, err := strconv.ParseFloat(strconv.FormatFloat(share*100, 'g', 15, 64), 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(hundredths, 'f', -1, 64) + "%"
}

// builtinDate lists the number formats that every workbook has and that show a
// date or a time of day (ECMA-376 part 1, 18.8.30, with those of East Asia).
// 46 shows elapsed hours, which is a number.
func builtinDate(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id == 45 || id == 47 || id >= 50 && id <= 58
}

// dateCode reports whether a format code shows a date or a time of day: it has
// one of y m d h s outside of quotes, escapes and brackets. [h], [m] and [s]
// count elapsed time, which is a number.
func dateCode(code string) bool {
	code, _, _ = strings.Cut(code, ";")
	found := false
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == '"':
			n := strings.IndexByte(code[i+1:], '"')
			if n < 0 {
				return found
			}
			i += n + 1
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case code[i] == '[':
			n := strings.IndexByte(code[i:], ']')
			if n < 0 {
				return found
			}
			if strings.Trim(strings.ToLower(code[i+1:i+n]), "hms") == "" && n > 1 {
				return false
			}
			i += n
		case c == 'y' || c == 'm' || c == 'd' || c == 'h' || c == 's':
			found = true
		}
	}
	return found
}
