package planning

import (
	"context"
	"math"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/score"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/ownstock"
)

// StockIn asks for a page of the inventory plan.
type StockIn struct {
	ItemID   string  `query:"item_id" format:"uuid" doc:"One item; all active ones by SKU when absent."`
	Page     int64   `query:"page" default:"1" min:"1" max:"1000000000000" doc:"Page of the list."`
	PageSize int64   `query:"pageSize" default:"50" min:"1" clamp:"200" doc:"Items of a page; more than 200 counts as 200."`
	Lead     float64 `query:"lead_time_days" default:"7" min:"0" max:"3650" doc:"Lead time of items that have none of their own, in days."`
	Z        float64 `query:"z" default:"1.645" min:"0" max:"6" doc:"Standard deviations of safety stock; 1.645 covers 95 percent of lead times."`
	ABC      bool    `query:"abc" default:"false" doc:"Also the class by yearly issue value, which looks at every item."`
}

// StockOut is the answer of inventory-plan.
type StockOut struct {
	output.Kept
	Items []StockItem   `json:"items" doc:"The items of the page, by SKU."`
	Page  PaginationOut `json:"pagination" doc:"Which page this is."`
}

// PaginationOut says which page a list is.
type PaginationOut struct {
	Page int64 `json:"page" doc:"The page, from 1."`
	Size int64 `json:"pageSize" doc:"Items of a page."`
	More bool  `json:"hasMore" doc:"Whether the list goes on."`
}

// StockItem is how an item moves, and the reorder point that its demand asks
// for.
type StockItem struct {
	ID        string      `json:"item_id" format:"uuid" doc:"The item."`
	SKU       string      `json:"sku" doc:"Its SKU."`
	Name      string      `json:"name" doc:"Its name."`
	OnHand    decimal.Dec `json:"on_hand" unit:"base units of the item" doc:"Own stock on hand, in all zones."`
	Available decimal.Dec `json:"available" unit:"base units of the item" doc:"Own stock, free to promise."`
	Point     decimal.Dec `json:"reorder_point" unit:"base units of the item" doc:"The reorder point that is set."`
	Suggested *float64    `json:"suggested_reorder_point" unit:"base units of the item" doc:"Demand of the lead time and a safety stock, if enough was seen."`
	Below     *bool       `json:"below_suggestion" doc:"Whether available is at or below the suggestion; null without one."`
	Lead      float64     `json:"lead_time_days" unit:"days" doc:"Time from an order to its arrival."`
	Demand    float64     `json:"demand_per_day" unit:"base units per day" doc:"Mean of what was shipped in a day."`
	SD        float64     `json:"demand_sd" unit:"base units per day" doc:"Standard deviation of a day's demand."`
	Days      int         `json:"observed_days" unit:"days" doc:"Days that the demand was observed."`
	Turns     *float64    `json:"turns" unit:"per year" doc:"How often the stock turns over; null where it never ran on stock."`
	Movement  string      `json:"movement" enum:"dead,fast,slow,normal" doc:"How the item moves."`
	Low       bool        `json:"low_stock" doc:"Available is at or below the reorder point."`
	Critical  bool        `json:"critical" doc:"It is out while somebody waits for it, or far below its reorder point."`
	ABC       *string     `json:"abc_class" enum:"A,B,C" doc:"The class that is set."`
	BestABC   *string     `json:"suggested_abc_class,omitempty" enum:"A,B,C" doc:"The class by yearly issue value, to those who see costs; only when asked for."`

	stock inventory.Stock
	cost  decimal.Dec
	year  float64 // issued in 365 days, in base units
}

// The cuts between classes look at a year's value of all items. Where they took
// longer than dear they serve the next pages as well: for abcShare times as long
// as that took, but no longer than an answer is kept.
const (
	abcShare = 200
	abcMost  = time.Minute
)

// Stock answers inventory-plan: how each item of a page moves, and the reorder
// point that its demand asks for. It changes no item: the decision is the
// manager's. Demand is what was shipped in the last 90 days, or since the
// item's first movement; items that came less than four weeks ago get no
// suggestion.
func (p *Planner) Stock(ctx context.Context, a actor.Actor, in *StockIn) (*StockOut, error) {
	now := p.now().UTC()
	out := &StockOut{Kept: output.KeptOf(a.TenantID, now), Items: []StockItem{}}
	out.Page.Page, out.Page.Size = in.Page, in.PageSize
	// Classes by value rank the costs of items whose demand is told beside them.
	ranks := in.ABC && catalog.SeesCosts(a.Role)
	cuts, known := p.cuts.Get(a.TenantID, now)
	begun := time.Now()
	var values []float64
	place := ""
	err := p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		out.Items = out.Items[:0]
		if ranks && !known {
			values = values[:0]
			queueYear(tx, a.TenantID, now, &values)
		}
		store.QueueZone(tx, a.TenantID, &place)
		if err := out.loadItems(tx, a.TenantID, in, &place); err != nil || len(out.Items) == 0 {
			return err
		}
		return out.bookMovements(tx, a.TenantID, now, localtime.Zone(place))
	})
	if err != nil {
		return nil, err
	}
	if ranks && !known {
		cuts = inventory.CutABC(values)
		if took := time.Since(begun); took > p.dear {
			p.cuts.PutSince(a.TenantID, cuts, begun, now.Add(min(took*abcShare, abcMost)))
		}
	}
	for i := range out.Items {
		it := &out.Items[i]
		it.judgeItem(in, inventory.DayOf(now, localtime.Zone(place)))
		if ranks {
			class := cuts.Class(it.year * it.cost.Float())
			it.BestABC = &class
		}
	}
	return out, nil
}

