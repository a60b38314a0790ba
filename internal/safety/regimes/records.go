package regimes

import (
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/safety/absence"
	"holdfast/internal/store"
)

// Columns of an incident and of a case that an accident is made of.
const (
	occurredAtColumn      = "occurred_at"
	journeyColumn         = "journey"
	deathDateColumn       = "death_date"
	minorRegisterColumn   = "minor_register"
	amputationColumn      = "amputation"
	eyeLossColumn         = "eye_loss"
	specifiedInjuryColumn = "specified_injury"
	daysAwayColumn        = "days_away"
	daysRestrictedColumn  = "days_restricted"
	awayFromColumn        = "away_from"
	awayUntilColumn       = "away_until"
	restrictedFromColumn  = "restricted_from"
	restrictedUntilColumn = "restricted_until"
)

// Records are what is on record of an accident. Case is nil while there is none.
type Records struct {
	Incident, Case store.Row
	Periods        []absence.Period
	Zone           *time.Location // of the establishment
	Now            time.Time
}

// AccidentOf makes an accident of its records.
func AccidentOf(r Records) *Accident {
	c := &Accident{
		Journey: r.Incident.Text(journeyColumn),
		Injured: localtime.DateOf(momentOf(r.Incident, occurredAtColumn), r.Zone).UTC(),
		Today:   localtime.DateOf(r.Now, r.Zone).UTC(),
		Periods: r.Periods,
	}
	if r.Case == nil {
		return c
	}
	c.Died = parseDay(r.Case.Text(deathDateColumn))
	c.IsMinor, _ = r.Case[minorRegisterColumn].(bool)
	amputation, _ := r.Case[amputationColumn].(bool)
	eyeLoss, _ := r.Case[eyeLossColumn].(bool)
	c.IsSpecified = isSpecified(amputation, eyeLoss, r.Case.Text(specifiedInjuryColumn))
	c.away, _ = r.Case[daysAwayColumn].(int64)
	c.restricted, _ = r.Case[daysRestrictedColumn].(int64)
	if len(r.Periods) == 0 {
		c.assumePeriods(stated{
			awayFrom: parseDay(r.Case.Text(awayFromColumn)), awayUntil: parseDay(r.Case.Text(awayUntilColumn)),
			restrictedFrom:  parseDay(r.Case.Text(restrictedFromColumn)),
			restrictedUntil: parseDay(r.Case.Text(restrictedUntilColumn)),
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
