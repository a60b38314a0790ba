package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
)

func admin(tenant string) actor.Actor {
	return actor.Actor{UserID: "0190b000-0000-7000-8000-000000000001", TenantID: tenant, Role: actor.Admin,
		RequestID: "test"}
}

func fullCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c := catalog.Default()
	if _, ok := c.Get("webhooks"); ok {
		return c
	}
	c, err := catalog.New(append(catalog.Resources(), catalog.EventResources()...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs f on both engines, with two tenants.
func each(t *testing.T, f func(t *testing.T, k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		o.PoolSize = 8
		f(t, newKit(t, o))
	})
}

// kit is a node: store, outbox, notifier and webhooks on one database.
type kit struct {
	t   testing.TB
	d   *db.DB
	cat *catalog.Catalog
	st  *store.Store
	out *event.Outbox
	s   *Service

	halt func() // ends the node and waits; nil when none runs

	mu      sync.Mutex
	shift   time.Duration // the clock runs this much ahead
	notices []Notice
}

func newKit(t testing.TB, o db.Options) *kit {
	t.Helper()
	d := dbtest.Open(t, o)
	k := node(t, d)
	for i, id := range []string{north, south} {
		k.write(id, func(tx *db.Tx) error {
			tx.Queue("INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, "+
				"updated_at, version) VALUES ($1, 'N', $2, 'standard', 'active', 'UTC', 'EUR', '[]', 'invite', '[]', $3, $3, 1)",
				[]any{id, fmt.Sprint("t", i), time.Now()}, nil)
			tx.Queue("INSERT INTO members (tenant_id, id, user_id, email, role, status, zone_ids, created_at, updated_at, version) VALUES ($1, $2, $2, $3, "+
				"'admin', 'active', '[]', $4, $4, 1)",
				[]any{id, admin(id).UserID, fmt.Sprintf("admin@%d.example", i), time.Now()}, nil)
			return nil
		})
	}
	return k
}

// node is a server's services on d, not yet running.
func node(t testing.TB, d *db.DB) *kit {
	t.Helper()
	k := &kit{t: t, d: d, cat: fullCatalog(t)}
	k.out = event.New(k.now)
	tell := func(tx *store.Tx, changes []store.Change) error {
		for _, c := range changes {
			if err := k.out.EmitAll(tx.Tx, event.FromChange(c.Resource, c.Before, c.After)); err != nil {
				return err
			}
		}
		return nil
	}
	after := map[string]store.Effect{}
	for _, name := range event.Watched() {
		after[name] = tell
	}
	after["webhooks"] = func(tx *store.Tx, c []store.Change) error {
		if err := k.s.Changed(tx, c); err != nil {
			return err
		}
		return tell(tx, c)
	}
	k.st = store.New(d, k.cat, store.Effects{After: after, Before: map[string]store.Effect{
		"webhooks": func(tx *store.Tx, c []store.Change) error { return k.s.Check(tx, c) },
	}}, k.now)
	k.s = service(t, k, Options{Store: k.st, AllowPrivate: true})
	return k
}

func service(t testing.TB, k *kit, o Options) *Service {
	t.Helper()
	o.Store, o.Key, o.Now = k.st, make([]byte, 32), k.now
	o.Notify = func(_ context.Context, n Notice) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.notices = append(k.notices, n)
		return nil
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.pace = pace{attempt: 3 * time.Second, turn: 2 * time.Second, lease: 45 * time.Second, poll: 50 * time.Millisecond,
		lanes: 8, perTenant: 4, perLane: 4}
	return s
}

func (k *kit) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Add(k.shift)
}

// ahead moves the clock. A node that runs rests meanwhile: an attempt that is under way would end days after it
// began, and be judged as one that failed for days.
func (k *kit) ahead(d time.Duration) {
	running := k.halt != nil
	if running {
		k.halt()
	}

	k.mu.Lock()
	k.shift += d
	k.mu.Unlock()

	if running {
		k.run()
	}
}

