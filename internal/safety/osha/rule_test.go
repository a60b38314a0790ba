package osha_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/safety/osha"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// with returns a copy of row with the pairs set; a nil value removes the field.
func with[R record.Kind](row R, pairs ...any) R {
	out := maps.Clone(row)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

var strain = record.OSHACase{"recordable": "yes", "basis": "days_away", "outcome": "days_away", "days_away": int64(3),
	"days_restricted": int64(0),
	"illness_type":    "injury",
	"employee_name":   "Ada", "job_title": "Picker", "where_occurred": "Dock",
	"description": "Strained back, lifting a pump",
	"birth_date":  "1990-01-02", "hire_date": "2020-05-01"}

// Every rule of recording refuses what breaks it, and names field and
// paragraph.
func TestCheck(t *testing.T) {
	ill := with(strain, "illness_type", "respiratory")
	for _, c := range []struct {
		name        string
		row         record.OSHACase
		kind        string
		field, cite string // "" = accepted
	}{
		{"complete", strain, "injury", "", ""},
		{"undecided", record.OSHACase{"recordable": "undecided"}, "injury", "", ""},
		{"a near miss has no case", strain, "near_miss", "incident_id", "1904.4(a)"},
		{"undecided with a basis", record.OSHACase{"recordable": "undecided", "basis": "death"}, "injury", "recordable",
			"1904.7(a)"},
		{"decided without a basis", with(strain, "basis", nil), "injury", "basis", "1904.7(b)(1)"},
		{"first aid is not recordable", with(strain, "basis", "first_aid_only"), "injury", "recordable", "1904.7(b)(5)(i)"},
		{"medical treatment is", record.OSHACase{"recordable": "no", "basis": "medical_treatment"}, "injury",
			"recordable",
			"1904.7(b)(1)"},
		{"first aid", record.OSHACase{"recordable": "no", "basis": "first_aid_only"}, "injury", "", ""},
		{"an outcome off the log", record.OSHACase{"recordable": "no", "basis": "not_new", "outcome": "other"},
			"injury",
			"outcome", "1904.29(b)(1)"},
		{"no outcome", with(strain, "outcome", nil), "injury", "outcome", "1904.29(b)(1)"},
		{"basis against outcome", with(strain, "basis", "restricted"), "injury", "outcome", "1904.7(b)(1)"},
		{"death with days", with(strain, "basis", "death", "outcome", "death", "death_date", "2025-03-11"), "injury",
			"days_away", "1904.7(b)(2)"},
		{"death", with(strain, "basis", "death", "outcome", "death", "days_away", int64(0), "death_date", "2025-03-11"),
			"injury", "", ""},
		{"death without its date", with(strain, "basis", "death", "outcome", "death", "days_away", int64(0)), "injury",
			"death_date", "1904.7(b)(2)"},
		{"date of death without death", with(strain, "death_date", "2025-03-11"), "injury", "death_date", "1904.7(b)(2)"},
		{"death before the injury", with(strain, "basis", "death", "outcome", "death", "days_away", int64(0), "death_date",
			"2025-03-09"), "injury",
			"death_date", "1904.7(b)(2)"},
		{"days away without days", with(strain, "days_away", int64(0)), "injury", "days_away", "1904.7(b)(3)"},
		{"days with a lesser outcome", with(strain, "basis", "medical_treatment", "outcome", "other"), "injury", "outcome",
			"1904.7(b)(3)"},
		{"restricted without days", with(strain, "basis", "restricted", "outcome", "restricted", "days_away", int64(0)),
			"injury", "days_restricted", "1904.7(b)(4)"},
		{"restricted days with other", with(strain, "basis", "medical_treatment", "outcome", "other", "days_away", int64(0),
			"days_restricted", int64(2)),
			"injury", "outcome", "1904.7(b)(4)"},
		{"days away and restricted", with(strain, "days_restricted", int64(10)), "injury", "", ""},
		{"181 days", with(strain, "days_away", int64(181)), "injury", "", ""},
		{"3660 days", with(strain, "days_away", int64(3660)), "injury", "", ""},
		{"3661 days", with(strain, "days_away", int64(3661)), "injury", "days_away", "1904.7(b)(3)"},
		{"away before the injury", with(strain, "away_from", "2025-03-09", "away_until", "2025-03-12"), "injury",
			"away_from", "1904.7(b)(3)(i)"},
		{"away until before from", with(strain, "away_from", "2025-03-12", "away_until", "2025-03-11"), "injury",
			"away_until", "1904.7(b)(3)(iv)"},
		{"an end without a beginning", with(strain, "away_until", "2025-03-11"), "injury", "away_from", "1904.7(b)(3)(i)"},
		{"private without a reason", with(strain, "privacy_case", true), "injury", "privacy_reason", "1904.29(b)(8)"},
		{"a reason that is not private", with(strain, "privacy_case", false, "privacy_reason", "sexual_assault"), "injury",
			"privacy_case", "1904.29(b)(7)"},
		{"private", with(strain, "privacy_case", true, "privacy_reason", "contaminated_sharp"), "injury", "", ""},
		{"a request for an injury", with(strain, "privacy_case", true, "privacy_reason", "employee_request"), "injury",
			"privacy_reason", "1904.29(b)(7)(vi)"},
		{"a request for an illness", with(ill, "privacy_case", true, "privacy_reason", "employee_request"), "illness", "",
			""},
		{"discreet without privacy", with(strain, "discreet_description", "x"), "injury", "discreet_description",
			"1904.29(b)(9)"},
		{"no column M", with(strain, "illness_type", nil), "injury", "illness_type", "1904.29(b)(1)"},
		{"an illness called injury", strain, "illness", "illness_type", "1904.46"},
		{"born after", with(strain, "birth_date", "2025-03-10"), "injury", "birth_date", "item 3"},
		{"hired after", with(strain, "hire_date", "2025-03-11"), "injury", "hire_date", "item 4"},
		{"hired before birth", with(strain, "hire_date", "1989-01-01"), "injury", "hire_date", "item 4"},
		{"no time", with(strain, "event_time", "25:00"), "injury", "event_time", "items 12 and 13"},
		{"a time both given and unknown", with(strain, "event_time", "09:30", "time_unknown", true), "injury",
			"time_unknown", "item 13"},
		{"no name", with(strain, "employee_name", nil), "injury", "employee_name", "column B"},
		{"no description", with(strain, "description", nil), "injury", "description", "column F"},
	} {
		err := osha.Check(c.row, osha.Facts{Kind: c.kind, Injured: day("2025-03-10"), Today: day("2025-03-20")})
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		f := fault.As(err)
		if f == nil || f.Kind != fault.Invalid || f.Code != osha.CodeRule || f.Fields[0].Name != c.field ||
			!strings.Contains(f.Msg, c.cite) {
			t.Errorf("%s: %v, want %s, %s", c.name, err, c.field, c.cite)
		}
	}
}

// Calendar days, the day of the injury left out, without an end (29 CFR 1904.7(b)(3)).
func TestDays(t *testing.T) {
	for _, c := range []struct {
		from, until string
		want        int64
	}{
		{"2025-03-10", "2025-03-10", 0}, {"2025-03-11", "2025-03-11", 1}, {"2025-03-10", "2025-03-16", 6},
		{"2025-03-14", "2025-03-16", 3},
		{"2025-03-11", "2025-09-06", 180}, {"2025-03-11", "2025-09-07", 181}, {"2025-03-11", "2027-01-01", 662},
		{"2025-03-12", "2025-03-11", 0},
	} {
		if got := osha.Days(day("2025-03-10"), day(c.from), day(c.until)); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.from, c.until, got, c.want)
		}
	}
}

