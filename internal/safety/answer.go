package safety

import (
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// What a failed item opens is due in days, by whether it is critical.
const (
	criticalDays = 1
	failedDays   = 14
)

const queueAnswersSQL = `
	SELECT run_id, item_key, value
	FROM checklist_answers
	WHERE tenant_id = $1 AND run_id IN {ids $2}`

// queueAnswers asks for the answers of inspections, by run and item; they are
// there after the next flush.
func queueAnswers(tx *db.Tx, tenant string, runs []string) map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for _, id := range runs {
		out[id] = map[string]json.RawMessage{}
	}
	if len(runs) > 0 {
		tx.Queue(queueAnswersSQL, []any{tenant, query.List(runs)}, func(r *db.Row) error {
			out[r.Text(0)][r.Text(1)] = json.RawMessage(r.Text(2))
			return nil
		})
	}
	return out
}

// sheets are the inspections that answers belong to.
type sheets struct {
	runs      map[string]store.Row
	templates map[string]*asked
	answers   map[string]map[string]json.RawMessage
	photos    map[string]string // the inspection of each photo
}

const openSheetsSQL = `
	SELECT id, run_id FROM checklist_photos WHERE tenant_id = $1 AND run_id IN {ids $2}`

// openSheets locks the inspections of answers, so that none is completed
// meanwhile, and reads what they ask.
func openSheets(tx *store.Tx, changes []store.Change) (*sheets, error) {
	var rows []store.Row
	for _, c := range changes {
		rows = append(rows, c.After)
	}
	r, ok := tx.Store.Catalog().Get("checklist_runs")
	if !ok {
		return &sheets{}, nil
	}
	list, err := tx.Rows(r.Name, "id IN {ids $2} ORDER BY id {for update}", query.List(distinctIDs(rows, "run_id")))
	if err != nil {
		return nil, err
	}
	sh := &sheets{runs: map[string]store.Row{}, photos: map[string]string{}}
	for _, run := range list {
		sh.runs[run.Text("id")] = run
	}
	sh.templates = queueTemplates(tx.Tx, tx.TenantID, distinctIDs(list, "template_id"))
	sh.answers = queueAnswers(tx.Tx, tx.TenantID, distinctIDs(list, "id"))
	if len(list) > 0 {
		tx.Queue(openSheetsSQL, []any{tx.TenantID, query.List(distinctIDs(list, "id"))}, func(r *db.Row) error {
			sh.photos[r.Text(0)] = r.Text(1)
			return nil
		})
	}
	return sh, tx.Flush()
}

// templateOf is what the inspection of an answer asks; nil where there is no
// such inspection, which the foreign key says.
func (sh *sheets) templateOf(an store.Row) (*checklist.Template, error) {
	run := sh.runs[an.Text("run_id")]
	if run == nil {
		return nil, nil
	}
	t := sh.templates[run.Text("template_id")]
	if t == nil {
		return nil, badRun("run_id", "names an inspection without questions")
	}
	return t.parseTemplate()
}

// changeAnswers reads answers as their items want them, and judges them.
func changeAnswers(tx *store.Tx, changes []store.Change) error {
	sh, err := openSheets(tx, changes)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := sh.checkAnswer(tx.Actor, c, query.FormatTime(tx.Now())); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if err := sh.isAsked(c.After); err != nil {
			return err
		}
	}
	return nil
}

func (sh *sheets) checkAnswer(a actor.Actor, c store.Change, now string) error {
	an := c.After
	tpl, err := sh.templateOf(an)
	if err != nil || tpl == nil {
		return err
	}
	run := sh.runs[an.Text("run_id")]
	switch st := run["status"]; {
	case a.Role == actor.Driver && run["assignee_user_id"] != any(a.UserID) && run["created_by"] != any(a.UserID):
		// An inspection he does not see looks like one there is not.
		return fault.New(fault.Conflict, "23503", "insert or update on table %q violates foreign key constraint %q", "checklist_answers",
			"checklist_answers_run_id_fkey").
			At("run_id", "names no inspection")
	case st != "scheduled" && st != "in_progress":
		return NotReady("the inspection is %s: its answers stay as they are", st)
	}
	it, ok := tpl.Item(an.Text("item_key"))
	if !ok {
		return fault.New(fault.Invalid, checklist.Code, "item_key names no item of the template").At("item_key", "names no item of the template")
	}
	raw, _ := an["value"].(json.RawMessage)
	if raw == nil {
		return nil // the store names what is missing
	}
	result, ok := tpl.Judge(it, raw)
	if !ok {
		return fault.New(fault.Invalid, checklist.Code, "the answer of item %q %s", it.Key, it.Form()).At("value", "of item %s %s", it.Key, it.Form())
	}
	if err := sh.checkPhotos(c, it); err != nil {
		return err
	}
	an["result"], an["critical"] = string(result), it.Critical
	if was, _ := c.Before["value"].(json.RawMessage); string(was) != string(raw) {
		an["answered_by"], an["answered_at"] = db.Null(a.UserID), now
	}
	sh.answers[an.Text("run_id")][it.Key] = raw
	return nil
}

