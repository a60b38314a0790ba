package programme_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

const (
	scores     = "calculate-predictive-safety-scores"
	clusters   = "assign-risk-clusters"
	compliance = "check-compliance-rules"
	training   = "auto-assign-training"
	engagement = "safety-engagement"
)

// place is what the fixture made.
type place struct{ dock, aisle, worker, colleague, driver, truck, team string }

// fill gives the tenant a dock where things happen, a quiet aisle, two workers,
// a driver and a truck. Now is 20 March 2026, 12:00 UTC.
func fill(k *kit) place {
	k.Helper()
	var p place
	p.team = k.add("teams", store.Row{"code": "DAY", "name": "Day"})
	p.dock = k.add("zones", store.Row{"code": "DOCK", "name": "Dock", "kind": "dock"})
	p.aisle = k.add("zones", store.Row{"code": "A1", "name": "Aisle", "kind": "area"})
	p.worker = k.add("workers", store.Row{"employee_no": "1", "name": "Ada", "user_id": ada, "team_id": p.team,
		"job_title": "Loader"})
	p.colleague = k.add("workers", store.Row{"employee_no": "2", "name": "Bo", "user_id": bo, "team_id": p.team})
	p.driver = k.add("drivers", store.Row{"worker_id": p.colleague})
	p.truck = k.add("equipment", store.Row{"asset_no": "T1", "kind": "forklift"})
	for _, u := range []string{ada, bo} {
		k.add("members", store.Row{"user_id": u, "email": u[:8] + u[34:] + "@x.example", "role": "operator"})
	}
	return p
}

// incident reports something n days ago at the dock, about some entities.
func (k *kit) incident(kind, severity string, daysAgo int, zone string, entities ...safety.Entity) string {
	k.Helper()
	for i := range entities { // Ada reports: named without a part, she would only be the reporter
		if entities[i].Role == "" {
			entities[i].Role = "involved"
		}
	}
	raw, err := json.Marshal(append([]safety.Entity{}, entities...))
	if err != nil {
		k.Fatal(err)
	}
	at := k.now.AddDate(0, 0, -daysAgo).Add(-time.Hour)
	row := store.Row{"kind": kind, "severity": severity, "title": kind, "occurred_at": at,
		"reported_at": at.Add(10 * time.Minute),
		"entities":    json.RawMessage(raw), "reported_by": ada}
	if zone != "" {
		row["zone_id"] = zone
	}
	return k.add("incidents", row)
}

// shift enters one closed shift of some hours, n days ago.
func (k *kit) shift(worker string, daysAgo int, hours float64, more store.Row) string {
	k.Helper()
	end := k.now.AddDate(0, 0, -daysAgo).Add(-time.Hour)
	row := store.Row{"worker_id": worker, "started_at": end.Add(-time.Duration(hours * float64(time.Hour))),
		"ended_at": end}
	for n, v := range more {
		row[n] = v
	}
	return k.add("shifts", row)
}

// What scores answer, and worked examples of them: I = 1 with 40 hours a week
// at standard is 26.3, nothing at all is 3.8.
func TestScores(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		// 30 days at 40 hours a week are 171.4286 hours; ten shifts of 17.1429.
		for d := range 10 {
			k.shift(p.worker, 2*d+1, 17.142857, store.Row{"hours": "17.1429", "units_done": "1028.574", "zone_id": p.dock,
				"equipment_id": p.truck})
			k.shift(p.colleague, 2*d+1, 17.142857, store.Row{"hours": "17.1429", "units_done": "1028.574"})
		}
		k.incident("injury", "high", 3, p.dock, safety.Entity{Type: "worker", ID: p.worker, Role: "injured"},
			safety.Entity{Type: "worker", ID: p.worker,
				Role: "witness"})
		k.incident("near_miss", "low", 40, p.dock) // outside the window
		gone := k.incident("injury", "low", 2, p.dock)
		k.set("incidents", gone, store.Row{"status": "void", "void_reason": "twice"})

		n := k.call(scores, "")
		n.is("success", "true", "tenant_id", `"`+north+`"`, "scores_computed", "6", "scores.#", "6",
			"model.weight_incident", "0.45", "model.weight_near_miss", "0.2", "model.weight_shift_hours", "0.2",
			"model.weight_load", "0.15", "model.kind", `"weighted"`)
		w := n.find("scores", "entity_id", p.worker)
		w.is("entity_type", `"worker"`, "score", "26.3", "confidence", "0.52", "cluster", `"Medium"`,
			"inputs", `{"incident_count":1,"near_miss_count":0,"period_days":30,"shift_hours":171.429,"workload":1}`,
			"terms.0", `{"name":"incidents","points":22.5,"value":0.5,"weight":0.45}`, "terms.3",
			`{"name":"load","points":3.75,"value":0.25,"weight":0.15}`)
		n.find("scores", "entity_id", p.colleague).is("score", "3.8")
		n.find("scores", "entity_id", p.driver).is("score", "3.8", "inputs.shift_hours", "171.429")
		n.find("scores", "entity_id", p.dock).is("inputs.incident_count", "1", "inputs.near_miss_count", "0",
			"inputs.shift_hours", "171.429")
		n.find("scores", "entity_id", p.aisle).is("score", "0", "confidence", "0.16", "inputs.workload", "0")
		n.find("scores", "entity_id", p.truck).is("inputs.shift_hours", "171.429")
		if k.count("predictive_scores", "cluster = 'Medium' AND entity_type = 'worker' AND user_id IS NOT NULL") != 1 ||
			k.count("score_runs", "1 = 1") != 4 {
			k.Error("the run was not kept")
		}

		one := k.call(scores, `{"entity_type":"worker","entity_id":"`+p.worker+`","period_days":365}`)
		one.is("scores_computed", "1", "scores.0.entity_id", `"`+p.worker+`"`, "scores.0.inputs.period_days", "365",
			"scores.0.inputs.incident_count", "1")
		k.call(scores, `{"entity_id":"`+p.truck+`"}`).is("scores_computed", "1", "scores.0.entity_type", `"equipment"`)
		if k.count("score_models", "1 = 1") != 1 {
			k.Error("the same settings made a second model")
		}
		k.add("settings", store.Row{"section": "scoring", "key": "weight_load", "value": json.RawMessage("0.333333333")})
		for range 2 {
			k.call(scores, "").is("model.weight_load", "0.3333")
		}
		if k.count("score_models", "1 = 1") != 2 {
			k.Error("a weight of many decimals makes a model at each scoring")
		}
	})
}

