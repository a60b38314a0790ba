package costs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Books say what the stock of a day was and what it was worth.
type Books struct{ store *store.Store }

// NewBooks returns the books over the movements of s.
func NewBooks(s *store.Store) *Books { return &Books{s} }

// Stock is what there was of an item and owner at a site, and what it was worth.
type Stock struct {
	SKU, Name, Unit string
	OwnerCode       string      // "" for the tenant's own goods
	SiteCode        string      // "" for places of no site
	Quantity        decimal.Dec // base units
	Cost            decimal.Dec // of one on average
	Known           bool        // what it cost is known
	Value           decimal.Dec // quantity x cost, 0 where that is not known

	key goodsKey
}

// Day is the stock at the end of a day.
type Day struct {
	Date     localtime.Date
	Currency string
	Stock    []Stock // by SKU, owner and site
}

// stockSQL selects what there was before a moment by item, owner and site. $1 tenant, $2
// the moment.
const stockSQL = `
	SELECT moved.item_id, moved.owner_id, item.sku, item.name, item.base_uom, owner.code, site.code,
		CAST(SUM(moved.quantity) AS bigint)
	FROM (
		SELECT item_id, owner_id, to_zone_id AS zone_id, quantity
		FROM stock_movements
		WHERE tenant_id = $1 AND occurred_at < $2 AND to_zone_id IS NOT NULL
		UNION ALL
		SELECT item_id, owner_id, from_zone_id AS zone_id, -quantity
		FROM stock_movements
		WHERE tenant_id = $1 AND occurred_at < $2 AND from_zone_id IS NOT NULL
	) AS moved
	JOIN items AS item ON item.tenant_id = $1 AND item.id = moved.item_id
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = moved.zone_id
	LEFT JOIN sites AS site ON site.tenant_id = $1 AND site.id = zone.site_id
	LEFT JOIN goods_owners AS owner ON owner.tenant_id = $1 AND owner.id = moved.owner_id
	GROUP BY moved.item_id, moved.owner_id, item.sku, item.name, item.base_uom, owner.code, site.code
	HAVING SUM(moved.quantity) <> 0`

// ReadDay returns the stock at the end of a day where the tenant is, YYYY-MM-DD, today's
// for "". A movement counts on the day when it happened. What stock is worth is reckoned
// from what the movements cost when they were posted: what items cost now is not asked.
// The faults name as_of: no date, or one in the future.
func (b *Books) ReadDay(ctx context.Context, a actor.Actor, asOf string) (*Day, error) {
	day := &Day{}
	err := b.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		tx.Queue("SELECT currency FROM tenants WHERE id = $1", []any{a.TenantID}, func(r *db.Row) error {
			day.Currency = r.Text(0)
			return nil
		})
		var err error
		var place *time.Location
		if day.Date, place, err = b.readDate(tx, a, asOf); err != nil {
			return err
		}
		day.Stock, err = readStock(tx, a.TenantID, day.Date.AddDays(1).Start(place))
		return err
	})
	if err != nil {
		return nil, err
	}
	return day, nil
}

// CheckDay refuses a day that [Books.ReadDay] would.
func (b *Books) CheckDay(ctx context.Context, a actor.Actor, asOf string) error {
	return b.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		_, _, err := b.readDate(tx, a, asOf)
		return err
	})
}

// readDate reads a day where the tenant is, and where that is.
func (b *Books) readDate(tx *db.Tx, a actor.Actor, asOf string) (localtime.Date, *time.Location, error) {
	zone := ""
	store.QueueZone(tx, a.TenantID, &zone)
	if err := tx.Flush(); err != nil {
		return localtime.Date{}, nil, err
	}
	place := localtime.Zone(zone)
	date, err := parseDate(asOf, localtime.DateOf(b.store.Now(), place))
	return date, place, err
}

func parseDate(asOf string, today localtime.Date) (localtime.Date, error) {
	if asOf == "" {
		return today, nil
	}
	date, err := localtime.ParseDate(asOf)
	if err != nil {
		return date, fault.New(fault.Invalid, "22007", "as_of is no date such as 2026-01-31").At("as_of", "is no date")
	}
	if today.Before(date) {
		return date, fault.New(fault.Invalid, "22008", "as_of is %s, and today is %s: nobody knows that day's stock yet",
			date, today).At("as_of", "lies in the future")
	}
	return date, nil
}

// readStock reads what there was before a moment, and what it was worth.
func readStock(tx *db.Tx, tenant string, before time.Time) ([]Stock, error) {
	var list []Stock
	until := query.FormatTime(before)
	err := tx.Query(stockSQL, []any{tenant, until}, func(r *db.Row) error {
		list = append(list, Stock{key: goodsKey{r.Text(0), r.Text(1)}, SKU: r.Text(2), Name: r.Text(3), Unit: r.Text(4),
			OwnerCode: r.Text(5), SiteCode: r.Text(6), Quantity: r.Dec(7)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("costs: stock before %s: %w", until, err)
	}
	averages := map[goodsKey]Standing{}
	err = readHistory(tx, tenant, until, func(item, owner string, s Standing) {
		averages[goodsKey{item, owner}] = s
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		line := &list[i]
		s := averages[line.key]
		line.Cost, line.Known = s.Average, s.Known
		if line.Value, err = line.Quantity.Mul(s.Average); err != nil {
			return nil, fmt.Errorf("costs: value of item %s: %w", line.key.item, err)
		}
	}
	slices.SortFunc(list, func(x, y Stock) int {
		return cmp.Or(strings.Compare(x.SKU, y.SKU), strings.Compare(x.OwnerCode, y.OwnerCode),
			strings.Compare(x.SiteCode, y.SiteCode))
	})
	return list, nil
}

// Worth is what stock is worth now, from what its movements cost.
type Worth struct {
	OfTenant Sum // of the tenant's own goods
	OfOwners Sum // of goods that owners keep here
}

// SumWorth is what the stock of the day was worth.
func (d *Day) SumWorth() (w Worth) {
	for _, line := range d.Stock {
		sum := &w.OfTenant
		if line.key.owner != "" {
			sum = &w.OfOwners
		}
		sum.addStock(line.Quantity, line.Cost)
	}
	return w
}

// Sum is a sum of values, which may come to more than a number holds.
type Sum struct {
	value  decimal.Dec
	isPast bool
}

// Told is the sum, nil where it comes to more than a number holds.
func (s *Sum) Told() *decimal.Dec {
	if s.isPast {
		return nil
	}
	return &s.value
}

// addStock adds what a quantity at a cost is worth.
func (s *Sum) addStock(quantity, cost decimal.Dec) {
	value, err := quantity.Mul(cost)
	if err != nil || value > math.MaxInt64-s.value {
		s.isPast = true
		return
	}
	s.value += value
}

// worthSQL selects the stock there is and its average cost. $1 tenant.
const worthSQL = `
	SELECT owner_id, quantity, average_cost
	FROM item_costs
	WHERE tenant_id = $1
		AND quantity <> 0`

// QueueWorth queues reading what a tenant's stock is worth now.
func QueueWorth(tx *db.Tx, tenant string, into *Worth) {
	tx.Queue(worthSQL, []any{tenant}, func(r *db.Row) error {
		sum := &into.OfTenant
		if !r.Null(0) {
			sum = &into.OfOwners
		}
		sum.addStock(r.Dec(1), r.Dec(2))
		return nil
	})
}
