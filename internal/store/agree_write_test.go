package store_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/testkit/pgtest"
)

// Both engines do the same when they are told to write at random, upserts,
// repeats, conflicts and what cannot be stored among it, and hold the same
// records afterwards.
func TestEnginesAgreeOverWrites(t *testing.T) {
	lite := openKit(t, db.Options{Dir: t.TempDir(), Migrate: true})
	server := openKit(t, db.Options{URL: pgtest.DSN(t), Migrate: true, PoolSize: 2})
	fixture(lite)
	fixture(server)
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	record := func() string { return id(100 + rnd.IntN(20)) }
	callers := []actor.Actor{as(north, actor.Manager), as(north, actor.Manager), as(north, actor.Manager),
		as(south, actor.Manager),
		as(north, actor.Driver), serviceKey}
	done := 0
	for range rounds(t) {
		res, a := pick("items", "zones", "orders", "order_lines"), callers[rnd.IntN(len(callers))]
		method, path, body := write(pick, record, res)
		prefer := "return=representation" + pick("", "", ",missing=default", ",resolution=merge-duplicates",
			",resolution=ignore-duplicates", ",count=exact")
		one, two := lite.do(a, method, path, prefer, body), server.do(a, method, path, prefer, body)
		if one.String() != two.String() || one.err != nil && one.err.Code == "" {
			t.Fatalf("%s %s as %s (%s) %s\nsqlite   %s %v\npostgres %s %v", method, path, a.Role, prefer, body, one, one.err,
				two, two.err)
		}
		if one.err == nil && one.Count > 0 {
			done++
		}
	}
	for _, list := range []string{"items", "zones", "orders", "order_lines"} {
		if one, two := lite.get(serviceKey, list+"?limit=1000"), server.get(serviceKey, list+"?limit=1000"); one != two {
			t.Errorf("%s\nsqlite   %s\npostgres %s", list, one, two)
		}
	}
	if done < 100 {
		t.Errorf("only %d writes changed something: the comparison says little", done)
	}
}

// write is a random change: of one record or several, by key or by filter.
func write(pick func(...string) string, record func() string, res string) (method, path, body string) {
	value := func() string {
		return pick("null", `"A"`, `"é"`, `"e\u0301"`, `""`, `"x\u0000"`, `"\ud800"`, "1", "-0.5", "1e400", "0.00005",
			"12.3456", "true", "[]", `["eu","a,b"]`,
			`{"a":1}`, `"2026-02-30"`, `"2026-03-01T01:02:03.123456789+05:30"`, strconv.Quote(record()))
	}
	row := func() string {
		m := `{"id":"` + record() + `"`
		switch key := pick("K-1", "K-2", "k-1", "K-3", "K-4"); res {
		case "items":
			m += `,"sku":"` + key + `","name":"n"`
		case "zones":
			m += `,"code":"` + key + `","name":"n"`
		case "orders":
			m += `,"order_no":"` + key + `"`
		default:
			m += `,"order_id":"` + pick(id(21), id(22), record()) + `","line_no":` + pick("7", "8",
				"9") + `,"item_id":"` + pick(id(11), id(12), record()) +
				`","qty_ordered":` + pick("1", "2.5", "0", "-1")
		}
		return m
	}
	extra := func() string {
		field, _, _ := strings.Cut(pick(fields[res]...), "->")
		if field == "id" {
			return ""
		}
		return `,"` + field + `":` + value()
	}
	sel := "select=" + pick("*", "id,version", "count", "id")
	switch pick("insert", "insert", "insert", "many", "put", "put", "update", "update", "update", "delete") {
	case "insert":
		return "POST", res + "?" + sel + pick("", "", "&on_conflict=id"), row() + pick("", "", extra()) + "}"
	case "many":
		with := pick("", extra())
		return "POST", res + "?" + sel, "[" + row() + with + "}," + row() + with + "}]"
	case "put":
		key := record()
		return "PUT", res + "?" + sel + "&id=eq." + key, `{"id":"` + key + row()[len(`{"id":"`)+len(key):] + "}"
	case "update":
		return "PATCH", res + "?" + sel + "&order=id&id=" + pick("eq."+record(), "in.("+record()+","+record()+")"),
			"{" + strings.TrimPrefix(extra(), ",") + "}"
	}
	return "DELETE", res + "?" + sel + "&order=id&id=in.(" + record() + "," + record() + ")", ""
}

// Both engines go through a list by the same places, row by row as the whole
// list has them.
func TestEnginesAgreeOverPages(t *testing.T) {
	lite := openKit(t, db.Options{Dir: t.TempDir(), Migrate: true})
	server := openKit(t, db.Options{URL: pgtest.DSN(t), Migrate: true, PoolSize: 2})
	fixture(lite)
	fixture(server)
	rnd := rand.New(rand.NewPCG(5, 6))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	a := as(north, actor.Manager)
	for range rounds(t) / 10 {
		res := pick("items", "orders", "zones", "order_lines")
		order := column(pick, res) + pick("", ".desc", ".nullsfirst", ".desc.nullslast")
		if rnd.IntN(2) == 0 {
			order += "," + column(pick, res) + pick("", ".desc")
		}
		path := res + "?select=id&order=" + order
		var whole []json.RawMessage
		if err := json.Unmarshal([]byte(lite.get(a, path)), &whole); err != nil {
			t.Fatal(err)
		}
		var from []json.RawMessage
		for at, size := 0, 1+rnd.IntN(2); at < len(whole); at += size {
			one, two := pageFrom(lite, a, path, size, from), pageFrom(server, a, path, size, from)
			var want strings.Builder
			for i, row := range whole[at:min(at+size, len(whole))] {
				want.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
				want.Write(row)
			}
			places, _ := json.Marshal(one.Next)
			others, _ := json.Marshal(two.Next)
			if string(one.Body) != want.String()+"]" || string(two.Body) != string(one.Body) ||
				string(places) != string(others) {
				t.Fatalf("%s from %d: %s]\nsqlite   %s %s\npostgres %s %s", path, at, want.String(), one.Body, places, two.Body,
					others)
			}
			from = one.Next
		}
	}
}

func pageFrom(k *kit, a actor.Actor, path string, size int, from []json.RawMessage) *store.Result {
	k.Helper()
	name, raw, _ := strings.Cut(path, "?")
	req, err := query.Parse(raw + "&limit=" + strconv.Itoa(size))
	if err != nil {
		k.Fatal(err)
	}
	r, _ := k.cat.Get(name)
	q, err := query.BindSelect(k.cat, a, r, req)
	if err == nil && from != nil {
		err = q.From(from)
	}
	if err != nil {
		k.Fatal(path, err)
	}
	q.Paged = true
	res, err := k.s.Select(context.Background(), a, q)
	if err != nil {
		k.Fatal(path, err)
	}
	return res
}
