package programme

import (
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/safety/attendance"
)

// fillWeeks reads weekly hours of people: the most in any seven days from
// Monday to Sunday (UTC days of the shifts' ends), or with per window the mean
// over the time that they were there (see attendance.Record).
func (s *scan) fillWeeks(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	g := s.groups[kind]
	sel := selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}
	from := s.windowStart(r.WindowDays)
	if r.Per == "window" {
		s.fillMeanWeeks(tx, sel, from, t)
		return
	}
	args := []any{s.tenant, from, s.now}
	source, entity := shiftSource(tx, sel, &args)
	type week struct{ i, year, week int }
	var last week
	var hours decimal.Dec
	var worked []uuid.UUID
	sql := db.FillWords(`
		SELECT {entity}, s.ended_at, s.hours, s.id
		FROM {source}
		ORDER BY {entity}, s.ended_at`, "{entity}", entity, "{source}", source)
	tx.Queue(sql, args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i < 0 {
			return nil
		}
		now := week{i: i}
		now.year, now.week = row.Time(1).ISOWeek()
		if now != last {
			last, hours, worked = now, 0, worked[:0]
		}
		hours, worked = hours+row.Dec(2), append(worked, row.UUID(3))
		t.raiseValue(i, hours.Float(), worked...)
		return nil
	})
}

// fillRest reads the shortest rest between two shifts of a person.
func (s *scan) fillRest(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	g := s.groups[kind]
	args := []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	source, entity := shiftSource(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, &args)
	who, ended, before := -1, time.Time{}, uuid.Nil
	sql := db.FillWords(`
		SELECT {entity}, s.started_at, s.ended_at, s.id
		FROM {source}
		ORDER BY {entity}, s.started_at`, "{entity}", entity, "{source}", source)
	tx.Queue(sql, args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i >= 0 && i == who {
			rest := row.Time(1).Sub(ended).Hours()
			if !t.known[i] || rest < t.values[i] {
				t.putValue(i, rest, before, row.UUID(3))
			}
		}
		who, ended, before = i, row.Time(2), row.UUID(3)
		return nil
	})
}

// fillMeanWeeks reads the mean week of each person over a window.
func (s *scan) fillMeanWeeks(tx *db.Tx, sel selector, from time.Time, t *table) {
	g, zone := s.groups[sel.kind], localtime.Zone(s.st.place)
	today := localtime.DateOf(s.now, zone)
	args := []any{s.tenant, from, s.now}
	source, entity := shiftSource(tx, sel, &args)
	who, there := -1, attendance.Record{}
	t.newest = make([]uuid.UUID, len(t.values))
	sql := db.FillWords(`
		SELECT {entity}, s.ended_at, s.hours, s.id
		FROM {source}
		ORDER BY {entity}, s.ended_at`, "{entity}", entity, "{source}", source)
	tx.Queue(sql, args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i < 0 {
			return nil
		}
		if i != who {
			who, there = i, attendance.Record{}
		}
		there.AddShift(localtime.DateOf(row.Time(1), zone), row.Dec(2))
		t.values[i], t.known[i], t.newest[i] = there.MeanWeek(today), true, row.UUID(3)
		return nil
	})
}
