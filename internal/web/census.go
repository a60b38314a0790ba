package web

import (
	"net"
	"net/http"
	"sync"
)

// census knows which connections of a server bring a request or wait for its answer, and
// which are new and have said nothing yet: their request may be on its way.
type census struct {
	mu    sync.Mutex
	busy  int
	fresh map[*guest]bool
}

// noteState is the ConnState of the server.
func (c *census) noteState(conn net.Conn, now http.ConnState) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn() // under TLS
	}
	g, ok := conn.(*guest)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fresh, g)
	if g.isBusy {
		c.busy--
	}
	g.isBusy = now == http.StateActive // net/http says so at the first byte
	if g.isBusy {
		c.busy++
	}
	if now == http.StateNew {
		c.fresh[g] = true
	}
}

// isQuiet reports that no connection brings a request, and none may.
func (c *census) isQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy == 0 && len(c.fresh) == 0
}

// closeSilent closes the connections that have said nothing. net/http would wait five seconds
// for them.
func (c *census) closeSilent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := range c.fresh {
		g.Close()
	}
}
