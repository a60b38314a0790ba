// Package cache keeps answers of functions as ready bytes, for one tenant each,
// for at most their time to live.
//
// It is our own and not a general cache library, because what it promises is
// not eviction policy, and none of the libraries has it: an answer that was
// being made when its tenant was cleared is never kept; clearing a tenant or a
// function is one map assignment; a tenant has bounds of its own, so that a
// busy one does not push out the others; concurrent callers share one making,
// which outlives the first caller. With lives of 30 to 60 seconds the entry
// nearest its end is as good a victim as any cleverer one. The price is that a
// tenant's table is under one lock; a hit holds it for one look-up, shared.
//
// Layer: foundations. Begin at [New].
package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A Key names an answer by everything that it depends on. User is empty where
// the answer is the same for all users of the role; Params are the parameters
// in one canonical spelling.
type Key struct {
	Tenant, Function, Role, User, Params string
}

// Options of New. A zero field has the default told.
type Options struct {
	Entries       int           // bound on answers kept: 20,000
	Bytes         int64         // bound on their bytes: 128 MiB
	TenantEntries int           // the same for one tenant: 256
	TenantBytes   int64         // 16 MiB
	FillTimeout   time.Duration // life of a making whose callers have left: 30 s
	Sweep         time.Duration // between removals of what has expired: 5 min
}

func (o Options) withDefaults() Options {
	fill := func(n *int, otherwise int) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	fill64 := func(n *int64, otherwise int64) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	fill(&o.Entries, 20_000)
	fill(&o.TenantEntries, 256)
	fill64(&o.Bytes, 128<<20)
	fill64(&o.TenantBytes, 16<<20)
	fill64((*int64)(&o.FillTimeout), int64(30*time.Second))
	fill64((*int64)(&o.Sweep), int64(5*time.Minute))
	return o
}

// A Cache may be used by many goroutines. Close it to end its janitor.
type Cache struct {
	o       Options
	mu      sync.RWMutex
	tenants map[string]*tenant
	entries atomic.Int64
	bytes   atomic.Int64
	hits    atomic.Uint64
	misses  atomic.Uint64
	shared  atomic.Uint64
	stop    chan struct{}
	close   func()
	janitor sync.WaitGroup
}

// Stats are counts since the start, and what is kept now.
type Stats struct {
	Hits, Misses uint64 // of Get and Fill together, one for each answer given
	Shared       uint64 // those misses that waited for another caller's making
	Entries      int64
	Bytes        int64 // charged: twice the plain bytes, room for the gzip form
}

// New returns an empty cache with its janitor running.
func New(o Options) *Cache {
	c := &Cache{o: o.withDefaults(), tenants: map[string]*tenant{}, stop: make(chan struct{})}
	c.close = sync.OnceFunc(func() { close(c.stop) })
	c.janitor.Go(c.sweepLoop)
	return c
}

// Close ends the janitor. The cache still answers.
func (c *Cache) Close() {
	c.close()
	c.janitor.Wait()
}

// Stats may be read at any time.
func (c *Cache) Stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Shared: c.shared.Load(),
		Entries: c.entries.Load(), Bytes: c.bytes.Load()}
}

// Get returns the HIT form of an answer that is kept and has not expired. It
// allocates nothing. A look-up that fails is counted by the Fill that follows.
func (c *Cache) Get(k Key) (*Body, bool) {
	c.mu.RLock()
	t := c.tenants[k.Tenant]
	c.mu.RUnlock()
	if t == nil {
		return nil, false
	}
	e := t.lookupEntry(k)
	if e == nil || !time.Now().Before(e.ends) {
		return nil, false
	}
	c.hits.Add(1)
	return &e.body, true
}

// Fill returns the answer under k: the HIT form and true when it is kept, else
// the MISS form after build has made it. Callers with the same key meanwhile
// wait for the same making. That goes on when callers leave, up to
// Options.FillTimeout; build must heed its context. Its error goes to all who
// wait and is not kept. The answer lives for ttl less a little, counted from
// the start of its making, so ttl is an upper bound on its age.
func (c *Cache) Fill(ctx context.Context, k Key, ttl time.Duration, build Build) (*Body, bool, error) {
	return c.fillEntry(ctx, k, ttl, build, true)
}

// Refresh is Fill for a caller who asks not to be given a kept answer (RFC 9111
// section 5.2.1.4, no-cache): what it gets was begun after it asked, and is kept.
// While a making is under way, all who ask so wait for one that follows it, so
// that many at once cost no more than two.
func (c *Cache) Refresh(ctx context.Context, k Key, ttl time.Duration, build Build) (*Body, error) {
	b, _, err := c.fillEntry(ctx, k, ttl, build, false)
	return b, err
}

// A Build makes an answer.
type Build func(context.Context) (Answer, error)

// An Answer is one result in two spellings: as its maker's caller gets it and
// as those get it who come later ("cached": true). The bytes belong to the
// cache from then on.
type Answer struct {
	Miss, Hit []byte
}

