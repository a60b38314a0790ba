package db

import (
	"os"
	"sync"
	"time"

	"holdfast/internal/db/wal"
)

// Pool is how busy the connections are.
type Pool struct {
	Max, InUse int           // connections; readers on SQLite
	Queued     int           // writes that wait for SQLite's one writer
	Waits      int64         // times a caller waited for a connection since the start; PostgreSQL only
	Waited     time.Duration // how long they did, together
}

// Pool may be read at any time.
func (d *DB) Pool() Pool { return d.eng.stats() }

func (p *postgres) stats() Pool {
	s := p.pool.Stat()
	return Pool{Max: int(s.MaxConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(),
		Waited: s.EmptyAcquireWaitTime()}
}

func (l *lite) stats() Pool {
	return Pool{Max: l.size, InUse: l.size - len(l.readers.free), Queued: len(l.writes)}
}

// LogBytes is the size of the embedded engine's write-ahead log, -1 on PostgreSQL.
func (d *DB) LogBytes() int64 {
	l, ok := d.eng.(*lite)
	if !ok {
		return -1
	}
	st, err := os.Stat(l.path + wal.Suffix)
	if err != nil {
		return 0 // it was written back
	}
	return st.Size()
}

// A shelf holds the connections that nobody uses. The one that was put back last
// is taken first: with few callers at a time few connections fill a page cache and
// prepare statements, and those stay warm.
type shelf struct {
	free chan struct{} // receive one, then take

	mu   sync.Mutex
	idle []*liteConn
}

func newShelf(size int) *shelf { return &shelf{free: make(chan struct{}, size)} }

func (s *shelf) putBack(c *liteConn) {
	s.mu.Lock()
	s.idle = append(s.idle, c)
	s.mu.Unlock()
	s.free <- struct{}{}
}

// takeIdle is what a receipt from free gives the right to.
func (s *shelf) takeIdle() *liteConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	c := s.idle[last]
	s.idle[last] = nil
	s.idle = s.idle[:last]
	return c
}
