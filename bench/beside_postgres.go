package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/bench/peers"
)

// deno serves the edge function.
func (b *besides) deno(ctx context.Context, s *stage, program string) (*process, []work, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	cmd, token, err := peers.ServeDeno(program, peers.Served{Database: s.url, Role: limit.Role, Tenant: data.Number(1),
		Statements: limit.Snapshot(), Answer: filepath.Join(s.dir, answerFile), Dir: s.dir}, address)
	if err != nil {
		return nil, nil, err
	}
	other, err := launch(ctx, peers.DenoUp, cmd, address)
	return other, denoWorks(s.token, token, s.size), err
}

// denoWorks are the rows of the function. size is the page of the cached snapshot.
func denoWorks(token, theirs string, size int) []work {
	us, them := "Authorization: Bearer "+token, "Authorization: Bearer "+theirs
	get := func(path string, header ...string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: header, Status: 200}
	}
	hit := work{title: peers.Hit, conns: 8, ours: get(fmt.Sprintf(snapshotPath, size), us),
		theirs: get(peers.DenoObject, them), hand: get("/hit")}
	text := hit
	text.title, text.theirs = peers.HitText, get(peers.DenoText, them)
	miss := work{title: peers.Miss, conns: 8, ours: get(missPath, us, "Cache-Control: no-cache"),
		theirs: get(peers.DenoAnew, them), hand: get("/snapshot")}
	counted := miss
	counted.title, counted.theirs = peers.Counted, get(peers.DenoCount, them)
	return []work{hit, text, miss, counted}
}

// goTrue serves a database of its own with one member.
func (b *besides) goTrue(ctx context.Context, s *stage, program string) (*process, []work, error) {
	const conns = 8
	database, err := s.another(ctx, "gotrue", peers.GoTrueSQL("gotrue"))
	if err != nil {
		return nil, nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	cmd, err := peers.ServeGoTrue(ctx, program, database, address)
	if err != nil {
		return nil, nil, err
	}
	other, err := launch(ctx, peers.GoTrueUp, cmd, address)
	if err != nil {
		return nil, nil, err
	}
	access, err := peers.GoTrueMember(ctx, address)
	fresh := func(ctx context.Context) (to seeds, err error) {
		if to.ours, to.hand, err = s.sessions(ctx, data.Number(1), conns); err == nil {
			_, to.theirs, err = peers.GoTrueSessions(ctx, address, conns)
		}
		return to, err
	}
	return other, goTrueWorks(s.token, access, conns, fresh), err
}

func goTrueWorks(token, theirs string, conns int, fresh func(context.Context) (seeds, error)) []work {
	post := func(path, body, carry string) load.Request {
		return load.Request{Method: "POST", Path: path, Header: asJSON, Body: body, Status: 200, Carry: carry}
	}
	get := func(path, token string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: []string{"Authorization: Bearer " + token}, Status: 200}
	}
	const again, carry = `{"refresh_token":"{carry}"}`, "refresh_token"
	body := signInBody(data.Number(1))
	return []work{
		{title: peers.SignIn, conns: 4, ours: post("/auth/v1/token?grant_type=password", body, ""),
			theirs: post(peers.GoTrueSign, peers.GoTrueSignBody, ""), hand: post("/argon2", body, "")},
		{title: peers.User, conns: 8, ours: get("/auth/v1/user", token), theirs: get(peers.GoTrueUser, theirs)},
		{title: peers.Refresh, conns: conns, fresh: fresh, ours: post("/auth/v1/token?grant_type=refresh_token", again,
			carry), theirs: post(peers.GoTrueRefresh, again, carry), hand: post("/refresh?sign", again, carry)},
	}
}

// smooth serves a database of its own with the site's orders.
func (b *besides) smooth(ctx context.Context, s *stage, program string) (*process, []work, error) {
	database, err := s.another(ctx, peers.SmoothDatabase, nil)
	if err != nil {
		return nil, nil, err
	}
	orders, err := b.orders(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if err := peers.FillSmooth(ctx, database, orders); err != nil {
		return nil, nil, err
	}
	var from seeds
	if from.ours, err = s.sample(ctx, s.token, 8); err != nil {
		return nil, nil, err
	}
	if from.theirs, err = peers.SmoothSample(ctx, database, data.Number(1), 8); err != nil {
		return nil, nil, err
	}
	from.hand = from.ours
	address, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	cmd, token, err := peers.ServeSmooth(program, s.dir, database, address)
	if err != nil {
		return nil, nil, err
	}
	other, err := launch(ctx, peers.SmoothUp, cmd, address)
	return other, smoothWorks(s.token, token, data.Number(1), b.deep(), from), err
}

func smoothWorks(token, theirs, tenant string, deep int, from seeds) []work {
	us, them := "Authorization: Bearer "+token, "Authorization: Bearer "+theirs
	get := func(path string, header ...string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: header, Status: 200}
	}
	post := func(path, body string, header ...string) load.Request {
		return load.Request{Method: "POST", Path: path, Header: append(header, asJSON...), Body: body, Status: 201}
	}
	row := `{"tenant":"` + tenant + `",` + insertBody[1:]
	rows := "[" + strings.Repeat(row+",", many-1) + row + "]"
	newest := listPath + "&order=created_at.desc"
	return []work{
		{title: peers.List, conns: 8, ours: get(newest, us),
			theirs: get(peers.SmoothPage(tenant, limit.OrderColumns, 0), them), hand: get("/orders")},
		{title: peers.Deep, conns: 8, ours: get(fmt.Sprint(newest, "&offset=", deep), us),
			theirs: get(peers.SmoothPage(tenant, limit.OrderColumns, deep), them),
			hand:   get(fmt.Sprint("/orders?offset=", deep))},
		{title: peers.Read, conns: 8, seeds: from, ours: get("/rest/v1/orders?select="+limit.OrderColumns+"&id=eq.{carry}",
			us),
			theirs: get(peers.SmoothOrders+"?select="+limit.OrderColumns+"&id=eq.{carry}", them),
			hand:   get("/order?id={carry}")},
		{title: peers.Insert32, conns: 32, ours: post("/rest/v1/orders", insertBody, us),
			theirs: post(peers.SmoothOrders, row, them), hand: post("/orders", insertBody)},
		{title: peers.Many, conns: 2, ours: post("/rest/v1/orders", manyBody(), us),
			theirs: post(peers.SmoothOrders, rows, them), hand: post("/many", manyBody())},
	}
}

// another makes a database beside the site's and returns its URL.
func (s *site) another(ctx context.Context, name string, list []string) (string, error) {
	if err := s.sql(ctx, "create database "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	other := &site{url: u.String()}
	return other.url, other.sql(ctx, list...)
}
