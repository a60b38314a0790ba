// Package planning holds the functions that say how work is best done: in what
// order to pick and to drive, what to reorder and when, and how well counting
// and picking go. They propose; only what is called with apply changes
// anything.
package planning

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// Planner is the functions over one store. It is safe for concurrent use.
type Planner struct {
	store  *store.Store
	now    func() time.Time
	cuts   cache.Memo[warehouse.ABCCuts] // by tenant
	counts *store.Timed
}

// New returns the functions over a store; now is the clock.
func New(s *store.Store, now func() time.Time) *Planner {
	return &Planner{store: s, now: now, counts: s.Timed("stock_counts")}
}

// Managers may plan.
var Managers = []actor.Role{actor.Owner, actor.Admin, actor.Manager}

// write runs fn in a transaction of the caller's tenant when apply is set.
func (p *Planner) write(ctx context.Context, a actor.Actor, apply bool, fn func(*db.Tx) error) error {
	if !apply {
		return nil
	}
	return p.store.DB().Write(ctx, db.Scope{Tenant: a.TenantID}, fn)
}
