package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/fault"
)

// patience ends a test that would never end; it is no promise of the product.
const patience = 30 * time.Second

func simpleShape(_ *http.Request, e *fault.Error) Reply {
	return Reply{Status: Status(e.Kind), Body: map[string]string{"error": e.Msg}}
}

// stand starts a server with short limits and returns its address and what
// stops it.
func stand(t *testing.T, h http.Handler, c *ConnLimit, set func(*http.Server)) (address string, stop func() error) {
	t.Helper()
	return standOn(t, h, set, c.Listen)
}

// standOn starts a server on what over makes of a listener.
func standOn(t *testing.T, h http.Handler, set func(*http.Server), over func(net.Listener) net.Listener) (
	address string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := newServer(h)
	if set != nil {
		set(srv)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveUntil(ctx, over(l), srv, func() {}, time.Millisecond) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { stop() })
	return l.Addr().String(), stop
}

var wide = &ConnLimit{Total: 1000, PerAddress: 1000}

// dial connects and sends. A server that refuses early may close before it has
// read everything: what it said is still there to be read.
func dial(t *testing.T, address, send string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	_, err = io.WriteString(c, send)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	return c
}

// closed waits until the server has closed a connection and returns what it
// said before.
func closed(t *testing.T, c net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server keeps the connection")
	}
	return string(b)
}

// A client that drips its header or its body is cut off,
// and one that sends at an honest rate is served, however long that takes.
func TestSlowSenders(t *testing.T) {
	read := Wrap(simpleShape, func(w http.ResponseWriter, r *http.Request) error {
		b, err := ReadBody(w, r, 1<<20)
		if err == nil {
			fmt.Fprint(w, len(b))
		}
		return err
	})
	front := &Front{Pace: &MinBodyRate{Grace: 2 * time.Second, Rate: 100, Most: time.Hour}}
	address, _ := stand(t, front.Handler(read), wide, func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout = 2*time.Second, 2*time.Second
	})
	const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n"
	for name, c := range map[string]struct{ send, want string }{
		"half a header":  {"POST / HTTP/1.1\r\nHo", ""},
		"nothing at all": {"", ""},
		"no body":        {head, "HTTP/1.1 408 "},
		"half a body":    {head + "half", "HTTP/1.1 408 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := closed(t, dial(t, address, c.send)); !strings.HasPrefix(got, c.want) || c.want == "" &&
				strings.Contains(got, " 200 ") {
				t.Errorf("answered %q", got)
			}
		})
	}
	t.Run("dripping for ever", func(t *testing.T) {
		t.Parallel()
		c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
		go func() {
			for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
				_, err = io.WriteString(c, "x") // 20 bytes a second, where 100 are asked for
			}
		}()
		closed(t, c)
	})
	t.Run("longer than any fixed limit, at an honest rate", func(t *testing.T) {
		t.Parallel()
		c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 50000\r\n\r\n")
		for range 50 {
			if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(60 * time.Millisecond) // three seconds in all, past header, read and grace limits
		}
		if got := closed(t, c); !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.HasSuffix(got, "50000") {
			t.Errorf("answered %q", got)
		}
	})
}

// A deadline of the body does not end a request that is answered slowly.
func TestSlowAnswerAfterBody(t *testing.T) {
	h := Wrap(simpleShape, func(w http.ResponseWriter, r *http.Request) error {
		if _, err := ReadBody(w, r, 100); err != nil {
			return err
		}
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(3 * time.Second):
			fmt.Fprint(w, "done")
			return nil
		}
	})
	address, _ := stand(t, (&Front{Pace: &MinBodyRate{Grace: 2 * time.Second, Rate: 1 << 20, Most: time.Hour}}).Handler(h),
		wide, func(s *http.Server) {
			s.ReadTimeout = 2 * time.Second
		})
	if got := closed(t, dial(t, address,
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")); !strings.HasSuffix(got, "done") {
		t.Errorf("answered %q", got)
	}
}

// A client that does not read its answer is cut off, and the handler is
// free again.
func TestSlowReader(t *testing.T) {
	freed := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := w.Write(make([]byte, 64<<20)) // more than any socket's buffer
		freed <- err
	})
	address, _ := stand(t, (&Front{}).Handler(h), wide, func(s *http.Server) { s.WriteTimeout = 200 * time.Millisecond })
	dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-freed:
		if err == nil {
			t.Error("64 MB went to nobody")
		}
	case <-time.After(patience):
		t.Error("the handler writes for ever")
	}
}

