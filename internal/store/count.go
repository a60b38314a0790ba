package store

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
)

// Where counters are kept: totals in one table, and what is counted by month,
// day and hour in another, so that reading the totals does not grow with time.
const (
	totalsTable = "counters"
	timedTable  = "timed_counters"
)

// Count queues changes to a tenant's counters, named as catalog.Counter names
// them, in name order so that two writers lock in one order.
func (s *Store) Count(tx *db.Tx, tenant string, deltas map[string]int64) {
	queueCounts(tx, tenant, deltas, "")
}

// queueCounts writes to one slot, or with "" to the slots that writers use.
func queueCounts(tx *db.Tx, tenant string, deltas map[string]int64, fixed string) {
	slot := func() string {
		if fixed != "" {
			return fixed
		}
		return tx.DB().CounterSlot()
	}
	var totals, timed []string
	for n, d := range deltas {
		switch _, _, _, _, ok := catalog.Timed(n); {
		case d == 0:
		case ok:
			timed = append(timed, n)
		default:
			totals = append(totals, n)
		}
	}
	slices.Sort(totals)
	slices.Sort(timed)
	queueDeltas(tx, totalsTable, []string{"tenant_id", "name", "slot"}, totals, func(n string, args []any) []any {
		return append(args, tenant, n, slot(), deltas[n])
	})
	queueDeltas(tx, timedTable, []string{"tenant_id", "name", "span", "start_at", "part", "slot"}, timed,
		func(n string, args []any) []any {
			span, start, name, part, _ := catalog.Timed(n)
			return append(args, tenant, name, string(span), start, part, slot(), deltas[n])
		})
}

// queueDeltas adds deltas to the rows that keys find, in statements whose sizes
// are powers of two.
func queueDeltas(tx *db.Tx, table string, keys, names []string, row func(name string, args []any) []any) {
	cols := append(slices.Clone(keys), "delta")
	for step := 128; len(names) > 0; {
		for step > len(names) {
			step /= 2
		}
		args := make([]any, 0, step*len(cols))
		for _, n := range names[:step] {
			args = row(n, args)
		}
		names = names[step:]
		tx.Queue(insertText(table, cols, step)+" ON CONFLICT ("+strings.Join(keys, ", ")+") DO UPDATE SET delta = "+table+
			".delta + excluded.delta", args, nil)
	}
}

// Counts queues reading a tenant's totals into the map; it is filled after the
// next flush. Timed counters are read with Timed.
func (s *Store) Counts(tx *db.Tx, tenant string, into map[string]int64) {
	tx.Queue(`
		SELECT name, CAST(SUM(delta) AS bigint)
		FROM counters
		WHERE tenant_id = $1
		GROUP BY name`, []any{tenant},
		func(r *db.Row) error {
			into[r.Text(0)] = r.Int(1)
			return nil
		})
}

// Timed reads a timed counter over any stretch of time. What it costs does not
// depend on how much was counted: whole months, days and hours come from the
// counter, the rest of the first and last hour from the records.
type Timed struct{ sql string }

// Timed returns the timed counter of a name, or nil when the catalog has none.
func (s *Store) Timed(name string) *Timed {
	for _, r := range s.cat.All() {
		for i := range r.Counters {
			if c := &r.Counters[i]; c.Name == name && c.At != "" {
				return &Timed{timedText(r, c)}
			}
		}
	}
	return nil
}

