package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/redis"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ear is a node that notes what it hears.
type ear struct {
	*Cluster
	mu    sync.Mutex
	heard []Notice
	at    []time.Time
}

func (e *ear) hear(n Notice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard, e.at = append(e.heard, n), append(e.at, time.Now())
}

// awaits waits until the ear has heard want, and returns when.
func (e *ear) awaits(t *testing.T, want ...Notice) time.Time {
	t.Helper()
	var heard []Notice
	for range 3000 {
		e.mu.Lock()
		heard = slices.Clone(e.heard)
		at := slices.Clone(e.at)
		e.mu.Unlock()
		if cmp.Equal(heard, want) {
			return at[len(at)-1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("heard %+v, want %+v", heard, want)
	return time.Time{}
}

// hears waits until the ear has heard each of want at least once, and nothing
// else: a row whose writing was not answered in time is written again.
func (e *ear) hears(t *testing.T, want ...Notice) {
	t.Helper()
	missing := want
	for range 3000 {
		e.mu.Lock()
		heard := slices.Clone(e.heard)
		e.mu.Unlock()
		missing = slices.Clone(want)
		for _, n := range heard {
			if !slices.ContainsFunc(want, func(w Notice) bool { return cmp.Equal(w, n) }) {
				t.Fatalf("heard %+v", n)
			}
			missing = slices.DeleteFunc(missing, func(w Notice) bool { return cmp.Equal(w, n) })
		}
		if len(missing) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not heard: %+v", missing)
}

// deployment is a fresh database that several nodes join.
type deployment struct {
	t     *testing.T
	o     db.Options
	redis string
}

func fresh(t *testing.T) *deployment {
	d := &deployment{t: t, o: db.Options{URL: pgtest.DSN(t), Migrate: true}}
	d.database()
	return d
}

func (d *deployment) database() *db.DB {
	d.t.Helper()
	x, err := db.Open(context.Background(), d.o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { x.Close() })
	return x
}

func (d *deployment) join(deaf bool) *ear {
	d.t.Helper()
	e := &ear{}
	o := Options{DB: d.database(), Subscribe: e.hear, PublishOnly: deaf}
	if d.redis != "" {
		conn, err := redis.Open(d.redis)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(conn.Close)
		o.Redis = conn
	}
	var err error
	if e.Cluster, err = Open(context.Background(), o); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { e.Close(context.Background()) })
	return e
}

var (
	items = Notice{Kind: Changed, Tenant: "t1", Names: []string{"items"}}
	zones = Notice{Kind: Changed, Tenant: "t1", Names: []string{"zones"}}
)

func TestTheOtherNodesHear(t *testing.T) {
	d := fresh(t)
	one, two, three := d.join(false), d.join(false), d.join(false)
	began := time.Now()
	one.Publish(items)
	for _, e := range []*ear{two, three} {
		t.Logf("heard after %v", e.awaits(t, items).Sub(began).Round(time.Millisecond))
	}
	two.Publish(zones)
	one.awaits(t, zones)
	three.awaits(t, items, zones)
}

// A notice comes by Redis and by its row, and is heard once; with Redis gone
// the row is enough. What is told later comes later, so hearing it shows that
// nothing was repeated before.
func TestByRedisAndOnce(t *testing.T) {
	server := redistest.Start(t)
	d := fresh(t)
	d.redis = server.URL
	one, two := d.join(false), d.join(false)
	began := time.Now()
	one.Publish(items)
	t.Logf("heard after %v", two.awaits(t, items).Sub(began).Round(time.Millisecond))
	one.Publish(zones)
	two.awaits(t, items, zones)
	server.Stop()
	one.Publish(items)
	two.awaits(t, items, zones, items)
	server.Start()
	one.Publish(zones)
	two.awaits(t, items, zones, items, zones)
}

func TestManyNoticesAreFewRows(t *testing.T) {
	d := fresh(t)
	one, two := d.join(false), d.join(false)
	one.mu.Lock() // as many as come while a batch is being written
	for range 1000 {
		one.pending.addNotice(items)
		one.pending.addNotice(zones)
		one.pending.addNotice(Notice{Kind: User, Names: []string{"u1"}})
	}
	one.mu.Unlock()
	one.Publish(items)
	two.hears(t, Notice{Kind: User, Names: []string{"u1"}},
		Notice{Kind: Changed, Tenant: "t1", Names: []string{"items", "zones"}})
	var rows int64
	err := one.o.DB.Read(context.Background(), scopeOfAll(), func(tx *db.Tx) error {
		return tx.One("SELECT COUNT(*) FROM notices WHERE body LIKE '%changed%'", nil,
			func(r *db.Row) error { rows = r.Int(0); return nil })
	})
	if err != nil || rows == 0 || rows > 5 {
		t.Errorf("3,000 notices are %d rows, %v", rows, err)
	}
}

func TestAToolTellsBeforeItLeaves(t *testing.T) {
	d := fresh(t)
	server, tool := d.join(false), d.join(true)
	tool.Publish(items)
	if err := tool.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	server.awaits(t, items)
	if n := server.Nodes(); n != 1 {
		t.Errorf("%d nodes", n)
	}
}

func TestNodesThatLive(t *testing.T) {
	b := &Cluster{id: "me"}
	start := time.Now()
	for _, c := range []struct {
		after time.Duration
		signs map[string]sign
		want  int
	}{
		{0, nil, 1},
		{heartbeat, map[string]sign{"a": {7, 0}}, 2},
		{2 * heartbeat, map[string]sign{"a": {8, 0}, "gone": {3, 0}}, 3},
		{6 * heartbeat, map[string]sign{"a": {9, 0}, "gone": {3, 4 * heartbeat}}, 2},
		{7 * heartbeat, map[string]sign{}, 1},
		{8 * heartbeat, map[string]sign{"killed": {5, time.Minute}, "a": {10, 9 * time.Second}}, 2},
		{9 * heartbeat, map[string]sign{"killed": {6, 0}, "a": {11, 0}}, 3}, // it was suspended
	} {
		b.countNodes(c.signs, start.Add(c.after))
		if b.Nodes() != c.want {
			t.Errorf("after %v: %d nodes, want %d", c.after, b.Nodes(), c.want)
		}
	}
}

func awaitsNodes(t *testing.T, e *ear, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); e.Nodes() != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d nodes, want %d", e.Nodes(), n)
		}
	}
}

