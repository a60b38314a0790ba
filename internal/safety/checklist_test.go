package safety_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

const truckItems = `[{"title":"Before use","items":[
	{"key":"brakes","prompt":"Brakes hold","type":"yes_no_na","required":true,"critical":true,"weight":3},
	{"key":"lights","prompt":"Lights","type":"yes_no_na","required":true},
	{"key":"horn","prompt":"Which horn","type":"text","show_when":{"item":"lights","op":"==","value":"no"}},
	{"key":"spill","prompt":"Oil on the floor","type":"yes_no_na","fail_when":{"op":"==","value":"yes"},"on_fail":"incident"}]}]`

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// published is a template that was drafted and published.
func (k *kit) published(code string, more store.Row) string {
	k.Helper()
	row := store.Row{"code": code, "title": "Truck check", "sections": raw(truckItems),
		"applies_to": raw(`["equipment"]`), "kinds": raw(`["forklift"]`)}
	for f, v := range more {
		row[f] = v
	}
	id := k.add("checklist_templates", row)
	k.set("checklist_templates", id, store.Row{"status": "published"})
	return id
}

func (k *kit) names(err error, field string) {
	k.Helper()
	f := fault.As(err)
	if err == nil || f.Kind != fault.Invalid || len(f.Fields) == 0 || f.Fields[0].Name != field {
		k.Errorf("err = %v, want bad input at %s", err, field)
	}
}

// A published template never changes; a new draft of the code takes its place,
// and what is scheduled goes with it.
func TestTemplateRevisions(t *testing.T) {
	each(t, func(k *kit) {
		truck := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift"})
		one := k.published("FLT", nil)
		k.is("checklist_templates", one, "revision", "1")
		k.is("checklist_templates", one, "published_at", noon)
		for _, set := range []store.Row{{"title": "x"}, {"sections": raw(`[]`)}, {"applies_to": raw(`[]`)},
			{"kinds": raw(`[]`)}, {"description": "x"}} {
			k.refused(k.change("checklist_templates", one, set), "HF006")
		}
		k.refused(k.remove("checklist_templates", one), "HF006")
		k.refused(k.change("checklist_templates", one, store.Row{"status": "draft"}), "HF001")
		plan := k.add("checklist_schedules", store.Row{"template_id": one, "equipment_id": truck, "rrule": "FREQ=DAILY",
			"starts_on": "2026-03-01"})

		two := k.add("checklist_templates", store.Row{"code": "flt", "title": "Truck check 2", "sections": raw(truckItems)})
		k.is("checklist_templates", two, "revision", "2")
		k.set("checklist_templates", two, store.Row{"title": "Truck check, again"})
		k.is("checklist_templates", one, "status", "published")
		k.set("checklist_templates", two, store.Row{"status": "published"})
		k.is("checklist_templates", one, "status", "retired")
		k.is("checklist_templates", two, "supersedes_id", one)
		k.is("checklist_schedules", plan, "template_id", two)
		if n := len(k.all("checklist_runs", "template_id = $2 AND title = 'Truck check, again'", two)); n != 7 {
			t.Errorf("%d runs ask the new revision, want 7", n)
		}
		if n := len(k.all("checklist_runs", "template_id = $2", one)); n != 0 {
			t.Errorf("%d runs still ask the old revision", n)
		}
		k.set("checklist_templates", two, store.Row{"status": "retired"})
		k.is("checklist_schedules", plan, "status", "ended")
		if n := len(k.all("checklist_runs", "1 = 1")); n != 0 {
			t.Errorf("%d runs of a template that is no more", n)
		}

		empty := k.add("checklist_templates", store.Row{"code": "NIL", "title": "Nothing"})
		k.refused(k.change("checklist_templates", empty, store.Row{"status": "published"}), "HF006")
		_, err := k.try("checklist_templates", store.Row{"code": "LOOP", "title": "Loop",
			"sections": raw(`[{"title":"","items":[` +
				`{"key":"a","prompt":"A","type":"text","show_when":{"item":"b","op":"answered"}},` +
				`{"key":"b","prompt":"B","type":"text","show_when":{"item":"a","op":"answered"}}]}]`)})
		k.names(err, "sections")
		if !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%v does not name the item", err)
		}
		k.remove("checklist_templates", empty)
		if n := len(k.all("checklist_templates", "lower(code) IN ('nil', 'loop')")); n != 0 {
			t.Error("something was written")
		}
	})
}

