package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/bench/peers"
)

// postgresWork measures the rows of the peers that work on PostgreSQL, all on one
// cluster. Peers that wait use no processor.
func (b *besides) postgresWork(ctx context.Context) (err error) {
	parts := map[string]func(context.Context, *stage, string) error{peers.Deno.Name: b.denoWork}
	for name := range parts {
		if b.program[name] == "" {
			delete(parts, name)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	s, err := b.stage(ctx, "postgresql")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, p := range peers.All {
		if part := parts[p.Name]; part != nil {
			if err := part(ctx, s, b.program[p.Name]); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// denoWork measures the rows of the edge function.
func (b *besides) denoWork(ctx context.Context, s *stage, program string) (err error) {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	cmd, token, err := peers.ServeDeno(program, peers.Served{Database: s.url, Role: limit.Role, Tenant: data.Number(1),
		Statements: limit.Snapshot(), Answer: filepath.Join(s.dir, answerFile), Dir: s.dir}, address)
	if err != nil {
		return err
	}
	other, err := launch(ctx, peers.DenoUp, cmd, address)
	if err != nil {
		b.leave(peers.Deno, failedStart(err))
		return ctx.Err()
	}
	defer func() { err = errors.Join(err, other.stop()) }()
	return b.works(ctx, s, peers.Deno, other, denoWorks(s.token, token, s.size))
}

// failedStart says that a peer is there but does not run.
func failedStart(err error) string {
	return "it is there, but does not run: " + peers.Reason(err.Error())
}

// denoWorks are the rows of the function. size is the page of the cached snapshot.
func denoWorks(token, theirs string, size int) []work {
	us, them := "Authorization: Bearer "+token, "Authorization: Bearer "+theirs
	get := func(path string, header ...string) load.Request {
		return load.Request{Method: "GET", Path: path, Header: header, Status: 200}
	}
	hit := work{title: peers.Hit, conns: 8, ours: get(fmt.Sprintf(snapshotPath, size), us), theirs: get(peers.DenoObject, them), hand: get("/hit")}
	text := hit
	text.title, text.theirs = peers.HitText, get(peers.DenoText, them)
	miss := work{title: peers.Miss, conns: 8, ours: get(missPath, us, "Cache-Control: no-cache"), theirs: get(peers.DenoAnew, them), hand: get("/snapshot")}
	counted := miss
	counted.title, counted.theirs = peers.Counted, get(peers.DenoCount, them)
	return []work{hit, text, miss, counted}
}
