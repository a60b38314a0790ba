package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
)

// flood is how many events wait for a receiver that hangs.
const flood = 10_000

// webhooks measures how long another tenant's event, and its requests, wait
// while one tenant has a flood of events for a receiver that hangs.
func (m *measurement) webhooks(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenants := []data.Tenant{data.Reported(1, 100), data.Reported(2, 100)}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	if s.server, err = s.o.serve(ctx, s.dir, s.url, "--webhook-allow-private"); err != nil {
		return err
	}
	hung, arrived := make(chan struct{}), make(chan time.Time, 1000)
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer hanging.Close()
	defer close(hung)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- time.Now() }))
	defer other.Close()
	tokens := make([]string, 2)
	for i, url := range []string{hanging.URL, other.URL} {
		if tokens[i], err = s.token(ctx, tenants[i].ID); err != nil {
			return err
		}
		if err := s.post(ctx, "/v1/webhooks", tokens[i], map[string]any{"url": url,
			"events": []string{"incident.reported"}}); err != nil {
			return err
		}
	}
	var calm, busy []load.Report
	for i := range m.rounds {
		r, err := m.reads(ctx, s, tokens[1], i)
		if err != nil {
			return err
		}
		calm = append(calm, r)
	}
	rows := make([]map[string]any, flood/2)
	for i := range rows {
		rows[i] = map[string]any{"kind": "near_miss", "title": fmt.Sprint("Flood ", i), "occurred_at": "2026-01-01T00:00:00Z"}
	}
	for range 2 {
		if err := s.post(ctx, "/v1/incidents", tokens[0], rows); err != nil {
			return err
		}
	}
	var waits []float64
	for range max(m.rounds, 3) {
		begun := time.Now()
		if err := s.post(ctx, "/v1/incidents", tokens[1], rows[0]); err != nil {
			return err
		}
		select {
		case at := <-arrived:
			waits = append(waits, at.Sub(begun).Seconds())
		case <-time.After(time.Minute):
			return errors.New("the other tenant's event did not come within a minute")
		}
	}
	for range m.rounds {
		r, err := m.reads(ctx, s, tokens[1], 1)
		if err != nil {
			return err
		}
		busy = append(busy, r)
	}
	note := fmt.Sprintf("%d events for a receiver that hangs", flood)
	return errors.Join(m.add(of("another tenant's event", engine, waits, note).atMost(5, " s")),
		m.add(slower("  p99 of its reads", engine, calm, busy, note).atMost(1.5, "")))
}

// post sends JSON.
func (s *site) post(ctx context.Context, path, token string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.call(ctx, "POST", path, token, "application/json", bytes.NewReader(body))
	return err
}

// reads asks for a list of a tenant, again and again, from two connections.
func (m *measurement) reads(ctx context.Context, s *site, token string, round int) (load.Report, error) {
	return measure(ctx, m.plan(s, s.server, 2, load.Request{Method: "GET", Path: "/v1/zones?limit=10",
		Header: []string{"Authorization: Bearer " + token}, Status: 200}, round))
}

// slower makes the result of reads in peace and under something else: the median
// of the rounds' ratios of p99.
func slower(name, engine string, calm, busy []load.Report, note string) *result {
	var ratios []float64
	for i := range calm {
		ratios = append(ratios, busy[i].P99/calm[i].P99)
	}
	p99 := func(r load.Report) float64 { return r.P99 }
	r := of(name, engine, ratios, fmt.Sprintf("%.2f ms against %.2f in peace; %s", median(each(busy, p99)),
		median(each(calm, p99)), note))
	r.Server, r.Limit = busy, calm
	return r
}
