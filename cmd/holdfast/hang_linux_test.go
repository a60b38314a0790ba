package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
)

// statuses sends n requests at once and counts what they were answered.
func (v *server) statuses(n int, ask func() reply) map[int]int {
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
			if got[r.status]++; r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") == "" {
				v.Errorf("503 without Retry-After: %s", r.body)
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
	s := embedded(t)
	c := s.ownCluster()
	s.run("migrate")
	s.runWith(passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	admin := closedPort(t)
	v := s.serve("--admin-listen", admin)
	bearer := v.token("jo@acme.example", passphrase)
	zones := func() reply { return v.call("GET", "/v1/zones?limit=1", bearer, nil) }
	write := func(code string) int {
		return v.call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code}).status
	}
	if got := write("BEFORE"); got != http.StatusCreated {
		t.Fatalf("a write: %d", got)
	}
	before := v.metric(admin, "go_goroutines")
	resume, err := c.Hang()
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	goOn := func() { once.Do(func() { s.try(resume) }) }
	t.Cleanup(goOn) // before the cluster's own end, which a suspended server would not hear of
	asked := make(chan map[int]int, 1)
	written := make(chan map[int]int, 1)
	go func() { asked <- v.statuses(100, zones) }()
	go func() {
		written <- v.statuses(4, func() reply {
			return v.call("POST", "/v1/zones", bearer, map[string]any{"code": rand.Text(), "name": "Hung"})
		})
	}()
	s.eventually("it is not ready", func() bool { return v.call("GET", "/readyz", "", nil).status == http.StatusServiceUnavailable })
	if got := v.call("GET", "/healthz", "", nil); got.status != http.StatusOK {
		t.Errorf("healthz: %d %s", got.status, got.body)
	}
	if got := <-asked; got[http.StatusServiceUnavailable] != 100 {
		t.Errorf("reads of a database that hangs: %v", got)
	}
	if got := <-written; got[http.StatusServiceUnavailable] != 4 {
		t.Errorf("writes: %v", got)
	}
	http.DefaultClient.CloseIdleConnections() // each is two goroutines of the server
	s.eventually("the goroutines of the requests end", func() bool { return v.metric(admin, "go_goroutines") < before+50 })
	goOn()
	s.eventually("it is ready again", func() bool { return v.call("GET", "/readyz", "", nil).status == http.StatusOK })
	s.eventually("writes go on", func() bool { return write("AFTER") == http.StatusCreated })
	v.stop()
}

func (s *site) try(do func() error) {
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
	s := embedded(t)
	c := s.ownCluster()
	s.run("migrate")
	s.runWith(passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	s.admin("alter system set max_connections = 20")
	if err := c.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := s.serve()
	bearer := v.token("jo@acme.example", passphrase)
	zones := func() reply { return v.call("GET", "/v1/zones?limit=1", bearer, nil) }
	taken := s.takeAll()
	if got := v.statuses(200, zones); got[http.StatusOK]+got[http.StatusServiceUnavailable] != 200 || got[http.StatusOK] == 0 {
		t.Errorf("200 requests over the connections that are left: %v", got)
	}
	// Now the server's own are taken as well.
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
	if _, err := taken[0].Exec(context.Background(), end); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is not ready", func() bool {
		taken = append(taken, s.takeAll()...) // what the server took back first
		return v.call("GET", "/readyz", "", nil).status == http.StatusServiceUnavailable
	})
	if got := v.statuses(100, zones); got[http.StatusOK]+got[http.StatusServiceUnavailable] != 100 {
		t.Errorf("100 requests without a connection: %v", got)
	}
	for _, c := range taken {
		c.Close(context.Background())
	}
	s.eventually("it is ready again", func() bool { return v.call("GET", "/readyz", "", nil).status == http.StatusOK })
	s.eventually("reads go on", func() bool { return zones().status == http.StatusOK })
	v.stop()
}

// takeAll opens connections until the server has no more to give.
func (s *site) takeAll() (taken []*pgx.Conn) {
	for {
		c, err := pgx.Connect(context.Background(), s.dsn)
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
	s := demoOn(t, db.SQLite)
	v := s.serve("--dev")
	bearer := v.token("admin@north.example", "holdfast-demo")
	file := filepath.Join(s.data, db.FileName)
	before := map[string][]byte{}
	for _, path := range []string{"/v1/zones?limit=1000", "/v1/items?limit=1000", "/v1/orders?limit=1000", "/v1/incidents?limit=1000"} {
		r := v.call("GET", path, bearer, nil)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		before[path] = r.body
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, st.Size()/2); err != nil {
		t.Fatal(err)
	}
	for path, whole := range before {
		r := v.call("GET", path, bearer, nil)
		if r.status != http.StatusServiceUnavailable && (r.status != http.StatusOK || !bytes.Equal(r.body, whole)) {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	if r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": "CUT", "name": "x"}); r.status != http.StatusServiceUnavailable {
		t.Errorf("a write: %d %s", r.status, r.body)
	}
	if r := v.call("GET", "/readyz", "", nil); r.status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d %s", r.status, r.body)
	}
	v.stop()
	s.refused("the end of the database file .* is missing", "serve", "--listen", "127.0.0.1:0")
}

// A database file that another program's VACUUM makes shorter under a running
// server is whole: writes and reads go on, and all is there after a restart.
func TestDatabaseVacuumed(t *testing.T) {
	t.Parallel()
	s := demoOn(t, db.SQLite)
	v := s.serve("--dev")
	bearer := v.token("admin@north.example", "holdfast-demo")
	write := func(code string) {
		t.Helper()
		if r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": "x"}); r.status != http.StatusCreated {
			t.Errorf("%s: %d %s", code, r.status, r.body)
		}
	}
	write("VAC-1")
	file := filepath.Join(s.data, db.FileName)
	s.beside("CREATE TABLE gone AS SELECT zeroblob(8000000) AS x", "DROP TABLE gone", "PRAGMA wal_checkpoint")
	was := size(t, file)
	write("VAC-1B")
	s.beside("VACUUM", "PRAGMA wal_checkpoint")
	if now := size(t, file); now >= was {
		t.Fatalf("the file has %d bytes, and had %d", now, was)
	}
	write("VAC-2")
	if r := v.call("GET", "/readyz", "", nil); r.status != http.StatusOK {
		t.Errorf("ready: %d %s", r.status, r.body)
	}
	v.stop()
	v = s.serve("--dev")
	bearer = v.token("admin@north.example", "holdfast-demo")
	r := v.call("GET", "/v1/zones?select=code&code=like.VAC-*&order=code", bearer, nil)
	if string(r.body) != `[{"code":"VAC-1"},{"code":"VAC-1B"},{"code":"VAC-2"}]` {
		t.Errorf("after a restart: %s", r.body)
	}
	v.stop()
	s.run("verify")
}

// beside runs statements on the file as another program would.
func (s *site) beside(statements ...string) {
	s.Helper()
	d, err := sql.Open("sqlite", filepath.Join(s.data, db.FileName)+"?_pragma=busy_timeout(20000)")
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
