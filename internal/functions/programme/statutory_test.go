package programme_test

import (
	"encoding/json"
	"testing"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// TRIR and DART of a rule are cases x 200,000 / hours of its window, by zone
// and for the tenant; without hours they are unknown.
func TestRatesOfRules(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		rule := func(code, metric, per string) {
			k.add("regulations", store.Row{"code": code, "title": code, "rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"shifts","absence":"insufficient_data"},"metric":"` + metric +
				`","per":"` + per + `","window_days":90,"warn":{"op":">=","value":1},"breach":{"op":">=","value":30000}}`)})
		}
		rule("TRIR", "trir", "entity")
		rule("TRIR-ALL", "trir", "tenant")
		rule("DART-ALL", "dart", "tenant")
		k.call(compliance, "").find("events", "regulation_code", "TRIR-ALL").is("details.insufficient_data", "true", "value",
			"null")

		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		for i, outcome := range []string{"days_away", "other"} {
			in := k.incident("injury", "high", 10+i, p.dock)
			k.set("incidents", in, store.Row{"zone_id": p.dock})
			k.add("osha_cases", store.Row{"incident_id": in, "site_id": site, "year": 2026, "recordable": "yes",
				"outcome": outcome, "illness_type": "injury"})
		}
		k.shift(p.worker, 3, 10, store.Row{"zone_id": p.dock})
		n := k.call(compliance, "")
		// 2 x 200,000 / 10 and 1 x 200,000 / 10.
		n.find("events", "regulation_code", "TRIR-ALL").is("value", "40000", "status", `"breach"`)
		n.find("events", "regulation_code", "DART-ALL").is("value", "20000", "status", `"warning"`)
		n.find("events", "entity_id", p.dock).is("regulation_code", `"TRIR"`, "value", "40000", "status", `"breach"`)
	})
}

// A person needs the courses of his job title, of the kinds of equipment he had
// shifts with, and of the pieces themselves; the share with a valid certificate
// is his coverage.
func TestTrainingCoverage(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		odd := `R&D 50% "x\y`
		k.set("workers", p.worker, store.Row{"job_title": odd})
		k.set("workers", p.colleague, store.Row{"job_title": "50_%"})
		course := func(code string, words ...string) string {
			raw, err := json.Marshal(append([]string{}, words...))
			if err != nil {
				k.Fatal(err)
			}
			return k.add("courses", store.Row{"code": code, "title": code, "required_for": json.RawMessage(raw)})
		}
		certify := func(course, user string) {
			k.add("training_assignments", store.Row{"course_id": course, "user_id": user, "status": "completed",
				"completed_at": "2026-01-01T12:00:00Z"})
		}
		title := course("TITLE", odd, "50x% of it")
		truck := course("TRUCK", "forklift")
		course("CRANE", "crane")
		own := course("OWN")
		k.set("equipment", p.truck, store.Row{"required_course_id": own})
		k.add("regulations", store.Row{"code": "COVER", "title": "Cover",
			"rule": json.RawMessage(`{"scope":{"entity_types":["worker","driver"]},
				"evidence":{"of":"training_assignments","absence":"insufficient_data"},
				"metric":"training_coverage","window_days":30,"breach":{"op":"<","value":100}}`)})
		certify(title, ada)
		check := func(want map[string]string) {
			k.Helper()
			k.purge("compliance_states")
			n := k.call(compliance, "")
			for entity, v := range want {
				n.find("events", "entity_id", entity).is("value", v)
			}
		}
		check(map[string]string{p.worker: "100", p.colleague: "null", p.driver: "null"})
		k.shift(p.worker, 3, 8, store.Row{"equipment_id": p.truck})
		k.shift(p.colleague, 3, 8, store.Row{"equipment_id": p.truck})
		check(map[string]string{p.worker: "33.3", p.colleague: "0", p.driver: "0"})
		certify(truck, bo)
		check(map[string]string{p.worker: "33.3", p.colleague: "50", p.driver: "50"})
		k.now = k.now.AddDate(0, 0, 40) // long since they drove
		check(map[string]string{p.worker: "100", p.colleague: "null", p.driver: "null"})
	})
}

// A deadline is met when every American establishment has met it; then the
// next one counts. A tenant without a log is not judged.
func TestDeadlines(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
		for code, state := range map[string]string{"POST": "posted", "SUBMIT": "submitted"} {
			due := map[string]string{"posted": "02-01", "submitted": "03-02"}[state]
			k.add("regulations", store.Row{"code": code, "title": code,
				"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
					"evidence":{"of":"osha_summaries","absence":"insufficient_data"},
					"metric":"calendar_deadline","per":"tenant","due":"` + due + `","state":"osha_summary.` +
					state +
					`","warn":{"op":">=","value":-30},"breach":{"op":">","value":0}}`)})
		}
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		k.call(compliance, "").find("events", "regulation_code", "POST").is("details.insufficient_data", "true", "status",
			`"insufficient_data"`)

		sum := k.add("osha_summaries", store.Row{"site_id": site, "year": 2025})
		n := k.call(compliance, "")
		n.find("events", "regulation_code", "POST").is("value", "19", "status", `"breach"`)
		n.find("events", "regulation_code", "SUBMIT").is("value", "-10", "status", `"warning"`)

		k.set("osha_summaries", sum, store.Row{"status": "certified", "posted_from": "2026-02-20"})
		k.set("osha_summaries", sum, store.Row{"status": "submitted"})
		n = k.call(compliance, "")
		n.find("events", "regulation_code", "POST").is("value", "-346", "status", `"compliant"`)
		n.find("events", "regulation_code", "SUBMIT").is("value", "-375", "status", `"compliant"`)

		k.add("sites", store.Row{"code": "US2", "name": "US2", "country": "US"})
		k.call(compliance, "").find("events", "regulation_code", "POST").is("value", "19", "status", `"breach"`)
	})
}