// What happens in a bin counts for its aisle and its hall when that is asked
// for, once, whichever model reads it; the bin keeps its own.
func TestScores_placesWithin(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		rack := k.add("zones", store.Row{"code": "A1-R", "name": "Rack", "kind": "rack", "parent_id": p.aisle})
		bin := k.add("zones", store.Row{"code": "A1-R-1", "name": "Bin", "parent_id": rack})
		k.incident("injury", "high", 3, bin, safety.Entity{Type: "zone", ID: p.aisle},
			safety.Entity{Type: "worker", ID: p.worker})
		k.incident("near_miss", "low", 4, rack)
		k.incident("injury", "low", 5, p.aisle)
		k.shift(p.worker, 2, 8, store.Row{"zone_id": bin})
		k.shift(p.colleague, 2, 4, store.Row{"zone_id": p.aisle})
		counts := func(n node, zone, incidents, near, hours string) {
			n.find("scores", "entity_id", zone).is("inputs.incident_count", incidents, "inputs.near_miss_count", near,
				"inputs.shift_hours", hours)
		}
		own := k.call(scores, "")
		counts(own, bin, "1", "0", "8")
		counts(own, rack, "0", "1", "0")
		counts(own, p.aisle, "2", "0", "4")
		k.add("settings", store.Row{"section": "scoring", "key": "score_places_within", "value": json.RawMessage("true")})
		all := k.call(scores, "")
		counts(all, bin, "1", "0", "8")
		counts(all, rack, "1", "1", "8")
		counts(all, p.aisle, "2", "1", "12")
		counts(all, p.dock, "0", "0", "0")
		one := k.call(scores, `{"entity_type":"zone","entity_id":"`+rack+`"}`)
		one.is("scores_computed", "1")
		counts(one, rack, "1", "1", "8")

		k.add("score_models", store.Row{"kind": "eb", "entity_type": "zone", "status": "active", "weight_incident": "0.45",
			"weight_near_miss":   "0.2",
			"weight_shift_hours": "0.2", "weight_load": "0.15",
			"params": json.RawMessage(`{"prior":{"alpha":2,"beta":1,"mean":2}}`)})
		n := k.call(scores, "")
		days3, both := "0.9885140203528962", "1.9694441080218112" // 2^(-3/180), and 2^(-5/180) more
		hours8, hours12 := "0.000039693117850517743", "0.00005953967677577661"
		for zone, want := range map[string][2]string{bin: {days3, hours8}, rack: {days3, hours8}, p.aisle: {both, hours12},
			p.dock: {"0", "0"}} {
			n.find("scores", "entity_id", zone).is("model_kind", `"eb"`, "history.events", want[0], "history.units", want[1])
		}
	})
}

// Near misses alone never leave Low: twenty in thirty days at 40
// hours a week score 23.6.
func TestReportingIsNotPunished(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		for d := range 10 {
			k.shift(p.worker, 2*d+1, 17.142857, store.Row{"hours": "17.1429", "units_done": "1028.574"})
		}
		for range 20 {
			k.incident("near_miss", "low", 5, "", safety.Entity{Type: "worker", ID: p.worker})
		}
		k.call(scores, `{"entity_type":"worker"}`).find("scores", "entity_id", p.worker).is("score", "23.6", "cluster",
			`"Low"`)
	})
}

// What is asked for wrongly is refused by name, and nothing is written.
func TestRefusals(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.as.TenantID = south
		foreign := k.add("zones", store.Row{"code": "S", "name": "South"})
		k.as.TenantID = north
		k.call(scores, "")
		runs := k.count("score_runs", "1 = 1")
		for _, c := range []struct {
			fn, body string
			kind     fault.Kind
			words    string
		}{
			{scores, `{"entity_type":"truck"}`, fault.Invalid, "entity_type"},
			{scores, `{"entity_type":""}`, fault.Invalid, "entity_type"},
			{scores, `{"entity_id":"x"}`, fault.Invalid, "entity_id"},
			{scores, `{"period_days":0}`, fault.Invalid, "period_days"},
			{scores, `{"period_days":366}`, fault.Invalid, "period_days"},
			{scores, `{"period_days":1.5}`, fault.Invalid, "period_days"},
			{scores, `{"period_days":"30"}`, fault.Invalid, "period_days"},
			{scores, `{"entity_id":"` + foreign + `"}`, fault.NotFound, foreign},
			{scores, `{"entity_type":"worker","entity_id":"` + p.dock + `"}`, fault.NotFound, "worker"},
			{clusters, `{"min_score":60,"max_score":50}`, fault.Invalid, "min_score"},
			{clusters, `{"min_score":-1}`, fault.Invalid, "min_score"},
			{clusters, `{"max_score":100.5}`, fault.Invalid, "max_score"},
			{clusters, `{"max_score":"NaN"}`, fault.Invalid, "max_score"},
			{clusters, `{"entity_type":"site"}`, fault.Invalid, "entity_type"},
			{compliance, `{"jurisdiction":"UK"}`, fault.Invalid, "jurisdiction"},
			{compliance, `{"entity_type":"team"}`, fault.Invalid, "entity_type"},
			{compliance, `{"entity_id":"` + foreign + `"}`, fault.NotFound, foreign},
			{training, `{"min_risk_score":101}`, fault.Invalid, "min_risk_score"},
			{training, `{"entity_id":"` + foreign + `"}`, fault.NotFound, foreign},
		} {
			k.refused(c.fn, c.body, c.kind, c.words)
		}
		if n := k.count("score_runs", "1 = 1"); n != runs {
			k.Errorf("%d runs after refusals, were %d", n, runs)
		}
		if k.count("risk_clusters", "1 = 1") != 0 || k.count("compliance_events", "1 = 1") != 0 {
			k.Error("a refused call wrote something")
		}
	})
}

// The same scores give the same set: half-open bands, severity 4 to 1.
func TestClusters(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		for range 4 {
			k.incident("injury", "high", 4, p.dock)
		}
		k.incident("near_miss", "low", 4, p.dock)
		k.call(clusters, "").is("clusters_created", "0", "entities_assigned", "0", "clusters", "[]")
		k.call(scores, "")
		n := k.call(clusters, "")
		n.is("success", "true", "clusters_created", "2", "entities_assigned", "6", "clusters.0.cluster_name", `"Medium"`,
			"clusters.0.severity", "2",
			"clusters.0.entity_count", "1",
			"clusters.1.cluster_name", `"Low"`, "clusters.1.severity", "1", "clusters.1.entity_count", "5")
		if !strings.Contains(n.at("clusters.0.description").(string), "25") {
			k.Errorf("description %v", n.at("clusters.0.description"))
		}
		k.call(clusters, `{"entity_type":"zone","min_score":25,"max_score":100}`).is("clusters_created", "1",
			"entities_assigned", "1")
		if k.count("risk_clusters", "1 = 1") != 2 || k.count("risk_clusters",
			"entity_type = 'zone' AND entity_count = 1") != 1 ||
			k.count("risk_clusters", "entity_type IS NULL AND entity_count = 5") != 1 {
			k.Error("what the filter names was not replaced, or something else was")
		}
		k.add("settings", store.Row{"section": "scoring", "key": "cut_medium", "value": json.RawMessage("60")},
			store.Row{"section": "scoring",
				"key": "cut_high", "value": json.RawMessage("70")})
		k.call(clusters, `{"entity_type":"zone"}`).is("clusters_created", "1", "clusters.0.cluster_name", `"Low"`)
	})
}

