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

// writeWork writes the condition of work that nobody has taken and that the caller may
// take: none of its stops is at another site than the worker's, or outside of the zones
// of the membership.
func (w *writer) writeWork(p *Policy, t string) {
	work := p.work
	tenant := strconv.Itoa(w.tenant)
	w.s(t, ".", work.Taken, " IS NULL AND ")
	w.s(w.d.InText(t+"."+work.Status, w.addArgument(List(work.Open))))
	w.s(" AND NOT EXISTS (SELECT 1 FROM ", work.Stops, " AS stop")
	w.s(" JOIN zones AS place ON place.tenant_id = $", tenant, " AND place.id = stop.", work.At)
	w.s(" JOIN workers AS me ON me.tenant_id = $", tenant, " AND me.id = ")
	w.bind(p.worker)
	w.s(" WHERE stop.tenant_id = $", tenant, " AND stop.", work.StopOf, " = ", t, ".id AND (place.site_id <> me.site_id")
	if len(p.zones) > 0 {
		w.s(" OR NOT ", w.d.InUUID("place.id", w.addArgument(List(p.zones))))
	}
	w.s("))")
}
