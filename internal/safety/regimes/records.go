package regimes

import (
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety/absence"
	"holdfast/internal/store"
)

// Columns of an incident and of a case that an accident is made of.
const (
	occurredAtColumn = "occurred_at"
)

// Records are what is on record of an accident. Case is nil while there is none.
type Records struct {
	Incident record.Incident
	Case     record.OSHACase
	Periods  []absence.Period
	Zone     *time.Location // of the establishment
	Now      time.Time
}

// AccidentOf makes an accident of its records.
func AccidentOf(r Records) *Accident {
	c := &Accident{
		Journey: r.Incident.Journey(),
		Injured: localtime.DateOf(momentOf(store.Row(r.Incident), occurredAtColumn), r.Zone).UTC(),
		Today:   localtime.DateOf(r.Now, r.Zone).UTC(),
		Periods: r.Periods,
	}
	if r.Case == nil {
		return c
	}
	c.Died = parseDay(r.Case.DeathDate())
	c.IsMinor = r.Case.MinorRegister()
	amputation := r.Case.Amputation()
	eyeLoss := r.Case.EyeLoss()
	c.IsSpecified = isSpecified(amputation, eyeLoss, r.Case.SpecifiedInjury())
	c.away = r.Case.DaysAway()
	c.restricted = r.Case.DaysRestricted()
	if len(r.Periods) == 0 {
		c.assumePeriods(stated{
			awayFrom: parseDay(r.Case.AwayFrom()), awayUntil: parseDay(r.Case.AwayUntil()),
			restrictedFrom:  parseDay(r.Case.RestrictedFrom()),
			restrictedUntil: parseDay(r.Case.RestrictedUntil()),
		})
	}
	return c
}

// momentOf reads a stored time; the zero time when there is none.
func momentOf(row store.Row, name string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, row.Text(name))
	if err != nil {
		return time.Time{}
	}
	return at
}
