package training

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// lockWorkersSQL locks workers in the order of their ids. $1 tenant, $2 ids.
const lockWorkersSQL = `
	SELECT id
	FROM workers
	WHERE tenant_id = $1
		AND id IN {ids $2}
	ORDER BY id
	{for update}`

// lockAccountsSQL locks members in the order of their ids. $1 tenant, $2 ids of accounts.
const lockAccountsSQL = `
	SELECT id
	FROM members
	WHERE tenant_id = $1
		AND user_id IN {ids $2}
	ORDER BY id
	{for update}`

// QueueHolderLocks makes those who assign training to the same people wait for each
// other until the transaction ends: what is queued after it sees what the others
// assigned. accounts are of people who are no workers.
func QueueHolderLocks(tx *db.Tx, tenant string, workers, accounts []string) {
	if tx.DB().ForUpdate() == "" {
		return // one transaction writes at a time
	}
	if workers = dropEmpty(workers); len(workers) > 0 {
		tx.Queue(lockWorkersSQL, []any{tenant, query.List(workers)}, nil)
	}
	if accounts = dropEmpty(accounts); len(accounts) > 0 {
		tx.Queue(lockAccountsSQL, []any{tenant, query.List(accounts)}, nil)
	}
}

// openSQL selects the open trainings of some people in some courses. $1 tenant, $2 ids
// of courses, $3 of workers, $4 of accounts.
const openSQL = `
	SELECT pending.id, pending.course_id, pending.worker_id, pending.user_id, pending.status, pending.due_on
	FROM training_assignments AS pending
	WHERE pending.tenant_id = $1
		AND pending.course_id IN {ids $2}
		AND pending.status IN ('assigned', 'in_progress', 'failed')
		AND (pending.worker_id IN {ids $3} OR pending.user_id IN {ids $4})
	ORDER BY pending.created_at, pending.id`

// courseCodeSQL selects what a course is called. $1 tenant, $2 its id.
const courseCodeSQL = `
	SELECT code
	FROM courses
	WHERE tenant_id = $1
		AND id = $2`

// openTraining is a training that a person still has to take.
type openTraining struct {
	id, status, due string
	row             int // among the changes, from 1; 0 = it is there already
}

// isOpenStatus reports a training that is neither passed nor closed.
func isOpenStatus(status string) bool {
	return status == statusAssigned || status == statusInProgress || status == statusFailed
}

// isOpened reports a change by which a training is open that was not.
func isOpened(c record.Change[record.TrainingAssignment]) bool {
	wasOpen := c.Op != store.Insert && isOpenStatus(c.Before.Status())
	return isOpenStatus(c.After.Status()) && !wasOpen
}

// holderKeys are the names under which a person has a course: as a worker, and by account.
func holderKeys(ta record.TrainingAssignment) (keys [][2]string) {
	for _, f := range [...]string{workerColumn, userColumn} {
		if id := store.Row(ta).Text(f); id != "" {
			keys = append(keys, [2]string{ta.CourseID(), id})
		}
	}
	return keys
}

// refuseSecondOpen refuses to open a training of a person in a course that the person
// has open already: it is one thing to do, with one last day. Before it looks, it locks
// the people, so that of two requests at once one is refused.
func refuseSecondOpen(tx *store.Tx, changes []store.Change) error {
	var courses, workers, users, accounts []string
	for _, c := range record.Changes[record.TrainingAssignment](changes) {
		if !isOpened(c) {
			continue
		}
		courses = append(courses, c.After.CourseID())
		workers, users = append(workers, c.After.WorkerID()), append(users, c.After.UserID())
		if !c.After.HasWorkerID() {
			accounts = append(accounts, c.After.UserID())
		}
	}
	if len(courses) == 0 {
		return nil
	}
	QueueHolderLocks(tx.Tx, tx.TenantID, workers, accounts)
	open := map[[2]string]openTraining{}
	args := []any{tx.TenantID, query.List(courses), query.List(dropEmpty(workers)), query.List(dropEmpty(users))}
	err := tx.Query(openSQL, args, func(r *db.Row) error {
		found := openTraining{id: r.Text(0), status: r.Text(4), due: r.Text(5)}
		for _, person := range [...]string{r.Text(2), r.Text(3)} {
			if person != "" {
				open[[2]string{r.Text(1), person}] = found
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("training: look for what is open: %w", err)
	}
	return refuseDuplicates(tx, changes, open)
}

// refuseDuplicates holds changes to one open training of a person in a course, those that are
// open already and those of the changes.
func refuseDuplicates(tx *store.Tx, changes []store.Change, open map[[2]string]openTraining) error {
	for i, c := range record.Changes[record.TrainingAssignment](changes) {
		if !isOpened(c) {
			continue
		}
		id := c.After.ID()
		for _, key := range holderKeys(c.After) {
			if found, ok := open[key]; ok && found.id != id {
				return secondOpenError(tx, key[0], found, i+1, len(changes))
			}
		}
		for _, key := range holderKeys(c.After) {
			open[key] = openTraining{id: id, row: i + 1}
		}
	}
	return nil
}

// secondOpenError is the fault of a second open training: which one there is, and its last day.
func secondOpenError(tx *store.Tx, course string, found openTraining, row, of int) error {
	code := ""
	err := tx.Query(courseCodeSQL, []any{tx.TenantID, course}, func(r *db.Row) error {
		code = r.Text(0)
		return nil
	})
	if err != nil {
		return fmt.Errorf("training: read the course: %w", err)
	}
	var refused *fault.Error
	if found.row > 0 {
		refused = safety.NotReady("row %d asks %s of the same person as row %d: one of them is enough", row, code,
			found.row)
	} else {
		refused = safety.NotReady("the person has %s open already (%s, %s): training %s; complete it, "+
			"enter an external certificate on it (issuer and days), or cancel it first",
			code, found.status, dueText(found.due), found.id)
	}
	if of > 1 {
		refused.Details = fmt.Sprintf("row %d", row)
	}
	return refused.At(courseColumn, "is open for the person")
}

// dueText says the last day of an open training.
func dueText(day string) string {
	if on, err := localtime.ParseDate(day); err == nil {
		return "due on " + on.String()
	}
	return "without a last day"
}
