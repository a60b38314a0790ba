package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions"
	"holdfast/internal/functions/output"
	"holdfast/internal/safety"
	"holdfast/internal/safety/training"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/warehouse"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
	ada   = "0190b000-0000-7000-8000-000000000001"
	bo    = "0190b000-0000-7000-8000-000000000002"
)

// kit is a store with every effect and the table of functions on one engine.
type kit struct {
	testing.TB
	d     *db.DB
	s     *store.Store
	now   time.Time
	as    actor.Actor
	table []functions.Function
}

func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) { f(open(t, o)) })
}

func open(t testing.TB, o db.Options) *kit {
	t.Helper()
	d := dbtest.Open(t, o)
	k := &kit{TB: t, d: d, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), as: actor.Actor{Role: actor.Service}}
	clock := func() time.Time { return k.now }
	effects := warehouse.Watch{}.Effects()
	maps.Copy(effects.Before, safety.Effects().Before)
	maps.Copy(effects.Before, training.Effects().Before)
	k.s = store.New(d, catalog.Default(), effects, clock)
	k.s.OnChange(k.dropChanged)
	k.table = functions.Table(functions.Deps{Store: k.s, Now: clock, Dear: time.Hour})
	for i, id := range []string{south, north} {
		k.as.TenantID = id
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i), "timezone": "America/Sao_Paulo"})
	}
	return k
}

// dropChanged has the functions forget what they made of records that have changed.
func (k *kit) dropChanged(tenant string, collections []string) {
	for _, f := range k.table {
		isConcerned := func(c string) bool { return slices.Contains(f.Reads, c) }
		if f.Changed != nil && slices.ContainsFunc(collections, isConcerned) {
			f.Changed(tenant)
		}
	}
}

// add inserts rows as the server and returns the last one's id.
func (k *kit) add(name string, rows ...store.Row) (id string) {
	k.Helper()
	a := k.as
	a.Role = actor.Service
	err := k.d.Write(context.Background(), db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		stored, err := k.s.In(tx, a).InsertRows(name, rows)
		if err == nil {
			id = stored[len(stored)-1]["id"].(string)
		}
		return err
	})
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, rows, err)
	}
	return id
}

func (k *kit) set(name, id string, set store.Row) {
	k.Helper()
	a := k.as
	a.Role = actor.Service
	err := k.d.Write(context.Background(), db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		err := k.s.In(tx, a).UpdateRows(name, []string{id}, set)
		return err
	})
	if err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

func (k *kit) function(name string) *functions.Function {
	k.Helper()
	for i := range k.table {
		if k.table[i].Name == name {
			return &k.table[i]
		}
	}
	k.Fatalf("no function %s", name)
	return nil
}

// bytes are the answer of a function as JSON.
func (k *kit) bytes(name, params string) []byte {
	k.Helper()
	b, err := output.Encode(k.answer(name, params))
	if err != nil {
		k.Fatal(err)
	}
	return b
}

// answer calls a function with parameters written a=b&c=d.
func (k *kit) answer(name, params string) any {
	k.Helper()
	f := k.function(name)
	in, err := f.Bind(func(p string) []string {
		var out []string
		for _, pair := range strings.Split(params, "&") {
			if n, v, ok := strings.Cut(pair, "="); ok && n == p {
				out = append(out, v)
			}
		}
		return out
	}, nil)
	if err != nil {
		k.Fatal(err)
	}
	out, err := f.Run(context.Background(), k.as, in)
	if err != nil {
		k.Fatal(err)
	}
	return out
}

func (k *kit) call(name, params string) node {
	k.Helper()
	var v any
	b := k.bytes(name, params)
	if err := json.Unmarshal(b, &v); err != nil {
		k.Fatalf("%s: %v in %s", name, err, b)
	}
	return node{k, v}
}

// node is a place in an answer.
type node struct {
	k *kit
	v any
}

// at walks down a path of members and indexes: "zones.items.0.code".
func (n node) at(path string) any {
	n.k.Helper()
	v := n.v
	for _, p := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			m, ok := x[p]
			if !ok {
				n.k.Fatalf("no %s in %s", p, path)
			}
			v = m
		case []any:
			i := 0
			fmt.Sscan(p, &i)
			if p == "#" {
				v = len(x)
			} else if i >= len(x) {
				n.k.Fatalf("no %s in %s: %d elements", p, path, len(x))
			} else {
				v = x[i]
			}
		default:
			n.k.Fatalf("no %s in %s", p, path)
		}
	}
	return v
}

// is compares places with texts, given in pairs.
func (n node) is(pairs ...string) {
	n.k.Helper()
	for i := 0; i < len(pairs); i += 2 {
		got, err := json.Marshal(n.at(pairs[i]))
		if err != nil {
			n.k.Fatal(err)
		}
		if string(got) != pairs[i+1] {
			n.k.Errorf("%s = %s, want %s", pairs[i], got, pairs[i+1])
		}
	}
}

func sqliteOptions(t testing.TB) db.Options { return db.Options{Dir: t.TempDir(), Migrate: true} }
