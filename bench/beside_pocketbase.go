package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/bench/peers"
)

// orders are those of every tenant, the oldest first, as PocketBase takes them.
func (b *besides) orders(ctx context.Context, s *stage) (all []peers.Order, err error) {
	for n := range b.tenants {
		tenant := data.Number(n + 1)
		token, err := s.site.token(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for {
			path := fmt.Sprintf("/rest/v1/orders?select=%s,carrier&order=id.asc&limit=1000&offset=%d", columnsButID(),
				len(all)-n*b.run.Orders)
			raw, err := s.call(ctx, "GET", path, token, "", nil)
			if err != nil {
				return nil, err
			}
			var page []peers.Order
			if err := json.Unmarshal(raw, &page); err != nil {
				return nil, err
			}
			for _, o := range page {
				o["tenant"] = tenant
			}
			if all = append(all, page...); len(page) == 0 {
				break
			}
		}
	}
	if want := b.tenants * b.run.Orders; len(all) != want {
		return nil, fmt.Errorf("orders of Holdfast: %d of %d", len(all), want)
	}
	return all, nil
}

func columnsButID() string { return strings.TrimPrefix(limit.OrderColumns, "id,") }

// pocketRest measures programs that do nothing: their size, their start on an empty
// directory, and what they hold five seconds later.
func (b *besides) pocketRest(ctx context.Context) error {
	program := b.program[peers.PocketBase.Name]
	if program == "" {
		return nil
	}
	found := map[string]*peers.Figure{}
	for _, row := range peers.PocketBase.Of() {
		found[row.Title] = &peers.Figure{Row: row}
	}
	for _, at := range []struct {
		path string
		to   *[]float64
	}{{b.server, &found[peers.Size].Holdfast}, {program, &found[peers.Size].Other}} {
		f, err := os.Stat(at.path)
		if err != nil {
			return err
		}
		*at.to = []float64{float64(f.Size()) / 1e6}
	}
	for range b.rounds {
		ours := func(dir string) (*process, error) { return b.serve(ctx, dir, "") }
		theirs := func(dir string) (*process, error) {
			address, err := freeAddress()
			if err != nil {
				return nil, err
			}
			return launch(ctx, peers.PocketUp, peers.ServePocket(program, dir, address), address)
		}
		took, rest, err := b.restOnce(ours, theirs)
		if err != nil {
			b.leave(peers.PocketBase, "it does not start on an empty directory: "+peers.Reason(err.Error()))
			return ctx.Err()
		}
		s, m := found[peers.Start], found[peers.AtRest]
		s.Holdfast, s.Other = append(s.Holdfast, took[0]), append(s.Other, took[1])
		m.Holdfast, m.Other = append(m.Holdfast, rest[0]), append(m.Other, rest[1])
	}
	for _, title := range []string{peers.Size, peers.Start, peers.AtRest} {
		f := found[title]
		b.run.Add(*f)
		if err := b.add(of(f.Peer+": "+title, "sqlite", f.Holdfast,
			fmt.Sprintf("%s, against %.3g", f.Unit, median(f.Other)))); err != nil {
			return err
		}
	}
	return nil
}

// restOnce starts programs on empty directories, one after the other, and looks at
// their memory when all have rested.
func (b *besides) restOnce(starts ...func(dir string) (*process, error)) (took, rest []float64, err error) {
	var all []*process
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.stop())
		}
	}()
	for _, start := range starts {
		dir, err := os.MkdirTemp(b.dir, "holdfast-bench-")
		if err != nil {
			return nil, nil, err
		}
		defer os.RemoveAll(dir)
		p, err := start(dir)
		if err != nil {
			return nil, nil, err
		}
		all, took = append(all, p), append(took, p.took.Seconds())
	}
	time.Sleep(5 * time.Second)
	for _, p := range all {
		rss, err := load.RSS([]int{p.pid()})
		if err != nil {
			return nil, nil, err
		}
		rest = append(rest, float64(rss)/(1<<20))
	}
	return took, rest, nil
}

