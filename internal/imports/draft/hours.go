package draft

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Hours remembers when each worker of a file is at work: shifts of one
// worker that overlap would stop the whole file when it is applied.
type Hours struct {
	seed maphash.Seed
	of   map[uint64][]stretch // in order of time
}

// stretch is a time in microseconds, and the line that gives it.
type stretch struct {
	from, to int64
	line     int
}

// NewHours returns a book of a file none of which was read.
func NewHours() *Hours { return &Hours{maphash.MakeSeed(), map[uint64][]stretch{}} }

// Enter notes a shift, or returns the line of one that it overlaps.
func (b *Hours) Enter(row store.Row, line int) (other int, overlaps bool) {
	worker, _ := row["worker_id"].(string)
	s := stretch{from: parseMicros(row["started_at"]), to: math.MaxInt64, line: line}
	if row["ended_at"] != nil {
		s.to = parseMicros(row["ended_at"])
	} else if row["hours"] != nil {
		s.to = safety.ShiftEnd(time.UnixMicro(s.from), row).UnixMicro()
	}
	if worker == "" || s.from == 0 || s.to <= s.from {
		return 0, false
	}
	k := maphash.String(b.seed, worker)
	list := b.of[k]
	at, _ := slices.BinarySearchFunc(list, s, func(x, y stretch) int { return int(min(1, max(-1, x.from-y.from))) })
	for _, i := range []int{at - 1, at} {
		if i >= 0 && i < len(list) && list[i].from < s.to && s.from < list[i].to {
			return list[i].line, true
		}
	}
	b.of[k] = slices.Insert(list, at, s)
	return 0, false
}

func parseMicros(v any) int64 {
	text, _ := v.(string)
	at, err := time.Parse(db.TimeLayout, text)
	if err != nil {
		return 0
	}
	return at.UnixMicro()
}
