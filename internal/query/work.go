package query

import (
	"strconv"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
)

// addWork widens a policy of own rows to work that nobody has taken, for a caller with a
// worker record.
func (p *Policy) addWork(a actor.Actor, work *catalog.Work) {
	if work == nil || a.WorkerID == "" {
		return
	}
	p.work, p.worker = work, a.WorkerID
	if a.Role == actor.Operator || a.Role == actor.Driver {
		p.zones = a.ZoneIDs
	}
}

// addWhole widens a policy of own rows to those of records that the caller may read.
func (p *Policy) addWhole(a actor.Actor, r *catalog.Resource, reference string) {
	whole := r.Whole(reference)
	if whole == nil {
		return
	}
	if policy, ok := ReadPolicy(a, whole); ok {
		p.parents = append(p.parents, parentPolicy{reference, whole.Name, policy})
	}
}

// What a worker may take on the floor, as conditions on me, a row of workers, and place, a
// row of zones. The row policy and the choice of the next task share them, so that nobody is
// named work that they may not read.
const (
	// WorkerIsEmployed is the condition that the worker has not left.
	WorkerIsEmployed = `me.status <> 'left' AND me.archived_at IS NULL`

	// WorkerReaches is the condition that a place is at the worker's site. A place without a
	// site is reached from all of them; a worker without a site reaches such places alone.
	WorkerReaches = `(place.site_id IS NULL OR place.site_id = me.site_id)`
)

// writeWork writes the condition of work that nobody has taken and that the caller may
// take: it has stops, and the caller reaches each of them in the zones of the membership.
// An aggregate is asked for, since PostgreSQL works out EXISTS for all work there is, also
// where a filter leaves one row.
func (w *writer) writeWork(p *Policy, t string) {
	work := p.work
	tenant := strconv.Itoa(w.tenant)
	w.s(t, ".", work.Taken, " IS NULL AND ")
	w.s(w.d.InText(t+"."+work.Status, w.addArgument(List(work.Open))))
	w.s(" AND 1 = (SELECT MIN(CASE WHEN ", WorkerReaches)
	if len(p.zones) > 0 {
		w.s(" AND ", w.d.InUUID("place.id", w.addArgument(List(p.zones))))
	}
	w.s(" THEN 1 ELSE 0 END) FROM ", work.Stops, " AS stop")
	w.s(" JOIN zones AS place ON place.tenant_id = $", tenant, " AND place.id = stop.", work.At)
	w.s(" JOIN workers AS me ON me.tenant_id = $", tenant, " AND me.id = ")
	w.bind(p.worker)
	w.s(" AND ", WorkerIsEmployed)
	w.s(" WHERE stop.tenant_id = $", tenant, " AND stop.", work.StopOf, " = ", t, ".id)")
}
