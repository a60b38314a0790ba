package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"holdfast/bench/data"
)

// What a tenant asks of a fleet, and what its plan lets through in a minute.
const (
	fleetAsks  = 1200
	fleetLimit = 1000
	fleetConns = 8 // half of them at each node
)

// fleet measures how many requests two nodes that share a Redis let through
// together, where a tenant asks both for more than its plan allows: one tenant
// for each round.
func (m *measurement) fleet(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var tenants []data.Tenant
	for i := range m.rounds {
		tenants = append(tenants, data.Sized(i+1, 100))
	}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		limit := fmt.Sprintf("api=%d/%d", fleetLimit, fleetLimit)
		if err := errors.Join(s.owner(ctx, t.ID),
			s.o.tool(ctx, s.dir, s.url, "tenant", "set-plan", t.ID, "custom", "--limit", limit, "--limit",
				"read=100000/100000")); err != nil {
			return err
		}
	}
	redis, stop, err := startRedis(ctx, s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	flags := []string{"--rate-limits", "on", "--redis", redis, "--redis-timeout", "30s", "--public-url",
		"http://fleet.localhost"}
	if s.server, err = s.o.serve(ctx, s.dir, s.url, flags...); err != nil {
		return err
	}
	other, err := s.nodeBeside(ctx, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.stop()) }()
	var off []float64
	var passed []int
	begin := time.Now()
	for _, t := range tenants {
		token, err := s.token(ctx, t.ID)
		if err != nil {
			return err
		}
		n, err := admitted(ctx, token, s.server.address, other.address)
		if err != nil {
			return err
		}
		passed, off = append(passed, n), append(off, math.Abs(float64(n-fleetLimit))/fleetLimit*100)
	}
	return m.add(of("requests let through by two nodes", engine, off,
		fmt.Sprintf("%% beside %d; %v of %d asked, a round took %.1f s", fleetLimit, passed, fleetAsks,
			time.Since(begin).Seconds()/float64(m.rounds))).atMost(1, " %"))
}

// nodeBeside starts a second server on the database, with the first one's key.
func (s *site) nodeBeside(ctx context.Context, flags []string) (*process, error) {
	dir := filepath.Join(s.dir, "beside")
	key, err := os.ReadFile(filepath.Join(s.dir, "master.key"))
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return s.o.serve(ctx, dir, s.url, flags...)
}

// admitted asks the nodes in parallel and counts the answers; any but 200 and
// 429 is an error.
func admitted(ctx context.Context, token string, nodes ...string) (passed int, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	ask := func(node string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+node+"/functions/v1/safety-kpis", nil)
		if err != nil {
			return 0, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
			err = fmt.Errorf("%s: %s", res.Status, text)
		}
		return res.StatusCode, err
	}
	for i := range fleetConns {
		wg.Go(func() {
			for range fleetAsks / fleetConns {
				status, e := ask(nodes[i%len(nodes)])
				mu.Lock()
				if err = errors.Join(err, e); status == http.StatusOK {
					passed++
				}
				mu.Unlock()
				if e != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return passed, err
}

// startRedis starts the redis-server of the PATH in dir.
func startRedis(ctx context.Context, dir string) (url string, stop func() error, err error) {
	address, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly",
		"no")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("%w; scripts/setup installs it", err)
	}
	stop = func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
		return err
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return "redis://" + address, stop, c.Close()
		}
		if ctx.Err() != nil || time.Since(begin) > 30*time.Second {
			return "", nil, errors.Join(fmt.Errorf("redis-server does not answer: %w", err), stop())
		}
	}
}
