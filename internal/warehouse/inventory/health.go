package inventory

import (
	"math"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
)

// Cut points of inventory health. FSN
// classification by turnover and time without issue is textbook; where to cut
// is not, so these are choices.
const (
	HealthWindow = 90  // days of demand and average stock
	DeadAfter    = 180 // days without an issue
	slowAfter    = 60
	newFor       = 60
	fastWindow   = 30 // days in which a fast mover goes out on fastDays distinct days
	slowTurns    = 2.0
	fastTurns    = 6.0
	fastDays     = 5
)

// Weights of the health score.
const (
	weightCritical, weightLow, weightDead, weightSlow = 0.35, 0.25, 0.25, 0.15
)

// History is what the ledger says about one item's last days, booked day by
// day. The zero value is an item without movements.
type History struct {
	out90   float64
	before  float64 // sum over movements of change x days of the window before it
	squares float64 // of the days' issues
	lastAt  time.Time
	days30  int
}

// DayOf is the date where the tenant is at a moment, as its midnight in UTC: the form in
// which days are booked and counted here. The zero time stays what it is.
func DayOf(at time.Time, zone *time.Location) time.Time {
	if at.IsZero() {
		return at
	}
	return localtime.DateOf(at, zone).UTC()
}

// DaysBefore is the last moment before the date that lies days before that of now.
func DaysBefore(now time.Time, zone *time.Location, days int) time.Time {
	return localtime.DateOf(now, zone).AddDays(-days).Start(zone).Add(-time.Microsecond)
}

// Book adds one day's movements (see DayOf): net change of stock, and what was shipped.
// Days outside the window only say when the last issue was. No day may be
// booked twice.
func (h *History) Book(now, day time.Time, net, shipped decimal.Dec) {
	today := now.UTC().Truncate(24 * time.Hour)
	ago := int(today.Sub(day) / (24 * time.Hour))
	if shipped > 0 && day.After(h.lastAt) {
		h.lastAt = day
	}
	if ago < 0 || ago >= HealthWindow {
		return
	}
	h.out90 += shipped.Float()
	h.squares += shipped.Float() * shipped.Float()
	h.before += net.Float() * float64(HealthWindow-1-ago)
	if shipped > 0 && ago < fastWindow {
		h.days30++
	}
}

// averageStock is the mean of the daily closing quantities of the window: what is
// there now less what each movement changed on the days before it.
func (h *History) averageStock(onHand decimal.Dec) float64 {
	return onHand.Float() - h.before/HealthWindow
}

// yearlyTurns is the yearly turnover, issues of a year over mean stock: infinite for
// goods that leave the day they come.
func (h *History) yearlyTurns(onHand decimal.Dec) float64 {
	avg := h.averageStock(onHand)
	if h.out90 == 0 {
		return 0
	}
	if avg <= 0 {
		return math.Inf(1)
	}
	return h.out90 * (365.0 / HealthWindow) / avg
}

// Stock is one active item as inventory health sees it.
type Stock struct {
	OnHand, Available, ReorderPoint, Value decimal.Dec
	FirstIn                                time.Time // first movement; zero = none
	OnOrder                                bool      // an open order asks for it
	History
}

// OnOrder says in SQL whether an open order for own stock asks for item i of tenant $1.
// The join is CROSS, after which SQLite reads the lines of the item first and then their
// orders: it would look through all open orders for each item.
const OnOrder = `EXISTS (
		SELECT 1
		FROM order_lines l
		CROSS JOIN orders o
		WHERE l.tenant_id = $1
			AND l.item_id = i.id
			AND l.is_kit IS NOT TRUE
			AND l.qty_shipped < l.qty_ordered - l.qty_cancelled
			AND o.tenant_id = $1
			AND o.id = l.order_id
			AND o.type = 'outbound'
			AND o.owner_id IS NULL
			AND o.status IN ('confirmed', 'in_progress', 'on_hold')
	)`

// Turns is how often the stock turns over in a year (see Class).
func (s *Stock) Turns() float64 { return s.yearlyTurns(s.OnHand) }

// Demand is what went out a day, over the window or since the item's first
// movement.
func (s *Stock) Demand(now time.Time) Demand {
	if s.FirstIn.IsZero() {
		return Demand{}
	}
	day := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	return DemandOf(s.out90, s.squares, min(HealthWindow, 1+int(day(now).Sub(day(s.FirstIn))/(24*time.Hour))))
}

// Class is how an item stands. Dead and Slow exclude each other.
type Class struct{ Fast, Slow, Dead, Critical, Low bool }

// Classify applies the cut points.
func (s *Stock) Classify(now time.Time) Class {
	var c Class
	day := now.UTC().Truncate(24 * time.Hour)
	since := func(t time.Time) int { return int(day.Sub(t.UTC().Truncate(24*time.Hour)) / (24 * time.Hour)) }
	age := 0
	if !s.FirstIn.IsZero() {
		age = since(s.FirstIn)
	}
	idle := math.MaxInt
	if !s.lastAt.IsZero() {
		idle = since(s.lastAt)
	}
	turns := s.Turns()
	if s.OnHand > 0 {
		c.Dead = idle > DeadAfter && age > DeadAfter
		c.Slow = !c.Dead && age >= newFor && (turns < slowTurns || idle > slowAfter)
	}
	c.Fast = turns >= fastTurns && s.days30 >= fastDays
	c.Low = LowStock(s.Available, s.ReorderPoint)
	c.Critical = s.Available <= 0 && (s.out90 > 0 || s.OnOrder) || s.ReorderPoint > 0 && 2*s.Available < s.ReorderPoint
	return c
}

// Health is the interface's inventory health.
type Health struct {
	Score                      decimal.Dec // 0-100, one decimal
	Fast, Slow, Dead, Critical int64
}

// Assessment adds up items to a Health.
type Assessment struct {
	items, low                 int64
	fast, slow, dead, critical int64
	value, deadValue           float64
	slowValue                  float64
}

// Add takes one active item in.
func (a *Assessment) Add(s *Stock, now time.Time) {
	c := s.Classify(now)
	v := s.Value.Float()
	a.items++
	a.value += v
	if c.Fast {
		a.fast++
	}
	if c.Critical {
		a.critical++
	}
	if c.Low {
		a.low++
	}
	if c.Dead {
		a.dead++
		a.deadValue += v
	} else if c.Slow {
		a.slow++
		a.slowValue += v
	}
}

// Health is 100 x (1 - weighted shares): critical and low stock by number of
// active items, dead and slow stock by value. No items = 100.
func (a *Assessment) Health() Health {
	h := Health{Fast: a.fast, Slow: a.slow, Dead: a.dead, Critical: a.critical}
	bad := 0.0
	if a.items > 0 {
		n := float64(a.items)
		bad += weightCritical*float64(a.critical)/n + weightLow*float64(a.low)/n
	}
	if a.value > 0 {
		bad += weightDead*a.deadValue/a.value + weightSlow*a.slowValue/a.value
	}
	h.Score = decimal.FromFloat(math.Floor(1000*(1-bad)+0.5+1e-9) / 10)
	return h
}
