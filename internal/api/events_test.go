package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/dbtest"
)

const otherTenant = "0190a000-0000-7000-8000-000000000002"

const testRecheck = 50 * time.Millisecond

// streams is a server of /v1/events whose callers are known by their token.
type streams struct {
	*httptest.Server
	t   *testing.T
	d   *db.DB
	out *event.Outbox
	n   *event.Notifier

	mu    sync.Mutex
	who   map[string]actor.Actor
	asked int // how often, who a caller is
}

func eachStreams(t *testing.T, f func(t *testing.T, k *streams)) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		o.PoolSize = 4
		f(t, newStreams(t, o))
	})
}

func newStreams(t *testing.T, o db.Options) *streams {
	t.Helper()
	d := dbtest.Open(t, o)
	k := &streams{t: t, d: d, out: event.New(time.Now), who: map[string]actor.Actor{
		"admin":    {UserID: testUser, TenantID: testTenant, Role: actor.Admin},
		"operator": {UserID: uuid.NewString(), TenantID: testTenant, Role: actor.Operator},
		"other":    {UserID: uuid.NewString(), TenantID: otherTenant, Role: actor.Admin},
		"nobody":   {UserID: uuid.NewString()},
		"service":  {Role: actor.Service},
	}}
	n := event.NewNotifier(d, k.out)
	k.n = n
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { n.Run(ctx) })
	g := access.New(k.authenticate, nil)
	e := NewEvents(g, n, catalog.Default())
	e.recheck, e.heartbeat = testRecheck, 100*time.Millisecond
	k.Server = httptest.NewUnstartedServer(served(t, g, e.Routes()))
	k.Config.ReadTimeout = time.Second // as the product has one: it must not end a stream
	k.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetWriteBuffer(64 << 10); err != nil { // or the system lets it grow to what it likes
			t.Error(err)
		}
		return ctx
	}
	k.Start()
	t.Cleanup(func() { cancel(); wg.Wait(); k.Close() })
	return k
}

func (k *streams) authenticate(r *http.Request) (actor.Actor, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	if r.Header.Get("Authorization") == "" {
		return actor.Actor{}, nil
	}
	a, ok := k.who[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return a, fault.New(fault.Unauthorized, "PGRST301", "the token is not valid")
	}
	return a, nil
}

func (k *streams) set(token string, a *actor.Actor) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.who, token); a != nil {
		k.who[token] = *a
	}
}

// rechecked waits until the one stream that is open knows who its caller is now:
// when it asks again it has taken the answer before.
func (k *streams) rechecked() {
	k.t.Helper()
	asked := func() int { k.mu.Lock(); defer k.mu.Unlock(); return k.asked }
	from := asked()
	for end := time.Now().Add(30 * time.Second); asked() < from+2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatal("the stream does not ask who its caller is")
		}
	}
}

func (k *streams) emit(tenant, typ string, n int, audience map[string]string) {
	k.t.Helper()
	if err := k.d.Write(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		return k.out.EmitAll(tx, []event.Emitted{{Tenant: tenant, Type: typ, Data: map[string]int{"n": n},
			Audience: audience}})
	}); err != nil {
		k.t.Error(err)
	}
}

// reader is an open stream.
type reader struct {
	t    *testing.T
	res  *http.Response
	got  chan message
	stop context.CancelFunc
}

type message struct{ id, event, data, comment, retry string }

func (k *streams) open(token, query, last string) *reader {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", k.URL+"/v1/events"+query, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	r := &reader{t: k.t, res: res, got: make(chan message, 1000), stop: func() { cancel(); res.Body.Close() }}
	k.t.Cleanup(r.stop)
	if res.StatusCode == http.StatusOK {
		go r.read()
		r.first("retry")
	}
	return r
}

func (r *reader) read() {
	defer close(r.got)
	var m message
	sc := bufio.NewScanner(r.res.Body)
	for sc.Scan() {
		name, value, _ := strings.Cut(sc.Text(), ": ")
		switch name {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "retry":
			m.retry = value
		case "":
			if sc.Text() == "" {
				r.got <- m
				m = message{}
				continue
			}
			m.comment = value
		}
	}
}

// first is the next message with a field of that name.
func (r *reader) first(field string) message {
	r.t.Helper()
	for {
		select {
		case m, ok := <-r.got:
			if !ok {
				r.t.Fatalf("the stream ended before a message with %s", field)
			}
			if map[string]string{"id": m.id, "event": m.event, "comment": m.comment, "retry": m.retry}[field] != "" {
				return m
			}
		case <-time.After(30 * time.Second):
			r.t.Fatalf("no message with %s within 30 s", field)
		}
	}
}

