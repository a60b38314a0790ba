package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/bench/limit"
	"holdfast/bench/load"
)

// comparison is a request to the product beside one to the limit, or to the
// product too.
type comparison struct {
	name, title   string
	conns         int
	server, limit load.Request
	own           bool                                 // limit is a request to the product
	seeds         []string                             // of {carry}, if not the usual page sizes
	goals         struct{ sqlite, postgresql float64 } // least ratio; 0 = not measured there if both engines are
}

func (c *comparison) goal(engine string) float64 {
	if engine == "sqlite" {
		return c.goals.sqlite
	}
	return c.goals.postgresql
}

// many is how many orders a request of the case bulk writes.
const many = 1000

// manyBody is an array of so many new orders.
func manyBody() string { return "[" + strings.Repeat(insertBody+",", many-1) + insertBody + "]" }

// comparisons are the cases of one tenant on a filled database. size is the page
// whose answer body is, some the ids of orders, one for each of 8 connections, deep a page's offset.
func comparisons(token string, size int, body []byte, some []string, deep int) []comparison {
	auth := "Authorization: Bearer " + token
	get := func(path string, header ...string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: header, Status: 200}
	}
	post := func(path, body string, header ...string) load.Request {
		return load.Request{Method: "POST", Path: path, Header: append(header, "Content-Type: application/json"), Body: body,
			Status: 201}
	}
	goals := func(sqlite, postgresql float64) struct{ sqlite, postgresql float64 } {
		return struct{ sqlite, postgresql float64 }{sqlite, postgresql}
	}
	return []comparison{
		{name: "hit", title: fmt.Sprintf("cached function, hit, %d kB", len(body)/1000), conns: 8, goals: goals(0.7, 0),
			server: get(fmt.Sprintf(snapshotPath, size), auth), limit: get("/hit")},
		{name: "miss", title: "snapshot-v2, miss, page of 50", conns: 8, goals: goals(0.75, 0.75),
			server: get(missPath, auth, "Cache-Control: no-cache"), limit: get("/snapshot")},
		{name: "list", title: "list of orders, 50 x 10", conns: 8, goals: goals(0.65, 0.85),
			server: get(listPath+"&order=id.desc", auth), limit: get("/orders")},
		{name: "list", title: fmt.Sprintf("  the same, offset %d", deep), conns: 8, goals: goals(0.65, 0.85),
			server: get(fmt.Sprint(listPath, "&order=id.desc&offset=", deep), auth),
			limit:  get(fmt.Sprint("/orders?offset=", deep))},
		{name: "list", title: "  by created_at / by id, its own", conns: 8, goals: goals(1/1.3, 1/1.3), own: true,
			server: get(listPath+"&order=created_at.desc", auth), limit: get(listPath+"&order=id.desc", auth)},
		{name: "read", title: "one order by id", conns: 8, goals: goals(0.82, 0.88), seeds: some,
			server: get("/rest/v1/orders?select="+limit.OrderColumns+"&id=eq.{carry}", auth), limit: get("/order?id={carry}")},
		{name: "insert", title: "insert of one order, 32 clients", conns: 32, goals: goals(0.7, 0.7),
			server: post("/rest/v1/orders", insertBody, auth), limit: post("/orders", insertBody)},
		{name: "insert", title: "  the same with its records by hand", conns: 32, goals: goals(0.6, 0.6),
			server: post("/rest/v1/orders", insertBody, auth), limit: post("/same", insertBody)},
		{name: "insert", title: "insert of one order, 1 client", conns: 1, goals: goals(0.8, 0.8),
			server: post("/rest/v1/orders", insertBody, auth), limit: post("/orders", insertBody)},
		{name: "bulk", title: fmt.Sprintf("%d orders in a request", many), conns: 2, goals: goals(0.7, 0.7),
			server: post("/rest/v1/orders", manyBody(), auth), limit: post("/many", manyBody())},
	}
}

// sample is the ids of n orders of the tenant that the token is for.
func (s *site) sample(ctx context.Context, token string, n int) ([]string, error) {
	raw, err := s.call(ctx, "GET", fmt.Sprintf("/rest/v1/orders?select=id&order=id.desc&limit=%d", n*20), token, "", nil)
	if err != nil {
		return nil, err
	}
	var rows []struct{ ID string }
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, err
	}
	if len(rows) < n {
		return nil, fmt.Errorf("%d orders, %d wanted", len(rows), n)
	}
	var ids []string
	for i := range n {
		ids = append(ids, rows[i*len(rows)/n].ID)
	}
	return ids, nil
}

// compared runs both requests of a comparison in turns.
func (m *measurement) compared(ctx context.Context, s *site, c comparison) (*result, error) {
	var a, b []load.Report
	beside := s.limit
	if c.own {
		beside = s.server
	}
	seeded := func(p load.Plan) load.Plan {
		if c.seeds != nil {
			p.Seeds = c.seeds
		}
		return p
	}
	for i := range m.rounds {
		ra, err := m.product(ctx, s, c.title, seeded(m.plan(s, s.server, c.conns, c.server, i)))
		if err != nil {
			return nil, err
		}
		rb, err := measure(ctx, seeded(m.plan(s, beside, c.conns, c.limit, i)))
		if err != nil {
			return nil, err
		}
		a, b = append(a, ra), append(b, rb)
	}
	return compare(c.title, s.engine, a, b), nil
}

// abab runs the product and the limit in turns.
func (m *measurement) abab(
	ctx context.Context, s *site, title string, conns int, server, by load.Request,
) (*result, error) {
	return m.compared(ctx, s, comparison{title: title, conns: conns, server: server, limit: by})
}
