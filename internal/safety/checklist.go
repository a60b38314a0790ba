package safety

import (
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// changeRuns completes what a new inspection is about, stamps its steps, and
// judges it when it is done.
func changeRuns(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if err := setTerms(c, tx.Now()); err != nil {
			return err
		}
	}
	if err := fillInspections(tx, changes); err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	var done []store.Row
	for _, c := range changes {
		run := c.After
		hasQuestions := run["template_id"] != nil
		if hasQuestions {
			run["score"] = c.Before["score"] // nil on insert: it follows from the answers
		}
		if Becomes(c, "in_progress") {
			run["started_at"] = now
		} else if Becomes(c, "completed") {
			completeInspection(tx.Actor, run, tx.Now())
			if hasQuestions {
				done = append(done, run)
			}
		}
	}
	return judgeCompleted(tx.Tx, tx.TenantID, done)
}

// terms are when an inspection is to be done; empty texts where nobody said so.
type terms struct {
	due, deadline string
	grace         int64
}

func termsOf(run store.Row) terms {
	grace, _ := run["grace_minutes"].(int64)
	return terms{run.Text("due_at"), run.Text("deadline_at"), grace}
}

// setTerms keeps the last moment that is in time. An inspection for which nobody set a
// due time is due now and has no such moment: a look that nobody asked for is never
// late.
func setTerms(c store.Change, now time.Time) error {
	before, after := termsOf(c.Before), termsOf(c.After)
	if after.due == "" {
		c.After["due_at"] = query.FormatTime(now)
		return nil
	}
	if before.due == after.due && (before.grace == after.grace || before.deadline == "") {
		return nil
	}
	due, err := time.Parse(db.TimeLayout, after.due)
	if err != nil {
		return err
	}
	c.After["deadline_at"] = query.FormatTime(due.Add(time.Duration(after.grace) * time.Minute))
	return nil
}

// readTemplates reads the templates of rows, and where their targets are.
func readTemplates(tx *db.Tx, tenant string, rows []store.Row) (map[string]*asked, *whereabouts, error) {
	templates, where := queueTemplates(tx, tenant, distinctIDs(rows, "template_id")), queuePlaces(tx, tenant, rows)
	return templates, where, tx.Flush()
}

// fillInspections fills title, zone and site of new inspections and holds them
// to what their template is for.
func fillInspections(tx *store.Tx, changes []store.Change) error {
	var rows []store.Row
	for _, c := range changes {
		if c.Op == store.Insert || targetMoved(c) {
			rows = append(rows, c.After)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	templates, where, err := readTemplates(tx.Tx, tx.TenantID, rows)
	if err != nil {
		return err
	}
	for _, run := range rows {
		where.fillLocation(run)
		if t := templates[run.Text("template_id")]; t != nil {
			if run["title"] == nil {
				run["title"] = t.title
			}
			// One that is under way may outlive its template's time.
			if run["status"] == "scheduled" {
				if err := t.checkFits(run, where); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func targetMoved(c store.Change) bool {
	for _, f := range [...]string{"site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	return false
}

// completeInspection stamps a completed inspection and, where it has a deadline, says
// whether it was in time.
func completeInspection(a actor.Actor, run store.Row, now time.Time) {
	if run["started_at"] == nil {
		run["started_at"] = query.FormatTime(now)
	}
	run["completed_at"], run["completed_by"] = query.FormatTime(now), db.Null(a.UserID)
	if deadline := termsOf(run).deadline; deadline != "" {
		run["on_time"] = query.FormatTime(now) <= deadline
	}
}

// judgeCompleted holds completed inspections to their required answers, of which
// there is at least one, and scores them.
func judgeCompleted(tx *db.Tx, tenant string, runs []store.Row) error {
	if len(runs) == 0 {
		return nil
	}
	templates := queueTemplates(tx, tenant, distinctIDs(runs, "template_id"))
	answers := queueAnswers(tx, tenant, distinctIDs(runs, "id"))
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, run := range runs {
		t := templates[run.Text("template_id")]
		if t == nil {
			continue // the foreign key says so
		}
		tpl, err := t.parseTemplate()
		if err != nil {
			return err
		}
		given := answers[run.Text("id")]
		r := tpl.Review(given)
		if len(r.Missing) > 0 {
			return NotReady("the inspection lacks answers: %s", strings.Join(r.Missing, ", "))
		}
		if len(given) == 0 {
			return NotReady("the inspection has no answers: nobody has looked")
		}
		setScore(run, r)
	}
	return nil
}

func setScore(run store.Row, r *checklist.Review) {
	run["passed"], run["failed"], run["failed_critical"], run["score"] = r.Passed, r.Failed, r.FailedCritical, nil
	run["passed_weight"], run["failed_weight"] = r.PassedWeight, r.FailedWeight
	if all := r.PassedWeight + r.FailedWeight; all > 0 {
		run["score"] = Percent(r.PassedWeight, all)
	}
}
