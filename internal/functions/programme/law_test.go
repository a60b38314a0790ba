package programme_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// A regulation is about places, things and people under its own law: at a tenant with
// sites on both sides of the Atlantic nobody in Hamburg is held to OSHA's rules, nor
// anybody in Dallas to a directive. Who is at no site, or at one of no country, may be
// under either.
func TestRulesEndAtTheBorder(t *testing.T) {
	each(t, func(k *kit) {
		places := map[string]string{"US": "US", "PR": "PR", "DE": "DE", "GB": "GB", "NOWHERE": ""}
		sites := map[string]any{"LOOSE": nil}
		names := map[string]string{} // of the entity
		for code, country := range places {
			row := store.Row{"code": code, "name": code}
			if country != "" {
				row["country"] = country
			}
			sites[code] = k.add("sites", row)
		}
		for code, site := range sites {
			zone := k.add("zones", store.Row{"code": "Z-" + code, "name": code, "site_id": site})
			worker := k.add("workers", store.Row{"employee_no": code, "name": code, "site_id": site})
			names[zone], names[worker] = "zone "+code, "worker "+code
			names[k.add("drivers", store.Row{"worker_id": worker, "licence_no": code})] = "driver " + code
			truck := k.add("equipment", store.Row{"asset_no": code, "kind": "forklift", "zone_id": zone})
			names[truck] = "equipment " + code
		}
		for _, law := range []string{"US", "EU", "Global"} {
			k.add("regulations", store.Row{"code": law, "title": law, "jurisdiction": law, "rule": json.RawMessage(`{
				"scope":{"entity_types":["zone","worker","driver","equipment"]},
				"evidence":{"of":"predictive_scores","absence":"breach"},
				"metric":"predictive_score","breach":{"op":">","value":90}}`)})
		}
		held := func() map[string][]string {
			k.purge("compliance_states")
			out := map[string][]string{}
			for _, x := range k.call(compliance, "").at("events").([]any) {
				e := x.(map[string]any)
				law := e["regulation_code"].(string)
				out[law] = append(out[law], names[e["entity_id"].(string)])
			}
			return out
		}
		want := map[string][]string{
			"US": {"US", "PR", "NOWHERE", "LOOSE"}, "EU": {"DE", "GB", "NOWHERE", "LOOSE"},
			"Global": {"US", "PR", "DE", "GB", "NOWHERE", "LOOSE"},
		}
		check := func(when string) {
			t.Helper()
			got := held()
			for law, where := range want {
				var all []string
				for _, kind := range []string{"zone", "worker", "driver", "equipment"} {
					for _, code := range where {
						all = append(all, kind+" "+code)
					}
				}
				slices.Sort(all)
				slices.Sort(got[law])
				if fmt.Sprint(got[law]) != fmt.Sprint(all) {
					t.Errorf("%s, %s holds\n%v, want\n%v", when, law, got[law], all)
				}
			}
		}
		check("sites under two laws")

		// One of them alone, by itself: the same answer.
		for id, name := range names {
			if name != "worker DE" {
				continue
			}
			k.purge("compliance_states")
			n := k.call(compliance, `{"entity_type":"worker","entity_id":"`+id+`"}`)
			if got := len(n.at("events").([]any)); got != 2 {
				t.Errorf("somebody in Germany is held to %d laws", got)
			}
		}
	})
}

// The seven days of OSHA's log are for accidents in the United States, in industries that
// keep one; the list of 89/391/EEC is for accidents in Europe.
func TestLogsEndAtTheBorder(t *testing.T) {
	each(t, func(k *kit) {
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		for _, row := range safety.ShippedRegulations(nil) {
			if code := row.Text("code"); code == "US-1904.29" || code == "EU-89-391-9" {
				row["status"] = "active"
				k.add("regulations", row)
			}
		}
		dallas := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US", "naics": "493110"})
		hamburg := k.add("sites", store.Row{"code": "DE", "name": "DE", "country": "DE"})
		lawyers := k.add("sites", store.Row{"code": "LAW", "name": "Law", "country": "US", "naics": "541110"})
		report := func(site any, daysAgo int) {
			at := k.now.AddDate(0, 0, -daysAgo).Format(time.RFC3339)
			k.add("incidents", store.Row{"kind": "injury", "severity": "medium", "title": "Cut", "occurred_at": at,
				"reported_at": at, "site_id": site, "reported_by": ada})
		}
		is := func(when, american, european string) {
			t.Helper()
			k.purge("compliance_states")
			n := k.call(compliance, "")
			for code, want := range map[string]string{"US-1904.29": american, "EU-89-391-9": european} {
				e := n.find("events", "regulation_code", code)
				if got := fmt.Sprint(e.at("status"), " ", e.at("value")); got != want {
					t.Errorf("%s, %s: %s, want %s", when, code, got, want)
				}
			}
		}
		report(hamburg, 30)
		report(lawyers, 40)
		is("in Hamburg, and at an office", "compliant 0", "warning 30")
		report(dallas, 7)
		is("at the line in Dallas", "warning 7", "warning 30")
		report(dallas, 8)
		is("above it", "breach 8", "warning 30")
		report(nil, 50)
		is("nobody knows where", "breach 50", "warning 50")
	})
}

// An establishment of an industry that keeps no log has no summary to post (29 CFR
// 1904.2(a)(1)). One whose industry is not on record has: no exemption by absence.
func TestExemptIndustriesPostNothing(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 2, 11, 12, 0, 0, 0, time.UTC) // ten days after the deadline
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		for _, row := range safety.ShippedRegulations(nil) {
			if row.Text("code") == "US-1904.32" {
				k.add("regulations", row)
			}
		}
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		k.add("osha_summaries", store.Row{"site_id": site, "year": 2025})
		for n := range 11 {
			no := fmt.Sprint(n)
			k.add("workers", store.Row{"employee_no": no, "name": no, "site_id": site})
		}
		is := func(naics any, want string) {
			t.Helper()
			k.set("sites", site, store.Row{"naics": naics})
			k.purge("compliance_states")
			e := k.call(compliance, "").find("events", "regulation_code", "US-1904.32")
			if got := fmt.Sprint(e.at("status"), " ", e.at("value")); got != want {
				t.Errorf("industry %v: %s, want %s", naics, got, want)
			}
		}
		is(nil, "breach 10")
		is("493110", "breach 10")
		is("541110", "compliant <nil>") // not about it
		is("54", "breach 10")
		is("541511", "compliant <nil>")
		other := k.add("sites", store.Row{"code": "WH", "name": "WH", "country": "US", "naics": "493110"})
		k.add("osha_summaries", store.Row{"site_id": other, "year": 2025})
		is("541110", "breach 10") // the other establishment keeps one
	})
}
