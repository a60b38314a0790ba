package web

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ConnLimit bounds the connections of a listener, in total and for one address:
// beyond them a connection is told to come again and closed,
// so that neither descriptors nor other callers run out. Trusted proxies, which
// speak for many, have the total only.
type ConnLimit struct {
	Total, PerAddress int
	proxies           atomic.Pointer[[]netip.Prefix]
}

// Trust says which proxies are trusted, from the next connection on.
func (c *ConnLimit) Trust(proxies []netip.Prefix) { c.proxies.Store(&proxies) }

func (c *ConnLimit) trustsProxy(a netip.Addr) bool {
	p := c.proxies.Load()
	return p != nil && isTrusted(a, *p)
}

// farewell is what a connection too many is told. On TLS it is not understood;
// the connection ends all the same.
const farewell = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"

// Listen returns l with these bounds.
func (c *ConnLimit) Listen(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, ConnLimit: c, by: map[string]int{}}
}

type limitedListener struct {
	net.Listener
	*ConnLimit
	closing atomic.Bool
	looked  time.Time // the last look for connections after Close; of Accept alone
	looks   int

	mu    sync.Mutex
	total int
	by    map[string]int
}

// lastCall is how long connections are still taken after Close: those that
// clients have opened already would be reset, with the request in them.
const lastCall = 20 * time.Millisecond

// Close implements net.Listener. Accept ends a moment later.
func (l *limitedListener) Close() error {
	t, ok := l.Listener.(*net.TCPListener)
	if !ok || l.closing.Swap(true) {
		return l.Listener.Close()
	}
	return t.SetDeadline(time.Now().Add(lastCall))
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil && l.closing.Load() {
			if l.lookAgain() {
				continue
			}
			l.Listener.Close()
			return nil, net.ErrClosed
		}
		if err != nil {
			return nil, err
		}
		key := l.countKey(c.RemoteAddr())
		if l.enterConn(key) {
			return &guest{Conn: c, leave: sync.OnceFunc(func() { l.leaveConn(key) })}, nil
		}
		c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)) // it fits the socket's empty buffer
		c.Write([]byte(farewell))
		c.Close()
	}
}

// lookAgain asks for one more look at what waits to be taken, until one comes back
// promptly: on a busy machine the last look may lie long back.
func (l *limitedListener) lookAgain() bool {
	now := time.Now()
	prompt := now.Sub(l.looked) < 5*time.Millisecond
	l.looked = now
	if l.looks++; prompt || l.looks > 50 {
		return false
	}
	return l.Listener.(*net.TCPListener).SetDeadline(now.Add(time.Millisecond)) == nil
}

// countKey is what connections are counted by; "" for a trusted proxy.
func (l *limitedListener) countKey(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && l.trustsProxy(ip) {
		return ""
	}
	return AddressKey(host)
}

func (l *limitedListener) enterConn(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.Total || key != "" && l.by[key] >= l.PerAddress {
		return false
	}
	l.total++
	l.by[key]++
	return true
}

func (l *limitedListener) leaveConn(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.by[key]--; l.by[key] == 0 {
		delete(l.by, key)
	}
}

// guest is a connection that gives its place back when it ends.
type guest struct {
	net.Conn
	leave   func()
	arrival arrival
	isBusy  bool // a request waits for its answer; of the census alone
}

// Read implements net.Conn.
func (g *guest) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	g.arrival.noteBytes(b[:n])
	return n, err
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}
