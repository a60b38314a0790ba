// Package training holds what changes of people's training bring about: whose it
// is, whom a certificate names, the days that it is valid for, and the refresher
// that an incident asks for (29 CFR 1910.178(l)).
//
// Layer: domains. Begin at [Effects].
package training

import (
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// resource is the collection of people's trainings, with its columns.
const (
	resource = "training_assignments"

	courseColumn      = "course_id"
	userColumn        = "user_id"
	workerColumn      = "worker_id"
	statusColumn      = "status"
	completedColumn   = "completed_at"
	resultColumn      = "result"
	expiresColumn     = "expires_on"
	numberColumn      = "certificate_no"
	closeColumn       = "close_reason"
	trainedColumn     = "trained_on"
	trainerColumn     = "trainer"
	evaluatedColumn   = "evaluated_on"
	evaluatorColumn   = "evaluator"
	issuerColumn      = "issuer"
	verifiedColumn    = "verified_at"
	incidentColumn    = "source_incident_id"
	typeColumn        = "assignment_type"
	reasonColumn      = "assignment_reason"
	dueColumn         = "due_on"
	statusCompleted   = "completed"
	statusExpired     = "expired"
	statusWaived      = "waived"
	statusCancelled   = "cancelled"
	statusInProgress  = "in_progress"
	statusAssigned    = "assigned"
	statusFailed      = "failed"
	typeAfterIncident = "incident"
)

// Effects returns the consequences of changes to trainings, to the workers whose
// they are, and to incidents, for store.New.
func Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{
		resource: safety.PerTenant(followTraining),
		"files":  keepVerifiedFiles,
	}, After: map[string]store.Effect{
		"workers":   safety.PerTenant(linkTraining),
		"incidents": safety.PerTenant(assignRefreshers),
	}}
}

// course is what completing one depends on.
type course struct {
	months    int64
	pass      decimal.Dec
	marked    bool
	evaluated bool // a certificate needs a practical evaluation
}

// followTraining finds the person's other name, refuses a second open training, stamps the steps of an
// assignment, holds completion to the pass mark, and dates the certificate.
func followTraining(tx *store.Tx, changes []store.Change) error {
	if err := namePeople(tx.Tx, tx.TenantID, changes); err != nil {
		return err
	}
	if err := refuseSecondOpen(tx, changes); err != nil {
		return err
	}
	var ids []string
	for _, c := range record.Changes[record.TrainingAssignment](changes) {
		if err := refuseOwnVerdict(tx.Actor, c); err != nil {
			return err
		}
		if err := checkExternal(tx, c); err != nil {
			return err
		}
		if isCompleted(c) || isRedated(c) || isVouched(c) {
			ids = append(ids, c.After.CourseID())
		}
	}
	courses, loc, err := readCourses(tx.Tx, tx.TenantID, ids)
	if err != nil {
		return err
	}
	if err := refuseOwnNames(tx, changes); err != nil {
		return err
	}
	for _, c := range record.Changes[record.TrainingAssignment](changes) {
		if err := stampStep(c, courses[c.After.CourseID()], tx.Now(), loc); err != nil {
			return err
		}
	}
	return nil
}

// stampStep stamps what a change makes of a training: begun, closed with a
// reason, completed, or completed and dated anew.
func stampStep(c record.Change[record.TrainingAssignment], of course, now time.Time, loc *time.Location) error {
	ta := c.After
	switch {
	case safety.Becomes(c.Change, statusInProgress):
		ta.SetStartedAt(query.FormatTime(now))
	case isClosedUnsaid(c):
		return safety.NotReady("say why the training is %s: close_reason", ta.Status()).
			At(closeColumn, "is missing")
	case isCompleted(c):
		return completeAssignment(ta, of, now, loc)
	case isRedated(c):
		return dateCertificate(ta, of, now, loc)
	case isVouched(c):
		_, err := checkVouchers(ta, localtime.DateOf(now, loc))
		return err
	}
	return nil
}

