package programme_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Who submits electronically is decided by the most people at any time of the year and by
// the industry (29 CFR 1904.41(a)): below, at and above each line, and with nothing on
// record.
func TestWhoSubmitsElectronically(t *testing.T) {
	const (
		warehouse = "493110" // in both appendices
		buildings = "561720" // in appendix A alone
		garages   = "811111" // in neither
		offices   = "541110" // in appendix A to subpart B: no log, so nothing to submit
	)
	const no, late, unknown = "compliant, not about it", "breach 10", "insufficient_data"
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC) // ten days after the deadline
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		for _, row := range safety.ShippedRegulations(nil) {
			if code := row.Text("code"); code == "US-1904.41" || code == "US-1904.41-300" {
				k.add("regulations", row)
			}
		}
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US"})
		sum := k.add("osha_summaries", store.Row{"site_id": site, "year": 2025})
		verdict := func(code string) string {
			t.Helper()
			k.purge("compliance_states")
			n := k.call(compliance, "").find("events", "regulation_code", code)
			if applies, ok := n.at("details").(map[string]any)["not_applicable"]; ok && applies == true {
				return n.at("status").(string) + ", not about it"
			}
			if n.at("value") == nil {
				return n.at("status").(string)
			}
			return fmt.Sprint(n.at("status"), " ", n.at("value"))
		}
		for _, c := range []struct {
			naics          any
			people         int
			summary, cases string
		}{
			{warehouse, 19, no, no},
			{warehouse, 20, late, no},
			{warehouse, 21, late, no},
			{warehouse, 99, late, no},
			{warehouse, 100, late, late},
			{warehouse, 101, late, late},
			{buildings, 100, late, no},
			{buildings, 249, late, no},
			{garages, 20, no, no},
			{garages, 249, no, no},
			{garages, 250, late, no},
			{garages, 251, late, no},
			{offices, 249, no, no},
			{offices, 250, no, no},
			{offices, 1000, no, no},
			{offices, 0, no, no},       // however many people there are
			{"5411", 250, no, no},      // the group
			{"54", 250, late, unknown}, // a sector of which not every group is exempt
			{"517312", 250, no, no},    // one industry of a group
			{"517311", 250, late, no},  // the other
			{"722511", 250, no, no},    // was 7221 when the list was written
			{"721310", 249, no, no},    // exempt, and in no appendix of subpart E
			{warehouse, 250, late, late},
			{"23", 20, late, no},              // a sector that is listed as a whole
			{"49", 20, unknown, no},           // one of which some groups are
			{"455110", 100, unknown, unknown}, // a code that NAICS 2017 does not know
			{"455110", 19, no, no},
			{"455110", 250, late, unknown},
			{nil, 19, no, no},      // too small, whatever it does
			{nil, 20, unknown, no}, // which industry?
			{nil, 100, unknown, unknown},
			{nil, 250, late, unknown},
			{warehouse, 0, unknown, unknown}, // how many people?
			{nil, 0, unknown, unknown},
		} {
			k.set("sites", site, store.Row{"naics": c.naics})
			k.set("osha_summaries", sum, store.Row{"peak_employees": c.people})
			if got := verdict("US-1904.41"); got != c.summary {
				t.Errorf("%v with %d people, 300A: %s, want %s", c.naics, c.people, got, c.summary)
			}
			if got := verdict("US-1904.41-300"); got != c.cases {
				t.Errorf("%v with %d people, 300 and 301: %s, want %s", c.naics, c.people, got, c.cases)
			}
		}

		// What is submitted is done, each of the two by itself.
		k.set("sites", site, store.Row{"naics": warehouse})
		k.set("osha_summaries", sum, store.Row{"peak_employees": 100})
		k.set("osha_summaries", sum, store.Row{"status": "certified"})
		k.set("osha_summaries", sum, store.Row{"status": "submitted"})
		if got := verdict("US-1904.41"); got != "compliant -355" {
			t.Errorf("the summary is submitted: %s", got)
		}
		if got := verdict("US-1904.41-300"); got != late {
			t.Errorf("the cases are not: %s", got)
		}
		k.set("osha_summaries", sum, store.Row{"cases_submitted_on": "2026-03-12"})
		if got := verdict("US-1904.41-300"); got != "compliant -355" {
			t.Errorf("the cases are submitted: %s", got)
		}
	})
}

// Without a stated number the day with the most people counts, of the year that the
// records are about; a year before the duty began is not asked for.
func TestMostPeopleOfTheYear(t *testing.T) {
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		for _, row := range safety.ShippedRegulations(nil) {
			if row.Text("code") == "US-1904.41" {
				k.add("regulations", row)
			}
		}
		site := k.add("sites", store.Row{"code": "US", "name": "US", "country": "US", "naics": "493110"})
		hire := func(name string, n int, more store.Row) {
			for i := range n {
				no := fmt.Sprint(name, i)
				row := store.Row{"employee_no": no, "name": no, "site_id": site}
				for key, v := range more {
					row[key] = v
				}
				k.add("workers", row)
			}
		}
		is := func(when, status string) {
			t.Helper()
			k.purge("compliance_states")
			k.call(compliance, "").find("events", "regulation_code", "US-1904.41").is("status", `"`+status+`"`)
		}
		is("nobody is on record", "insufficient_data")
		hire("STAFF", 10, store.Row{"hired_on": "2020-01-01"})
		is("ten", "compliant")
		// Nine for the summer, of whom one left on the day before another came.
		hire("SUMMER", 9, store.Row{"hired_on": "2025-06-01", "left_on": "2025-08-31", "status": "left"})
		is("nineteen", "compliant")
		hire("AUTUMN", 5, store.Row{"hired_on": "2025-09-01", "left_on": "2025-10-31", "status": "left"})
		is("nineteen in summer and fifteen in autumn", "compliant")
		hire("LENT", 3, store.Row{"hired_on": "2025-07-01", "employment": "contractor"})
		is("others who are not supervised", "compliant")
		hire("YEAR", 1, store.Row{"hired_on": "2025-08-31"})
		is("twenty on one day", "breach")

		// Who left on a day that nobody wrote down may have been there from their hire on.
		k.set("sites", site, store.Row{"naics": "811111"})
		is("twenty of an industry that is not designated", "compliant")
		hire("GONE", 228, store.Row{"hired_on": "2024-05-01", "status": "left"})
		is("248 at most", "compliant")
		hire("LATER", 9, store.Row{"hired_on": "2026-01-01", "status": "left"})
		is("those who came after the year", "compliant")
		hire("LONG", 3, store.Row{"status": "left"})
		is("251 at most", "insufficient_data")
		k.set("sites", site, store.Row{"naics": "493110"})
		is("twenty are enough", "breach")
		k.set("osha_summaries", k.add("osha_summaries", store.Row{"site_id": site, "year": 2025}),
			store.Row{"peak_employees": 19})
		is("the summary states fewer", "compliant")

		k.set("sites", site, store.Row{"country": "DE"})
		k.add("sites", store.Row{"code": "NEW", "name": "New", "country": "US", "naics": "493110"})
		is("a new site with nobody", "insufficient_data")
	})
}
