package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// course is what completing one depends on.
type course struct {
	months    int64
	pass      decimal.Dec
	marked    bool
	evaluated bool // a certificate needs a practical evaluation
}

// followTraining finds the person's other name, stamps the steps of an
// assignment, holds completion to the
// pass mark, and dates the certificate.
func followTraining(tx *store.Tx, changes []store.Change) error {
	if err := namePeople(tx.Tx, tx.TenantID, changes); err != nil {
		return err
	}
	var ids []string
	for _, c := range changes {
		if err := refuseOwnVerdict(tx.Actor, c); err != nil {
			return err
		}
		if isCompleted(c) || isRedated(c) {
			ids = append(ids, c.After.Text("course_id"))
		}
	}
	list, loc, err := readCourses(tx.Tx, tx.TenantID, ids)
	if err != nil {
		return err
	}
	names, err := readHolderNames(tx, changes)
	if err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	for _, c := range changes {
		ta := c.After
		if err := refuseOwnName(ta, names); err != nil {
			return err
		}
		switch {
		case becomes(c, "in_progress"):
			ta["started_at"] = now
		case (becomes(c, "waived") || becomes(c, "cancelled")) && ta["close_reason"] == nil:
			return notReady("say why the training is %s: close_reason", ta.Text("status"))
		case isCompleted(c):
			if err := completeAssignment(ta, list[ta.Text("course_id")], tx.Now(), loc); err != nil {
				return err
			}
		case isRedated(c):
			if err := dateCertificate(ta, list[ta.Text("course_id")], tx.Now(), loc); err != nil {
				return err
			}
		}
	}
	return nil
}

func isCompleted(c store.Change) bool {
	return becomes(c, "completed") || c.Op == store.Insert && c.After["status"] == "completed"
}

// verdictFields are what a trainer says of a training that was taken.
var verdictFields = [...]string{"result", "completed_at", "trained_on", "trainer", "evaluated_on", "evaluator", "expires_on",
	"certificate_no"}

// refuseOwnVerdict keeps people from completing or waiving their own training
// and from changing its result: the employer certifies it, naming who trained
// and who evaluated (29 CFR 1910.178(l)(6)). It holds for every write of the
// store, whatever it comes from.
func refuseOwnVerdict(a actor.Actor, c store.Change) error {
	if !isHolder(a, c.After) {
		return nil
	}
	if isCompleted(c) || becomes(c, "waived") {
		return ownVerdict("status")
	}
	if c.Op != store.Update {
		return nil
	}
	for _, f := range verdictFields {
		if !store.Same(c.Before[f], c.After[f]) {
			return ownVerdict(f)
		}
	}
	return nil
}

// isHolder reports whether a training is the caller's own, by account or by
// worker.
func isHolder(a actor.Actor, ta store.Row) bool {
	return a.UserID != "" && ta.Text("user_id") == a.UserID ||
		a.WorkerID != "" && ta.Text("worker_id") == a.WorkerID
}

func ownVerdict(field string) error {
	return fault.New(fault.Forbidden, "42501", "nobody completes their own training: another person confirms it").
		At(field, "is another person's to set")
}

const namePeopleSQL = `
	SELECT id, user_id
	FROM workers
	WHERE tenant_id = $1 AND (user_id IN {ids $2} OR id IN {ids $3})`

