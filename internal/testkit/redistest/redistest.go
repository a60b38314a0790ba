// Package redistest starts a Redis server of its own for a test, on a free
// port with a temporary folder, and can take it away again.
//
// Layer: tests. Begin at [Start].
package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to start.
const patience = 30 * time.Second

// Server is a Redis server that a test may stop, start, hang and wake.
type Server struct {
	URL string // of the server's first database

	t     testing.TB
	port  int
	dir   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
	log   *bytes.Buffer // of cmd
}

// Start starts a server, which ends with the test. It fails the test when
// redis-server is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := Away(t)
	for end := time.Now().Add(patience); !s.launch(); s.choose() { // the free port was taken meanwhile
		if time.Now().After(end) {
			t.Fatalf("redistest: the server does not start:\n%s", s.log)
		}
	}
	return s
}

// Away is a server that has not been started yet.
func Away(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.choose()
	t.Cleanup(s.Stop)
	return s
}

// choose gives the server a port that is free now.
func (s *Server) choose() {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.URL = fmt.Sprintf("redis://127.0.0.1:%d", s.port)
}

// Start starts the server where it was and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	// somebody has the port for a moment
	for end := time.Now().Add(patience); !s.launch(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("redistest: the server does not start:\n%s", s.log)
		}
	}
}

// launch starts the server and waits until it answers; false says that it ended
// instead, as it does without its port.
func (s *Server) launch() bool {
	s.t.Helper()
	s.log, s.ended = &bytes.Buffer{}, make(chan struct{})
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save",
		"", "--appendonly", "no")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		s.t.Fatalf("redistest: %v; scripts/setup installs it", err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // says that it was killed
		close(ended)
	}(s.cmd, s.ended)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-s.ended:
			s.cmd = nil
			return false
		case <-time.After(25 * time.Millisecond):
			if s.answers() {
				return true
			}
		}
	}
	s.Stop()
	s.t.Fatalf("redistest: the server does not answer:\n%s", s.log)
	return false
}

// answers says whether it is this server that answers at the port.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", s.port), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := c.Write([]byte("INFO server\r\n")); err != nil {
		return false
	}
	answer, at := make([]byte, 4096), 0
	for at < len(answer) {
		n, err := c.Read(answer[at:])
		at += n
		if strings.Contains(string(answer[:at]), fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid)) {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}

// Stop kills the server; what it held is lost.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("redistest: kill: %v", err)
	}
	<-s.ended
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