// By when OSHA is told (29 CFR 1904.39).
func TestDueAt(t *testing.T) {
	reported := time.Date(2025, 3, 10, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		row  record.OSHACase
		want time.Time
	}{
		{record.OSHACase{}, time.Time{}},
		{record.OSHACase{"emergency_room": true}, time.Time{}},
		{record.OSHACase{"in_patient": true}, reported.Add(24 * time.Hour)},
		{record.OSHACase{"in_patient": true, "in_patient_at": "2025-03-11T14:00:00Z"},
			day("2025-03-11").Add(38 * time.Hour)},
		{record.OSHACase{"in_patient": true, "in_patient_at": "2025-03-11T14:00:01Z"}, time.Time{}},
		{record.OSHACase{"amputation": true}, reported.Add(24 * time.Hour)},
		{record.OSHACase{"in_patient": true, "death_date": "2025-03-10"}, reported.Add(8 * time.Hour)},
		{record.OSHACase{"death_date": "2025-03-20"}, day("2025-03-20").Add(8 * time.Hour)},
		{record.OSHACase{"death_date": "2025-04-30"}, time.Time{}},
	} {
		incident := record.Incident{"kind": "injury", "occurred_at": "2025-03-10T14:00:00Z",
			"reported_at": "2025-03-10T15:00:00Z"}
		if got := osha.DueAt(c.row, incident, time.UTC); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.row, got, c.want)
		}
	}
}

var quiet = record.OSHASummary{"avg_employees": int64(24), "hours_worked": int64(47000), "total_deaths": int64(0),
	"total_dafw_cases": int64(1),
	"total_djtr_cases": int64(1), "total_other_cases": int64(1),
	"total_dafw_days": int64(3), "total_djtr_days": int64(4), "total_injuries": int64(2), "total_skin_disorders": int64(1)}

