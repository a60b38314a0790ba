package programme

import (
	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/score"
	stocksites "holdfast/internal/warehouse/sites"
)

// sites are the zones that stand for the sites: the first zone of each.
type sites struct {
	list []siteRoot
	at   map[uuid.UUID]int32 // place of the zone in its group, by site
	lone int                 // place of what stands for all inspections of no site; -1 = none
}

// siteRoot is a site and the zone that stands for it.
type siteRoot struct {
	zone     int32 // place in the group
	american bool
}

// sitesSQL selects the zones of sites in use, each zone after those that stand for
// its site sooner, and whether the site may be in the United States. Zones of no site are
// of the only one. $1 tenant.
var sitesSQL = jurisdiction.FillStatement(stocksites.FillStatement(`
	SELECT site.id, zone.id,
		CASE WHEN {may be american} THEN 1 ELSE 0 END
	FROM sites AS site
	JOIN zones AS zone ON zone.tenant_id = site.tenant_id AND {site} = site.id
	JOIN tenants AS tenant ON tenant.id = site.tenant_id
	WHERE site.tenant_id = $1
		AND zone.tenant_id = $1
		AND site.archived_at IS NULL
		AND zone.status <> 'archived'
	ORDER BY site.id, CASE WHEN zone.parent_id IS NULL THEN 0 ELSE 1 END, lower(zone.code)`))

// queueSites asks for the zones that stand for the sites, if a rule is about sites.
func (s *scan) queueSites(tx *db.Tx) {
	s.sites = sites{at: map[uuid.UUID]int32{}, lone: -1}
	asked := false
	for _, r := range s.regs {
		asked = asked || r.rule.Per == "site"
	}
	g := s.groups[score.Zone]
	if !asked || g == nil {
		return
	}
	if root, ok := g.at[s.root]; ok {
		s.sites.lone = int(root) // until there is a site
	}
	seen := map[uuid.UUID]bool{}
	tx.Queue(sitesSQL, []any{s.tenant}, func(row *db.Row) error {
		site := row.UUID(0)
		if seen[site] {
			return nil
		}
		seen[site] = true
		zone := g.findPlace(row, 1)
		if zone >= 0 {
			s.sites.at[site] = int32(zone)
		}
		s.sites.list = append(s.sites.list, siteRoot{int32(zone), row.Int(2) == 1})
		if s.sites.lone = zone; len(seen) > 1 {
			s.sites.lone = -1
		}
		return nil
	})
}

// findRoot returns the place of the zone that stands for a site, or -1. An inspection
// of no site is that of the only one, or of the tenant where it has none.
func (s *sites) findRoot(site uuid.UUID) int {
	if i, ok := s.at[site]; ok {
		return int(i)
	}
	if site == uuid.Nil {
		return s.lone
	}
	return -1
}

// judgeSites judges each site by what is on record of it. A rule of the United States
// is about the sites there, any other about all; a tenant without sites is one.
func (s *scan) judgeSites(r *regulation, before *past) {
	g := s.groups[score.Zone]
	if g == nil {
		return
	}
	t := s.tables.by[tableKey(r, score.Zone)]
	judge := func(i int, in safety.Reading) {
		s.addVerdict(r, verdictPlace{t, g.list[i].id, int32(i)}, in, before.takeVerdict(score.Zone, i))
	}
	judged := false
	for _, site := range s.sites.list {
		if r.law == americanLaw && !site.american {
			continue
		}
		judged = true
		if site.zone >= 0 {
			judge(int(site.zone), t.readingOf(int(site.zone)))
		}
	}
	root, ok := g.at[s.root]
	if judged || !ok {
		return
	}
	in := t.readingOf(int(root))
	in.Exempt = len(s.sites.list) > 0 // they are all elsewhere
	judge(int(root), in)
}
