package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// templateItem is an item of a template.
func templateItem(key, prompt, kind string, more ...any) map[string]any {
	it := map[string]any{"key": key, "prompt": prompt, "type": kind, "required": kind != "text"}
	for i := 0; i < len(more); i += 2 {
		it[more[i].(string)] = more[i+1]
	}
	return it
}

func templateCondition(op string, value any) map[string]any {
	return map[string]any{"op": op, "value": value}
}

// forms are the templates, oldest revision first.
var forms = []struct {
	code, title string
	day         int // of publication
	applies     []string
	kinds       []string
	items       []map[string]any
}{
	{"FLT-DAILY", "Forklift check before use", -goLive, []string{"equipment"}, []string{"forklift", "reach_truck"},
		[]map[string]any{
			templateItem("brakes", "Brakes and parking brake hold", "yes_no_na", "critical", true, "weight", 3),
			templateItem("steering", "Steering without play", "yes_no_na", "critical", true, "weight", 3),
			templateItem("forks", "Forks and chain undamaged", "yes_no_na", "weight", 2),
			templateItem("horn", "Horn and lights work", "yes_no_na"),
		}},
	{"FLT-DAILY", "Forklift check before use", -60, []string{"equipment"}, []string{"forklift", "reach_truck"},
		[]map[string]any{
			templateItem("brakes", "Brakes and parking brake hold", "yes_no_na", "critical", true, "weight", 3),
			templateItem("steering", "Steering without play", "yes_no_na", "critical", true, "weight", 3),
			templateItem("forks", "Forks and chain undamaged", "yes_no_na", "weight", 2),
			templateItem("horn", "Horn and lights work", "yes_no_na"),
			templateItem("leak", "Oil or battery leak", "choice", "options", []string{"none", "drops", "pool"}, "fail_when",
				templateCondition("!=", "none")),
			templateItem("where", "Where it leaks", "text", "show_when",
				map[string]any{"item": "leak", "op": "!=", "value": "none"}),
			templateItem("charge", "Battery charge", "number", "unit", "%", "fail_when", templateCondition("<", 20)),
		}},
	{"DOCK-ROUND", "Dock round", -goLive, []string{"zone"}, nil, []map[string]any{
		templateItem("floor", "Floor dry and clear", "yes_no_na", "on_fail", "incident"),
		templateItem("leveller", "Levellers move and do not leak", "yes_no_na"),
		templateItem("chocks", "Wheel chocks at every dock", "yes_no_na"),
	}},
	{"RACK-WEEKLY", "Weekly rack inspection", -goLive, []string{"zone"}, nil, []map[string]any{
		templateItem("uprights", "Uprights straight", "yes_no_na", "critical", true, "weight", 3),
		templateItem("beams", "Beams locked", "yes_no_na", "weight", 2),
		templateItem("signs", "Load signs readable", "yes_no_na"),
		templateItem(
			"damage",
			"What is damaged",
			"text",
			"show_when",
			map[string]any{
				"any": []any{map[string]any{"item": "uprights", "op": "==", "value": "no"},
					map[string]any{"item": "beams", "op": "==", "value": "no"}},
			},
		),
	}},
	{"HAZ-WEEKLY", "Weekly round of the hazardous goods store", -goLive, []string{"zone"}, nil, []map[string]any{
		templateItem(
			"apart",
			"Incompatible goods apart",
			"yes_no_na",
			"critical",
			true,
		), templateItem("trays", "Spill trays empty", "yes_no_na"), templateItem("air",
			"Ventilation runs", "yes_no_na"),
	}},
	{"FIRE-EXT", "Fire extinguisher check", -goLive, nil, nil, []map[string]any{
		templateItem(
			"place",
			"In its place and free",
			"yes_no_na",
		), templateItem("seal", "Seal unbroken", "yes_no_na"), templateItem("pressure", "Pressure",
			"number", "unit", "bar", "fail_when", templateCondition("<", 12)),
	}},
	{"EXITS", "Emergency exits and lighting", -goLive, []string{"zone"}, nil, []map[string]any{
		templateItem(
			"free",
			"Exits free",
			"yes_no_na",
		), templateItem("signs", "Signs lit", "yes_no_na"), templateItem("doors", "Doors open outwards", "yes_no_na"),
	}},
}

