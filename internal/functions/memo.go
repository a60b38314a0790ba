package functions

import (
	"sync"
	"time"
)

// memo remembers one value per tenant for a while. It is bounded: when full it
// starts again empty, which costs each tenant one more look.
type memo[T any] struct {
	mu   sync.Mutex
	rows map[string]memoRow[T]
}

type memoRow[T any] struct {
	value T
	until time.Time
}

const memoSize = 10_000

func newMemo[T any]() *memo[T] { return &memo[T]{rows: map[string]memoRow[T]{}} }

func (m *memo[T]) get(tenant string, now time.Time) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[tenant]
	return r.value, ok && now.Before(r.until)
}

// forget drops a tenant's value, or with "" those of all tenants.
func (m *memo[T]) forget(tenant string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if tenant == "" {
		clear(m.rows)
	}
	delete(m.rows, tenant)
}

func (m *memo[T]) put(tenant string, v T, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rows) >= memoSize {
		m.rows = map[string]memoRow[T]{}
	}
	m.rows[tenant] = memoRow[T]{v, until}
}
