package cache

import (
	"sync"
	"time"
)

// A Memo remembers one value a key for a while, for facts that cost a look and
// may be a little old. It is bounded: past 10,000 keys it starts again empty,
// which costs each key one more look. Its zero value is empty; it may be used
// by many at once.
type Memo[T any] struct {
	mu   sync.RWMutex
	kept map[string]memoRow[T]
}

type memoRow[T any] struct {
	value T
	until time.Time
}

const memoSize = 10_000

// Get returns what is remembered of key at now.
func (m *Memo[T]) Get(key string, now time.Time) (T, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.kept[key]
	return r.value, ok && now.Before(r.until)
}

// Put remembers v until a moment.
func (m *Memo[T]) Put(key string, v T, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= memoSize {
		m.kept = map[string]memoRow[T]{}
	}
	m.kept[key] = memoRow[T]{v, until}
}

// Forget drops one key's value, or with "" all of them.
func (m *Memo[T]) Forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == "" {
		m.kept = nil
		return
	}
	delete(m.kept, key)
}
