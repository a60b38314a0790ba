package clocks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety/absence"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/safety/regimes"
)

var zones = map[string]string{
	"FR": "Europe/Paris", "DE": "Europe/Berlin", "GB": "Europe/London", "US": "America/Chicago",
}

// told is an accident in the words of a test: local moments and days.
type told struct {
	country, occurred, known, now string
	journey                       string
	row                           record.OSHACase // of the case, nil without one
	absences                      string          // such as "away 2026-03-03 2026-03-05"
	declared                      string
}

func momentIn(t *testing.T, zone *time.Location, local string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", local, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func dayOf(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "open" {
		return time.Time{}
	}
	d, err := localtime.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d.UTC()
}

// factsOf reads a told accident. Fields of the case that end in _at are local moments.
func factsOf(t *testing.T, a told) *clocks.Facts {
	t.Helper()
	zone := localtime.Zone(zones[a.country])
	stored := func(local string) string { return momentIn(t, zone, local).Format(time.RFC3339Nano) }
	r := regimes.Records{Zone: zone, Now: momentIn(t, zone, a.now), Incident: record.Incident{
		"kind": "injury", "occurred_at": stored(a.occurred), "reported_at": stored(a.known)}}
	if a.journey != "" {
		r.Incident["journey"] = a.journey
	}
	words := strings.Fields(a.absences)
	for i := 0; i+2 < len(words); i += 3 {
		from, until := dayOf(t, words[i+1]), dayOf(t, words[i+2])
		r.Periods = append(r.Periods, absence.Period{Kind: words[i], From: from, Until: until})
	}
	if a.row != nil || r.Periods != nil {
		r.Case = record.OSHACase{}
		for name, v := range a.row {
			if strings.HasSuffix(name, "_at") {
				v = stored(v.(string))
			}
			r.Case[name] = v
		}
	}
	f := clocks.FactsOf(r, a.country)
	if a.declared != "" {
		f.Declared = momentIn(t, zone, a.declared)
	}
	return f
}

