package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/bench/load"
)

// A crowd of pickers wants the same few items.
const (
	pickers   = 200
	wanted    = 20
	plentiful = 1_000_000 // of each, in one bin
	scarce    = 10
)

// crowded lets 200 clients confirm, release and pick orders of one of the same 20
// items, and then ask for more of 20 others than there is: nothing fails, nothing
// is promised twice, and ledger, levels and promises agree. What a program by hand
// would reach with the same statements is bounded by what these cost alone: the
// engine's and its driver's share of the CPU.
func (m *measurement) crowded(ctx context.Context, engine string) (err error) {
	if m.profile == "" {
		profiled := *m
		if profiled.profile, err = os.MkdirTemp(m.dir, "holdfast-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(profiled.profile)
		m = &profiled
	}
	s, err := m.tenantOf(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx); err != nil {
		return err
	}
	f, err := m.floor(ctx, s, importer)
	if err != nil {
		return err
	}
	if err := m.picking(ctx, f); err != nil {
		return err
	}
	if err := m.promising(ctx, f); err != nil {
		return err
	}
	if err := s.server.stop(); err != nil {
		return err
	}
	s.server = nil
	wrong := 0.0
	if err := s.o.tool(ctx, s.dir, s.url, "verify"); err != nil {
		fmt.Println(err)
		wrong = 1
	}
	return m.add(of("  ledger, levels or promises differ", engine, []float64{wrong}, "holdfast verify").atMost(0, ""))
}

// floor is the part of a warehouse that the crowd works in.
type floor struct {
	s      *site
	d      *desk
	client *http.Client
	lane   string
	items  []string // in plenty, then scarce
}

// floor makes the items, each in a bin of its own, and the lane.
func (m *measurement) floor(ctx context.Context, s *site, tenant string) (*floor, error) {
	token, err := s.token(ctx, tenant)
	if err != nil {
		return nil, err
	}
	f := &floor{s: s, d: &desk{token: token}, lane: uuid.NewString(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: pickers, MaxConnsPerHost: pickers}}}
	zones := []map[string]any{{"id": f.lane, "code": "CROWD-LANE", "name": "Lane", "kind": "staging"}}
	var items, moves []map[string]any
	for i := range 2 * wanted {
		item, zone, q := uuid.NewString(), uuid.NewString(), plentiful
		if i >= wanted {
			q = scarce
		}
		f.items = append(f.items, item)
		zones = append(zones, map[string]any{"id": zone, "code": fmt.Sprintf("CROWD-%02d", i), "name": "Bin", "kind": "bin"})
		items = append(items, map[string]any{"id": item, "sku": fmt.Sprintf("CROWD-%02d", i), "name": "Wanted"})
		moves = append(moves, map[string]any{"type": "opening", "item_id": item, "to_zone_id": zone, "quantity": q})
	}
	return f, errors.Join(f.d.post(ctx, s, "zones", zones), f.d.post(ctx, s, "items", items),
		f.d.post(ctx, s, "stock_movements", moves))
}

// drafts makes n orders of one of each of some items in turn.
func (f *floor) drafts(ctx context.Context, n int, items []string) (ids []string, err error) {
	for len(ids) < n && err == nil {
		var orders, lines []map[string]any
		for range min(1000, n-len(ids)) {
			id := uuid.NewString()
			orders = append(orders, map[string]any{"id": id, "party_name": "Customer"})
			lines = append(lines, map[string]any{"order_id": id, "line_no": 1, "item_id": items[len(ids)%len(items)],
				"qty_ordered": 1})
			ids = append(ids, id)
		}
		err = errors.Join(f.d.post(ctx, f.s, "orders", orders), f.d.post(ctx, f.s, "order_lines", lines))
	}
	return ids, err
}

// tally is what a crowd's work came to.
type tally struct {
	sync.Mutex
	took  []float64 // milliseconds, of each order
	wrong []string  // answers that are not 200
}

func (t *tally) add(ms float64, wrong string) {
	t.Lock()
	defer t.Unlock()
	if wrong != "" {
		t.wrong = append(t.wrong, wrong)
		return
	}
	t.took = append(t.took, ms)
}

// crowd lets all clients work off orders until they are done or the time is over.
func (f *floor) crowd(
	ctx context.Context, orders []string, d time.Duration, work func(ctx context.Context, order string) error,
) *tally {
	queue := make(chan string, len(orders))
	for _, id := range orders {
		queue <- id
	}
	close(queue)
	t := &tally{}
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for range pickers {
		wg.Go(func() {
			for id := range queue {
				if time.Now().After(end) {
					return
				}
				begin := time.Now()
				err := work(ctx, id)
				wrong := ""
				if err != nil {
					wrong = err.Error()
				}
				t.add(float64(time.Since(begin))/float64(time.Millisecond), wrong)
			}
		})
	}
	wg.Wait()
	return t
}

