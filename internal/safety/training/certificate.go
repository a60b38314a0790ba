package training

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety"
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
func isRedated(c record.Change[record.TrainingAssignment]) bool {
	return c.Op == store.Update && c.After.HasCompletedAt() &&
		(safety.IsChanged(c.Change, completedColumn, expiresColumn) || isVouched(c))
}

// isVouched reports that somebody was named, or a day, who vouches for a training.
func isVouched(c record.Change[record.TrainingAssignment]) bool {
	return safety.IsChanged(c.Change, trainedColumn, trainerColumn, evaluatedColumn, evaluatorColumn)
}

// dateCertificate holds the dates of a completed training to each other and to
// the course: the last day follows from the course's validity, which counts from
// the evaluation where there is one (29 CFR 1910.178(l)(4)(iii)), may be earlier,
// never lies behind it, and never before the certificate begins. Days are the
// tenant's.
func dateCertificate(ta record.TrainingAssignment, of course, now time.Time, loc *time.Location) error {
	moment := ta.CompletedAt()
	at, err := time.Parse(db.TimeLayout, moment)
	if err != nil {
		return err
	}
	completed, today := localtime.DateOf(at, loc), localtime.DateOf(now, loc)
	if safety.IsAhead(moment, now) {
		return refuseFuture(completedColumn, completed, today)
	}
	if completed.Year() < today.Year()-oldestCertificate {
		return refuseYear(completedColumn, completed)
	}

	if status := ta.Status(); status == statusCompleted || status == statusExpired {
		if err := wantVouchers(ta, of); err != nil {
			return err
		}
	}
	evaluated, err := checkVouchers(ta, today)
	if err != nil {
		return err
	}
	if trained := ta.TrainedOn(); trained > completed.String() {
		return safety.RefuseField(trainedColumn, "lies behind the day on which the training was completed, %s", completed)
	}
	begins := completed
	if evaluated != nil {
		begins = *evaluated
	}
	return dateLastDay(ta, of, begins)
}

// dateLastDay fills the last day of a certificate that begins on a day, or holds
// the one that is given to the course.
func dateLastDay(ta record.TrainingAssignment, of course, begins localtime.Date) error {
	last := begins.AddMonths(int(of.months))
	if ta.ExpiresOn() == "" {
		if of.months > 0 {
			ta.SetExpiresOn(last.String())
		}
		return nil
	}

	expires, err := localtime.ParseDate(ta.ExpiresOn())
	if err != nil {
		return err
	}
	if expires.Year() > begins.Year()+longestValidity {
		return refuseYear(expiresColumn, expires)
	}
	if expires.Before(begins) {
		return safety.RefuseField(expiresColumn, "lies before the certificate begins, on %s", begins)
	}
	if of.months > 0 && last.Before(expires) {
		return safety.RefuseField(expiresColumn, "lies behind %s, the last day of the course's validity of %d months",
			last, of.months)
	}
	return nil
}

// refuseFuture refuses a day that has not come; one of another year than this or
// the next is a typing error, and the fault says so.
func refuseFuture(field string, day, today localtime.Date) error {
	if day.Year() > today.Year()+1 {
		return safety.RefuseField(field, "lies in the future: the year %d is a typing error", day.Year())
	}
	return safety.RefuseField(field, "lies in the future")
}

func refuseYear(field string, day localtime.Date) error {
	return safety.RefuseField(field, "is in the year %d: that is a typing error", day.Year())
}
