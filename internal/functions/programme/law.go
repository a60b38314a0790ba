package programme

import (
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/safety/yearly"
)

// Jurisdictions of regulations whose law ends at a border.
const (
	americanLaw = "US"
	unionLaw    = "EU"
)

// queuePlaces asks under which law the entities are, if the tenant's sites may be under
// different ones and a rule of one of them is about single entities.
func (s *scan) queuePlaces(tx *db.Tx) {
	s.places = map[string][]jurisdiction.Place{}
	if !s.known.american || !s.known.abroad {
		return
	}
	for kind, g := range s.groups {
		asks := func(r *regulation) bool {
			return r.rule.Per != "tenant" && r.law != "Global" && slices.Contains(r.rule.Scope.EntityTypes, kind)
		}
		if !slices.ContainsFunc(s.regs, asks) {
			continue
		}
		places := make([]jurisdiction.Place, len(g.list))
		s.places[kind] = places
		jurisdiction.QueuePlaces(tx, s.tenant, kind, s.in.EntityID, func(id uuid.UUID, at jurisdiction.Place) {
			if i, ok := g.at[id]; ok {
				places[i] = at
			}
		})
	}
}

// isUnderLaw reports whether the law of a regulation may hold where the ith entity is. At
// a tenant whose sites are all under one law it holds everywhere.
func (s *scan) isUnderLaw(r *regulation, kind string, i int) bool {
	places := s.places[kind]
	return places == nil || places[i].IsUnder(r.law)
}

// logDelaysSQL selects the injuries and illnesses of a window with their report, and the
// decision whether the case goes into the log, or now. $1 tenant, $2 type of entity, $3
// now, $4 start of the window; the words are the column of the entity, its join, the
// kinds, the severities, and the condition on where it happened.
const logDelaysSQL = `
	SELECT {entity}, i.reported_at, coalesce(c.entered_at, $3), i.id, coalesce(site.naics, '')
	FROM incidents AS i
	LEFT JOIN osha_cases AS c ON c.tenant_id = i.tenant_id AND c.incident_id = i.id
	JOIN tenants AS tenant ON tenant.id = i.tenant_id
	LEFT JOIN zones AS z ON z.tenant_id = i.tenant_id AND z.id = i.zone_id
	LEFT JOIN sites AS site ON site.tenant_id = i.tenant_id AND site.id = coalesce(i.site_id, z.site_id)
	{join}
	WHERE i.tenant_id = $1
		AND $2 <> ''
		AND i.occurred_at > $4
		AND i.occurred_at <= $3
		AND i.status <> 'void'
		AND i.kind IN ({kinds})
		AND i.severity IN ({severities})
		{where}`

// fillLogDelays enters the calendar days from the report of a case until it was decided
// whether it goes into the log (29 CFR 1904.29(b)(3)), or until now. A regulation looks at
// accidents under its own law, that of the United States not at industries that keep no log.
func (s *scan) fillLogDelays(tx *db.Tx, r *regulation, kind string, t *table) {
	t.zero, t.silent = true, !s.watchesIncidents(r.rule)
	t.exempt = r.law == americanLaw && !s.known.american || r.law == unionLaw && s.known.american && !s.known.abroad
	f := &r.rule.Scope.Filter
	kinds := []string{"injury", "illness"}
	if len(f.Kind) > 0 {
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return !slices.Contains(f.Kind, k) })
	}
	if len(kinds) == 0 {
		return // no accident is asked for
	}
	entity, join := "NULL", ""
	if r.rule.Per != "tenant" {
		entity = "e.entity_id"
		join = `JOIN incident_entities AS e ON e.tenant_id = i.tenant_id
			AND e.incident_id = i.id
			AND e.entity_type = $2`
	}
	sql := db.FillWords(logDelaysSQL, "{entity}", entity, "{join}", join, "{kinds}", quoteWords(kinds),
		"{severities}", quoteWords(f.Severities()), "{where}", jurisdiction.WhereUnder(r.law))

	g := s.groups[kind]
	args := []any{s.tenant, kind, s.now, s.windowStart(r.rule.WindowDays)}
	tx.Queue(sql, args, func(row *db.Row) error {
		if r.law == americanLaw && yearly.IsExempt(row.Text(4)) {
			return nil
		}
		i := everyEntity
		if r.rule.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		t.raiseValue(i, s.calendarDays(row.Time(1), row.Time(2)), row.UUID(3))
		return nil
	})
}
