package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// balancer hands requests to nodes in turn that say they are ready, which it
// asks every askedEvery. It sends nothing twice.
type balancer struct {
	*httptest.Server
	turn  atomic.Int64
	nodes []*balanced
}

// askedEvery is far longer than a server takes to close its door, and far
// shorter than the delay with which it does.
const (
	askedEvery = 200 * time.Millisecond
	stopDelay  = "2s"
)

type balanced struct {
	address string
	ready   atomic.Bool
	proxy   *httputil.ReverseProxy
}

// balance keeps the connections to the first node and opens one for each request
// to the others: both kinds of balancers are met.
func balance(t *testing.T, addresses ...string) *balancer {
	b := &balancer{}
	over := make(chan struct{})
	var asking sync.WaitGroup
	for i, address := range addresses {
		n := &balanced{address: address, proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})}
		n.proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 32, DisableKeepAlives: i > 0}
		b.nodes = append(b.nodes, n)
		asking.Go(func() { n.watch(over) })
	}
	b.Server = httptest.NewServer(b)
	t.Cleanup(func() { close(over); asking.Wait(); b.Close() })
	return b
}

func (n *balanced) watch(over chan struct{}) {
	c := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		res, err := c.Get("http://" + n.address + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		n.ready.Store(err == nil && res.StatusCode == http.StatusOK)
		select {
		case <-over:
			return
		case <-time.After(askedEvery):
		}
	}
}

// ServeHTTP implements http.Handler.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// One turn per request: requests that share the steps of the search could
	// each be shown the same node twice and the ready one never.
	first := int(b.turn.Add(1))
	for i := range b.nodes {
		if n := b.nodes[(first+i)%len(b.nodes)]; n.ready.Load() {
			n.proxy.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "no node is ready", http.StatusServiceUnavailable)
}

// past is a node as it is reached past the balancer.
func (b *balancer) past(nodes []*program.Server, i int) *program.Server {
	v := *nodes[i]
	v.URL = "http://" + b.nodes[i].address
	return &v
}

