package faults_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// statuses sends n requests at once and counts what they were answered.
func statuses(v *program.Server, n int, ask func() program.Reply) map[int]int {
	var mu sync.Mutex
	var asked sync.WaitGroup
	got := map[int]int{}
	var longest time.Duration
	for range n {
		asked.Go(func() {
			begin := time.Now()
			r := ask()
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(begin))
			if got[r.Status]++; r.Status == http.StatusServiceUnavailable && r.Header.Get("Retry-After") == "" {
				v.Errorf("503 without Retry-After: %s", r.Body)
			}
		})
	}
	asked.Wait()
	v.Logf("%d requests, the longest %s: %v", n, longest.Round(time.Millisecond), got)
	return got
}

// A database server that keeps its connections and says nothing costs requests
// a 503 at their deadline, no more. Meanwhile the process is alive and not
// ready, and its goroutines do not pile up; afterwards it goes on by itself.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel() // it waits, and does little else
	s := program.Embedded(t)
	c := ownCluster(s)
	s.Exec("migrate")
	s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	admin := program.ClosedPort(t)
	v := s.Serve("--admin-listen", admin)
	bearer := v.Token("jo@acme.example", program.Passphrase)
	zones := func() program.Reply { return v.Call("GET", "/v1/zones?limit=1", bearer, nil) }
	write := func(code string) int {
		return v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code}).Status
	}
	if got := write("BEFORE"); got != http.StatusCreated {
		t.Fatalf("a write: %d", got)
	}
	before := metric(v, admin, "go_goroutines")
	resume, err := c.Hang()
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	goOn := func() { once.Do(func() { try(s, resume) }) }
	t.Cleanup(goOn) // before the cluster's own end, which a suspended server would not hear of
	asked := make(chan map[int]int, 1)
	written := make(chan map[int]int, 1)
	go func() { asked <- statuses(v, 100, zones) }()
	go func() {
		written <- statuses(v, 4, func() program.Reply {
			return v.Call("POST", "/v1/zones", bearer, map[string]any{"code": rand.Text(), "name": "Hung"})
		})
	}()
	s.Eventually("it is not ready", func() bool {
		return v.Call("GET", "/readyz", "",
			nil).Status == http.StatusServiceUnavailable
	})
	if got := v.Call("GET", "/healthz", "", nil); got.Status != http.StatusOK {
		t.Errorf("healthz: %d %s", got.Status, got.Body)
	}
	if got := <-asked; got[http.StatusServiceUnavailable] != 100 {
		t.Errorf("reads of a database that hangs: %v", got)
	}
	if got := <-written; got[http.StatusServiceUnavailable] != 4 {
		t.Errorf("writes: %v", got)
	}
	http.DefaultClient.CloseIdleConnections() // each is two goroutines of the server
	s.Eventually("the goroutines of the requests end",
		func() bool { return metric(v, admin, "go_goroutines") < before+50 })
	goOn()
	s.Eventually("it is ready again", func() bool { return v.Call("GET", "/readyz", "", nil).Status == http.StatusOK })
	s.Eventually("writes go on", func() bool { return write("AFTER") == http.StatusCreated })
	v.Stop()
}

func try(s *program.Site, do func() error) {
	s.Helper()
	if err := do(); err != nil {
		s.Fatal(err)
	}
}

// When others have taken every connection that PostgreSQL has, requests wait for
// a bounded time and are told to come again; when there are connections again,
// the server goes on by itself.
func TestDatabaseConnectionsRunOut(t *testing.T) {
	t.Parallel() // it waits, and does little else
	s := program.Embedded(t)
	c := ownCluster(s)
	s.Exec("migrate")
	s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	admin(s, "alter system set max_connections = 20")
	if err := c.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := s.Serve()
	bearer := v.Token("jo@acme.example", program.Passphrase)
	zones := func() program.Reply { return v.Call("GET", "/v1/zones?limit=1", bearer, nil) }
	taken := takeAll(s)
	if got := statuses(v, 200, zones); got[http.StatusOK]+got[http.StatusServiceUnavailable] != 200 ||
		got[http.StatusOK] == 0 {
		t.Errorf("200 requests over the connections that are left: %v", got)
	}
	// Now the server's own are taken as well.
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
	if _, err := taken[0].Exec(context.Background(), end); err != nil {
		t.Fatal(err)
	}
	s.Eventually("it is not ready", func() bool {
		taken = append(taken, takeAll(s)...) // what the server took back first
		return v.Call("GET", "/readyz", "", nil).Status == http.StatusServiceUnavailable
	})
	if got := statuses(v, 100, zones); got[http.StatusOK]+got[http.StatusServiceUnavailable] != 100 {
		t.Errorf("100 requests without a connection: %v", got)
	}
	for _, c := range taken {
		c.Close(context.Background())
	}
	s.Eventually("it is ready again", func() bool { return v.Call("GET", "/readyz", "", nil).Status == http.StatusOK })
	s.Eventually("reads go on", func() bool { return zones().Status == http.StatusOK })
	v.Stop()
}

