package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/internal/actor"
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
	tenants := []data.Tenant{data.Reported(1, 10_000), data.Reported(2, m.events)}
	s, err := openedSite(ctx, m.options, engine, tenants...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var auth [2][]string
	for i, t := range tenants {
		token, err := s.token(ctx, t.ID)
		if err != nil {
			return err
		}
		auth[i] = []string{"Authorization: Bearer " + token, "Cache-Control: no-cache"}
	}
	for _, g := range growing {
		if err := m.growth(ctx, s, g.title, func(k int) load.Request {
			return load.Request{Method: "GET", Path: g.path, Header: auth[k], Status: 200}
		}); err != nil {
			return err
		}
	}
	return nil
}

// growth compares a request to the small tenant (0) with the same to the large
// one (1), sent in turn.
func (m *measurement) growth(ctx context.Context, s *site, title string, request func(tenant int) load.Request) error {
	var small, large []load.Report
	var slow, middle []float64 // of the slowest hundredth, of the median
	for i := range m.rounds {
		p := m.plan(s, s.server, 1, request(0), i)
		p.Turns = []load.Request{request(1)}
		r, err := m.product(ctx, s, title, p)
		if err != nil {
			return err
		}
		small, large = append(small, r), append(large, r.Turns[0])
		slow, middle = append(slow, large[i].P99/small[i].P99), append(middle, large[i].P50/small[i].P50)
	}
	p99 := func(r load.Report) float64 { return r.P99 }
	p50 := func(r load.Report) float64 { return r.P50 }
	r := of(fmt.Sprintf("%s, p99 at %d / 10000", title, m.events), s.engine, slow,
		fmt.Sprintf("p50 %.2f and %.2f ms (ratio %.2f), p99 %.2f and %.2f ms",
			median(each(large, p50)), median(each(small, p50)), median(middle), median(each(large, p99)),
			median(each(small, p99)))).atMost(2, "")
	r.Server, r.Limit = large, small
	return errors.Join(m.add(r), m.add(of("  its median", s.engine, middle, "").atMost(1.5, "")))
}

// verb is a function of the safety programme and statements by hand that read
// what it reads.
type verb struct {
	title, path, body string
	hand              func(context.Context) error
}

// scores measures the scores of a crowd of workers, and the scan of the shipped
// regulations, against the statements that read the same rows.
func (m *measurement) scores(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := data.Crowd{Tenant: data.Tenant{ID: data.Number(1), Name: "Crowd"}, Workers: max(1000, int(100_000*m.scale)),
		Events: max(10_000, int(1_000_000*m.scale))}
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	to, leave, err := s.target(ctx, d)
	if err != nil {
		return err
	}
	defer leave()
	if err := data.WriteCrowd(ctx, to, c, time.Now()); err != nil {
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
	idle := load.Resident(s.server.pid())
	for _, v := range []verb{
		{fmt.Sprintf("scores of %d workers / one statement", c.Workers), "calculate-predictive-safety-scores",
			`{"entity_type":"worker"}`, func(ctx context.Context) error {
				n, err := limit.Scores(ctx, d, c.Tenant.ID, 30, time.Now())
				if err == nil && n != c.Workers {
					err = fmt.Errorf("%d rows by hand", n)
				}
				return err
			}},
		{fmt.Sprintf("15 rules over %d workers / their SQL", c.Workers), "check-compliance-rules", `{}`,
			func(ctx context.Context) error {
				_, err := limit.Compliance(ctx, d, c.Tenant.ID, time.Now())
				return err
			}},
	} {
		if err := m.verb(ctx, s, idle, token, v); err != nil {
			return err
		}
	}
	return m.oneScore(ctx, s, token, c)
}

// cost is what a piece of work took.
type cost struct{ cpu, wall float64 }

// costOf is the CPU-seconds of process trees, or of this process where there are
// none of a server, and the time that f takes.
func (s *site) costOf(server []int, f func() error) (cost, error) {
	now := func() (float64, error) {
		sum, err := load.CPU(append(slices.Clone(server), s.pids...))
		if len(server) == 0 {
			sum += spent()
		}
		return sum, err
	}
	begin := time.Now()
	before, err := now()
	if err == nil {
		err = f()
	}
	after, late := now()
	return cost{after - before, time.Since(begin).Seconds()}, errors.Join(err, late)
}

// verb compares the CPU of a function, with its database, to that of statements
// by hand, in turns, after one call of each that does not count: the first scan
// writes every verdict. idle is the server's memory before it had worked.
func (m *measurement) verb(ctx context.Context, s *site, idle int64, token string, v verb) error {
	call := func() error {
		_, err := s.call(ctx, "POST", "/functions/v1/"+v.path, token, "application/json", strings.NewReader(v.body))
		return err
	}
	if err := errors.Join(load.ForgetPeak(s.server.pid()), call(), v.hand(ctx)); err != nil {
		return err
	}
	var ratios, product, bare, took, bareTook []float64
	for range m.rounds {
		var a cost
		err := m.profiled(ctx, s, v.title, func() (err error) {
			a, err = s.costOf([]int{s.server.pid()}, call)
			return err
		})
		if err != nil {
			return err
		}
		b, err := s.costOf(nil, func() error { return v.hand(ctx) })
		if err != nil {
			return err
		}
		ratios, product, bare = append(ratios, a.cpu/b.cpu), append(product, a.cpu), append(bare, b.cpu)
		took, bareTook = append(took, a.wall), append(bareTook, b.wall)
	}
	note := fmt.Sprintf("%.2f against %.2f CPU-s, %.2f against %.2f s", median(product), median(bare), median(took),
		median(bareTook))
	if err := m.add(of(v.title, s.engine, ratios, note).atMost(3, "")); err != nil {
		return err
	}
	more := float64(load.Peak(s.server.pid())-idle) / (1 << 20)
	note = fmt.Sprintf("beyond the %d MB before any work", idle>>20)
	return m.add(of("memory of "+v.path, s.engine, []float64{more}, note).atMost(200, " MB"))
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
	body := `{"entity_type":"worker","entity_id":"` + id[:len(id)-6] +
		fmt.Sprintf(`{rand:100000-%d}"}`, 100_000+min(c.Workers, 890_000)-1)
	var p99, p50 []float64
	for i := range m.rounds {
		r, err := m.product(ctx, s, "one score",
			m.plan(s, s.server, 1, load.Request{Method: "POST", Path: "/functions/v1/calculate-predictive-safety-scores",
				Body: body, Header: []string{"Authorization: Bearer " + token, "Content-Type: application/json"}, Status: 200}, i))
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
	return d.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		return safety.SeedRegulations(st.In(tx, actor.Actor{TenantID: tenant}))
	})
}