// A schedule makes its runs seven days ahead, local to its site, each once,
// however often it is planned.
func TestSchedules(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC)
		site := k.add("sites", store.Row{"code": "HAM", "name": "Hamburg", "timezone": "Europe/Berlin"})
		zone := k.add("zones", store.Row{"code": "A", "name": "A", "site_id": site})
		truck := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift", "zone_id": zone})
		tpl := k.published("FLT", nil)
		plan := k.add("checklist_schedules",
			store.Row{"template_id": tpl, "equipment_id": truck, "rrule": "FREQ=DAILY;BYHOUR=6,14", "grace_minutes": 30,
				"assignee_user_id": ada})
		k.is("checklist_schedules", plan, "timezone", "Europe/Berlin")
		k.is("checklist_schedules", plan, "starts_on", "2026-03-24")
		due := func() string {
			var list []string
			for _, id := range k.all("checklist_runs", "schedule_id = $2 AND status = 'scheduled'", plan) {
				list = append(list, strings.TrimSuffix(k.value("checklist_runs", id, "due_at"), ":00.000000Z"))
			}
			return strings.Join(list, " ")
		}
		// The clocks go forward on the 29th: six in the morning comes an hour sooner.
		week := "2026-03-24T13:00 2026-03-25T05:00 2026-03-25T13:00 2026-03-26T05:00 2026-03-26T13:00 2026-03-27T05:00 2026-03-27T13:00 2026-03-28T05:00 " +
			"2026-03-28T13:00 " +
			"2026-03-29T04:00 2026-03-29T12:00 2026-03-30T04:00 2026-03-30T12:00 2026-03-31T04:00 2026-03-31T12:00"
		if got := due(); got != week {
			t.Errorf("due %s\nwant %s", got, week)
		}
		first := k.all("checklist_runs", "schedule_id = $2", plan)[0]
		for f, want := range map[string]string{"title": "Truck check", "zone_id": zone, "site_id": site,
			"equipment_id": truck, "assignee_user_id": ada,
			"grace_minutes": "30"} {
			k.is("checklist_runs", first, f, want)
		}
		if n := k.plan(); n != 0 || due() != week {
			t.Errorf("planned again: %d schedules, due %s", n, due())
		}
		k.now = k.now.Add(24 * time.Hour)
		if n := k.plan(); n != 1 || due() != week+" 2026-04-01T04:00 2026-04-01T12:00" {
			t.Errorf("a day later: %d schedules, due %s", n, due())
		}

		// A run that was begun stays when the schedule changes; others follow it.
		early := k.only("checklist_runs", "schedule_id = $2 AND due_at = '2026-03-26T05:00:00.000000Z'", plan)
		k.set("checklist_runs", early, store.Row{"status": "in_progress"})
		k.set("checklist_schedules", plan, store.Row{"rrule": "FREQ=WEEKLY;BYDAY=TH,FR;BYHOUR=6"})
		if got := due(); got != "2026-03-24T13:00 2026-03-25T05:00 2026-03-27T05:00" {
			t.Errorf("after the change due %s", got)
		}
		k.is("checklist_runs", early, "status", "in_progress")
		k.set("checklist_schedules", plan, store.Row{"status": "paused"})
		if got := due(); got != "2026-03-24T13:00 2026-03-25T05:00" {
			t.Errorf("paused, but due %s", got)
		}
		k.is("checklist_schedules", plan, "next_due_at", "null")
		k.set("checklist_schedules", plan, store.Row{"status": "active"})
		if got := due(); got != "2026-03-24T13:00 2026-03-25T05:00 2026-03-27T05:00" {
			t.Errorf("resumed, but due %s", got)
		}
		k.set("checklist_schedules", plan, store.Row{"rrule": "FREQ=DAILY;COUNT=3", "starts_on": "2026-03-26"})
		k.is("checklist_schedules", plan, "status", "ended")
		if got := due(); got != "2026-03-24T13:00 2026-03-25T05:00 2026-03-26T07:00 2026-03-27T07:00 2026-03-28T07:00" {
			t.Errorf("three times, but due %s", got)
		}
	})
}

