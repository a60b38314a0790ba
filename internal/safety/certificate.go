package safety

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// A certificate's days lie within these years of each other, and of today: what
// is further away is a typing error.
const (
	oldestCertificate = 70
	longestValidity   = 50
)

// isRedated reports a completed training whose dates were changed.
func isRedated(c store.Change) bool {
	return c.Op == store.Update && c.After["completed_at"] != nil && isChanged(c, "completed_at", "expires_on")
}

// isChanged reports whether one of some fields changes.
func isChanged(c store.Change, fields ...string) bool {
	for _, f := range fields {
		if !store.Same(c.Before[f], c.After[f]) {
			return true
		}
	}
	return false
}

// dateCertificate holds the dates of a completed training to each other and to
// the course: the last day follows from the course's validity, may be earlier,
// never lies behind it, and never before the day of completion. Days are the
// tenant's.
func dateCertificate(ta store.Row, c course, now time.Time, loc *time.Location) error {
	moment, lastDay := ta.Text("completed_at"), ta.Text("expires_on")
	if isAhead(moment, now) {
		return badDate("completed_at", "lies in the future")
	}
	at, err := time.Parse(db.TimeLayout, moment)
	if err != nil {
		return err
	}
	completed := localtime.DateOf(at, loc)
	if completed.Year() < localtime.DateOf(now, loc).Year()-oldestCertificate {
		return badDate("completed_at", "is in the year %d: that is a typing error", completed.Year())
	}

	last := completed.AddMonths(int(c.months))
	if lastDay == "" {
		if c.months > 0 {
			ta["expires_on"] = last.String()
		}
		return nil
	}
	expires, err := localtime.ParseDate(lastDay)
	if err != nil {
		return err
	}
	if expires.Year() > completed.Year()+longestValidity {
		return badDate("expires_on", "is in the year %d: that is a typing error", expires.Year())
	}
	if expires.Before(completed) {
		return badDate("expires_on", "lies before the training was completed, on %s", completed)
	}
	if c.months > 0 && last.Before(expires) {
		return badDate("expires_on", "lies behind %s, the last day of the course's validity of %d months", last, c.months)
	}
	return nil
}

func badDate(field, format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, field+" "+format, args...).At(field, format, args...)
}
