package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/redistest"
)

const (
	snapshot = "/functions/v1/get-dashboard-snapshot-v2?lightweight=true"
	status   = "/v1/rate-limit/status"
)

// beside starts a second node on the first one's database.
func beside(t *testing.T, k *testkit.Kit, opts ...testkit.Option) (node *testkit.Kit) {
	t.Helper()
	c := *k.App.Config
	c.Data = t.TempDir()
	for _, o := range opts {
		o(&c)
	}
	a, err := app.Open(context.Background(), &c, app.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	h, err := a.Handler(nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	node = k.At(srv.URL)
	node.App = a
	return node
}

// twoNodes calls f with two nodes on one PostgreSQL database, without Redis
// and with it.
func twoNodes(t *testing.T, f func(t *testing.T, one, two *testkit.Kit), opts ...testkit.Option) {
	t.Run("by the database", func(t *testing.T) {
		one := testkit.New(t, db.PostgreSQL, opts...)
		f(t, one, beside(t, one))
	})
	t.Run("by Redis", func(t *testing.T) {
		opts := append(slices.Clone(opts), redisOption(redistest.Start(t)))
		one := testkit.New(t, db.PostgreSQL, opts...)
		f(t, one, beside(t, one))
	})
}

func redisOption(s *redistest.Server) testkit.Option {
	return func(c *config.Config) { c.RedisURL, c.RedisTimeout = s.URL, 30*time.Second }
}

type kept struct {
	TenantID string `json:"tenant_id"`
	Cached   bool   `json:"cached"`
	Zones    struct{ Total int }
}

// look asks for the snapshot and holds what every such answer must.
func look(t *testing.T, k *testkit.Kit, as string) (out kept) {
	t.Helper()
	r := k.Get(as, snapshot)
	if r.Status != 200 {
		t.Fatalf("%s: %d %s", as, r.Status, r.Body)
	}
	r.JSON(t, &out)
	if hit := r.Header.Get("X-Cache") == "HIT"; hit != out.Cached {
		t.Errorf("X-Cache %q, cached %v", r.Header.Get("X-Cache"), out.Cached)
	}
	return out
}

// within calls ok until it is true; the log says how long that took. The limit
// is no promise of the product, but the end of a test that would never end.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%s: %v", what, time.Since(began).Round(10*time.Millisecond))
}

// keepForLong has a node keep its answers so long that none ends while a test
// waits: what is gone was told to go.
func keepForLong(k *testkit.Kit) {
	for i, fn := range k.App.Functions() {
		if fn.TTL > 0 {
			k.App.Functions()[i].TTL = 24 * time.Hour
		}
	}
}

// What is written on one node is seen on the other within a second.
func TestCachesOfTwoNodes(t *testing.T) {
	twoNodes(t, func(t *testing.T, one, two *testkit.Kit) {
		keepForLong(two)
		as := testkit.As(actor.Manager)
		before := look(t, two, as)
		if !look(t, two, as).Cached {
			t.Fatal("the second node keeps nothing")
		}
		one.Post(as, "/v1/zones", map[string]any{"code": "FLEET-1", "name": "Fleet"})
		within(t, "the other node shows the new zone", func() bool {
			return look(t, two,
				as).Zones.Total == before.Zones.Total+1
		})
		if got := look(t, one, as); got.Zones.Total != before.Zones.Total+1 {
			t.Errorf("the writing node does not read its own write: %+v", got)
		}

		look(t, two, as)
		if r := one.Call(testkit.Request{Method: "DELETE", Path: "/v1/cache", As: testkit.As(actor.Owner)}); r.Status != 204 {
			t.Fatalf("clear: %d %s", r.Status, r.Body)
		}
		within(t, "the other node has cleared the tenant", func() bool { return !look(t, two, as).Cached })
	})
}

// On two nodes: whoever is removed is refused on both,
// kept answers too, within the promised five seconds.
func TestRemovedOnEveryNode(t *testing.T) {
	twoNodes(t, func(t *testing.T, one, two *testkit.Kit) {
		victim := testkit.As(actor.Viewer)
		look(t, one, victim)
		look(t, two, victim)
		var members []struct{ ID, Email string }
		one.Get(testkit.As(actor.Owner), "/v1/members?email=eq."+victim).JSON(t, &members)
		if len(members) != 1 {
			t.Fatalf("members %+v", members)
		}
		r := one.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?id=eq." + members[0].ID,
			As:   testkit.As(actor.Owner),
			Body: map[string]any{"status": "suspended"}})
		if r.Status >= 300 {
			t.Fatalf("suspend: %d %s", r.Status, r.Body)
		}
		for i, k := range []*testkit.Kit{one, two} {
			within(t, fmt.Sprintf("node %d refuses", i+1), func() bool {
				s := k.Get(victim, snapshot).Status
				return s == 401 ||
					s == 403
			})
		}
	})
}