func TestScheduleRefuses(t *testing.T) {
	each(t, func(k *kit) {
		tpl := k.published("FLT", nil)
		truck := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift"})
		belt := k.add("equipment", store.Row{"asset_no": "C1", "kind": "conveyor"})
		draft := k.add("checklist_templates", store.Row{"code": "NEW", "title": "New"})
		for _, c := range []struct {
			field string
			set   store.Row
		}{
			{"rrule", store.Row{"rrule": "FREQ=SECONDLY"}},
			{"rrule", store.Row{"rrule": "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30"}},
			{"rrule", store.Row{"rrule": "whenever"}},
			{"due_time", store.Row{"due_time": "25:00"}},
			{"starts_on", store.Row{"starts_on": "1999-12-31"}},
			{"template_id", store.Row{"template_id": draft}},
			{"equipment_id", store.Row{"equipment_id": nil}},
			{"equipment_id", store.Row{"equipment_id": belt}},
		} {
			row := store.Row{"template_id": tpl, "equipment_id": truck, "rrule": "FREQ=DAILY"}
			for f, v := range c.set {
				row[f] = v
			}
			_, err := k.try("checklist_schedules", row)
			k.names(err, c.field)
		}
		row := store.Row{"template_id": tpl, "equipment_id": truck, "rrule": "FREQ=DAILY"}
		k.as.TenantID = south
		if _, err := k.try("checklist_schedules", row); fault.As(err).Code != "23503" {
			t.Errorf("another tenant's template and truck: %v", err)
		}
		if n := len(k.all("checklist_schedules", "1 = 1")) + len(k.all("checklist_runs", "1 = 1")); n != 0 {
			t.Error("something was written")
		}
	})
}

func (k *kit) run(truck, tpl string) string {
	k.Helper()
	return k.add("checklist_runs", store.Row{"template_id": tpl, "equipment_id": truck, "assignee_user_id": ada})
}

func (k *kit) answer(run, item, value string) (string, error) {
	return k.try("checklist_answers", store.Row{"run_id": run, "item_key": item, "value": raw(value)})
}

func (k *kit) answered(run, item, value string) string {
	k.Helper()
	id, err := k.answer(run, item, value)
	if err != nil {
		k.Fatalf("answer %s %s: %v", item, value, err)
	}
	return id
}

// An inspection from the first answer to its score.
func TestAnswers(t *testing.T) {
	each(t, func(k *kit) {
		truck, tpl := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift"}), k.published("FLT", nil)
		run := k.run(truck, tpl)
		k.is("checklist_runs", run, "title", "Truck check")
		k.is("checklist_runs", run, "due_at", noon)
		k.as.UserID, k.as.Role = ada, actor.Operator

		_, err := k.answer(run, "wheels", `"yes"`)
		k.names(err, "item_key")
		_, err = k.answer(run, "brakes", `"maybe"`)
		k.names(err, "value")
		_, err = k.answer(run, "horn", `"left"`)
		k.names(err, "item_key")
		k.is("checklist_runs", run, "status", "scheduled")

		k.answered(run, "brakes", `"yes"`)
		k.is("checklist_runs", run, "status", "in_progress")
		k.is("checklist_runs", run, "started_at", noon)
		err = k.change("checklist_runs", run, store.Row{"status": "completed"})
		k.refused(err, "HF006")
		if !strings.Contains(err.Error(), "lights") {
			t.Errorf("%v does not name what is missing", err)
		}
		lights := k.answered(run, "lights", `"no"`)
		k.is("checklist_answers", lights, "result", "fail")
		k.is("checklist_answers", lights, "answered_by", ada)
		k.answered(run, "horn", `"left"`)
		if n := len(k.all("actions", "1 = 1")); n != 0 {
			t.Errorf("%d actions for an item that is not critical", n)
		}
		k.set("checklist_runs", run, store.Row{"status": "completed"})
		for f, want := range map[string]string{"score": "75", "passed": "2", "failed": "1", "passed_weight": "3",
			"failed_weight":   "1",
			"failed_critical": "0", "on_time": "null", "completed_by": ada} {
			k.is("checklist_runs", run, f, want)
		}
		k.refused(k.change("checklist_answers", lights, store.Row{"value": raw(`"yes"`)}), "HF006")
		_, err = k.answer(run, "spill", `"no"`)
		k.refused(err, "HF006")
		k.is("equipment", truck, "status", "in_service")

		k.as.UserID, k.as.Role = bo, actor.Driver
		_, err = k.answer(k.run(truck, tpl), "brakes", `"yes"`)
		if err != nil {
			t.Errorf("a driver and the inspection he made himself: %v", err)
		}
		k.as.UserID = ada
		other := k.run(truck, tpl)
		k.set("checklist_runs", other, store.Row{"assignee_user_id": nil})
		k.as.UserID = bo
		_, err = k.answer(other, "brakes", `"yes"`)
		k.refused(err, "23503")
	})
}

