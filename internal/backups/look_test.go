package backups

import (
	"fmt"
	"testing"

	"holdfast/internal/backup"
)

// A gap is reported of the backups that need what is missing, and of no others; of a log
// that goes on its last segment must be there, too.
func TestGapsBehindBackups(t *testing.T) {
	const log, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	first, second := Base{Name: "first", Log: log, Seq: 0}, Base{Name: "second", Log: log, Seq: 3}
	for what, c := range map[string]struct {
		there []int64
		id    string
		seq   int64
		want  map[string]int64
	}{
		"all are there":            {[]int64{1, 2, 3, 4, 5}, log, 5, nil},
		"one before both":          {[]int64{2, 3, 4, 5}, log, 5, map[string]int64{"first": 1}},
		"one behind both":          {[]int64{1, 2, 3, 5}, log, 5, map[string]int64{"first": 4, "second": 4}},
		"the last":                 {[]int64{1, 2, 3, 4}, log, 5, map[string]int64{"first": 5, "second": 5}},
		"the last, of an old log":  {[]int64{1, 2, 3, 4}, other, 9, nil},
		"all of them":              {nil, log, 5, map[string]int64{"first": 1, "second": 4}},
		"one came during the look": {[]int64{1, 2, 3, 4, 5, 6}, log, 5, nil},
	} {
		var names []string
		for _, seq := range c.there {
			names = append(names, backup.SegmentName(log, seq))
		}
		want := map[string]string{}
		for name, seq := range c.want {
			want[name] = backup.SegmentName(log, seq)
		}
		got := findGaps(names, Log{ID: c.id, Seq: c.seq, Bases: []Base{first, second}})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: gaps are %v, want %v", what, got, want)
		}
	}
}
