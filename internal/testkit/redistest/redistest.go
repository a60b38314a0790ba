// Package redistest starts a Redis server of its own for a test, on a free
// port with a temporary folder, and can take it away again.
package redistest

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a Redis server that a test may stop, start, hang and wake.
type Server struct {
	URL string // of the server's first database

	t    testing.TB
	port int
	dir  string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// Start starts a server, which ends with the test. It fails the test when
// redis-server is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := Away(t)
	s.Start()
	return s
}

// Away is a server that has not been started yet.
func Away(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: fmt.Sprintf("redis://127.0.0.1:%d", port), t: t, port: port, dir: t.TempDir()}
	t.Cleanup(s.Stop)
	return s
}

// Start starts the server and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("redistest: %v; scripts/setup installs it", err)
	}
	for range 400 {
		if s.answers() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.Stop()
	s.t.Fatalf("redistest: the server does not answer:\n%s", s.log.String())
}

func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", s.port), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	answer := make([]byte, 5)
	_, err = c.Read(answer)
	return err == nil && string(answer) == "+PONG"
}

// Stop kills the server; what it held is lost.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Errorf("redistest: kill: %v", err)
	}
	_ = s.cmd.Wait() // says that it was killed
	s.cmd = nil
}

// Hang makes the server keep its connections and answer nothing.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Wake ends Hang.
func (s *Server) Wake() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