// A critical item that fails stops the truck and opens one action at once;
// putting the answer right withdraws the action and leaves the truck to those
// who may release it.
func TestFailedAnswers(t *testing.T) {
	each(t, func(k *kit) {
		site := k.add("sites", store.Row{"code": "HAM", "name": "Hamburg"})
		zone := k.add("zones", store.Row{"code": "A", "name": "A", "site_id": site})
		truck, tpl := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift", "zone_id": zone}),
			k.published("FLT", nil)
		k.add("members", store.Row{"user_id": bo, "email": "bo@x.example", "role": "manager"})
		k.as.UserID, k.as.Role = ada, actor.Operator
		run := k.run(truck, tpl)
		brakes := k.answered(run, "brakes", `"no"`)
		k.is("equipment", truck, "status", "out_of_service")
		ac := k.only("actions", "source = 'checklist_answer' AND source_id = $2", brakes)
		for f, want := range map[string]string{"title": "Truck check: Brakes hold", "priority": "critical", "status": "open",
			"due_on": "2026-03-02",
			"type":   "corrective", "suggested_by": "null", "assignee_user_id": bo} {
			k.is("actions", ac, f, want)
		}
		k.set("checklist_answers", brakes, store.Row{"note": "spongy"})
		k.only("actions", "source_id = $2", brakes)
		k.set("checklist_answers", brakes, store.Row{"value": raw(`"yes"`)})
		k.is("actions", ac, "status", "cancelled")
		k.is("equipment", truck, "status", "out_of_service")

		k.answered(run, "spill", `"yes"`)
		in := k.only("incidents", "1 = 1")
		for f, want := range map[string]string{"kind": "hazard", "severity": "medium", "zone_id": zone, "site_id": site,
			"reported_by": ada,
			"title":       "Truck check: Oil on the floor",
			"entities": fmt.Sprintf(`[{"entity_type":"zone","entity_id":%q,"role":"source"},`+
				`{"entity_type":"equipment","entity_id":%q,"role":"source"}]`, zone, truck)} {
			k.is("incidents", in, f, want)
		}

		van := k.add("vehicles", store.Row{"plate": "HH-X 1"})
		any := k.published("ANY", store.Row{"applies_to": raw(`[]`), "kinds": raw(`[]`)})
		again := k.add("checklist_runs", store.Row{"template_id": any, "vehicle_id": van})
		k.answered(again, "brakes", `"no"`)
		k.is("vehicles", van, "status", "out_of_service")
	})
}