// Who moves from one cluster into another is told of, with both; who is new, or
// was not asked for, is not.
func TestMovesBetweenClusters(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.call(scores, "")
		k.call(clusters, "")
		for range 4 {
			k.incident("injury", "high", 4, p.dock, safety.Entity{Type: "worker", ID: p.worker})
		}
		k.add("zones", store.Row{"code": "NEW", "name": "New", "kind": "dock"})
		k.call(scores, "")
		if len(k.moves) != 0 {
			k.Errorf("told of %v before anything moved", k.moves)
		}
		k.call(clusters, "")
		got := map[string]string{}
		for _, m := range k.moves {
			got[m.EntityID] = m.EntityType + " " + m.From + " " + m.To + " " + m.UserID
		}
		want := map[string]string{p.dock: "zone Low Medium ", p.worker: "worker Low Medium " + ada}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			k.Errorf("told of %v, want %v", got, want)
		}
		k.call(clusters, "")
		k.call(clusters, `{"entity_type":"zone"}`)
		if len(k.moves) != 2 {
			k.Errorf("the same scores moved somebody: %v", k.moves)
		}
		k.expectMembership(p.dock, "Medium after Low")
		k.expectMembership(p.worker, "Medium after Low")

		k.now = k.now.AddDate(0, 0, 40) // what happened is over
		k.call(scores, "")
		k.call(clusters, `{"entity_type":"worker"}`)
		k.expectMembership(p.dock, "Medium after Low")
		k.expectMembership(p.worker, "Low after Medium")
		if last := k.moves[len(k.moves)-1]; len(k.moves) != 3 || last.From != "Medium" || last.To != "Low" {
			k.Errorf("told of %v, want the worker's way back", k.moves[2:])
		}
	})
}

// expectMembership holds the cluster that an entity stands in, and the one before, to
// words.
func (k *kit) expectMembership(entity, want string) {
	k.Helper()
	var got []string
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		got = nil
		const clustersSQL = "SELECT cluster_name, members FROM risk_clusters WHERE tenant_id = $1"
		return tx.Query(clustersSQL, []any{k.as.TenantID}, func(r *db.Row) error {
			var members []struct {
				ID       string `json:"entity_id"`
				Previous string
			}
			if err := json.Unmarshal([]byte(r.Text(1)), &members); err != nil {
				return err
			}
			for _, m := range members {
				if m.ID == entity {
					got = append(got, r.Text(0)+" after "+m.Previous)
				}
			}
			return nil
		})
	})
	if err != nil || len(got) != 1 || got[0] != want {
		k.Errorf("%s stands in %q (%v), want %q", entity, got, err, want)
	}
}

// An event at the first check and at each change, none otherwise.
func TestCompliance(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		rule := func(code, jurisdiction, rule string) string {
			return k.add("regulations", store.Row{"code": code, "title": code, "jurisdiction": jurisdiction,
				"rule": json.RawMessage(rule)})
		}
		dock := rule("INJ", "US", `{"scope":{"entity_types":["zone"],"filter":{"kind":["injury"]}},
			"evidence":{"of":"incidents","absence":"insufficient_data"},
			"metric":"incident_count","window_days":90,`+
			`"warn":{"op":">=","value":1},"breach":{"op":">=","value":3}}`)
		rule("WEEK", "EU", `{"scope":{"entity_types":["worker"]},
			"evidence":{"of":"shifts","absence":"insufficient_data"},
			"metric":"weekly_hours_max","window_days":30,"breach":{"op":">","value":48}}`)
		rule("REST", "EU", `{"scope":{"entity_types":["worker"]},
			"evidence":{"of":"shifts","absence":"insufficient_data"},
			"metric":"rest_hours_min","window_days":14,"breach":{"op":"<","value":11}}`)
		rule("LATE", "Global", `{"scope":{"entity_types":["zone"],"filter":{"severity_min":"critical"}},`+
			`"evidence":{"of":"actions","absence":"insufficient_data"},`+
			`"metric":"overdue_actions","per":"tenant","breach":{"op":">=","value":1}}`)
		k.incident("injury", "high", 10, p.dock)
		k.shift(p.worker, 3, 10, nil)
		late := k.add("actions", store.Row{"title": "x", "priority": "critical", "due_at": k.now.Add(-time.Hour)})

		n := k.call(compliance, "")
		n.is("success", "true", "summary.total_regulations", "4", "summary.compliant_count", "0",
			"summary.warning_count", "1", "summary.breach_count", "1",
			"summary.insufficient_count", "2", "summary.waived_count", "0",
			"summary.last_check", `"2026-03-20T12:00:00.000000Z"`, "events_created", "7", "events.#", "7")
		warned := n.find("events", "status", "warning")
		warned.is("entity_id", `"`+p.dock+`"`, "regulation_id", `"`+dock+`"`, "entity_type", `"zone"`, "value", "1",
			"threshold", "1", "previous_status", "null")
		n.find("events", "status", "breach").is("regulation_code", `"LATE"`, "entity_type", `"zone"`, "value", "1")
		n.find("events", "entity_id", p.colleague).is("details.insufficient_data", "true", "value", "null", "status",
			`"insufficient_data"`)
		k.call(compliance, "").is("events_created", "0", "events", "[]", "summary.breach_count", "1")

		k.set("actions", late, store.Row{"status": "cancelled", "cancel_reason": "gone"})
		for d := range 5 {
			k.shift(p.colleague, d, 10.5, nil) // Monday to Friday
		}
		n = k.call(compliance, "")
		n.is("events_created", "3", "summary.breach_count", "1")
		n.find("events", "regulation_code", "LATE").is("status", `"compliant"`, "previous_status", `"breach"`)
		n.find("events", "regulation_code", "REST").is("status", `"compliant"`, "previous_status", `"insufficient_data"`)
		n.find("events", "regulation_code", "WEEK").is("entity_id", `"`+p.colleague+`"`, "value", "52.5")

		if got := fmt.Sprint(k.told); got != "[compliance_events warning compliance_events breach compliance_events compliant compliance_events compliant "+
			"compliance_events breach]" {
			k.Errorf("told %s", got)
		}

		k.call(compliance, `{"jurisdiction":"EU"}`).is("summary.total_regulations", "2")
		k.call(compliance, `{"entity_type":"zone"}`).is("summary.total_regulations", "2")
		k.call(compliance, `{"entity_type":"worker","entity_id":"`+p.worker+`"}`).is("summary.total_regulations", "2",
			"summary.compliant_count", "1",
			"summary.insufficient_count", "1", "events_created", "0")
	})
}

