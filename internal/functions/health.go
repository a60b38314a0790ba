package functions

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/ownstock"
)

// health is an inventory's health, of how many items it is told, when those were
// looked at, and how long that took.
type health struct {
	inventory.Health
	items int64
	at    time.Time
	took  time.Duration
}

// Inventory health looks at every active item and at 180 days of the ledger, so
// its cost grows with the tenant. An inventory of up to healthAtOnce items is
// looked at with the answer, and again when a record that it is made of has changed or
// an answer would be kept no longer: its figures are as fresh as the rest. A larger
// one, or one that took longer than Deps.Dear, is looked at beside the answers,
// healthStep items at a time, so that neither an answer nor the memory grows
// with it. Its figures are renewed, when somebody asks, as soon as they are
// healthShare times as old as looking took (half a per cent of a processor), at
// the latest after half of healthOldest, or after healthLeast times what looking
// took where that is longer; no answer tells any that are twice as old, and each
// says when they were looked at. A first look is waited for healthSoon: an answer
// that comes before its end tells of the items that it has seen, and how many.
const (
	healthAtOnce   = 10_000
	healthStep     = 5_000
	healthShare    = 200
	healthLeast    = 10
	healthOldest   = 15 * time.Minute
	healthSoon     = 2 * time.Second
	healthPatience = time.Hour // that one look may take
)

// isDue reports figures that should be renewed.
func (h *health) isDue(now time.Time) bool { return now.Sub(h.at) >= h.renewalAge() }

// renewalAge is how old the figures are when they should be.
func (h *health) renewalAge() time.Duration { return min(h.took*healthShare, h.maxAge()/2) }

// maxAge is how old the figures may be and yet be told.
func (h *health) maxAge() time.Duration { return max(healthOldest, 2*h.took*healthLeast) }

// assessment gathers some of a tenant's items.
type assessment struct {
	tenant string
	now    time.Time
	place  string // whose days are booked
	stock  map[string]*inventory.Stock
	last   string // item, in the order of ids; only of a step
	begun  time.Time
}

func newAssessment(tenant string, now time.Time, place string) *assessment {
	return &assessment{tenant: tenant, now: now, place: place, stock: map[string]*inventory.Stock{}, begun: time.Now()}
}

// queueHealth asks for all that health needs of an inventory that is looked at
// at once, in a few index scans, grouped by the database. Of a larger one
// nothing is read.
func (d *dashboard) queueHealth(tx *store.Tx, now time.Time, place string) *assessment {
	as := newAssessment(tx.TenantID, now, place)
	small := " AND (SELECT CAST(COALESCE(SUM(c.delta), 0) AS bigint) FROM counters c WHERE c.tenant_id = $1 AND " +
		"c.name IN ('items:active:true', 'items:active:false')) <= " + strconv.FormatInt(d.atOnce, 10)
	as.queueItems(tx.Tx, small)
	as.queueLedger(tx.Tx, small)
	return as
}

// queueItems asks for the active items that meet a condition.
func (as *assessment) queueItems(tx *db.Tx, where string, args ...any) {
	tx.Queue(db.FillWords(`
		SELECT i.id, i.on_hand, i.available, i.reorder_point, i.stock_value,
			CASE WHEN i.on_hand > 0 THEN {first movement} END,
			CASE WHEN i.available <= 0 THEN {on order} END
		FROM items i
		WHERE i.tenant_id = $1
			AND i.is_kit IS NOT TRUE
			AND i.status = 'active' {where}`,
		"{first movement}", ownstock.FirstMovement, "{on order}", inventory.OnOrder, "{where}", where),
		append([]any{as.tenant}, args...),
		func(r *db.Row) error {
			as.last = r.Text(0)
			as.stock[as.last] = &inventory.Stock{OnHand: r.Dec(1), Available: r.Dec(2), ReorderPoint: r.Dec(3), Value: r.Dec(4),
				FirstIn: inventory.DayOf(r.Time(5), localtime.Zone(as.place)), OnOrder: r.Bool(6)}
			return nil
		})
}

