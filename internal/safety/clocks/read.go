package clocks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/absence"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/safety/regimes"
	"holdfast/internal/store"
)

// records are what the clocks of some incidents rest on.
type records struct {
	incidents    map[string]record.Incident              // by id
	clocks       map[string]map[string]record.LegalClock // by incident and code
	cases        map[string]record.OSHACase              // by incident
	absences     map[string][]absence.Period             // by case
	zones        map[string]record.Zone                  // places in a warehouse, by id
	sites        map[string]record.Site                  // by id
	isOthers     map[string]bool                         // workers who are contractors
	isSupervised map[string]bool                         // contractors who are supervised day to day here

	country, timezone string // of the tenant
}

// readRecords reads what the clocks of incidents rest on: little where none of them hurt
// anybody.
func readRecords(tx *store.Tx, ids []string) (*records, error) {
	r := &records{incidents: map[string]record.Incident{}, clocks: map[string]map[string]record.LegalClock{},
		cases: map[string]record.OSHACase{}, zones: map[string]record.Zone{}, sites: map[string]record.Site{},
		isOthers: map[string]bool{}, isSupervised: map[string]bool{}}
	if err := r.readIncidents(tx, ids); err != nil || len(r.incidents) == 0 {
		return r, err
	}
	var cases, workers []string
	list, err := record.List[record.OSHACase](tx, "incident_id IN {ids $2}", query.List(ids))
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		r.cases[c.IncidentID()] = c
		cases, workers = append(cases, c.ID()), append(workers, c.WorkerID())
	}
	if r.absences, err = absence.ListAbsences(tx.Tx, tx.TenantID, cases); err != nil {
		return nil, err
	}
	for id, in := range r.incidents {
		if r.cases[id] == nil {
			workers = append(workers, injuredIn(in)...)
		}
	}
	if err := r.readContractors(tx, workers); err != nil {
		return nil, err
	}
	return r, r.readPlaces(tx)
}

// readIncidents reads incidents that hurt somebody, or that have clocks, and those.
func (r *records) readIncidents(tx *store.Tx, ids []string) error {
	list, err := lockIncidents(tx, ids)
	if err != nil {
		return err
	}
	kept, err := record.List[record.LegalClock](tx, "incident_id IN {ids $2}", query.List(ids))
	if err != nil {
		return err
	}
	for _, c := range kept {
		incident := c.IncidentID()
		if r.clocks[incident] == nil {
			r.clocks[incident] = map[string]record.LegalClock{}
		}
		r.clocks[incident][c.Code()] = c
	}
	for _, in := range list {
		if id := in.ID(); isHealth(in.Kind()) || r.clocks[id] != nil {
			r.incidents[id] = in
		}
	}
	return nil
}

// lockIncidents reads and locks incidents in the order of their ids. The lock comes before
// anything else is read: whoever says something of a clock takes it too.
func lockIncidents(tx *store.Tx, ids []string) ([]record.Incident, error) {
	return record.List[record.Incident](tx, "id IN {ids $2} ORDER BY id {for update}", query.List(ids))
}

// contractorsSQL selects those of some workers whose employer is another. $1 tenant, $2
// their ids.
const contractorsSQL = `
	SELECT id, supervised
	FROM workers
	WHERE tenant_id = $1
		AND id IN {ids $2}
		AND employment = 'contractor'`

func (r *records) readContractors(tx *store.Tx, workers []string) error {
	return tx.Query(contractorsSQL, []any{tx.TenantID, query.List(withoutEmpty(workers))}, func(row *db.Row) error {
		r.isOthers[row.Text(0)], r.isSupervised[row.Text(0)] = true, row.Bool(1)
		return nil
	})
}

// tenantPlaceSQL selects where a tenant is. $1 tenant.
const tenantPlaceSQL = `
	SELECT coalesce(country, ''), coalesce(timezone, '')
	FROM tenants
	WHERE id = $1`

