package cache

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A tenant holds one tenant's answers, a shelf for each function.
type tenant struct {
	mu      sync.RWMutex
	shelves map[string]*bucket
	entries int
	bytes   int64
	flights int  // on any shelf, also cleared ones
	gone    bool // the janitor has taken it out of the cache
}

type bucket struct {
	entries map[entryKey]*entry
	flights map[entryKey]*flight
	bytes   int64
}

// A spot is the rest of a key, within tenant and function.
type entryKey struct{ role, user, params string }

type entry struct {
	body Body
	ends time.Time
	size int64
}

func (k Key) entryKey() entryKey { return entryKey{k.Role, k.User, k.Params} }

// entrySize is what an answer counts against the bounds: its plain bytes, as many
// again for the gzip form that may come, and the bookkeeping.
func entrySize(k Key, a Answer) int64 {
	return int64(2*len(a.Hit) + len(k.Role) + len(k.User) + len(k.Params) + 300)
}

// lookupEntry may return an entry that has expired.
func (t *tenant) lookupEntry(k Key) *entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if s := t.shelves[k.Function]; s != nil {
		return s.entries[k.entryKey()]
	}
	return nil
}

// bucketOf finds or makes a function's shelf. The tenant must be locked.
func (t *tenant) bucketOf(function string) *bucket {
	s := t.shelves[function]
	if s == nil {
		s = &bucket{entries: map[entryKey]*entry{}, flights: map[entryKey]*flight{}}
		t.shelves[function] = s
	}
	return s
}

// lockTenant finds or makes a tenant and locks it.
func (c *Cache) lockTenant(name string) *tenant {
	for {
		c.mu.RLock()
		t := c.tenants[name]
		c.mu.RUnlock()
		if t == nil {
			t = c.addTenant(name)
		}
		t.mu.Lock()
		if !t.gone {
			return t
		}
		t.mu.Unlock()
	}
}

func (c *Cache) addTenant(name string) *tenant {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[name]
	if t == nil {
		t = &tenant{shelves: map[string]*bucket{}}
		c.tenants[name] = t
	}
	return t
}

// countEntries books entries and bytes that come or go. The tenant must be locked.
func (c *Cache) countEntries(t *tenant, entries int, bytes int64) {
	t.entries += entries
	t.bytes += bytes
	c.entries.Add(int64(entries))
	c.bytes.Add(bytes)
}

func (c *Cache) dropEntry(t *tenant, s *bucket, at entryKey) {
	size := s.entries[at].size
	delete(s.entries, at)
	s.bytes -= size
	c.countEntries(t, -1, -size)
}

// evictOne forgets the tenant's answer that is nearest its end. The tenant must be
// locked.
func (c *Cache) evictOne(t *tenant) {
	var from *bucket
	var at entryKey
	var ends time.Time
	for _, s := range t.shelves {
		for k, e := range s.entries {
			if from == nil || e.ends.Before(ends) {
				from, at, ends = s, k, e.ends
			}
		}
	}
	if from != nil {
		c.dropEntry(t, from, at)
	}
}

// shrinkToBounds keeps the overall bounds. What goes is taken from the largest of some
// tenants, so that many small ones do not pay for it.
func (c *Cache) shrinkToBounds() {
	for c.entries.Load() > int64(c.o.Entries) || c.bytes.Load() > c.o.Bytes {
		t := c.largestTenant()
		if t == nil {
			return
		}
		t.mu.Lock()
		c.evictOne(t)
		t.mu.Unlock()
	}
}

// largestTenant returns the tenant with the most bytes among eight that have any, in
// the map's random order.
func (c *Cache) largestTenant() (found *tenant) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var most int64
	seen := 0
	for _, t := range c.tenants {
		t.mu.RLock()
		bytes := t.bytes
		t.mu.RUnlock()
		if bytes == 0 {
			continue
		}
		if bytes > most {
			found, most = t, bytes
		}
		if seen++; seen == 8 {
			break
		}
	}
	return found
}

func (c *Cache) sweepLoop() {
	tick := time.NewTicker(c.o.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.sweepExpired()
		case <-c.stop:
			return
		}
	}
}

// tenantNames lists the tenants of which something is kept.
func (c *Cache) tenantNames() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Keys(c.tenants))
}

// sweepExpired removes what has expired, then the tenants that have nothing left.
func (c *Cache) sweepExpired() {
	for _, name := range c.tenantNames() {
		c.sweepTenant(name)
	}
}

func (c *Cache) sweepTenant(name string) {
	c.mu.Lock() // before the tenant's, as everywhere
	defer c.mu.Unlock()
	t := c.tenants[name]
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for function, s := range t.shelves {
		for k, e := range s.entries {
			if !now.Before(e.ends) {
				c.dropEntry(t, s, k)
			}
		}
		if len(s.entries) == 0 && len(s.flights) == 0 {
			delete(t.shelves, function)
		}
	}
	if t.entries == 0 && t.flights == 0 {
		t.gone = true
		delete(c.tenants, name)
	}
}