// queueLedger asks for the last days of the items that were read, and for what of them
// owners keep here, among the movements and stock levels that meet a condition.
func (as *assessment) queueLedger(tx *db.Tx, where string, args ...any) {
	zone := localtime.Zone(as.place)
	window, dead := inventory.DaysBefore(as.now, zone, inventory.HealthWindow-1),
		inventory.DaysBefore(as.now, zone, inventory.DeadAfter)
	day := tx.DB().LocalDay("occurred_at", localtime.Offsets(dead, as.now, zone))
	ownstock.QueueOwnersWhere(tx, as.tenant, where, args, func(item string, quantity decimal.Dec) {
		if s := as.stock[item]; s != nil {
			s.OnHand -= quantity
		}
	})
	where += " AND " + ownstock.OwnGoods
	args = append([]any{as.tenant}, args...)
	from, upto := "$"+strconv.Itoa(len(args)+1), "$"+strconv.Itoa(len(args)+2)
	tx.Queue(db.FillWords(`
		SELECT item_id, {day}, CAST(SUM(CASE WHEN type IN {outward} THEN -quantity ELSE quantity END) AS bigint),
			CAST(COALESCE(SUM(quantity) FILTER (WHERE type = 'ship'), 0) AS bigint)
		FROM stock_movements
		WHERE tenant_id = $1
			AND occurred_at > {from}
			AND (type IN {outward} OR type IN {inward}) {where}
		GROUP BY item_id, {day}`,
		"{day}", day, "{outward}", warehouse.Outward, "{from}", from, "{inward}", warehouse.Inward, "{where}", where),
		append(slices.Clone(args), window), func(r *db.Row) error {
			return bookDay(as.stock[r.Text(0)], as.localToday(), r.Text(1), r.Dec(2), r.Dec(3))
		})
	tx.Queue(db.FillWords(`
		SELECT item_id, MAX({day})
		FROM stock_movements
		WHERE tenant_id = $1
			AND occurred_at > {from}
			AND occurred_at <= {upto}
			AND type = 'ship' {where}
		GROUP BY item_id`,
		"{day}", day, "{from}", from, "{upto}", upto, "{where}", where),
		append(args, dead, window), func(r *db.Row) error {
			return bookDay(as.stock[r.Text(0)], as.localToday(), r.Text(1), 0, decimal.One)
		})
}

// localToday is the date where the tenant is, as its midnight in UTC.
func (as *assessment) localToday() time.Time {
	return inventory.DayOf(as.now, localtime.Zone(as.place))
}

// bookDay enters one day of an active item; others are nil.
func bookDay(s *inventory.Stock, today time.Time, day string, net, shipped decimal.Dec) error {
	if s == nil {
		return nil
	}
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	s.Book(today, at, net, shipped)
	return nil
}

func (as *assessment) addTo(sum *inventory.Assessment) {
	for _, s := range as.stock {
		sum.Add(s, as.localToday())
	}
}

// healthFrom is the health to tell when none is kept: of an inventory of items
// from what the answer's transaction read of it, else looked at step by step,
// for which the caller waits.
func (d *dashboard) healthFrom(ctx context.Context, as *assessment, items int64) (health, error) {
	if items > d.atOnce {
		return d.renewHealth(ctx, as.tenant).waitForLook(ctx, d.soon)
	}
	var sum inventory.Assessment
	as.addTo(&sum)
	h := health{sum.Health(), int64(len(as.stock)), as.now, time.Since(as.begun)}
	if h.took > d.dear {
		d.health.PutSince(as.tenant, h, as.begun, as.now.Add(h.maxAge()))
	} else {
		d.unchanged.PutSince(as.tenant, h, as.begun, as.now.Add(summaryFor))
	}
	return h, nil
}

// keptHealth is the health of a tenant's stock that may be told at a moment, if any is
// kept. A due one should be renewed.
func (d *dashboard) keptHealth(tenant string, now time.Time) (h health, due, found bool) {
	if h, found = d.health.Get(tenant, now); found {
		return h, h.isDue(now), true
	}
	h, found = d.unchanged.Get(tenant, now)
	return h, false, found
}

