package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
)

// flooding is how often each of the greedy tenant's eight connections asks:
// together 2,000 times a second, 120 times the standard plan's limit.
const flooding = 4 * time.Millisecond

// greedy measures a tenant's reads in peace and while another tenant asks far
// beyond its rate limit: at a steady rate, and as fast as it is answered, which
// shares two processors with what is measured.
func (m *measurement) greedy(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenants := []data.Tenant{data.Sized(1, 2_000), data.Sized(2, 2_000)}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	// What is measured must not meet its own limit.
	const wide = "=10000000/10000000"
	if err := s.o.tool(ctx, s.dir, s.url, "tenant", "set-plan", tenants[1].ID, "custom", "--limit", "api"+wide, "--limit",
		"read"+wide); err != nil {
		return err
	}
	if s.server, err = s.o.serve(ctx, s.dir, s.url, "--rate-limits", "on"); err != nil {
		return err
	}
	var tokens [2]string
	for i, t := range tenants {
		if tokens[i], err = s.token(ctx, t.ID); err != nil {
			return err
		}
	}
	var calm, busy, busiest, floods, most []load.Report
	for i := range m.rounds {
		r, err := m.reads(ctx, s, tokens[1], i)
		if err != nil {
			return err
		}
		loud, flood, err := m.readsBeside(ctx, s, tokens, flooding)
		if err != nil {
			return err
		}
		loudest, all, err := m.readsBeside(ctx, s, tokens, 0)
		if err != nil {
			return err
		}
		calm, busy, busiest, floods, most = append(calm, r), append(busy, loud), append(busiest, loudest),
			append(floods, flood), append(most, all)
	}
	note := func(list []load.Report) string {
		return fmt.Sprintf("%.0f requests a second of the other were refused", median(each(list, perSecond)))
	}
	return errors.Join(m.add(slower("p99 of reads beside a flood", engine, calm, busy, note(floods)).atMost(2, "")),
		m.add(slower("  beside one without a pause", engine, calm, busiest, note(most))))
}

// readsBeside measures the second tenant's reads while the first floods, and how
// much of the flood was refused.
func (m *measurement) readsBeside(
	ctx context.Context, s *site, tokens [2]string, every time.Duration,
) (loud, flood load.Report, err error) {
	plan := m.plan(s, s.server, 8,
		load.Request{Method: "GET", Path: "/v1/zones?limit=10", Header: []string{"Authorization: Bearer " + tokens[0]},
			Status: http.StatusTooManyRequests}, 0)
	plan.Every = every
	plan.Time += time.Second // it ends after what is measured beside it
	done := make(chan error, 1)
	go func() {
		var err error
		flood, err = driven(ctx, plan)
		done <- err
	}()
	loud, err = m.reads(ctx, s, tokens[1], 1)
	if err = errors.Join(err, <-done); err == nil && flood.Requests == 0 {
		err = fmt.Errorf("none of %d requests over the limit was refused", flood.Failed)
	}
	return loud, flood, err
}
