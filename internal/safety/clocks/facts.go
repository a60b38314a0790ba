package clocks

import (
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety/regimes"
	"holdfast/internal/store"
)

// Columns of what clocks rest on.
const (
	kindColumn         = "kind"
	occurredAtColumn   = "occurred_at"
	knownAtColumn      = "known_at"
	reportedAtColumn   = "reported_at"
	inPatientColumn    = "in_patient"
	inPatientAtColumn  = "in_patient_at"
	amputationColumn   = "amputation"
	eyeLossColumn      = "eye_loss"
	deathKnownAtColumn = "death_known_at"
	statusColumn       = "status"
	zoneIDColumn       = "zone_id"
)

// Facts are what the clocks of an accident are worked out from. Moments that nobody
// wrote down are zero.
type Facts struct {
	*regimes.Accident
	Country string
	Zone    *time.Location

	IsInjury       bool // else an illness
	IsOthers       bool // of a contractor, whose own employer declares it in Europe
	IsUnsupervised bool // of one who is supervised by another, who reports it in the United States
	Occurred       time.Time
	Known          time.Time // when the employer learned of it
	DeathAt        time.Time
	DeathKnown     time.Time // when the employer learned of the death
	IsInPatient    bool
	InPatientAt    time.Time
	IsMaimed       bool      // an amputation, or the loss of an eye
	Declared       time.Time // when the declaration to the CPAM was sent
}

// FactsOf makes facts of the records of an incident.
func FactsOf(r regimes.Records, country string) *Facts {
	f := &Facts{
		Accident: regimes.AccidentOf(r), Country: country, Zone: r.Zone,
		IsInjury: r.Incident.Kind() == "injury",
		Occurred: momentOf(store.Row(r.Incident), occurredAtColumn),
		Known:    momentOf(store.Row(r.Incident), reportedAtColumn),
	}
	f.noteKnown(momentOf(store.Row(r.Incident), knownAtColumn))
	if r.Case == nil {
		return f
	}
	f.noteKnown(momentOf(store.Row(r.Case), deathKnownAtColumn))
	f.noteKnown(momentOf(store.Row(r.Case), toldColumn))
	f.IsInPatient, f.InPatientAt = isSet(r.Case, inPatientColumn), momentOf(store.Row(r.Case), inPatientAtColumn)
	f.IsMaimed = isSet(r.Case, amputationColumn) || isSet(r.Case, eyeLossColumn)
	if f.HasDied() {
		f.DeathAt = f.deathMoment(r.Case.DeathTime())
		f.DeathKnown = momentOf(store.Row(r.Case), deathKnownAtColumn)
		if f.DeathKnown.IsZero() {
			f.DeathKnown = laterOf(f.Known, f.DeathAt)
		}
	}
	return f
}

// noteKnown takes down a moment at which the employer knew of the accident: the earliest
// on record counts, whenever the report was typed. One before the accident is an error.
func (f *Facts) noteKnown(at time.Time) {
	if !at.IsZero() && !at.Before(f.Occurred) {
		f.Known = earlierOf(f.Known, at)
	}
}

// deathMoment is when somebody died: at a local time, HH:MM, or when that is unknown as
// early as it can have been, which is the strict reading.
func (f *Facts) deathMoment(clock string) time.Time {
	day := localtime.DateOf(f.Died, time.UTC)
	at, err := time.Parse("15:04", clock)
	if err == nil {
		year, month, date := day.UTC().Date()
		return time.Date(year, month, date, at.Hour(), at.Minute(), 0, 0, f.Zone).UTC()
	}
	return laterOf(day.Start(f.Zone), f.Occurred)
}

// wasAlive reports a moment before the death, if there was one.
func (f *Facts) wasAlive(at time.Time) bool { return !f.HasDied() || at.Before(f.DeathAt) }

// isAccident reports an accident that the European rules are about: an injury of somebody
// whose employer this is.
func (f *Facts) isAccident() bool { return f.IsInjury && !f.IsOthers }

// startOf is the first moment of a local day that is given as midnight UTC.
func (f *Facts) startOf(day time.Time) time.Time {
	return localtime.DateOf(day, time.UTC).Start(f.Zone)
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlierOf is the earlier of two moments, of which a zero one is unknown.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func isSet(row record.OSHACase, name string) bool { b, _ := row[name].(bool); return b }

// momentOf reads a stored time; the zero time when there is none.
func momentOf(row store.Row, name string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, row.Text(name))
	if err != nil {
		return time.Time{}
	}
	return at
}
