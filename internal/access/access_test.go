package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

const (
	north = "11111111-1111-4111-8111-111111111111"
	south = "22222222-2222-4222-8222-222222222222"
)

// door is a gate with a clock that a test moves, and a handler behind it.
type door struct {
	*Gate
	http.Handler
	now time.Time
}

// open returns a door; the bearer is the tenant of a caller, "" nobody, and
// "bad" a token that is none.
func open(proxies ...string) *door {
	d := &door{now: time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC)}
	d.Gate = New(func(r *http.Request) (actor.Actor, error) {
		switch tenant := r.Header.Get("Authorization"); tenant {
		case "":
			return actor.Actor{Role: actor.Anon}, nil
		case "bad":
			return actor.Actor{}, fault.New(fault.Unauthorized, "", "no")
		default:
			user := cmp.Or(r.Header.Get("X-Test-User"), "u")
			return actor.Actor{UserID: user, TenantID: tenant, Role: actor.Manager, Plan: r.Header.Get("X-Test-Plan")}, nil
		}
	}, ratelimit.New(ratelimit.Options{Now: func() time.Time { return d.now }}))
	shape := func(_ *http.Request, e *fault.Error) web.Reply {
		return web.Reply{Status: web.Status(e.Kind), Body: e.Data}
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/rate-limit/status", web.Wrap(shape, func(w http.ResponseWriter, r *http.Request) error {
		_, err := d.Look(w, r)
		return err
	}))
	mux.Handle("/", d.Guard(shape, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	var trusted []netip.Prefix
	for _, p := range proxies {
		trusted = append(trusted, netip.MustParsePrefix(p))
	}
	d.Handler = (&web.Front{Proxies: trusted, Log: slog.New(slog.DiscardHandler)}).Handler(mux)
	return d
}

type call struct {
	method, path, tenant, user, peer, forwarded, plan string
}

func (d *door) call(c call) *httptest.ResponseRecorder {
	if c.method == "" {
		c.method = "GET"
	}
	if c.path == "" {
		c.path = "/v1/zones"
	}
	r := httptest.NewRequest(c.method, c.path, nil)
	if c.peer != "" {
		r.RemoteAddr = c.peer
	}
	for name, v := range map[string]string{"Authorization": c.tenant, "X-Test-User": c.user,
		"X-Forwarded-For": c.forwarded, "X-Test-Plan": c.plan} {
		if v != "" {
			r.Header.Set(name, v)
		}
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// spend calls until it is refused and returns how often it was not.
func (d *door) spend(c call) int {
	for n := range 20_000 {
		if d.call(c).Code == 429 {
			return n
		}
	}
	return -1
}

// The body, the headers, and a wait that is true.
func TestRefusal(t *testing.T) {
	d := open()
	if n := d.spend(call{tenant: north}); n != 200 {
		t.Fatalf("%d in a burst", n)
	}
	w := d.call(call{tenant: north})
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	wait, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if err != nil || wait < 10 || wait > 11 {
		t.Fatalf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	reset, err := time.Parse(time.RFC3339, fmt.Sprint(body["reset_at"]))
	if err != nil || reset.Before(d.now) || reset.After(d.now.Add(time.Duration(wait)*time.Second)) {
		t.Errorf("reset_at %v at %v with a wait of %d s", body["reset_at"], d.now, wait)
	}
	if len(body) != 6 || body["error"] != "rate_limit_exceeded" || body["message"] == "" ||
		body["retry_after"] != float64(wait) ||
		body["limit"] != 200.0 || body["remaining"] != 0.0 {
		t.Errorf("%s", w.Body)
	}
	for name, want := range map[string]string{"X-RateLimit-Limit": "200", "X-RateLimit-Remaining": "0",
		"X-RateLimit-Used":  "200",
		"X-RateLimit-Reset": strconv.FormatInt(reset.Unix(), 10)} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	d.now = d.now.Add(time.Duration(wait) * time.Second)
	if w := d.call(call{tenant: north}); w.Code != 200 {
		t.Errorf("after the wait: %d %s", w.Code, w.Body)
	}
}

func TestThousandAndOneInAMinute(t *testing.T) {
	d := open()
	for i := range 1000 {
		if w := d.call(call{tenant: north}); w.Code != 200 ||
			w.Header().Get("X-RateLimit-Remaining") != strconv.Itoa(999-i) ||
			w.Header().Get("X-RateLimit-Limit") != "1000" {
			t.Fatalf("request %d: %d %v", i+1, w.Code, w.Header())
		}
		d.now = d.now.Add(59 * time.Millisecond)
	}
	if w := d.call(call{tenant: north}); w.Code != 429 || w.Header().Get("X-RateLimit-Limit") != "1000" {
		t.Errorf("request 1001: %d", w.Code)
	}
}

// 200 at second 9, 200 at second 11.
func TestRolling(t *testing.T) {
	d := open()
	d.now = d.now.Add(9 * time.Second)
	if n := d.spend(call{tenant: north}); n != 200 {
		t.Fatal(n)
	}
	d.now = d.now.Add(2 * time.Second)
	if n := d.spend(call{tenant: north}); n != 0 {
		t.Errorf("%d passed at second 11", n)
	}
}

// What is counted together: the requests of one person or key, or of an address.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name     string
		first    call
		second   call
		together bool
	}{
		{"two users of a tenant", call{tenant: north, user: "ann"}, call{tenant: north, user: "ben"}, false},
		{"one user at two addresses", call{tenant: north, peer: "192.0.2.1:1"},
			call{tenant: north, peer: "192.0.2.2:1"}, true},
		{"two tenants", call{tenant: north}, call{tenant: south}, false},
		{"nobody, twice", call{peer: "192.0.2.1:1"}, call{peer: "192.0.2.1:99"}, true},
		{"bad token and none", call{tenant: "bad"}, call{}, true},
		{"two addresses", call{peer: "192.0.2.1:1"}, call{peer: "192.0.2.2:1"}, false},
		{"forged header", call{peer: "192.0.2.1:1", forwarded: "203.0.113.1"},
			call{peer: "192.0.2.1:1", forwarded: "203.0.113.2"}, true},
		{"through the proxy", call{peer: "10.0.0.9:1", forwarded: "203.0.113.1"},
			call{peer: "10.0.0.9:1", forwarded: "203.0.113.2"}, false},
		{"forged before the proxy", call{peer: "10.0.0.9:1", forwarded: "198.51.100.1, 203.0.113.1"},
			call{peer: "10.0.0.9:1", forwarded: "198.51.100.2, 203.0.113.1"}, true},
		{"two proxies", call{peer: "10.0.0.9:1", forwarded: "203.0.113.1, 10.0.0.8"},
			call{peer: "10.0.0.8:1", forwarded: "203.0.113.1"}, true},
		{"one /64", call{peer: "[2001:db8::1]:1"}, call{peer: "[2001:db8::ffff:1]:1"}, true},
		{"two /64", call{peer: "[2001:db8::1]:1"}, call{peer: "[2001:db8:0:1::1]:1"}, false},
		{"IPv4 in IPv6", call{peer: "192.0.2.1:1"}, call{peer: "[::ffff:192.0.2.1]:1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open("10.0.0.0/8")
			if n := d.spend(c.first); n != 200 {
				t.Fatalf("%d passed", n)
			}
			if refused := d.call(c.second).Code == 429; refused != c.together {
				t.Errorf("the second is refused: %v", refused)
			}
		})
	}
}

// The categories of the interface, and that none uses up another.
func TestCategories(t *testing.T) {
	d := open()
	for _, c := range []struct {
		call  call
		burst int
	}{
		{call{tenant: north, path: "/v1/zones"}, 200},
		{call{tenant: north, path: "/v1/webhooks"}, 100},
		{call{tenant: north, path: "/rest/v1/webhooks"}, 0}, // the same window
		{call{tenant: north, path: "/v1/webhooks/x/test", method: "POST"}, 0},
		{call{tenant: north, path: "/v1/rate-limit/status"}, 200},
		{call{tenant: south, path: "/v1/webhooks_elsewhere"}, 200},
		{call{tenant: south, path: "/v1/webhooks"}, 100},
	} {
		if n := d.spend(c.call); n != c.burst {
			t.Errorf("%s: %d passed, want %d", c.call.path, n, c.burst)
		}
	}
}

// Going to a provider and opening links takes no sign-in of the address, says how
// much is left, and has an end: sooner where each leaves a row.
func TestVisits(t *testing.T) {
	d := open()
	for name, tt := range map[string]struct {
		take          func(http.ResponseWriter, string) error
		burst, minute int
	}{"visits": {d.TakeVisit, 200, 1000}, "departures": {d.TakeDeparture, 40, 240}} {
		for i := range tt.burst + 1 {
			w := httptest.NewRecorder()
			if err := tt.take(w, "192.0.2.1"); (err == nil) != (i < tt.burst) || err != nil && !fault.Is(err, fault.Limited) {
				t.Fatal(name, i, err)
			}
			if got := w.Header().Get("X-RateLimit-Limit"); i == 0 && got != strconv.Itoa(tt.minute) ||
				w.Header().Get("X-RateLimit-Remaining") == "" ||
				w.Header().Get("X-RateLimit-Used") == "" {
				t.Fatalf("%s %d: %v", name, i, w.Header())
			}
		}
		if err := tt.take(httptest.NewRecorder(), "192.0.2.2"); err != nil {
			t.Error(name, err)
		}
	}
	for range 10 {
		if err := d.TakeAuth(httptest.NewRecorder(), Attempt{Address: "192.0.2.1"}); err != nil {
			t.Error(err)
		}
	}
}

// An address may send as many refresh tokens of no session as it may call the
// API. To ask is free, and nobody else's window is touched.
func TestUnknownTokens(t *testing.T) {
	d := open()
	for i, c := range []struct {
		address string
		pass    int
	}{{"192.0.2.1", 200}, {"192.0.2.1", 0}, {"2001:db8::1", 200}, {"2001:db8::2", 0}} {
		n := 0
		for range 210 {
			w := httptest.NewRecorder()
			asked, counted := d.TakeUnknown(w, c.address, false), d.TakeUnknown(w, c.address, true)
			if (asked == nil) != (counted == nil) || asked != nil && !fault.Is(asked, fault.Limited) {
				t.Fatal(asked, counted)
			}
			if counted == nil {
				n++
			}
		}
		if n != c.pass {
			t.Errorf("%d: %d tokens from %s, want %d", i, n, c.address, c.pass)
		}
		if err := d.TakeAuth(httptest.NewRecorder(), Attempt{Address: c.address}); err != nil {
			t.Errorf("a sign-in from %s: %v", c.address, err)
		}
	}
}

// Statements are counted after they ran and refuse the next
// request; reads and writes are apart.
func TestStatements(t *testing.T) {
	d := open()
	for range 100 {
		d.Statements(db.Scope{Tenant: north, User: "u"}, false, 1_000_000) // a transaction is bounded
	}
	if w := d.call(call{tenant: north}); w.Code != 429 || w.Header().Get("X-RateLimit-Limit") != "1000" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := d.call(call{tenant: north, method: "POST"}); w.Code != 200 {
		t.Errorf("a write: %d", w.Code)
	}
	if w := d.call(call{tenant: north, user: "ben"}); w.Code != 200 {
		t.Errorf("a colleague: %d", w.Code)
	}
	if w := d.call(call{tenant: south}); w.Code != 200 {
		t.Errorf("another tenant: %d", w.Code)
	}
}

func TestPlans(t *testing.T) {
	d := open()
	asked := 0
	d.Custom = func(_ context.Context, tenant string) (ratelimit.Plan, error) {
		asked++
		if tenant == south {
			return ratelimit.Plan{}, errors.New("away")
		}
		return ratelimit.Parse(`{"api": {"minute": 50, "burst": 7}}`)
	}
	for _, c := range []struct {
		plan, tenant string
		burst        int
	}{
		{"standard", "33333333-3333-4333-8333-333333333333", 200},
		{"enterprise", "44444444-4444-4444-8444-444444444444", 2000},
		{"unheard of", "55555555-5555-4555-8555-555555555555", 200}, {"custom", north, 7}, {"custom", south, 200},
	} {
		if n := d.spend(call{tenant: c.tenant, plan: c.plan}); n != c.burst {
			t.Errorf("%s: %d passed, want %d", c.plan, n, c.burst)
		}
	}
	if asked != 2 {
		t.Errorf("the limits of two tenants were read %d times", asked)
	}
	d.Forget(north)
	d.call(call{tenant: north, plan: "custom"})
	if asked != 3 {
		t.Errorf("after Forget: %d", asked)
	}
}

// A tenant is told once of each category; strangers are not told of.
func TestTold(t *testing.T) {
	d := open()
	var mu sync.Mutex
	var told []Exceeded
	d.Exceeded = func(x Exceeded) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, x)
		panic("whoever is told") // and the process lives on
	}
	for range 20 {
		d.spend(call{tenant: north})
		d.spend(call{})
		d.spend(call{tenant: "bad"})
	}
	d.spend(call{tenant: north, path: "/v1/webhooks"})
	for range 6000 {
		mu.Lock()
		n := len(told)
		mu.Unlock()
		if n == 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 {
		t.Fatalf("told %+v", told)
	}
	for _, x := range told {
		want := map[ratelimit.Category]int{ratelimit.API: 1000, ratelimit.Webhook: 500}[x.Category]
		if x.Tenant != north || x.PerMinute != want || x.State.OK || x.State.RetryAfter == 0 {
			t.Errorf("%+v", x)
		}
	}
}

// Without limits nothing is refused, and the headers show the plan's with nothing
// used.
func TestWithoutLimits(t *testing.T) {
	var none *ratelimit.Limiter
	g := New(func(*http.Request) (actor.Actor, error) { return actor.Actor{}, nil }, none)
	w := httptest.NewRecorder()
	if _, err := g.Enter(w, httptest.NewRequest("GET", "/", nil), false); err != nil ||
		w.Header().Get("X-RateLimit-Limit") != "1000" ||
		w.Header().Get("X-RateLimit-Used") != "0" {
		t.Error(err, w.Header())
	}
	if _, err := g.Look(w, httptest.NewRequest("GET", "/", nil)); err != nil ||
		g.TakeAuth(w, Attempt{Address: "a"}) != nil ||
		g.TakeSession(w, actor.Actor{}, "a") != nil || g.TakeUnknown(w, "a", true) != nil ||
		g.TakeCode(w, "a", true) != nil ||
		g.TakeVisit(w, "a") != nil || g.TakeDeparture(w, "a") != nil {
		t.Error(err)
	}
	g.Statements(db.Scope{Tenant: north}, false, 5)
}

func BenchmarkEnter(b *testing.B) {
	plan := actor.Actor{UserID: "u", TenantID: north, Role: actor.Manager, Plan: "wide"}
	g := New(func(*http.Request) (actor.Actor, error) { return plan, nil }, ratelimit.New(ratelimit.Options{}))
	wide, err := ratelimit.Parse(`{"api": {"minute": 10000000, "burst": 10000000}}`)
	if err != nil {
		b.Fatal(err)
	}
	g.plans["wide"] = wide
	r := httptest.NewRequest("GET", "/v1/zones", nil)
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Enter(w, r, false); err != nil {
			clear(w.Header())
		}
	}
}

