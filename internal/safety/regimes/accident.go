package regimes

import (
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety/absence"
)

// Journeys of an incident.
const (
	commuting = "commuting"
	onRoad    = "road"
)

// Accident is an injury of somebody who works here, whatever OSHA's log says of it, with
// what the countries' figures and deadlines ask of it.
type Accident struct {
	Journey        string    // empty at the workplace
	Injured, Today time.Time // local days, as midnight UTC
	Died           time.Time // likewise; zero for the living
	IsMinor        bool      // entered in the register of minor accidents
	IsSpecified    bool      // an injury that is reported whatever the days
	Periods        []absence.Period

	id, site         string
	thisYear         bool
	isAssumed        bool  // its days are a number, taken as following the accident
	away, restricted int64 // what the case states itself, for when it has no absences
}

// accidentsSQL selects accidents that happened in a year, and earlier ones whose days
// away may reach into it, with their absences; an accident has as many rows as
// absences, or one. $1 tenant, $2 year, $3 first day of the year, $4 ids of sites.
const accidentsSQL = `
	SELECT osha_case.id, osha_case.site_id, osha_case.year, osha_case.death_date,
		osha_case.amputation, osha_case.eye_loss, coalesce(osha_case.specified_injury, ''), osha_case.minor_register,
		osha_case.days_away, osha_case.days_restricted, osha_case.away_from, osha_case.away_until,
		osha_case.restricted_from, osha_case.restricted_until,
		incident.occurred_at, coalesce(incident.journey, ''),
		absence.kind, absence.from_on, absence.until_on, absence.estimated
	FROM osha_cases AS osha_case
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = osha_case.incident_id
	LEFT JOIN workers AS worker ON worker.tenant_id = $1 AND worker.id = osha_case.worker_id
	LEFT JOIN absences AS absence ON absence.tenant_id = $1 AND absence.case_id = osha_case.id
	WHERE osha_case.tenant_id = $1
		AND (
			osha_case.year = $2
			OR (
				osha_case.year < $2
				AND (
					osha_case.away_until >= $3
					OR (osha_case.away_until IS NULL AND (osha_case.away_from IS NOT NULL OR osha_case.days_away > 0))
				)
			)
		)
		AND osha_case.site_id IN {ids $4}
		AND incident.kind = 'injury'
		AND incident.status <> 'void'
		AND coalesce(worker.employment, 'employee') <> 'contractor'
	ORDER BY osha_case.id, absence.from_on`

// queueAccidents asks for the accidents that a year's figures may count.
func queueAccidents(tx *db.Tx, a Asked, places *Places, add func(*Accident)) {
	zones := map[string]*time.Location{}
	for _, s := range places.sites {
		zones[s.id] = s.zone
	}
	var last *Accident
	first := absence.WriteDay(yearStart(a.Year, time.UTC))
	tx.Queue(accidentsSQL, []any{a.Tenant, a.Year, first, query.List(places.listIDs())}, func(r *db.Row) error {
		if last == nil || last.id != r.Text(0) {
			last = scanAccident(r, a, zones[r.Text(1)])
			add(last)
		}
		if r.Null(16) {
			last.assumePeriods(scanStated(r))
			return nil
		}
		var p absence.Period
		p.ScanColumns(r, 16)
		last.Periods = append(last.Periods, p)
		return nil
	})
}

func scanAccident(r *db.Row, a Asked, zone *time.Location) *Accident {
	return &Accident{
		id: r.Text(0), site: r.Text(1), thisYear: r.Int(2) == a.Year, Died: parseDay(r.Text(3)),
		IsSpecified: isSpecified(r.Bool(4), r.Bool(5), r.Text(6)), IsMinor: r.Bool(7),
		away: r.Int(8), restricted: r.Int(9), Journey: r.Text(15),
		Injured: localtime.DateOf(r.Time(14), zone).UTC(), Today: localtime.DateOf(a.Now, zone).UTC(),
	}
}

// isSpecified reports an injury that the United Kingdom has reported whatever the days
// (RIDDOR 2013 reg. 4(1)).
func isSpecified(amputation, eyeLoss bool, specified string) bool {
	return amputation || eyeLoss || specified != ""
}

// stated are the days that a case without absences states itself.
type stated struct{ awayFrom, awayUntil, restrictedFrom, restrictedUntil time.Time }

func scanStated(r *db.Row) stated {
	return stated{awayFrom: parseDay(r.Text(10)), awayUntil: parseDay(r.Text(11)),
		restrictedFrom: parseDay(r.Text(12)), restrictedUntil: parseDay(r.Text(13))}
}

