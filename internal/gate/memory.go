package gate

import (
	"sync"
	"time"
)

// A memory keeps one value a key for a while. It is bounded: when full it
// starts again empty. Its zero value is empty.
type memory[T any] struct {
	mu   sync.RWMutex
	kept map[string]kept[T]
}

type kept[T any] struct {
	value T
	until time.Time
}

const room = 10_000

func (m *memory[T]) get(key string) (T, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.kept[key]
	return k.value, ok && time.Now().Before(k.until)
}

func (m *memory[T]) put(key string, v T, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= room {
		m.kept = map[string]kept[T]{}
	}
	m.kept[key] = kept[T]{v, time.Now().Add(life)}
}

// forget forgets one key, or all for "".
func (m *memory[T]) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == "" {
		m.kept = nil
		return
	}
	delete(m.kept, key)
}