// seed gives the tenant the shipped regulations and badges.
func (k *kit) seed() {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
	})
	if err != nil {
		k.Fatal(explain(err))
	}
}

// The shipped regulations can all be evaluated, and a waiver keeps an entity
// out of the summary's worst, counted apart.
func TestShippedRegulations(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.seed()
		k.seed()
		if k.count("regulations", "status = 'active'") != 20 || k.count("badges", "1 = 1") != 5 {
			k.Error("the shipped set is not complete, or twice there")
		}
		k.incident("injury", "critical", 10, p.dock) // still not triaged
		k.call(scores, "")
		n := k.call(compliance, "")
		// OSHA was not told either, the truck and the extinguishers were never examined.
		n.is("summary.total_regulations", "20", "summary.breach_count", "5")
		n.find("events", "regulation_code", "US-1904.29").is("status", `"breach"`, "value", "10")
		// The directive names no period: its list is late, and no breach for it.
		n.find("events", "regulation_code", "EU-89-391-9").is("status", `"warning"`, "value", "10")
		n.find("events", "regulation_code", "US-1910.178-Q7").is("status", `"breach"`, "value", "null",
			"details.never_recorded", "true")
		breach := n.find("events", "regulation_code", "US-1904.29").at("id").(string)
		k.waive(breach, k.now.AddDate(0, 0, 10))
		kept := n.at("summary.compliant_count").(float64)
		n = k.call(compliance, "")
		n.is("summary.breach_count", "4", "summary.waived_count", "1", "events_created", "0")
		if n.at("summary.compliant_count") != kept {
			k.Error("the waived regulation counts as kept")
		}
		k.now = k.now.AddDate(0, 0, 11)
		k.call(compliance, "").is("summary.waived_count", "0")
	})
}

// waive acknowledges a verdict as one person and waives it as another.
func (k *kit) waive(event string, until time.Time) {
	k.Helper()
	me := k.as.UserID
	k.as.UserID = ada
	k.set("compliance_events", event, store.Row{"acknowledged_at": k.now})
	k.as.UserID = bo
	k.set("compliance_events", event, store.Row{"waived_until": until, "waive_reason": "known"})
	k.as.UserID = me
}

