package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
)

// Cases in the order they run. Those of the first group share one database
// per engine.
var (
	shared = []string{"hit", "miss", "list", "read", "insert", "bulk"}
	alone  = []string{"start", "xlsx", "limiter", "flat", "vast", "kpis", "scores", "tenants", "webhooks", "greedy",
		"fleet", "import", "killed", "neighbour", "backup", "shipping", "silence", "walk", "handheld", "allocation",
		"release", "crowded"}
)

func caseNames() []string {
	return append(append(append([]string{}, alone[:1]...), append(shared, alone[1:]...)...), people...)
}

// measurement is what cases work with.
type measurement struct {
	options
	*table
	want []string
}

func (m *measurement) wants(name string) bool { return slices.Contains(m.want, name) }

func run(ctx context.Context, o options) (failed int, err error) {
	m := &measurement{options: o, want: strings.Split(o.cases, ",")}
	if o.cases == "all" {
		m.want = caseNames()
	}
	for _, name := range m.want {
		if !slices.Contains(caseNames(), name) {
			return 0, fmt.Errorf("no case %q; there are %s", name, strings.Join(caseNames(), ", "))
		}
	}
	engines := []string{"sqlite", "postgresql"}
	if o.engine != "both" {
		if !slices.Contains(engines, o.engine) {
			return 0, fmt.Errorf("no engine %q", o.engine)
		}
		engines = []string{o.engine}
	}
	if _, err := os.Stat(o.server); err != nil {
		return 0, fmt.Errorf("%w; build it with make build", err)
	}
	if m.table, err = newTable(o.json); err != nil {
		return 0, err
	}
	if m.wants("start") {
		if err := errors.Join(m.binary(), m.start(ctx)); err != nil {
			return 0, fmt.Errorf("start: %w", err)
		}
	}
	if m.wants("xlsx") {
		if err := m.xlsx(ctx); err != nil {
			return m.failed, fmt.Errorf("xlsx: %w", err)
		}
	}
	if m.wants("limiter") {
		if err := m.limiter(ctx); err != nil {
			return m.failed, fmt.Errorf("limiter: %w", err)
		}
	}
	if m.wants("walk") {
		if err := m.walk(); err != nil {
			return m.failed, fmt.Errorf("walk: %w", err)
		}
	}
	for _, e := range engines {
		if err := m.onEngine(ctx, e); err != nil {
			return m.failed, fmt.Errorf("%s: %w", e, err)
		}
	}
	return m.failed, nil
}

