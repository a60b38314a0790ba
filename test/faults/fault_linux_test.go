package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/testkit/program"
)

// bound lets a running server have no more of something than so much, and
// returns what lets it have as much as before.
func bound(v *program.Server, resource int, most uint64) (free func()) {
	v.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(v.Cmd.Process.Pid, resource, nil, &before); err != nil {
		v.Fatal(err)
	}
	if err := unix.Prlimit(v.Cmd.Process.Pid, resource, &unix.Rlimit{Cur: most, Max: before.Max}, nil); err != nil {
		v.Fatal(err)
	}
	return func() {
		v.Helper()
		if err := unix.Prlimit(v.Cmd.Process.Pid, resource, &before, nil); err != nil {
			v.Fatal(err)
		}
	}
}

// fileSizes has a limit of the size of files be an error as that of a full disk
// is, which the signal would end the process for.
func fileSizes(cmd *exec.Cmd) {
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' XFSZ; exec "$0" "$@"`}, cmd.Args...)
}

// metric reads one number of /metrics.
func metric(v *program.Server, admin, name string) float64 {
	v.Helper()
	for line := range strings.Lines(program.Metrics(v, admin)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				v.Fatal(err)
			}
			return n
		}
	}
	v.Fatalf("no %s is served", name)
	return 0
}

// A log on a disk that is full, with the embedded database beside it, loses
// lines, which are counted, and nothing else: the server goes on, and when there
// is room again the log says how many lines are missing.
func TestLogDiskFull(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		admin, path := program.ClosedPort(s.T), filepath.Join(s.TempDir(), "log")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			s.Fatal(err)
		}
		v := s.ServeAs(func(cmd *exec.Cmd) { cmd.Stderr = file; fileSizes(cmd) }, "--dev", "--log-level", "info",
			"--admin-listen", admin)
		file.Close()
		bearer := v.Token("admin@north.example", "holdfast-demo")
		write := func(code string) int {
			return v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code}).Status
		}
		var st os.FileInfo
		s.Eventually("something is logged", func() bool { st, err = os.Stat(path); return err == nil && st.Size() > 0 })
		free := bound(v, unix.RLIMIT_FSIZE, uint64(st.Size()+10)) // the middle of a line
		want := http.StatusServiceUnavailable
		if s.DSN != "" {
			want = http.StatusCreated // that disk has room
		}
		if got := write("LOG-1"); got != want {
			s.Errorf("a write beside the full log: %d, want %d", got, want)
		}
		s.Eventually("lines are lost and counted", func() bool {
			if r := v.Call("GET", "/v1/zones?limit=1", bearer, nil); r.Status != http.StatusOK {
				s.Fatalf("a read: %d %s", r.Status, r.Body)
			}
			return metric(v, admin, "holdfast_log_dropped_total") > 5
		})
		free()
		s.Eventually("writes go on", func() bool {
			return write("LOG-"+strconv.FormatInt(time.Now().UnixNano(),
				36)) == http.StatusCreated
		})
		var told, pieces int
		s.Eventually("the log says what is missing", func() bool {
			text, err := os.ReadFile(path)
			if err != nil {
				s.Fatal(err)
			}
			told, pieces = 0, 0
			for line := range bytes.Lines(text) {
				var entry struct{ Lines int }
				if json.Unmarshal(line, &entry) != nil {
					pieces++
				} else if entry.Lines > 0 {
					told += entry.Lines
				}
			}
			return told > 0
		})
		if lost := metric(v, admin, "holdfast_log_dropped_total"); int(lost) != told || pieces > 1 {
			s.Errorf("the log tells of %d lines, %v were lost; %d pieces of lines are in it", told, lost, pieces)
		}
		v.Stop()
	})
}

