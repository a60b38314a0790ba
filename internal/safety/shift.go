package safety

import (
	"sort"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// longestShift bounds one shift.
const longestShift = 24 * time.Hour

// span is a shift as time: from, to ("" while open), as canonical texts.
type span struct{ id, from, to string }

func (x span) overlapsWith(y span) bool {
	return x.id != y.id && (y.to == "" || x.from < y.to) && (x.to == "" || y.from < x.to)
}

// clockShifts closes a shift that has an end, derives its hours, and keeps the
// shifts of one worker apart: they are the exposure under every rate.
func clockShifts(tx *store.Tx, changes []store.Change) error {
	mine := map[string][]span{}
	for _, c := range record.Changes[record.Shift](changes) {
		if err := measureShift(c, tx.Now()); err != nil {
			return err
		}
		sh := c.After
		if c.Op == store.Insert || c.Before.StartedAt() != sh.StartedAt() || c.Before.EndedAt() != sh.EndedAt() {
			w := sh.WorkerID()
			mine[w] = append(mine[w], span{sh.ID(), sh.StartedAt(), sh.EndedAt()})
		}
	}
	if tx.Store.Audited() && asksCertificates(changes) {
		today, err := ReadToday(tx.Tx, tx.TenantID, tx.Now())
		if err != nil {
			return err
		}
		if err := checkCertified(tx.Tx, tx.TenantID, today, changes); err != nil {
			return err
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return refuseOverlaps(tx.Tx, tx.TenantID, mine)
}

func badShift(field, format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, "a shift's "+field+" "+format, args...).At(field, format, args...)
}

// measureShift checks one shift's times and fills status and hours.
func measureShift(c record.Change[record.Shift], now time.Time) error {
	sh := c.After
	if sh.StartedAt() == "" {
		return nil // the store names what is missing
	}
	start, err := time.Parse(db.TimeLayout, sh.StartedAt())
	if err != nil {
		return err
	}
	if IsAhead(sh.StartedAt(), now) {
		return badShift("started_at", "lies in the future")
	}
	if isReopened(c) {
		sh.ClearHours()
	}

	said, makes := "ended_at", "makes" // the field that says when it ended
	if !sh.HasEndedAt() && sh.HasHours() {
		said, makes = "hours", "make"
		sh.SetEndedAt(query.FormatTime(ShiftEnd(start, store.Row(sh))))
	}
	if !sh.HasEndedAt() {
		if sh.Status() != "open" {
			return badShift("ended_at", "is required before it is %s", sh.Status())
		}
		return nil
	}

	end, err := time.Parse(db.TimeLayout, sh.EndedAt())
	switch length := end.Sub(start); {
	case err != nil:
		return err
	case length <= 0 && said == "hours":
		return badShift("hours", "must be more than 0 where no end is given")
	case length <= 0:
		return badShift("ended_at", "must be after started_at")
	case length > longestShift:
		return badShift(said, "%s it longer than 24 hours", makes)
	case IsAhead(sh.EndedAt(), now):
		return badShift(said, "%s it end in the future", makes)
	}
	if sh.Status() == "open" {
		sh.SetStatus("closed")
	}
	return deriveHours(c, end.Sub(start))
}

// ShiftEnd is when a shift ended that says its hours and no end: after its hours
// of work and its break.
func ShiftEnd(start time.Time, shift store.Row) time.Time {
	worked, _ := shift["hours"].(decimal.Dec)
	breaks, _ := shift["break_minutes"].(int64)
	seconds := (int64(worked)*3600 + decimal.Scale/2) / decimal.Scale
	return start.Add(time.Duration(seconds)*time.Second + time.Duration(breaks)*time.Minute)
}

// isReopened reports a change that takes the end of a shift away: the hours that
// followed from it go too.
func isReopened(c record.Change[record.Shift]) bool {
	return c.Op == store.Update && c.Before.HasEndedAt() && !c.After.HasEndedAt() &&
		c.Before.HoursOrNull() == c.After.HoursOrNull()
}

// deriveHours derives the hours of a shift from its times, two decimals, unless they
// are given. They are the exposure under every rate, so they never exceed the time
// from beginning to end less the break.
func deriveHours(c record.Change[record.Shift], length time.Duration) error {
	sh := c.After
	breaks := sh.BreakMinutes()
	worked := length - time.Duration(breaks)*time.Minute
	if worked < 0 {
		return badShift("break_minutes", "are longer than the shift")
	}
	movesTimes := IsChanged(c.Change, "started_at", "ended_at", "break_minutes")
	if c.Op == store.Update && movesTimes && !IsChanged(c.Change, "hours") {
		sh.ClearHours()
	}

	most := decimal.Dec((int64(worked/time.Second)*100 + 1800) / 3600 * (decimal.Scale / 100))
	if !sh.HasHours() {
		sh.SetHours(most)
	}

	// A shift from before this rule keeps its hours until they or its times change. The
	// 18 seconds are what rounding to a hundredth of an hour may add.
	given := sh.Hours()
	isTouched := movesTimes || IsChanged(c.Change, "hours")
	if isTouched && int64(given)*3600 > int64(worked/time.Second+18)*decimal.Scale {
		return badShift("hours",
			"are more than the %s that the shift has from its beginning to its end, less the break", most)
	}
	return nil
}

const refuseOverlapsSQL = `
	SELECT id FROM workers WHERE tenant_id = $1 AND id IN {ids $2} ORDER BY id {for update}`

const selectShiftsSQL = `
	SELECT worker_id, id, started_at, ended_at
	FROM shifts
	WHERE tenant_id = $1
		AND worker_id IN {ids $2}
		AND started_at < $3
		AND (ended_at IS NULL OR ended_at > $4)`

// refuseOverlaps refuses shifts of one worker that overlap. The workers' rows are locked
// so that two requests cannot both find the time free.
func refuseOverlaps(tx *db.Tx, tenant string, mine map[string][]span) error {
	workers := make([]string, 0, len(mine))
	first, last := "9", ""
	for w, list := range mine {
		workers = append(workers, w)
		for _, x := range list {
			first = min(first, x.from)
			if x.to == "" {
				last = "9999-12-31T00:00:00.000000Z"
			}
			last = max(last, x.to)
		}
	}
	sort.Strings(workers)
	ids := query.List(workers)
	if lock := tx.DB().ForUpdate(); lock != "" {
		tx.Queue(refuseOverlapsSQL, []any{tenant, ids}, func(*db.Row) error {
			return nil
		})
	}
	there := map[string][]span{}
	tx.Queue(selectShiftsSQL, []any{tenant, ids, last, first}, func(r *db.Row) error {
		there[r.Text(0)] = append(there[r.Text(0)], span{r.Text(1), r.Text(2), r.Text(3)})
		return nil
	})
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, w := range workers {
		if x, clash := findOverlap(mine[w], there[w]); clash {
			return fault.New(fault.Conflict, CodeGuard, "the worker already has a shift at that time").
				With("another shift of worker "+w+" runs at "+x.from, "").At("started_at", "overlaps another shift of the worker")
		}
	}
	return nil
}

// findOverlap finds two shifts of one worker at one time; a stored shift that is
// being changed counts as changed.
func findOverlap(mine, there []span) (span, bool) {
	changed := map[string]bool{}
	for _, x := range mine {
		changed[x.id] = true
	}
	all := append([]span{}, mine...)
	for _, y := range there {
		if !changed[y.id] {
			all = append(all, y)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
	for i := 1; i < len(all); i++ {
		// Sorted by start, a clash shows between some neighbours.
		if all[i-1].overlapsWith(all[i]) {
			return all[i-1], true
		}
	}
	return span{}, false
}
