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
	"holdfast/internal/record"
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
	runs      map[string]record.ChecklistRun
	templates map[string]*asked
	answers   map[string]map[string]json.RawMessage
	photos    map[string]string // the inspection of each photo
}

const openSheetsSQL = `
	SELECT id, run_id FROM checklist_photos WHERE tenant_id = $1 AND run_id IN {ids $2}`

// openSheets locks the inspections of answers, so that none is completed
// meanwhile, and reads what they ask.
func openSheets(tx *store.Tx, changes []store.Change) (*sheets, error) {
	var rows []record.ChecklistAnswer
	for _, c := range record.Changes[record.ChecklistAnswer](changes) {
		rows = append(rows, c.After)
	}
	list, err := record.List[record.ChecklistRun](tx, "id IN {ids $2} ORDER BY id {for update}",
		query.List(distinctIDs(rows, "run_id")))
	if err != nil {
		return nil, err
	}
	sh := &sheets{runs: map[string]record.ChecklistRun{}, photos: map[string]string{}}
	for _, run := range list {
		sh.runs[run.ID()] = run
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
func (sh *sheets) templateOf(an record.ChecklistAnswer) (*checklist.Template, error) {
	run := sh.runs[an.RunID()]
	if run == nil {
		return nil, nil
	}
	t := sh.templates[run.TemplateID()]
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
	for _, c := range record.Changes[record.ChecklistAnswer](changes) {
		if err := sh.checkAnswer(tx.Actor, c, query.FormatTime(tx.Now())); err != nil {
			return err
		}
	}
	for _, c := range record.Changes[record.ChecklistAnswer](changes) {
		if err := sh.isAsked(c.After); err != nil {
			return err
		}
	}
	return nil
}

func (sh *sheets) checkAnswer(a actor.Actor, c record.Change[record.ChecklistAnswer], now string) error {
	an := c.After
	tpl, err := sh.templateOf(an)
	if err != nil || tpl == nil {
		return err
	}
	run := sh.runs[an.RunID()]
	switch st := run["status"]; {
	case a.Role == actor.Driver && run["assignee_user_id"] != any(a.UserID) && run["created_by"] != any(a.UserID):
		// An inspection he does not see looks like one there is not.
		return fault.New(fault.Conflict, "23503", "insert or update on table %q violates foreign key constraint %q", "checklist_answers",
			"checklist_answers_run_id_fkey").
			At("run_id", "names no inspection")
	case st != "scheduled" && st != "in_progress":
		return NotReady("the inspection is %s: its answers stay as they are", st)
	}
	it, ok := tpl.Item(an.ItemKey())
	if !ok {
		return fault.New(fault.Invalid, checklist.Code, "item_key names no item of the template").At("item_key", "names no item of the template")
	}
	raw := an.Value()
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
	an.SetResult(string(result))
	an.SetCritical(it.Critical)
	if was := c.Before.Value(); string(was) != string(raw) {
		an.SetAnsweredByOrNull(db.Null(a.UserID))
		an.SetAnsweredAt(now)
	}
	sh.answers[an.RunID()][it.Key] = raw
	return nil
}

// checkPhotos refuses photos that are not the inspection's. What an answer named
// before may have been deleted since.
func (sh *sheets) checkPhotos(c record.Change[record.ChecklistAnswer], it *checklist.Item) error {
	for _, field := range [...]string{"photos", "value"} {
		raw, _ := c.After[field].(json.RawMessage)
		if was, _ := c.Before[field].(json.RawMessage); field == "value" && it.Type != checklist.Photo || string(was) == string(raw) {
			continue
		}
		var ids []string
		_ = json.Unmarshal(raw, &ids) // the store and the item have read it
		for _, id := range ids {
			if run := c.After.RunID(); sh.photos[strings.ToLower(id)] != run {
				return fault.New(fault.Conflict, "23503", "%s names a photo that the inspection does not have", field).
					With("", "upload it to /v1/checklist-runs/"+run+"/photos first").At(field, "names no photo of this inspection")
			}
		}
	}
	return nil
}

// isAsked refuses an answer to an item whose show_when is not met.
func (sh *sheets) isAsked(an record.ChecklistAnswer) error {
	tpl, err := sh.templateOf(an)
	if err != nil || tpl == nil {
		return err
	}
	key := an.ItemKey()
	if !tpl.Review(sh.answers[an.RunID()]).Asked(key) {
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
	var failed []record.ChecklistAnswer
	for _, c := range record.Changes[record.ChecklistAnswer](changes) {
		if run := sh.runs[c.After.RunID()]; run != nil && run.Status() == "scheduled" {
			begun = append(begun, run.ID())
			run["status"] = "in_progress"
		}
		switch was, is := c.Before.Result(), c.After.Result(); {
		case is == "fail" && was != "fail":
			failed = append(failed, c.After)
		case was == "fail" && is != "fail":
			righted = append(righted, c.After.ID())
		}
	}
	if err := record.Update(tx, begun, record.ChecklistRun{"status": "in_progress"}); err != nil {
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
	return record.Update(tx, ids, record.Action{"status": "cancelled", "cancel_reason": "the answer was put right"})
}

// openConsequences opens actions and hazards for failed answers, and takes what
// failed critically out of service.
func (sh *sheets) openConsequences(tx *store.Tx, failed []record.ChecklistAnswer) error {
	if len(failed) == 0 {
		return nil
	}
	today, err := ReadToday(tx.Tx, tx.TenantID, tx.Now())
	if err != nil {
		return err
	}
	var actions []record.Action
	var hazards []record.Incident
	var unsafe []record.ChecklistRun
	for _, an := range failed {
		tpl, err := sh.templateOf(an)
		if err != nil || tpl == nil {
			return err
		}
		it, ok := tpl.Item(an.ItemKey())
		if !ok {
			continue
		}
		run := sh.runs[an.RunID()]
		switch it.Opens() {
		case checklist.OpensAction:
			ac := remedyAction(run, an, it, today)
			if it.Critical {
				keeper, err := findKeeper(tx.Tx, tx.TenantID, run.SiteID())
				if err != nil {
					return err
				}
				ac.SetAssigneeUserIDOrNull(keeper)
			}
			actions = append(actions, ac)
		case checklist.OpensIncident:
			hazards = append(hazards, hazardOf(tx.Actor, run, an, it, query.FormatTime(tx.Now())))
		}
		if it.Critical {
			unsafe = append(unsafe, run)
		}
	}
	if err := InsertRecords(tx, actions); err != nil {
		return err
	}
	if err := InsertRecords(tx, hazards); err != nil {
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
func remedyAction(run record.ChecklistRun, an record.ChecklistAnswer, it *checklist.Item,
	today localtime.Date) record.Action {
	priority, days := "medium", failedDays
	if it.Critical {
		priority, days = "critical", criticalDays
	}
	return record.Action{"title": itemHeadline(run, it), "description": db.Null(an.Note()), "type": "corrective",
		"source": "checklist_answer", "source_id": an.IDOrNull(), "priority": priority,
		"due_on": today.AddDays(days).String()}
}

// hazardOf is the report that a failed answer makes.
func hazardOf(a actor.Actor, run record.ChecklistRun, an record.ChecklistAnswer, it *checklist.Item,
	now string) record.Incident {
	severity := "medium"
	if it.Critical {
		severity = "high"
	}
	list := []Entity{}
	for _, e := range [...]Entity{{"zone", run.ZoneID(), "source"}, {"equipment", run.EquipmentID(), "source"},
		{"worker", run.WorkerID(), "involved"}} {
		if e.ID != "" {
			list = append(list, e)
		}
	}
	return record.Incident{"kind": "hazard", "severity": severity, "title": itemHeadline(run, it),
		"description": db.Null(an.Note()), "occurred_at": now, "reported_by": db.Null(a.UserID),
		"site_id": run.SiteIDOrNull(), "zone_id": run.ZoneIDOrNull(), "entities": list}
}

// itemHeadline names a failed item in one line of at most 200 characters.
func itemHeadline(run record.ChecklistRun, it *checklist.Item) string {
	r := []rune(strings.Join(strings.Fields(run.Title()+": "+it.Prompt), " "))
	return string(r[:min(len(r), 200)])
}

// takeOutOfService takes equipment and vehicles out of service. Who may put them back is
// the state machine's to say.
func takeOutOfService(tx *store.Tx, runs []record.ChecklistRun) error {
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
			err = tx.UpdateRows(x.table, ids, store.Row{"status": "out_of_service"})
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
