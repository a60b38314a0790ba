// Package regimes works out the figures of accidents at work as each country counts
// them, by the country of the site: which accidents, which days, over which hours or
// people, and where that is written. None rests on whether OSHA's log lists a case.
//
// Layer: domains. Begin at [QueueFigures].
package regimes

import (
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety/absence"
)

// Asked says whose figures are asked for: a local year, counted at a moment.
type Asked struct {
	Tenant string
	Year   int64
	Now    time.Time

	// A count, or days, x per / exposure; what is out of all proportion is not known.
	RateCount func(n int64, exposure, per float64) (value, low, high *float64)
	RateDays  func(n int64, exposure, per float64) (value *float64)
}

// Places are the establishments whose figures are asked for.
type Places struct{ sites []*site }

// site is an establishment with what its year is measured by.
type site struct {
	id, country string
	zone        *time.Location

	hours, employees, equivalents float64
	stated                        bool // its summary states the people employed
	accidents                     int64
}

func (p *Places) listIDs() []string {
	ids := make([]string, len(p.sites))
	for i, s := range p.sites {
		ids[i] = s.id
	}
	return ids
}

// placesSQL selects establishments. $1 tenant, $2 one of them, empty for all.
const placesSQL = `
	SELECT site.id, coalesce(site.country, tenant.country, ''), coalesce(site.timezone, tenant.timezone)
	FROM sites AS site
	JOIN tenants AS tenant ON tenant.id = site.tenant_id
	WHERE site.tenant_id = $1
		AND ($2 = '' OR CAST(site.id AS text) = $2)
	ORDER BY site.code`

// QueuePlaces asks for one establishment, or with "" for all of a tenant; they are
// there after the next flush. An establishment without a country or time zone has the
// tenant's.
func QueuePlaces(tx *db.Tx, tenant, only string) *Places {
	p := &Places{}
	tx.Queue(placesSQL, []any{tenant, only}, func(r *db.Row) error {
		p.sites = append(p.sites, &site{id: r.Text(0), country: r.Text(1), zone: localtime.Zone(r.Text(2))})
		return nil
	})
	return p
}

// statedSQL selects what establishments state of a year. $1 tenant, $2 year, $3 ids of
// sites.
const statedSQL = `
	SELECT site_id, additional_hours, avg_employees, full_time_equivalents
	FROM osha_summaries
	WHERE tenant_id = $1
		AND year = $2
		AND site_id IN {ids $3}`

// hoursSQL sums the hours of approved shifts by establishment: that of the zone, else
// of the worker. $1 tenant, $2 from, $3 until, $4 ids of sites.
const hoursSQL = `
	SELECT coalesce(zone.site_id, worker.site_id), CAST(coalesce(SUM(shift.hours), 0) AS bigint)
	FROM shifts AS shift
	JOIN workers AS worker ON worker.tenant_id = $1 AND worker.id = shift.worker_id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = shift.zone_id
	WHERE shift.tenant_id = $1
		AND shift.status = 'approved'
		AND shift.started_at >= $2
		AND shift.started_at < $3
		AND worker.employment <> 'contractor'
		AND coalesce(zone.site_id, worker.site_id) IN {ids $4}
	GROUP BY coalesce(zone.site_id, worker.site_id)`

// employmentsSQL selects when people were employed. One who has left on a day that
// nobody wrote down counts for none. $1 tenant, $2 ids of sites.
const employmentsSQL = `
	SELECT site_id, hired_on, left_on
	FROM workers
	WHERE tenant_id = $1
		AND employment <> 'contractor'
		AND (status <> 'left' OR left_on IS NOT NULL)
		AND site_id IN {ids $2}`

// caselessSQL counts the injuries of a year that have no case. $1 tenant, $2 from, $3
// until, $4 ids of sites.
const caselessSQL = `
	SELECT coalesce(incident.site_id, zone.site_id), COUNT(*)
	FROM incidents AS incident
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = incident.zone_id
	WHERE incident.tenant_id = $1
		AND incident.kind = 'injury'
		AND incident.status <> 'void'
		AND incident.occurred_at >= $2
		AND incident.occurred_at < $3
		AND coalesce(incident.site_id, zone.site_id) IN {ids $4}
		AND NOT EXISTS (
			SELECT 1
			FROM osha_cases AS osha_case
			WHERE osha_case.tenant_id = $1
				AND osha_case.incident_id = incident.id
		)
	GROUP BY coalesce(incident.site_id, zone.site_id)`