// timedText has the bounds of whole hours, days and months as $2 to $7, of the
// stretch as $8 and $9.
func timedText(r *catalog.Resource, c *catalog.Counter) string {
	var b strings.Builder
	b.WriteString("SELECT part, CAST(SUM(delta) AS bigint) FROM (")
	for i, span := range [...]catalog.Span{catalog.Hour, catalog.Day, catalog.Month, catalog.Day, catalog.Hour} {
		b.WriteString("SELECT part, delta FROM " + timedTable + " WHERE tenant_id = $1 AND name = '" + c.Name +
			"' AND span = '" + string(span) +
			"' AND start_at >= $" + strconv.Itoa(i+2) + " AND start_at < $" + strconv.Itoa(i+3) + " UNION ALL ")
	}
	rows := "SELECT " + partText(r, c) + ", 1 FROM " + r.Name + " WHERE tenant_id = $1" + stateText(r, c) + " AND " + c.At
	b.WriteString(rows + " > $8 AND " + c.At + " < $2 UNION ALL " + rows + " >= $7 AND " + c.At +
		" <= $9) u GROUP BY part")
	return b.String()
}

// partText is what By makes of a record, as an expression.
func partText(r *catalog.Resource, c *catalog.Counter) string {
	parts := make([]string, len(c.By))
	for i, n := range c.By {
		if parts[i] = "coalesce(" + n + ", '')"; fieldType(r, n) == catalog.Bool {
			parts[i] = "CASE WHEN " + n + " THEN 'true' WHEN NOT " + n + " THEN 'false' ELSE '' END"
		}
	}
	if len(parts) == 0 {
		return "''"
	}
	return strings.Join(parts, " || ':' || ")
}

func fieldType(r *catalog.Resource, name string) catalog.Type {
	f, _ := r.Field(name) // the catalog has checked it
	return f.Type
}

// stateText leaves out the states that do not count. Where an index leads from
// the state to the time the others are named, so that it is used; elsewhere not,
// or an engine might prefer an index of states to that of the time.
func stateText(r *catalog.Resource, c *catalog.Counter) string {
	if len(c.Except) == 0 {
		return ""
	}
	f, _ := r.Field(r.States.Field)
	led := slices.ContainsFunc(r.Indexes, func(x []string) bool { return len(x) > 1 && x[0] == f.Name && x[1] == c.At })
	if !led {
		return " AND " + f.Name + " NOT IN ('" + strings.Join(c.Except, "', '") + "')"
	}
	var counted []string
	for _, st := range f.OneOf {
		if !slices.Contains(c.Except, st) {
			counted = append(counted, st)
		}
	}
	return " AND " + f.Name + " IN ('" + strings.Join(counted, "', '") + "')"
}

// Queue asks for the counts of (from, to] by part; add is called at the next
// flush.
func (t *Timed) Queue(tx *db.Tx, tenant string, from, to time.Time, add func(part string, n int64)) {
	args := make([]any, 0, 9)
	args = append(args, tenant)
	for _, at := range splitPeriod(from, to) {
		args = append(args, at)
	}
	tx.Queue(t.sql, append(args, from, to), func(r *db.Row) error {
		add(r.Text(0), r.Int(1))
		return nil
	})
}

// splitPeriod are six moments between from and to, in order: whole hours lie between
// the first two, whole days between the second and third, whole months in the
// middle, and on the other side days and hours again.
func splitPeriod(from, to time.Time) [6]time.Time {
	from, to = from.UTC(), to.UTC()
	first, last := from.Truncate(time.Hour).Add(time.Hour), to.Truncate(time.Hour)
	if first.After(last) { // no whole hour
		after := to.Add(time.Microsecond)
		return [6]time.Time{after, after, after, after, after, after}
	}
	p := [6]time.Time{first, first, first, last, last, last}
	p[1] = earlierTime(dayOf(first.Add(24*time.Hour-1)), last)
	p[4] = laterTime(dayOf(last), p[1])
	p[2] = earlierTime(monthFrom(p[1]), p[4])
	p[3] = laterTime(monthOf(p[4]), p[2])
	return p
}

func dayOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func monthOf(t time.Time) time.Time {
	y, m, _ := t.Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// monthFrom is the first beginning of a month that is not before t.
func monthFrom(t time.Time) time.Time {
	if m := monthOf(t); m.Before(t) {
		return m.AddDate(0, 1, 0)
	}
	return t
}

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
