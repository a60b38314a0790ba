// Package heap bounds how much garbage lies beside what lives in memory while
// something large is worked on, and gives back what only the start needed.
//
// Layer: foundations. Begin at [LimitGrowth].
package heap

import (
	"runtime/debug"
	"sync"
)

// thrifty are those who asked for a smaller heap and have not ended yet: of the
// process, which has one collector.
var thrifty struct {
	mu    sync.Mutex
	asked map[*int]bool
	usual int
}

// LimitGrowth lets the heap grow by percent of what lives between two collections,
// the least that anybody asks for at the moment, until done is called. What the
// operator chose (GOGC) is never raised, nor turned on.
func LimitGrowth(percent int) (done func()) {
	t := &thrifty
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) == 0 {
		t.asked = map[*int]bool{}
		t.usual = debug.SetGCPercent(percent)
	}
	t.asked[&percent] = true
	settle()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		delete(t.asked, &percent)
		settle()
		last := len(t.asked) == 0
		t.mu.Unlock()
		if last {
			debug.FreeOSMemory()
		}
	})
}

// settle applies the least that is asked for.
func settle() {
	least := thrifty.usual
	for p := range thrifty.asked {
		if least >= 0 {
			least = min(least, *p)
		}
	}
	debug.SetGCPercent(least)
}