// Past the bounds a connection is told to come again and closed, other
// addresses and trusted proxies have room, and places are given back.
func TestCrowd(t *testing.T) {
	h := (&Front{}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	address, _ := stand(t, h, &ConnLimit{Total: 12, PerAddress: 8}, nil)
	answered := func(c net.Conn) string {
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(line)
	}
	var idle []net.Conn
	for i := range 8 {
		c := dial(t, address, get)
		if got := answered(c); got != "HTTP/1.1 200 OK" {
			t.Fatalf("connection %d: %s", i+1, got)
		}
		idle = append(idle, c)
	}
	if got := closed(t, dial(t, address, "")); !strings.HasPrefix(got, "HTTP/1.1 503 ") ||
		!strings.Contains(got, "Retry-After") {
		t.Errorf("the ninth: %q", got)
	}
	from := func(ip string) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(patience))
		return c
	}
	for i := range 4 {
		c := from("127.0.0.2")
		io.WriteString(c, get)
		if got := answered(c); got != "HTTP/1.1 200 OK" {
			t.Errorf("another address, connection %d: %s", i+1, got)
		}
	}
	if got := closed(t, from("127.0.0.3")); !strings.HasPrefix(got, "HTTP/1.1 503 ") {
		t.Errorf("past the total: %q", got)
	}
	for _, c := range idle {
		c.Close()
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c := dial(t, address, "")
		io.WriteString(c, get)
		got := answered(c)
		c.Close()
		if got == "HTTP/1.1 200 OK" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("places are not given back: %s", got)
		}
	}
	crowd := &ConnLimit{Total: 12, PerAddress: 1}
	address, _ = stand(t, h, crowd, nil)
	crowd.Trust([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for i := range 5 {
		if got := answered(dial(t, address, get)); got != "HTTP/1.1 200 OK" {
			t.Errorf("a trusted proxy, connection %d: %s", i+1, got)
		}
	}
	crowd.Trust(nil)
	if got := answered(dial(t, address, get)); got != "HTTP/1.1 200 OK" {
		t.Errorf("no proxy any more, the first connection: %s", got)
	}
	if got := closed(t, dial(t, address, "")); !strings.HasPrefix(got, "HTTP/1.1 503 ") {
		t.Errorf("no proxy any more, the second connection: %q", got)
	}
}

// HTTP/2 in the clear, whose frames no limit of a header's time holds, is not
// spoken: neither by prior knowledge nor by upgrade.
func TestNoClearHTTP2(t *testing.T) {
	address, _ := stand(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto)
	}), wide, nil)
	for name, c := range map[string]struct{ send, want string }{
		"prior knowledge": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "HTTP/1.1 "},
		"upgrade": {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
			"AAMAAABkAAQAAP__\r\n\r\n", "HTTP/1.1 200"},
	} {
		if got := closed(t, dial(t, address, c.send)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: answered %q", name, got)
		}
	}
}

// A stopping server answers what it has taken, ends those connections and
// closes idle ones; it does not wait for who says nothing.
// A header list past the bound of handlers is theirs to refuse; one past the buffer
// of a request's head net/http refuses by itself, with the same status.
func TestHeaderListPastTheBuffer(t *testing.T) {
	address, _ := stand(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := CheckHeaders(r); err != nil {
			Fail(w, r, simpleShape, err)
		}
	}), wide, nil)
	for size, want := range map[int]string{31 << 10: "HTTP/1.1 200",
		33 << 10: `{"error":"the header list is larger than 32768 bytes`, 200 << 10: "HTTP/1.1 431"} {
		c := dial(t, address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: "+strings.Repeat("x", size)+
			"\r\n\r\n")
		if said := closed(t, c); !strings.Contains(said, want) || size > 32<<10 && !strings.HasPrefix(said, "HTTP/1.1 431") {
			t.Errorf("%d bytes: %.200s, want %s", size, said, want)
		}
	}
}

func TestServeStops(t *testing.T) {
	var leaving atomic.Bool
	in, out := make(chan struct{}), make(chan struct{})
	front := &Front{Leaving: &leaving}
	h := front.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(in)
			<-out
		}
		fmt.Fprint(w, "hello")
	}))
	address, stop := stand(t, h, wide, nil)
	idle := dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := bufio.NewReader(idle).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	slow := dial(t, address, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-in
	ended := make(chan error, 1)
	leaving.Store(true)
	if got := closed(t, dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")); !strings.Contains(got,
		"Connection: close") || !strings.HasSuffix(got, "hello") {
		t.Errorf("while stopping: %q", got)
	}
	go func() { ended <- stop() }()
	close(out)
	if got := closed(t, slow); !strings.HasSuffix(got, "hello") {
		t.Errorf("the request in flight: %q", got)
	}
	closed(t, idle)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server that leaves says so before it takes no more: until its goodbye is
// over, connections that come anew are answered, each whole and told to end.
func TestServeSaysGoodbye(t *testing.T) {
	const goodbye = time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var leaving atomic.Bool
	front := &Front{Leaving: &leaving}
	srv := newServer(front.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})))
	ctx, leave := context.WithCancel(t.Context())
	said, ended := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		ended <- serveUntil(ctx, wide.Listen(l), srv, func() { leaving.Store(true); said <- time.Now() }, goodbye)
	}()
	leave()
	begin := <-said
	for answered := 0; ; answered++ {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			// On a slow machine this comes later, never sooner.
			if lasted := time.Since(begin); lasted < goodbye || answered == 0 {
				t.Errorf("refused %s after it said that it leaves, with %d answered: %v", lasted, answered, err)
			}
			break
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		got := closed(t, c)
		if time.Since(begin) < goodbye && (!strings.Contains(got, "Connection: close") || !strings.HasSuffix(got, "hello")) {
			t.Fatalf("while it says goodbye: %q", got)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
