package gs1

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FNC1 is what a scanner sends between elements of variable length: ASCII 29.
const FNC1 = "\x1d"

// Form is how a label was written.
type Form string

// Forms of a label.
const (
	Bracketed   Form = "brackets"     // (01)09506000134352(10)AB-1
	Symbol      Form = "symbology"    // with the scanner's prefix ]C1, ]d2, ]Q3, ]e0 or ]J1
	Separated   Form = "fnc1"         // with FNC1 and without prefix
	Plain       Form = "plain"        // neither: taken only when all of it is valid and a check digit says so
	DigitalLink Form = "digital_link" // https://id.gs1.org/01/09506000134352/10/AB-1
)

// Element is one application identifier with its value.
type Element struct {
	AI    string `json:"ai"`
	Title string `json:"title"`
	Value string `json:"value"`
}

// Label is what a barcode says.
type Label struct {
	Form     Form      `json:"form"`
	Elements []Element `json:"elements"`
}

// ErrNotGS1 says that a text does not claim to be GS1: it is some other barcode.
var ErrNotGS1 = errors.New("gs1: not a GS1 barcode")

// symbologies are the prefixes by which a scanner says that GS1 data follow
// (ISO/IEC 15424): GS1-128, GS1 DataMatrix, GS1 QR, DataBar, GS1 DotCode.
var symbologies = []string{"]C1", "]d2", "]Q3", "]e0", "]J1"}

// Read reads a barcode. A text that does not claim to be GS1 is ErrNotGS1; one
// that does and is damaged is another error that names the place.
func Read(raw string) (Label, error) {
	for _, prefix := range symbologies {
		if rest, ok := strings.CutPrefix(raw, prefix); ok {
			return labelOf(Symbol)(parseJoined(rest))
		}
	}
	switch {
	case strings.HasPrefix(raw, "http://") || strings.HasPrefix(raw, "https://"):
		return labelOf(DigitalLink)(parseLink(raw))
	case strings.Contains(raw, FNC1):
		return labelOf(Separated)(parseJoined(raw))
	case strings.HasPrefix(raw, "("):
		if _, _, ok := parseOpening(raw); !ok {
			return Label{}, ErrNotGS1
		}
		return labelOf(Bracketed)(parseBracketed(raw))
	}
	list, err := parseJoined(raw)
	if err != nil || !slices.ContainsFunc(list, isProven) {
		return Label{}, ErrNotGS1
	}
	return Label{Plain, list}, nil
}

func labelOf(f Form) func([]Element, error) (Label, error) {
	return func(list []Element, err error) (Label, error) {
		if err != nil {
			return Label{}, err
		}
		return Label{f, list}, nil
	}
}

// isProven reports an element whose check digit shows that it is no accident:
// "10D9T" is a lot of that name, not lot "D9T".
func isProven(e Element) bool {
	id, _ := findIdentifier(e.AI)
	return id.check
}

// Value is the value of an application identifier, "" when the label has none.
func (l Label) Value(ai string) string {
	for _, e := range l.Elements {
		if e.AI == ai {
			return e.Value
		}
	}
	return ""
}

// Date is the date of an application identifier as YYYY-MM-DD, "" when the label
// has none; year is the current one.
func (l Label) Date(ai string, year int) string {
	date, _ := Day(l.Value(ai), year)
	return date
}

// Weight is the value of a measure such as "310" or "330" with its decimals,
// "12.5", "" when the label has none.
func (l Label) Weight(ai string) string {
	for _, e := range l.Elements {
		if len(e.AI) == 4 && e.AI[:3] == ai {
			return insertPoint(e.Value, int(e.AI[3]-'0'))
		}
	}
	return ""
}

func insertPoint(v string, places int) string {
	for len(v) <= places {
		v = "0" + v
	}
	whole := strings.TrimLeft(v[:len(v)-places], "0")
	if whole == "" {
		whole = "0"
	}
	if rest := strings.TrimRight(v[len(v)-places:], "0"); rest != "" {
		return whole + "." + rest
	}
	return whole
}