// A waiver has an end within the longest term, a reason and two people, and what
// is refused changes nothing; each step stands in the audit log.
func TestWaivers(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.add("regulations", store.Row{"code": "INJ", "title": "INJ",
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">=","value":1}}`)})
		k.incident("injury", "high", 10, p.dock)
		event := k.call(compliance, "").find("events", "entity_id", p.dock).at("id").(string)

		refused := func(kind fault.Kind, field string, set store.Row) {
			t.Helper()
			err := k.change("compliance_events", event, set)
			if f := fault.As(err); err == nil || f.Kind != kind || len(f.Fields) == 0 || f.Fields[0].Name != field {
				t.Errorf("%v: %v, want a fault at %s", set, err, field)
			}
			k.call(compliance, "").is("summary.breach_count", "1", "summary.waived_count", "0")
		}
		waived := func(until string) store.Row { return store.Row{"waived_until": until, "waive_reason": "x"} }
		const longest = "2027-03-20T22:59:59.999999Z" // the end of the day in Berlin

		k.as.UserID = bo
		refused(fault.Conflict, "acknowledged_at", waived(longest))
		refused(fault.Conflict, "waive_reason", store.Row{"waived_until": longest})
		refused(fault.Invalid, "waived_until", store.Row{"waive_reason": "x"})
		refused(fault.Invalid, "waived_until", waived("2026-03-20T12:00:00Z"))
		refused(fault.Invalid, "waived_until", waived("2027-03-20T23:00:00Z"))
		k.as.UserID = ada
		k.set("compliance_events", event, store.Row{"acknowledged_at": k.now})
		refused(fault.Forbidden, "waived_until", waived(longest))
		k.as.UserID = ""
		refused(fault.Forbidden, "waived_until", waived(longest))

		k.as.UserID = bo
		k.set("compliance_events", event, waived(longest))
		k.call(compliance, "").is("summary.breach_count", "0", "summary.waived_count", "1", "summary.compliant_count", "0")
		if n := k.count("audit", "entity_id = '"+event+"'"); n != 2 {
			t.Errorf("%d entries of the audit log, want one of each person", n)
		}
		k.set("compliance_events", event, store.Row{"waived_until": nil, "waive_reason": nil})
		k.add("settings", store.Row{"section": "safety", "key": "waiver_months", "value": json.RawMessage("1")})
		refused(fault.Invalid, "waived_until", waived("2026-04-20T22:00:00Z"))
		k.set("compliance_events", event, waived("2026-04-20T21:59:59Z"))
	})
}

// A new tenant keeps no duty: nothing is on record that could say so.
func TestNewTenant(t *testing.T) {
	each(t, func(k *kit) {
		k.seed()
		all := func(unknown, broken string) {
			t.Helper()
			k.call(compliance, "").is("summary.total_regulations", "20", "summary.compliant_count", "0",
				"summary.warning_count", "0",
				"summary.insufficient_count", unknown, "summary.breach_count", broken)
		}
		all("20", "0")
		zone := k.add("zones", store.Row{"code": "HALL", "name": "Hall", "kind": "area"})
		all("19", "1") // the extinguishers were never inspected
		truck := k.add("equipment", store.Row{"asset_no": "T1", "kind": "forklift"})
		all("18", "2")
		k.add("workers", store.Row{"employee_no": "1", "name": "Ada", "job_title": "Forklift operator"})
		n := k.call(compliance, "")
		n.find("events", "regulation_code", "US-1910.178-L4").is("status", `"breach"`, "details.never_recorded", "true")
		n.is("summary.breach_count", "3", "summary.compliant_count", "1") // too small for the annual summary

		for no := range 20 {
			k.add("workers", store.Row{"employee_no": fmt.Sprint("W", no), "name": "Bo"})
		}
		// Who submits electronically is not known of a tenant without an establishment.
		k.call(compliance, "").is("summary.breach_count", "4", "summary.compliant_count", "0")
		for _, target := range []store.Row{{"zone_id": zone, "title": "Extinguisher"},
			{"equipment_id": truck, "title": "Truck"}} {
			target["score"] = "100"
			k.set("checklist_runs", k.add("checklist_runs", target), store.Row{"status": "completed"})
		}
		k.call(compliance, "").is("summary.breach_count", "2", "summary.compliant_count", "3")
	})
}

// A rule that could not be evaluated is refused when it is written.
func TestRulesAreChecked(t *testing.T) {
	each(t, func(k *kit) {
		for words, rule := range map[string]string{
			"unknown metric": `{"scope":{"entity_types":["zone"]},"metric":"incidentcount","breach":{"op":">","value":1}}`,
			"did you mean":   `{"scope":{"entity_types":["zone"]},"metric":"incident_counts","breach":{"op":">","value":1}}`,
			"entity_types": `{
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":1}}`,
			`"truck"`: `{"scope":{"entity_types":["truck"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":1}}`,
			"for entity type": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"shifts","absence":"insufficient_data"},
				"metric":"rest_hours_min","breach":{"op":"<","value":1}}`,
			"window_days": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","window_days":-1,"breach":{"op":">","value":1}}`,
			"breach.value cannot be string": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":"NaN"}}`,
			"a number is out of range": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":1e999}}`,
			"operator": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":"=>","value":1}}`,
			"needs evidence": `{"scope":{"entity_types":["zone"]},"metric":"incident_count","breach":{"op":">","value":1}}`,
			"decided by incidents": `{"scope":{"entity_types":["zone"]},"evidence":{"of":"shifts","absence":"breach"},
				"metric":"incident_count","breach":{"op":">","value":1}}`,
			"evidence.absence": `{"scope":{"entity_types":["zone"]},"evidence":{"of":"incidents","absence":"compliant"},
				"metric":"incident_count","breach":{"op":">","value":1}}`,
			"warn or breach": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count"}`,
			"unknown fact": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count",` +
				`"breach":{"op":">","value":1},"applies_if":[{"fact":"moon","op":">","value":1}]}`,
			"unknown incident kind": `{"scope":{"entity_types":["zone"],"filter":{"kind":["oops"]}},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":1}}`,
			"cannot be read": `{"metrics":"incident_count"}`,
			"due (MM-DD)": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"osha_summaries","absence":"insufficient_data"},
				"metric":"calendar_deadline","breach":{"op":">","value":1}}`,
			"for incident_count and": `{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
				"metric":"predictive_score","normalize":"per_200k_hours",` +
				`"breach":{"op":">","value":1}}`,
		} {
			_, err := k.try("regulations", store.Row{"code": "X", "title": "X", "rule": json.RawMessage(rule)})
			if !fault.Is(err, fault.Invalid) || !strings.Contains(fmt.Sprint(err), words) {
				k.Errorf("%s: %v, want Invalid naming %q", rule, err, words)
			}
		}
		if k.count("regulations", "1 = 1") != 0 {
			k.Error("a refused rule was written")
		}
	})
}

// Every worker whom a score reaches is named, with an account and without, or it
// is said why there is no course; who may not see scores is not told whom they
// reach.
func TestTrainingNamesEverybody(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		course := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting", "risk_threshold": "25",
			"validity_months": 12})
		bare := k.add("workers", store.Row{"employee_no": "3", "name": "Cy"})
		gone := k.add("workers", store.Row{"employee_no": "4", "name": "Di"})
		trained := k.add("workers", store.Row{"employee_no": "5", "name": "El"})
		k.add("training_assignments", store.Row{"course_id": course, "worker_id": trained, "status": "completed",
			"completed_at": "2026-03-01T12:00:00Z"})
		for range 4 {
			k.incident("injury", "high", 4, p.dock)
		}
		for _, w := range []string{p.worker, bare, gone, trained} {
			k.shift(w, 3, 8, store.Row{"zone_id": p.dock})
		}
		k.set("workers", gone, store.Row{"status": "left"})
		k.call(scores, "")

		told := len(k.told)
		look := k.call(training, `{"entity_type":"zone","dry_run":true}`)
		look.is("dry_run", "true", "assignments_created", "0", "assignments.#", "2", "skipped.#", "2",
			"assignments.0.worker_id", `"`+p.worker+`"`, "assignments.1.worker_id", `"`+bare+`"`)
		if k.count("training_assignments", "1 = 1") != 1 || len(k.told) != told {
			t.Error("a dry run assigned something, or told of it")
		}

		n := k.call(training, `{"entity_type":"zone"}`)
		n.is("assignments_created", "2", "assignments.0.worker_id", `"`+p.worker+`"`, "assignments.0.user_id", `"`+ada+`"`,
			"assignments.1.worker_id", `"`+bare+`"`, "assignments.1.user_id", "null", "skipped.#", "2")
		n.find("skipped", "worker_id", gone).is("reason", `"left"`, "course_id", `"`+course+`"`)
		n.find("skipped", "worker_id", trained).is("reason", `"valid"`)
		if k.count("training_assignments", "worker_id = '"+bare+"' AND user_id IS NULL") != 1 {
			t.Error("the worker without an account got no course")
		}
		again := k.call(training, `{"entity_type":"zone"}`)
		again.is("assignments_created", "0", "skipped.#", "4")
		again.find("skipped", "worker_id", bare).is("reason", `"open"`)
		again.find("skipped", "worker_id", p.worker).is("reason", `"open"`)

		k.as.Role = actor.Manager
		k.call(training, `{"entity_type":"zone"}`).is("skipped", "[]")
	})
}

// Courses go to the person, and to those who work in the zone; a second call
// assigns nothing, and a valid certificate spares it.
func TestTraining(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		zone := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting", "risk_threshold": "25",
			"entity_types":    json.RawMessage(`["zone"]`),
			"validity_months": 12})
		k.add("courses", store.Row{"code": "HIGH", "title": "High", "risk_threshold": "90"})
		k.add("courses", store.Row{"code": "FREE", "title": "Never by score"})
		for range 4 {
			k.incident("injury", "high", 4, p.dock)
		}
		k.shift(p.worker, 3, 8, store.Row{"zone_id": p.dock})
		k.shift(p.colleague, 3, 8, store.Row{"zone_id": p.aisle})
		k.call(training, "").is("assignments_created", "0", "courses_checked", "2", "scores_checked", "0")
		k.call(scores, "")
		n := k.call(training, "")
		n.is("success", "true", "assignments_created", "1", "courses_checked", "2", "scores_checked", "6",
			"assignments.0.course_id", `"`+zone+`"`,
			"assignments.0.user_id", `"`+ada+`"`,
			"assignments.0.tenant_id", `"`+north+`"`, "assignments.0.assignment_type", `"risk_based"`, "assignments.0.status",
			`"assigned"`,
			"assignments.0.due_on", `"2026-04-19"`)
		if r := n.at("assignments.0.assignment_reason").(string); !strings.HasPrefix(r, "zone DOCK scored ") {
			k.Errorf("reason %q", r)
		}
		k.call(training, "").is("assignments_created", "0")
		k.call(training, `{"min_risk_score":99.9}`).is("scores_checked", "0")
		k.call(training, `{"entity_type":"zone","entity_id":"`+p.dock+`"}`).is("scores_checked", "1", "assignments_created",
			"0")

		id := n.at("assignments.0.id").(string)
		k.set("training_assignments", id, store.Row{"status": "in_progress"})
		k.set("training_assignments", id, store.Row{"status": "completed"})
		if k.count("training_assignments", "expires_on = '2027-03-20' AND certificate_no LIKE 'TC-%'") != 1 {
			k.Error("no certificate")
		}
		if k.count("point_events", "kind = 'course' AND points = 20") != 1 {
			k.Error("no points for the course")
		}
		k.call(training, "").is("assignments_created", "0")
		k.set("training_assignments", id, store.Row{"expires_on": "2026-04-01"})
		k.call(training, "").is("assignments_created", "1")
		if k.count("counters", "name = 'training_assignments:assigned'") == 0 {
			k.Error("the counter was not kept")
		}
	})
}

// Points come with acceptance, once, within the day's cap, and go with a void
// report.
func TestEngagement(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
		})
		if err != nil {
			k.Fatal(err)
		}
		k.as = actor.Actor{UserID: ada, TenantID: north, Role: actor.Operator}
		k.call(engagement, "").is("tenant_id", `"`+north+`"`, "user_id", `"`+ada+`"`, "total_points", "0", "recent_points",
			"[]", "badges", "[]",
			"user_score", `{"period_end":"2026-03-31","period_start":"2026-03-01","score":0}`)
		var reports []string
		for range 6 {
			reports = append(reports, k.incident("near_miss", "low", 1, p.dock))
		}
		k.call(engagement, "").is("total_points", "0")
		for _, id := range reports {
			k.set("incidents", id, store.Row{"status": "triaged"})
		}
		n := k.call(engagement, "")
		n.is("total_points", "40", "user_score.score", "40", "recent_points.#", "4", "recent_points.0.kind", `"near_miss"`,
			"recent_points.0.points", "10")
		n.find("badges", "code", "first_report").is("name", `"First report"`)
		if n.has("team_scores") || n.has("zone_scores") {
			k.Error("an operator sees boards")
		}
		for i := range k.table {
			// What is kept for one person is not another's, though both are of one role.
			if f := &k.table[i]; f.Name == engagement && f.User(k.as) != ada {
				k.Errorf("kept for %q", f.User(k.as))
			}
		}
		k.set("incidents", reports[0], store.Row{"status": "void", "void_reason": "twice"})
		k.call(engagement, "").is("total_points", "30")

		k.as = actor.Actor{UserID: cy, TenantID: north, Role: actor.Admin}
		// Two people who sign in are no group, until the tenant says so.
		k.call(engagement, "").is("team_scores", "[]", "suppressed", "1")
		k.add("settings", store.Row{"section": "scoring", "key": "min_group", "value": json.RawMessage("2")})
		n = k.call(engagement, "")
		// Ada has 30, Bo 0, the mean is 15: (30 + 3 x 15) / (2 + 3).
		n.is("user_score.score", "0", "team_scores.#", "1", "team_scores.0.score", "15", "team_scores.0.n", "2",
			"zone_scores.#", "2", "zone_scores.0.score", "100",
			"zone_scores.0.parts", `{"actions_on_time":100,"checklist_compliance":100,"predictive_score":null}`)
		k.call(scores, "")
		k.call(engagement, "").find("zone_scores", "code", "DOCK").is("score", "93.2", "parts.predictive_score", "13.7")
	})
}

// What reports and actions earn: by kind, more when in time, only
// when accepted or verified, nothing when nobody is named. What else earns
// points is tested where it happens: courses above, inspections, talks and
// suggestions in package safety.
func TestPointsByKind(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.add("settings", store.Row{"section": "engagement", "key": "daily_cap", "value": json.RawMessage("1000")})
		earned := func(source string) (out string) {
			err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				return tx.Query("SELECT kind, points, user_id FROM point_events WHERE tenant_id = $1 AND source_id = $2 ORDER BY kind", []any{north, source},
					func(r *db.Row) error {
						out += fmt.Sprintf("%s %d %s ", r.Text(0), r.Int(1), map[string]string{ada: "ada", bo: "bo"}[r.Text(2)])
						return nil
					})
			})
			if err != nil {
				k.Fatal(err)
			}
			return strings.TrimSpace(out)
		}
		report := func(kind string, more store.Row) string {
			at := k.now.AddDate(0, 0, -3)
			row := store.Row{"kind": kind, "severity": "low", "title": kind, "occurred_at": at,
				"reported_at": at.Add(24 * time.Hour), "zone_id": p.dock,
				"reported_by": ada}
			for f, v := range more {
				row[f] = v
			}
			return k.add("incidents", row)
		}
		for _, c := range []struct {
			kind string
			more store.Row
			want string
		}{
			{"near_miss", nil, "near_miss 10 ada"},
			{"hazard", nil, "hazard 8 ada"},
			{"injury", nil, "injury_report 8 ada"},
			{"illness", store.Row{"reported_at": k.now.AddDate(0, 0, -2).Add(time.Microsecond)}, "injury_report 5 ada"},
			{"property_damage", nil, ""},
			{"near_miss", store.Row{"anonymous": true, "reported_by": nil}, ""},
		} {
			id := report(c.kind, c.more)
			if got := earned(id); got != "" {
				t.Errorf("%s earned %s before it was accepted", c.kind, got)
			}
			k.set("incidents", id, store.Row{"status": "triaged"})
			if got := earned(id); got != c.want {
				t.Errorf("%s %v earned %q, want %q", c.kind, c.more, got, c.want)
			}
		}
		for _, c := range []struct {
			due  time.Time
			want string
		}{{k.now.Add(time.Hour), "action_done 10 ada action_verified 5 bo"},
			{k.now.Add(-time.Hour), "action_done 3 ada action_verified 5 bo"}} {
			id := k.add("actions", store.Row{"title": "x", "assignee_user_id": ada, "due_at": c.due})
			k.as.UserID = ada
			k.set("actions", id, store.Row{"status": "done"})
			k.as.UserID = bo
			if got := earned(id); got != "" {
				t.Errorf("an action earned %s before it was verified", got)
			}
			k.set("actions", id, store.Row{"status": "verified"})
			k.as.UserID = ""
			if got := earned(id); got != c.want {
				t.Errorf("an action due %s earned %q, want %q", c.due, got, c.want)
			}
		}
	})
}

// Managers see teams, never single people (GDPR art. 22, AI Act
// annex III 4(b)); an entity type can be switched off.
func TestPeopleAreProtected(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.as = actor.Actor{UserID: cy, TenantID: north, Role: actor.Manager}
		n := k.call(scores, "")
		n.is("scores_computed", "6", "scores.#", "3", "team_means", "[]", "suppressed", "2")
		k.add("settings", store.Row{"section": "scoring", "key": "min_group", "value": json.RawMessage("2")})
		k.call(scores, "").is("team_means", `[{"entity_type":"worker","n":2,"score":0,"team_id":"`+p.team+`"}]`)
		k.as.Role = actor.Safety
		k.call(scores, "").is("official", "true")
		k.as.Role = actor.Manager
		k.add("regulations", store.Row{"code": "SEEN", "title": "Seen",
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone","worker"]},
				"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
				"metric":"predictive_score","warn":{"op":">=","value":0}}`)})
		verdicts := k.call(compliance, "")
		verdicts.find("events", "entity_id", p.dock).is("value", "0")
		verdicts.is("events_created", "2", "events.#", "2")
		if k.count("compliance_events", "value IS NOT NULL AND entity_type = 'worker'") != 0 ||
			k.count("compliance_events", "value IS NOT NULL") != 2 {
			k.Error("a verdict on a person shows the score to all who read verdicts")
		}
		if k.count("compliance_events", "about = 'score' AND entity_type = 'worker'") != 2 ||
			k.count("compliance_events", "about = 'places'") != 2 {
			k.Error("what verdicts are about is not kept")
		}
		// Nor does the summary of a check of one person tell.
		k.call(compliance, `{"entity_id":"`+p.worker+`"}`).is("summary.total_regulations", "0", "summary.warning_count", "0")
		k.add("settings", store.Row{"section": "scoring", "key": "scores_off",
			"value": json.RawMessage(`["worker","driver"]`)})
		k.as.Role = actor.Safety
		k.call(scores, "").is("scores_computed", "3")
		k.call(scores, `{"entity_type":"worker"}`).is("scores_computed", "0", "scores", "[]")
		// What was computed before has no consequences any more.
		k.call(clusters, "").is("entities_assigned", "3")
		k.add("courses", store.Row{"code": "ALL", "title": "All", "risk_threshold": "0"})
		k.call(training, "").is("scores_checked", "3")
	})
}