// The delay of the log runs from the report to the day on which the case was
// decided, in calendar days of the tenant, whatever became of the incident; a
// near miss has none.
func TestLogDelay(t *testing.T) {
	each(t, func(k *kit) {
		dock := k.add("zones", store.Row{"code": "DOCK", "name": "Dock"})
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		k.add("regulations", store.Row{"code": "LOG", "title": "Log",
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"log_delay_days","window_days":365,"per":"tenant",` +
				`"warn":{"op":">","value":4},"breach":{"op":">","value":7}}`)})
		report := func(kind, at string) string {
			return k.add("incidents", store.Row{"kind": kind, "title": "Cut", "occurred_at": at, "reported_at": at,
				"zone_id": dock, "reported_by": ada})
		}
		enter := func(incident, at string) {
			k.add("osha_cases", store.Row{"incident_id": incident, "site_id": site, "year": 2026, "recordable": "no",
				"entered_at": at})
		}
		is := func(days, status string) {
			t.Helper()
			k.call(compliance, "").find("events", "regulation_code", "LOG").is("value", days, "status", `"`+status+`"`)
		}
		report("near_miss", "2026-02-01T12:00:00Z")
		is("0", "compliant")
		cut := report("injury", "2026-03-14T12:00:00Z") // six days ago
		k.set("incidents", cut, store.Row{"status": "triaged"})
		is("6", "warning")
		enter(cut, "2026-03-16T12:00:00Z")
		is("2", "compliant")
		// A minute before midnight in Berlin, and a minute past it: 9 days and two minutes.
		enter(report("injury", "2026-03-02T22:59:00Z"), "2026-03-11T23:01:00Z")
		is("10", "breach")
	})
}

// OSHA is told of a death within 8 hours and of in-patient treatment within 24
// after it became known (29 CFR 1904.39(a)); nobody is compliant because a case
// is not decided yet, or because it is long ago.
func TestOSHANotices(t *testing.T) {
	each(t, func(k *kit) {
		dock := k.add("zones", store.Row{"code": "DOCK", "name": "Dock"})
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		abroad := k.add("sites", store.Row{"code": "DE", "name": "DE", "country": "DE"})
		for _, row := range safety.ShippedRegulations(nil) {
			if code := row.Text("code"); code == "US-1904.39-8H" || code == "US-1904.39-24H" {
				k.add("regulations", row)
			}
		}
		report := func(severity, at, where string) string {
			return k.add("incidents", store.Row{"kind": "injury", "severity": severity, "title": "Fall", "occurred_at": at,
				"reported_at": at,
				"zone_id":     dock, "site_id": where, "reported_by": ada})
		}
		is := func(code, hours, status string) {
			t.Helper()
			k.purge("compliance_states")
			k.call(compliance, "").find("events", "regulation_code", code).is("value", hours, "status", `"`+status+`"`)
		}
		const death, treatment = "US-1904.39-8H", "US-1904.39-24H"
		is(death, "null", "insufficient_data")
		is(treatment, "null", "insufficient_data")

		report("critical", "2026-03-20T02:00:00Z", abroad) // ten hours ago
		is(death, "0", "compliant")
		fall := report("critical", "2026-03-20T07:00:00Z", site) // five hours ago, no case
		is(death, "5", "warning")
		is(treatment, "5", "compliant")
		one := k.add("osha_cases", store.Row{"incident_id": fall, "site_id": site, "year": 2026, "recordable": "undecided"})
		is(death, "0", "compliant")

		k.set("osha_cases", one, store.Row{"osha_due_at": "2026-03-20T15:00:00Z", "death_date": "2026-03-20"})
		is(death, "5", "warning")
		is(treatment, "0", "compliant")
		k.now = k.now.Add(4 * time.Hour)
		is(death, "9", "breach")
		k.set("osha_cases", one, store.Row{"osha_told_at": "2026-03-20T06:59:59Z"}) // of something else
		is(death, "9", "breach")
		k.set("osha_cases", one, store.Row{"osha_told_at": "2026-03-20T15:00:00Z"}) // at the line
		is(death, "8", "warning")

		hand := report("low", "2026-03-19T16:00:00Z", site)
		two := k.add("osha_cases", store.Row{"incident_id": hand, "site_id": site, "year": 2026, "recordable": "undecided",
			"amputation":  true,
			"osha_due_at": "2026-03-20T16:00:00Z"})
		is(treatment, "24", "warning")
		k.now = k.now.AddDate(0, 0, 90)
		is(treatment, "2184", "breach")
		is(death, "0", "compliant") // told in time, long ago
		k.set("osha_cases", two, store.Row{"osha_told_at": "2026-03-19T20:00:00Z"})
		is(treatment, "0", "compliant")
	})
}