// setLimits gives the tenant limits of its own.
func setLimits(t *testing.T, k *testkit.Kit, tenant, limits string) testkit.Response {
	t.Helper()
	return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + tenant, Bearer: k.Service(),
		Body: map[string]any{"plan": "custom", "limits": json.RawMessage(limits)}})
}

// few are limits that a slow machine reaches, too, before their window rolls.
const few = `{"api": {"minute": 20, "burst": 20}}`

// 1,200 requests split over two nodes with Redis.
func TestTwoNodesAdmitOneLimit(t *testing.T) {
	one := testkit.New(t, db.PostgreSQL, testkit.Limited, redisOption(redistest.Start(t)))
	two := beside(t, one)
	if r := setLimits(t, one, demo.North, `{"api": {"minute": 1000, "burst": 1000}}`); r.Status >= 300 {
		t.Fatalf("limits: %d %s", r.Status, r.Body)
	}
	token := one.Token(testkit.As(actor.Viewer))
	var mu sync.Mutex
	count := map[int]int{}
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			k := []*testkit.Kit{one, two}[client%2]
			for range 150 {
				r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token})
				mu.Lock()
				count[r.Status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("answers by status: %v", count)
	if n := count[200]; n < 990 || n > 1010 || count[200]+count[429] != 1200 {
		t.Errorf("%v, want 1,000 +-1 %% admitted", count)
	}
}

// Redis away: limited all the same, and ready.
func TestRedisAwayIsReadyAndLimited(t *testing.T) {
	s := redistest.Start(t)
	k := testkit.New(t, db.SQLite, testkit.Limited, redisOption(s))
	if r := setLimits(t, k, demo.North, `{"api": {"minute": 200, "burst": 200}}`); r.Status >= 300 {
		t.Fatalf("limits: %d %s", r.Status, r.Body)
	}
	token := k.Token(testkit.As(actor.Viewer))
	s.Stop()
	passed := 0
	for range 250 {
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token}); r.Status == 200 {
			passed++
		}
	}
	if passed != 200 {
		t.Errorf("%d passed, want the 200 of a minute", passed)
	}
	if ready := readiness(t, k); ready.Status != "ready" || ready.Degraded == "" {
		t.Errorf("%+v", ready)
	}
	s.Start()
	within(t, "Redis is used again", func() bool { return readiness(t, k).Degraded == "" })
}

type ready struct{ Status, Degraded, Nodes string }

// readiness is what a node that must be ready says.
func readiness(t *testing.T, k *testkit.Kit) (out ready) {
	t.Helper()
	r := k.Get("", "/readyz")
	r.JSON(t, &out)
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return out
}

