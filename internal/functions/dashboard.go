package functions

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// dashboard answers the reading functions.
type dashboard struct {
	store  *store.Store
	now    func() time.Time
	lists  store.Lists
	places cache.Memo[string]
	health cache.Memo[health] // of large inventories
	looks  looks
	dear   time.Duration
	soon   time.Duration
	atOnce int64 // items, see healthAtOnce
	step   int64

	unchanged cache.Memo[health] // of inventories of which nothing has changed since

	reports, due, checklists, completed, promised *store.Timed
}

func newDashboard(d Deps) *dashboard {
	return &dashboard{store: d.Store, now: d.Now, dear: d.Dear, soon: d.Soon, atOnce: d.AtOnce,
		step: min(healthStep, d.AtOnce),
		lists: d.Store.Lists("zones", "items", "orders", "pick_lists", "shipments", "drivers", "incidents",
			"actions", "import_jobs", "settings"),
		reports: d.Store.Timed("reports"), due: d.Store.Timed("actions_due"),
		checklists: d.Store.Timed("checklists_due"), completed: d.Store.Timed("shipments_completed"),
		promised: d.Store.Timed("orders_due"),
	}
}

// readSnapshot runs fn on one snapshot of the actor's tenant and flushes what it
// queued: one round trip.
func (d *dashboard) readSnapshot(ctx context.Context, a actor.Actor, fn func(*store.Tx)) error {
	return d.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		fn(d.store.In(tx, a))
		return tx.Flush()
	})
}

// queueLate counts the open orders that were promised for before now.
func (d *dashboard) queueLate(tx *store.Tx, now time.Time, late *int64) {
	before := now.Add(-time.Microsecond)
	d.promised.Queue(tx.Tx, tx.TenantID, time.Time{}, before, func(_ string, n int64) { *late += n })
}