// describe writes clocks as "CODE local due, ..."; without what has no period.
func describe(list []clocks.Clock, zone *time.Location) string {
	var out []string
	for _, c := range list {
		text := c.Code
		if !c.Due.IsZero() {
			text += " " + c.Due.In(zone).Format("2006-01-02 15:04")
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// The dated cases: accidents of 2026, each below, at and above the line of its rule.
func TestRunning(t *testing.T) {
	minor := record.OSHACase{"minor_register": true}
	in := func(country, occurred, known string) told {
		return told{country: country, occurred: occurred, known: known, now: "2026-06-30 12:00"}
	}
	german := in("DE", "2026-03-02 10:00", "2026-03-02 11:00")
	british := in("GB", "2026-03-02 10:00", "2026-03-02 11:00")
	with := func(a told, change func(*told)) told { change(&a); return a }
	for name, c := range map[string]struct {
		told told
		want string
	}{
		"FR: a Sunday and Whit Monday do not count": {
			in("FR", "2026-05-22 15:30", "2026-05-22 16:00"), "FR-DAT 2026-05-26 16:00"},
		"FR: known on a Sunday at night": {
			in("FR", "2026-05-23 22:00", "2026-05-24 03:00"), "FR-DAT 2026-05-28 00:00"},
		"FR: working days": {in("FR", "2026-03-03 09:00", "2026-03-03 09:30"), "FR-DAT 2026-03-05 09:30"},
		"FR: commuting is declared too": {
			with(in("FR", "2026-03-03 09:00", "2026-03-03 09:30"), func(a *told) { a.journey = "commuting" }),
			"FR-DAT 2026-03-05 09:30"},
		"FR: Easter Monday":          {in("FR", "2026-04-04 09:00", "2026-04-04 10:00"), "FR-DAT 2026-04-08 10:00"},
		"FR: the first of May":       {in("FR", "2026-04-30 09:00", "2026-04-30 10:00"), "FR-DAT 2026-05-04 10:00"},
		"FR: Ascension":              {in("FR", "2026-05-13 11:00", "2026-05-13 12:00"), "FR-DAT 2026-05-16 12:00"},
		"FR: Christmas and a Sunday": {in("FR", "2026-12-24 17:00", "2026-12-24 18:00"), "FR-DAT 2026-12-28 18:00"},
		"FR: the register of minor accidents": {
			with(in("FR", "2026-03-03 09:00", "2026-03-03 15:00"), func(a *told) { a.row = minor }),
			"FR-BENIN 2026-03-05 09:00"},
		"FR: an entry of the register that leads to days away": {
			with(in("FR", "2026-03-03 09:00", "2026-03-03 15:00"),
				func(a *told) { a.row, a.absences = minor, "away 2026-03-10 2026-03-11" }),
			"FR-BENIN 2026-03-05 09:00, FR-WORSE 2026-03-12 00:00"},
		"FR: a death that is learned of within 12 hours": {
			with(in("FR", "2026-03-03 09:00", "2026-03-03 09:30"), func(a *told) {
				a.row = record.OSHACase{"death_date": "2026-03-03", "death_time": "10:00",
					"death_known_at": "2026-03-03 21:30"}
			}), "FR-DAT 2026-03-05 09:30, FR-DEATH 2026-03-03 22:00"},
		"FR: a death that is learned of later": {
			with(in("FR", "2026-03-03 09:00", "2026-03-03 09:30"), func(a *told) {
				a.row = record.OSHACase{"death_date": "2026-03-03", "death_time": "10:00",
					"death_known_at": "2026-03-03 23:00"}
			}), "FR-DAT 2026-03-05 09:30, FR-DEATH 2026-03-04 11:00"},
		"FR: reservations after the declaration": {
			with(in("FR", "2026-02-27 09:00", "2026-02-28 09:00"), func(a *told) { a.declared = "2026-03-02 10:00" }),
			"FR-DAT 2026-03-03 09:00, FR-RES 2026-03-13 23:59"},

		"DE: three days away": {
			with(german, func(a *told) { a.absences = "away 2026-03-03 2026-03-05" }), ""},
		"DE: four days away": {
			with(german, func(a *told) { a.absences = "away 2026-03-03 2026-03-06" }),
			"DE-ANZ 2026-03-09 23:59, DE-6(2)"},
		"DE: the fourth day is not over the line before it comes": {
			with(german, func(a *told) { a.absences, a.now = "away 2026-03-03 2026-03-31", "2026-03-05 20:00" }), ""},
		"DE: at work, then unfit over a weekend": {
			with(german, func(a *told) { a.absences = "away 2026-03-06 2026-03-09" }),
			"DE-ANZ 2026-03-12 23:59, DE-6(2)"},
		"DE: on the way to work": {
			with(german, func(a *told) { a.absences, a.journey = "away 2026-03-03 2026-03-06", "commuting" }),
			"DE-ANZ 2026-03-09 23:59"},
		"DE: partly unfit is recorded": {
			with(german, func(a *told) { a.absences = "away 2026-03-03 2026-03-04 restricted 2026-03-05 2026-03-11" }),
			"DE-6(2)"},
		"DE: death": {with(german, func(a *told) {
			a.row = record.OSHACase{"death_date": "2026-03-02", "death_known_at": "2026-03-02 14:00"}
		}), "DE-ANZ 2026-03-05 23:59, DE-SCHWER 2026-03-02 14:00, DE-6(2)"},

		"DE: death, and an absence without an end": {with(german, func(a *told) {
			a.absences = "away 2026-03-03 open"
			a.row = record.OSHACase{"death_date": "2026-03-04", "death_known_at": "2026-03-04 14:00"}
		}), "DE-ANZ 2026-03-07 23:59, DE-SCHWER 2026-03-04 14:00, DE-6(2)"},
		"DE: a report that is typed after the death": {
			with(in("DE", "2026-03-02 10:00", "2026-03-20 11:00"), func(a *told) {
				a.absences = "away 2026-03-03 open"
				a.row = record.OSHACase{"death_date": "2026-03-07", "death_known_at": "2026-03-07 10:00"}
			}), "DE-ANZ 2026-03-10 23:59, DE-SCHWER 2026-03-07 10:00, DE-6(2)"},

		"GB: death, and an absence without an end": {with(british, func(a *told) {
			a.absences = "away 2026-03-03 open"
			a.row = record.OSHACase{"death_date": "2026-03-05", "death_known_at": "2026-03-05 14:00"}
		}), "GB-NOTIFY 2026-03-02 10:00, GB-PROC 2026-03-12 23:59, GB-3D"},
		"GB: three days": {with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-05" }), ""},
		"GB: four days":  {with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-06" }), "GB-3D"},
		"GB: seven days": {with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-09" }), "GB-3D"},
		"GB: eight days": {
			with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-10" }),
			"GB-7D 2026-03-17 23:59, GB-3D"},
		"GB: restricted": {
			with(british, func(a *told) { a.absences = "restricted 2026-03-03 2026-03-10" }),
			"GB-7D 2026-03-17 23:59, GB-3D"},
		"GB: not in line": {
			with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-06 away 2026-03-09 2026-03-12" }),
			"GB-3D"},
		"GB: both kinds of days in line": {
			with(british, func(a *told) { a.absences = "away 2026-03-03 2026-03-04 restricted 2026-03-05 2026-03-11" }),
			"GB-7D 2026-03-17 23:59, GB-3D"},
		"GB: fracture of a wrist": {
			with(british, func(a *told) { a.row = record.OSHACase{"specified_injury": "fracture"} }),
			"GB-NOTIFY 2026-03-02 10:00, GB-PROC 2026-03-12 23:59, GB-3D"},
		"GB: fracture of a finger": {with(british, func(a *told) { a.row = record.OSHACase{} }), ""},
		"GB: a crash on the road": {
			with(british, func(a *told) {
				a.journey, a.row = "road", record.OSHACase{"specified_injury": "fracture"}
			}), ""},
		"GB: while unloading": {
			with(british, func(a *told) { a.row = record.OSHACase{"specified_injury": "crush"} }),
			"GB-NOTIFY 2026-03-02 10:00, GB-PROC 2026-03-12 23:59, GB-3D"},
		"GB: death within a year of a specified injury": {
			with(in("GB", "2026-02-01 10:00", "2026-02-01 10:00"), func(a *told) {
				a.row = record.OSHACase{"specified_injury": "fracture", "death_date": "2027-01-20",
					"death_known_at": "2027-01-21 09:00"}
				a.now = "2027-03-01 09:00"
			}), "GB-NOTIFY 2026-02-01 10:00, GB-PROC 2026-02-11 23:59, GB-1YR 2027-01-21 09:00, GB-3D"},
		"GB: death after more than a year": {
			with(in("GB", "2026-02-01 10:00", "2026-02-01 10:00"), func(a *told) {
				a.row = record.OSHACase{"specified_injury": "fracture", "death_date": "2027-02-02"}
				a.now = "2027-03-01 09:00"
			}), "GB-NOTIFY 2026-02-01 10:00, GB-PROC 2026-02-11 23:59, GB-3D"},

		"US: nothing to tell": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) { a.row = record.OSHACase{} }), ""},
		"US: in-patient treatment within a day": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
				a.row = record.OSHACase{"in_patient": true, "in_patient_at": "2026-03-03 10:00"}
			}), "US-TREATMENT 2026-03-04 10:00"},
		"US: in-patient treatment later": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
				a.row = record.OSHACase{"in_patient": true, "in_patient_at": "2026-03-03 10:01"}
			}), ""},
		"US: death": {with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
			a.row = record.OSHACase{"in_patient": true, "death_date": "2026-04-01",
				"death_known_at": "2026-04-01 20:00"}
		}), "US-DEATH 2026-04-02 04:00, US-TREATMENT 2026-03-03 11:00"},
		"US: a report that is typed after the death": {
			with(in("US", "2026-03-02 10:00", "2026-03-05 11:00"), func(a *told) {
				a.row = record.OSHACase{"death_date": "2026-03-03", "death_known_at": "2026-03-03 09:00"}
			}), "US-DEATH 2026-03-03 17:00"},
		"US: OSHA was told before the report was typed": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 15:00"), func(a *told) {
				a.row = record.OSHACase{"eye_loss": true, "osha_told_at": "2026-03-02 12:00"}
			}), "US-TREATMENT 2026-03-03 12:00"},
		"US: an amputation before the death": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
				a.row = record.OSHACase{"amputation": true, "death_date": "2026-03-02", "death_time": "19:00",
					"death_known_at": "2026-03-02 20:00"}
			}), "US-DEATH 2026-03-03 04:00, US-TREATMENT 2026-03-03 11:00"},
		"US: an amputation and death at once": {
			with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
				a.row = record.OSHACase{"amputation": true, "death_date": "2026-03-02", "death_time": "10:00"}
			}), "US-DEATH 2026-03-02 19:00"},
		"US: death after 31 days": {with(in("US", "2026-03-02 10:00", "2026-03-02 11:00"), func(a *told) {
			a.row = record.OSHACase{"death_date": "2026-04-02"}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := describe(clocks.Running(factsOf(t, c.told)), localtime.Zone(zones[c.told.country]))
			if got != c.want {
				t.Errorf("%+v:\n got %s\nwant %s", c.told, got, c.want)
			}
		})
	}
}

// What did not count is told with the clock.
func TestSkippedDays(t *testing.T) {
	f := factsOf(t, told{country: "FR", occurred: "2026-05-22 15:00", known: "2026-05-22 16:00",
		now: "2026-05-22 17:00"})
	var got []string
	for _, d := range clocks.Running(f)[0].Skipped {
		got = append(got, d.String())
	}
	if want := []string{"2026-05-24", "2026-05-25"}; !slices.Equal(got, want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
}

// An accident that is no injury of the employer's own people has no European clock.
func TestOthersHaveNoClock(t *testing.T) {
	f := factsOf(t, told{country: "FR", occurred: "2026-03-03 09:00", known: "2026-03-03 09:30",
		now: "2026-03-04 09:00"})
	f.IsOthers = true
	if list := clocks.Running(f); len(list) > 0 {
		t.Errorf("a contractor's accident has %v", describe(list, time.UTC))
	}
	f.IsOthers, f.IsInjury = false, false
	if list := clocks.Running(f); len(list) > 0 {
		t.Errorf("an illness has %v", describe(list, time.UTC))
	}
}
