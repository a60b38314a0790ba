package safety

import (
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// A certificate's days lie within these years of each other, and of today: what
// is further away is a typing error.
const (
	oldestCertificate = 70
	longestValidity   = 50
)

// isRedated reports a completed training whose dates, or whose vouchers, were
// changed.
func isRedated(c store.Change) bool {
	return c.Op == store.Update && c.After["completed_at"] != nil && isChanged(c, "completed_at", "trained_on", "trainer", "evaluated_on", "evaluator", "expires_on")
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
// the course: the last day follows from the course's validity, which counts from
// the evaluation where there is one (29 CFR 1910.178(l)(4)(iii)), may be earlier,
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

	begins, err := checkEvaluation(ta, c, completed, localtime.DateOf(now, loc))
	if err != nil {
		return err
	}
	last := begins.AddMonths(int(c.months))
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

// vouchers are what a certificate names beside its holder: 29 CFR 1910.178(l)(6).
var vouchers = [...]string{"trained_on", "trainer", "evaluated_on", "evaluator"}

// checkEvaluation wants who trained and who evaluated, and when, where the course
// needs an evaluation, and holds the days to each other. It returns the day from
// which the certificate is valid.
func checkEvaluation(ta store.Row, c course, completed, today localtime.Date) (localtime.Date, error) {
	begins := completed
	for _, f := range vouchers {
		if c.evaluated && ta.Text(f) == "" {
			return begins, notReady("the course needs an evaluation: say who trained and who evaluated, and when: %s", f).
				At(f, "is missing")
		}
	}
	trained := ""
	for _, f := range [...]string{"trained_on", "evaluated_on"} {
		if ta.Text(f) == "" {
			continue
		}
		day, err := localtime.ParseDate(ta.Text(f))
		switch {
		case err != nil:
			return begins, err
		case today.Before(day):
			return begins, badDate(f, "lies in the future")
		case day.Year() < completed.Year()-oldestCertificate:
			return begins, badDate(f, "is in the year %d: that is a typing error", day.Year())
		case f == "evaluated_on" && day.String() < trained:
			return begins, badDate(f, "lies before the training, on %s", trained)
		case f == "evaluated_on":
			begins = day
		}
		trained = day.String()
	}
	return begins, nil
}

// holderNamesSQL selects the names of workers. $1 tenant, $2 their ids.
const holderNamesSQL = `
	SELECT id, name
	FROM workers
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// readHolderNames returns the names of the workers whose trainings name somebody.
func readHolderNames(tx *store.Tx, changes []store.Change) (map[string]string, error) {
	names := map[string]string{}
	var ids []string
	for _, c := range changes {
		if c.After.Text("trainer") != "" || c.After.Text("evaluator") != "" {
			ids = append(ids, c.After.Text("worker_id"))
		}
	}
	if ids = dropEmpty(ids); len(ids) == 0 {
		return names, nil
	}
	err := tx.Query(holderNamesSQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		names[r.Text(0)] = r.Text(1)
		return nil
	})
	return names, err
}

// refuseOwnName keeps the holder from standing on their own certificate as the
// person who trained or evaluated.
func refuseOwnName(ta store.Row, names map[string]string) error {
	for _, f := range [...]string{"trainer", "evaluator"} {
		name := ta.Text(f)
		if name != "" && strings.EqualFold(name, names[ta.Text("worker_id")]) {
			return badDate(f, "is the holder: another person vouches for a certificate")
		}
	}
	return nil
}

func badDate(field, format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, field+" "+format, args...).At(field, format, args...)
}