// Redis dies while two nodes are flooded: from one request to the next each
// allows its share by what itself has counted, so the fleet admits one limit,
// nobody is answered with a server error, and another tenant gets through.
func TestRedisDiesUnderLoad(t *testing.T) {
	s := redistest.Start(t)
	one := testkit.New(t, db.PostgreSQL, testkit.Limited, redisOption(s))
	two := beside(t, one)
	if r := setLimits(t, one, demo.North, `{"api": {"minute": 1000, "burst": 1000}}`); r.Status >= 300 {
		t.Fatalf("limits: %d %s", r.Status, r.Body)
	}
	for _, k := range []*testkit.Kit{one, two} {
		within(t, "each node knows of the other", func() bool { return readiness(t, k).Nodes == "2" })
	}
	token, south := one.Token(testkit.As(actor.Viewer)), one.Token("admin@south.example")
	var mu sync.Mutex
	count := map[int]int{}
	var all, dead sync.WaitGroup
	dead.Add(1)
	for client := range 8 {
		all.Go(func() {
			k := []*testkit.Kit{one, two}[client%2]
			for n := range 200 {
				if n == 50 && client == 0 {
					s.Stop()
					dead.Done()
				}
				if n == 60 { // nobody runs ahead of Redis' end
					dead.Wait()
				}
				r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token})
				mu.Lock()
				count[r.Status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("answers by status: %v", count)
	// What Redis had counted when its answer was lost is counted by nobody
	// else: a few requests more, never fewer than the shares.
	if n := count[200]; n < 950 || n > 1016 || count[200]+count[429] != 1600 {
		t.Errorf("%v, want about 1,000 admitted and the rest told to wait", count)
	}
	for _, k := range []*testkit.Kit{one, two} {
		if got := readiness(t, k); got.Degraded == "" {
			t.Errorf("a node does not say that Redis is away: %+v", got)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: south}); r.Status != 200 {
			t.Errorf("another tenant: %d", r.Status)
		}
	}
	s.Start()
	for _, k := range []*testkit.Kit{one, two} {
		within(t, "Redis is used again", func() bool { return readiness(t, k).Degraded == "" })
	}
}

type windows map[string]struct {
	Limit     int
	Remaining int
	ResetAt   time.Time `json:"reset_at"`
}

func left(t *testing.T, k *testkit.Kit, token string) (w windows) {
	t.Helper()
	r := k.Call(testkit.Request{Method: "GET", Path: status, Bearer: token})
	if r.Status != 200 {
		t.Fatalf("status: %d %s", r.Status, r.Body)
	}
	r.JSON(t, &w)
	return w
}

// A refusal holds the six fields and nothing else; whoever has nothing left can ask.
func TestStatusDoesNotCountItselfOut(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		token := k.Token(testkit.As(actor.Viewer))
		for range 10 {
			if w := left(t, k, token); w["api"].Remaining != 1000 || w["api"].Limit != 1000 || w["database"].Limit != 5000 ||
				w["database_write"].Limit != 1000 {
				t.Fatalf("%+v", w)
			}
		}
		if r := setLimits(t, k, demo.North, few); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		for i := range 20 {
			if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token}); r.Status != 200 ||
				r.Header.Get("X-RateLimit-Used") != strconv.Itoa(i+1) {
				t.Fatalf("request %d: %d, used %s", i+1, r.Status, r.Header.Get("X-RateLimit-Used"))
			}
		}
		r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token})
		var body map[string]any
		r.JSON(t, &body)
		if r.Status != http.StatusTooManyRequests || len(body) != 6 || body["limit"] != 20.0 ||
			r.Header.Get("Retry-After") != fmt.Sprint(body["retry_after"]) {
			t.Errorf("request 21: %d %s", r.Status, r.Body)
		}
		if w := left(t, k, token); w["api"].Remaining != 0 || w["api"].ResetAt.Before(time.Now()) {
			t.Errorf("status of one who is refused: %+v", w)
		}
		// Another tenant is not touched.
		if r := k.Get("admin@south.example", "/functions/v1/safety-kpis"); r.Status != 200 {
			t.Errorf("another tenant: %d", r.Status)
		}
	}, testkit.Limited)
}