// forgetHealth has the health of a tenant's stock be looked at anew; "" is all tenants.
func (d *dashboard) forgetHealth(tenant string) {
	d.health.Forget(tenant)
	d.unchanged.Forget(tenant)
}

// A look is one under way at a tenant's whole inventory.
type look struct {
	begun time.Time
	done  chan struct{}
	err   error

	mu     sync.Mutex
	health health // of what was seen so far
}

// waitForLook is what the look has found at its end, or soon after it began.
func (l *look) waitForLook(ctx context.Context, soon time.Duration) (health, error) {
	late := time.NewTimer(soon - time.Since(l.begun))
	defer late.Stop()
	select {
	case <-l.done:
		return l.resultSoFar(), l.err
	case <-late.C:
		return l.resultSoFar(), nil
	case <-ctx.Done():
		return health{}, fmt.Errorf("functions: inventory health: %w", ctx.Err())
	}
}

// resultSoFar is what the look has found so far.
func (l *look) resultSoFar() health {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.health
}

func (l *look) setResult(h health) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health = h
}

// looks are those under way, by tenant.
type looks struct {
	mu    sync.Mutex
	under map[string]*look
}

// renewHealth looks at a tenant's inventory, unless somebody does so already, or has
// done so since the caller found it due. It goes on when its caller leaves.
func (d *dashboard) renewHealth(ctx context.Context, tenant string) *look {
	d.looks.mu.Lock()
	defer d.looks.mu.Unlock()
	if l := d.looks.under[tenant]; l != nil {
		return l
	}
	now := d.now().UTC()
	l := &look{begun: time.Now(), done: make(chan struct{}),
		health: health{Health: new(inventory.Assessment).Health(), at: now}}
	if kept, ok := d.health.Get(tenant, now); ok && !kept.isDue(now) {
		l.health = kept
		close(l.done)
		return l
	}
	if d.looks.under == nil {
		d.looks.under = map[string]*look{}
	}
	d.looks.under[tenant] = l
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthPatience)
	go func() {
		defer cancel()
		l.err = d.surveyInventory(ctx, tenant, l)
		d.looks.mu.Lock()
		delete(d.looks.under, tenant)
		d.looks.mu.Unlock()
		close(l.done)
	}()
	return l
}

// surveyInventory looks at a tenant's inventory in steps, a transaction each, and keeps
// what it found.
func (d *dashboard) surveyInventory(ctx context.Context, tenant string, l *look) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("functions: inventory health: panic: %v\n%s", p, debug.Stack())
		}
	}()
	now := l.resultSoFar().at
	var sum inventory.Assessment
	var items int64
	for after, more := db.NoTenant, true; more; { // the least id there is
		as := newAssessment(tenant, now, "")
		err := d.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			clear(as.stock)
			store.QueueZone(tx, tenant, &as.place)
			as.queueItems(tx, " AND i.id > $2 ORDER BY i.id LIMIT $3", after, d.step)
			if err := tx.Flush(); err != nil || len(as.stock) == 0 {
				return err
			}
			as.queueLedger(tx, " AND item_id > $2 AND item_id <= $3", after, as.last)
			return tx.Flush()
		})
		if err != nil {
			return fmt.Errorf("functions: inventory health: %w", err)
		}
		as.addTo(&sum)
		items += int64(len(as.stock))
		l.setResult(health{sum.Health(), items, now, time.Since(l.begun)})
		after, more = as.last, int64(len(as.stock)) == d.step
	}
	h := l.resultSoFar()
	d.health.PutSince(tenant, h, l.begun, now.Add(h.maxAge()))
	return nil
}

func (h *health) healthOut() HealthOut {
	return HealthOut{Score: h.Score, Fast: h.Fast, Slow: h.Slow, Dead: h.Dead, Critical: h.Critical, Items: h.items,
		AsOf: query.FormatTime(h.at)}
}
