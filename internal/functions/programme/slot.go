package programme

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/heap"
)

// large is how many entities make a tenant's work heavy: what it holds in memory
// meanwhile grows with them.
const large = 5000

// How long a request for a large tenant, and its nightly round, wait for their
// turn.
const (
	patience      = 30 * time.Second
	nightPatience = time.Hour
)

// thrift is how far the heap may grow between two collections while a large
// tenant is worked for, in per cent of what lives: much of that lives until the
// end, and twice as much garbage beside it is too much.
const thrift = 40

// sizeSQL counts a tenant's entities, to no more than is large.
const sizeSQL = `
	SELECT (
		SELECT COUNT(*)
		FROM (SELECT 1 FROM workers WHERE tenant_id = $1 LIMIT $2) a
	) + (
		SELECT COUNT(*)
		FROM (SELECT 1 FROM zones WHERE tenant_id = $1 LIMIT $2) b
	) + (
		SELECT COUNT(*)
		FROM (SELECT 1 FROM equipment WHERE tenant_id = $1 LIMIT $2) c
	)`

// takeLargeTenantSlot takes the node's slot for large tenants: it waits until no other is
// worked for, so that their peaks of memory do not add up; done ends the turn.
// Small tenants do not wait. Past the time to wait it is fault.Unavailable, and
// at once for a request of a tenant that has one at work or waiting, so that
// none keeps the others out. The nightly round waits beside its tenant's request.
func (p *Programme) takeLargeTenantSlot(ctx context.Context, a actor.Actor, night bool) (done func(), err error) {
	size := int64(0)
	err = p.read(ctx, a, func(tx *db.Tx) error {
		tx.Queue(sizeSQL, []any{a.TenantID, large}, func(r *db.Row) error { size = r.Int(0); return nil })
		return tx.End()
	})
	if err != nil || size < large {
		return func() {}, err
	}
	wait, leave := nightPatience, func() {}
	if !night {
		if !p.noteRequest(a.TenantID) {
			return nil, busyFault(nil, "the server is at work for this tenant already; try again in a minute")
		}
		wait, leave = patience, func() { p.clearRequest(a.TenantID) }
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case p.slot <- struct{}{}:
		usual := heap.LimitGrowth(thrift)
		return func() {
			usual()
			<-p.slot
			leave()
		}, nil
	case <-ctx.Done():
	case <-late.C:
	}
	leave()
	return nil, busyFault(ctx.Err(), "the server is at work for another large tenant; try again in a minute")
}

func busyFault(cause error, text string) error {
	f := fault.Wrap(cause, fault.Unavailable, "53400", "%s", text)
	f.RetryAfter = time.Minute
	return f
}

// noteRequest notes that a large tenant has a request, unless it has one.
func (p *Programme) noteRequest(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[tenant] {
		return false
	}
	p.asked[tenant] = true
	return true
}

// clearRequest takes back what ask noted.
func (p *Programme) clearRequest(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, tenant)
}

// inTurn does a request's work when its turn has come; a single entity has not
// to wait.
func inTurn[T any](ctx context.Context, p *Programme, a actor.Actor, entity string, work func() (T, error)) (out T, err error) {
	if entity == "" {
		done, err := p.takeLargeTenantSlot(ctx, a, false)
		if err != nil {
			return out, err
		}
		defer done()
	}
	return work()
}