// run starts the node; stop ends it and waits.
func (k *kit) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	n := event.NewNotifier(k.d, k.out, k.s.Publish)
	wg.Go(func() { n.Run(ctx) })
	wg.Go(func() { k.s.Run(ctx) })
	k.halt = func() { cancel(); wg.Wait(); k.halt = nil }
	stop = func() {
		if k.halt != nil {
			k.halt()
		}
	}
	k.t.Cleanup(stop)
	return stop
}

func (k *kit) write(tenant string, f func(tx *db.Tx) error) {
	k.t.Helper()
	if err := k.d.Write(context.Background(), db.Scope{Tenant: tenant}, f); err != nil {
		k.t.Fatal(err)
	}
}

// emit writes n events of a tenant in one transaction.
func (k *kit) emit(tenant string, n int) {
	k.t.Helper()
	k.write(tenant, func(tx *db.Tx) error {
		list := make([]event.Emitted, n)
		for i := range list {
			list[i] = event.Emitted{Tenant: tenant, Type: "rate_limit.exceeded", Data: map[string]int{"limit": i}}
		}
		return k.out.EmitAll(tx, list)
	})
}

func (k *kit) create(tenant, url string, events ...string) *Endpoint {
	k.t.Helper()
	e, err := k.s.Create(context.Background(), admin(tenant), In{URL: url, Events: events})
	if err != nil {
		k.t.Fatal(err)
	}
	return e
}

// record is a delivery as it stands in the log.
type record struct {
	id, event, status, err     string
	attempt, code              int64
	next                       time.Time
	request, response, history string
}

func (k *kit) log(webhook string) []record {
	k.t.Helper()
	var out []record
	if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT id, event_id, status, error, attempt, response_status, next_at, request, response, attempts FROM webhook_deliveries WHERE "+
			"webhook_id = $1 ORDER BY id", []any{webhook}, func(r *db.Row) error {
			out = append(out, record{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Int(4), r.Int(5), r.Time(6), r.Text(7),
				r.Text(8), r.Text(9)})
			return nil
		})
	}); err != nil {
		k.t.Fatal(err)
	}
	return out
}

func (k *kit) webhook(tenant, id string) store.Row {
	k.t.Helper()
	var row store.Row
	if err := k.d.Read(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) (err error) {
		row, err = k.s.findWebhook(tx, admin(tenant), id)
		return err
	}); err != nil {
		k.t.Fatal(err)
	}
	return row
}

// set changes a webhook as an administrator would.
func (k *kit) set(tenant, id string, set store.Row) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		err := k.st.In(tx, admin(tenant)).UpdateRows(k.s.webhooks.Name, []string{id}, set)
		return err
	})
}

func (k *kit) until(what string, cond func() bool) {
	k.t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("waited 30 s for %s", what)
		}
	}
}

// sink receives webhooks.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	got  []got
	stop chan struct{}
}

type got struct {
	header http.Header
	body   []byte
	at     time.Time
}

// newSink answers with reply, or 204.
func newSink(t testing.TB, reply func(w http.ResponseWriter, r *http.Request, n int)) *sink {
	k := &sink{stop: make(chan struct{})}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		k.mu.Lock()
		k.got = append(k.got, got{r.Header.Clone(), b, time.Now()})
		n := len(k.got)
		k.mu.Unlock()
		if reply != nil {
			reply(w, r, n)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(func() { close(k.stop); k.Server.CloseClientConnections(); k.Server.Close() })
	return k
}

func (k *sink) all() []got {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]got(nil), k.got...)
}

func (k *sink) count() int { return len(k.all()) }

func data(t testing.TB, g got) map[string]any {
	t.Helper()
	var p struct{ Data map[string]any }
	if err := json.Unmarshal(g.body, &p); err != nil {
		t.Fatal(err)
	}
	return p.Data
}