// takeAll opens connections until the server has no more to give.
func takeAll(s *program.Site) (taken []*pgx.Conn) {
	for {
		c, err := pgx.Connect(context.Background(), s.DSN)
		if err != nil {
			return taken
		}
		s.Cleanup(func() { c.Close(context.Background()) })
		taken = append(taken, c)
	}
}

// A database file of which the end is cut off under a running server is missed
// before a write is acknowledged: 503, and no answer is made of what is left. What
// is left is not started with.
func TestDatabaseCutOff(t *testing.T) {
	t.Parallel()
	s := program.DemoOn(t, db.SQLite)
	v := s.Serve("--dev")
	bearer := v.Token("admin@north.example", "holdfast-demo")
	file := filepath.Join(s.Data, db.FileName)
	before := map[string][]byte{}
	for _, path := range []string{"/v1/zones?limit=1000", "/v1/items?limit=1000", "/v1/orders?limit=1000",
		"/v1/incidents?limit=1000"} {
		r := v.Call("GET", path, bearer, nil)
		if r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		before[path] = r.Body
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, st.Size()/2); err != nil {
		t.Fatal(err)
	}
	for path, whole := range before {
		r := v.Call("GET", path, bearer, nil)
		if r.Status != http.StatusServiceUnavailable && (r.Status != http.StatusOK || !bytes.Equal(r.Body, whole)) {
			t.Errorf("%s: %d %.200s", path, r.Status, r.Body)
		}
	}
	if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "CUT",
		"name": "x"}); r.Status != http.StatusServiceUnavailable {
		t.Errorf("a write: %d %s", r.Status, r.Body)
	}
	if r := v.Call("GET", "/readyz", "", nil); r.Status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d %s", r.Status, r.Body)
	}
	v.Stop()
	s.Refused("the end of the database file .* is missing", "serve", "--listen", "127.0.0.1:0")
}

// A database file that another program's VACUUM makes shorter under a running
// server, after a large import was rolled back, is whole: writes and reads go on, and
// all is there after a restart.
func TestDatabaseVacuumed(t *testing.T) {
	t.Parallel()
	s := program.DemoOn(t, db.SQLite)
	v := s.Serve("--dev")
	bearer := v.Token("admin@north.example", "holdfast-demo")
	write := func(code string) {
		t.Helper()
		if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code,
			"name": "x"}); r.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", code, r.Status, r.Body)
		}
	}
	write("VAC-1")
	file := filepath.Join(s.Data, db.FileName)
	importAndRollBack(s, v, bearer, 20_000)
	beside(s, "PRAGMA wal_checkpoint")
	was := program.FileSize(t, file)
	write("VAC-1B")
	beside(s, "VACUUM", "PRAGMA wal_checkpoint")
	if now := program.FileSize(t, file); now > was-4_000_000 {
		t.Fatalf("the file has %d bytes, and had %d after a rollback", now, was)
	}
	write("VAC-2")
	if r := v.Call("GET", "/readyz", "", nil); r.Status != http.StatusOK {
		t.Errorf("ready: %d %s", r.Status, r.Body)
	}
	v.Stop()
	v = s.Serve("--dev")
	bearer = v.Token("admin@north.example", "holdfast-demo")
	r := v.Call("GET", "/v1/zones?select=code&code=like.VAC-*&order=code", bearer, nil)
	if string(r.Body) != `[{"code":"VAC-1"},{"code":"VAC-1B"},{"code":"VAC-2"}]` {
		t.Errorf("after a restart: %s", r.Body)
	}
	v.Stop()
	s.Exec("verify")
}

// importAndRollBack imports so many items and takes them back.
func importAndRollBack(s *program.Site, v *program.Server, bearer string, items int) {
	s.Helper()
	rows := []byte("sku,name,description\n")
	for i := range items {
		rows = fmt.Appendf(rows, "ROOM-%d,Takes room,%s\n", i, strings.Repeat("x", 200))
	}
	file := filepath.Join(s.TempDir(), "room.csv")
	if err := os.WriteFile(file, rows, 0o600); err != nil {
		s.Fatal(err)
	}
	s.Exec("import", file, "--target", "items", "--tenant", "north")
	var jobs []struct{ ID string }
	r := v.Call("GET", "/v1/import_jobs?select=id&file_name=eq.room.csv", bearer, nil)
	if err := json.Unmarshal(r.Body, &jobs); err != nil || len(jobs) != 1 {
		s.Fatalf("jobs: %d %s", r.Status, r.Body)
	}
	r = v.Call("POST", "/functions/v1/rollback-import-job", bearer, map[string]any{"job_id": jobs[0].ID})
	if r.Status != http.StatusOK {
		s.Fatalf("rollback: %d %s", r.Status, r.Body)
	}
}

// beside runs statements on the file as another program would.
func beside(s *program.Site, statements ...string) {
	s.Helper()
	d, err := sql.Open("sqlite", filepath.Join(s.Data, db.FileName)+"?_pragma=busy_timeout(20000)")
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	d.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := d.Exec(text); err != nil {
			s.Fatalf("%s: %v", text, err)
		}
	}
}
