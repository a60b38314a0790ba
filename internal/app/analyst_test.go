package app

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However often an import tells of itself, its tables are looked at a tenth of
// the time, one look at a time, and once more after the last word.
func TestAnalyst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var looks []string
		var last time.Time
		s := &analyst{analyze: func(_ context.Context, tables ...string) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			looks, last = append(looks, strings.Join(tables, " ")), time.Now()
			return nil
		}}
		for range 1000 {
			s.queueTables([]string{"items"})
			time.Sleep(100 * time.Millisecond)
		}
		s.queueTables([]string{"lots"})
		told := time.Now()
		time.Sleep(time.Minute)
		mu.Lock()
		if n := len(looks); n < 10 || n > 12 || !strings.Contains(looks[n-1], "lots") || last.Before(told) {
			t.Errorf("%q", looks)
		}
		mu.Unlock()
		s.queueTables([]string{"zones"})
		time.Sleep(2 * time.Second)
		mu.Lock()
		if looks[len(looks)-1] != "zones" {
			t.Errorf("%q", looks)
		}
		mu.Unlock()
		s.stopWork()
		s.stopWork()
	})
}
