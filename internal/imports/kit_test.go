package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/safety"
	"holdfast/internal/safety/training"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/warehouse"
)

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
	anna  = "0190a000-0000-7000-8000-0000000000a1"
)

// kit is an importer with the warehouse's effects on one engine.
type kit struct {
	testing.TB
	d           *db.DB
	s           *store.Store
	m           *imports.Importer
	o           imports.Options
	effects     store.Effects // of the store; a test may hang another one on a resource
	now         time.Time
	as          actor.Actor
	changedLock *sync.Mutex
	changed     []string
	again       db.Options // of its database
}

// each runs f on both engines, on a migrated database of its own.
func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(open(t, dbtest.Options(t, e))) })
}

func open(t testing.TB, o db.Options) *kit {
	t.Helper()
	k := &kit{TB: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), as: actor.Actor{Role: actor.Service}}
	k.connect(o, t.TempDir())
	for i, id := range []string{north, south} {
		k.as.TenantID = id
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i), "timezone": "Europe/Berlin"})
	}
	k.as = actor.Actor{TenantID: north, UserID: anna, Role: actor.Admin}
	return k
}

func (k *kit) connect(o db.Options, files string) {
	k.Helper()
	d := dbtest.Open(k, o)
	k.again = o
	f, err := blob.OpenDir(files)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { f.Close() })
	k.d = d
	k.effects = warehouse.Watch{}.Effects()
	maps.Copy(k.effects.Before, safety.Effects().Before)
	maps.Copy(k.effects.After, safety.Effects().After)
	maps.Copy(k.effects.Before, training.Effects().Before)
	k.effects.After["workers"] = training.Effects().After["workers"]
	k.changedLock = new(sync.Mutex)
	k.s = store.New(d, catalog.Default(), k.effects, func() time.Time { return k.now })
	k.o = imports.Options{Store: k.s, Files: f,
		OnChange: k.noteChanged}
	k.m = imports.New(k.o)
	k.Cleanup(func() { k.m.Close() })
}

// noteChanged keeps the names of collections that an importer changed. Importers of
// several jobs call it at once.
func (k *kit) noteChanged(_ string, names []string) {
	k.changedLock.Lock()
	defer k.changedLock.Unlock()
	k.changed = append(k.changed, names...)
}

// rebuild makes the importer anew with other options.
func (k *kit) rebuild(change func(*imports.Options)) {
	change(&k.o)
	k.m.Close()
	k.m = imports.New(k.o)
}

func (k *kit) resource(name string) *catalog.Resource {
	k.Helper()
	r, ok := k.s.Catalog().Get(name)
	if !ok {
		k.Fatalf("no resource %s", name)
	}
	return r
}

func (k *kit) server() actor.Actor {
	a := k.as
	a.Role = actor.Service
	return a
}

// add inserts one row and returns its id.
func (k *kit) add(name string, row store.Row) string {
	k.Helper()
	id := ""
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.server()).InsertRows(k.resource(name).Name, []store.Row{row})
		if err == nil {
			id = rows[0]["id"].(string)
		}
		return err
	})
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, row, err)
	}
	return id
}

func (k *kit) set(name, id string, set store.Row) { k.Helper(); k.setAs(k.server(), name, id, set) }

// edit changes a record as the person who acts.
func (k *kit) edit(name, id string, set store.Row) { k.Helper(); k.setAs(k.as, name, id, set) }

func (k *kit) setAs(a actor.Actor, name, id string, set store.Row) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		return k.s.In(tx, a).UpdateRows(k.resource(name).Name, []string{id}, set)
	})
	if err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

// Rows reads all rows of a table of the tenant.
func (k *kit) rows(name string) []store.Row {
	k.Helper()
	var out []store.Row
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) (err error) {
		out, err = k.s.In(tx, k.as).Rows(k.resource(name).Name, "1 = 1 ORDER BY id")
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return out
}

func (k *kit) find(name, field, value string) store.Row {
	k.Helper()
	for _, r := range k.rows(name) {
		if r[field] == value {
			return r
		}
	}
	k.Fatalf("no %s with %s = %s", name, field, value)
	return nil
}

// dump is every row of the tables as text, byte for byte.
func (k *kit) dump(names ...string) string {
	k.Helper()
	var b strings.Builder
	for _, n := range names {
		for _, r := range k.rows(n) {
			text, err := json.Marshal(r)
			if err != nil {
				k.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", n, text)
		}
	}
	return b.String()
}

// counters are the tenant's totals that are not zero, without the import
// jobs' own.
func (k *kit) counters() map[string]int64 {
	k.Helper()
	all, out := map[string]int64{}, map[string]int64{}
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		k.s.Counts(tx, k.as.TenantID, all)
		return tx.Flush()
	})
	if err != nil {
		k.Fatal(err)
	}
	for n, v := range all {
		if v != 0 && !strings.HasPrefix(n, "import_jobs") {
			out[n] = v
		}
	}
	return out
}

func real(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Upload makes a job. Options and mapping are JSON, "" = none.
func (k *kit) upload(target, options, mapping, name string, body []byte) *jobs.Job {
	k.Helper()
	job, err := k.m.Upload(context.Background(), k.as,
		imports.Request{Target: target, Options: json.RawMessage(options), Mapping: json.RawMessage(mapping)}, name,
		bytes.NewReader(body))
	if err != nil {
		k.Fatalf("upload %s: %v", name, err)
	}
	return job
}

func (k *kit) process(job *jobs.Job) *plan.Processed {
	k.Helper()
	res, err := k.m.Process(context.Background(), k.as, job.ID)
	if err != nil {
		k.Fatalf("process: %v", err)
	}
	return res
}

func (k *kit) apply(job *jobs.Job) *imports.Applied {
	k.Helper()
	res, err := k.m.Apply(context.Background(), k.as, job.ID)
	if err != nil {
		k.Fatalf("apply: %v", err)
	}
	return res
}

// allInjuries are the options of a register that says of no row what kind it is.
const allInjuries = `{"defaults":{"kind":"injury"}}`

// imported runs a file through process and apply.
func (k *kit) imported(target, options, mapping, name string, body []byte) (*jobs.Job, *plan.Processed,
	*imports.Applied) {
	k.Helper()
	job := k.upload(target, options, mapping, name, body)
	p := k.process(job)
	return job, p, k.apply(job)
}

func (k *kit) status(job *jobs.Job) string {
	k.Helper()
	return k.find("import_jobs", "id", job.ID)["status"].(string)
}

// where lists row errors as "line column code", sorted by line.
func where(errs []staged.RowError) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%d %s %s", e.Line, e.Column, e.Code))
	}
	sort.SliceStable(out, func(i, j int) bool { return false })
	return out
}

// hurried allows statements next to nothing, unless what looks at a whole job
// says that it may take its time.
func hurried() context.Context { return db.Patient(context.Background(), time.Millisecond) }