// form is a template as runs use it.
type form struct {
	id  string
	day int
	tpl *checklist.Template
}

// rounds are the inspections that come back.
var rounds = []struct {
	title, code, zone string
	machine           int // -1 = none
	hour              float64
	grace             int64
	weekday           int // -1 = every working day
}{
	{"Forklift check before use: truck 1", "FLT-DAILY", "RCV", 0, 6.5, 30, -1},
	{"Forklift check before use: truck 2", "FLT-DAILY", "SHP", 1, 6.5, 30,
		-1}, {"Dock round", "DOCK-ROUND", "SHP", -1, 7, 60, -1},
	{"Weekly rack inspection", "RACK-WEEKLY", "BLK", -1, 11, 1440, 2},
	{"Weekly round of the hazardous goods store", "HAZ-WEEKLY", "HAZ", -1, 10, 1440,
		4}, {"Fire extinguisher check", "FIRE-EXT", "HAM1", -1, 15, 2880, 1},
	{"Emergency exits and lighting", "EXITS", "PCK", -1, 16, 1440, 5},
}

// plannedDays are the days after today for which runs exist.
const plannedDays = 3

// writeInspections writes templates, schedules, 90 days of rounds, about 92 in 100
// in time, and the next days' as scheduled.
func (w *workplace) writeInspections() {
	w.forms = map[string][]form{}
	w.writeTemplates()
	schedules := make([]store.Row, len(rounds))
	for i := range rounds {
		if rounds[i].weekday >= 0 || i < w.checklistsPerDay {
			schedules[i] = w.writeSchedule(i)
		}
	}
	for day := -history + 1; day <= plannedDays; day++ {
		for i, c := range rounds {
			if schedules[i] == nil || !w.cal.isWorkingDay(day) || c.weekday >= 0 && int(w.cal.localWeekday(day)) != c.weekday {
				continue
			}
			w.writeInspection(schedules[i], i, day)
		}
	}
}

func (w *workplace) writeTemplates() {
	before := map[string]store.Row{}
	for _, f := range forms {
		made := w.cal.momentAt(f.day-2, 9)
		sections := rawJSON([]any{map[string]any{"title": f.title, "items": f.items}})
		tpl, err := checklist.Parse(sections)
		if err != nil { // only literals of this package come here
			panic(err)
		}
		at := formatMoment(w.cal.momentAt(f.day, 10))
		r := store.Row{"code": f.code, "revision": int64(1), "title": f.title, "applies_to": wordList(f.applies),
			"kinds": wordList(f.kinds), "sections": sections, "status": "published", "published_at": at,
			"created_by": w.userID("safety"), "updated_at": at, "version": int64(2)}
		if old := before[f.code]; old != nil {
			r["revision"], r["supersedes_id"] = old["revision"].(int64)+1, old["id"]
			old["status"], old["updated_at"], old["version"] = "retired", at, int64(3)
		}
		before[f.code] = w.addRecord("checklist_templates", f.day-2, made, r)
		w.forms[f.code] = append(w.forms[f.code], form{r["id"].(string), f.day, tpl})
	}
}

// formOn is the revision of a code that was in use on a day.
func (w *workplace) formOn(code string, day int) form {
	var in form
	for _, f := range w.forms[code] {
		if f.day <= day {
			in = f
		}
	}
	return in
}

// roundHour is when a round is due; those of one morning follow each other.
func roundHour(i int) float64 { return rounds[i].hour + 0.1*float64(i) }