// The statements of a tenant reach the read limit; the status agrees, the
// tenant is told once, and writes have their own window.
func TestDatabaseLimit(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := setLimits(t, k, demo.North, `{"read": {"minute": 40, "burst": 40}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		token := k.Token(testkit.As(actor.Owner))
		refused := testkit.Response{}
		for n := 0; refused.Status != 429; n++ {
			if n > 60 {
				t.Fatal("no limit was reached")
			}
			refused = k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token})
		}
		if refused.Header.Get("X-RateLimit-Limit") != "40" || !bytes.Contains(refused.Body, []byte("database reads")) {
			t.Errorf("refused with %v %s", refused.Header, refused.Body)
		}
		if w := left(t, k, token); w["database"].Remaining != 0 || w["database"].Limit != 40 || w["api"].Remaining == 0 ||
			w["database_write"].Remaining == 0 {
			t.Errorf("status: %+v", w)
		}
		k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token})
		if r := k.Post(testkit.As(actor.Owner), "/v1/zones",
			map[string]any{"code": "LIM-1", "name": "Limit"}); r.Status != 201 {
			t.Errorf("a write under the read limit: %d %s", r.Status, r.Body)
		}
		events := 0
		within(t, "rate_limit.exceeded", func() bool { events = count(t, k, "rate_limit.exceeded"); return events > 0 })
		if events != 1 {
			t.Errorf("told %d times", events)
		}
	}, testkit.Limited)
}

// Limits are a person's or key's own: one that is at its end stops no colleague, whose
// reads are their own as well. All together end at the ceiling, and the refusal says so.
func TestLimitsAreOfEachCaller(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		own := `{"api": {"minute": 20, "burst": 20, "ceiling": 30}, "read": {"minute": 500, "burst": 500}}`
		if r := setLimits(t, k, demo.North, own); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		list := func(token string) testkit.Response {
			return k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token})
		}
		viewer, manager := k.Token(testkit.As(actor.Viewer)), k.Token(testkit.As(actor.Manager))

		for n := range 20 {
			if r := list(viewer); r.Status != 200 {
				t.Fatalf("request %d: %d %s", n+1, r.Status, r.Body)
			}
		}
		if r := list(viewer); r.Status != 429 || r.Header.Get("X-RateLimit-Limit") != "20" {
			t.Errorf("request 21: %d %v", r.Status, r.Header)
		}
		// Signing in has read, too: fewer times than the viewer asked.
		if w := left(t, k, manager); w["api"].Remaining != 20 || w["database"].Remaining < 490 {
			t.Errorf("a colleague has %+v left", w)
		}

		for n := range 10 {
			if r := list(manager); r.Status != 200 || r.Header.Get("X-RateLimit-Used") != strconv.Itoa(n+1) {
				t.Fatalf("request %d of a colleague: %d, used %s", n+1, r.Status, r.Header.Get("X-RateLimit-Used"))
			}
		}
		r := list(manager)
		if r.Status != 429 || r.Header.Get("X-RateLimit-Limit") != "30" ||
			!bytes.Contains(r.Body, []byte("whole organisation")) {
			t.Errorf("above the ceiling: %d %v %s", r.Status, r.Header, r.Body)
		}
		within(t, "both refusals", func() bool { return count(t, k, "rate_limit.exceeded") == 2 })
		if got := scopesTold(t, k); got != "caller tenant" {
			t.Errorf("told of the scopes %s", got)
		}
	}, testkit.Limited)
}

// scopesTold are the scopes of the events of refusals, in order of the alphabet.
func scopesTold(t *testing.T, k *testkit.Kit) string {
	t.Helper()
	var told []string
	err := k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT data FROM outbox WHERE type = 'rate_limit.exceeded'", nil, func(r *db.Row) error {
			var data struct {
				Scope string `json:"scope"`
			}
			err := json.Unmarshal([]byte(r.Text(0)), &data)
			told = append(told, data.Scope)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(told)
	return strings.Join(told, " ")
}

func count(t *testing.T, k *testkit.Kit, event string) (n int) {
	t.Helper()
	err := k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One("SELECT COUNT(*) FROM outbox WHERE type = $1", []any{event},
			func(r *db.Row) error { n = int(r.Int(0)); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Limits of a tenant's own are the operator's to give, and must be readable.
func TestOwnLimits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, bad := range []string{`{"api": 5}`, `{"zone": {"minute": 5}}`, `{"api": {"minute": 0}}`,
			`{"auth": {"minute": 600}}`, `[]`} {
			if r := setLimits(t, k, demo.North, bad); r.Status != 400 && r.Status != 422 {
				t.Errorf("%s: %d %s", bad, r.Status, r.Body)
			}
		}
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + demo.North, As: testkit.As(actor.Owner),
			Body: map[string]any{"limits": map[string]any{"api": map[string]any{"minute": 9e6}}}})
		if r.Status < 400 {
			t.Errorf("an owner gives himself limits: %d %s", r.Status, r.Body)
		}
		token := k.Token(testkit.As(actor.Owner))
		if w := left(t, k, token); w["api"].Limit != 1000 {
			t.Errorf("before: %+v", w)
		}
		if r := setLimits(t, k, demo.North, `{"api": {"minute": 3000, "burst": 700}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		if w := left(t, k, token); w["api"].Limit != 3000 {
			t.Errorf("after: %+v", w)
		}
		if r := setLimits(t, k, demo.North, `{"api": {"minute": 4000}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		if w := left(t, k, token); w["api"].Limit != 4000 || w["database"].Limit != 5000 {
			t.Errorf("after a change: %+v", w)
		}
	}, testkit.Limited)
}

// A hit costs no statement of the tenant's, and 300 who ask at once cost one
// computation.
func TestHitsAndCrowdsCostNothing(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := setLimits(t, k, demo.North, `{"api": {"minute": 9000, "burst": 9000}, "read": {"minute": 9000, "burst": 9000}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		token := k.Token(testkit.As(actor.Manager))
		get := func(path string) testkit.Response {
			return k.Call(testkit.Request{Method: "GET", Path: path, Bearer: token})
		}
		reads := func() int { return 9000 - left(t, k, token)["database"].Remaining }
		get(snapshot)
		standing := reads() // the caller's own standing is read again every five seconds
		get("/functions/v1/safety-kpis?days=7")
		one := reads() - standing
		if one < 1 {
			t.Fatal("a computation costs no statement")
		}
		before := reads()
		for range 50 {
			if r := get(snapshot); r.Header.Get("X-Cache") != "HIT" {
				t.Fatal("not kept")
			}
		}
		if spent := reads() - before; spent > one {
			t.Errorf("50 hits cost %d statements, a computation costs %d", spent, one)
		}
		before = reads()
		var mu sync.Mutex
		bodies := map[string]int{}
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				r := get("/functions/v1/safety-kpis?days=300")
				var out map[string]json.RawMessage
				if r.Status != 200 || json.Unmarshal(r.Body, &out) != nil {
					t.Errorf("%d %s", r.Status, r.Body)
				}
				delete(out, "cached")
				text, err := json.Marshal(out)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				bodies[string(text)]++
				mu.Unlock()
			})
		}
		all.Wait()
		if spent := reads() - before; len(bodies) != 1 || spent > 2*one+2 {
			t.Errorf("300 at once: %d different bodies, %d statements; one computation costs %d", len(bodies), spent, one)
		}
	}, testkit.Limited)
}

