package web

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// speakTLS begins to speak TLS of a version on a connection; 0 leaves it in the clear.
func speakTLS(t *testing.T, c net.Conn, version uint16) net.Conn {
	t.Helper()
	if version == 0 {
		return c
	}
	over := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
	if err := over.Handshake(); err != nil {
		t.Fatal(err)
	}
	return over
}

// standTLS is stand, with TLS above the limits as the program has it where version says so.
func standTLS(t *testing.T, version uint16) (address string, stop func() error) {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	if version == 0 {
		return stand(t, h, wide, nil)
	}
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	return standOn(t, h, nil, func(l net.Listener) net.Listener {
		return tls.NewListener(wide.Listen(l), &tls.Config{Certificates: lender.TLS.Certificates})
	})
}

// A stop waits for a request whose header is under way, on a new connection and on one that
// was answered before, and not for connections that say nothing.
func TestStopWaitsForHalfHeaders(t *testing.T) {
	const whole = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, version := range map[string]uint16{"clear": 0, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		for before, said := range map[string]string{"new": "", "answered before": whole} {
			t.Run(name+", "+before, func(t *testing.T) {
				t.Parallel()
				address, stop := standTLS(t, version)
				silent := speakTLS(t, dial(t, address, ""), version)
				half := speakTLS(t, dial(t, address, ""), version)
				answers := bufio.NewReader(half)
				if said != "" {
					io.WriteString(half, said)
					readHello(t, answers)
				}
				io.WriteString(half, whole[:20])
				time.Sleep(100 * time.Millisecond) // the server reads it
				ended := make(chan error, 1)
				begin := time.Now()
				go func() { ended <- stop() }()
				closed(t, silent)
				if took := time.Since(begin); took > headerTimeout-time.Second {
					t.Errorf("a silent connection is kept for %s", took)
				}
				time.Sleep(time.Until(begin.Add(2 * silentTime)))
				io.WriteString(half, whole[20:])
				readHello(t, answers)
				half.Close()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Two bytes that never become a request do not hold a stop for longer than a header may take.
func TestStopEndsBeforeStrayBytes(t *testing.T) {
	address, stop := stand(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	}), wide, func(s *http.Server) { s.ReadHeaderTimeout = time.Second })
	c := dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	readHello(t, bufio.NewReader(c))
	io.WriteString(c, "\r\n")
	time.Sleep(100 * time.Millisecond)
	begin := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > drainTime/2 {
		t.Errorf("the stop took %s", took)
	}
}

func readHello(t *testing.T, r *bufio.Reader) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("not answered: %v", err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(b), "hello") {
		t.Fatalf("answered %q: %v", b, err)
	}
}