func (m *measurement) onEngine(ctx context.Context, engine string) error {
	if slices.ContainsFunc(shared, m.wants) {
		if err := m.sharedCases(ctx, engine); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(people, m.wants) {
		if err := m.peopleCases(ctx, engine); err != nil {
			return err
		}
	}
	if m.wants("flat") {
		if err := m.flat(ctx, engine); err != nil {
			return fmt.Errorf("flat: %w", err)
		}
	}
	if m.wants("vast") {
		if err := vast(ctx, m, engine); err != nil {
			return fmt.Errorf("vast: %w", err)
		}
	}
	if m.wants("kpis") {
		if err := m.kpis(ctx, engine); err != nil {
			return fmt.Errorf("kpis: %w", err)
		}
	}
	if m.wants("scores") {
		if err := m.scores(ctx, engine); err != nil {
			return fmt.Errorf("scores: %w", err)
		}
	}
	if m.wants("tenants") {
		if err := m.manyTenants(ctx, engine); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if m.wants("webhooks") {
		if err := m.webhooks(ctx, engine); err != nil {
			return fmt.Errorf("webhooks: %w", err)
		}
	}
	if m.wants("handheld") {
		if err := m.handheld(ctx, engine); err != nil {
			return fmt.Errorf("handheld: %w", err)
		}
	}
	if m.wants("allocation") {
		if err := m.allocation(ctx, engine); err != nil {
			return fmt.Errorf("allocation: %w", err)
		}
	}
	if m.wants("release") {
		if err := measureRelease(ctx, m, engine); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	if m.wants("crowded") {
		if err := m.crowded(ctx, engine); err != nil {
			return fmt.Errorf("crowded: %w", err)
		}
	}
	if m.wants("greedy") {
		if err := m.greedy(ctx, engine); err != nil {
			return fmt.Errorf("greedy: %w", err)
		}
	}
	if m.wants("fleet") && engine == "postgresql" { // nodes have no other database in common
		if err := m.fleet(ctx, engine); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	if m.wants("xlsx") {
		if err := m.staged(ctx, engine); err != nil {
			return fmt.Errorf("xlsx: %w", err)
		}
	}
	if m.wants("import") {
		if err := m.imports(ctx, engine); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	if m.wants("killed") {
		if err := m.killed(ctx, engine); err != nil {
			return fmt.Errorf("killed: %w", err)
		}
	}
	if m.wants("backup") {
		if err := m.backups(ctx, engine); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	if m.wants("shipping") && engine == "sqlite" { // PostgreSQL has its own
		if err := m.shipping(ctx); err != nil {
			return fmt.Errorf("shipping: %w", err)
		}
	}
	if m.wants("silence") {
		if err := m.silence(ctx, engine); err != nil {
			return fmt.Errorf("silence: %w", err)
		}
	}
	if m.wants("neighbour") {
		if err := m.neighbour(ctx, engine); err != nil {
			return fmt.Errorf("neighbour: %w", err)
		}
	}
	return nil
}

// binary tells the size of the program.
func (m *measurement) binary() error {
	f, err := os.Stat(m.server)
	if err != nil {
		return err
	}
	return m.add(of("size of the program", "", []float64{float64(f.Size()) / 1e6}, "MB").atMost(52, " MB"))
}

// start measures the way from the command to the first 200, and memory at
// rest.
func (m *measurement) start(ctx context.Context) error {
	for _, c := range []struct {
		name  string
		flags []string
		goal  float64
		rest  float64
	}{{"start-up, empty directory", nil, 0.12, 40}, {"start-up, demo data", []string{"--demo"}, 4, 80}} {
		var took, rest []float64
		for range m.rounds {
			t, r, err := m.startOnce(ctx, c.flags)
			if err != nil {
				return err
			}
			took, rest = append(took, t), append(rest, r)
		}
		if err := m.add(of(c.name, "sqlite", took, "seconds to the first 200").atMost(c.goal, " s")); err != nil {
			return err
		}
		idle := of("memory at rest", "sqlite", rest, "MB, 5 s after the start"+strings.Join(c.flags, "")).atMost(c.rest,
			" MB")
		if err := m.add(idle); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) startOnce(ctx context.Context, flags []string) (seconds, mb float64, err error) {
	dir, err := os.MkdirTemp(m.dir, "holdfast-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	p, err := m.serve(ctx, dir, "", flags...)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(5 * time.Second)
	rss, err := load.RSS([]int{p.pid()})
	return p.took.Seconds(), float64(rss) / (1 << 20), errors.Join(err, p.stop())
}

// The functions' and collections' addresses.
const (
	snapshotPath = "/functions/v1/get-dashboard-snapshot-v2?pageSize=%d"
	listPath     = "/rest/v1/orders?select=" + limit.OrderColumns + "&status=eq.confirmed&limit=50"
	missPath     = "/functions/v1/get-dashboard-snapshot-v2?pageSize={carry}"
	summaryPath  = "/functions/v1/admin-dashboard-summary"
	insertBody   = `{"type":"outbound","priority":{rand:1-5},"party_name":"Customer {i}","carrier":"OWN"}`
)

// pageSizes are those that the connections of a miss ask for, 50 in the mean.
// Those who ask past the cache for one answer at once share its making: with a
// key each they do not, and every answer that is counted was made.
var pageSizes = []string{"46", "47", "48", "49", "51", "52", "53", "54"}

func (m *measurement) sharedCases(ctx context.Context, engine string) (err error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var tenants []data.Tenant
	for n := range m.tenants {
		tenants = append(tenants, data.Standard(n+1, m.scale))
	}
	if err := s.fill(ctx, tenants...); err != nil {
		return err
	}
	tenant := tenants[0].ID
	if err := s.owner(ctx, tenant); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	token, err := s.token(ctx, tenant)
	if err != nil {
		return err
	}
	size, body, err := m.page(ctx, s, token)
	if err != nil {
		return err
	}
	if err := s.startLimit(ctx, tenant, body); err != nil {
		return err
	}
	some, err := s.sample(ctx, token, 8)
	if err != nil {
		return err
	}
	deep := min(1500, tenants[0].Orders/10*3/4) // one order in ten is in the state that is listed
	for _, c := range comparisons(token, size, body, some, deep) {
		goal := c.goal(engine)
		if !m.wants(c.name) || goal == 0 && m.engine == "both" {
			continue
		}
		r, err := m.compared(ctx, s, c)
		if err != nil {
			return err
		}
		if goal > 0 {
			r.atLeast(goal, "")
		}
		if err := m.add(r); err != nil {
			return err
		}
	}
	return nil
}

// page finds the page size whose answer is nearest to 48.8 kB, and its bytes.
func (m *measurement) page(ctx context.Context, s *site, token string) (size int, body []byte, err error) {
	const want = 48_800
	for n := 5; n <= 200; n += 3 {
		b, err := s.call(ctx, "GET", fmt.Sprintf(snapshotPath, n), token, "", nil)
		if err != nil {
			return 0, nil, err
		}
		if body == nil || math.Abs(float64(len(b)-want)) < math.Abs(float64(len(body)-want)) {
			size, body = n, b
		}
		if len(b) > want {
			break
		}
	}
	return size, body, nil
}

// product runs the driver against the product, under the profiler if asked to.
func (m *measurement) product(ctx context.Context, s *site, title string, p load.Plan) (r load.Report, err error) {
	if m.profile == "" {
		return measure(ctx, p)
	}
	err = s.server.record(ctx, filepath.Join(m.profile, fileName(title+" "+s.engine)), m.seconds, func() error {
		r, err = measure(ctx, p)
		return err
	})
	return r, err
}

// fileName is a title as the name of its profile.
func fileName(title string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.TrimSpace(title)) + ".pprof"
}

func (m *measurement) plan(s *site, p *process, conns int, r load.Request, round int) load.Plan {
	warm := 300 * time.Millisecond
	if round == 0 {
		warm = time.Second
	}
	l := load.Plan{Address: p.address, Conns: conns, Time: time.Duration(m.seconds * float64(time.Second)), Warm: warm,
		PIDs: append([]int{p.pid()}, s.pids...), Request: r}
	if strings.Contains(r.Path, "{carry}") {
		l.Seeds = pageSizes
	}
	return l
}

// flat compares misses in a tenant of 10^4 records with those in a tenant of
// 10^6 (times the scale), and the summary's in one of 10^4 and one of 10^6 items.
func (m *measurement) flat(ctx context.Context, engine string) (err error) {
	many := max(20_000, int(1_000_000*m.scale))
	tenants := []data.Tenant{data.Sized(1, 10_000), data.Sized(2, many), data.Stocked(3, 10_000), data.Stocked(4, many)}
	s, err := openedSite(ctx, m.options, engine, tenants...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	miss := fmt.Sprintf("miss, CPU at %d / at %d records", tenants[1].Rows(), tenants[0].Rows())
	if err := m.grown(ctx, s, miss, 8, missPath, 1.5, tenants[0], tenants[1]); err != nil {
		return err
	}
	byTime := fmt.Sprintf("list by created_at, CPU at %d / at %d orders", tenants[1].Orders, tenants[0].Orders)
	if err := m.grown(ctx, s, byTime, 8, listPath+"&order=created_at.desc", 1.3, tenants[0], tenants[1]); err != nil {
		return err
	}
	if err := m.room(ctx, s, tenants[2], tenants[3]); err != nil {
		return err
	}
	summary := fmt.Sprintf("summary, CPU at %d / at %d items", tenants[3].Items, tenants[2].Items)
	return m.grown(ctx, s, summary, 1, summaryPath, 1.3, tenants[2], tenants[3]) // it has one key: one at a time
}

// room compares the server's peak memory while the summary is asked for in a
// large tenant, its first look at the inventory included, with that in a small one.
func (m *measurement) room(ctx context.Context, s *site, tenants ...data.Tenant) error {
	var peaks []float64
	for _, t := range tenants {
		token, err := s.token(ctx, t.ID)
		if err != nil {
			return err
		}
		if err := load.ForgetPeak(s.server.pid()); err != nil {
			return err
		}
		if _, err := measure(ctx, m.plan(s, s.server, 1, uncached(summaryPath, token), 0)); err != nil {
			return err
		}
		peaks = append(peaks, float64(load.Peak(s.server.pid()))/(1<<20))
	}
	return m.add(of("summary, peak memory, large / small", s.engine, []float64{peaks[1] / peaks[0]},
		fmt.Sprintf("%.0f and %.0f MB of the server", peaks[1], peaks[0])).atMost(1.3, ""))
}

// uncached asks for an answer that is made for it.
func uncached(path, token string) load.Request {
	return load.Request{Method: "GET", Path: path, Header: []string{"Authorization: Bearer " + token,
		"Cache-Control: no-cache"}, Status: 200}
}

// grown compares what a request costs in a small tenant and in a large one.
func (m *measurement) grown(
	ctx context.Context, s *site, title string, conns int, path string, goal float64, tenants ...data.Tenant,
) error {
	var requests []load.Request
	for _, t := range tenants {
		token, err := s.token(ctx, t.ID)
		if err != nil {
			return err
		}
		requests = append(requests, uncached(path, token))
	}
	var ratios []float64
	var a, b []load.Report
	for i := range m.rounds {
		ra, err := m.product(ctx, s, title+" small", m.plan(s, s.server, conns, requests[0], i))
		if err != nil {
			return err
		}
		rb, err := m.product(ctx, s, title+" large", m.plan(s, s.server, conns, requests[1], i))
		if err != nil {
			return err
		}
		a, b = append(a, ra), append(b, rb)
		ratios = append(ratios, ra.PerCPU/rb.PerCPU)
	}
	memory := median(each(b, func(r load.Report) float64 { return float64(r.RSS) })) / (1 << 20)
	r := of(title, s.engine, ratios, fmt.Sprintf("%.0f req/CPUs small, %.0f large; p99 %.1f, %.1f ms; server %.0f MB",
		median(each(a, perCPU)), median(each(b, perCPU)), median(each(a, slowest)), median(each(b, slowest)),
		memory)).atMost(goal, "")
	r.Server, r.Limit = b, a
	return m.add(r)
}
