package main

import (
	"context"
	"fmt"
	"path/filepath"

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
