package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/bench/data"
)

// An order that is allocated has so many lines, each of another item.
const allocatedLines = 100

// allocatedTimes is how often an order is allocated in a tenant in one round.
const allocatedTimes = 100

// allocation measures how long it takes to allocate an order of 100 lines in
// tenants of ever more stock levels: 10^4, 10^5 and 10^6 (times the scale), asked in turn.
func (m *measurement) allocation(ctx context.Context, engine string) (err error) {
	many := max(20_000, int(1_000_000*m.scale))
	tenants := []data.Tenant{data.Stocked(1, 10_000), data.Stocked(2, max(15_000, many/10)), data.Stocked(3, many)}
	s, err := openedSite(ctx, m.options, engine, tenants...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var desks []*desk
	for _, t := range tenants {
		d, err := s.desk(ctx, t)
		if err != nil {
			return err
		}
		desks = append(desks, d)
	}
	return m.allocated(ctx, s, desks)
}

// allocated lets the desks allocate in turn and compares their slowest hundredth.
func (m *measurement) allocated(ctx context.Context, s *site, desks []*desk) error {
	ratios := make([][]float64, len(desks))
	p99s, medians := make([][]float64, len(desks)), make([][]float64, len(desks))
	for range m.rounds {
		took := make([][]float64, len(desks))
		for i := range allocatedTimes {
			for n, d := range desks {
				ms, err := d.allocate(ctx, s, i)
				if err != nil {
					return err
				}
				took[n] = append(took[n], ms)
			}
		}
		for n := range desks {
			slices.Sort(took[n])
			p99s[n] = append(p99s[n], took[n][allocatedTimes*99/100-1])
			medians[n] = append(medians[n], median(took[n]))
			ratios[n] = append(ratios[n], p99s[n][len(p99s[n])-1]/p99s[0][len(p99s[0])-1])
		}
	}
	for n, d := range desks[1:] {
		note := fmt.Sprintf("p99 %.1f, p50 %.1f ms; at %d levels %.1f, %.1f", median(p99s[n+1]), median(medians[n+1]),
			desks[0].levels, median(p99s[0]), median(medians[0]))
		title := fmt.Sprintf("allocation of %d lines, p99 at %d levels", allocatedLines, d.levels)
		if err := m.add(of(title, s.engine, ratios[n+1], note).atMost(1.5, "")); err != nil {
			return err
		}
	}
	return nil
}

// desk is who allocates the orders of a tenant.
type desk struct {
	token  string
	levels int
	orders []string
}

// desk signs in and takes ten orders of 100 lines, whose items lie anywhere among
// the tenant's.
func (s *site) desk(ctx context.Context, t data.Tenant) (d *desk, err error) {
	d = &desk{levels: t.Items}
	if d.token, err = s.token(ctx, t.ID); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(11, 12))
	for range 10 {
		id, err := d.order(ctx, s, r.Perm(t.Items)[:allocatedLines])
		if err != nil {
			return nil, err
		}
		if _, err := d.say(ctx, s, "confirm_order", id); err != nil {
			return nil, err
		}
		if _, err := d.say(ctx, s, "deallocate_order", id); err != nil {
			return nil, err
		}
		d.orders = append(d.orders, id)
	}
	return d, nil
}

// order makes an order of one of each of some items.
func (d *desk) order(ctx context.Context, s *site, items []int) (id string, err error) {
	var skus []string
	for _, i := range items {
		skus = append(skus, fmt.Sprintf("SKU-%07d", i))
	}
	raw, err := s.call(ctx, "GET", "/v1/items?select=id&sku=in.("+strings.Join(skus, ",")+")", d.token, "", nil)
	if err != nil {
		return "", err
	}
	var found []struct{ ID string }
	if err := json.Unmarshal(raw, &found); err != nil || len(found) != len(items) {
		return "", fmt.Errorf("%d items for %d lines: %w", len(found), len(items), err)
	}
	order := uuid.NewString()
	var lines []map[string]any
	for i, item := range found {
		lines = append(lines, map[string]any{"order_id": order, "line_no": i + 1, "item_id": item.ID, "qty_ordered": 1})
	}
	return order, errors.Join(d.post(ctx, s, "orders", map[string]any{"id": order, "party_name": "Customer"}),
		d.post(ctx, s, "order_lines", lines))
}

// post creates rows.
func (d *desk) post(ctx context.Context, s *site, collection string, rows any) error {
	body, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = s.call(ctx, "POST", "/v1/"+collection, d.token, "application/json", bytes.NewReader(body))
	return err
}

// say calls a verb on an order and returns the milliseconds it took.
func (d *desk) say(ctx context.Context, s *site, verb, order string) (ms float64, err error) {
	begin := time.Now()
	_, err = s.call(ctx, "POST", "/v1/rpc/"+verb, d.token, "application/json",
		strings.NewReader(`{"order_id":"`+order+`"}`))
	return float64(time.Since(begin)) / float64(time.Millisecond), err
}

// allocate allocates an order, and gives the stock back.
func (d *desk) allocate(ctx context.Context, s *site, i int) (ms float64, err error) {
	order := d.orders[i%len(d.orders)]
	if ms, err = d.say(ctx, s, "allocate_order", order); err != nil {
		return 0, err
	}
	_, err = d.say(ctx, s, "deallocate_order", order)
	return ms, err
}
