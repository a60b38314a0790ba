package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast/bench/data"
)

// Sizes of what is confirmed, and released in a call, each beside a tenth of it.
const (
	confirmedLines = 600 // of an order
	releasedOrders = 500 // of a line each
	releasedAtOnce = 100 // orders of one call of release_picks
	confirmedTimes = 10  // orders in a round, and ten times as many of a tenth of the lines
)

// measureRelease measures what it costs to confirm orders of 600 lines, and to release the picks of 500
// orders in large calls, against a tenth of each in the same run: a line costs no more, nor an order.
func measureRelease(ctx context.Context, m *measurement, engine string) (err error) {
	tenant := data.Stocked(1, 10_000)
	s, err := openedSite(ctx, m.options, engine, tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	d := &desk{levels: tenant.Items}
	if d.token, err = s.token(ctx, tenant.ID); err != nil {
		return err
	}
	items, err := d.listItems(ctx, s)
	if err != nil {
		return err
	}
	if err := d.compareConfirmed(ctx, m, s, items); err != nil {
		return err
	}
	return d.compareReleased(ctx, m, s, items)
}

// listItems are the ids of as many items as an order has lines.
func (d *desk) listItems(ctx context.Context, s *site) ([]string, error) {
	path := fmt.Sprintf("/v1/items?select=id&order=id&limit=%d", confirmedLines)
	raw, err := s.call(ctx, "GET", path, d.token, "", nil)
	if err != nil {
		return nil, err
	}
	var found []struct{ ID string }
	if err := json.Unmarshal(raw, &found); err != nil || len(found) != confirmedLines {
		return nil, fmt.Errorf("%d items for %d lines: %w", len(found), confirmedLines, err)
	}
	var ids []string
	for _, item := range found {
		ids = append(ids, item.ID)
	}
	return ids, nil
}

// listRoots are the processes that work for the product.
func (s *site) listRoots() []int { return append([]int{s.server.pid()}, s.pids...) }

// draft makes a draft of one of each of some items.
func (d *desk) draft(ctx context.Context, s *site, items []string) (order string, err error) {
	order = uuid.NewString()
	var lines []map[string]any
	for i, item := range items {
		lines = append(lines, map[string]any{"order_id": order, "line_no": i + 1, "item_id": item, "qty_ordered": 1})
	}
	return order, errors.Join(d.post(ctx, s, "orders", map[string]any{"id": order, "party_name": "Customer"}),
		d.post(ctx, s, "order_lines", lines))
}

// compareConfirmed compares what a line costs of large orders and of small ones.
func (d *desk) compareConfirmed(ctx context.Context, m *measurement, s *site, items []string) error {
	var ratios, p99s, rates []float64
	for range m.rounds {
		var cost [2]float64 // CPU-seconds a line
		for n, lines := range []int{confirmedLines, confirmedLines / 10} {
			var orders []string
			for i := range confirmedTimes * confirmedLines / lines {
				order, err := d.draft(ctx, s, items[i*lines%confirmedLines:][:lines])
				if err != nil {
					return err
				}
				orders = append(orders, order)
			}
			var took []float64
			all, err := timed(s.listRoots(), func() error {
				for _, order := range orders {
					ms, err := d.say(ctx, s, "confirm_order", order)
					if err != nil {
						return err
					}
					took = append(took, ms)
				}
				return nil
			})
			if err != nil {
				return err
			}
			slices.Sort(took)
			if cost[n] = all.CPU / float64(confirmedTimes*confirmedLines); n == 0 {
				p99s, rates = append(p99s, took[len(took)-1]), append(rates, confirmedTimes/all.CPU)
			}
			if err := d.cancel(ctx, s, orders); err != nil {
				return err
			}
		}
		ratios = append(ratios, cost[0]/cost[1])
	}
	note := fmt.Sprintf("%.1f orders a CPU-second, the slowest %.1f ms", median(rates), median(p99s))
	title := fmt.Sprintf("confirmation of %d lines, CPU a line against %d", confirmedLines, confirmedLines/10)
	return m.add(of(title, s.engine, ratios, note).atMost(1.1, ""))
}

// cancel cancels orders, so that the stock is free for the next.
func (d *desk) cancel(ctx context.Context, s *site, orders []string) error {
	for _, order := range orders {
		if _, err := d.say(ctx, s, "cancel_order", order); err != nil {
			return err
		}
	}
	return nil
}

// compareReleased compares what an order costs of many that are released in a call, and of few.
func (d *desk) compareReleased(ctx context.Context, m *measurement, s *site, items []string) error {
	var ratios, slowest, rates []float64
	for range m.rounds {
		var cost [2]float64 // CPU-seconds an order
		for n, atOnce := range []int{releasedAtOnce, releasedAtOnce / 10} {
			var ids []string
			for i := range releasedOrders {
				order, err := d.draft(ctx, s, items[i%len(items):][:1])
				if err != nil {
					return err
				}
				if _, err := d.say(ctx, s, "confirm_order", order); err != nil {
					return err
				}
				ids = append(ids, order)
			}
			took, err := d.releaseAll(ctx, s, ids, atOnce)
			if err != nil {
				return err
			}
			if cost[n] = took.CPU / releasedOrders; n == 0 {
				slowest, rates = append(slowest, took.Wall*1000), append(rates, releasedOrders/took.CPU)
			}
			if err := d.cancel(ctx, s, ids); err != nil {
				return err
			}
		}
		ratios = append(ratios, cost[0]/cost[1])
	}
	note := fmt.Sprintf("%.0f orders a CPU-second, all in %.0f ms", median(rates), median(slowest))
	title := fmt.Sprintf("release of %d orders, %d a call, CPU against %d a call", releasedOrders, releasedAtOnce,
		releasedAtOnce/10)
	return m.add(of(title, s.engine, ratios, note).atMost(1.1, ""))
}

// releaseAll releases the picks of orders, so many in a call.
func (d *desk) releaseAll(ctx context.Context, s *site, orders []string, atOnce int) (span, error) {
	return timed(s.listRoots(), func() error {
		for ids := range slices.Chunk(orders, atOnce) {
			body, err := json.Marshal(map[string]any{"order_ids": ids, "method": "batch", "max_lines": 100})
			if err != nil {
				return err
			}
			_, err = s.call(ctx, "POST", "/v1/rpc/release_picks", d.token, "application/json",
				strings.NewReader(string(body)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