func (w *workplace) writeSchedule(i int) store.Row {
	c := rounds[i]
	zones := w.zonesIn(c.zone)
	if len(zones) == 0 {
		zones = w.tree
	}
	minutes := int(roundHour(i)*60 + 0.5)
	days := "MO,TU,WE,TH,FR"
	if c.weekday >= 0 {
		days = strings.ToUpper(time.Weekday(c.weekday).String()[:2])
	}
	f := w.formOn(c.code, 0)
	r := store.Row{"template_id": f.id, "title": c.title, "zone_id": zones[0].id, "site_id": w.sites[zones[0].site],
		"rrule": "FREQ=WEEKLY;BYDAY=" +
			days, "starts_on": w.cal.localDate(-goLive), "due_time": fmt.Sprintf("%02d:%02d", minutes/60, minutes%60),
		"grace_minutes": c.grace,
		"timezone":      w.timezone, "status": "active", "created_by": w.userID("safety"),
		"planned_until": formatMoment(w.cal.momentAt(plannedDays+1, 0)), "updated_at": formatMoment(w.cal.momentAt(0, 1))}
	if c.machine >= 0 {
		truck := w.rows["equipment"][c.machine]
		r["equipment_id"], r["zone_id"] = truck["id"], truck["zone_id"]
	}
	first := w.cal.momentAt(-goLive, 0).In(w.cal.loc)
	rule, err := checklist.Recur(
		r["rrule"].(string),
		time.Date(first.Year(), first.Month(), first.Day(), minutes/60, minutes%60, 0, 0, time.UTC),
		w.cal.loc,
	)
	if err != nil { // only literals of this package come here
		panic(err)
	}
	if next, ok := rule.Next(w.cal.momentAt(plannedDays+1, 0)); ok {
		r["next_due_at"] = formatMoment(next)
	}
	return w.addRecord("checklist_schedules", -goLive, w.cal.momentAt(-goLive, 11), r)
}

func (w *workplace) writeInspection(sc store.Row, i, day int) {
	f := w.formOn(rounds[i].code, day)
	grace := rounds[i].grace
	due := w.cal.momentAt(day, roundHour(i))
	who := []string{w.userID("operator"), w.userID("safety"), w.userID("manager")}[w.cal.drawBetween(0, 2)]
	r := store.Row{"title": sc["title"], "template_id": f.id, "schedule_id": sc["id"], "site_id": sc["site_id"],
		"zone_id": sc["zone_id"], "equipment_id": sc["equipment_id"], "assignee_user_id": who,
		"due_at": formatMoment(due), "grace_minutes": grace,
		"deadline_at": formatMoment(due.Add(time.Duration(grace) * time.Minute)),
		"status":      "scheduled", "created_by": w.userID("safety")}
	begun := due.Add(-time.Duration(w.cal.drawBetween(10, 40)) * time.Minute)
	fate := w.cal.rng.Float64()
	if day == 0 {
		begun = w.cal.momentAt(0, roundHour(i)-0.5)
	}
	end := w.cal.clipToNow(begun.Add(time.Duration(w.cal.drawBetween(6, 10)) * time.Minute))
	done := false
	told := w.failingItem(r, day) != "" // the story needs it done
	switch {
	case day > 0:
	case fate < 0.035 && day < 0 && !told:
		if gone := due.Add(time.Duration(grace+1) * time.Minute); gone.Before(w.cal.now) {
			r["status"], r["updated_at"] = "missed", formatMoment(gone)
		}
	default:
		if fate < 0.078 && day < 0 {
			// What would be late only today is done in time: today's hour changes no
			// record of other days.
			if late := due.Add(time.Duration(grace+int64(w.cal.drawBetween(15, 300))) * time.Minute); late.Before(
				w.cal.momentAt(0, 0)) {
				end = late
			}
		}
		done = true
		r["status"], r["started_at"], r["completed_at"], r["completed_by"] = "completed", formatMoment(begun),
			formatMoment(end), who
		r["on_time"], r["updated_at"], r["version"] = !end.After(due.Add(time.Duration(grace)*time.Minute)),
			formatMoment(end), int64(3)
	}
	run := w.addRecord("checklist_runs", day-7, w.cal.momentAt(day-7, 5), r)
	if done {
		w.fillAnswers(run, f, day, begun, end)
	}
}

// trouble is what inspections of the story found, by round and the last
// working day before a day back.
var trouble = map[[2]int]string{{1, -12}: "brakes", {3, -7}: "uprights"}