// Managers and viewers read assignments, but no person's score in them; and no
// bound of a manager's choice tells whether a person's score reaches it.
func TestAssignmentsHideScores(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		for range 4 {
			k.incident("injury", "high", 4, "", safety.Entity{Type: "worker", ID: p.worker})
		}
		k.call(scores, "").find("scores", "entity_id", p.worker).is("score", "42.2")
		k.add("courses", store.Row{"code": "CARE", "title": "Care", "risk_threshold": "30"})
		for _, c := range []struct {
			role        actor.Role
			in          string
			checked, of string
		}{
			{actor.Manager, `{"entity_type":"worker","entity_id":"` + p.worker + `","min_risk_score":10}`, "0", "0"},
			{actor.Manager, `{"entity_type":"worker","entity_id":"` + p.worker + `","min_risk_score":90}`, "0", "0"},
			{actor.Manager, `{"entity_id":"` + p.worker + `","min_risk_score":10}`, "0", "0"},
			{actor.Manager, `{"min_risk_score":0.1}`, "0", "0"},
			{actor.Safety, `{"min_risk_score":90}`, "0", "0"},
			{actor.Manager, `{"entity_type":"worker","entity_id":"` + p.colleague + `"}`, "1", "0"},
			{actor.Safety, `{"entity_type":"worker","entity_id":"` + p.worker + `","min_risk_score":10}`, "1", "1"},
		} {
			k.as = actor.Actor{UserID: cy, TenantID: north, Role: c.role}
			n := k.call(training, c.in)
			n.is("scores_checked", c.checked, "assignments_created", c.of)
			if n.at("assignments_created") == 1.0 && !strings.Contains(n.at("assignments.0.assignment_reason").(string),
				"scored 42.2") {
				k.Errorf("the safety officer is told %v", n.at("assignments.0.assignment_reason"))
			}
		}
		if k.count("training_assignments", "assignment_reason NOT LIKE '%42%' AND source_score_id IS NOT NULL") != 1 {
			k.Error("the score stands where everybody reads it")
		}
	})
}