// checkPhotos refuses photos that are not the inspection's. What an answer named
// before may have been deleted since.
func (sh *sheets) checkPhotos(c store.Change, it *checklist.Item) error {
	for _, field := range [...]string{"photos", "value"} {
		raw, _ := c.After[field].(json.RawMessage)
		if was, _ := c.Before[field].(json.RawMessage); field == "value" && it.Type != checklist.Photo || string(was) == string(raw) {
			continue
		}
		var ids []string
		_ = json.Unmarshal(raw, &ids) // the store and the item have read it
		for _, id := range ids {
			if run := c.After.Text("run_id"); sh.photos[strings.ToLower(id)] != run {
				return fault.New(fault.Conflict, "23503", "%s names a photo that the inspection does not have", field).
					With("", "upload it to /v1/checklist-runs/"+run+"/photos first").At(field, "names no photo of this inspection")
			}
		}
	}
	return nil
}

// isAsked refuses an answer to an item whose show_when is not met.
func (sh *sheets) isAsked(an store.Row) error {
	tpl, err := sh.templateOf(an)
	if err != nil || tpl == nil {
		return err
	}
	key := an.Text("item_key")
	if !tpl.Review(sh.answers[an.Text("run_id")]).Asked(key) {
		return fault.New(fault.Invalid, checklist.Code, "item %q is not asked: its show_when is not met", key).
			At("item_key", "is not asked: the show_when of item %s is not met", key)
	}
	return nil
}

// afterAnswers begins the inspection, and does what a failed answer brings
// about: once for each answer, and taken back when the answer is put right
// before anybody has begun on it.
func afterAnswers(tx *store.Tx, changes []store.Change) error {
	sh, err := openSheets(tx, changes)
	if err != nil {
		return err
	}
	var begun, righted []string
	var failed []store.Row
	for _, c := range changes {
		if run := sh.runs[c.After.Text("run_id")]; run != nil && run["status"] == "scheduled" {
			begun = append(begun, run.Text("id"))
			run["status"] = "in_progress"
		}
		switch was, is := c.Before.Text("result"), c.After.Text("result"); {
		case is == "fail" && was != "fail":
			failed = append(failed, c.After)
		case was == "fail" && is != "fail":
			righted = append(righted, c.After.Text("id"))
		}
	}
	if err := updateRecords(tx, "checklist_runs", begun, store.Row{"status": "in_progress"}); err != nil {
		return err
	}
	if err := cancelActions(tx, righted); err != nil {
		return err
	}
	return sh.openConsequences(tx, failed)
}

const cancelActionsSQL = `
	SELECT id
	FROM actions
	WHERE tenant_id = $1
		AND source = 'checklist_answer'
		AND status = 'open'
		AND source_id IN {ids $2}
	ORDER BY id`

// cancelActions cancels the actions of answers that were put right.
func cancelActions(tx *store.Tx, answers []string) error {
	if len(answers) == 0 {
		return nil
	}
	ids, err := idsOf(tx.Tx, cancelActionsSQL, tx.TenantID, query.List(answers))
	if err != nil {
		return err
	}
	return updateRecords(tx, "actions", ids, store.Row{"status": "cancelled", "cancel_reason": "the answer was put right"})
}

// openConsequences opens actions and hazards for failed answers, and takes what
// failed critically out of service.
func (sh *sheets) openConsequences(tx *store.Tx, failed []store.Row) error {
	if len(failed) == 0 {
		return nil
	}
	today, err := ReadToday(tx.Tx, tx.TenantID, tx.Now())
	if err != nil {
		return err
	}
	var actions, hazards, unsafe []store.Row
	for _, an := range failed {
		tpl, err := sh.templateOf(an)
		if err != nil || tpl == nil {
			return err
		}
		it, ok := tpl.Item(an.Text("item_key"))
		if !ok {
			continue
		}
		run := sh.runs[an.Text("run_id")]
		switch it.Opens() {
		case checklist.OpensAction:
			ac := remedyAction(run, an, it, today)
			if it.Critical {
				if ac["assignee_user_id"], err = findKeeper(tx.Tx, tx.TenantID, run.Text("site_id")); err != nil {
					return err
				}
			}
			actions = append(actions, ac)
		case checklist.OpensIncident:
			hazards = append(hazards, hazardOf(tx.Actor, run, an, it, query.FormatTime(tx.Now())))
		}
		if it.Critical {
			unsafe = append(unsafe, run)
		}
	}
	if err := InsertRecords(tx, "actions", actions); err != nil {
		return err
	}
	if err := InsertRecords(tx, "incidents", hazards); err != nil {
		return err
	}
	return takeOutOfService(tx, unsafe)
}

