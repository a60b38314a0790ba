package faults_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// unread starts a server whose output goes into pipes that the test reads the
// banner from and then treats as it likes.
func unread(s *program.Site, args ...string) (v *program.Server, out, log *os.File) {
	s.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limits", "off", "--stop-delay", "0s"}, args...)
	v = &program.Server{Site: s, Cmd: s.Command(nil, args...), Out: &program.Transcript{}, Gone: make(chan error, 1)}
	var err error
	ends := make([]*os.File, 4)
	for i := range 2 {
		if ends[2*i], ends[2*i+1], err = os.Pipe(); err != nil {
			s.Fatal(err)
		}
	}
	v.Cmd.Stdout, v.Cmd.Stderr = ends[1], ends[3]
	if err := v.Cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ends[1].Close()
	ends[3].Close()
	go func() { v.Gone <- v.Cmd.Wait() }()
	s.Cleanup(func() { v.Cmd.Process.Kill(); ends[0].Close(); ends[2].Close() })
	var banner []byte
	for buf := make([]byte, 4096); program.BannerURL.FindSubmatch(banner) == nil; {
		n, err := ends[0].Read(buf)
		if err != nil {
			s.Fatalf("no banner: %s %v", banner, err)
		}
		banner = append(banner, buf[:n]...)
	}
	v.URL = string(program.BannerURL.FindSubmatch(banner)[1])
	s.Eventually("ready", func() bool {
		res, err := http.Get(v.URL + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return v, ends[0], ends[2]
}

// Whoever reads banner and log may go; the server lives on.
func TestOutputGone(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v, out, log := unread(s)
		out.Close()
		log.Close()
		for range 3 {
			v.Call("GET", "/v1/zones", "", nil) // each makes a line of log
			v.Signal(syscall.SIGHUP)
			time.Sleep(250 * time.Millisecond) // the log is written every 200 ms
		}
		if r := v.Call("GET", "/readyz", "", nil); r.Status != http.StatusOK {
			s.Errorf("%d", r.Status)
		}
		v.Stop()
	})
}

// A log pipe that nobody empties delays no request, and no end. What is
// read later is whole lines.
func TestLogPipeBlocked(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v, _, log := unread(s)
		for range 1500 { // five times what the pipe holds
			if r := v.Call("GET", "/v1/zones", "", nil); r.Status != http.StatusUnauthorized {
				s.Fatalf("%d", r.Status)
			}
		}
		v.Stop()
		text, err := io.ReadAll(log)
		if err != nil {
			s.Fatal(err)
		}
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		n := 0
		for line := range bytes.Lines(whole) {
			if n++; !json.Valid(line) {
				s.Fatalf("no line of JSON: %s", line)
			}
		}
		if n == 0 {
			s.Error("nothing was logged")
		}
	})
}

// SIGTERM under load. A client sees whole answers, or finds nobody
// listening; /readyz says no first; an apply in flight is finished or undone;
// exit status 0.
func TestStopUnderLoad(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve(append([]string{"--dev"}, program.AsByDefault...)...)
		bearer := v.Token("owner@north.example", "holdfast-demo")
		job := v.Uploaded(bearer, 3000)
		if r := v.Call("POST", "/functions/v1/process-import-job", bearer,
			map[string]string{"job_id": job}); r.Status != http.StatusOK {
			s.Fatalf("process: %d %s", r.Status, r.Body)
		}
		var made atomic.Int64
		var unready atomic.Bool
		var load sync.WaitGroup
		client := func() *http.Client { return &http.Client{Transport: &http.Transport{}} } // connections of its own
		for n := range 24 {
			load.Go(func() {
				c := client()
				for i := 0; ; i++ {
					body := fmt.Sprintf(`{"code":"L1-%d-%d","name":"L1"}`, n, i)
					switch status, err := post(c, v.URL+"/v1/zones", bearer, body); {
					case errors.Is(err, syscall.ECONNREFUSED):
						return
					case errors.Is(err, syscall.ECONNRESET) && unready.Load():
						return // the kernel had taken the connection, the server not
					case err != nil:
						s.Errorf("a request was cut: %v", err)
						return
					case status == http.StatusCreated:
						made.Add(1)
					default:
						s.Errorf("a request was answered with %d", status)
						return
					}
				}
			})
		}
		load.Go(func() {
			for c := client(); ; {
				res, err := c.Get(v.URL + "/readyz")
				if err != nil {
					return
				}
				res.Body.Close()
				c.CloseIdleConnections()
				if res.StatusCode == http.StatusServiceUnavailable {
					unready.Store(true)
				} else if unready.Load() {
					s.Error("ready again while stopping")
				}
			}
		})
		load.Go(func() {
			status, err := post(client(), v.URL+"/functions/v1/apply-import-job", bearer, `{"job_id":"`+job+`"}`)
			if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
				s.Errorf("apply: %d %v", status, err)
			}
		})
		s.Eventually("the load runs", func() bool { return made.Load() > 50 })
		v.Stop()
		load.Wait()
		if !unready.Load() {
			s.Error("/readyz never said no")
		}
		v = s.Serve("--dev")
		bearer = v.Token("owner@north.example", "holdfast-demo")
		var rows []struct{ Status string }
		v.Call("GET", "/v1/import_jobs?select=status&id=eq."+job, bearer, nil).Into(s, &rows)
		if len(rows) != 1 || rows[0].Status != "ready" && rows[0].Status != "completed" {
			s.Errorf("the import is %v", rows)
		}
		if n := s.Number("SELECT COUNT(*) FROM zones WHERE code LIKE 'L1-%'"); n != made.Load() {
			s.Errorf("%d zones are there, %d were acknowledged", n, made.Load())
		}
		v.Stop()
	})
}