// Encoded writes the elements as a barcode holds them, without prefix: FNC1
// after each of variable length but the last.
func (l Label) Encoded() string {
	var b strings.Builder
	for i, e := range l.Elements {
		b.WriteString(e.AI + e.Value)
		if id, _ := findIdentifier(e.AI); !id.fixed && i < len(l.Elements)-1 {
			b.WriteString(FNC1)
		}
	}
	return b.String()
}

// String writes the elements as people read them below a barcode.
func (l Label) String() string {
	var b strings.Builder
	for _, e := range l.Elements {
		b.WriteString("(" + e.AI + ")" + e.Value)
	}
	return b.String()
}

// parseJoined reads elements that follow each other, as a scanner sends them.
func parseJoined(s string) (list []Element, err error) {
	rest := strings.TrimPrefix(s, FNC1)
	if rest == "" {
		return nil, errors.New("gs1: nothing follows the prefix")
	}
	for rest != "" {
		id, ai, ok := leadingIdentifier(rest)
		if !ok {
			return nil, fmt.Errorf("gs1: no known application identifier at character %d", len(s)-len(rest)+1)
		}
		value, next := id.cutValue(rest[len(ai):])
		if list, err = addElement(list, id, ai, value); err != nil {
			return nil, err
		}
		rest = next
	}
	return list, nil
}

// cutValue takes a value off the front: its fixed length, or up to FNC1.
func (id identifier) cutValue(s string) (value, rest string) {
	if !id.fixed {
		value, rest, _ = strings.Cut(s, FNC1)
		return value, rest
	}
	n := min(id.max, len(s))
	return s[:n], strings.TrimPrefix(s[n:], FNC1)
}

func addElement(list []Element, id identifier, ai, value string) ([]Element, error) {
	if why := id.valueProblem(value); why != "" {
		return nil, fmt.Errorf("gs1: (%s) %s %q %s", ai, id.title, value, why)
	}
	for _, e := range list {
		if e.AI == ai && e.Value != value {
			return nil, fmt.Errorf("gs1: (%s) %s is given twice, as %s and %s", ai, id.title, e.Value, value)
		}
		if e.AI == ai {
			return list, nil
		}
	}
	return append(list, Element{ai, id.title, value}), nil
}

// parseOpening reads "(AI)" at the start of s.
func parseOpening(s string) (ai, rest string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return "", "", false
	}
	ai, rest, ok = strings.Cut(s[1:], ")")
	return ai, rest, ok && len(ai) >= 2 && len(ai) <= 4 && areDigits(ai)
}

// parseBracketed reads (AI)value(AI)value. A bracket that opens no known identifier
// belongs to the value.
func parseBracketed(s string) (list []Element, err error) {
	for s != "" {
		ai, rest, _ := parseOpening(s)
		id, ok := findIdentifier(ai)
		if !ok {
			return nil, fmt.Errorf("gs1: application identifier (%s) is not known", ai)
		}
		end := 0
		for end < len(rest) && !startsNext(rest[end:]) {
			end++
		}
		if list, err = addElement(list, id, ai, rest[:end]); err != nil {
			return nil, err
		}
		s = rest[end:]
	}
	return list, nil
}

func startsNext(s string) bool {
	ai, _, ok := parseOpening(s)
	if !ok {
		return false
	}
	_, known := findIdentifier(ai)
	return known
}

// Compose makes a label of elements, of which only AI and value need be given.
// A value that its identifier does not allow is an error that names it.
func Compose(elements ...Element) (Label, error) {
	var l Label
	for _, e := range elements {
		id, ok := findIdentifier(e.AI)
		if !ok {
			return Label{}, fmt.Errorf("gs1: application identifier (%s) is not known", e.AI)
		}
		list, err := addElement(l.Elements, id, e.AI, e.Value)
		if err != nil {
			return Label{}, err
		}
		l.Elements = list
	}
	return l, nil
}