// loadItems reads the items of the page. place is the tenant's time zone once the
// transaction's queue has been flushed.
func (o *StockOut) loadItems(tx *db.Tx, tenant string, in *StockIn, place *string) error {
	where, args := "", []any{tenant, in.PageSize + 1, (in.Page - 1) * in.PageSize}
	if in.ItemID != "" {
		where, args = " AND i.id = $4", append(args, in.ItemID)
	}
	tx.Queue(db.FillWords(`
		SELECT i.id, i.sku, i.name, i.on_hand, i.available, i.reorder_point, i.lead_time_days,
			i.abc_class, i.unit_cost, {first movement}, {on order}
		FROM items i
		WHERE i.tenant_id = $1
			AND i.is_kit IS NOT TRUE
			AND i.status = 'active' {where}
		ORDER BY i.sku
		LIMIT $2 OFFSET $3`,
		"{first movement}", ownstock.FirstMovement, "{on order}", inventory.OnOrder, "{where}", where), args,
		func(r *db.Row) error {
			if int64(len(o.Items)) == in.PageSize {
				o.Page.More = true
				return nil
			}
			it := StockItem{ID: r.Text(0), SKU: r.Text(1), Name: r.Text(2), OnHand: r.Dec(3), Available: r.Dec(4),
				Point: r.Dec(5), Lead: in.Lead, cost: r.Dec(8)}
			if !r.Null(6) {
				it.Lead = float64(r.Int(6))
			}
			if class := r.Text(7); class != "" {
				it.ABC = &class
			}
			it.stock = inventory.Stock{OnHand: it.OnHand, Available: it.Available, ReorderPoint: it.Point,
				FirstIn: inventory.DayOf(r.Time(9), localtime.Zone(*place)),
				OnOrder: r.Bool(10)}
			o.Items = append(o.Items, it)
			return nil
		})
	return tx.Flush()
}

// bookMovements books a year of the page's movements, day by day, and takes off what of the
// items owners keep here.
func (o *StockOut) bookMovements(tx *db.Tx, tenant string, now time.Time, zone *time.Location) error {
	byID, ids := map[string]*StockItem{}, make([]string, len(o.Items))
	for i := range o.Items {
		byID[o.Items[i].ID], ids[i] = &o.Items[i], o.Items[i].ID
	}
	ownstock.QueueOwners(tx, tenant, ids, func(item string, quantity decimal.Dec) {
		it := byID[item]
		it.OnHand -= quantity
		it.stock.OnHand = it.OnHand
	})
	today, year := inventory.DayOf(now, zone), now.AddDate(0, 0, -365)
	day := tx.DB().LocalDay("occurred_at", localtime.Offsets(year, now, zone))
	return tx.Query(db.FillWords(`
		SELECT item_id, {day}, CAST(SUM(CASE WHEN type IN {outward} THEN -quantity ELSE quantity END) AS bigint),
			CAST(COALESCE(SUM(quantity) FILTER (WHERE type = 'ship'), 0) AS bigint)
		FROM stock_movements
		WHERE tenant_id = $1
			AND item_id IN {ids $2}
			AND {own goods}
			AND occurred_at > $3
			AND (type IN {outward} OR type IN {inward})
		GROUP BY item_id, {day}`,
		"{day}", day, "{outward}", warehouse.Outward, "{own goods}", ownstock.OwnGoods, "{inward}", warehouse.Inward),
		[]any{tenant, query.List(ids), year}, func(r *db.Row) error {
			at, err := time.Parse(time.DateOnly, r.Text(1))
			if it := byID[r.Text(0)]; it != nil && err == nil {
				it.stock.Book(today, at, r.Dec(2), r.Dec(3))
				it.year += r.Dec(3).Float()
			}
			return err
		})
}

const queueYearSQL = `
	SELECT items.unit_cost, m.quantity
	FROM (SELECT item_id, CAST(SUM(quantity) AS bigint) AS quantity
		FROM stock_movements
		WHERE tenant_id = $1 AND occurred_at > $2 AND type = 'ship' AND owner_id IS NULL
		GROUP BY item_id) m
	JOIN items ON items.tenant_id = $1 AND items.id = m.item_id AND items.status = 'active'`

// queueYear asks for the yearly issue value of every item that had one.
func queueYear(tx *db.Tx, tenant string, now time.Time, into *[]float64) {
	tx.Queue(queueYearSQL, []any{tenant, now.AddDate(0, 0, -365)}, func(r *db.Row) error {
		*into = append(*into, r.Dec(0).Float()*r.Dec(1).Float())
		return nil
	})
}

// judgeItem fills what follows from the movements.
func (it *StockItem) judgeItem(in *StockIn, today time.Time) {
	c := it.stock.Classify(today)
	it.Low, it.Critical, it.Movement = c.Low, c.Critical, "normal"
	switch {
	case c.Dead:
		it.Movement = "dead"
	case c.Fast:
		it.Movement = "fast"
	case c.Slow:
		it.Movement = "slow"
	}
	if turns := it.stock.Turns(); !math.IsInf(turns, 0) {
		turns = score.Round(turns, 1)
		it.Turns = &turns
	}
	d := it.stock.Demand(today)
	it.Demand, it.SD, it.Days = score.Round(d.Mean, 2), score.Round(d.SD, 2), d.Days
	if d.Days < inventory.LeastDemandDays {
		return
	}
	point := d.ReorderPoint(it.Lead, in.Z)
	below := point > 0 && it.Available.Float() <= point
	it.Suggested, it.Below = &point, &below
}