func post(c *http.Client, url, bearer, body string) (int, error) {
	req, err := http.NewRequest("POST", url, io.NopCloser(strings.NewReader(body))) // a body of unknown length: never sent twice
	if err != nil {
		return 0, err
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// A client that drips a header, one that drips a body and a webhook's
// receiver that hangs do not keep the server, which begins no delivery while it
// waits for them; a second signal ends it at once.
func TestStopWithHungPeers(t *testing.T) {
	t.Parallel() // it waits, and does little else
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		for _, signals := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d signals", engine, signals), func(t *testing.T) {
				t.Parallel()
				stopHung(program.DemoOn(t, engine), signals)
			})
		}
	}
}

func stopHung(s *program.Site, signals int) {
	hung := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	s.Cleanup(func() { close(hung); sink.Close() })
	var late atomic.Int64
	well := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { late.Add(1) }))
	s.Cleanup(well.Close)
	v := s.Serve(append([]string{"--dev", "--webhook-allow-private", "--log-level", "info"}, program.AsByDefault...)...)
	bearer := v.Token("admin@north.example", "holdfast-demo")
	for status, url := range map[string]string{"active": sink.URL, "paused": well.URL} {
		if r := v.Call("POST", "/v1/webhooks", bearer,
			map[string]any{"url": url, "events": []string{"incident.*"}, "status": status}); r.Status != http.StatusCreated {
			s.Fatalf("webhook: %d %s", r.Status, r.Body)
		}
	}
	v.Call("POST", "/v1/incidents", bearer, map[string]any{"kind": "near_miss", "title": "Loose rail",
		"occurred_at": time.Now().Add(-time.Hour)})
	for _, head := range []string{"GET / HTTP/1.1\r\nHo",
		"POST /auth/v1/signup HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte(head)); err != nil {
			s.Fatal(err)
		}
	}
	s.Eventually("the delivery hangs", func() bool {
		return s.Number("SELECT COUNT(*) FROM webhook_lanes WHERE owner IS NOT NULL") > 0
	})
	v.Signal(syscall.SIGTERM)
	// Asked over HTTP, a busy server might answer when it has already ended.
	s.Eventually("the first signal is taken", func() bool {
		return strings.Contains(v.Out.String(),
			"stopping: no new requests")
	})
	if signals == 1 {
		s.Write("UPDATE webhooks SET status = 'active'")
		s.Write("UPDATE webhook_lanes SET active = TRUE")
		v.Ended() // fails after 30 s
		if n := late.Load(); n > 0 {
			s.Errorf("%d deliveries were begun while the server stopped", n)
		}
		return
	}
	// The first signal is written of a moment before the next one is let through.
	s.Eventually("a second signal ends it", func() bool {
		_ = v.Cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-v.Gone:
			if err == nil {
				s.Error("a server that was ended by force says that all is well")
			}
			return true
		default:
			return false
		}
	})
}

// Servers that start at once on an empty database migrate it once, and one
// killed in the middle of it leaves what the next can finish.
func TestMigrateTogetherAndKilled(t *testing.T) {
	program.EachEmpty(t, func(s *program.Site) {
		for range 5 {
			cmd := s.Command(nil, "migrate")
			if err := cmd.Start(); err != nil {
				s.Fatal(err)
			}
			time.Sleep(rand.N(120 * time.Millisecond))
			cmd.Process.Kill()
			cmd.Wait()
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if o := s.Finish(s.Command(nil, "migrate"), ""); o.Code != 0 {
					s.Errorf("migrate: %s", o)
				}
			})
		}
		all.Wait()
		steps, err := db.Migrations()
		if err != nil {
			s.Fatal(err)
		}
		if n := s.Number("SELECT COUNT(*) FROM schema_migrations"); int(n) != len(steps) {
			s.Errorf("%d migrations are noted, want %d", n, len(steps))
		}
		if s.DSN == "" {
			s.Serve().Stop()
			return
		}
		one, two := s.Serve(), (&program.Site{T: s.T, Data: filepath.Join(s.TempDir(), "data"),
			DSN: s.DSN}).Serve("--master-key-file", s.MasterKeyFile())
		one.Stop()
		two.Stop()
	})
}
