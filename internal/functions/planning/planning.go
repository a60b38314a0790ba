// Package planning holds the functions that say how work is best done: in what
// order to pick and to drive, what to reorder and when, and how well counting
// and picking go. They propose; only what is called with apply changes
// anything.
//
// Layer: functions. Begin at [New].
package planning

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
)

// Planner is the functions over one store. It is safe for concurrent use.
type Planner struct {
	store  *store.Store
	now    func() time.Time
	cuts   cache.Memo[inventory.ABCCuts] // by tenant
	dear   time.Duration
	counts *store.Timed
}

// New returns the functions over a store; now is the clock. Figures of a whole
// inventory that took longer than dear are kept for a while.
func New(s *store.Store, now func() time.Time, dear time.Duration) *Planner {
	return &Planner{store: s, now: now, dear: dear, counts: s.Timed("stock_counts")}
}

// Forget drops what is kept of a tenant, "" of all.
func (p *Planner) Forget(tenant string) { p.cuts.Forget(tenant) }

// Managers may plan.
var Managers = []actor.Role{actor.Owner, actor.Admin, actor.Manager}

// writeIfApplied runs fn in a transaction of the caller's tenant when apply is set.
func (p *Planner) writeIfApplied(ctx context.Context, a actor.Actor, apply bool, fn func(*db.Tx) error) error {
	if !apply {
		return nil
	}
	return p.store.DB().Write(ctx, db.Scope{Tenant: a.TenantID}, fn)
}
