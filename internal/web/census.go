package web

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// census knows which connections of a server wait for an answer, and which are between
// requests: bytes of the next may have come, and on a new one the first may be on its way.
type census struct {
	mu      sync.Mutex
	busy    int
	waiting map[*guest]http.ConnState // StateNew or StateIdle
}

func newCensus() *census { return &census{waiting: map[*guest]http.ConnState{}} }

// noteState is the ConnState of the server. net/http says StateActive when the header of a
// request is read, not at its first byte.
func (c *census) noteState(conn net.Conn, now http.ConnState) {
	over, isTLS := conn.(*tls.Conn)
	if isTLS {
		conn = over.NetConn()
	}
	g, ok := conn.(*guest)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, g)
	if g.isBusy {
		c.busy--
	}
	g.isBusy = now == http.StateActive
	if g.isBusy {
		c.busy++
	}
	if now == http.StateNew {
		g.arrival.isTLS = isTLS
		c.waiting[g] = now
	}
	if now == http.StateIdle {
		g.arrival.hasBegun.Store(false)
		c.waiting[g] = now
	}
}

// isQuiet reports that no request waits for its answer, and that none may be on its way. One
// whose header is under way counts where halves is set.
func (c *census) isQuiet(halves bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		return false
	}
	for g, state := range c.waiting {
		hasBegun := g.arrival.hasBegun.Load()
		if hasBegun && halves || !hasBegun && state == http.StateNew {
			return false
		}
	}
	return true
}

// closeSilent closes the new connections that have said nothing. net/http would wait five
// seconds for them.
func (c *census) closeSilent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for g, state := range c.waiting {
		if state == http.StateNew && !g.arrival.hasBegun.Load() {
			g.Close()
		}
	}
}
