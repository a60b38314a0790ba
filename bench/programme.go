package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// growing are the answers whose time must not depend on how much a tenant has
// on record.
var growing = []struct{ title, path string }{
	{"safety-kpis, 30 days", "/functions/v1/safety-kpis"},
	{"safety-kpis, 365 days", "/functions/v1/safety-kpis?days=365"},
	{"snapshot-v2", "/functions/v1/get-dashboard-snapshot-v2"},
	{"admin-dashboard-summary", "/functions/v1/admin-dashboard-summary"},
}

// kpis compares the slowest hundredth of requests in a tenant with 10^4
// incidents, shipments and their like in a year with that in one with -events.
func (m *measurement) kpis(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tenants := []data.Tenant{data.Reported(1, 10_000), data.Reported(2, m.events)}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.owner(ctx, t.ID); err != nil {
			return err
		}
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	var auth [2][]string
	for i, t := range tenants {
		token, err := s.token(ctx, t.ID)
		if err != nil {
			return err
		}
		auth[i] = []string{"Authorization: Bearer " + token, "Cache-Control: no-cache"}
	}
	for _, g := range growing {
		var reports [2][]load.Report
		var slow, middle []float64
		for i := range m.rounds {
			for k := range tenants {
				r, err := measure(ctx, m.plan(s, s.server, 1, load.Request{Method: "GET", Path: g.path, Header: auth[k], Status: 200}, i))
				if err != nil {
					return err
				}
				reports[k] = append(reports[k], r)
			}
			slow = append(slow, reports[1][i].P99/reports[0][i].P99)
			middle = append(middle, reports[1][i].P50/reports[0][i].P50)
		}
		p99 := func(r load.Report) float64 { return r.P99 }
		p50 := func(r load.Report) float64 { return r.P50 }
		r := of(fmt.Sprintf("%s, p99 at %d / 10000", g.title, m.events), engine, slow, fmt.Sprintf("p50 %.2f and %.2f ms (ratio %.2f), p99 %.2f and %.2f ms",
			median(each(reports[1], p50)), median(each(reports[0], p50)), median(middle), median(each(reports[1], p99)), median(each(reports[0], p99)))).atMost(2, "")
		r.Server, r.Limit = reports[1], reports[0]
		if err := m.add(r); err != nil {
			return err
		}
	}
	return nil
}

// scores measures the scores of a crowd of workers, and the scan of the shipped
// regulations, against the statements that read the same rows.
func (m *measurement) scores(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := data.Crowd{Tenant: data.Tenant{ID: data.Number(1), Name: "Crowd"}, Workers: max(1000, int(100_000*m.scale)), Events: max(10_000, int(1_000_000*m.scale))}
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := data.WriteCrowd(ctx, d, c, time.Now()); err != nil {
		return err
	}
	if err := seedRules(ctx, d, c.Tenant.ID); err != nil {
		return err
	}
	if err := errors.Join(s.sql(ctx, "vacuum analyze"), s.owner(ctx, c.Tenant.ID)); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, c.Tenant.ID)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		title, path, body string
		hand              func(context.Context) error
	}{
		{fmt.Sprintf("scores of %d workers / one statement", c.Workers), "calculate-predictive-safety-scores", `{"entity_type":"worker"}`, func(ctx context.Context) error {
			n, err := limit.Scores(ctx, d, c.Tenant.ID, 30, time.Now())
			if err == nil && n != c.Workers {
				err = fmt.Errorf("%d rows by hand", n)
			}
			return err
		}},
		{fmt.Sprintf("15 rules over %d workers / their SQL", c.Workers), "check-compliance-rules", `{}`, func(ctx context.Context) error {
			_, err := limit.Compliance(ctx, d, c.Tenant.ID, time.Now())
			return err
		}},
	} {
		if err := m.verb(ctx, s, token, x.title, x.path, x.body, x.hand); err != nil {
			return err
		}
	}
	return m.oneScore(ctx, s, token, c)
}

// verb times a function against statements by hand, in turns, after one call of
// each that does not count: the first scan writes every verdict.
func (m *measurement) verb(ctx context.Context, s *site, token, title, path, body string, hand func(context.Context) error) error {
	timed := func(f func() error) (seconds float64, err error) {
		begin := time.Now()
		err = f()
		return time.Since(begin).Seconds(), err
	}
	call := func() error {
		_, err := s.call(ctx, "POST", "/functions/v1/"+path, token, "application/json", bytes.NewReader([]byte(body)))
		return err
	}
	before, err := load.RSS([]int{s.server.pid()})
	if err := errors.Join(err, load.ForgetPeak(s.server.pid()), call(), hand(ctx)); err != nil {
		return err
	}
	var ratios, product, bare []float64
	for range m.rounds {
		var a float64
		err := m.profiled(ctx, s, title, func() (err error) {
			a, err = timed(call)
			return err
		})
		if err != nil {
			return err
		}
		b, err := timed(func() error { return hand(ctx) })
		if err != nil {
			return err
		}
		ratios, product, bare = append(ratios, a/b), append(product, a), append(bare, b)
	}
	note := fmt.Sprintf("%.2f s against %.2f s; memory %d MB, at most %d MB more", median(product), median(bare), before>>20, (load.Peak(s.server.pid())-before)>>20)
	return m.add(of(title, s.engine, ratios, note).atMost(3, ""))
}

// profiled runs f, under the profiler if asked to.
func (m *measurement) profiled(ctx context.Context, s *site, title string, f func() error) error {
	if m.profile == "" {
		return f()
	}
	return s.server.record(ctx, filepath.Join(m.profile, fileName(title+" "+s.engine)), m.seconds, f)
}

// oneScore measures the score of one worker at a time.
func (m *measurement) oneScore(ctx context.Context, s *site, token string, c data.Crowd) error {
	id := data.WorkerID(0)
	body := `{"entity_type":"worker","entity_id":"` + id[:len(id)-6] + fmt.Sprintf(`{rand:100000-%d}"}`, 100_000+min(c.Workers, 890_000)-1)
	var p99, p50 []float64
	for i := range m.rounds {
		r, err := m.product(ctx, s, "one score", m.plan(s, s.server, 1, load.Request{Method: "POST", Path: "/functions/v1/calculate-predictive-safety-scores", Body: body,
			Header: []string{"Authorization: Bearer " + token, "Content-Type: application/json"}, Status: 200}, i))
		if err != nil {
			return err
		}
		p99, p50 = append(p99, r.P99), append(p50, r.P50)
	}
	return m.add(of("one score, p99", s.engine, p99, fmt.Sprintf("ms; p50 %.2f", median(p50))).atMost(3, " ms"))
}

// seedRules gives a tenant the shipped regulations.
func seedRules(ctx context.Context, d *db.DB, tenant string) error {
	st := store.New(d, catalog.Default(), store.Effects{}, time.Now)
	return d.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error { return safety.SeedRegulations(tx, st, tenant) })
}