// say calls a verb over one of the crowd's connections.
func (f *floor) say(ctx context.Context, verb string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+f.s.server.address+"/v1/rpc/"+verb,
		strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+f.d.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %.200s", verb, res.Status, raw)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}

// pick confirms an order, releases its pick and picks it.
func (f *floor) pick(ctx context.Context, order string) error {
	if err := f.say(ctx, "confirm_order", map[string]any{"order_id": order}, nil); err != nil {
		return err
	}
	var released struct{ Lines []struct{ ID string } }
	if err := f.say(ctx, "release_picks", map[string]any{"order_ids": []string{order}}, &released); err != nil {
		return err
	}
	if len(released.Lines) != 1 {
		return fmt.Errorf("%d lines of a pick list, not one", len(released.Lines))
	}
	return f.say(ctx, "pick_line", map[string]any{"pick_line_id": released.Lines[0].ID, "quantity": 1,
		"to_zone_id": f.lane}, nil)
}

// picking measures the crowd on what there is plenty of, for twenty times
// -seconds (a minute).
func (m *measurement) picking(ctx context.Context, f *floor) error {
	d := 20 * time.Duration(m.seconds*float64(time.Second))
	orders, err := f.drafts(ctx, int(d.Seconds()*400), f.items[:wanted])
	if err != nil {
		return err
	}
	if err := f.s.sql(ctx, "vacuum analyze"); err != nil { // what autovacuum does for a tenant older than a minute
		return err
	}
	var t *tally
	begin, profile := time.Now(), filepath.Join(m.profile, fileName("crowded "+f.s.engine))
	server, all, err := f.spent(func() error {
		return f.s.server.record(ctx, profile, d.Seconds(), func() error {
			t = f.crowd(ctx, orders, d, f.pick)
			return nil
		})
	})
	seconds := time.Since(begin).Seconds()
	if err != nil || len(t.took) == 0 {
		return fmt.Errorf("nothing is picked: %.500q %w", t.wrong, err)
	}
	slices.Sort(t.took)
	note := fmt.Sprintf("%.0f a second; p50 %.0f, p99 %.0f ms of three requests, in %.0f s", float64(len(t.took))/seconds,
		median(t.took), t.took[len(t.took)*99/100], seconds)
	if err := m.add(of(fmt.Sprintf("orders of %d clients, picked per CPUs", pickers), f.s.engine,
		[]float64{float64(len(t.took)) / all}, note)); err != nil {
		return err
	}
	share, who := 1-server/all, "PostgreSQL"
	if f.s.engine == "sqlite" {
		who = "SQLite and its driver"
		if share, err = within(ctx, profile, `modernc\.org/sqlite`); err != nil {
			return err
		}
	}
	if err := m.add(of("  of the same statements by hand, at least", f.s.engine, []float64{share}, "of the CPU is "+
		who).atLeast(0.6, "")); err != nil {
		return err
	}
	return m.add(t.failures(f.s.engine))
}

// failures are the answers that are not 200, but for those that tell a client to
// come again since every connection to the database is busy.
func (t *tally) failures(engine string) *result {
	failed := slices.DeleteFunc(slices.Clone(t.wrong), func(s string) bool {
		return strings.Contains(s, `"code":"53300"`)
	})
	note := fmt.Sprintf("%d asked to come again", len(t.wrong)-len(failed))
	if len(failed) > 0 {
		note += "; " + failed[0]
	}
	return of("  failed, deadlocks included", engine, []float64{float64(len(failed))}, note).atMost(0, "")
}

// spent is the CPU-seconds that the server and, with PostgreSQL, all of it use
// while work runs.
func (f *floor) spent(work func() error) (server, all float64, err error) {
	own := []int{f.s.server.pid()}
	var was [2]float64
	for i, roots := range [][]int{own, append(own, f.s.pids...)} {
		if was[i], err = load.CPU(roots); err != nil {
			return 0, 0, err
		}
	}
	if err := work(); err != nil {
		return 0, 0, err
	}
	if server, err = load.CPU(own); err != nil {
		return 0, 0, err
	}
	all, err = load.CPU(append(own, f.s.pids...))
	return server - was[0], all - was[1], err
}

var accounted = regexp.MustCompile(`accounting for [^,]+, ([0-9.]+)% of`)

// within is the share of a CPU profile that lies in and below the functions of a
// package.
func within(ctx context.Context, profile, functions string) (float64, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodefraction=0", "-focus="+functions,
		profile).Output()
	found := accounted.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, fmt.Errorf("go tool pprof of %s: %w: %.200s", profile, err, out)
	}
	percent, err := strconv.ParseFloat(string(found[1]), 64)
	return percent / 100, err
}

// promising lets the crowd confirm twice as many orders as can be promised.
func (m *measurement) promising(ctx context.Context, f *floor) error {
	orders, err := f.drafts(ctx, 2*wanted*scarce, f.items[wanted:])
	if err != nil {
		return err
	}
	t := f.crowd(ctx, orders, time.Hour, func(ctx context.Context, order string) error {
		return f.say(ctx, "confirm_order", map[string]any{"order_id": order}, nil)
	})
	if len(t.wrong) > 0 {
		return fmt.Errorf("%d of %d orders are not confirmed: %s", len(t.wrong), len(orders), t.wrong[0])
	}
	raw, err := f.s.call(ctx, "GET", "/v1/stock_levels?select=quantity,reserved&item_id=in.("+
		strings.Join(f.items[wanted:], ",")+")", f.d.token, "", nil)
	if err != nil {
		return err
	}
	var levels []struct{ Quantity, Reserved float64 }
	if err := json.Unmarshal(raw, &levels); err != nil {
		return err
	}
	off := 0.0
	for _, l := range levels {
		off += max(l.Reserved-scarce, scarce-l.Reserved)
	}
	return m.add(of("  promised beyond or below the stock", f.s.engine, []float64{off + float64(wanted-len(levels))},
		fmt.Sprintf("pieces; %d orders of one over %d items of %d", len(orders), wanted, scarce)).atMost(0, ""))
}
