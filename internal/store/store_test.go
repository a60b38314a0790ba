package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/prefer"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
)

// user is the id of a tenant's only member with a role.
func user(tenant string, r actor.Role) string {
	n := 0
	for i, x := range actor.Members {
		if x == r {
			n = i + 1
		}
	}
	return fmt.Sprintf("0190b000-0000-7000-8000-0000000%s%04d", tenant[len(tenant)-1:], n)
}

const someSession = "0190c000-0000-7000-8000-000000000001"

func as(tenant string, r actor.Role) actor.Actor {
	return actor.Actor{UserID: user(tenant, r), TenantID: tenant, Role: r, RequestID: "test", SessionID: someSession}
}

var serviceKey = actor.Actor{Role: actor.Service, KeyID: "k1"}

// each runs f on both engines, on a migrated database of its own.
func each(t *testing.T, f func(t *testing.T, k *kit)) {
	t.Helper()
	eachWith(t, catalog.Default(), store.Effects{}, f)
}

func eachWith(t *testing.T, c *catalog.Catalog, eff store.Effects, f func(t *testing.T, k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		o.PoolSize = 4
		f(t, newKit(t, o, c, eff))
	})
}

type kit struct {
	testing.TB
	d   *db.DB
	cat *catalog.Catalog
	s   *store.Store
	now time.Time
}

func newKit(t testing.TB, o db.Options, c *catalog.Catalog, eff store.Effects) *kit {
	t.Helper()
	d := dbtest.Open(t, o)
	k := &kit{TB: t, d: d, cat: c, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	k.s = store.New(d, c, eff, func() time.Time { return k.now })
	for i, id := range []string{north, south} {
		k.must(serviceKey, "POST", "tenants", "", fmt.Sprintf(`{"id":%q,"name":"T%d","slug":"t%d"}`, id, i, i))
	}
	return k
}

func openKit(t testing.TB, o db.Options) *kit {
	return newKit(t, o, catalog.Default(), store.Effects{})
}

// answer is what a request came back with.
type answer struct {
	*store.Result
	err *fault.Error
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Code
	}
	return string(a.Body)
}

// do makes one request the way the HTTP face does. prefer is a Prefer header;
// the word "one" in it asks for a single object, "csv" for CSV.
func (k *kit) do(a actor.Actor, method, path, prefer, body string) answer {
	k.Helper()
	res, err := k.try(a, method, path, prefer, body)
	if err != nil {
		return answer{nil, fault.As(err)}
	}
	return answer{res, nil}
}

func (k *kit) try(a actor.Actor, method, path, preferences, body string) (*store.Result, error) {
	name, raw, _ := strings.Cut(path, "?")
	o := query.Options{Form: query.Shape{Singular: strings.Contains(preferences, "one"),
		CSV:      strings.Contains(preferences, "csv"),
		Stripped: strings.Contains(preferences, "stripped")}}
	var err error
	if o.Prefer, err = prefer.Parse([]string{preferences}); err != nil {
		return nil, err
	}
	req, err := query.Parse(raw)
	if err != nil {
		return nil, err
	}
	r, err := query.Find(k.cat, name)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if method == "GET" {
		q, err := query.BindSelect(k.cat, a, r, req)
		if err != nil {
			return nil, err
		}
		q.Count, q.Form = o.Prefer.Count, o.Form
		return k.s.Select(ctx, a, q)
	}
	if method == "DELETE" {
		w, err := query.BindDelete(k.cat, a, r, req, o)
		if err != nil {
			return nil, err
		}
		return k.s.Delete(ctx, a, w)
	}
	if strings.HasPrefix(body, "csv:") {
		o.Body, err = query.CSVBody([]byte(body[4:]), req.Columns)
	} else {
		o.Body, err = query.JSONBody([]byte(body), req.Columns)
	}
	if err != nil {
		return nil, err
	}
	switch method {
	case "POST":
		w, err := query.BindInsert(k.cat, a, r, req, o)
		if err != nil {
			return nil, err
		}
		return k.s.Insert(ctx, a, w)
	case "PUT":
		w, err := query.BindPut(k.cat, a, r, req, o)
		if err != nil {
			return nil, err
		}
		return k.s.Put(ctx, a, w)
	}
	w, err := query.BindUpdate(k.cat, a, r, req, o)
	if err != nil {
		return nil, err
	}
	return k.s.Update(ctx, a, w)
}

func (k *kit) must(a actor.Actor, method, path, prefer, body string) answer {
	k.Helper()
	res, err := k.try(a, method, path, prefer, body)
	if err != nil {
		e := fault.As(err)
		k.Fatalf("%s %s %s: %v (%s; %s; %v)", method, path, body, err, e.Details, e.Hint, e.Err)
	}
	return answer{res, nil}
}

// get is the body of a successful read.
func (k *kit) get(a actor.Actor, path string) string {
	k.Helper()
	return string(k.must(a, "GET", path, "", "").Body)
}

func (k *kit) want(got, want string) {
	k.Helper()
	if got != want {
		k.Errorf("got  %s\nwant %s", got, want)
	}
}

func (k *kit) refused(a answer, code string) {
	k.Helper()
	if a.err == nil {
		k.Errorf("want %s, but it was done: %s", code, a.Body)
	} else if a.err.Code != code {
		k.Errorf("got %s (%v; %s; %v), want %s", a.err.Code, a.err.Msg, a.err.Details, a.err.Err, code)
	}
}

func id(n int) string { return fmt.Sprintf("0190c000-0000-7000-8000-%012d", n) }

func rows(t testing.TB, body []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	decode(t, string(body), &out)
	return out
}

func decode(t testing.TB, body string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// insertTx inserts one row as the server does.
func (k *kit) insertTx(a actor.Actor, r *catalog.Resource, row store.Row) error {
	return k.d.Write(context.Background(), store.Scope(a), func(tx *db.Tx) error {
		_, err := k.s.In(tx, a).InsertRows(r.Name, []store.Row{row})
		return err
	})
}