// rollingRequests is how many requests are sent; `make rolling` asks for 10,000.
func rollingRequests(t *testing.T) int64 {
	text := os.Getenv("HOLDFAST_ROLLING_REQUESTS")
	if text == "" {
		return 2000
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Two nodes of a fleet are stopped one after the other under load, and started
// with the program of one version on, whose migration the first of them does while
// a backup would read the table that it changes. No request fails, through haproxy
// or a simpler balancer: reads and writes, with a token of before. The program of
// before goes on beside the newer schema and keeps what it does not know of.
func TestRollingUpgrade(t *testing.T) {
	want := rollingRequests(t)
	s := program.DemoOn(t, db.PostgreSQL)
	b := balance(t, program.ClosedPort(t), program.ClosedPort(t))
	real, up := haproxy(s, b.nodes[0].address, b.nodes[1].address)
	sites := []*program.Site{s, {T: t, Data: filepath.Join(t.TempDir(), "data"), DSN: s.DSN}}
	var nodes []*program.Server
	start := func(i int) *program.Server {
		flags := []string{"--listen", b.nodes[i].address, "--public-url", b.URL, "--stop-delay", stopDelay, "--dev"}
		if i > 0 {
			flags = append(flags, "--master-key-file", s.MasterKeyFile())
		}
		v := sites[i].Serve(flags...)
		s.Eventually("the balancers find the node", func() bool { return b.nodes[i].ready.Load() && up(i) })
		return v
	}
	later, before := program.Later(t), s.Fingerprint()
	nodes = append(nodes, start(0))
	nodes = append(nodes, start(1))
	bearer := nodes[0].Token("admin@north.example", "holdfast-demo")

	var sent, failed, made atomic.Int64
	var rolled atomic.Bool
	var load sync.WaitGroup
	for w := range 8 {
		load.Go(func() {
			c, at := &http.Client{Transport: &http.Transport{}}, []string{b.URL, real}[w%2]
			for i := 0; !rolled.Load() || sent.Load() < want; i++ {
				sent.Add(1)
				var status int
				var err error
				if i%2 == 0 {
					status, err = post(c, at+"/v1/zones", bearer, fmt.Sprintf(`{"code":"ROLL-%d-%d","name":"x"}`, w, i))
					if status == http.StatusCreated {
						made.Add(1)
					}
				} else {
					status, err = get(c, at+"/functions/v1/safety-kpis?days=30", bearer)
				}
				if err != nil || status >= 300 {
					failed.Add(1)
					t.Errorf("request %d of client %d: %d %v", i, w, status, err)
					return
				}
			}
		})
	}
	for i := range nodes {
		from := sent.Load()
		s.Eventually("the load goes on", func() bool { return sent.Load() >= from+want/5 })
		nodes[i].Stop()
		sites[i].Program = later
		if i > 0 {
			nodes[i] = start(i)
			continue
		}
		over := make(chan struct{})
		go func() { defer close(over); passing(s, "zones", &sent) }()
		nodes[i] = start(i)
		<-over
		side(b.past(nodes, 1), b.past(nodes, 0), bearer)
	}
	rolled.Store(true)
	load.Wait()
	t.Logf("%d requests over two restarts, %d failed", sent.Load(), failed.Load())
	if n := counted(s, "zones WHERE code LIKE 'ROLL-%'"); n != made.Load() {
		t.Errorf("%d records are there, %d were acknowledged", n, made.Load())
	}
	if s.Fingerprint() == before {
		t.Error("no schema was changed")
	}
	for _, v := range nodes {
		v.Signal(syscall.SIGTERM) // both wait out their delay at once
	}
	for _, v := range nodes {
		v.Ended()
		if strings.Contains(v.Out.String(), `"ERROR"`) {
			t.Errorf("errors were logged:\n%s", v.Out)
		}
	}
}

// passing reads a table as a backup does, until a migration waits for it and
// others went past both all the same.
func passing(s *program.Site, table string, sent *atomic.Int64) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.DSN)
	if err != nil {
		s.Error(err)
		return
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN ACCESS SHARE MODE"); err != nil {
		s.Error(err)
		return
	}
	waits := func() (waits bool) {
		err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = to_regclass($1) AND NOT granted AND mode = 'AccessExclusiveLock')`,
			table).Scan(&waits)
		return err == nil && waits
	}
	if !program.Within(30*time.Second, waits) {
		s.Errorf("no migration waits for %s", table)
	}
	from := sent.Load()
	if !program.Within(30*time.Second, func() bool { return sent.Load() > from+100 }) {
		s.Errorf("a migration that waits for %s holds up everybody: %d requests", table, sent.Load()-from)
	}
}

// counted counts rows past the program, which opens no newer schema.
func counted(s *program.Site, from string) (n int64) {
	s.Helper()
	c, err := pgx.Connect(context.Background(), s.DSN)
	if err == nil {
		err = c.QueryRow(context.Background(), "SELECT COUNT(*) FROM "+from).Scan(&n)
		c.Close(context.Background())
	}
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// side has a node of before and one of the version on, which has migrated, meet
// what the other makes: tokens, records, and of a record the field that the first
// does not know.
func side(old, later *program.Server, bearer string) {
	old.Helper()
	for _, x := range []struct{ from, at *program.Server }{{old, later}, {later, old}} {
		token := x.from.Token("viewer@north.example", "holdfast-demo")
		if r := x.at.Call("GET", "/v1/zones?limit=1", token, nil); r.Status != http.StatusOK {
			old.Errorf("a token of the other program: %d %s", r.Status, r.Body)
		}
	}
	if r := later.Call("POST", "/v1/zones", bearer, map[string]any{"code": "SIDE", "name": "Side",
		"next_note": "kept"}); r.Status != http.StatusCreated {
		old.Errorf("a record with what is new: %d %s", r.Status, r.Body)
	}
	if r := old.Call("PATCH", "/v1/zones?code=eq.SIDE", bearer, map[string]any{"name": "By the other"}); r.Status >= 300 {
		old.Errorf("a change by the program of before: %d %s", r.Status, r.Body)
	}
	var rows []map[string]any
	for _, v := range []*program.Server{old, later} {
		v.Call("GET", "/v1/zones?code=eq.SIDE", bearer, nil).Into(v, &rows)
		_, knows := rows[0]["next_note"]
		if len(rows) != 1 || rows[0]["name"] != "By the other" || knows != (v == later) || knows &&
			rows[0]["next_note"] != "kept" {
			old.Errorf("the record: %v", rows)
		}
	}
}

func get(c *http.Client, url, bearer string) (int, error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
