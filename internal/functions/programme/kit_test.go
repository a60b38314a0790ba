package programme_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/functions/output"
	"holdfast/internal/functions/programme"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/safety"
	"holdfast/internal/safety/clocks"
	certificates "holdfast/internal/safety/training"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
	ada   = "0190b000-0000-7000-8000-000000000001"
	bo    = "0190b000-0000-7000-8000-000000000002"
	cy    = "0190b000-0000-7000-8000-000000000003"
)

// kit is a store with the effects of safety and the functions, on one engine.
type kit struct {
	testing.TB
	d          *db.DB
	s          *store.Store
	p          *programme.Programme
	now        time.Time // changes only while nothing else runs
	as         actor.Actor
	table      []functions.Function
	statements atomic.Int64 // asked for since last reset

	heard sync.Mutex // guards what the hooks report, of transactions that run at once
	told  []string
	moves []programme.Move
	due   []string // event, record and days
}

// after runs f once the transaction is durable, and never beside another f.
func (k *kit) after(tx *db.Tx, f func()) {
	tx.After(func() {
		k.heard.Lock()
		defer k.heard.Unlock()
		f()
	})
}

// mails are the jobs that hand the programme's mails to a server.
func (k *kit) mails(to mail.Sender) *job.Runner {
	return job.NewRunner(k.d, func() time.Time { return k.now }, slog.New(slog.DiscardHandler), programme.Mails(to, nil), k.p.ClockMails(nil))
}

// send hands on the mails that are due.
func (k *kit) send(to mail.Sender) (int, error) {
	return k.mails(to).Round(context.Background(), programme.MailJob)
}

func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) { f(open(t, o)) })
}

var letterhead = programme.Letterhead{Product: "Harbour Safety", Site: "https://site.example/app"}

func open(t testing.TB, o db.Options) *kit {
	t.Helper()
	k := &kit{TB: t, now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)}
	o.Observe = func(_ db.Scope, _ bool, n int) { k.statements.Add(int64(n)) }
	k.d = dbtest.Open(t, o)
	clock := func() time.Time { return k.now }
	effects := safety.Effects()
	maps.Copy(effects.Before, certificates.Effects().Before)
	effects.After["workers"] = certificates.Effects().After["workers"]
	effects.After["legal_clocks"] = clocks.AskForMails
	k.s = store.New(k.d, catalog.Default(), effects, clock)
	hooks := programme.Hooks{Letterhead: letterhead, Tell: func(tx *db.Tx, resource string, rows []store.Row) error {
		for _, r := range rows {
			k.after(tx, func() { k.told = append(k.told, resource+" "+fmt.Sprint(r["status"])) })
		}
		return nil
	}, Moved: func(tx *db.Tx, _ string, moves []programme.Move) error {
		k.after(tx, func() { k.moves = append(k.moves, moves...) })
		return nil
	}, Due: func(tx *db.Tx, tenant string, list []programme.Deadline) error {
		for _, d := range list {
			if d.Row["tenant_id"] != any(tenant) {
				return fmt.Errorf("%v is told to %s", d.Row, tenant)
			}
			k.after(tx, func() { k.due = append(k.due, fmt.Sprint(d.Event, " ", d.Row["id"], " ", d.Days)) })
		}
		return nil
	}}
	k.p = programme.New(k.s, clock, hooks)
	k.table = functions.Table(functions.Deps{Store: k.s, Now: clock, Programme: k.p})
	for i, id := range []string{south, north} {
		k.as = actor.Actor{Role: actor.Service, TenantID: id}
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i), "timezone": "Europe/Berlin"})
	}
	return k
}

// add inserts rows as the server and returns the last one's id.
func (k *kit) add(name string, rows ...store.Row) string {
	k.Helper()
	id, err := k.try(name, rows...)
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, rows, err)
	}
	return id
}

func (k *kit) try(name string, rows ...store.Row) (id string, err error) {
	a := k.as
	a.Role = actor.Service
	err = k.d.Write(context.Background(), db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		stored, err := k.s.In(tx, a).InsertRows(name, rows)
		if err == nil {
			id = stored[len(stored)-1]["id"].(string)
		}
		return err
	})
	return id, err
}

func (k *kit) change(name, id string, set store.Row) error {
	a := k.as
	a.Role = actor.Service
	return k.d.Write(context.Background(), db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		err := k.s.In(tx, a).UpdateRows(name, []string{id}, set)
		return err
	})
}

func (k *kit) set(name, id string, set store.Row) {
	k.Helper()
	if err := k.change(name, id, set); err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

// ask calls a function with a JSON body, as the face does.
func (k *kit) ask(name, body string) ([]byte, error) {
	k.Helper()
	for i := range k.table {
		f := &k.table[i]
		if f.Name != name {
			continue
		}
		var members map[string]json.RawMessage
		if body != "" {
			if err := json.Unmarshal([]byte(body), &members); err != nil {
				k.Fatal(err)
			}
		}
		in, err := f.Bind(nil, members)
		if err != nil {
			return nil, err
		}
		out, err := f.Run(context.Background(), k.as, in)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = output.Write(&b, out)
		return b.Bytes(), err
	}
	k.Fatalf("no function %s", name)
	return nil, nil
}

func (k *kit) call(name, body string) node {
	k.Helper()
	b, err := k.ask(name, body)
	if err != nil {
		k.Fatalf("%s %s: %v", name, body, explain(err))
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		k.Fatalf("%s: %v in %s", name, err, b)
	}
	return node{k, v}
}

func explain(err error) string {
	var cause string
	for e := err; e != nil; e = errors.Unwrap(e) {
		cause += " <- " + e.Error()
	}
	return cause
}

// refused holds a call to a kind of fault whose text has some words.
func (k *kit) refused(name, body string, kind fault.Kind, words string) {
	k.Helper()
	_, err := k.ask(name, body)
	if !fault.Is(err, kind) || !strings.Contains(fmt.Sprint(err, fault.As(err).Fields), words) {
		k.Errorf("%s %s: %v, want kind %d naming %q", name, body, err, kind, words)
	}
}

// count is the number of rows of a table of the tenant.
func (k *kit) count(table, where string) (n int64) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		return tx.Query("SELECT COUNT(*) FROM "+table+" WHERE tenant_id = $1 AND "+where, []any{k.as.TenantID},
			func(r *db.Row) error { n = r.Int(0); return nil })
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}

// purge empties a table of the tenant.
func (k *kit) purge(table string) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM "+table+" WHERE tenant_id = $1", k.as.TenantID)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}

// node is a place in an answer.
type node struct {
	k *kit
	v any
}

// at walks down a path of members and indexes: "scores.0.inputs"; # is the
// length of an array.
func (n node) at(path string) any {
	n.k.Helper()
	v := n.v
	for _, p := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			m, ok := x[p]
			if !ok {
				n.k.Fatalf("no %s in %s of %v", p, path, n.v)
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
			n.k.Fatalf("no %s in %s of %v", p, path, n.v)
		}
	}
	return v
}

// is compares places with JSON texts, given in pairs.
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

func (n node) has(member string) bool {
	_, ok := n.v.(map[string]any)[member]
	return ok
}

// find returns the element of a list whose member has a value.
func (n node) find(list, member, value string) node {
	n.k.Helper()
	for _, x := range n.at(list).([]any) {
		if x.(map[string]any)[member] == any(value) {
			return node{n.k, x}
		}
	}
	n.k.Fatalf("no %s with %s = %s in %v", list, member, value, n.at(list))
	return node{}
}