// fillAnswers fills in a completed run. About one in twelve finds something that
// is not critical; the story's troubles are.
func (w *workplace) fillAnswers(run store.Row, f form, day int, begun, end time.Time) {
	wrong := w.failingItem(run, day)
	if wrong == "" && w.cal.drawChance(0.08) {
		wrong = w.minorFlaw(f)
	}
	values := map[string]json.RawMessage{}
	for _, it := range f.tpl.Items() {
		if v := w.answerItem(it, it.Key == wrong); v != nil {
			values[it.Key] = rawJSON(v)
		}
	}
	review := f.tpl.Review(values)
	n := 0
	for _, it := range f.tpl.Items() {
		v := values[it.Key]
		if v == nil || !review.Asked(it.Key) {
			continue
		}
		result, _ := f.tpl.Judge(it, v)
		at := begun.Add(end.Sub(begun) * time.Duration(n+1) / time.Duration(len(values)+1))
		n++
		an := w.addRecord("checklist_answers", day, at,
			store.Row{"run_id": run["id"], "item_key": it.Key, "value": v, "result": string(result), "critical": it.Critical,
				"photos": wordList(nil), "answered_by": run["completed_by"],
				"answered_at": formatMoment(at), "created_by": run["completed_by"]})
		if result == checklist.Fail && it.Opens() == checklist.OpensAction {
			w.writeRemedy(run, an, it, day, at)
		}
	}
	run["passed"], run["failed"], run["failed_critical"] = review.Passed, review.Failed, review.FailedCritical
	run["passed_weight"], run["failed_weight"] = review.PassedWeight, review.FailedWeight
	if all := review.PassedWeight + review.FailedWeight; all > 0 {
		run["score"] = safety.Percent(review.PassedWeight, all)
	}
}

// failingItem is the item of the story that fails in a run.
func (w *workplace) failingItem(run store.Row, day int) string {
	for at, key := range trouble {
		last := at[1]
		for !w.cal.isWorkingDay(last) || rounds[at[0]].weekday >= 0 &&
			int(w.cal.localWeekday(last)) != rounds[at[0]].weekday {
			last--
		}
		if day == last && run["title"] == rounds[at[0]].title {
			return key
		}
	}
	return ""
}

// minorFlaw is an item that is not critical and can fail by itself.
func (w *workplace) minorFlaw(f form) string {
	var keys []string
	for _, it := range f.tpl.Items() {
		if !it.Critical && it.ShowWhen == nil && it.OnFail == "" {
			keys = append(keys, it.Key)
		}
	}
	return pickOne(w.cal, keys)
}

// answerItem is the answer to an item.
func (w *workplace) answerItem(it *checklist.Item, wrong bool) any {
	switch it.Type {
	case checklist.YesNo:
		if wrong {
			return "no"
		}
		return "yes"
	case checklist.Choice:
		if wrong {
			return it.Options[1]
		}
		return it.Options[0]
	case checklist.Number:
		if wrong {
			return w.cal.drawBetween(8, 11)
		}
		return w.cal.drawBetween(45, 98)
	}
	return "Left side, seen on the walk round"
}

// writeRemedy is the action that a critical answer opened: the brakes were repaired
// and that was verified; the rack still waits, and its action is late.
func (w *workplace) writeRemedy(run, an store.Row, it *checklist.Item, day int, at time.Time) {
	r := store.Row{"action_no": w.nextNumber("AC", at), "title": fmt.Sprintf("%s: %s", run["title"], it.Prompt),
		"type": "corrective", "source": "checklist_answer", "source_id": an["id"], "priority": "critical",
		"evidence": rawJSON([]any{}), "created_by": run["completed_by"], "assignee_user_id": w.userID("manager"),
		"control_level": "engineer"}
	w.dueOn(r, day+1)
	r["status"] = "in_progress"
	r["version"], r["updated_at"] = int64(2), formatMoment(w.cal.clipToNow(at.Add(time.Hour)))
	if it.Key == "brakes" {
		done := at.Add(20 * time.Hour)
		r["status"], r["completed_at"], r["completed_by"], r["verified_at"], r["verifier_user_id"] = "verified",
			formatMoment(done),
			w.userID("manager"), formatMoment(done.Add(3*time.Hour)), w.otherUser("safety", w.userID("manager"))
		r["evidence"], r["updated_at"], r["version"] = rawJSON([]any{map[string]any{"kind": "note",
			"text": "Workshop report 4711."}}), formatMoment(done.Add(3*time.Hour)), int64(4)
	}
	w.addRecord("actions", day, at, r)
}
