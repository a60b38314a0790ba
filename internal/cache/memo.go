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
	mu     sync.RWMutex
	kept   map[string]memoRow[T]
	forgot map[string]time.Time // keys, and when they were forgotten last
	all    time.Time            // when all were
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
	m.putValue(key, v, until)
}

func (m *Memo[T]) putValue(key string, v T, until time.Time) {
	if m.kept == nil || len(m.kept) >= memoSize {
		m.kept = map[string]memoRow[T]{}
	}
	m.kept[key] = memoRow[T]{v, until}
}

// PutSince is Put for a value that was looked for from a moment of time.Now on:
// it is not remembered when the key was forgotten meanwhile.
func (m *Memo[T]) PutSince(key string, v T, began, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !began.Before(m.all) && !began.Before(m.forgot[key]) {
		m.putValue(key, v, until)
	}
}

// Forget drops one key's value, or with "" all of them.
func (m *Memo[T]) Forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if key == "" {
		m.kept, m.forgot, m.all = nil, nil, now
		return
	}
	delete(m.kept, key)
	if m.forgot == nil || len(m.forgot) >= memoSize {
		m.forgot, m.all = map[string]time.Time{}, now // what is looked for now is not remembered
	}
	m.forgot[key] = now
}
