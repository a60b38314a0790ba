package program

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// A Server is a running `holdfast serve`.
type Server struct {
	*Site
	URL  string // what its banner says, without a slash at the end
	Cmd  *exec.Cmd
	Out  *Transcript
	Gone chan error // how the process ended, once
}

// A Transcript is what a process has printed so far, for its standard output.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *Transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *Transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// BannerURL finds the address in what a server prints when it starts.
var BannerURL = regexp.MustCompile(`(?m)^ +API +(https?://(?:127\.0\.0\.1|localhost):\d+)$`)

// anybody is a client that asks for no certificate in particular.
var anybody = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// AsByDefault are the flags of a server that stops as one without settings does.
var AsByDefault = []string{"--stop-delay", "500ms"}

// Serve starts a server without rate limits and without a delay of its stop,
// which tests would only wait for, and returns when it is ready. It is stopped
// when the test ends.
func (s *Site) Serve(args ...string) *Server {
	s.Helper()
	return s.ServeAs(func(*exec.Cmd) {}, args...)
}

// ServeAs is Serve with a command that was changed before it begins.
func (s *Site) ServeAs(change func(*exec.Cmd), args ...string) *Server {
	s.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limits", "off", "--log-level", "warn",
		"--stop-delay", "0s"}, args...)
	v := &Server{Site: s, Cmd: s.Command(nil, args...), Out: &Transcript{}, Gone: make(chan error, 1)}
	v.Cmd.Stdout, v.Cmd.Stderr = v.Out, v.Out
	change(v.Cmd)
	if err := v.Cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { v.Gone <- v.Cmd.Wait() }()
	s.Cleanup(func() { v.Cmd.Process.Kill() })
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if m := BannerURL.FindStringSubmatch(v.Out.String()); m != nil {
			v.URL = m[1]
			if res, err := anybody.Get(v.URL + "/readyz"); err == nil {
				res.Body.Close()
				if res.StatusCode == http.StatusOK {
					return v
				}
			}
		}
		if len(v.Gone) > 0 || time.Since(begin) > time.Minute {
			s.Fatalf("the server does not start:\n%s", v.Out)
		}
	}
}

// Stop asks the server to end and returns how long that took.
func (v *Server) Stop() time.Duration {
	v.Helper()
	begin := time.Now()
	v.Signal(syscall.SIGTERM)
	v.Ended()
	return time.Since(begin)
}

// Ended waits for the server that was asked to end.
func (v *Server) Ended() {
	v.Helper()
	select {
	case err := <-v.Gone:
		if err != nil {
			v.Errorf("the server's end: %v\n%s", err, v.Out)
		}
	case <-time.After(30 * time.Second):
		v.Fatalf("the server does not end:\n%s", v.Out)
	}
}

// Signal sends the server a signal.
func (v *Server) Signal(sig os.Signal) {
	v.Helper()
	if err := v.Cmd.Process.Signal(sig); err != nil {
		v.Fatal(err)
	}
}
