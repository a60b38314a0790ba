package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/bench/data"
	"holdfast/bench/limit"
	"holdfast/bench/load"
	"holdfast/internal/db"
)

// What the case tenants compares: nodes with few tenants and with many (times
// -scale), and what each of so many clients holds of the latter's memory.
const (
	fewTenants  = 100
	manyTenants = 10_000
	holders     = 1000
)

// estate is a node with tenants of one size, all of them one person's.
type estate struct {
	*site
	tenants []string
	headers []string // "Authorization: Bearer ...", one for each tenant
}

// manyTenants compares a node with 10,000 tenants (times the scale) to one with
// 100 of the same size: its start, what answers to tenants chosen at random cost,
// and what it keeps in memory for a tenant, a connection and a stream.
func (m *measurement) manyTenants(ctx context.Context, engine string) (err error) {
	var estates [2]*estate
	for i, n := range []int{fewTenants, max(2*fewTenants, int(manyTenants*m.scale))} {
		e, err := m.settle(ctx, engine, n)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.close()) }()
		estates[i] = e
	}
	few, many := estates[0], estates[1]
	if err := m.add(of(fmt.Sprintf("start with %d tenants", len(many.tenants)), engine,
		[]float64{many.server.took.Seconds()},
		fmt.Sprintf("seconds to the first 200; %.2f with %d", few.server.took.Seconds(), len(few.tenants)))); err != nil {
		return err
	}
	if err := m.heldFor(ctx, many, "a tenant visited", len(many.tenants), many.visit); err != nil {
		return err
	}
	if err := few.visit(ctx); err != nil {
		return err
	}
	for _, c := range []struct{ title, path string }{
		{"list", "/rest/v1/orders?select=" + limit.OrderColumns + "&order=created_at.desc&limit=50"},
		{"miss", fmt.Sprintf(snapshotPath, 50)},
	} {
		if err := m.spread(ctx, few, many, c.title, c.path); err != nil {
			return err
		}
	}
	var held connections
	defer held.close()
	if err := m.heldFor(ctx, many, "an idle connection", holders, func(ctx context.Context) error {
		return held.open(ctx, many, "/v1/zones?limit=1", false)
	}); err != nil {
		return err
	}
	held.close()
	return m.heldFor(ctx, many, "a stream of events", holders, func(ctx context.Context) error {
		return held.open(ctx, many, "/v1/events", true)
	})
}

