package safety

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// PlanAhead is how long before they are due the runs of a schedule exist.
const PlanAhead = 7 * 24 * time.Hour

// planBack is how far back due times are planned that nobody planned in time.
const planBack = 24 * time.Hour

// planPage is how many schedules one transaction plans.
const planPage = 100

// changeSchedules checks what a schedule asks for and starts its plan anew
// where that changed.
func changeSchedules(tx *store.Tx, changes []store.Change) error {
	var rows []store.Row
	for _, c := range changes {
		if c.Op == store.Insert || changesPlan(c, tx.Now()) {
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
	for _, sc := range rows {
		if t := templates[sc.Text("template_id")]; t != nil && sc["status"] != "ended" {
			if err := t.checkFits(sc, where); err != nil {
				return err
			}
		}
		sc["timezone"] = where.timezoneOf(sc)
		if sc["starts_on"] == nil {
			sc["starts_on"] = localtime.DateOf(tx.Now(), localtime.Zone(where.timezoneOf(sc))).String()
		}
		if err := resetSchedule(sc, tx.Now()); err != nil {
			return err
		}
	}
	return nil
}

// changesPlan reports a change that makes the runs planned so far wrong. What
// the plan itself writes, which reaches beyond now, is none.
func changesPlan(c store.Change, now time.Time) bool {
	if c.Before["planned_until"] != c.After["planned_until"] && c.After.Text("planned_until") > query.FormatTime(now) {
		return false
	}
	for _, f := range [...]string{"template_id", "title", "site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id", "assignee_user_id", "rrule",
		"starts_on", "due_time", "grace_minutes", "status"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	return false
}

// resetSchedule sets a schedule to where nothing is planned.
func resetSchedule(sc store.Row, now time.Time) error {
	rule, err := readRecurrence(sc)
	if err != nil {
		return err
	}
	sc["planned_until"], sc["next_due_at"] = query.FormatTime(now), nil
	if sc["status"] == "active" {
		if next, ok := rule.Next(now); ok {
			sc["next_due_at"] = query.FormatTime(next)
		}
	}
	return nil
}

// readRecurrence reads a schedule's rule.
func readRecurrence(sc store.Row) (*checklist.Recurrence, error) {
	day, err := localtime.ParseDate(sc.Text("starts_on"))
	if err != nil || day.Year() < 2000 || day.Year() > 2200 {
		return nil, badRun("starts_on", "must be a day from 2000 on")
	}
	hour, minute, err := checklist.Clock(sc.Text("due_time"))
	if err != nil {
		return nil, badRun("due_time", "must be a time of day, HH:MM")
	}
	first := day.UTC().Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	return checklist.Recur(sc.Text("rrule"), first, localtime.Zone(sc.Text("timezone")))
}

const replanSchedulesSQL = `
	SELECT id
	FROM checklist_runs
	WHERE tenant_id = $1 AND schedule_id IN {ids $2} AND status = 'scheduled' AND due_at > $3
	ORDER BY id`

// replanSchedules takes away the runs that a changed schedule no longer wants, those
// nobody has begun, and plans it.
func replanSchedules(tx *store.Tx, changes []store.Change) error {
	var stale, fresh []string
	for _, c := range changes {
		switch {
		case c.Op == store.Insert:
			fresh = append(fresh, c.After.Text("id"))
		case changesPlan(c, tx.Now()):
			stale, fresh = append(stale, c.After.Text("id")), append(fresh, c.After.Text("id"))
		}
	}
	if len(stale) > 0 {
		ids, err := idsOf(tx.Tx, replanSchedulesSQL, tx.TenantID, query.List(stale), tx.Now())
		if err != nil {
			return err
		}
		if r, ok := tx.Store.Catalog().Get("checklist_runs"); ok && len(ids) > 0 {
			if err := tx.DeleteRows(r.Name, ids); err != nil {
				return err
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	_, err := planRuns(tx, tx.DB().InUUID("id", 3), []any{query.List(fresh)})
	return err
}

// PlanSchedules makes the runs that schedules of the actor's tenant owe for
// the next seven days, some schedules at a time, and returns how many schedules
// it planned; 0 means that nothing is owed. It is safe to repeat, also at the
// same time: schedules are locked, and one due time has one run.
func PlanSchedules(tx *store.Tx) (int, error) {
	return planRuns(tx, "1 = 1", nil)
}

func planRuns(tx *store.Tx, where string, args []any) (int, error) {
	schedules, ok := tx.Store.Catalog().Get("checklist_schedules")
	if !ok {
		return 0, nil
	}
	now := tx.Now()
	rows, err := tx.Rows(schedules.Name, "status = 'active' AND next_due_at <= $2 AND "+where+" ORDER BY id LIMIT "+formatInt(planPage)+
		tx.DB().ForUpdate(), append([]any{now.Add(PlanAhead)}, args...)...)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	there, err := dueAlready(tx.Tx, tx.TenantID, rows, now.Add(-planBack))
	if err != nil {
		return 0, err
	}
	var runs, kept []store.Row
	for _, sc := range rows {
		rule, err := readRecurrence(sc)
		if err != nil {
			return 0, err
		}
		from := now.Add(-planBack)
		if until, err := time.Parse(db.TimeLayout, sc.Text("planned_until")); err == nil && until.After(from) {
			from = until
		}
		for _, at := range rule.Between(from, now.Add(PlanAhead)) {
			if run := runOf(sc, at); !there[sc.Text("id")+run.Text("due_at")] {
				runs = append(runs, run)
			}
		}
		kept = append(kept, nextSchedule(sc, rule, now))
	}
	if err := InsertRecords(tx, "checklist_runs", runs); err != nil {
		return 0, err
	}
	err = tx.UpdateEach(schedules.Name, kept)
	return len(rows), err
}

const dueAlreadySQL = `
	SELECT schedule_id, due_at
	FROM checklist_runs
	WHERE tenant_id = $1 AND schedule_id IN {ids $2} AND due_at > $3`

// dueAlready is the due times that have a run, by schedule and time: one that
// was begun stays when its schedule is planned anew.
func dueAlready(tx *db.Tx, tenant string, schedules []store.Row, from time.Time) (map[string]bool, error) {
	there := map[string]bool{}
	err := tx.Query(dueAlreadySQL,
		[]any{tenant, query.List(distinctIDs(schedules, "id")), from}, func(r *db.Row) error {
			there[r.Text(0)+query.FormatTime(r.Time(1))] = true
			return nil
		})
	return there, err
}

// nextSchedule is a schedule after its runs were made; one that is never due again
// ends.
func nextSchedule(sc store.Row, rule *checklist.Recurrence, now time.Time) store.Row {
	next, ok := rule.Next(now.Add(PlanAhead))
	set := store.Row{"id": sc["id"], "planned_until": query.FormatTime(now.Add(PlanAhead)), "next_due_at": nil}
	if ok {
		set["next_due_at"] = query.FormatTime(next)
	} else {
		set["status"] = "ended"
	}
	return set
}

func runOf(sc store.Row, at time.Time) store.Row {
	run := store.Row{"schedule_id": sc["id"], "due_at": query.FormatTime(at), "created_by": sc["created_by"]}
	for _, f := range [...]string{"template_id", "title", "site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id", "assignee_user_id", "grace_minutes"} {
		if sc[f] != nil {
			run[f] = sc[f]
		}
	}
	return run
}