// namePeople gives new assignments the worker of their account, or the account
// of their worker. The two are one person.
func namePeople(tx *db.Tx, tenant string, changes []store.Change) error {
	var users, workers []string
	for i, c := range changes {
		if c.Op != store.Insert {
			continue
		}
		user, worker := c.After.Text("user_id"), c.After.Text("worker_id")
		if user == "" && worker == "" {
			return notReady("row %d: say whose training it is: user_id or worker_id", i+1)
		}
		users, workers = append(users, user), append(workers, worker)
	}
	if len(users) == 0 {
		return nil
	}
	account, person := map[string]string{}, map[string]string{}
	err := tx.Query(namePeopleSQL,
		[]any{tenant, query.List(dropEmpty(users)), query.List(dropEmpty(workers))}, func(r *db.Row) error {
			account[r.Text(0)] = r.Text(1)
			if !r.Null(1) {
				person[r.Text(1)] = r.Text(0)
			}
			return nil
		})
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Op != store.Insert {
			continue
		}
		user, worker := c.After.Text("user_id"), c.After.Text("worker_id")
		if user != "" && worker != "" && account[worker] != user {
			err := fault.New(fault.Invalid, "22023", "user_id is not the account of the worker").At("user_id", "is another person's")
			if len(changes) > 1 {
				err.Details = fmt.Sprintf("row %d", i+1)
			}
			return err
		}
		if user == "" {
			c.After["user_id"] = db.Null(account[worker])
		}
		if worker == "" {
			c.After["worker_id"] = db.Null(person[user])
		}
	}
	return nil
}

// dropEmpty leaves the empty ones out.
func dropEmpty(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
}

// linkTraining gives the assignments of a worker who has got an account that
// account, and those of the account the worker.
func linkTraining(tx *store.Tx, changes []store.Change) error {
	user, worker := map[string]string{}, map[string]string{} // by the other
	for _, c := range changes {
		if c.After != nil && c.After["user_id"] != nil && (c.Op == store.Insert || c.Before["user_id"] != c.After["user_id"]) {
			user[c.After.Text("id")], worker[c.After.Text("user_id")] = c.After.Text("user_id"), c.After.Text("id")
		}
	}
	if len(user) == 0 {
		return nil
	}
	r, ok := tx.Store.Catalog().Get("training_assignments")
	if !ok {
		return nil
	}
	d := tx.DB()
	unlinked := "((worker_id IS NULL AND " + d.InUUID("user_id", 2) + ") OR (user_id IS NULL AND " + d.InUUID("worker_id", 3) + "))"
	rows, err := tx.Rows(r.Name, unlinked,
		query.List(slices.Sorted(maps.Keys(worker))), query.List(slices.Sorted(maps.Keys(user))))
	if err != nil || len(rows) == 0 {
		return err
	}
	sets := make([]store.Row, len(rows))
	for i, row := range rows {
		if row["worker_id"] == nil {
			sets[i] = store.Row{"id": row["id"], "worker_id": worker[row.Text("user_id")]}
		} else {
			sets[i] = store.Row{"id": row["id"], "user_id": user[row.Text("worker_id")]}
		}
	}
	err = tx.UpdateEach(r.Name, sets)
	return err
}

const readCoursesSQL = `
	SELECT id, validity_months, pass_mark, needs_evaluation FROM courses WHERE tenant_id = $1 AND id IN {ids $2}`

func readCourses(tx *db.Tx, tenant string, ids []string) (map[string]course, *time.Location, error) {
	list, zone := map[string]course{}, "UTC"
	if len(ids) == 0 {
		return list, time.UTC, nil
	}
	tx.Queue(readCoursesSQL, []any{tenant, query.List(ids)},
		func(r *db.Row) error {
			list[r.Text(0)] = course{r.Int(1), r.Dec(2), !r.Null(2), r.Bool(3)}
			return nil
		})
	store.QueueZone(tx, tenant, &zone)
	err := tx.Flush()
	return list, localtime.Zone(zone), err
}

// completeAssignment completes an assignment: a marked course needs its mark.
func completeAssignment(ta store.Row, c course, now time.Time, loc *time.Location) error {
	result, given := ta["result"].(decimal.Dec)
	if c.marked && (!given || result < c.pass) {
		return notReady("the course is passed with %s percent; the result is %v", c.pass, shownMark(given, result))
	}
	if ta["completed_at"] == nil {
		ta["completed_at"] = query.FormatTime(now)
	}
	if err := dateCertificate(ta, c, now, loc); err != nil {
		return err
	}
	if id := ta.Text("id"); ta["certificate_no"] == nil && len(id) == 36 {
		ta["certificate_no"] = "TC-" + strings.ToUpper(id[24:])
	}
	return nil
}

func shownMark(given bool, d decimal.Dec) string {
	if !given {
		return "missing"
	}
	return d.String()
}