// A node that comes or goes is counted by the others without waiting for a
// beat: the share of the limits depends on it.
func TestJoiningNodesAreCounted(t *testing.T) {
	d := fresh(t)
	one := d.join(false)
	two := d.join(false)
	if one.Nodes() != 1 || two.Nodes() != 2 {
		t.Errorf("%d and %d nodes at once", one.Nodes(), two.Nodes())
	}
	awaitsNodes(t, one, 2)
	if err := two.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	awaitsNodes(t, one, 1)
	if three := d.join(false); three.Nodes() != 2 {
		t.Errorf("%d nodes after one left", three.Nodes())
	}
}

// A node that was killed a minute ago is no peer of one that starts.
func TestKilledNodesAreNotCounted(t *testing.T) {
	d := fresh(t)
	err := d.database().Write(t.Context(), scopeOfAll(), func(tx *db.Tx) error {
		_, err := tx.Exec(`
			INSERT INTO nodes (id, beat, seen_at)
			VALUES ($1, 7, clock_timestamp() - INTERVAL '1 minute')`, uuid.NewString())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if one := d.join(false); one.Nodes() != 1 {
		t.Errorf("%d nodes at the start", one.Nodes())
	}
}

// Whoever could not look for longer than rows are kept forgets everything.
func TestAfterALongPauseEverythingIsStale(t *testing.T) {
	d := fresh(t)
	one := d.join(false)
	if err := one.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	one.seen = time.Now().Add(-lost - time.Second)
	if err := one.readNewRows(context.Background()); err != nil {
		t.Fatal(err)
	}
	one.awaits(t, Notice{Kind: All})
}

// Where rows are missing, whoever took them, everything is stale.
func TestMissingRowsMakeEverythingStale(t *testing.T) {
	d := fresh(t)
	one, two := d.join(false), d.join(false)
	one.Publish(items)
	two.awaits(t, items)
	x := d.database()
	if err := x.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue("UPDATE notices_head SET seq = seq + 1 WHERE one = 1", nil, nil) // its row was swept
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	two.awaits(t, items, Notice{Kind: All})
	one.Publish(zones)
	two.awaits(t, items, Notice{Kind: All}, zones)
}

// Where a standby took over that lacked the newest rows, everything is stale:
// before other rows have their numbers, when one has, and when there are more.
func TestNumbersThatGoBackMakeEverythingStale(t *testing.T) {
	d := fresh(t)
	x := d.database()
	for _, after := range []int64{0, 2, 3} { // rows written before the node looks again
		one := d.join(false)
		if err := one.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := one.readNewRows(t.Context()); err != nil { // until the row of its own leaving
			t.Fatal(err)
		}
		last := one.last
		if err := x.Write(t.Context(), scopeOfAll(), func(tx *db.Tx) error {
			tx.Queue("DELETE FROM notices WHERE seq > $1", []any{last - 2}, nil)
			tx.Queue("UPDATE notices_head SET seq = $1 WHERE one = 1", []any{last - 2}, nil)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		other := &Cluster{o: Options{DB: x, Now: time.Now}, id: uuid.NewString()}
		for range after {
			if err := other.insertRow(t.Context(), uuid.NewString(),
				`[{"kind":"changed","tenant":"t1","names":["items"]}]`); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := one.readNewRows(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if one.awaits(t, Notice{Kind: All}); one.last != last-2+after {
			t.Errorf("%d rows after: read up to %d of %d", after, one.last, last-2+after)
		}
	}
}

// A node whose clock runs ahead sweeps nothing that others have yet to read,
// and forgets none of them. Rows that were there ten minutes ago are swept.
func TestSweepTrustsNoClock(t *testing.T) {
	d := fresh(t)
	one := d.join(false)
	one.Publish(items)
	ahead := &Cluster{o: Options{DB: d.database(), Now: func() time.Time {
		return time.Now().AddDate(0, 0, 2)
	}, Subscribe: func(Notice) {}}, id: uuid.NewString(), beats: map[string]pulse{}}
	left := func() (oldest int64, nodes int) {
		t.Helper()
		if err := ahead.recordHeartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ahead.o.DB.Read(t.Context(), scopeOfAll(), func(tx *db.Tx) error {
			tx.Queue("SELECT coalesce(MIN(seq), 0) FROM notices", nil, func(r *db.Row) error { oldest = r.Int(0); return nil })
			return tx.Query("SELECT COUNT(*) FROM nodes", nil, func(r *db.Row) error { nodes = int(r.Int(0)); return nil })
		}); err != nil {
			t.Fatal(err)
		}
		return oldest, nodes
	}
	for end := time.Now().Add(30 * time.Second); ahead.last == 0; time.Sleep(10 * time.Millisecond) {
		ahead.seen = time.Now()
		if err := ahead.readNewRows(t.Context()); err != nil || time.Now().After(end) {
			t.Fatal("no row", err)
		}
	}
	for range 2 {
		if oldest, nodes := left(); oldest != 1 || nodes != 2 {
			t.Errorf("the oldest notice is %d of %d nodes, want 1 of 2", oldest, nodes)
		}
	}
	for i := range ahead.marks {
		ahead.marks[i].at = time.Now().Add(-keep)
	}
	if oldest, _ := left(); oldest == 1 {
		t.Error("a notice that was there ten minutes ago is left")
	}
}

func TestEmbeddedDatabaseHasOneNode(t *testing.T) {
	x, err := db.Open(context.Background(), db.Options{Dir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	b, err := Open(context.Background(), Options{DB: x, Subscribe: func(n Notice) { t.Errorf("heard %+v", n) }})
	if err != nil {
		t.Fatal(err)
	}
	b.Publish(items)
	if err := b.Close(context.Background()); err != nil || b.Nodes() != 1 {
		t.Error(err, b.Nodes())
	}
}

func TestTooManyNoticesAreOne(t *testing.T) {
	var b batch
	for i := range most + 1 {
		b.addNotice(Notice{Kind: Changed, Tenant: fmt.Sprint(i), Names: []string{"items"}})
	}
	if got := b.listNotices(); !cmp.Equal(got, []Notice{{Kind: All}}) {
		t.Errorf("%d notices", len(got))
	}
	b = batch{}
	for i := range most + 1 {
		b.addNotice(Notice{Kind: User, Names: []string{fmt.Sprint(i)}})
	}
	if got := b.listNotices(); !cmp.Equal(got, []Notice{{Kind: All}}) {
		t.Errorf("%d notices", len(got))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{``, `[]`, `[{"kind":"changed","tenant":"t","names":["items"]}]`, `[{"kind":"later"}]`,
		`{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if list := parseBody(body); len(list) == 0 {
			t.Errorf("%q says nothing", body)
		}
	})
}