func (c *Cache) fillEntry(ctx context.Context, k Key, ttl time.Duration, build Build, kept bool) (*Body, bool, error) {
	t := c.lockTenant(k.Tenant)
	s := t.bucketOf(k.Function)
	if e := s.entries[k.entryKey()]; kept && e != nil && time.Now().Before(e.ends) {
		t.mu.Unlock()
		c.hits.Add(1)
		return &e.body, true, nil
	}
	c.misses.Add(1)
	f := s.flights[k.entryKey()]
	before := f
	if f != nil && !kept {
		f = f.next
	}
	if f != nil {
		c.shared.Add(1)
	} else {
		f = &flight{done: make(chan struct{}), t: t, s: s, key: k, ttl: ttl}
		f.start = func() {
			f.began = time.Now()
			go c.runFlight(context.WithoutCancel(ctx), f, build)
		}
		t.flights++
		if before != nil {
			before.next = f
		} else {
			s.flights[k.entryKey()] = f
			f.start()
		}
	}
	t.mu.Unlock()
	select {
	case <-f.done:
		return &f.miss, false, f.err
	case <-ctx.Done():
		return nil, false, fmt.Errorf("cache: wait for %s: %w", k.Function, context.Cause(ctx))
	}
}

// A flight is one making under way. Its shelf tells whether it was cleared
// meanwhile: then the tenant has another one under the same name, or none.
type flight struct {
	done  chan struct{}
	t     *tenant
	s     *bucket
	key   Key
	ttl   time.Duration
	start func()
	next  *flight // for those who want none that began before they asked
	began time.Time
	miss  Body
	err   error
}

func (c *Cache) runFlight(ctx context.Context, f *flight, build Build) {
	ctx, cancel := context.WithTimeout(ctx, c.o.FillTimeout)
	defer cancel()
	var a Answer
	f.err = fmt.Errorf("cache: the making of %s ended without a result", f.key.Function)
	defer func() { // also when build ends the goroutine
		if p := recover(); p != nil {
			f.err = fmt.Errorf("cache: the making of %s panicked: %v\n%s", f.key.Function, p, debug.Stack())
		}
		f.miss.plain, f.miss.hit, f.miss.made = a.Miss, a.Hit, f.began
		c.endFlight(f, a)
		close(f.done)
	}()
	a, f.err = build(ctx)
}

// endFlight ends a flight and keeps its answer, unless it failed or was cleared.
func (c *Cache) endFlight(f *flight, a Answer) {
	f.t.mu.Lock()
	f.t.flights--
	if f.next != nil {
		f.s.flights[f.key.entryKey()] = f.next
		f.next.start()
	} else {
		delete(f.s.flights, f.key.entryKey())
	}
	if f.err == nil && f.ttl > 0 && f.t.shelves[f.key.Function] == f.s {
		c.keepAnswer(f, a)
	}
	f.t.mu.Unlock()
	c.shrinkToBounds()
}

// jitter is how much sooner than its TTL an answer may end, so that answers
// which were made together are not all made again together. It is small, since
// an answer of a minute is promised to be there after 59 seconds.
const jitter = 800 * time.Millisecond

func (c *Cache) keepAnswer(f *flight, a Answer) {
	size := entrySize(f.key, a)
	old := f.s.entries[f.key.entryKey()]
	if size > c.o.TenantBytes {
		return
	}
	if old != nil {
		c.dropEntry(f.t, f.s, f.key.entryKey())
	}
	for f.t.entries >= c.o.TenantEntries || f.t.bytes+size > c.o.TenantBytes {
		c.evictOne(f.t)
	}
	life := f.ttl - time.Duration(rand.Float64()*float64(min(f.ttl/10, jitter)))
	e := &entry{size: size, ends: f.began.Add(life)}
	e.body.plain, e.body.hit, e.body.made = a.Hit, a.Hit, f.began
	f.s.entries[f.key.entryKey()] = e
	f.s.bytes += size
	c.countEntries(f.t, 1, size)
}

// ClearTenant forgets a tenant's answers, and what is being made for it now
// will not be kept.
func (c *Cache) ClearTenant(tenant string) {
	c.mu.RLock()
	t := c.tenants[tenant]
	c.mu.RUnlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.countEntries(t, -t.entries, -t.bytes)
	t.shelves = map[string]*bucket{}
}

// Clear is ClearTenant for some of its functions, by name.
func (c *Cache) Clear(tenant string, functions ...string) {
	c.mu.RLock()
	t := c.tenants[tenant]
	c.mu.RUnlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range functions {
		if s := t.shelves[name]; s != nil {
			c.countEntries(t, -len(s.entries), -s.bytes)
			delete(t.shelves, name)
		}
	}
}

// ClearAll forgets every tenant's answers.
func (c *Cache) ClearAll() {
	for _, name := range c.tenantNames() {
		c.ClearTenant(name)
	}
}