// assumePeriods makes periods of what a case states itself. A number of days without
// its dates is taken to follow the accident, away before restricted where days away have
// an end.
func (c *Accident) assumePeriods(s stated) {
	next := c.Injured.AddDate(0, 0, 1)
	for _, k := range [...]struct {
		kind        string
		days        int64
		from, until time.Time
	}{
		{absence.Away, c.away, s.awayFrom, s.awayUntil},
		{absence.Restricted, c.restricted, s.restrictedFrom, s.restrictedUntil},
	} {
		p := absence.Period{Kind: k.kind, From: k.from, Until: k.until}
		if k.days == 0 && k.from.IsZero() {
			continue
		}
		if k.from.IsZero() || k.until.IsZero() && k.days > 0 {
			if p.From.IsZero() {
				p.From = next
			}
			p.Until = p.From.AddDate(0, 0, int(max(k.days, 1))-1)
			c.isAssumed = true
		}
		c.Periods = append(c.Periods, p)
		if !p.Until.IsZero() { // behind what lasts nothing follows
			next = p.Until.AddDate(0, 0, 1)
		}
	}
}

// parseDay reads a stored calendar day as midnight UTC; the zero time when there is
// none.
func parseDay(s string) time.Time {
	d, err := localtime.ParseDate(s)
	if err != nil {
		return time.Time{}
	}
	return d.UTC()
}

// daysOf are the days of a period that have passed, both included, without the day of
// the accident, which counts in no regime. Nobody is away after the day of death, though
// the absence may have been left without an end.
func (c *Accident) daysOf(p absence.Period) (from, until time.Time) {
	from, until = p.From, p.Until
	if next := c.Injured.AddDate(0, 0, 1); from.Before(next) {
		from = next
	}
	if until.IsZero() || until.After(c.Today) {
		until = c.Today
	}
	if c.HasDied() && until.After(c.Died) {
		until = c.Died
	}
	return from, until
}

// LastUnfitDay is the last day that has passed away or at restricted work; zero without one.
func (c *Accident) LastUnfitDay() (last time.Time) {
	for _, p := range c.Periods {
		if from, until := c.daysOf(p); !until.Before(from) && until.After(last) {
			last = until
		}
	}
	return last
}

// awayDays counts the calendar days away from one day to another, both included.
func (c *Accident) awayDays(first, last time.Time) int64 {
	n := int64(0)
	for _, p := range c.Periods {
		if p.Kind != absence.Away {
			continue
		}
		from, until := c.daysOf(p)
		if from.Before(first) {
			from = first
		}
		if until.After(last) {
			until = last
		}
		n += countDays(from, until)
	}
	return n
}

// allAway are the calendar days away, in whatever year, without an end of counting.
func (c *Accident) allAway() int64 { return c.awayDays(c.Injured, c.Today) }

// unfitDays are the calendar days away or at restricted work.
func (c *Accident) unfitDays() int64 {
	all, _ := c.countRuns()
	return all
}

// longestRun is the most consecutive calendar days away or at restricted work.
func (c *Accident) longestRun() int64 {
	_, longest := c.countRuns()
	return longest
}

// days are calendar days, both included.
type days struct{ from, until time.Time }

// countRuns counts the calendar days away or at restricted work, all of them and the
// longest run. A case may state its days in any order, and a day as both: each counts
// once.
func (c *Accident) countRuns() (all, longest int64) {
	var list []days
	for _, p := range c.Periods {
		if from, until := c.daysOf(p); !until.Before(from) {
			list = append(list, days{from, until})
		}
	}
	slices.SortFunc(list, func(x, y days) int { return x.from.Compare(y.from) })
	var run days
	for i, d := range list {
		if i > 0 && !d.from.After(run.until.AddDate(0, 0, 1)) {
			if d.until.After(run.until) {
				all += countDays(run.until.AddDate(0, 0, 1), d.until)
				run.until = d.until
			}
		} else {
			all += countDays(d.from, d.until)
			run = d
		}
		longest = max(longest, countDays(run.from, run.until))
	}
	return all, longest
}

// HasDied reports a death of the accident, whenever it came.
func (c *Accident) HasDied() bool { return !c.Died.IsZero() }

// HasDiedInAYear reports a death within a year of the accident.
func (c *Accident) HasDiedInAYear() bool {
	return c.HasDied() && !c.Died.After(c.Injured.AddDate(1, 0, 0))
}

func countDays(from, until time.Time) int64 {
	if until.Before(from) {
		return 0
	}
	return int64(until.Sub(from).Hours()/24) + 1
}
