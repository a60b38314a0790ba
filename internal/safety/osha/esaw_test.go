package osha

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/internal/record"
)

// A row of the European list says what the records know in the methodology's
// codes, and that the rest is not known in its codes for that.
func TestESAWCodes(t *testing.T) {
	site := record.Site{"name": "Hamburg", "country": "DE", "nace": "5210", "nuts": "DE600", "naics": "493110"}
	for name, c := range map[string]struct {
		row   record.OSHACase
		tags  string
		who   record.Worker
		staff int
		want  string // from the occupation on
	}{
		"all that is known": {record.OSHACase{"birth_date": "1990-03-11", "sex": "F", "days_away": int64(4)},
			`["fall_height","caught_in"]`,
			record.Worker{"isco": "93", "employment": "agency"}, 49,
			"93 28 2 0 300 2 DE600 20190310 11 000 00 004 0 000 00 00 00.02 51 00.02 31 00.02"},
		"nothing is": {record.OSHACase{"days_away": int64(180), "time_unknown": true}, `[]`, nil, 0,
			" 99 9 0 000 9 DE600 20190310 99 000 00 180 0 000 00 00 00.02 00 00.02 00 00.02"},
		"a birthday": {record.OSHACase{"birth_date": "1990-03-10", "sex": "M", "outcome": "death"}, `["other","struck_by"]`,
			record.Worker{"employment": "contractor"}, 500, " 29 1 0 000 5 DE600 20190310 11 000 00 998 0 000 00 00 00.02 00 00.02 40 00.02"},
		"a category that leaves it open": {record.OSHACase{"days_away": int64(4)}, `["powered_truck"]`, nil, 1,
			" 99 9 0 000 1 DE600 20190310 11 000 00 004 0 000 00 00 00.02 00 00.02 00 00.02"},
	} {
		incident := record.Incident{"incident_no": "IN-1", "occurred_at": "2019-03-10T10:15:00.000000Z",
			"category_tags": json.RawMessage(c.tags)}
		r := accident{Entry: Entry{Case: c.row, Incident: incident, Days: statedDays(c.row)},
			book: &Book{Site: site, Year: 2019, Place: time.FixedZone("CET", 3600)}, worker: c.who, staff: c.staff}
		got := r.esawRow()
		if len(got) != len(esawColumns) {
			t.Fatalf("%d values for %d columns", len(got), len(esawColumns))
		}
		if head := strings.Join(got[:4], " "); head != "IN-1 Hamburg DE 5210" {
			t.Errorf("%s: %q", name, head)
		}
		if tail := strings.Join(got[4:], " "); tail != c.want {
			t.Errorf("%s:\n%q, want\n%q", name, tail, c.want)
		}
	}
	for staff, want := range map[int]string{0: "9", 1: "1", 9: "1", 10: "2", 49: "2", 50: "3", 249: "3", 250: "4",
		499: "4", 500: "5"} {
		if got := sizeClass(staff); got != want {
			t.Errorf("%d people: class %s, want %s", staff, got, want)
		}
	}
}
