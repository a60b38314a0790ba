package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/load"
	"holdfast/internal/db"
)

// shipping compares inserts at a server that ships its log with those at one
// that does not, on the same generated records: how long 200 a second wait, and
// what 32 clients who do not pause cost.
func (m *measurement) shipping(ctx context.Context) (err error) {
	tenant := data.Sized(1, int(134_000*m.scale))
	var requests [2]load.Request
	var sites [2]*site
	for i := range sites {
		s, err := newSite(ctx, m.options, "sqlite")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		if err := errors.Join(s.fill(ctx, tenant), s.owner(ctx, tenant.ID)); err != nil {
			return err
		}
		var flags []string
		if i == 1 {
			shelf := filepath.Join(s.dir, "backups")
			flags = []string{"--backup-to", shelf, "--backup-log", "--backup-passphrase", password}
		}
		if s.server, err = m.serve(ctx, s.dir, "", flags...); err != nil {
			return err
		}
		token, err := s.token(ctx, tenant.ID)
		if err != nil {
			return err
		}
		requests[i] = load.Request{Method: "POST", Path: "/v1/orders", Body: insertBody, Status: 201,
			Header: []string{"Authorization: Bearer " + token, "Content-Type: application/json"}}
		sites[i] = s
	}
	if err := sites[1].shipped(ctx); err != nil {
		return err
	}
	var paced, full [2][]load.Report
	for round := range m.rounds {
		for i, s := range sites {
			p := m.plan(s, s.server, besideConns, requests[i], round)
			p.Every = besideEvery
			r, err := measure(ctx, p)
			if err != nil {
				return err
			}
			paced[i] = append(paced[i], r)
		}
		for i, s := range sites {
			r, err := measure(ctx, m.plan(s, s.server, 32, requests[i], round))
			if err != nil {
				return err
			}
			full[i] = append(full[i], r)
		}
	}
	p50 := func(r load.Report) float64 { return r.P50 }
	note := fmt.Sprintf("medians %.2f and %.2f ms", median(each(paced[1], p50)), median(each(paced[0], p50)))
	if err := m.add(slower("p99 of inserts, log shipped", "sqlite", paced[0], paced[1], note).atMost(1.1,
		"")); err != nil {
		return err
	}
	return m.add(compare("insert, 32 clients, log shipped", "sqlite", full[1], full[0]))
}

// shipped waits until the log goes to where the backups are, after the first one.
func (s *site) shipped(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
		var state struct {
			Bases []json.RawMessage `json:"bases"` // backups that the log goes on from
		}
		text, err := os.ReadFile(filepath.Join(s.dir, db.ShippedName))
		if err == nil && json.Unmarshal(text, &state) == nil && len(state.Bases) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the log is not shipped\n%s", s.server.said())
}
