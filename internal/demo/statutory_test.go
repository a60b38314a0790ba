package demo

import (
	"maps"
	"testing"
	"time"

	"holdfast/internal/record"
	"holdfast/internal/safety/osha"
)

// The demo's log keeps the rules it is there to show, on any day of the year:
// each case by itself, and last year's summary as it was submitted.
func TestStatutory(t *testing.T) {
	for _, now := range []time.Time{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 1, 3, 9, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 23, 0, 0, 0, time.UTC)} {
		for _, p := range []profile{northProfile(), southProfile()} {
			rows, err := buildTenant(p, now)
			if err != nil {
				t.Fatal(err)
			}
			loc, err := time.LoadLocation(p.timezone)
			if err != nil {
				t.Fatal(err)
			}
			incidents := map[any]map[string]any{}
			for _, in := range rows["incidents"] {
				incidents[in["id"]] = in
			}
			for _, c := range rows["osha_cases"] {
				in := incidents[c["incident_id"]]
				at := parseMoment(in["occurred_at"]).In(loc)
				f := osha.Facts{Kind: in["kind"].(string), Injured: time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0,
					time.UTC), Today: now}
				if err := osha.Check(record.OSHACase(c), f); err != nil {
					t.Errorf("%s, %s, %v: %v", now.Format(time.DateOnly), p.slug, in["title"], err)
				}
			}
			for _, s := range rows["osha_summaries"] {
				again := maps.Clone(s)
				osha.Total(record.OSHASummary(again), record.From[record.OSHACase](rows["osha_cases"]))
				if !maps.EqualFunc(s, again, func(a, b any) bool { return a == b }) {
					t.Errorf("%s: the summary of %v is not what its log adds up to", now.Format(time.DateOnly), s["year"])
				}
				if s["status"] == "submitted" {
					if err := osha.CheckSummary(record.OSHASummary(s)); err != nil {
						t.Errorf("%s: %v", now.Format(time.DateOnly), err)
					}
					if err := osha.CheckEstablishment(record.Site(rows["sites"][0])); err != nil {
						t.Error(err)
					}
				}
			}
			if n := len(rows["osha_summaries"]); p.slug == "south" && n != 2 || p.slug == "north" && n != 0 {
				t.Errorf("%s has %d summaries", p.slug, n)
			}
		}
	}
}
