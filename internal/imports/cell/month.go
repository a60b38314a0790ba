package cell

import (
	"strings"
	"time"
)

// monthWords are the names of the months in English, German, French, Spanish,
// Italian, Dutch and Portuguese, folded. They may be cut after three letters and
// more where that leaves no other month.
var monthWords = [...]string{
	"january januar janner janvier enero gennaio januari janeiro",
	"february februar fevrier febrero febbraio februari fevereiro",
	"march marz maerz mars marzo maart marco mrz mrt",
	"april avril abril aprile avr abr",
	"may mai mayo maggio mei maio",
	"june juni juin junio giugno junho",
	"july juli juillet julio luglio julho",
	"august aout agosto augustus",
	"september septembre septiembre settembre setembro",
	"october oktober octobre octubre ottobre outubro",
	"november novembre noviembre",
	"december dezember decembre diciembre dicembre dezembro",
}

// monthsByWord finds a month, from 1, by a name or by one that is cut short. What
// may be two months (jui of French) is none.
var monthsByWord = indexMonths()

func indexMonths() map[string]int {
	index := map[string]int{}
	for i, names := range monthWords {
		for _, name := range strings.Fields(names) {
			for n := min(3, len(name)); n <= len(name); n++ {
				if other, taken := index[name[:n]]; taken && other != i+1 {
					index[name[:n]] = 0
					continue
				}
				index[name[:n]] = i + 1
			}
		}
	}
	return index
}

// monthOf is the month that a word names, 0 = none.
func monthOf(s string) int {
	if len(s) < 3 || len(s) > 16 {
		return 0
	}
	return monthsByWord[Fold(s)]
}

// MonthEnd reads a month without a day, 03/2027 or 2027-03, as its last day: so
// goods say until when they are good. The result is a date as ISO 8601 writes it.
func MonthEnd(s string) (iso string, ok bool) {
	first, second, cut := strings.Cut(strings.TrimSpace(s), "/")
	if !cut {
		first, second, cut = strings.Cut(strings.TrimSpace(s), "-")
	}
	if !cut {
		first, second, cut = strings.Cut(strings.TrimSpace(s), ".")
	}
	if len(first) == 4 {
		first, second = second, first
	}
	n, numeric := parseNumbers([]string{first, second, "0"})
	if !cut || !numeric || len(first) > 2 || len(second) != 4 || n[0] < 1 || n[0] > 12 || n[1] < 1 {
		return "", false
	}
	return time.Date(n[1], time.Month(n[0]+1), 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), true
}