// An answer is its tenant's, needs its token, and whatever the
// request that filled the cache carried.
func TestKeptAnswersAreTheirTenants(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var ended struct {
			AccessToken string `json:"access_token"`
		}
		k.Post("", "/auth/v1/token?grant_type=password",
			map[string]string{"email": testkit.As(actor.Admin), "password": demo.Password}).JSON(t, &ended)
		if r := k.Call(testkit.Request{Method: "GET", Path: snapshot, Bearer: ended.AccessToken}); r.Status != 200 {
			t.Fatalf("before signing out: %d", r.Status)
		}
		if r := k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/logout?scope=local",
			Bearer: ended.AccessToken}); r.Status != 204 {
			t.Fatalf("sign out: %d %s", r.Status, r.Body)
		}
		for _, fn := range k.App.Functions() {
			if fn.TTL == 0 {
				continue
			}
			path := "/functions/v1/" + fn.Name
			odd := map[string]string{"X-Forwarded-Host": "evil.example", "X-Original-URL": "/evil", "Accept-Language": "tlh",
				"Accept-Encoding": "br;q=1, gzip;q=0, *;q=0"}
			for round, x := range []struct{ as, tenant string }{{testkit.As(actor.Admin), demo.North},
				{"admin@south.example", demo.South},
				{"admin@south.example", demo.South}, {testkit.As(actor.Admin), demo.North}} {
				q := testkit.Request{Method: "GET", Path: path, As: x.as}
				if round < 2 {
					q.Header = odd
				}
				r := k.Call(q)
				var out struct {
					TenantID string `json:"tenant_id"`
					Cached   *bool
				}
				r.JSON(t, &out)
				want := "MISS"
				if round >= 2 {
					want = "HIT"
				}
				if r.Status != 200 || out.TenantID != x.tenant || r.Header.Get("X-Cache") != want || out.Cached != nil &&
					*out.Cached != (want == "HIT") {
					t.Errorf("%s as %s, round %d: %d %s %s", fn.Name, x.as, round, r.Status, r.Header.Get("X-Cache"), out.TenantID)
				}
				if bytes.Contains(r.Body, []byte("evil.example")) || r.Header.Get("Cache-Control") != "private, no-cache" ||
					r.Header.Get("Etag") == "" {
					t.Errorf("%s, round %d: %v", fn.Name, round, r.Header)
				}
			}
			for _, q := range []testkit.Request{{Method: "GET", Path: path}, {Method: "GET", Path: path, Bearer: "garbage"},
				{Method: "GET", Path: path, Bearer: ended.AccessToken}} {
				if r := k.Call(q); r.Status != 401 || r.Header.Get("X-Cache") != "" {
					t.Errorf("%s warm, %q: %d", fn.Name, q.Bearer, r.Status)
				}
			}
		}
	})
}

// An applied import, and its rollback, show in the dashboard at once.
func TestImportsShowAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Owner)
		verb := func(name, id string) {
			t.Helper()
			if r := k.Post(as, "/functions/v1/"+name, map[string]any{"job_id": id}); r.Status != 200 {
				t.Fatalf("%s: %d %s", name, r.Status, r.Body)
			}
		}
		body, kind := form(t, "zones", "zones.csv", "code,name\nC8-1,One\nC8-2,Two\n")
		var job struct{ ID string }
		k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: body,
			Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
		verb("process-import-job", job.ID)
		before := look(t, k, as)
		if !look(t, k, as).Cached {
			t.Fatal("nothing is kept")
		}
		verb("apply-import-job", job.ID)
		if got := look(t, k, as); got.Cached || got.Zones.Total != before.Zones.Total+2 {
			t.Errorf("after the import: %+v, before: %+v", got, before)
		}
		verb("rollback-import-job", job.ID)
		if got := look(t, k, as); got.Cached || got.Zones.Total != before.Zones.Total {
			t.Errorf("after its rollback: %+v, before: %+v", got, before)
		}
	})
}
