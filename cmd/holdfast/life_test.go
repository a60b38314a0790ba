package main_test

import (
	"bytes"
	"database/sql"
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

	_ "github.com/jackc/pgx/v5/stdlib" // asks a database past package db

	"holdfast/internal/db"
)

func (v *server) signal(sig os.Signal) {
	v.Helper()
	if err := v.cmd.Process.Signal(sig); err != nil {
		v.Fatal(err)
	}
}

// eventually waits for a state; the limit only ends a test that would not.
func (s *site) eventually(what string, ok func() bool) {
	s.Helper()
	if !within(30*time.Second, ok) {
		s.Fatalf("%s: not within 30 s", what)
	}
}

// file writes a file of the site and returns its path.
func (s *site) file(path, text string) string {
	s.Helper()
	if path == "" {
		path = filepath.Join(s.TempDir(), "file")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// unread starts a server whose output goes into pipes that the test reads the
// banner from and then treats as it likes.
func (s *site) unread(args ...string) (v *server, out, log *os.File) {
	s.Helper()
	v = &server{site: s, cmd: s.command(nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limits", "off", "--stop-delay", "0s"}, args...)...),
		out: &transcript{}, gone: make(chan error, 1)}
	var err error
	ends := make([]*os.File, 4)
	for i := range 2 {
		if ends[2*i], ends[2*i+1], err = os.Pipe(); err != nil {
			s.Fatal(err)
		}
	}
	v.cmd.Stdout, v.cmd.Stderr = ends[1], ends[3]
	if err := v.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ends[1].Close()
	ends[3].Close()
	go func() { v.gone <- v.cmd.Wait() }()
	s.Cleanup(func() { v.cmd.Process.Kill(); ends[0].Close(); ends[2].Close() })
	var banner []byte
	for buf := make([]byte, 4096); bannerURL.FindSubmatch(banner) == nil; {
		n, err := ends[0].Read(buf)
		if err != nil {
			s.Fatalf("no banner: %s %v", banner, err)
		}
		banner = append(banner, buf[:n]...)
	}
	v.url = string(bannerURL.FindSubmatch(banner)[1])
	s.eventually("ready", func() bool {
		res, err := http.Get(v.url + "/readyz")
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
	each(t, func(s *site) {
		v, out, log := s.unread()
		out.Close()
		log.Close()
		for range 3 {
			v.call("GET", "/v1/zones", "", nil) // each makes a line of log
			v.signal(syscall.SIGHUP)
			time.Sleep(250 * time.Millisecond) // the log is written every 200 ms
		}
		if r := v.call("GET", "/readyz", "", nil); r.status != http.StatusOK {
			s.Errorf("%d", r.status)
		}
		v.stop()
	})
}

// A log pipe that nobody empties delays no request, and no end. What is
// read later is whole lines.
func TestLogPipeBlocked(t *testing.T) {
	each(t, func(s *site) {
		v, _, log := s.unread()
		for range 1500 { // five times what the pipe holds
			if r := v.call("GET", "/v1/zones", "", nil); r.status != http.StatusUnauthorized {
				s.Fatalf("%d", r.status)
			}
		}
		v.stop()
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
	eachDemo(t, func(s *site) {
		v := s.serve(append([]string{"--dev"}, asByDefault...)...)
		bearer := v.token("owner@north.example", "holdfast-demo")
		job := uploaded(v, bearer, 3000)
		if r := v.call("POST", "/functions/v1/process-import-job", bearer, map[string]string{"job_id": job}); r.status != http.StatusOK {
			s.Fatalf("process: %d %s", r.status, r.body)
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
					switch status, err := post(c, v.url+"/v1/zones", bearer, body); {
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
				res, err := c.Get(v.url + "/readyz")
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
			status, err := post(client(), v.url+"/functions/v1/apply-import-job", bearer, `{"job_id":"`+job+`"}`)
			if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
				s.Errorf("apply: %d %v", status, err)
			}
		})
		s.eventually("the load runs", func() bool { return made.Load() > 50 })
		v.stop()
		load.Wait()
		if !unready.Load() {
			s.Error("/readyz never said no")
		}
		v = s.serve("--dev")
		bearer = v.token("owner@north.example", "holdfast-demo")
		var rows []struct{ Status string }
		v.call("GET", "/v1/import_jobs?select=status&id=eq."+job, bearer, nil).into(s, &rows)
		if len(rows) != 1 || rows[0].Status != "ready" && rows[0].Status != "completed" {
			s.Errorf("the import is %v", rows)
		}
		if n := s.number("SELECT COUNT(*) FROM zones WHERE code LIKE 'L1-%'"); n != made.Load() {
			s.Errorf("%d zones are there, %d were acknowledged", n, made.Load())
		}
		v.stop()
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

// uploaded makes an import job of so many items.
func uploaded(v *server, bearer string, rows int) string {
	v.Helper()
	var job struct{ ID string }
	v.call("POST", "/v1/import-jobs", bearer, map[string]string{"target": "items"}).into(v, &job)
	var b strings.Builder
	b.WriteString("sku,name\n")
	for i := range rows {
		fmt.Fprintf(&b, "LIFE-%d,Item %d\n", i, i)
	}
	req, err := http.NewRequest("PUT", v.url+"/v1/import-jobs/"+job.ID+"/file?file_name=items.csv", strings.NewReader(b.String()))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "text/csv")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode >= 300 {
		v.Fatalf("upload: %d %s", res.StatusCode, text)
	}
	return job.ID
}

// A client that drips a header, one that drips a body and a webhook's
// receiver that hangs do not keep the server, which begins no delivery while it
// waits for them; a second signal ends it at once.
func TestStopWithHungPeers(t *testing.T) {
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		for _, signals := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d signals", engine, signals), func(t *testing.T) {
				t.Parallel() // they wait, and do little else
				stopHung(demoOn(t, engine), signals)
			})
		}
	}
}

func stopHung(s *site, signals int) {
	hung := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	s.Cleanup(func() { close(hung); sink.Close() })
	var late atomic.Int64
	well := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { late.Add(1) }))
	s.Cleanup(well.Close)
	v := s.serve(append([]string{"--dev", "--webhook-allow-private", "--log-level", "info"}, asByDefault...)...)
	bearer := v.token("admin@north.example", "holdfast-demo")
	for status, url := range map[string]string{"active": sink.URL, "paused": well.URL} {
		if r := v.call("POST", "/v1/webhooks", bearer,
			map[string]any{"url": url, "events": []string{"incident.*"}, "status": status}); r.status != http.StatusCreated {
			s.Fatalf("webhook: %d %s", r.status, r.body)
		}
	}
	v.call("POST", "/v1/incidents", bearer, map[string]any{"kind": "near_miss", "title": "Loose rail", "occurred_at": time.Now().Add(-time.Hour)})
	for _, head := range []string{"GET / HTTP/1.1\r\nHo",
		"POST /auth/v1/signup HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte(head)); err != nil {
			s.Fatal(err)
		}
	}
	s.eventually("the delivery hangs", func() bool {
		return s.number("SELECT COUNT(*) FROM webhook_lanes WHERE owner IS NOT NULL") > 0
	})
	v.signal(syscall.SIGTERM)
	// Asked over HTTP, a busy server might answer when it has already ended.
	s.eventually("the first signal is taken", func() bool { return strings.Contains(v.out.String(), "stopping: no new requests") })
	if signals == 1 {
		s.write("UPDATE webhooks SET status = 'active'")
		s.write("UPDATE webhook_lanes SET active = TRUE")
		v.ended() // fails after 30 s
		if n := late.Load(); n > 0 {
			s.Errorf("%d deliveries were begun while the server stopped", n)
		}
		return
	}
	// The first signal is written of a moment before the next one is let through.
	s.eventually("a second signal ends it", func() bool {
		_ = v.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-v.gone:
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
	eachEmpty(t, func(s *site) {
		for range 5 {
			cmd := s.command(nil, "migrate")
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
				if o := s.finish(s.command(nil, "migrate"), ""); o.code != 0 {
					s.Errorf("migrate: %s", o)
				}
			})
		}
		all.Wait()
		steps, err := db.Migrations()
		if err != nil {
			s.Fatal(err)
		}
		if n := s.number("SELECT COUNT(*) FROM schema_migrations"); int(n) != len(steps) {
			s.Errorf("%d migrations are noted, want %d", n, len(steps))
		}
		if s.dsn == "" {
			s.serve().stop()
			return
		}
		one, two := s.serve(), (&site{T: s.T, data: filepath.Join(s.TempDir(), "data"), dsn: s.dsn}).serve("--master-key-file", masterKeyOf(s))
		one.stop()
		two.stop()
	})
}

// masterKeyOf is a file with the site's key, which every node of a fleet has.
func masterKeyOf(s *site) string { return filepath.Join(s.data, "master.key") }

// fingerprint tells one schema, with the migrations noted in it, from another.
// It asks past package db, which opens no newer schema.
func (s *site) fingerprint() string {
	s.Helper()
	driver, at, q := "sqlite", filepath.Join(s.data, db.FileName), "SELECT name, coalesce(sql, '') FROM sqlite_master"
	if s.dsn != "" {
		driver, at, q = "pgx", s.dsn, "SELECT table_name || '.' || column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema()"
	}
	d, err := sql.Open(driver, at)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	rows, err := d.Query(q + " UNION ALL SELECT CAST(version AS text), name FROM schema_migrations ORDER BY 1, 2")
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var name, what string
		if err := rows.Scan(&name, &what); err != nil {
			s.Fatal(err)
		}
		fmt.Fprintln(&b, name, what)
	}
	if rows.Err() != nil || b.Len() == 0 {
		s.Fatal(rows.Err())
	}
	return b.String()
}