// The arithmetic of a submission to OSHA's Injury Tracking Application.
func TestCheckSummary(t *testing.T) {
	for _, c := range []struct {
		name  string
		row   record.OSHASummary
		field string
	}{
		{"in order", quiet, ""},
		{"no cases", record.OSHASummary{"avg_employees": int64(5), "hours_worked": int64(9000)}, ""},
		{"M against G to J", with(quiet, "total_injuries", int64(3)), "total_injuries"},
		{"as many cases as employees", with(quiet, "avg_employees", int64(3), "hours_worked", int64(6000)), ""},
		{"cases without days", with(quiet, "total_dafw_days", int64(0)), "total_dafw_days"},
		{"days without cases", with(quiet, "total_dafw_cases", int64(0), "total_other_cases", int64(2)), "total_dafw_days"},
		{"fewer days than cases", with(quiet, "total_dafw_cases", int64(2), "total_other_cases", int64(0), "total_dafw_days",
			int64(1)), "total_dafw_days"},
		{"restricted without days", with(quiet, "total_djtr_days", int64(0)), "total_djtr_days"},
		{"restricted days of nobody",
			with(quiet, "total_dafw_cases", int64(0), "total_dafw_days", int64(0), "total_djtr_cases", int64(0),
				"total_other_cases", int64(3)), "total_djtr_cases"},
		{"500 hours each", with(quiet, "hours_worked", int64(12000)), "hours_worked"},
		{"8,760 hours each", with(quiet, "hours_worked", int64(24*8760)), "hours_worked"},
		{"nobody", record.OSHASummary{}, "hours_worked"},
	} {
		checkNames(t, c.name, osha.CheckSummary(c.row), c.field)
	}
}

func checkNames(t *testing.T, name string, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	f := fault.As(err)
	if f == nil || f.Kind != fault.Invalid || !strings.Contains(f.Msg, "1904.41") {
		t.Errorf("%s: %v, want a fault that cites 1904.41", name, err)
		return
	}
	for _, x := range f.Fields {
		if x.Name == field {
			return
		}
	}
	t.Errorf("%s: %v does not name %s", name, f.Fields, field)
}

var dallas = record.Site{"name": "Dallas", "company_name": "South", "ein": "123456789",
	"address": "4400 Mountain Creek Pkwy", "city": "Dallas",
	"state": "TX", "zip": "75236",
	"naics": "493110", "establishment_type": int64(1)}

func TestCheckEstablishment(t *testing.T) {
	for _, c := range []struct {
		name  string
		row   record.Site
		field string
	}{
		{"in order", dallas, ""}, {"no EIN", with(dallas, "ein", nil), ""},
		{"nine digits of a zip", with(dallas, "zip", "75236-1234"), ""},
		{"short EIN", with(dallas, "ein", "12345678"), "ein"}, {"PO box", with(dallas, "address", "P.O. Box 12"), "address"},
		{"post office box",
			with(dallas, "address", "Post Office Box 9"), "address"},
		{"no street", with(dallas, "address", nil), "address"}, {"state by name", with(dallas, "state", "Texas"), "state"},
		{"zip",
			with(dallas, "zip", "7523"), "zip"},
		{"NAICS", with(dallas, "naics", "4931"), "naics"},
		{"type 4", with(dallas, "establishment_type", int64(4)), "establishment_type"}, {"no type",
			with(dallas, "establishment_type", nil), "establishment_type"},
		{"a name of 101", with(dallas, "name", strings.Repeat("x", 101)), "name"},
		{"a name of 100", with(dallas, "name", strings.Repeat("ü", 100)),
			""}, {"no name", with(dallas, "name", nil), "name"},
		{"a company of 101", with(dallas, "company_name", strings.Repeat("x", 101)), "company_name"}, {"a street of 101",
			with(dallas, "address", strings.Repeat("x", 101)), "address"},
		{"no city", with(dallas, "city", nil), "city"}, {"a city of 101", with(dallas, "city", strings.Repeat("x", 101)),
			"city"}, {"no state",
			with(dallas, "state", nil), "state"}, {"no zip", with(dallas, "zip", nil), "zip"},
		{"no NAICS", with(dallas, "naics", nil), "naics"},
		{"an industry of 301", with(dallas, "industry_description", strings.Repeat("x", 301)),
			"industry_description"}, {"type 0", with(dallas, "establishment_type", int64(0)), "establishment_type"},
	} {
		checkNames(t, c.name, osha.CheckEstablishment(c.row), c.field)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]int64{0: 1, 19: 1, 20: 21, 99: 21, 100: 22, 249: 22, 250: 3, 9000: 3} {
		if got := osha.Size(n); got != want {
			t.Errorf("%d employees: %d, want %d", n, got, want)
		}
	}
}
