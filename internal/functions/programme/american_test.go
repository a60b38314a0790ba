package programme_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Rules of the United States are about the places there, its territories among them: a
// site without a country is in its tenant's, and where no country is on record a rule in
// force is judged. Each kind of rule has the same idea of it.
func TestAmericanPlaces(t *testing.T) {
	const late, isElsewhere = "breach", "compliant, not about it"
	each(t, func(k *kit) {
		k.now = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
		for _, row := range safety.ShippedRegulations(nil) {
			switch row.Text("code") {
			case "US-1904.32", "US-1904.39-24H", "US-1910.157-E2":
				k.add("regulations", row)
			}
		}
		site := k.add("sites", store.Row{"code": "ONE", "name": "One"})
		other := k.add("sites", store.Row{"code": "TWO", "name": "Two"})
		zone := k.add("zones", store.Row{"code": "Z", "name": "Z", "site_id": site})
		for i := range 11 {
			no := fmt.Sprint("W", i)
			k.add("workers", store.Row{"employee_no": no, "name": no, "site_id": site})
		}
		k.add("osha_summaries", store.Row{"site_id": site, "year": 2025})
		k.add("incidents", store.Row{"kind": "injury", "severity": "high", "title": "Fall",
			"zone_id": zone, "occurred_at": "2026-03-10T08:00:00Z", "reported_at": "2026-03-10T08:00:00Z"})
		verdict := func(judged node, code string) string {
			t.Helper()
			n := judged.find("events", "regulation_code", code)
			details := n.at("details").(map[string]any)
			words := n.at("status").(string)
			if details["not_applicable"] == true {
				words += ", not about it"
			}
			if code == "US-1904.32" && details["never_recorded"] == true {
				words += ", never recorded"
			}
			return words
		}
		for _, c := range []struct {
			tenant, site, other any // countries; the other site is archived where it is ""
			want                string
		}{
			{nil, "US", "", late},
			{nil, "PR", "", late},
			{nil, "GU", "DE", late},
			{"DE", "VI", "", late},
			{nil, nil, "", late},
			{nil, nil, "DE", late},
			{"US", nil, "", late},
			{"US", nil, "DE", late},
			{"AS", nil, "DE", late},
			{"DE", nil, "", isElsewhere},
			{"DE", nil, "FR", isElsewhere},
			{"US", "DE", "", isElsewhere},
			{"US", "DE", "CA", isElsewhere},
		} {
			archived := store.Row{"country": c.other, "archived_at": nil}
			if c.other == "" {
				archived = store.Row{"archived_at": "2026-01-01T00:00:00Z"}
			}
			k.set("tenants", north, store.Row{"country": c.tenant})
			k.set("sites", site, store.Row{"country": c.site})
			k.set("sites", other, archived)
			k.purge("compliance_states")
			judged := k.call(compliance, "")
			for _, code := range []string{"US-1904.32", "US-1904.39-24H", "US-1910.157-E2"} {
				if got := verdict(judged, code); got != c.want {
					t.Errorf("tenant %v, sites %v and %v, %s: %s, want %s",
						c.tenant, c.site, c.other, code, got, c.want)
				}
			}
		}
	})
}
