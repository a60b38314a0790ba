package db

import "time"

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
	return Pool{Max: int(s.MaxConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
}

func (l *lite) stats() Pool {
	return Pool{Max: l.size, InUse: l.size - len(l.readers), Queued: len(l.writes)}
}