// Idle connections from many addresses take three quarters of the descriptors
// and no more: others are told to come again. When no descriptor at all is left,
// new connections wait, nothing turns in a circle, and it is as before once there
// are some.
func TestDescriptorsRunOut(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.ServeAs(func(cmd *exec.Cmd) {
			cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`}, cmd.Args...)
		}, "--dev")
		bearer := v.Token("admin@north.example", "holdfast-demo") // keeps its connection
		made := 0
		write := func() int {
			r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": fmt.Sprintf("FD-%d", made), "name": "x"})
			if r.Status == http.StatusCreated {
				made++
			}
			return r.Status
		}
		open, refused := idle(v, 400)
		if refused == 0 {
			s.Error("400 idle connections are let in, where there are 256 descriptors")
		}
		if got := write(); got != http.StatusCreated {
			s.Errorf("a write beside the idle ones: %d", got)
		}
		free := bound(v, unix.RLIMIT_NOFILE, 8)
		before, begin := busy(v), time.Now()
		c := &http.Client{Timeout: time.Second}
		for range 4 {
			// A connection that is opened now waits until it can be taken.
			if got, err := get(c, v.URL+"/v1/zones?limit=1", bearer); err == nil && got != http.StatusOK &&
				got != http.StatusServiceUnavailable {
				s.Errorf("a read without descriptors: %d", got)
			}
			time.Sleep(250 * time.Millisecond) // a time in which nothing is asked
		}
		if used, took := busy(v)-before, time.Since(begin); used > took/2 {
			s.Errorf("of %s, the server worked %s", took, used)
		}
		free()
		for _, c := range open {
			c.Close()
		}
		http.DefaultClient.CloseIdleConnections()
		s.Eventually("a new connection is served", func() bool {
			res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true},
				Timeout: 5 * time.Second}).Get(v.URL + "/readyz")
			if err != nil {
				return false
			}
			res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
		if got := write(); got != http.StatusCreated {
			s.Errorf("a write afterwards: %d", got)
		}
		v.Stop()
		if n := s.Number("SELECT COUNT(*) FROM zones WHERE code LIKE 'FD-%'"); int(n) != made {
			s.Errorf("%d zones are there, %d were acknowledged", n, made)
		}
	})
}

// idle opens so many connections that say nothing, from ten addresses, and
// returns those that are let in and how many were told to come again.
func idle(v *program.Server, n int) (open []net.Conn, refused int) {
	v.Helper()
	for i := range n {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%10))}, Timeout: 5 * time.Second}
		c, err := d.Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
		if err != nil {
			v.Fatal(err)
		}
		v.Cleanup(func() { c.Close() })
		open = append(open, c)
	}
	var told atomic.Int64
	var all sync.WaitGroup
	for _, c := range open {
		all.Go(func() {
			c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			head := make([]byte, 12)
			if n, _ := io.ReadFull(c, head); n > 0 {
				told.Add(1)
				if string(head[:n]) != "HTTP/1.1 503" {
					v.Errorf("a connection too many was told %q", head[:n])
				}
			}
		})
	}
	all.Wait()
	return open, int(told.Load())
}

// busy is the processor time of the server so far.
func busy(v *program.Server) time.Duration {
	v.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Cmd.Process.Pid))
	if err != nil {
		v.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest) // from the state on: proc_pid_stat(5)
	var ticks int
	for _, text := range f[11:13] {
		n, err := strconv.Atoi(text)
		if err != nil {
			v.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// A server that is suspended for longer than it trusts what it knows asks anew
// when it goes on: who was shut out is not let in once more.
func TestSuspended(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		removed, stays := v.Token("admin@north.example", "holdfast-demo"), v.Token("viewer@north.example", "holdfast-demo")
		status := func(bearer string) int { return v.Call("GET", "/v1/zones?limit=1", bearer, nil).Status }
		if a, b := status(removed), status(stays); a != http.StatusOK || b != http.StatusOK {
			s.Fatalf("before: %d and %d", a, b)
		}
		// Just before: a server that is suspended amid a write keeps its locks.
		s.Write("DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE email = 'admin@north.example')")
		v.Signal(syscall.SIGSTOP)
		time.Sleep(6 * time.Second) // what a node knows of a session counts for five
		v.Signal(syscall.SIGCONT)
		if a, b := status(removed), status(stays); a != http.StatusUnauthorized || b != http.StatusOK {
			s.Errorf("after it went on, who was signed out is answered with %d, who was not with %d", a, b)
		}
		v.Stop()
	})
}
