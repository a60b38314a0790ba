package clocks

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Window is how long after its report an incident's clocks follow its facts of
// themselves: a year, for a death that comes within one, and some days of grace.
const Window = 400 * 24 * time.Hour

// batch is how many incidents are worked out at once.
const batch = 200

// Effects returns the consequences of changes to what clocks rest on, and of what people
// say of clocks, for store.New. Bulk work starts none: the night makes up for it.
func Effects() store.Effects {
	return store.Effects{
		First:  map[string]store.First{Resource: lockFirst, "osha_cases": lockIncidentsOfCases},
		Before: map[string]store.Effect{Resource: safety.PerTenant(checkActs)},
		After: map[string]store.Effect{
			"incidents":  onlyAudited(followIncidents),
			"osha_cases": onlyAudited(followCases),
			"absences":   followAbsences,
			"sites":      onlyAudited(followSites),
			Resource:     onlyAudited(followDeclarations),
		},
		Unmoved: map[string]bool{"sites": true},
	}
}

// onlyAudited is an effect of work that is recorded change by change, tenant by tenant.
func onlyAudited(f store.Effect) store.Effect {
	byTenant := safety.PerTenant(f)
	return func(tx *store.Tx, changes []store.Change) error {
		if !tx.Store.Audited() {
			return nil
		}
		return byTenant(tx, changes)
	}
}

// followIncidents starts and moves the clocks of incidents. Those of a new anonymous
// report wait for the night, or for an officer: a clock's row would tell the moment at
// which it was made.
func followIncidents(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.Incident](changes) {
		isNew := c.Op == store.Insert && isHealth(c.After.Kind()) && !c.After.Anonymous()
		isMoved := c.Op == store.Update && safety.IsChanged(c.Change,
			kindColumn, statusColumn, occurredAtColumn, knownAtColumn, siteColumn, zoneIDColumn, "journey", "entities")
		if isNew || isMoved {
			ids = append(ids, c.After.ID())
		}
	}
	return refreshAll(tx, Refresh, ids)
}

func followCases(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.OSHACase](changes) {
		ids = append(ids, c.After.IncidentID())
	}
	return refreshAll(tx, Refresh, ids)
}

