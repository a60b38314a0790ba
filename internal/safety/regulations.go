package safety

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// shippedRegulations are the duties a new tenant begins with. The cited texts
// decide; the rules are a reading of them that can be computed.
var shippedRegulations = [...]struct{ code, title, jurisdiction, citation, category, severity, rule string }{
	{"US-1904.39-8H", "Deaths reported to OSHA within 8 hours", "US", "29 CFR 1904.39(a)(1)", "reporting", "critical",
		`{"scope":{"entity_types":["zone"],"filter":{"kind":["injury","illness"],"severity_min":"critical"}},` +
			`"evidence":{"of":"incidents","absence":"insufficient_data"},` +
			`"metric":"osha_death_notice_hours","window_days":30,"per":"tenant","warn":{"op":">","value":4},"breach":{"op":">","value":8}}`},
	{"US-1904.39-24H", "In-patient treatment, amputation or loss of an eye reported to OSHA within 24 hours", "US", "29 CFR 1904.39(a)(2)",
		"reporting", "critical",
		`{"scope":{"entity_types":["zone"],"filter":{"kind":["injury","illness"],"severity_min":"high"}},` +
			`"evidence":{"of":"incidents","absence":"insufficient_data"},` +
			`"metric":"osha_treatment_notice_hours","window_days":30,"per":"tenant","warn":{"op":">","value":12},"breach":{"op":">","value":24}}`},
	{"US-1904.29", "Cases entered in the log within 7 calendar days", "US", "29 CFR 1904.29(b)(3)", "records", "high",
		`{"scope":{"entity_types":["zone"],"filter":{"kind":["injury","illness"]}},` +
			`"evidence":{"of":"incidents","absence":"insufficient_data"},` +
			`"metric":"log_delay_days","window_days":365,"per":"tenant","warn":{"op":">","value":4},"breach":{"op":">","value":7}}`},
	// Small is the whole company here, 29 CFR 1904.1(b)(1), and the establishment in 1904.41.
	{"US-1904.32", "Annual summary posted by 1 February", "US", "29 CFR 1904.32(b)(6)", "records", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{}},` +
			`"evidence":{"of":"osha_summaries","absence":"breach"},` +
			`"metric":"calendar_deadline","per":"tenant","due":"02-01",` +
			`"state":"osha_summary.posted","warn":{"op":">=","value":-30},"breach":{"op":">","value":0},` +
			`"applies_if":[{"fact":"tenant.workers","op":">","value":10}]}`},
	{"US-1904.41", "Summary (form 300A) submitted electronically by 2 March", "US", "29 CFR 1904.41(a)(1), (c)",
		"records", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{}},` +
			`"evidence":{"of":"osha_summaries","absence":"breach"},` +
			`"metric":"calendar_deadline","per":"tenant","due":"03-02",` +
			`"state":"osha_summary.submitted","warn":{"op":">=","value":-30},"breach":{"op":">","value":0},` +
			`"applies_if":[{"fact":"site.sends_300a","op":"==","value":1}]}`},
	{"US-1904.41-300", "Log and incident reports (forms 300, 301) submitted electronically by 2 March", "US",
		"29 CFR 1904.41(a)(2), (c)", "records", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{}},` +
			`"evidence":{"of":"osha_summaries","absence":"breach"},` +
			`"metric":"calendar_deadline","per":"tenant","due":"03-02",` +
			`"state":"osha_summary.cases_submitted","warn":{"op":">=","value":-30},"breach":{"op":">","value":0},` +
			`"applies_if":[{"fact":"site.sends_300","op":"==","value":1}]}`},
	{"US-1910.178-Q7", "Industrial trucks examined daily", "US", "29 CFR 1910.178(q)(7)", "equipment", "high",
		`{"scope":{"entity_types":["equipment"],"filter":{"equipment_kind":["forklift","reach_truck","pallet_truck","order_picker"]}},` +
			`"evidence":{"of":"checklist_runs","absence":"breach"},` +
			`"metric":"days_since_checklist","window_days":90,"warn":{"op":">","value":1},"breach":{"op":">","value":3}}`},
	{"US-1910.178-L4", "Truck operators evaluated every three years", "US", "29 CFR 1910.178(l)(4)(iii)", "training", "high",
		`{"scope":{"entity_types":["worker"],"filter":{"job_title":["Forklift operator"]}},` +
			`"evidence":{"of":"training_assignments","absence":"breach"},` +
			`"metric":"training_coverage",` +
			`"window_days":90,"breach":{"op":"<","value":100}}`},
	{"US-1910.157-E2", "Portable fire extinguishers inspected monthly", "US", "29 CFR 1910.157(e)(2)", "equipment", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{"checklist":"extinguisher"}},` +
			`"evidence":{"of":"checklist_runs","absence":"breach"},` +
			`"metric":"days_since_checklist","window_days":365,"per":"site","warn":{"op":">","value":25},"breach":{"op":">","value":31}}`},
	{"EU-2003-88-48H", "At most 48 hours a week on average over four months", "EU", "2003/88/EC art. 6, 16(b)", "hours", "high",
		`{"scope":{"entity_types":["worker","driver"],"filter":{}},` +
			`"evidence":{"of":"shifts","absence":"insufficient_data"},` +
			`"metric":"weekly_hours_max","window_days":122,"per":"window","warn":{"op":">","value":44},"breach":{"op":">","value":48}}`},
	{"EU-2003-88-11H", "At least 11 hours of rest in a day", "EU", "2003/88/EC art. 3", "hours", "high",
		`{"scope":{"entity_types":["worker","driver"],"filter":{}},` +
			`"evidence":{"of":"shifts","absence":"insufficient_data"},` +
			`"metric":"rest_hours_min","window_days":14,"warn":{"op":"<","value":11.5},"breach":{"op":"<","value":11}}`},
	{"EU-561-56H", "At most 56 hours in a driving week", "EU", "(EC) 561/2006 art. 6(2)", "hours", "high",
		drivingRule("driving_week_hours", `"warn":{"op":">","value":50},"breach":{"op":">","value":56}`)},
	{"EU-561-9H", "At most 9 hours at the wheel in a day, twice a week 10", "EU", "(EC) 561/2006 art. 6(1)", "hours", "high",
		drivingRule("driving_day_hours", `"breach":{"op":">","value":9}`)},
	{"EU-561-90H", "At most 90 hours at the wheel in two weeks", "EU", "(EC) 561/2006 art. 6(3)", "hours", "high",
		drivingRule("driving_fortnight_hours", `"warn":{"op":">","value":80},"breach":{"op":">","value":90}`)},
	{"EU-561-45MIN", "A break of 45 minutes after four and a half hours at the wheel", "EU", "(EC) 561/2006 art. 7", "hours", "high",
		drivingRule("driving_stint_hours", `"breach":{"op":">","value":4.5}`)},
	{"EU-561-11H", "At least 11 hours of daily rest for drivers, three times 9", "EU", "(EC) 561/2006 art. 8(2), 8(4)", "hours", "high",
		drivingRule("driving_rest_hours", `"breach":{"op":"<","value":11}`)},
	// The directive names no period for the entry: the rule reminds once the three days have passed that
	// make an accident one for the list, and is never a breach. The seven days are OSHA's (US-1904.29).
	{"EU-89-391-9", "List of accidents kept up to date", "EU", "89/391/EEC art. 9(1)(c)", "records", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{"kind":["injury"],"severity_min":"medium"}},` +
			`"evidence":{"of":"incidents","absence":"insufficient_data"},` +
			`"metric":"log_delay_days","window_days":365,"per":"tenant","warn":{"op":">","value":3}}`},
	{"GLOBAL-SCORE", "No entity at critical risk", "Global", "ISO 45001 6.1.2.2", "risk", "high",
		`{"scope":{"entity_types":["zone","driver","worker","equipment"],"filter":{}},` +
			`"evidence":{"of":"predictive_scores","absence":"insufficient_data"},` +
			`"metric":"predictive_score","warn":{"op":">=","value":75},"breach":{"op":">=","value":90}}`},
	{"GLOBAL-ACTIONS", "No critical action overdue", "Global", "ISO 45001 10.2", "actions", "high",
		`{"scope":{"entity_types":["zone"],"filter":{"severity_min":"critical"}},` +
			`"evidence":{"of":"actions","absence":"insufficient_data"},` +
			`"metric":"overdue_actions","per":"tenant","breach":{"op":">=","value":1}}`},
	{"GLOBAL-INSPECTION", "Zones inspected monthly", "Global", "ISO 45001 9.1.1", "inspection", "medium",
		`{"scope":{"entity_types":["zone"],"filter":{"zone_kind":["area","dock","staging"]}},` +
			`"evidence":{"of":"checklist_runs","absence":"insufficient_data"},` +
			`"metric":"days_since_checklist","window_days":365,"warn":{"op":">","value":25},"breach":{"op":">","value":31}}`},
}

// drivingRule is a rule of Regulation (EC) 561/2006 over the routes of drivers.
func drivingRule(metric, bounds string) string {
	return `{"scope":{"entity_types":["driver"],"filter":{}},"metric":"` + metric + `","window_days":28,` +
		`"evidence":{"of":"routes","absence":"insufficient_data"},` + bounds + `}`
}

// ShippedRegulations returns the records of the regulations a tenant begins
// with: active for its own jurisdictions, or for all when it names none; the
// rest are drafts. From then on they follow the countries of its sites (package
// jurisdiction).
func ShippedRegulations(own []string) []store.Row {
	rows := make([]store.Row, len(shippedRegulations))
	for i, g := range shippedRegulations {
		status := "draft"
		if g.jurisdiction == "Global" || len(own) == 0 || slices.Contains(own, g.jurisdiction) {
			status = "active"
		}
		rows[i] = store.Row{"code": g.code, "title": g.title, "jurisdiction": g.jurisdiction, "citation": g.citation, "category": g.category,
			"severity": g.severity, "rule": json.RawMessage(g.rule), "status": status,
			"follows_sites": g.jurisdiction != "Global"}
	}
	return rows
}

// ShippedBadges returns the records of the badges a tenant begins with.
func ShippedBadges() []store.Row {
	rows := make([]store.Row, len(shippedBadges))
	for i, b := range shippedBadges {
		rows[i] = store.Row{"code": b.code, "name": b.name, "description": b.text,
			"rule": json.RawMessage(fmt.Sprintf(`{"metric":%q,"at_least":%d}`, b.rule.Metric, b.rule.AtLeast))}
	}
	return rows
}

// SeedRegulations writes the shipped regulations and badges of a new tenant,
// those it lacks.
func SeedRegulations(tx *store.Tx) error {
	a := actor.Actor{Role: actor.Service, TenantID: tx.TenantID}
	var own []string
	there := map[string]bool{}
	tx.Queue("SELECT jurisdictions FROM tenants WHERE id = $1", []any{tx.TenantID}, func(r *db.Row) error { return json.Unmarshal([]byte(r.Text(0)), &own) })
	for _, table := range []string{"regulations", "badges"} {
		tx.Queue(db.FillWords(`
			SELECT code
			FROM {table}
			WHERE tenant_id = $1`, "{table}", table),
			[]any{tx.TenantID}, func(r *db.Row) error { there[table+r.Text(0)] = true; return nil })
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("safety: seed: %w", err)
	}
	for table, rows := range map[string][]store.Row{"regulations": ShippedRegulations(own), "badges": ShippedBadges()} {
		r, ok := tx.Store.Catalog().Get(table)
		if !ok {
			return fmt.Errorf("safety: the catalog has no %s", table)
		}
		rows = slices.DeleteFunc(rows, func(row store.Row) bool { return there[table+row.Text("code")] })
		if len(rows) == 0 {
			continue
		}
		if _, err := tx.As(a).InsertRows(r.Name, rows); err != nil {
			return fmt.Errorf("safety: seed %s: %w", table, err)
		}
	}
	return nil
}