// Requests of sessions and of a tenant's keys are counted by who makes them,
// under the plan of the tenant; those of nobody by the address.
func TestTakeSession_key(t *testing.T) {
	one, other := ratelimit.Standard().Rule(ratelimit.API), ratelimit.Enterprise().Rule(ratelimit.API)
	for _, c := range []struct {
		name  string
		first actor.Actor // spends its burst
		then  actor.Actor // from the same address
		burst int         // of first
		ok    bool        // then has room
	}{
		{"two tenants", actor.Actor{TenantID: north, KeyID: "scim:1"}, actor.Actor{TenantID: south, KeyID: "scim:2"},
			one.Burst, true},
		{"two keys of a tenant", actor.Actor{TenantID: north, KeyID: "scim:1"},
			actor.Actor{TenantID: north, KeyID: "scim:2"}, one.Burst, true},
		{"one key, two requests", actor.Actor{TenantID: north, KeyID: "scim:1"},
			actor.Actor{TenantID: north, KeyID: "scim:1"}, one.Burst, false},
		{"an enterprise's key", actor.Actor{TenantID: north, KeyID: "scim:1", Plan: "enterprise"},
			actor.Actor{TenantID: south, KeyID: "scim:2"}, other.Burst, true},
		{"two sessions", actor.Actor{SessionID: "1"}, actor.Actor{SessionID: "2"}, one.Burst, true},
		{"a key and nobody", actor.Actor{TenantID: north, KeyID: "scim:1"}, actor.Actor{}, one.Burst, true},
		{"nobody twice", actor.Actor{}, actor.Actor{}, one.Burst, false},
	} {
		d := open()
		for i := range c.burst {
			if err := d.TakeSession(httptest.NewRecorder(), c.first, "192.0.2.1"); err != nil {
				t.Fatalf("%s: request %d of %d: %v", c.name, i+1, c.burst, err)
			}
		}
		if err := d.TakeSession(httptest.NewRecorder(), c.first, "192.0.2.1"); !fault.Is(err, fault.Limited) {
			t.Errorf("%s: more than the burst: %v", c.name, err)
		}
		if err := d.TakeSession(httptest.NewRecorder(), c.then, "192.0.2.1"); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A tenant that is there is looked for once; one that is not, each time.
func TestExists(t *testing.T) {
	looks := map[string]int{}
	g := New(nil, nil)
	g.Known = func(_ context.Context, tenant string) error {
		looks[tenant]++
		if tenant == south {
			return fault.New(fault.NotFound, "", "no")
		}
		return nil
	}
	for range 3 {
		if err := g.Exists(t.Context(), north); err != nil {
			t.Error(err)
		}
		if err := g.Exists(t.Context(), south); !fault.Is(err, fault.NotFound) {
			t.Errorf("a tenant that is not there: %v", err)
		}
	}
	if looks[north] != 1 || looks[south] != 3 {
		t.Errorf("looks: %v", looks)
	}
}
