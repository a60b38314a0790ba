package warehouse

import (
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// A movement at a person's word alone has nothing behind it but the person who
// enters it: no shipment, no receipt, no second person. The tenant's limits hold
// what one person books so of one item in one day.

// wordKind is one of the two limits that movements at a person's word are held to.
type wordKind string

const (
	adjustsStock wordKind = "adjust" // setting adjust_limit_value
	countsStock  wordKind = "count"  // setting count_auto_approve
)

// wordKinds are the limits by movement type.
var wordKinds = map[string]wordKind{
	"adjust_gain": adjustsStock, "adjust_loss": adjustsStock, "scrap": adjustsStock, "ship": adjustsStock,
	"count_gain": countsStock, "count_loss": countsStock,
}

// wordKindOf is the limit that a movement is held to, "" where there is none: a
// second person let it through, or it consumes what a shipment was promised. The
// server alone sets both fields.
func wordKindOf(m record.StockMovement) wordKind {
	if m.HasApprovedBy() || m.HasReservationID() {
		return ""
	}
	return wordKinds[m.Type()]
}

// word is what one person decides of one item.
type word struct {
	item string
	kind wordKind
}

// limitOf is the tenant's limit of a kind, nil where there is none.
func (ru *rules) limitOf(kind wordKind) *decimal.Dec {
	switch kind {
	case adjustsStock:
		return ru.adjustLimit
	case countsStock:
		return ru.countLimit
	}
	return nil
}

// dayStart is the instant at which the tenant's day began.
func (ru *rules) dayStart() time.Time {
	start, _ := localtime.Day(ru.now, localtime.Zone(ru.zone))
	return start
}

// queueWords queues adding up what the caller has booked at its own word since
// the tenant's day began, in base units by item and limit. Who calls it holds the
// items' locks, so that of two requests at once the second sees the first. Keys
// without an account count as one person. Imported rows do not count: whoever may
// import them answers for the file.
func queueWords(tx *db.Tx, a actor.Actor, since time.Time, items []string) map[word]decimal.Dec {
	sums := map[word]decimal.Dec{}
	sql := `
		SELECT item_id, type, CAST(SUM(quantity) AS bigint)
		FROM stock_movements
		WHERE tenant_id = $1
			AND item_id IN {ids $2}
			AND created_at >= $3
			AND COALESCE(CAST(created_by AS text), '') = $4
			AND approved_by IS NULL
			AND reservation_id IS NULL
			AND import_job_id IS NULL
		GROUP BY item_id, type`
	args := []any{a.TenantID, jsonList(items), query.FormatTime(since), a.UserID}
	tx.Queue(sql, args, func(r *db.Row) error {
		if kind := wordKinds[r.Text(1)]; kind != "" {
			sums[word{r.Text(0), kind}] += r.Dec(2)
		}
		return nil
	})
	return sums
}

// lockWords locks items and returns what the caller has booked of them today at
// its own word.
func lockWords(tx *db.Tx, a actor.Actor, ru *rules, items []string) (map[word]decimal.Dec, error) {
	list := slices.Sorted(slices.Values(items))
	lockItems(tx, a.TenantID, jsonList(list))
	sums := queueWords(tx, a, ru.dayStart(), list)
	return sums, tx.Flush()
}

// isAbove reports whether a quantity of an item is worth more than a limit; nil
// is no limit. A worth past the number range is above each.
func isAbove(limit *decimal.Dec, quantity, worth decimal.Dec) bool {
	if limit == nil {
		return false
	}
	value, err := MultiplyWithin(quantity, worth, "quantity")
	return err != nil || value > *limit
}

// wordOf is what a change books at its caller's own word, and the limit that it
// is held to, nil where there is none.
func (p *posting) wordOf(c record.Change[record.StockMovement]) (word, *decimal.Dec) {
	if c.Op != store.Insert || p.rules == nil {
		return word{}, nil
	}
	kind := wordKindOf(c.After)
	return word{c.After.ItemID(), kind}, p.rules.limitOf(kind)
}

// checkWords refuses the movement by which the caller's own word of an item would
// pass the tenant's limit for a day. The movements are inserted already.
func (p *posting) checkWords(tx *db.Tx, a actor.Actor, changes []store.Change) error {
	var items set
	own := map[word]decimal.Dec{}
	for _, c := range record.Changes[record.StockMovement](changes) {
		if w, limit := p.wordOf(c); limit != nil {
			items.addID(w.item)
			own[w] += c.After.Quantity()
		}
	}
	if len(items.list) == 0 {
		return nil
	}
	sums := queueWords(tx, a, p.rules.dayStart(), items.list)
	if err := tx.Flush(); err != nil {
		return err
	}

	for w, quantity := range own {
		sums[w] -= quantity
	}
	for i, c := range record.Changes[record.StockMovement](changes) {
		w, limit := p.wordOf(c)
		if limit == nil {
			continue
		}
		sums[w] += c.After.Quantity()
		it := p.itemByID[w.item]
		if isAbove(limit, sums[w], it.worth) {
			return nameRow(needsSecond(a.Role, it.sku, w.kind, *limit), i, len(changes))
		}
	}
	return nil
}

// needsSecond refuses what needs a second person and says how to ask for one. Whoever does
// not see costs is not told the limit: the most that passes, and the limit, make a cost.
func needsSecond(role actor.Role, sku string, kind wordKind, limit decimal.Dec) *fault.Error {
	hint := "use adjust_stock with the same quantity, negative for goods that leave: it waits for a second person"
	if kind == countsStock {
		hint = "count by start_count and enter_count: the count waits for a second person"
	}
	most := "what one person may"
	if catalog.SeesCosts(role) {
		most = limit.String()
	}
	return fault.New(fault.Conflict, CodeApproval,
		"needs a second person: with this, one person books item %s for more than %s today", sku, most).
		With("", hint).At("quantity", "takes the day's worth above %s", most)
}

// checkManagers refuses what managers alone book: stock that comes from nowhere,
// and goods that are let out of quarantine, where orders are promised none. An
// imported file is a manager's already.
func (p *posting) checkManagers(a actor.Actor, m record.StockMovement) *fault.Error {
	if isManager(a.Role) {
		return nil
	}
	if kind := m.Type(); kind == "opening" || kind == "import" {
		return fault.New(fault.Forbidden, "42501", "only a manager books movements of type %s", kind).At("type",
			"is for managers")
	}
	if p.isRelease(m) {
		return fault.New(fault.Forbidden, "42501", "only a manager lets goods out of quarantine, damage or hold").At(
			"to_status", "is for managers")
	}
	return nil
}

// isRelease reports goods inside the warehouse that orders can be promised after
// a movement and not before it: by their status, or by the place they lie in.
func (p *posting) isRelease(m record.StockMovement) bool {
	from, to := m.FromZoneID(), m.ToZoneID()
	if from == "" || to == "" || m.ToStatus() != "available" {
		return false
	}
	leavesQuarantine := p.at[from].kind == "quarantine" && p.at[to].kind != "quarantine"
	return m.FromStatus() != "available" || leavesQuarantine
}