// A manager learns no person's score from clusters: neither by bounds of his
// choice, nor by counting, nor by scoring one person and looking who moved.
func TestClustersHideScores(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		for range 4 {
			k.incident("injury", "high", 4, "", safety.Entity{Type: "worker", ID: p.worker})
		}
		k.call(scores, "").find("scores", "entity_id", p.worker).is("score", "42.2")
		for _, c := range []struct {
			role              actor.Role
			in                string
			created, assigned string
			stored            int64 // clusters in the tenant's set
		}{
			{actor.Manager, `{"min_score":42}`, "0", "0", 0},
			{actor.Manager, `{"max_score":99}`, "1", "3", 1},
			{actor.Manager, `{"entity_type":"zone","max_score":99}`, "1", "2", 2},
			{actor.Manager, `{"entity_type":"worker"}`, "0", "0", 4},
			{actor.Manager, ``, "1", "3", 2},
			{actor.Safety, `{"entity_type":"worker","min_score":42}`, "1", "1", 2},
			{actor.Safety, ``, "2", "6", 2},
		} {
			k.as = actor.Actor{UserID: cy, TenantID: north, Role: c.role}
			k.call(clusters, c.in).is("clusters_created", c.created, "entities_assigned", c.assigned)
			if n := k.count("risk_clusters", "1 = 1"); n != c.stored {
				k.Errorf("%s %s: %d clusters are kept, want %d", c.role, c.in, n, c.stored)
			}
		}
		k.as = actor.Actor{UserID: cy, TenantID: north, Role: actor.Manager}
		for _, in := range []string{`{"entity_type":"worker","entity_id":"` + p.worker + `"}`,
			`{"entity_id":"` + p.worker + `","period_days":1}`,
			`{"entity_id":"` + p.driver + `"}`} {
			k.refused(scores, in, fault.Forbidden, "entity_id")
		}
		for _, in := range []string{`{"entity_type":"worker","min_score":42}`, `{"entity_type":"worker","max_score":42.1}`,
			`{"entity_type":"driver","max_score":99.9}`} {
			k.refused(clusters, in, fault.Forbidden, "entity_type")
		}
		if n := k.count("risk_clusters", "1 = 1"); n != 2 {
			k.Errorf("what was refused left %d clusters of 2", n)
		}
		k.call(scores, `{"entity_id":"`+p.dock+`"}`).is("scores_computed", "1")
		k.as.Role = actor.Safety
		k.call(scores, `{"entity_type":"worker","entity_id":"`+p.worker+`"}`).is("scores_computed", "1")
	})
}