// ended waits for the server to end the stream.
func (r *reader) ended() bool {
	for end := time.After(30 * time.Second); ; {
		select {
		case _, ok := <-r.got:
			if !ok {
				return true
			}
		case <-end:
			return false
		}
	}
}

func TestStreamRefusals(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		for _, c := range []struct {
			token, query, last string
			status             int
			names              string // in the body
		}{
			{"", "", "", 401, "sign in"},
			{"wrong", "", "", 401, "token"},
			{"nobody", "", "", 403, "tenant"},
			{"service", "", "", 400, "tenant_id"},
			{"admin", "?types=order.*,orders.*", "", 400, `\"orders.*\"`},
			{"admin", "?types=", "", 400, "event type"},
			{"admin", "?type=order.*", "", 400, `\"type\"`},
			{"admin", "?types=%zz", "", 400, "types=%zz"},
			{"admin", "", "yesterday", 400, "Last-Event-ID"},
		} {
			r := k.open(c.token, c.query, c.last)
			var body struct{ Message, Code string }
			if err := json.NewDecoder(r.res.Body).Decode(&body); err != nil {
				t.Errorf("%s%s: %v", c.token, c.query, err)
			}
			if r.res.StatusCode != c.status || !strings.Contains(fmt.Sprintf("%q", body.Message), c.names) {
				t.Errorf("%s%s: %d %s, want %d and %s", c.token, c.query, r.res.StatusCode, body.Message, c.status, c.names)
			}
		}
	})
}

// A reader sees the topics he chose, of his tenant, that his role may see.
func TestStreamShowsWhatTheCallerMaySee(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		operator := k.who["operator"].UserID
		streams := map[string]*reader{
			"admin": k.open("admin", "", ""), "operator": k.open("operator", "", ""), "other": k.open("other", "", ""),
			"chosen":  k.open("admin", "?types=order.*,stock.low", ""),
			"service": k.open("service", "?tenant_id="+testTenant, ""),
		}
		if h := streams["admin"].res.Header; h.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
			h.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", h)
		}
		for i, e := range []struct {
			tenant, typ string
			audience    map[string]string
		}{
			{testTenant, "order.confirmed", nil}, {testTenant, "import.completed", nil}, {otherTenant, "order.confirmed", nil},
			{testTenant, "training.assigned", nil}, {testTenant, "training.assigned",
				map[string]string{"user_id": operator}},
			{testTenant, "stock.low", nil}, {otherTenant, "stock.low", nil},
		} {
			k.emit(e.tenant, e.typ, i, e.audience)
		}
		for name, want := range map[string][]int{"admin": {0, 1, 3, 4, 5}, "operator": {0, 4, 5}, "other": {2, 6},
			"chosen": {0, 5}, "service": {0, 1, 3, 4, 5}} {
			for _, n := range want {
				m := streams[name].first("id")
				var p struct {
					ID, Type string
					Data     struct{ N int }
				}
				if err := json.Unmarshal([]byte(m.data), &p); err != nil || p.Data.N != n || p.ID != m.id || p.Type != m.event {
					t.Errorf("%s: %+v, want event %d", name, m, n)
				}
			}
		}
	})
}

// Cut off again and again, a reader with Last-Event-ID misses nothing and
// hears nothing twice.
func TestStreamResumes(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		first := k.open("admin", "", "")
		k.emit(testTenant, "order.confirmed", -1, nil)
		last := first.first("id").id
		first.stop()
		const n = 60
		go func() {
			for i := range n {
				k.emit(testTenant, "order.confirmed", i, nil)
			}
		}()
		var got []string
		for cut := 0; len(got) < n; cut++ {
			r := k.open("admin", "", last)
			for range min(cut%9+1, n-len(got)) {
				m := r.first("id")
				got, last = append(got, m.id), m.id
			}
			r.stop()
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(got))); len(distinct) != n {
			t.Errorf("heard %d events, %d different, want %d", len(got), len(distinct), n)
		}
		r := k.open("admin", "", uuid.NewString())
		if m := r.first("event"); m.event != "stream.reset" {
			t.Errorf("after an unknown id: %+v", m)
		}
	})
}

// The stream lives by heartbeats and ends soon after the session, or when it
// moves to another tenant; a new role counts at once.
func TestStreamEndsWithTheSession(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		a := k.who["admin"]
		r := k.open("admin", "", "")
		for range 15 { // longer than the server's read timeout
			r.first("comment")
		}
		lesser := a
		lesser.Role = actor.Viewer
		k.set("admin", &lesser)
		k.rechecked()
		k.emit(testTenant, "import.completed", 1, nil)
		k.emit(testTenant, "order.confirmed", 2, nil)
		if m := r.first("id"); m.event != "order.confirmed" {
			t.Errorf("a viewer was told of %s", m.event)
		}
		moved := a
		moved.TenantID = otherTenant
		k.set("admin", &moved)
		if !r.ended() {
			t.Error("the stream outlived the move to another tenant")
		}
		r = k.open("other", "", "")
		k.set("other", nil)
		if !r.ended() {
			t.Error("the stream outlived the session")
		}
	})
}