// isClosedUnsaid reports a training that is waived or cancelled without a reason, or
// whose reason is taken away afterwards.
func isClosedUnsaid(c record.Change[record.TrainingAssignment]) bool {
	status := c.After.Status()
	isClosed := status == statusWaived || status == statusCancelled
	return isClosed && safety.IsChanged(c.Change, statusColumn, closeColumn) &&
		strings.TrimSpace(c.After.CloseReason()) == ""
}

func isCompleted(c record.Change[record.TrainingAssignment]) bool {
	return safety.Becomes(c.Change, statusCompleted) || c.Op == store.Insert && c.After.Status() == statusCompleted
}

// verdictFields are what another person than its holder says of a training.
var verdictFields = [...]string{
	resultColumn, completedColumn, trainedColumn, trainerColumn, evaluatedColumn, evaluatorColumn, expiresColumn,
	numberColumn, issuerColumn,
}

// refuseOwnVerdict keeps people from completing or waiving their own training
// and from saying who vouches for it: the employer certifies it, naming who
// trained and who evaluated (29 CFR 1910.178(l)(6)). It holds for every write of
// the store, whatever it comes from.
func refuseOwnVerdict(a actor.Actor, c record.Change[record.TrainingAssignment]) error {
	if !isHolder(a, c.After) {
		return nil
	}
	if isCompleted(c) || safety.Becomes(c.Change, statusWaived) {
		return refuseHolder(statusColumn)
	}
	for _, f := range verdictFields {
		if !store.Same(c.Before[f], c.After[f]) {
			return refuseHolder(f)
		}
	}
	return nil
}

// isHolder reports whether a training is the caller's own, by account or by
// worker.
func isHolder(a actor.Actor, ta record.TrainingAssignment) bool {
	return a.UserID != "" && ta.UserID() == a.UserID || a.WorkerID != "" && ta.WorkerID() == a.WorkerID
}

func refuseHolder(field string) error {
	return fault.New(fault.Forbidden, "42501", "nobody completes their own training: another person sets %s", field).
		At(field, "is another person's to set")
}

// readCoursesSQL selects what completing some courses depends on. $1 tenant, $2
// their ids.
const readCoursesSQL = `
	SELECT id, validity_months, pass_mark, needs_evaluation
	FROM courses
	WHERE tenant_id = $1
		AND id IN {ids $2}`

func readCourses(tx *db.Tx, tenant string, ids []string) (map[string]course, *time.Location, error) {
	courses, zone := map[string]course{}, "UTC"
	if len(ids) == 0 {
		return courses, time.UTC, nil
	}
	tx.Queue(readCoursesSQL, []any{tenant, query.List(ids)}, func(r *db.Row) error {
		courses[r.Text(0)] = course{r.Int(1), r.Dec(2), !r.Null(2), r.Bool(3)}
		return nil
	})
	store.QueueZone(tx, tenant, &zone)
	err := tx.Flush()
	return courses, localtime.Zone(zone), err
}

// completeAssignment completes an assignment: a marked course needs its mark,
// unless somebody else issued the certificate.
func completeAssignment(ta record.TrainingAssignment, of course, now time.Time, loc *time.Location) error {
	result, given := ta.ResultOrNull().(decimal.Dec)
	if of.marked && !ta.HasIssuer() && (!given || result < of.pass) {
		return safety.NotReady("the course is passed with %s percent; the result is %v", of.pass, shownMark(given, result))
	}
	if !ta.HasCompletedAt() {
		ta.SetCompletedAt(query.FormatTime(now))
	}
	if err := dateCertificate(ta, of, now, loc); err != nil {
		return err
	}
	if id := ta.ID(); !ta.HasCertificateNo() && len(id) == 36 {
		ta.SetCertificateNo("TC-" + strings.ToUpper(id[24:]))
	}
	return nil
}

func shownMark(given bool, d decimal.Dec) string {
	if !given {
		return "missing"
	}
	return d.String()
}
