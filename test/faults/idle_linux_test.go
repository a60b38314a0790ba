package faults_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// httpWait is how long net/http would wait at a stop for connections that say nothing.
const httpWait = 5 * time.Second

// A stop does not wait for two thousand connections that bring nothing: those that were
// answered and are kept, and those that never asked. One server is as good as the other
// engine's.
func TestStopWithIdleConnections(t *testing.T) {
	const kept, silent = 1000, 1000
	s := program.Embedded(t)
	v := s.Serve("--stop-delay", "500ms")
	list := make([]net.Conn, kept+silent)
	t.Cleanup(func() {
		for _, c := range list {
			if c != nil {
				c.Close()
			}
		}
	})
	var work sync.WaitGroup
	for part := range 8 {
		work.Go(func() {
			for i := part; i < len(list); i += 8 {
				c, err := openIdle(strings.TrimPrefix(v.URL, "http://"), i, i < kept)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				list[i] = c
			}
		})
	}
	work.Wait()
	if took := v.Stop(); took >= httpWait {
		t.Errorf("the stop took %s", took)
	}
}

// openIdle connects from one of several addresses of this machine, each of which may hold a
// quarter of the connections.
func openIdle(server string, i int, asks bool) (net.Conn, error) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}
	c, err := (&net.Dialer{LocalAddr: from, Timeout: 10 * time.Second}).Dial("tcp", server)
	if err != nil || !asks {
		return c, err
	}
	fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", server)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return c, err
	}
	defer res.Body.Close()
	if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	return c, err
}