// deep is the offset of a later page: one order in ten is in the state that is listed.
func (b *besides) deep() int { return min(1500, b.run.Orders/10*3/4/50*50) }

// pocket starts PocketBase with the orders of the site.
func (b *besides) pocket(ctx context.Context, s *stage, program string) (*process, []work, error) {
	dir := filepath.Join(s.dir, "pocketbase")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, nil, err
	}
	orders, err := b.orders(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	from := seeds{}
	if from.ours, err = s.sample(ctx, s.token, 8); err != nil {
		return nil, nil, err
	}
	from.hand = from.ours
	if err := peers.PreparePocket(ctx, program, dir); err != nil {
		return nil, nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	other, err := launch(ctx, peers.PocketUp, peers.ServePocket(program, dir, address), address)
	if err != nil {
		return nil, nil, err
	}
	begin := time.Now()
	member, err := peers.FillPocket(ctx, address, data.Number(1), orders)
	if err != nil {
		return other, nil, err
	}
	fmt.Fprintf(os.Stderr, "PocketBase: %d orders, twice, in %.1f s\n", len(orders), time.Since(begin).Seconds())
	from.theirs, err = peers.PocketSample(ctx, address, member, data.Number(1), 8)
	return other, pocketWorks(s.token, member, data.Number(1), b.deep(), from), err
}

// pocketWorks are the rows of PocketBase that are work. from are the ids of orders,
// one for each connection that reads.
func pocketWorks(token, member, tenant string, deep int, from seeds) []work {
	get := func(path string, header ...string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: header, Status: 200}
	}
	post := func(status int, path, body string, header ...string) load.Request {
		return load.Request{Method: "POST", Path: path, Header: append(header, asJSON...), Body: body, Status: status}
	}
	us, them := "Authorization: Bearer "+token, "Authorization: "+member
	newest := listPath + "&order=created_at.desc"
	page := func(collection string, offset int) load.Request {
		return get(peers.PocketPage(collection, tenant, offset/50+1), them)
	}
	row := `{"tenant":"` + tenant + `",` + insertBody[1:]
	insert := work{conns: 32, ours: post(201, "/rest/v1/orders", insertBody, us),
		theirs: post(200, peers.Orders, row, them), hand: post(201, "/orders", insertBody)}
	one := insert
	insert.title, one.title, one.conns = peers.Insert32, peers.Insert1, 1
	return []work{
		{title: peers.List, conns: 8, ours: get(newest, us), theirs: page("orders", 0), hand: get("/orders")},
		{title: peers.Open, conns: 8, ours: get(newest, us), theirs: page("open", 0), hand: get("/orders")},
		{title: peers.Deep, conns: 8, ours: get(fmt.Sprint(newest, "&offset=", deep), us), theirs: page("orders", deep),
			hand: get(fmt.Sprint("/orders?offset=", deep))},
		{title: peers.Read, conns: 8, seeds: from, ours: get("/rest/v1/orders?select="+limit.OrderColumns+"&id=eq.{carry}",
			us), theirs: get(peers.Orders+"/{carry}", them), hand: get("/order?id={carry}")},
		one, insert,
		{title: peers.Many, conns: 2, ours: post(201, "/rest/v1/orders", manyBody(), us),
			theirs: post(200, peers.PocketMany, peers.PocketBatch(row, many), them), hand: post(201, "/many", manyBody())},
		{title: peers.SignIn, conns: 4, ours: post(200, "/auth/v1/token?grant_type=password", signInBody(tenant)),
			theirs: post(200, peers.PocketSign, peers.PocketSignBody), hand: post(200, "/argon2", signInBody(tenant))},
	}
}

// signInBody signs the tenant's owner in.
func signInBody(tenant string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, address(tenant), password)
}
