package redistest

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// Whoever takes the port between its choice and the start is waited for, and is
// not taken for the server.
func TestPortIsTaken(t *testing.T) {
	other := Start(t)
	s := Away(t)
	s.port = other.port
	stopped := make(chan bool)
	go func() {
		time.Sleep(300 * time.Millisecond)
		other.Stop()
		close(stopped)
	}()
	s.Start()
	if <-stopped; !s.answers() {
		t.Error("another server was taken for this one")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s = Away(t); s.URL != fmt.Sprintf("redis://127.0.0.1:%d", s.port) {
		t.Error(s.URL)
	}
	if s.port = l.Addr().(*net.TCPAddr).Port; s.launch() {
		t.Error("started without its port")
	}
}
