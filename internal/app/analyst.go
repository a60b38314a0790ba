package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// analyst keeps the planner's statistics true while bulk writes go on. An
// import of a million rows tells of itself a thousand times; reading its table
// that often would cost more than writing it.
type analyst struct {
	analyze func(ctx context.Context, tables ...string) error

	mu   sync.Mutex
	due  map[string]bool
	busy bool
	end  context.CancelFunc
	over sync.WaitGroup
}

// rest is how long the analyst pauses for each second of work, so that it
// takes a tenth of one connection's time at most.
const rest = 9

// queueTables asks for tables to be looked at, soon.
func (s *analyst) queueTables(tables []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due == nil {
		s.due = map[string]bool{}
	}
	for _, t := range tables {
		s.due[t] = true
	}
	if s.busy {
		return
	}
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	s.busy = true
	s.over.Go(func() { s.analyzeTables(ctx) })
}

func (s *analyst) analyzeTables(ctx context.Context) {
	for {
		s.mu.Lock()
		tables := slices.Sorted(maps.Keys(s.due))
		clear(s.due)
		if s.busy = len(tables) > 0 && ctx.Err() == nil; !s.busy {
			s.end()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		begin := time.Now()
		if err := s.analyze(ctx, tables...); err != nil && ctx.Err() == nil {
			slog.Warn("statistics could not be brought up to date", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(time.Second, rest*time.Since(begin))):
		}
	}
}

// stopWork ends the work; nothing may be told afterwards.
func (s *analyst) stopWork() {
	s.mu.Lock()
	if s.end != nil {
		s.end()
	}
	s.mu.Unlock()
	s.over.Wait()
}
