package functions

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/warehouse"
)

// health is an inventory's health, and when it was looked at.
type health struct {
	warehouse.Health
	at time.Time
}

// Inventory health looks at every active item and at 180 days of the ledger,
// the one answer whose cost grows with the tenant. Where it takes longer than
// Deps.Dear it outlives the writes that drop the answer: for healthShare times
// as long as it took, but no longer than an answer is kept. Smaller tenants
// always get fresh figures.
const (
	healthShare = 200
	healthMost  = summaryFor
)

// assessment gathers a tenant's items.
type assessment struct {
	stock map[string]*warehouse.Stock
	begun time.Time
}

// queueHealth asks for all that health needs: a few index scans, grouped by
// the database.
func (d *dashboard) queueHealth(tx *db.Tx, a actor.Actor, now time.Time) *assessment {
	as := &assessment{stock: map[string]*warehouse.Stock{}, begun: time.Now()}
	at := func(id string) *warehouse.Stock {
		s := as.stock[id]
		if s == nil {
			s = &warehouse.Stock{}
			as.stock[id] = s
		}
		return s
	}
	tx.Queue("SELECT i.id, i.on_hand, i.available, i.reorder_point, i.stock_value, "+
		"CASE WHEN i.on_hand > 0 THEN (SELECT MIN(m.occurred_at) FROM stock_movements m WHERE m.tenant_id = $1 AND m.item_id = i.id) END, "+
		"CASE WHEN i.available <= 0 THEN EXISTS (SELECT 1 FROM order_lines l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id "+
		"WHERE l.tenant_id = $1 AND l.item_id = i.id AND o.type = 'outbound' AND o.status IN ('confirmed', 'in_progress', 'on_hold') AND l.qty_shipped < "+
		"l.qty_ordered - l.qty_cancelled) END "+
		"FROM items i WHERE i.tenant_id = $1 AND i.status = 'active'", []any{a.TenantID}, func(r *db.Row) error {
		*at(r.Text(0)) = warehouse.Stock{OnHand: r.Dec(1), Available: r.Dec(2), ReorderPoint: r.Dec(3), Value: r.Dec(4), FirstIn: r.Time(5), OnOrder: r.Bool(6)}
		return nil
	})
	day := tx.DB().Day("occurred_at")
	tx.Queue("SELECT item_id, "+day+", CAST(SUM(CASE WHEN type IN "+warehouse.Outward+" THEN -quantity ELSE quantity END) AS bigint), "+
		"CAST(COALESCE(SUM(quantity) FILTER (WHERE type = 'ship'), 0) AS bigint) FROM stock_movements WHERE tenant_id = $1 AND occurred_at > $2 AND "+
		"(type IN "+warehouse.Outward+" OR type IN "+warehouse.Inward+") GROUP BY item_id, "+day,
		[]any{a.TenantID, now.AddDate(0, 0, -warehouse.HealthWindow)}, func(r *db.Row) error {
			return book(as.stock[r.Text(0)], now, r.Text(1), r.Dec(2), r.Dec(3))
		})
	tx.Queue("SELECT item_id, MAX("+day+") FROM stock_movements WHERE tenant_id = $1 AND occurred_at > $2 AND occurred_at <= $3 AND type = 'ship' "+
		"GROUP BY item_id",
		[]any{a.TenantID, now.AddDate(0, 0, -warehouse.DeadAfter-1), now.AddDate(0, 0, -warehouse.HealthWindow)}, func(r *db.Row) error {
			return book(as.stock[r.Text(0)], now, r.Text(1), 0, decimal.One)
		})
	return as
}

// book enters one day of an active item; others are nil.
func book(s *warehouse.Stock, now time.Time, day string, net, shipped decimal.Dec) error {
	if s == nil {
		return nil
	}
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	s.Book(now, at, net, shipped)
	return nil
}

func (as *assessment) result(now time.Time) health {
	var sum warehouse.Assessment
	for _, s := range as.stock {
		sum.Add(s, now)
	}
	return health{sum.Health(), now}
}

// keepHealth remembers a dear result.
func (d *dashboard) keepHealth(tenant string, now time.Time, as *assessment, h health) {
	took := time.Since(as.begun)
	if took > d.dear {
		d.health.PutSince(tenant, h, as.begun, now.Add(min(took*healthShare, healthMost)))
	}
}

func (h *health) out() HealthOut {
	return HealthOut{Score: h.Score, Fast: h.Fast, Slow: h.Slow, Dead: h.Dead, Critical: h.Critical, AsOf: query.FormatTime(h.at)}
}