// incidentsOfCasesSQL selects whose cases some are. $1 tenant, $2 ids of cases.
const incidentsOfCasesSQL = `
	SELECT incident_id
	FROM osha_cases
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// followAbsences moves the clocks of cases whose days changed, deleted ones too.
func followAbsences(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	cases := map[string][]string{} // by tenant
	for _, c := range record.Changes[record.Absence](changes) {
		row := c.After
		if row == nil {
			row = c.Before
		}
		cases[row.TenantID()] = append(cases[row.TenantID()], row.CaseID())
	}
	for tenant, list := range cases {
		if err := refreshFound(tx.Of(tenant), Refresh, incidentsOfCasesSQL, query.List(list)); err != nil {
			return err
		}
	}
	return nil
}

// incidentsOfSitesSQL selects the incidents of some sites that were reported since a
// moment. $1 tenant, $2 ids of sites, $3 the moment.
const incidentsOfSitesSQL = `
	SELECT incident.id
	FROM incidents AS incident
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = incident.zone_id
	LEFT JOIN osha_cases AS osha_case ON osha_case.tenant_id = $1 AND osha_case.incident_id = incident.id
	WHERE incident.tenant_id = $1
		AND incident.kind IN ('injury', 'illness')
		AND coalesce(osha_case.site_id, incident.site_id, zone.site_id) IN {ids $2}
		AND incident.reported_at > $3`

// followSites has clocks follow the country and the time zone of their site.
func followSites(tx *store.Tx, changes []store.Change) error {
	var sites []string
	for _, c := range record.Changes[record.Site](changes) {
		if c.Op == store.Update && safety.IsChanged(c.Change, "country", "timezone") {
			sites = append(sites, c.After.ID())
		}
	}
	if len(sites) == 0 {
		return nil
	}
	return refreshFound(tx, CatchUp, incidentsOfSitesSQL, query.List(sites), tx.Now().Add(-Window))
}

// followDeclarations starts the clock of reservations once an accident is declared.
func followDeclarations(tx *store.Tx, changes []store.Change) error {
	if isEngine(tx.Actor) {
		return nil
	}
	var ids []string
	for _, c := range record.Changes[record.LegalClock](changes) {
		if c.Op == store.Update && safety.IsChanged(c.Change, metColumn, stateColumn) {
			ids = append(ids, c.After.IncidentID())
		}
	}
	return refreshAll(tx, Refresh, ids)
}

type refresh func(tx *store.Tx, incidents []string) error

func refreshFound(tx *store.Tx, how refresh, statement string, args ...any) error {
	var ids []string
	err := tx.Query(statement, append([]any{tx.TenantID}, args...), func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return fmt.Errorf("clocks: look for incidents: %w", err)
	}
	return refreshAll(tx, how, ids)
}

func refreshAll(tx *store.Tx, how refresh, ids []string) error {
	for len(ids) > 0 {
		n := min(batch, len(ids))
		if err := how(tx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// lockFirst locks the incidents of clocks, as [Refresh] does: what a person says and what
// the server works out meanwhile wait for each other.
func lockFirst(tx *store.Tx, rows []store.Row, _ store.Touch) error {
	_, err := readIncidentsOf(tx, record.From[record.LegalClock](rows))
	return err
}

// lockIncidentsOfCases locks the incidents of cases: a change of a case works out the
// clocks of its incident, and one of the incident's moment moves the case.
func lockIncidentsOfCases(tx *store.Tx, rows []store.Row, _ store.Touch) error {
	cases := record.From[record.OSHACase](rows)
	ids := make([]string, len(cases))
	for i, row := range cases {
		ids[i] = row.IncidentID()
	}
	if _, err := lockIncidents(tx, ids); err != nil {
		return fmt.Errorf("clocks: lock the incidents of cases: %w", err)
	}
	return nil
}

// readIncidentsOf reads and locks the incidents of clocks, by id.
func readIncidentsOf(tx *store.Tx, rows []record.LegalClock) (map[string]record.Incident, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.IncidentID()
	}
	list, err := lockIncidents(tx, ids)
	if err != nil {
		return nil, fmt.Errorf("clocks: read the incidents of clocks: %w", err)
	}
	out := map[string]record.Incident{}
	for _, in := range list {
		out[in.ID()] = in
	}
	return out, nil
}

// checkActs holds what people say of clocks to the two acts: that one is met, and that it
// is not required.
func checkActs(tx *store.Tx, changes []store.Change) error {
	if isEngine(tx.Actor) {
		return nil
	}
	var acts []store.Change
	var rows []record.LegalClock
	for _, c := range record.Changes[record.LegalClock](changes) {
		if c.Op != store.Insert && c.After != nil {
			acts, rows = append(acts, c.Change), append(rows, c.After)
		}
	}
	if len(acts) == 0 {
		return nil
	}
	incidents, err := readIncidentsOf(tx, rows)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.LegalClock](acts) {
		if err := checkAct(tx, c, incidents[c.After.IncidentID()]); err != nil {
			return err
		}
	}
	return nil
}

func checkAct(tx *store.Tx, c record.Change[record.LegalClock], incident record.Incident) error {
	row := c.After
	if reason, isText := row.ReasonOrNull().(string); isText && safety.IsChanged(c.Change, reasonColumn) {
		row.SetReason(strings.TrimSpace(reason))
	}
	if safety.IsChanged(c.Change, metColumn) {
		return noteMet(tx, c, incident)
	}
	if !safety.IsChanged(c.Change, stateColumn) {
		return checkWords(c)
	}
	switch state := row.State(); {
	case c.Before.HasMetAt() && c.Before.State() != notRequired:
		return refuseState("%s follows from met_at: take that back first", stateColumn)
	case state == notRequired && (row.Reason() == "" || !safety.IsChanged(c.Change, reasonColumn)):
		return safety.RefuseField(reasonColumn, "is missing: say why the clock is not required")
	case state == notRequired:
		row.SetLapsed(false)
		return checkWords(c)
	case state == running:
		if safety.IsChanged(c.Change, reasonColumn) && row.Reason() != "" {
			return checkWords(c)
		}
		row.ClearReason()
		row.SetLapsed(false)
		row.SetState(stateOf(row)) // OSHA may have been told meanwhile
		return nil
	}
	return safety.RefuseField(metColumn, "is missing: say when it was done")
}

// noteMet takes down when a clock was met, or that it was not. What is done before its
// clock begins is done: a declaration may be sent before the fourth day away.
func noteMet(tx *store.Tx, c record.Change[record.LegalClock], incident record.Incident) error {
	row := c.After
	at := row.MetAt()
	switch {
	case isAmerican(row.Code()):
		return safety.RefuseField(metColumn, "of OSHA is osha_told_at of the case: say it there")
	case safety.IsChanged(c.Change, stateColumn):
		return refuseState("%s follows from met_at: leave it out", stateColumn)
	case safety.IsChanged(c.Change, reasonColumn) && row.Reason() != "":
		return safety.RefuseField(reasonColumn, "belongs to a clock that is not required: leave it out beside met_at")
	case at == "" && safety.IsChanged(c.Change, proofColumn) && row.HasProofRef():
		return checkWords(c)
	case at == "":
		row.ClearMetBy()
		row.ClearProofRef()
		row.SetState(running)
		return nil
	case safety.IsAhead(at, tx.Now()):
		return safety.RefuseField(metColumn, "lies in the future")
	case at < query.FormatTime(momentOf(store.Row(incident),
		occurredAtColumn).Truncate(time.Minute)): // forms give minutes
		return safety.RefuseField(metColumn, "lies before the accident")
	}
	row.SetMetByOrNull(db.Null(tx.UserID))
	row.ClearReason()
	row.SetLapsed(false)
	row.SetState(running)
	row.SetState(stateOf(row))
	return nil
}

// checkWords holds proof and reason to the state that they belong to.
func checkWords(c record.Change[record.LegalClock]) error {
	state := c.After.State()
	if safety.IsChanged(c.Change, proofColumn) && !c.After.HasMetAt() {
		return safety.RefuseField(proofColumn, "belongs to a clock that is met: say met_at")
	}
	if safety.IsChanged(c.Change, reasonColumn) && (state != notRequired || c.After.Reason() == "") {
		return safety.RefuseField(reasonColumn, "belongs to a clock that is not required, which needs one")
	}
	return nil
}

func refuseState(format string, args ...any) error {
	return fault.New(fault.Conflict, safety.CodeGuard, format, args...).At(stateColumn, format, args...)
}
