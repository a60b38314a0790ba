package osha

import (
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/safety/regimes"
	"holdfast/internal/store"
)

// Columns of a case that say when what has to be told came about.
const (
	deathDateColumn  = "death_date"
	deathTimeColumn  = "death_time"
	deathKnownColumn = "death_known_at"
	inPatientColumn  = "in_patient"
	admittedColumn   = "in_patient_at"
)

// DueAt is by when OSHA must be told of a case, by the rules of package clocks for the
// United States (29 CFR 1904.39(a), (b)(6)). The zero time when nothing need be told.
func DueAt(c record.OSHACase, incident record.Incident, zone *time.Location) time.Time {
	facts := clocks.FactsOf(regimes.Records{Incident: incident, Case: c, Zone: zone}, "US")
	for _, k := range clocks.Running(facts) {
		return k.Due
	}
	return time.Time{}
}

// checkMomentsOf holds the moments of a case to what they belong to and to the calendar.
func checkMomentsOf(c record.OSHACase, incident record.Incident, now time.Time) error {
	occurred := incident.OccurredAt()
	for _, m := range [...]struct {
		field  string
		belong bool
		to     string
	}{
		{admittedColumn, boolField(store.Row(c), inPatientColumn), inPatientColumn},
		{deathTimeColumn, c.HasDeathDate(), deathDateColumn},
		{deathKnownColumn, c.HasDeathDate(), deathDateColumn},
	} {
		if c[m.field] == nil {
			continue
		}
		if !m.belong {
			return refuseMoment(m.field, "%s needs %s", m.field, m.to)
		}
		switch at := store.Row(c).Text(m.field); {
		case m.field == deathTimeColumn:
			if !clock.MatchString(at) {
				return refuseMoment(m.field, "%s must be a time such as 14:30", m.field)
			}
		case at < occurred:
			return refuseMoment(m.field, "%s lies before the accident", m.field)
		case safety.IsAhead(at, now):
			return refuseMoment(m.field, "%s lies in the future", m.field)
		}
	}
	return nil
}

func refuseMoment(field, format string, args ...any) *fault.Error {
	return refuseRule(field, "29 CFR 1904.39", format, args...)
}
