package plan

import (
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
)

// NameIn is the name of a record that a cell holds.
func NameIn(text string) string {
	return query.Identifier(cell.Line(WithoutTextMark(query.Unguard(text))))
}

// WithoutTextMark takes off the apostrophe that spreadsheets keep digits as text by.
func WithoutTextMark(text string) string {
	if len(text) > 1 && text[0] == '\'' && text[1] >= '0' && text[1] <= '9' {
		return text[1:]
	}
	return text
}

// Figure is the number that a cell of a field holds: without the sign of a currency
// where the field is an amount of money, without the field's unit.
func Figure(f *catalog.Field, text string) string {
	if n := len(text); n == 0 || text[0] >= '0' && text[0] <= '9' && text[n-1] >= '0' && text[n-1] <= '9' {
		return text // as nearly all are
	}
	if IsMoney(f) {
		return cell.Amount(text)
	}
	if number, unit := UnitBeside(f, text); unit != "" {
		return number
	}
	return cell.WithoutUnit(text, f.Unit)
}

// IsMoney reports a field of amounts of money.
func IsMoney(f *catalog.Field) bool { return f.Unit == catalog.Currency }

// UnitBeside splits a quantity of items from its unit, as a code; "" = it has none.
func UnitBeside(f *catalog.Field, text string) (number, unit string) {
	if f.Type != catalog.Decimal || f.Unit != "" || IsMoney(f) {
		return text, ""
	}
	number, word := cell.SplitUnit(text)
	code, ok := targets.UnitCode(word)
	if word == "" || !ok {
		return text, ""
	}
	return number, code
}

// Width is the number of cells; blank ones past the header's do not count.
func Width(cells []string, want int) int {
	n := len(cells)
	for n > want && strings.TrimSpace(cells[n-1]) == "" {
		n--
	}
	return n
}