// QueueFigures asks for the figures of a year; the returned function gives them once
// the transaction is flushed.
func QueueFigures(tx *db.Tx, a Asked, places *Places) func() []Regime {
	kept := places.sites[:0:0]
	for _, s := range places.sites {
		if len(figuresOf(s.country)) > 0 {
			kept = append(kept, s)
		}
	}
	places = &Places{kept}
	if len(kept) == 0 {
		return func() []Regime { return []Regime{} }
	}

	byID := map[string]*site{}
	byZone := map[string]*Places{}
	for _, s := range kept {
		byID[s.id] = s
		if byZone[s.zone.String()] == nil {
			byZone[s.zone.String()] = &Places{}
		}
		byZone[s.zone.String()].sites = append(byZone[s.zone.String()].sites, s)
	}
	caseless := map[string]int64{}
	for _, s := range kept {
		alike := byZone[s.zone.String()]
		if alike.sites[0] != s {
			continue
		}
		args := []any{a.Tenant, yearStart(a.Year, s.zone), yearStart(a.Year+1, s.zone), query.List(alike.listIDs())}
		tx.Queue(hoursSQL, args, func(r *db.Row) error {
			byID[r.Text(0)].hours += r.Dec(1).Float()
			return nil
		})
		tx.Queue(caselessSQL, args, func(r *db.Row) error {
			caseless[r.Text(0)] = r.Int(1)
			return nil
		})
	}
	tx.Queue(statedSQL, []any{a.Tenant, a.Year, query.List(places.listIDs())}, func(r *db.Row) error {
		s := byID[r.Text(0)]
		s.hours += float64(r.Int(1))
		if n := r.Int(2); n > 0 {
			s.employees, s.stated = float64(n), true
		}
		s.equivalents = r.Dec(3).Float()
		return nil
	})
	queueEmployees(tx, a, places, byID)
	var accidents []*Accident
	queueAccidents(tx, a, places, func(c *Accident) { accidents = append(accidents, c) })
	return func() []Regime { return groupFigures(a, kept, accidents, caseless) }
}

// queueEmployees asks for the mean number of people employed on a day of the year,
// where the establishment does not state it. A worker without a date of hire counts
// for the whole year.
func queueEmployees(tx *db.Tx, a Asked, places *Places, byID map[string]*site) {
	first, last := yearStart(a.Year, time.UTC), yearStart(a.Year+1, time.UTC).AddDate(0, 0, -1)
	year := float64(countDays(first, last))
	tx.Queue(employmentsSQL, []any{a.Tenant, query.List(places.listIDs())}, func(r *db.Row) error {
		s := byID[r.Text(0)]
		if s.stated {
			return nil
		}
		from, until := first, last
		if d := parseDay(r.Text(1)); d.After(from) {
			from = d
		}
		if d := parseDay(r.Text(2)); !d.IsZero() && d.Before(until) {
			until = d
		}
		s.employees += float64(countDays(from, until)) / year
		return nil
	})
}

// yearStart is the first instant of a local year.
func yearStart(year int64, zone *time.Location) time.Time {
	return time.Date(int(year), 1, 1, 0, 0, 0, 0, zone).UTC()
}

// groupFigures gives the figures of each country that has an establishment.
func groupFigures(a Asked, sites []*site, accidents []*Accident, caseless map[string]int64) []Regime {
	byCountry := map[string]*Regime{}
	of := map[string]*Regime{} // by site
	var order []string
	for _, s := range sites {
		r := byCountry[s.country]
		if r == nil {
			r = &Regime{Country: s.country, From: absence.WriteDay(yearStart(a.Year, time.UTC)), zone: s.zone}
			byCountry[s.country] = r
			order = append(order, s.country)
		}
		of[s.id] = r
		r.sites = append(r.sites, s)
		r.SiteIDs = append(r.SiteIDs, s.id)
		r.WithoutCase += caseless[s.id]
	}
	for _, c := range accidents {
		r := of[c.site]
		r.accidents = append(r.accidents, c)
		if c.thisYear {
			for _, s := range r.sites {
				if s.id == c.site {
					s.accidents++
				}
			}
		}
	}
	slices.Sort(order)
	out := make([]Regime, 0, len(order))
	for _, country := range order {
		r := byCountry[country]
		r.fillFigures(a)
		out = append(out, *r)
	}
	return out
}
