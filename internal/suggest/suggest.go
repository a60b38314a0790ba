// Package suggest finds the name somebody probably meant.
//
// Layer: values. Begin at [Nearest].
package suggest

// Nearest returns the candidate with the smallest edit distance to name
// (Levenshtein 1966), or "" when none is within half of name's length.
func Nearest(name string, candidates []string) string {
	best, at := "", len(name)/2+1
	for _, c := range candidates {
		if d := distance(name, c); d < at {
			best, at = c, d
		}
	}
	return best
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
