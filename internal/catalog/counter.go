package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// Counter is a per-tenant total kept in the transaction of each change.
// Its rows are named Name, or Name + ":" + the By values joined by ":".
type Counter struct {
	Name string
	By   []string // fields whose values split the count
	Sum  string   // Int or Decimal field to add up; empty counts rows
	// Time field: counted for each month, day and hour of it, not altogether; without it a record does not count
	At     string
	Except []string // states whose records do not count
}

// Span is the length of what a timed count is about.
type Span byte

// The spans that are counted, all of UTC.
const (
	Month Span = 'm'
	Day   Span = 'd'
	Hour  Span = 'h'
)

// startOf is the beginning of the span that a moment, as canonical text, lies in.
func (s Span) startOf(at string) string {
	switch s {
	case Month:
		return at[:7] + "-01T00:00:00.000000Z"
	case Day:
		return at[:10] + "T00:00:00.000000Z"
	}
	return at[:13] + ":00:00.000000Z"
}

// stampLen is the length of a moment's canonical text.
const stampLen = len(db.TimeLayout)

// Add enters what a record of r counts, times over, into sums by key. A timed
// counter has a key for each span, which Timed takes apart.
func (c *Counter) Add(into map[string]int64, r *Resource, row map[string]any, times int64) {
	n := times * c.weightOf(row)
	if n == 0 || r.States != nil && len(c.Except) > 0 && containsText(c.Except, counterWord(row[r.States.Field])) {
		return
	}
	parts := make([]string, len(c.By))
	for i, f := range c.By {
		parts[i] = counterWord(row[f])
	}
	part := strings.Join(parts, ":")
	if c.At == "" && len(parts) == 0 {
		into[c.Name] += n
		return
	}
	if c.At == "" {
		into[c.Name+":"+part] += n
		return
	}
	at := counterWord(row[c.At])
	if len(at) != stampLen {
		return
	}
	for _, s := range [...]Span{Month, Day, Hour} {
		into[TimedKey(s, s.startOf(at), c.Name, part)] += n
	}
}

// Counted are the fields that the resource's counters look at.
func (r *Resource) Counted() []string {
	var out []string
	for i := range r.Counters {
		c := &r.Counters[i]
		out = append(append(out, c.By...), c.Sum, c.At)
		if len(c.Except) > 0 {
			out = append(out, r.States.Field)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n string) bool { return n == "" })
}

// TimedKey is the key of a timed count: of a span that begins at a moment in
// canonical text, the counter's name and what By makes of the record.
func TimedKey(s Span, start, name, part string) string {
	return "@" + string(s) + start + name + ":" + part
}

// Timed takes a TimedKey apart; ok is false for the key of another count.
func Timed(key string) (s Span, start, name, part string, ok bool) {
	if len(key) < 2+stampLen || key[0] != '@' {
		return 0, "", "", "", false
	}
	name, part, _ = strings.Cut(key[2+stampLen:], ":")
	return Span(key[1]), key[2 : 2+stampLen], name, part, true
}

func (c *Counter) weightOf(row map[string]any) int64 {
	if c.Sum == "" {
		return 1
	}
	switch v := row[c.Sum].(type) {
	case int64:
		return v
	case decimal.Dec:
		return int64(v)
	}
	return 0
}

// counterWord is a value as counters name it.
func counterWord(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case time.Time:
		return x.UTC().Format(db.TimeLayout)
	}
	return fmt.Sprint(v)
}

func (c *Counter) checkCounter(r *Resource) error {
	for _, n := range append(append([]string{}, c.By...), c.At, c.Sum) {
		if n != "" && r.byName[n] == nil {
			return fmt.Errorf("catalog: %s: counter %s names unknown field %q", r.Name, c.Name, n)
		}
	}
	if c.At != "" && r.byName[c.At].Type != Time {
		return fmt.Errorf("catalog: %s: counter %s: %s is no time", r.Name, c.Name, c.At)
	}
	if len(c.Except) > 0 && r.States == nil {
		return fmt.Errorf("catalog: %s: counter %s leaves out states, and there are none", r.Name, c.Name)
	}
	return nil
}
