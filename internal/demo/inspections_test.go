package demo

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

func byID(rows []store.Row) map[any]store.Row {
	out := map[any]store.Row{}
	for _, r := range rows {
		out[r["id"]] = r
	}
	return out
}

// Inspections are what the server would have made of them: answers judged by
// the revision of the day, figures that follow from the answers, one published
// revision of a code, and schedules that go on where the runs end.
func TestInspectionsAddUp(t *testing.T) {
	eachTenant(t, func(t *testing.T, p profile, now time.Time, rows records) {
		forms, published := map[any]*checklist.Template{}, map[any]int{}
		for _, r := range rows["checklist_templates"] {
			tpl, err := checklist.Parse(r["sections"].(json.RawMessage))
			if err != nil {
				t.Fatal(err)
			}
			forms[r["id"]] = tpl
			if r["status"] == "published" {
				published[r["code"]]++
			}
		}
		for code, n := range published {
			if n != 1 {
				t.Errorf("%s has %d published revisions", code, n)
			}
		}
		answers := map[any]map[string]json.RawMessage{}
		for _, r := range rows["checklist_answers"] {
			if answers[r["run_id"]] == nil {
				answers[r["run_id"]] = map[string]json.RawMessage{}
			}
			answers[r["run_id"]][r["item_key"].(string)] = r["value"].(json.RawMessage)
		}
		seen, critical := map[string]bool{}, 0
		for _, r := range rows["checklist_runs"] {
			if key := fmt.Sprint(r["schedule_id"], r["due_at"]); seen[key] {
				t.Errorf("two runs of %s at %s", r["title"], r["due_at"])
			} else {
				seen[key] = true
			}
			review := forms[r["template_id"]].Review(answers[r["id"]])
			if r["status"] != "completed" {
				if answers[r["id"]] != nil {
					t.Errorf("a run that is %s has answers", r["status"])
				}
				continue
			}
			if len(review.Missing) > 0 || r["passed"] != review.Passed || r["failed"] != review.Failed ||
				r["passed_weight"] != review.PassedWeight ||
				r["failed_weight"] != review.FailedWeight || r["failed_critical"] != review.FailedCritical ||
				r["score"] != safety.Percent(review.PassedWeight, review.PassedWeight+review.FailedWeight) {
				t.Fatalf("%s of %s: %v, its answers give %+v", r["title"], r["due_at"], r, review)
			}
			critical += int(review.FailedCritical)
		}
		found := 0
		for _, a := range rows["actions"] {
			if a["source"] == "checklist_answer" {
				found++
			}
		}
		if p.id == North && (critical != 2 || found != 2) {
			t.Errorf("%d critical failures with %d actions, the story has 2", critical, found)
		}
		for _, r := range rows["checklist_schedules"] {
			if next, _ := r["next_due_at"].(string); next <= formatMoment(now) || next < r["planned_until"].(string) {
				t.Errorf("%s: next due %s, planned until %s", r["title"], next, r["planned_until"])
			}
		}
	})
}

// Nobody verifies his own work, and nothing serious was closed without an
// investigation and its root cause.
func TestSafetyRulesHold(t *testing.T) {
	eachTenant(t, func(t *testing.T, _ profile, now time.Time, rows records) {
		for _, a := range rows["actions"] {
			if s := a["status"]; (s == "done" || s == "verified") && a["completed_by"] == nil || s == "verified" &&
				(a["verifier_user_id"] == a["completed_by"] || a["verifier_user_id"] == a["assignee_user_id"]) {
				t.Errorf("action %s is %s by %v, verified by %v", a["action_no"], s, a["completed_by"], a["verifier_user_id"])
			}
		}
		for _, in := range rows["incidents"] {
			if in["investigated_at"] != nil && in["status"] == "closed" {
				if list, err := safety.ParseCauses(in["root_causes"].(json.RawMessage)); err != nil || len(list) == 0 {
					t.Errorf("%s was investigated and has no root cause: %v", in["incident_no"], err)
				}
			}
			if serious := grade[in["severity"].(string)] >= 3 || in["potential_severity"] == "critical"; serious &&
				in["status"] == "closed" &&
				in["investigated_at"] == nil {
				t.Errorf("%s was closed without an investigation", in["incident_no"])
			}
		}
		workers, talks, signed := byID(rows["workers"]), byID(rows["toolbox_talks"]), 0
		for _, at := range rows["talk_attendances"] {
			held, ok := talks[at["talk_id"]]["held_at"].(string)
			when, _ := at["signed_at"].(string)
			if !ok || workers[at["worker_id"]] == nil || when != "" && when < held || when > formatMoment(now) {
				t.Errorf("attendance %v of a talk at %s", at, held)
			}
			if when != "" {
				signed++
			}
		}
		if n, m := count(rows["point_events"], "kind", "talk"), count(rows["point_events"], "kind", "suggestion"); n == 0 ||
			m != 2 {
			t.Errorf("%d points for talks, %d for suggestions", n, m)
		}
		if signed < 20 || signed == len(rows["talk_attendances"]) {
			t.Errorf("%d of %d signed: the next talk waits for its signatures", signed, len(rows["talk_attendances"]))
		}
	})
}

// Whatever the day of the week, what inspections found is there to be shown: a
// critical action that is late, and one that was done and verified.
func TestInspectionsTellTheirStory(t *testing.T) {
	for day := range 7 {
		now := time.Date(2026, 11, 16+day, 0, 30, 0, 0, localtime.Zone("Europe/Berlin"))
		late, verified := 0, 0
		for _, a := range made(t, northProfile(), now)["actions"] {
			if a["source"] != "checklist_answer" || a["priority"] != "critical" {
				continue
			}
			if a["status"] == "verified" {
				verified++
			} else if a["due_at"].(string) < formatMoment(now.UTC()) {
				late++
			}
		}
		if late == 0 || verified == 0 {
			t.Errorf("%s: %d late, %d verified", now.Weekday(), late, verified)
		}
	}
}