const findKeeperSQL = `
	SELECT members.user_id
	FROM members
	WHERE members.tenant_id = $1
		AND members.status = 'active'
		AND members.role IN ('safety', 'manager', 'admin', 'owner')
	ORDER BY CASE WHEN EXISTS (SELECT 1
		FROM teams
		WHERE teams.tenant_id = $1
			AND teams.site_id = $2
			AND teams.lead_user_id = members.user_id
			AND teams.archived_at IS NULL) THEN 0 ELSE 1 END, CASE members.role WHEN 'safety' THEN 0 WHEN 'manager'
		THEN 1 WHEN 'admin' THEN 2 ELSE 3 END, members.id
	LIMIT 1`

// findKeeper is the user who sees to what cannot wait: the lead of a team at the site,
// else a safety officer, else who manages the tenant; nil where there is nobody.
func findKeeper(tx *db.Tx, tenant, site string) (user any, err error) {
	err = tx.Query(findKeeperSQL, []any{tenant, db.Null(site)}, func(r *db.Row) error {
		user = r.Text(0)
		return nil
	})
	return user, err
}

// remedyAction is the action that a failed answer opens.
func remedyAction(run, an store.Row, it *checklist.Item, today localtime.Date) store.Row {
	priority, days := "medium", failedDays
	if it.Critical {
		priority, days = "critical", criticalDays
	}
	return store.Row{"title": itemHeadline(run, it), "description": db.Null(an.Text("note")), "type": "corrective", "source": "checklist_answer",
		"source_id": an["id"],
		"priority":  priority, "due_on": today.AddDays(days).String()}
}

// hazardOf is the report that a failed answer makes.
func hazardOf(a actor.Actor, run, an store.Row, it *checklist.Item, now string) store.Row {
	severity := "medium"
	if it.Critical {
		severity = "high"
	}
	list := []Entity{}
	for _, e := range [...]Entity{{"zone", run.Text("zone_id"), "source"}, {"equipment", run.Text("equipment_id"), "source"},
		{"worker", run.Text("worker_id"), "involved"}} {
		if e.ID != "" {
			list = append(list, e)
		}
	}
	return store.Row{"kind": "hazard", "severity": severity, "title": itemHeadline(run, it), "description": db.Null(an.Text("note")), "occurred_at": now,
		"reported_by": db.Null(a.UserID),
		"site_id":     run["site_id"], "zone_id": run["zone_id"], "entities": list}
}

// itemHeadline names a failed item in one line of at most 200 characters.
func itemHeadline(run store.Row, it *checklist.Item) string {
	r := []rune(strings.Join(strings.Fields(run.Text("title")+": "+it.Prompt), " "))
	return string(r[:min(len(r), 200)])
}

// takeOutOfService takes equipment and vehicles out of service. Who may put them back is
// the state machine's to say.
func takeOutOfService(tx *store.Tx, runs []store.Row) error {
	for _, x := range [...]struct{ table, field string }{{"equipment", "equipment_id"}, {"vehicles", "vehicle_id"}} {
		ids := distinctIDs(runs, x.field)
		if len(ids) == 0 {
			continue
		}
		ids, err := idsOf(tx.Tx, db.FillWords(`
			SELECT id
			FROM {table}
			WHERE tenant_id = $1
				AND id IN {ids $2}
				AND status IN ('in_service', 'maintenance')
			ORDER BY id`, "{table}", x.table), tx.TenantID, query.List(ids))
		if err == nil {
			err = updateRecords(tx, x.table, ids, store.Row{"status": "out_of_service"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadToday returns the date where the tenant is.
func ReadToday(tx *db.Tx, tenant string, now time.Time) (localtime.Date, error) {
	zone := ""
	store.QueueZone(tx, tenant, &zone)
	err := tx.Flush()
	return localtime.DateOf(now, localtime.Zone(zone)), err
}