// A check of some entities has no verdict on what it did not read, and takes
// none back.
func TestPartOfACheck(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		rule := func(code, rule string) {
			k.add("regulations", store.Row{"code": code, "title": code, "rule": json.RawMessage(rule)})
		}
		rule("DELAY", `{"scope":{"entity_types":["zone","worker"]},
			"evidence":{"of":"actions","absence":"insufficient_data"},
			"metric":"overdue_actions","per":"tenant","breach":{"op":">=","value":1}}`)
		rule("SCORE", `{"scope":{"entity_types":["zone"]},
			"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
			"metric":"predictive_score","per":"tenant","breach":{"op":">=","value":30}}`)
		rule("TRUCK", `{"scope":{"entity_types":["equipment"]},
			"evidence":{"of":"incidents","absence":"insufficient_data"},
			"metric":"incident_count","breach":{"op":">=","value":1}}`)
		rule("HOURS", `{"scope":{"entity_types":["worker"]},
			"evidence":{"of":"shifts","absence":"insufficient_data"},
			"metric":"weekly_hours_max","breach":{"op":">","value":48}}`)
		k.add("actions", store.Row{"title": "x", "priority": "critical", "due_at": k.now.Add(-time.Hour)})
		for range 4 {
			k.incident("injury", "high", 4, p.dock)
		}
		k.call(scores, "")
		n := k.call(compliance, "")
		n.is("summary.total_regulations", "4", "summary.breach_count", "2")
		root := n.find("events", "regulation_code", "DELAY").at("entity_id").(string)
		if root == p.dock {
			k.Fatal("the dock stands for the tenant: the check of one zone shows nothing")
		}
		for in, total := range map[string]string{
			`{"entity_type":"worker"}`:         "1",
			`{"entity_type":"equipment"}`:      "1",
			`{"entity_type":"zone"}`:           "2",
			`{"entity_id":"` + p.worker + `"}`: "1",
			`{"entity_id":"` + p.dock + `"}`:   "0",
			`{"entity_id":"` + root + `"}`:     "1",
		} {
			n := k.call(compliance, in)
			n.is("summary.total_regulations", total, "events_created", "0")
			var sum float64
			for _, s := range []string{"compliant", "waived", "insufficient", "warning", "breach"} {
				sum += n.at("summary." + s + "_count").(float64)
			}
			if fmt.Sprint(sum) != total {
				k.Errorf("%s: %v of %s are counted", in, sum, total)
			}
		}
		k.call(compliance, "").is("events_created", "0", "summary.breach_count", "2")
	})
}

// Nothing of one tenant shows in another's answers.
func TestTenantsApart(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.incident("injury", "critical", 2, p.dock)
		k.call(scores, "")
		k.call(clusters, "")
		k.as.TenantID = south
		k.call(scores, "").is("scores_computed", "0", "scores", "[]", "tenant_id", `"`+south+`"`)
		k.call(clusters, "").is("entities_assigned", "0")
		k.call(compliance, "").is("summary.total_regulations", "0", "events_created", "0")
		k.call(training, "").is("scores_checked", "0")
		k.call(engagement, "").is("team_scores", "[]", "zone_scores", "[]")
		k.as.TenantID = north
		if k.count("risk_clusters", "1 = 1") == 0 {
			k.Error("another tenant's call took the clusters away")
		}
	})
}

// The number of statements does not depend on the number of entities.
func TestConstantStatements(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		if err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
		}); err != nil {
			k.Fatal(err)
		}
		k.add("courses", store.Row{"code": "ALL", "title": "All", "risk_threshold": "0"})
		round := func() map[string]int64 {
			used := map[string]int64{}
			for _, fn := range []string{scores, clusters, compliance, training, engagement} {
				k.statements.Store(0)
				k.call(fn, "")
				used[fn] = k.statements.Load()
			}
			return used
		}
		round()
		k.shift(p.worker, 1, 8, store.Row{"zone_id": p.dock})
		few := round()
		var zones, workers, members []store.Row
		for i := range 400 {
			user := fmt.Sprintf("0190b000-0000-7000-8000-1%011d", i)
			zones = append(zones, store.Row{"code": fmt.Sprintf("Z%d", i), "name": "Z", "kind": "dock"})
			workers = append(workers, store.Row{"employee_no": fmt.Sprintf("W%d", i), "name": "W", "user_id": user})
			members = append(members, store.Row{"user_id": user, "email": fmt.Sprintf("w%d@x.example", i), "role": "operator"})
		}
		k.add("zones", zones...)
		k.add("workers", workers...)
		k.add("members", members...)
		many := round()
		for fn, n := range many {
			// The first verdict or assignment of something writes; before there was nothing new. Who assigns locks
			// the people besides, and looks at what they have open.
			more := int64(4)
			if fn == training {
				more = 8
			}
			if n > few[fn]+more {
				k.Errorf("%s: %d statements for 6 entities, %d for 806", fn, few[fn], n)
			}
		}
		if k.count("training_assignments", "1 = 1") != 402 {
			k.Errorf("%d assignments", k.count("training_assignments", "1 = 1"))
		}
	})
}

// Shifts are the exposure: they never overlap, and hours follow from times.
func TestShifts(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		at := func(h int) time.Time { return time.Date(2026, 3, 10, h, 0, 0, 0, time.UTC) }
		one := k.add("shifts", store.Row{"worker_id": p.worker, "started_at": at(6), "ended_at": at(14), "break_minutes": 30})
		if k.count("shifts", "hours = 75000 AND status = 'closed'") != 1 {
			k.Error("8 hours with half an hour of break are 7.5 hours, closed")
		}
		for words, row := range map[string]store.Row{
			"already has a shift": {"worker_id": p.worker, "started_at": at(13), "ended_at": at(20)},
			"must be after":       {"worker_id": p.worker, "started_at": at(18), "ended_at": at(18)},
			"24 hours":            {"worker_id": p.worker, "started_at": at(18), "ended_at": at(18).Add(25 * time.Hour)},
			"future":              {"worker_id": p.worker, "started_at": k.now.Add(time.Hour)},
			"longer than":         {"worker_id": p.worker, "started_at": at(18), "ended_at": at(19), "break_minutes": 90},
		} {
			if _, err := k.try("shifts", row); err == nil || !strings.Contains(fmt.Sprint(err), words) {
				k.Errorf("%v: %v, want %q", row, err, words)
			}
		}
		k.add("shifts", store.Row{"worker_id": p.worker, "started_at": at(14), "ended_at": at(22)},
			store.Row{"worker_id": p.colleague, "started_at": at(6),
				"ended_at": at(14)})
		if err := k.change("shifts", one, store.Row{"ended_at": at(15)}); !fault.Is(err, fault.Conflict) {
			k.Errorf("stretching into the next shift: %v", err)
		}
		k.set("shifts", one, store.Row{"ended_at": at(13)})
		if k.count("shifts", "hours = 65000") != 1 {
			k.Error("hours did not follow the times")
		}
		open := k.add("shifts", store.Row{"worker_id": p.worker, "started_at": k.now.Add(-2 * time.Hour)})
		if _, err := k.try("shifts", store.Row{"worker_id": p.worker, "started_at": k.now.Add(-time.Hour)}); !fault.Is(err,
			fault.Conflict) {
			k.Errorf("a second open shift: %v", err)
		}
		k.set("shifts", open, store.Row{"ended_at": k.now})
	})
}