// A talk is signed for once it was held: by the worker himself, now, or with
// the name as he signed it before somebody else.
func TestTalks(t *testing.T) {
	each(t, func(k *kit) {
		worker := k.add("workers", store.Row{"employee_no": "1", "name": "Ada", "user_id": ada})
		k.as.UserID, k.as.Role = bo, actor.Safety
		later := k.add("toolbox_talks", store.Row{"topic": "Forks down", "held_at": "2026-03-02T06:00:00Z"})
		k.is("toolbox_talks", later, "leader_user_id", bo)
		talk := k.add("toolbox_talks", store.Row{"topic": "Horn at the crossing", "held_at": "2026-03-01T06:00:00Z",
			"minutes": 10})
		at := k.add("talk_attendances", store.Row{"talk_id": talk, "worker_id": worker})
		k.refused(k.change("talk_attendances", at, store.Row{"signed_at": noon}), "HF006")
		k.names(k.change("talk_attendances", at, store.Row{"signed_at": "2026-03-01T05:00:00Z", "signature": "Ada"}),
			"signed_at")
		k.names(k.change("talk_attendances", at, store.Row{"signed_at": "2026-03-01T13:00:00Z", "signature": "Ada"}),
			"signed_at")
		if n := len(k.all("point_events", "1 = 1")); n != 0 {
			t.Errorf("%d points before anybody signed", n)
		}

		k.as.UserID, k.as.WorkerID, k.as.Role = ada, worker, actor.Operator
		k.refused(k.change("talk_attendances", k.add("talk_attendances", store.Row{"talk_id": later, "worker_id": worker}),
			store.Row{"signed_at": noon}), "HF006")
		k.set("talk_attendances", at, store.Row{"signed_at": "2026-03-01T08:00:00Z"})
		k.is("talk_attendances", at, "signed_at", noon)
		k.is("talk_attendances", at, "signed_by", ada)
		k.refused(k.change("talk_attendances", at, store.Row{"signed_at": nil}), "HF006")
		k.only("point_events", "kind = 'talk' AND user_id = $2 AND points = 5 AND source_id = $3", ada, at)

		k.as.UserID, k.as.WorkerID, k.as.Role = bo, "", actor.Safety
		guest := k.add("workers", store.Row{"employee_no": "2", "name": "Guest"})
		k.add("talk_attendances", store.Row{"talk_id": talk, "worker_id": guest, "signed_at": "2026-03-01T06:15:00Z",
			"signature": "Guest"})
		k.only("point_events", "1 = 1")
	})
}

// Who proposes an action from the floor has points when it is verified.
func TestSuggestions(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = ada, actor.Operator
		ac := k.add("actions", store.Row{"title": "A mirror at the crossing", "type": "preventive"})
		k.is("actions", ac, "suggested_by", ada)
		k.as.UserID, k.as.Role = bo, actor.Manager
		k.set("actions", ac, store.Row{"assignee_user_id": bo, "status": "done"})
		k.as.UserID = cy
		k.set("actions", ac, store.Row{"status": "verified"})
		k.only("point_events", "kind = 'suggestion' AND user_id = $2 AND points = 15", ada)
	})
}

// An inspection that somebody sets himself earns nothing; one asked for does.
func TestRunPoints(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = ada, actor.Operator
		own := k.add("checklist_runs", store.Row{"title": "Racks"})
		k.set("checklist_runs", own, store.Row{"status": "completed"})
		k.as.UserID = bo
		asked := k.add("checklist_runs", store.Row{"title": "Racks"})
		k.as.UserID = ada
		k.set("checklist_runs", asked, store.Row{"status": "completed"})
		k.only("point_events", "kind = 'checklist' AND source_id = $2", asked)
		if n := len(k.all("point_events", "1 = 1")); n != 1 {
			t.Errorf("%d points, want 1", n)
		}
	})
}

// An inspection without a single answer is not done, though no question wants
// one; with one it is.
func TestInspectionWithoutAnswers(t *testing.T) {
	each(t, func(k *kit) {
		truck := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift"})
		tpl := k.published("FREE", store.Row{"sections": raw(`[{"title":"Look","items":[{"key":"note","prompt":"Seen","type":"text"}]}]`)})
		run := k.run(truck, tpl)
		k.refused(k.change("checklist_runs", run, store.Row{"status": "completed"}), "HF006")
		k.is("checklist_runs", run, "status", "scheduled")
		k.answered(run, "note", `"Clean"`)
		k.set("checklist_runs", run, store.Row{"status": "completed"})
	})
}
