package safety

import (
	"strconv"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
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
	var rows []record.ChecklistSchedule
	for _, c := range record.Changes[record.ChecklistSchedule](changes) {
		if c.Op == store.Insert || changesPlan(c, tx.Now()) {
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
	for _, sc := range rows {
		if t := templates[sc.TemplateID()]; t != nil && sc.Status() != "ended" {
			if err := t.checkFits(store.Row(sc), where); err != nil {
				return err
			}
		}
		sc.SetTimezone(where.timezoneOf(sc))
		if sc.StartsOnOrNull() == nil {
			sc.SetStartsOn(localtime.DateOf(tx.Now(), localtime.Zone(where.timezoneOf(sc))).String())
		}
		if err := resetSchedule(sc, tx.Now()); err != nil {
			return err
		}
	}
	return nil
}

// changesPlan reports a change that makes the runs planned so far wrong. What
// the plan itself writes, which reaches beyond now, is none.
func changesPlan(c record.Change[record.ChecklistSchedule], now time.Time) bool {
	if c.Before.PlannedUntilOrNull() != c.After.PlannedUntilOrNull() && c.After.PlannedUntil() > query.FormatTime(now) {
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
func resetSchedule(sc record.ChecklistSchedule, now time.Time) error {
	rule, err := readRecurrence(sc)
	if err != nil {
		return err
	}
	sc.SetPlannedUntil(query.FormatTime(now))
	sc.ClearNextDueAt()
	if sc.Status() == "active" {
		if next, ok := rule.Next(now); ok {
			sc.SetNextDueAt(query.FormatTime(next))
		}
	}
	return nil
}

// readRecurrence reads a schedule's rule.
func readRecurrence(sc record.ChecklistSchedule) (*checklist.Recurrence, error) {
	day, err := localtime.ParseDate(sc.StartsOn())
	if err != nil || day.Year() < 2000 || day.Year() > 2200 {
		return nil, badRun("starts_on", "must be a day from 2000 on")
	}
	hour, minute, err := checklist.Clock(sc.DueTime())
	if err != nil {
		return nil, badRun("due_time", "must be a time of day, HH:MM")
	}
	first := day.UTC().Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	return checklist.Recur(sc.Rrule(), first, localtime.Zone(sc.Timezone()))
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
	for _, c := range record.Changes[record.ChecklistSchedule](changes) {
		switch {
		case c.Op == store.Insert:
			fresh = append(fresh, c.After.ID())
		case changesPlan(c, tx.Now()):
			stale, fresh = append(stale, c.After.ID()), append(fresh, c.After.ID())
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
	now := tx.Now()
	rows, err := record.List[record.ChecklistSchedule](tx,
		"status = 'active' AND next_due_at <= $2 AND "+where+" ORDER BY id LIMIT "+strconv.Itoa(planPage)+
			tx.DB().ForUpdate(), append([]any{now.Add(PlanAhead)}, args...)...)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	there, err := dueAlready(tx.Tx, tx.TenantID, rows, now.Add(-planBack))
	if err != nil {
		return 0, err
	}
	var runs []record.ChecklistRun
	var kept []record.ChecklistSchedule
	for _, sc := range rows {
		rule, err := readRecurrence(sc)
		if err != nil {
			return 0, err
		}
		from := now.Add(-planBack)
		if until, err := time.Parse(db.TimeLayout, sc.PlannedUntil()); err == nil && until.After(from) {
			from = until
		}
		for _, at := range rule.Between(from, now.Add(PlanAhead)) {
			if run := runOf(sc, at); !there[sc.ID()+run.DueAt()] {
				runs = append(runs, run)
			}
		}
		kept = append(kept, nextSchedule(sc, rule, now))
	}
	if err := InsertRecords(tx, runs); err != nil {
		return 0, err
	}
	return len(rows), tx.UpdateEach("checklist_schedules", record.Rows(kept))
}

const dueAlreadySQL = `
	SELECT schedule_id, due_at
	FROM checklist_runs
	WHERE tenant_id = $1 AND schedule_id IN {ids $2} AND due_at > $3`

// dueAlready is the due times that have a run, by schedule and time: one that
// was begun stays when its schedule is planned anew.
func dueAlready(tx *db.Tx, tenant string, schedules []record.ChecklistSchedule, from time.Time) (map[string]bool,
	error) {
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
func nextSchedule(sc record.ChecklistSchedule, rule *checklist.Recurrence, now time.Time) record.ChecklistSchedule {
	next, ok := rule.Next(now.Add(PlanAhead))
	set := record.ChecklistSchedule{"id": sc.IDOrNull(), "planned_until": query.FormatTime(now.Add(PlanAhead)),
		"next_due_at": nil}
	if ok {
		set.SetNextDueAt(query.FormatTime(next))
	} else {
		set.SetStatus("ended")
	}
	return set
}

func runOf(sc record.ChecklistSchedule, at time.Time) record.ChecklistRun {
	run := record.ChecklistRun{"schedule_id": sc.IDOrNull(), "due_at": query.FormatTime(at),
		"created_by": sc.CreatedByOrNull()}
	for _, f := range [...]string{"template_id", "title", "site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id", "assignee_user_id", "grace_minutes"} {
		if sc[f] != nil {
			run[f] = sc[f]
		}
	}
	return run
}
