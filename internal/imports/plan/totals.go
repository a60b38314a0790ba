package plan

import (
	"fmt"
	"strings"

	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
)

// totalWords are what rows of sums are called in English, German, French, Spanish,
// Italian, Dutch and Portuguese, folded.
var totalWords = indexWords("total totals grandtotal subtotal sum summe gesamt gesamtsumme zwischensumme insgesamt " +
	"endsumme somme totalgeneral soustotal totaux suma sumatotal totales somma totale subtotale totaal subtotaal " +
	"eindtotaal soma totalgeral totaisgerais")

func indexWords(words string) map[string]bool {
	index := map[string]bool{}
	for _, w := range strings.Fields(words) {
		index[w] = true
	}
	return index
}

// longestTotal is more than a row of sums is called, in bytes.
const longestTotal = 40

// IsTotal reports a row of sums: its first cell is called so, and beside it are numbers
// and nothing else.
func IsTotal(rec *sheet.Record) bool {
	first, numbers := -1, 0
	for i, text := range rec.Cells {
		switch text = strings.TrimSpace(text); {
		case text == "":
		case first >= 0 && !isMeasured(rec, i):
			return false
		case first >= 0:
			numbers++
		case len(text) > longestTotal || !totalWords[strings.TrimRight(cell.Fold(text), "0123456789")]:
			return false
		default:
			first = i
		}
	}
	return numbers > 0
}

// LeavesOut reports a row that the options leave out.
func (v *Survey) LeavesOut(rec *sheet.Record) bool {
	return v.Settings.SkipTotals && rec.Bad == nil && IsTotal(rec)
}

// noteTotals says which of the rows that are read look like sums.
func (v *Survey) noteTotals(lines []int) {
	if len(lines) == 0 {
		return
	}
	says := fmt.Sprintf("Line %d looks like a total of the others and was read too; it can be left out (skip_totals).",
		lines[0])
	if len(lines) > 1 {
		says = fmt.Sprintf("%d lines look like totals of the others (the first is line %d) and were read too; "+
			"they can be left out (skip_totals).", len(lines), lines[0])
	}
	v.Warnings = append(v.Warnings, says)
}
