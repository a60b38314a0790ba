package program

import (
	"net"
	"testing"
	"time"
)

// Within asks again until ok says yes or the time is over.
func Within(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

// ClosedPort is an address of this machine where nobody listened a moment ago.
func ClosedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// patience is how long a test waits for what goes on by itself: a busy machine takes its time.
const patience = 90 * time.Second

// Eventually waits for a state; the limit only ends a test that would not.
func (s *Site) Eventually(what string, ok func() bool) {
	s.Helper()
	if !Within(patience, ok) {
		s.Fatalf("%s: not within %v", what, patience)
	}
}
