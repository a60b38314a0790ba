package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
	"holdfast/internal/warehouse/routing"
)

// Handhelds of a shift: how many, and how often each scans.
const (
	handhelds = 40
	scansEach = 4 * time.Second
)

// handheld measures scans of a tenant with 10,000 items: how long the slowest
// hundredth takes, and whether the standard plan lets a shift work.
func (m *measurement) handheld(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenants := []data.Tenant{data.Stocked(1, 10_000), data.Stocked(2, 10_000)}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	const wide = "=10000000/10000000" // what is timed must not meet its limit
	if err := s.o.tool(ctx, s.dir, s.url, "tenant", "set-plan", tenants[0].ID, "custom", "--limit", "api"+wide, "--limit",
		"read"+wide); err != nil {
		return err
	}
	if s.server, err = s.o.serve(ctx, s.dir, s.url, "--rate-limits", "on"); err != nil {
		return err
	}
	var p99, p50 []float64
	request, err := scanned(ctx, s, tenants[0].ID)
	if err != nil {
		return err
	}
	for i := range m.rounds {
		r, err := m.product(ctx, s, "scan", m.plan(s, s.server, 2, request, i))
		if err != nil {
			return err
		}
		p99, p50 = append(p99, r.P99), append(p50, r.P50)
	}
	if err := m.add(of("scan, p99", engine, p99, fmt.Sprintf("ms; p50 %.2f, of 10,000 items", median(p50))).atMost(20,
		" ms")); err != nil {
		return err
	}
	return m.shift(ctx, s, tenants[1].ID)
}

// scanned is a scan of some item of a tenant.
func scanned(ctx context.Context, s *site, tenant string) (load.Request, error) {
	token, err := s.token(ctx, tenant)
	return load.Request{Method: "POST", Path: "/v1/rpc/scan", Body: `{"code":"SKU-000{rand:1000-9999}"}`,
		Header: []string{"Authorization: Bearer " + token, "Content-Type: application/json"}, Status: 200}, err
}

// shift lets the handhelds of a tenant on the standard plan scan for twenty times
// -seconds (a minute; with -seconds 30, ten) and says how many were refused.
func (m *measurement) shift(ctx context.Context, s *site, tenant string) error {
	request, err := scanned(ctx, s, tenant)
	if err != nil {
		return err
	}
	p := m.plan(s, s.server, handhelds, request, 1)
	p.Warm, p.Every, p.Time = 0, scansEach, 20*time.Duration(m.seconds*float64(time.Second))
	r, err := driven(ctx, p)
	if err == nil && r.Requests == 0 {
		err = fmt.Errorf("none of %d scans was answered: %s", r.Failed, r.FirstFail)
	}
	if err != nil {
		return err
	}
	note := fmt.Sprintf("of %d in %.0f s, one each %s; p99 %.1f ms %s", r.Requests+r.Failed, r.Seconds, scansEach, r.P99,
		r.FirstFail)
	return m.add(of(fmt.Sprintf("scans of %d handhelds refused", handhelds), s.engine, []float64{float64(r.Failed)},
		note).atMost(0, ""))
}

// walk measures the order of a pick path of 60 stops in 20 aisles, in this
// process.
func (m *measurement) walk() error {
	const stops, times = 60, 50
	r := rand.New(rand.NewPCG(3, 4))
	floor := routing.Floor{}
	for a := range 20 {
		floor[fmt.Sprint(a)] = routing.Ends{Front: 0, Back: 60}
	}
	var took []float64
	for range times {
		places := make([]routing.Place, stops)
		for i := range places {
			a := r.IntN(20)
			places[i] = routing.Place{Aisle: fmt.Sprint(a), X: float64(4 * a), Y: 60 * r.Float64()}
		}
		begin := time.Now()
		if _, err := routing.Pick(places, &routing.Place{}, floor); err != nil {
			return err
		}
		took = append(took, float64(time.Since(begin))/float64(time.Millisecond))
	}
	return m.add(of("pick path of 60 stops", "", took, fmt.Sprintf("%d paths", times)).atMost(20, " ms"))
}
