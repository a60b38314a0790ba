package owners

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/ownstock"
)

// OwnerStockIn names a goods owner and where in the list of items to begin.
type OwnerStockIn struct {
	OwnerID  string `json:"owner_id" format:"uuid" names:"goods_owners" doc:"The goods owner; a client's own when absent."`
	AfterSKU string `json:"after_sku" doc:"Items that come after this SKU: next_sku of the answer before."`
}

// OwnerStockOut is what lies in the warehouse of an owner's goods.
type OwnerStockOut struct {
	verb.Answer
	Owner   verb.Record `json:"owner" record:"goods_owners"`
	Items   []OwnerItem `json:"items" doc:"Items of which something lies here, by SKU, at most 200."`
	NextSKU string      `json:"next_sku,omitempty" doc:"There are more: ask for those after it."`
}

// OwnerItem is what lies here of one item, in its base units.
type OwnerItem struct {
	ItemID   string      `json:"item_id" format:"uuid"`
	SKU      string      `json:"sku"`
	Name     string      `json:"name"`
	UoM      string      `json:"uom" doc:"Base unit of the quantities."`
	OnHand   decimal.Dec `json:"on_hand" doc:"All that lies here, also what is on hold or in a blocked place."`
	Reserved decimal.Dec `json:"reserved" doc:"Of it, promised to orders."`
	Free     decimal.Dec `json:"free" doc:"Of it, what an order can be promised."`
	Lots     []OwnerLot  `json:"lots" doc:"By expiry and number; one without a number is goods of no lot."`
}

// OwnerLot is what lies here of one lot.
type OwnerLot struct {
	LotNo     string      `json:"lot_no"`
	ExpiresOn string      `json:"expires_on,omitempty" format:"date" doc:"Empty where it does not expire."`
	OnHand    decimal.Dec `json:"on_hand"`
	Free      decimal.Dec `json:"free"`
}

// Bounds of an answer.
const (
	ownerItems = 200
	ownerLots  = 20_000
)

// ownerItemsSQL selects items of which an owner keeps something here, whosever item it is.
// $1 tenant, $2 owner, $3 SKU that they come after, $4 how many.
const ownerItemsSQL = `
	SELECT item.id, item.sku, item.name, item.base_uom
	FROM items AS item
	WHERE item.tenant_id = $1
		AND item.sku > $3
		AND EXISTS (
			SELECT 1
			FROM stock_levels AS level
			WHERE level.tenant_id = $1
				AND level.item_id = item.id
				AND level.owner_id = $2
				AND level.quantity > 0
		)
	ORDER BY item.sku
	LIMIT $4`

// ownerLotsSQL selects how much lies here of an owner's goods of items, by lot, and what of
// it lies where orders are promised it, as [ownstock.IsFree] has it of the tenant's own. $1
// tenant, $2 ids of items, $3 owner, $4 how many.
const ownerLotsSQL = `
	SELECT level.item_id, lot.lot_no, lot.expires_on,
		CAST(SUM(level.quantity) AS bigint), CAST(SUM(level.reserved) AS bigint),
		CAST(SUM(
			CASE WHEN level.stock_status = 'available'
				AND {open zone}
				AND {sold lot}
			THEN level.quantity - level.reserved
			ELSE 0 END
		) AS bigint)
	FROM stock_levels AS level
	JOIN zones AS zone ON zone.tenant_id = $1
		AND zone.id = level.zone_id
	LEFT JOIN lots AS lot ON lot.tenant_id = $1
		AND lot.id = level.lot_id
	WHERE level.tenant_id = $1
		AND level.item_id IN {ids $2}
		AND level.owner_id = $3
		AND level.quantity > 0
	GROUP BY level.item_id, lot.lot_no, lot.expires_on
	ORDER BY level.item_id, COALESCE(lot.expires_on, '9999-12-31'), lot.lot_no
	LIMIT $4`

// ListStock lists what lies here of an owner's goods. A client sees its own alone.
func ListStock(c *verb.Call, in *OwnerStockIn) (*OwnerStockOut, error) {
	owner, err := findOwner(c, in.OwnerID)
	if err != nil {
		return nil, err
	}
	out := &OwnerStockOut{Owner: record.Show(c, owner), Items: []OwnerItem{}}
	args := []any{c.TenantID, owner.ID(), query.Identifier(in.AfterSKU), ownerItems + 1}
	err = c.Query(ownerItemsSQL, args, func(r *db.Row) error {
		out.Items = append(out.Items, OwnerItem{ItemID: r.Text(0), SKU: r.Text(1), Name: r.Text(2), UoM: r.Text(3),
			Lots: []OwnerLot{}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out.Items) > ownerItems {
		out.Items = out.Items[:ownerItems]
		out.NextSKU = out.Items[ownerItems-1].SKU
	}
	return out, out.fillLots(c, owner.ID())
}

// fillLots reads how much lies here of the items.
func (out *OwnerStockOut) fillLots(c *verb.Call, owner string) error {
	items := map[string]*OwnerItem{}
	var ids []string
	for i := range out.Items {
		items[out.Items[i].ItemID], ids = &out.Items[i], append(ids, out.Items[i].ItemID)
	}
	lots := 0
	text := db.FillWords(ownerLotsSQL, "{open zone}", ownstock.OpenZone, "{sold lot}", ownstock.SoldLot)
	err := c.Query(text, []any{c.TenantID, query.List(ids), owner, ownerLots + 1}, func(r *db.Row) error {
		if lots++; lots > ownerLots {
			return fault.New(fault.TooLarge, "54000", "more than %d lots lie here of %d items", ownerLots, len(ids)).
				With("", "read stock_levels, page by page")
		}
		item := items[r.Text(0)]
		lot := OwnerLot{LotNo: r.Text(1), ExpiresOn: r.Text(2), OnHand: r.Dec(3), Free: r.Dec(5)}
		item.Lots = append(item.Lots, lot)
		item.OnHand += lot.OnHand
		item.Reserved += r.Dec(4)
		item.Free += lot.Free
		return nil
	})
	if err != nil {
		return fmt.Errorf("owners: what lies here: %w", err)
	}
	return nil
}
