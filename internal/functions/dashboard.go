package functions

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// dashboard answers the reading functions.
type dashboard struct {
	store  *store.Store
	now    func() time.Time
	shapes map[actor.Role]map[string]*shape
	places cache.Memo[string]
	health cache.Memo[health]
	dear   time.Duration

	reports, due, checklists, completed *store.Timed
}

// listed are the resources whose records dashboards show.
var listed = [...]string{"zones", "items", "pick_lists", "shipments", "drivers", "incidents", "import_jobs", "settings"}

func newDashboard(d Deps) *dashboard {
	out := &dashboard{store: d.Store, now: d.Now, shapes: map[actor.Role]map[string]*shape{}, dear: d.Dear,
		reports: d.Store.Timed("reports"), due: d.Store.Timed("actions_due"), checklists: d.Store.Timed("checklists_due"), completed: d.Store.Timed("shipments_completed")}
	for _, role := range append([]actor.Role{actor.Service, actor.Anon}, actor.Members...) {
		out.shapes[role] = map[string]*shape{}
		for _, name := range listed {
			r, _ := d.Store.Catalog().Get(name)
			out.shapes[role][name] = newShape(r, role)
		}
	}
	return out
}

// list is an empty list of a resource as the actor sees it.
func (d *dashboard) list(a actor.Actor, name string) *list {
	s := d.shapes[a.Role][name]
	if s == nil {
		s = d.shapes[actor.Anon][name]
	}
	return &list{shape: s}
}

// shared reports that nothing in these lists depends on who of a role asks.
func (d *dashboard) shared(a actor.Actor, names ...string) bool {
	for _, n := range names {
		if !d.list(a, n).shared(a) {
			return false
		}
	}
	return true
}

// read runs fn on one snapshot of the actor's tenant and flushes what it
// queued: one round trip.
func (d *dashboard) read(ctx context.Context, a actor.Actor, fn func(*db.Tx)) error {
	return d.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		fn(tx)
		return tx.Flush()
	})
}

// head opens an answer: tenant and moment, which have a fixed width.
func head(b []byte, a actor.Actor, now time.Time) []byte {
	b = append(append(b, headTenant...), a.TenantID...)
	return append(append(b, headTime...), query.FormatTime(now)...)
}