// readPlaces reads the sites of incidents and of their cases, and the zones that name
// them.
func (r *records) readPlaces(tx *store.Tx) error {
	var zones, sites []string
	for id, in := range r.incidents {
		zones = append(zones, in.ZoneID())
		sites = append(sites, in.SiteID(), r.cases[id].SiteID())
	}
	list, err := record.List[record.Zone](tx, "id IN {ids $2}", query.List(withoutEmpty(zones)))
	if err != nil {
		return err
	}
	for _, z := range list {
		r.zones[z.ID()] = z
		sites = append(sites, z.SiteID())
	}
	named, err := record.List[record.Site](tx, "id IN {ids $2}", query.List(withoutEmpty(sites)))
	if err != nil {
		return err
	}
	for _, s := range named {
		r.sites[s.ID()] = s
	}
	return tx.Query(tenantPlaceSQL, []any{tx.TenantID}, func(row *db.Row) error {
		r.country, r.timezone = row.Text(0), row.Text(1)
		return nil
	})
}

func withoutEmpty(ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if id != "" {
			out = append(out, id)
		}
	}
	return out
}

// siteOf is the establishment of an incident: its case's, else its own, else its zone's;
// nil without one.
func (r *records) siteOf(incident string) any {
	in := r.incidents[incident]
	if id := cmp.Or(r.cases[incident].SiteID(), in.SiteID(), r.zones[in.ZoneID()].SiteID()); id != "" {
		return id
	}
	return nil
}

// injuredIn are the workers whom an incident names as injured.
func injuredIn(in record.Incident) (workers []string) {
	raw := in.Entities()
	list, err := safety.ParseEntities(raw)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if e.Type == "worker" && e.Role == "injured" {
			workers = append(workers, e.ID)
		}
	}
	return workers
}

// isOnly reports an accident of people of one kind alone: of the worker of its case, else
// of all whom it names as injured.
func (r *records) isOnly(incident string, isKind func(worker string) bool) bool {
	if osha := r.cases[incident]; osha != nil {
		return isKind(osha.WorkerID())
	}
	workers := injuredIn(r.incidents[incident])
	isOther := func(id string) bool { return !isKind(id) }
	return len(workers) > 0 && !slices.ContainsFunc(workers, isOther)
}

// factsOf are the facts of an incident. A site without a country or time zone has the
// tenant's.
func (r *records) factsOf(incident string, now time.Time) *Facts {
	country, timezone := r.country, r.timezone
	if id, found := r.siteOf(incident).(string); found {
		if c := r.sites[id].Country(); c != "" {
			country = c
		}
		if z := r.sites[id].Timezone(); z != "" {
			timezone = z
		}
	}
	osha := r.cases[incident]
	f := FactsOf(regimes.Records{
		Incident: r.incidents[incident], Case: osha, Periods: r.absences[osha.ID()],
		Zone: localtime.Zone(timezone), Now: now,
	}, jurisdiction.LawOf(country))
	f.IsOthers = r.isOnly(incident, func(id string) bool { return r.isOthers[id] })
	f.IsUnsupervised = r.isOnly(incident, func(id string) bool { return r.isOthers[id] && !r.isSupervised[id] })
	for _, code := range [...]string{declaration, worsening} {
		if at := momentOf(store.Row(r.clocks[incident][code]), metColumn); f.Declared.IsZero() {
			f.Declared = at
		}
	}
	return f
}

// followedSQL selects the incidents whose clocks may have to be started or moved: those
// that hurt somebody and were reported since a moment, and those with a clock that runs.
// $1 tenant, $2 the moment.
const followedSQL = `
	SELECT id
	FROM incidents
	WHERE tenant_id = $1
		AND kind IN ('injury', 'illness')
		AND reported_at > $2
	UNION
	SELECT incident_id
	FROM legal_clocks
	WHERE tenant_id = $1
		AND state = 'running'
	ORDER BY 1`

// ListFollowed lists the incidents whose clocks the calendar may move.
func ListFollowed(tx *db.Tx, tenant string, now time.Time) (ids []string, err error) {
	err = tx.Query(followedSQL, []any{tenant, now.Add(-Window).UTC()}, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("clocks: look for incidents that are followed: %w", err)
	}
	return ids, nil
}
