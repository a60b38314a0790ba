package safety

import (
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// changeRuns completes what a new inspection is about, stamps its steps, and
// judges it when it is done.
func changeRuns(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.ChecklistRun](changes) {
		if err := setTerms(c, tx.Now()); err != nil {
			return err
		}
	}
	if err := fillInspections(tx, changes); err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	var done []record.ChecklistRun
	for _, c := range record.Changes[record.ChecklistRun](changes) {
		run := c.After
		hasQuestions := run.HasTemplateID()
		if hasQuestions {
			run.SetScoreOrNull(c.Before.ScoreOrNull()) // nil on insert: it follows from the answers
		}
		if Becomes(c.Change, "in_progress") {
			run.SetStartedAt(now)
		} else if Becomes(c.Change, "completed") {
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

func termsOf(run record.ChecklistRun) terms {
	grace := run.GraceMinutes()
	return terms{run.DueAt(), run.DeadlineAt(), grace}
}

// setTerms keeps the last moment that is in time. An inspection for which nobody set a
// due time is due now and has no such moment: a look that nobody asked for is never
// late.
func setTerms(c record.Change[record.ChecklistRun], now time.Time) error {
	before, after := termsOf(c.Before), termsOf(c.After)
	if after.due == "" {
		c.After.SetDueAt(query.FormatTime(now))
		return nil
	}
	if before.due == after.due && (before.grace == after.grace || before.deadline == "") {
		return nil
	}
	due, err := time.Parse(db.TimeLayout, after.due)
	if err != nil {
		return err
	}
	c.After.SetDeadlineAt(query.FormatTime(due.Add(time.Duration(after.grace) * time.Minute)))
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
	var rows []record.ChecklistRun
	for _, c := range record.Changes[record.ChecklistRun](changes) {
		if c.Op == store.Insert || targetMoved(c) {
			rows = append(rows, c.After)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	templates, where, err := readTemplates(tx.Tx, tx.TenantID, record.Rows(rows))
	if err != nil {
		return err
	}
	for _, run := range rows {
		where.fillLocation(run)
		if t := templates[run.TemplateID()]; t != nil {
			if run.TitleOrNull() == nil {
				run.SetTitle(t.title)
			}
			// One that is under way may outlive its template's time.
			if run.Status() == "scheduled" {
				if err := t.checkFits(store.Row(run), where); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func targetMoved(c record.Change[record.ChecklistRun]) bool {
	for _, f := range [...]string{"site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	return false
}

// completeInspection stamps a completed inspection and, where it has a deadline, says
// whether it was in time.
func completeInspection(a actor.Actor, run record.ChecklistRun, now time.Time) {
	if !run.HasStartedAt() {
		run.SetStartedAt(query.FormatTime(now))
	}
	run.SetCompletedAt(query.FormatTime(now))
	run.SetCompletedByOrNull(db.Null(a.UserID))
	if deadline := termsOf(run).deadline; deadline != "" {
		run.SetOnTime(query.FormatTime(now) <= deadline)
	}
}

// judgeCompleted holds completed inspections to their required answers, of which
// there is at least one, and scores them.
func judgeCompleted(tx *db.Tx, tenant string, runs []record.ChecklistRun) error {
	if len(runs) == 0 {
		return nil
	}
	templates := queueTemplates(tx, tenant, distinctIDs(runs, "template_id"))
	answers := queueAnswers(tx, tenant, distinctIDs(runs, "id"))
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, run := range runs {
		t := templates[run.TemplateID()]
		if t == nil {
			continue // the foreign key says so
		}
		tpl, err := t.parseTemplate()
		if err != nil {
			return err
		}
		given := answers[run.ID()]
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

func setScore(run record.ChecklistRun, r *checklist.Review) {
	run.SetPassed(r.Passed)
	run.SetFailed(r.Failed)
	run.SetFailedCritical(r.FailedCritical)
	run.ClearScore()
	run.SetPassedWeight(r.PassedWeight)
	run.SetFailedWeight(r.FailedWeight)
	if all := r.PassedWeight + r.FailedWeight; all > 0 {
		run.SetScore(Percent(r.PassedWeight, all))
	}
}