// What ends a stream, or narrows it, does so while missed events are sent to a
// reader who takes them slowly.
func TestStreamEndsWhileItCatchesUp(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		first := k.open("admin", "", "")
		k.emit(testTenant, "order.confirmed", 0, nil)
		last := first.first("id").id
		const large = 1200
		k.flood(large)
		k.emit(testTenant, "order.completed", 0, nil)
		k.published()
		a := k.who["admin"]
		lesser, moved := a, a
		lesser.Role, moved.TenantID = actor.Viewer, otherTenant
		for _, c := range []struct {
			name   string
			happen func()
			end    string // the last event
		}{
			{"nothing", func() {}, "order.completed"},
			{"a lower role", func() { k.set("admin", &lesser) }, "order.completed"},
			{"another tenant", func() { k.set("admin", &moved) }, "import.completed"},
			{"the session is over", func() { k.set("admin", nil) }, "import.completed"},
			{"the server stops", k.n.Close, "import.completed"},
		} {
			k.set("admin", &a)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			lines := k.slowly(ctx, "admin", last)
			heard, last := 0, ""
			for last != "order.completed" && lines.Scan() {
				typ, ok := strings.CutPrefix(lines.Text(), "event: ")
				if !ok {
					continue
				}
				if last = typ; typ == "import.completed" {
					heard++
				}
				if heard == 1 { // the server waits for us from here on
					c.happen()
					time.Sleep(4 * testRecheck)
				}
			}
			if ctx.Err() != nil || last != c.end || (heard == large) != (c.name == "nothing") {
				t.Errorf("%s: heard %d large events and %s last, want %s", c.name, heard, last, c.end)
			}
			cancel()
		}
	})
}

// flood emits n large events that only administrators may see, more than
// sockets hold.
func (k *streams) flood(n int) {
	k.t.Helper()
	list := make([]event.Emitted, n)
	for i := range list {
		list[i] = event.Emitted{Tenant: testTenant, Type: "import.completed",
			Data: map[string]string{"pad": strings.Repeat("x", 15_000)}}
	}
	if err := k.d.Write(k.t.Context(), db.Scope{Tenant: testTenant},
		func(tx *db.Tx) error { return k.out.EmitAll(tx, list) }); err != nil {
		k.t.Fatal(err)
	}
}

// published waits until every event has its place.
func (k *streams) published() {
	k.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		if err := k.d.Read(k.t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT COUNT(*) FROM outbox WHERE seq IS NULL", nil,
				func(r *db.Row) error { left = int(r.Int(0)); return nil })
		}); err != nil {
			k.t.Fatal(err)
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("%d events were not published within 30 s", left)
		}
	}
}

// slowly opens a stream whose lines arrive as they are taken.
func (k *streams) slowly(ctx context.Context, token, last string) *bufio.Scanner {
	k.t.Helper()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return c, err
	}
	req, err := http.NewRequestWithContext(ctx, "GET", k.URL+"/v1/events", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Last-Event-ID", last)
	res, err := (&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}).Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		k.t.Fatal(res, err)
	}
	k.t.Cleanup(func() { res.Body.Close() })
	return bufio.NewScanner(res.Body)
}

// A client that does not read is dropped, and nobody waits for it.
func TestStreamDropsASlowReader(t *testing.T) {
	eachStreams(t, func(t *testing.T, k *streams) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		slow := k.slowly(ctx, "admin", "")
		quick := k.open("operator", "", "")
		pad := strings.Repeat("x", 15_000)
		for range 45 { // more than sockets and the server hold for a reader
			if err := k.d.Write(context.Background(), db.Scope{Tenant: testTenant}, func(tx *db.Tx) error {
				list := make([]event.Emitted, 20)
				for i := range list {
					list[i] = event.Emitted{Tenant: testTenant, Type: "import.completed", Data: map[string]string{"pad": pad}}
				}
				list[19] = event.Emitted{Tenant: testTenant, Type: "order.confirmed", Data: map[string]int{"n": 1}}
				return k.out.EmitAll(tx, list)
			}); err != nil {
				t.Fatal(err)
			}
			quick.first("id")
		}
		time.AfterFunc(30*time.Second, cancel)
		for slow.Scan() {
		}
		if ctx.Err() != nil {
			t.Error("the stream of a client that does not read goes on")
		}
	})
}
