package sheet

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// sample is how many records the delimiter is judged by.
const sample = 50

// preference breaks ties: the rarer a character is in prose and numbers, the
// more its regular appearance says.
const preference = "\t;|,"

// detectDelimiter takes the candidate that cuts the first records into equally
// many cells most consistently.
func (f *Format) detectDelimiter(head []byte, whole bool) {
	f.Delimiter = ','
	if line, _, _ := bytes.Cut(head, []byte("\n")); len(line) <= 7 {
		s := strings.ToLower(strings.TrimRight(string(line), "\r"))
		if d, ok := strings.CutPrefix(s, "sep="); ok && len(d) == 1 && strings.Contains(Delimiters, d) {
			f.Delimiter, f.SepLine = d[0], true
			return
		}
	}
	best := 0.0
	for i := range len(preference) {
		if s := delimiterConsistency(head, preference[i], whole); s > best {
			best, f.Delimiter = s, preference[i]
		}
	}
}

// delimiterConsistency is the share of sampled records that have the commonest number
// of cells, 0 when that number is 1.
func delimiterConsistency(head []byte, delim byte, whole bool) float64 {
	r := NewReader(bytes.NewReader(head), delim)
	seen := map[int]int{}
	var counts []int
	for len(counts) <= sample {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0
		}
		counts = append(counts, len(rec.Cells))
	}
	if len(counts) > sample {
		counts = counts[:sample]
	} else if !whole && len(counts) > 1 {
		counts = counts[:len(counts)-1] // the last one is cut off
	}
	mode := 0
	for _, n := range counts {
		seen[n]++
		if seen[n] > seen[mode] || seen[n] == seen[mode] && n > mode {
			mode = n
		}
	}
	if mode < 2 {
		return 0
	}
	return float64(seen[mode]) / float64(len(counts))
}
