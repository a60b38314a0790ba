package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/backoff"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// Step is one walk from a stable state through a working one.
type Step struct {
	Job     *Job
	Actor   actor.Actor
	From    string // the stable state it began in
	working string
	rest    func() // ends the renewing of the lease

	mu     sync.Mutex
	last   time.Time   // end of the newest lease
	leases []time.Time // ends of the newest leases of this step
}

// stepsAtOnce is how many steps of one tenant a process takes at once: each counts
// as one wish, and has the database write for as long as it takes.
const stepsAtOnce = 4

// places counts the steps under way of each tenant.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

// takePlace reports whether a tenant had a place left, and takes it.
func (p *places) takePlace(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[tenant] >= stepsAtOnce {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[tenant]++
	return true
}

func (p *places) givePlace(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[tenant]--; p.taken[tenant] <= 0 {
		delete(p.taken, tenant)
	}
}

// inFlight is how many leases of a step may be on their way at once: those of its
// work and of its beat, each of a transaction that may have run a few times.
const inFlight = 16

// Renew is the end of a lease taken now. It is never one before, by which a
// worker that was given up is known.
func (t *Table) Renew(s *Step) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := t.store.Now().Add(t.lease).Truncate(time.Microsecond)
	if !end.After(s.last) {
		end = s.last.Add(time.Microsecond)
	}
	s.last = end
	s.leases = append(s.leases, end)
	s.leases = slices.Delete(s.leases, 0, max(0, len(s.leases)-inFlight))
	return end
}

// tookLease reports that a lease that ends then is one of the step.
func (s *Step) tookLease(end time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.leases, end.Equal)
}

// closeCare bounds what a closing importer waits for its steps, and what one of
// them takes to say where it leaves its job.
const closeCare = 5 * time.Second

// Close ends the steps that are under way, each after a statement, and leaves
// their jobs as if the process had died, to go on where they can be asked to.
// Those that do not end soon it leaves to their leases, and gives back the claim.
func (t *Table) Close() {
	t.stop()
	for end := time.Now().Add(closeCare); t.isWorking() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	t.claims.endClaim()
}

func (t *Table) isWorking() (some bool) {
	t.running.Range(func(_, _ any) bool {
		some = true
		return false
	})
	return some
}

// UntilClosed is ctx until Close ends it, for what follows on the beginning of a
// step, which counted for all of it. The caller ends with cease.
func (t *Table) UntilClosed(ctx context.Context) (_ context.Context, cease context.CancelFunc) {
	ctx, stop := context.WithCancel(db.Counted(ctx))
	unhook := context.AfterFunc(t.life, stop)
	return ctx, func() {
		unhook()
		stop()
	}
}

// renewLease extends the lease until the step is left: reading a large file from afar,
// or looking through a large import, takes no transaction by which others could
// see that somebody is at work.
func (t *Table) renewLease(s *Step) {
	ctx, stop := context.WithCancel(db.Counted(context.Background()))
	var ended sync.WaitGroup
	s.rest = func() {
		stop()
		ended.Wait()
	}
	id := s.Job.ID
	ended.Go(func() {
		tick := time.NewTicker(t.lease / 3)
		defer tick.Stop()
		renewals := backoff.New(nil, "renew the lease of import job "+id, 0, 0)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			renewals.Note(ctx, t.extendLease(ctx, s, id))
		}
	})
}

// extendLease renews the lease, unless the work holds the job's row at the moment,
// which keeps others away as well.
func (t *Table) extendLease(ctx context.Context, s *Step, id string) error {
	err := t.db.Write(ctx, store.Scope(s.Actor), func(tx *db.Tx) error {
		rows, err := t.store.In(tx, s.Actor).Rows(t.Resource.Name, "id = $2 {skip locked}", id)
		if err != nil || len(rows) == 0 {
			return err
		}
		if job := FromRow(rows[0]); job.Status != s.working || !s.tookLease(job.Lease) {
			return nil // the work finds it out itself
		}
		_, err = t.Set(tx, s.Actor, id, store.Row{"lease_until": t.Renew(s)})
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