// settle makes a database of n tenants and starts a node on it that has seen none
// of them.
func (m *measurement) settle(ctx context.Context, engine string, n int) (*estate, error) {
	s, err := newSite(ctx, m.options, engine)
	if err != nil {
		return nil, err
	}
	s.o.admin = true
	e := &estate{site: s}
	err = e.people(ctx, n, m.each)
	if err == nil {
		err = e.mint(ctx)
	}
	if err == nil {
		err = e.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return e, nil
}

// start starts the node under a name that stays: tokens outlive it.
func (e *estate) start(ctx context.Context) (err error) {
	e.server, err = e.o.serve(ctx, e.dir, e.url, "--public-url", "http://localhost:1")
	return err
}

// people fills the tenants and makes the first one's owner an owner of all.
func (e *estate) people(ctx context.Context, n, each int) error {
	sized := make([]data.Tenant, n)
	for i := range sized {
		sized[i] = data.Sized(i+1, each)
		e.tenants = append(e.tenants, sized[i].ID)
	}
	if err := e.fill(ctx, sized...); err != nil {
		return err
	}
	if err := e.owner(ctx, e.tenants[0]); err != nil {
		return err
	}
	d, err := e.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(e.admit(ctx, d), d.Close())
}

// admit makes the owner of the first tenant a member of the others.
func (e *estate) admit(ctx context.Context, d *db.DB) error {
	var user string
	email := address(e.tenants[0])
	err := d.Read(ctx, db.Scope{Tenant: e.tenants[0]}, func(tx *db.Tx) error {
		return tx.One("SELECT user_id FROM members WHERE tenant_id = $1 AND email = $2", []any{e.tenants[0], email},
			func(r *db.Row) error {
				user = r.Text(0)
				return nil
			})
	})
	for _, t := range e.tenants[1:] {
		if err != nil {
			return err
		}
		err = d.Write(ctx, db.Scope{Tenant: t}, func(tx *db.Tx) error {
			tx.Queue(`INSERT INTO members (tenant_id, id, user_id, email, role, status, zone_ids, created_at, updated_at, version)
				VALUES ($1, $2, $2, $3, 'owner', 'active', '[]', $4, $4, 1)`, []any{t, user, email, time.Now()}, nil)
			return nil
		})
	}
	return err
}

// mint gets a token for every tenant from a node that is stopped again.
func (e *estate) mint(ctx context.Context) error {
	if err := e.start(ctx); err != nil {
		return err
	}
	token, err := e.token(ctx, e.tenants[0])
	if err != nil {
		return err
	}
	for _, t := range e.tenants {
		body := bytes.NewReader(fmt.Appendf(nil, `{"tenant_id":%q}`, t))
		raw, err := e.call(ctx, "POST", "/auth/v1/tenant", token, "application/json", body)
		if err != nil {
			return err
		}
		var session struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal(raw, &session); err != nil || session.AccessToken == "" {
			return fmt.Errorf("no access token in %s", raw)
		}
		e.headers = append(e.headers, "Authorization: Bearer "+session.AccessToken)
	}
	return e.server.stop()
}

// visit asks each tenant for a list once.
func (e *estate) visit(ctx context.Context) error {
	for _, h := range e.headers {
		if _, err := e.call(ctx, "GET", "/v1/zones?limit=10", strings.TrimPrefix(h, "Authorization: Bearer "), "",
			nil); err != nil {
			return err
		}
	}
	return nil
}

// spread compares what an answer costs where each is for a tenant chosen at random
// of few, of as many among many, and of all of these, whose pages fill no cache.
func (m *measurement) spread(ctx context.Context, few, many *estate, title, path string) error {
	asked := []struct {
		*estate
		headers []string
	}{{few, few.headers}, {many, many.some(len(few.tenants))}, {many, many.headers}}
	reports := make([][]load.Report, len(asked))
	for i := range m.rounds {
		for k, e := range asked {
			p := m.plan(e.site, e.server, 8, load.Request{Method: "GET", Path: path,
				Header: []string{"{choice}", "Cache-Control: no-cache"}, Status: 200}, i)
			p.Choices = e.headers
			r, err := m.product(ctx, e.site, fmt.Sprint(title, " ", k), p)
			if err != nil {
				return err
			}
			reports[k] = append(reports[k], r)
		}
	}
	n, of := len(few.tenants), len(many.tenants)
	if err := m.add(dearer(fmt.Sprintf("%s, CPU for %d of %d tenants / of %d", title, n, of, n), few.engine, reports[1],
		reports[0]).atMost(1.3, "")); err != nil {
		return err
	}
	return m.add(dearer(fmt.Sprintf("  for all of them / of %d", n), few.engine, reports[2], reports[0]))
}

// some are the headers of n tenants, evenly spread.
func (e *estate) some(n int) (headers []string) {
	for i := range n {
		headers = append(headers, e.headers[i*len(e.headers)/n])
	}
	return headers
}

// dearer is how many times as much CPU a request took.
func dearer(title, engine string, reports, than []load.Report) *result {
	var ratios []float64
	for i := range reports {
		ratios = append(ratios, than[i].PerCPU/reports[i].PerCPU)
	}
	r := of(title, engine, ratios, fmt.Sprintf("%.0f req/CPUs, %.0f in few; p99 %.1f, %.1f ms",
		median(each(reports, perCPU)), median(each(than, perCPU)),
		median(each(reports, slowest)), median(each(than, slowest))))
	r.Server, r.Limit = reports, than
	return r
}

func slowest(r load.Report) float64 { return r.P99 }

// heldFor tells what the node keeps in its heap and stacks for each of n, after f
// has come to them.
func (m *measurement) heldFor(ctx context.Context, e *estate, what string, n int, f func(context.Context) error) error {
	before, err := e.server.held(ctx)
	if err != nil {
		return err
	}
	resident := load.Resident(e.server.pid())
	if err := f(ctx); err != nil {
		return err
	}
	after, err := e.server.held(ctx)
	if err != nil {
		return err
	}
	return m.add(of("kept for "+what, e.engine, []float64{float64(after-before) / float64(n) / 1000},
		fmt.Sprintf("kB of heap and stacks; the process grew from %d to %d MB by %d of them", resident>>20,
			load.Resident(e.server.pid())>>20, n)))
}

// held is what lives in the heap, collected, and in stacks, in bytes.
func (p *process) held(ctx context.Context) (sum int64, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.admin+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	found := 0
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " = ")
		if name != "# HeapAlloc" && name != "# Stack" {
			continue
		}
		used, _, _ := strings.Cut(value, " ")
		n, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("heap profile: %s", lines.Text())
		}
		sum += n
		found++
	}
	if found != 2 {
		return 0, fmt.Errorf("heap profile of %s: %d of 2 figures", p.admin, found)
	}
	return sum, nil
}

// connections are held open.
type connections []net.Conn

// open opens as many connections as there are holders, spread over the tenants,
// sends a request on each and reads its answer: the whole of it, or of a stream the head.
func (c *connections) open(ctx context.Context, e *estate, path string, stream bool) error {
	for i := range holders {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", e.server.address)
		if err != nil {
			return err
		}
		*c = append(*c, conn)
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", path, e.server.address,
			e.headers[i%len(e.headers)]); err != nil {
			return err
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, res.Status)
		}
		if stream {
			continue
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
	}
	return nil
}

func (c *connections) close() {
	for _, conn := range *c {
		conn.Close()
	}
	*c = nil
}
