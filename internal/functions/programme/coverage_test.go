package programme_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/store"
)

// A rule about a job finds people by what their title means, and by what they
// drove; so do the courses that the job asks for.
func TestJobsByTitleAndWork(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.set("equipment", p.truck, store.Row{"kind": "Reach_Truck"})
		course := k.add("courses", store.Row{"code": "FORK", "title": "Fork",
			"required_for": json.RawMessage(`["Forklift operator"]`)})
		k.add("regulations", store.Row{"code": "L4", "title": "L4", "rule": json.RawMessage(`{
			"scope":{"entity_types":["worker"],"filter":{"job_title":["Forklift operator"]}},
			"evidence":{"of":"training_assignments","absence":"breach"},
			"metric":"training_coverage","window_days":30,"breach":{"op":"<","value":100}}`)})
		verdicts := func(of string) string {
			k.Helper()
			k.purge("compliance_states")
			for _, e := range k.call(compliance, "").at("events").([]any) {
				if e := e.(map[string]any); e["entity_id"] == of {
					return fmt.Sprint(e["status"], " ", e["value"])
				}
			}
			return "nothing"
		}
		want := func(of, what string) {
			k.Helper()
			if got := verdicts(of); got != what {
				k.Errorf("%s of %s, want %s", got, of, what)
			}
		}

		for _, title := range []string{"Forklift operator", "FORKLIFT DRIVER", "Staplerfahrer/in (m/w/d)", "Cariste"} {
			k.set("workers", p.worker, store.Row{"job_title": title})
			want(p.worker, "breach 0")
		}
		k.set("workers", p.worker, store.Row{"job_title": "Fork lift technician"})
		want(p.worker, "nothing")

		k.set("workers", p.colleague, store.Row{"job_title": "Picker"})
		want(p.colleague, "nothing") // never drove
		k.add("shifts", store.Row{"worker_id": p.colleague, "equipment_id": p.truck,
			"started_at": k.now.Add(-time.Hour)})
		want(p.colleague, "breach 0") // drives now
		k.purge("shifts")
		want(p.colleague, "nothing")
		k.shift(p.colleague, 3, 8, store.Row{"equipment_id": p.truck})
		want(p.colleague, "breach 0")
		k.add("training_assignments", store.Row{"course_id": course, "worker_id": p.colleague, "status": "completed",
			"completed_at": "2026-01-01T12:00:00Z"})
		want(p.colleague, "compliant 100")

		k.now = k.now.AddDate(0, 0, 26) // 29 days ago, in the window
		want(p.colleague, "compliant 100")
		k.now = k.now.AddDate(0, 0, 2) // 31 days ago
		want(p.colleague, "nothing")
	})
}

// Each establishment is held to its own number of people: a small one owes nothing
// because another is large.
func TestDeadlinesGoBySite(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		k.add("regulations", store.Row{"code": "ITA", "title": "ITA", "rule": json.RawMessage(`{
			"scope":{"entity_types":["zone"],"filter":{}},
			"evidence":{"of":"osha_summaries","absence":"breach"},
			"metric":"calendar_deadline","per":"tenant","due":"03-02","state":"osha_summary.submitted",
			"breach":{"op":">","value":0},
			"applies_if":[{"fact":"site.avg_employees","op":">=","value":3}]}`)})
		site := func(code, country string, people int) string {
			id := k.add("sites", store.Row{"code": code, "name": code, "country": country})
			for n := range people {
				no := fmt.Sprint(code, n)
				k.add("workers", store.Row{"employee_no": no, "name": no, "site_id": id})
			}
			return id
		}
		verdict := func() node {
			k.purge("compliance_states")
			return k.call(compliance, "").find("events", "regulation_code", "ITA")
		}

		site("DE", "DE", 5)
		small := site("SMALL", "US", 2)
		k.add("osha_summaries", store.Row{"site_id": small, "year": 2025})
		verdict().is("status", `"compliant"`, "details.not_applicable", "true")

		k.add("workers", store.Row{"employee_no": "X", "name": "X", "site_id": small}) // at the line
		verdict().is("status", `"breach"`, "value", "10")

		k.set("workers", k.add("workers", store.Row{"employee_no": "Y", "name": "Y"}), store.Row{"site_id": small})
		verdict().is("status", `"breach"`, "value", "10") // above it
	})
}

// People of no site may be of each, in the count that a rule asks for as in that of an
// establishment; a rule that asks for no count is not decided by one that does.
func TestPeopleOfNoSiteCount(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		const due = `"scope":{"entity_types":["zone"],"filter":{}},
			"evidence":{"of":"osha_summaries","absence":"breach"},
			"metric":"calendar_deadline","per":"tenant","due":"03-02","state":"osha_summary.submitted",
			"breach":{"op":">","value":0}`
		for code, more := range map[string]string{
			"A-LARGE": `,"applies_if":[{"fact":"site.avg_employees","op":">=","value":3}]`, "B-ALL": "",
		} {
			rule := json.RawMessage("{" + due + more + "}")
			k.add("regulations", store.Row{"code": code, "title": code, "rule": rule})
		}
		verdict := func(code string) node {
			k.purge("compliance_states")
			return k.call(compliance, "").find("events", "regulation_code", code)
		}
		small := k.add("sites", store.Row{"code": "SMALL", "name": "SMALL", "country": "US"})
		k.add("osha_summaries", store.Row{"site_id": small, "year": 2025})
		for _, no := range []string{"1", "2"} {
			k.add("workers", store.Row{"employee_no": no, "name": no, "site_id": small})
		}
		verdict("A-LARGE").is("status", `"compliant"`, "details.not_applicable", "true")
		verdict("B-ALL").is("status", `"breach"`, "value", "10")

		k.add("workers", store.Row{"employee_no": "3", "name": "3"})
		verdict("A-LARGE").is("status", `"breach"`, "value", "10")
	})
}
