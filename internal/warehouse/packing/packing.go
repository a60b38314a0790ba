// Package packing says what lies in packages: goods of order lines by lot and
// serial number, which of them are picked and not packed yet, what a shipment
// that has not left still lacks, and which packages may go with it. It takes
// goods out of packages; what packages and shipments then become is for the
// verbs of package warehouse.
//
// Layer: domains. Begin at [ReadContents].
package packing

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Identity is what tells goods of one order line apart; "" is none.
type Identity struct{ LotID, Serial string }

// Goods are pieces of an order line, of one lot and serial number.
type Goods struct {
	Identity
	OrderLineID string
	ItemID      string
	Quantity    decimal.Dec // base units
}

// Content is goods in a package.
type Content struct {
	Goods
	ID         string // of the package line
	PackageID  string
	PackageNo  string
	ShipmentID string // "" while the package goes with no shipment
	Status     string // of the package: open or closed
	SSCC       string // of the package, "" while it is open
}

// contentsSQL selects what is in packages that were not emptied. {which} is a
// condition on packages, their lines and shipments. $1 tenant, $2 ids.
const contentsSQL = `
	SELECT line.id, line.package_id, package.package_no, package.shipment_id, package.status, package.sscc,
		line.order_line_id, line.item_id, line.lot_id, line.serial, line.quantity
	FROM package_lines AS line
	JOIN packages AS package ON package.tenant_id = $1 AND package.id = line.package_id
	LEFT JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = package.shipment_id
	WHERE line.tenant_id = $1
		AND package.status <> 'emptied'
		AND {which}
	ORDER BY package.package_no, line.package_id, line.id`

// InHouseSQL says in SQL of a package's shipment, which may be none, that the
// package has not left.
const InHouseSQL = `(shipment.id IS NULL OR shipment.status IN ('planned', 'packed', 'ready'))`

// ReadContents reads what lies packed of order lines and has not left.
func ReadContents(tx *store.Tx, orderLines []string) ([]Content, error) {
	return readContents(tx, tx.DB().InUUID("line.order_line_id", 2)+" AND "+InHouseSQL, orderLines)
}

// ReadContentsOfShipments reads what is in the packages of shipments, whether they
// have left or not.
func ReadContentsOfShipments(tx *store.Tx, shipments []string) ([]Content, error) {
	return readContents(tx, tx.DB().InUUID("package.shipment_id", 2), shipments)
}

// ReadContentsOfPackage reads what is in a package that was not emptied.
func ReadContentsOfPackage(tx *store.Tx, id string) ([]Content, error) {
	return readContents(tx, tx.DB().InUUID("line.package_id", 2), []string{id})
}

func readContents(tx *store.Tx, which string, ids []string) (list []Content, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text := strings.ReplaceAll(contentsSQL, "{which}", which)
	err = tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		list = append(list, Content{
			ID: r.Text(0), PackageID: r.Text(1), PackageNo: r.Text(2), ShipmentID: r.Text(3), Status: r.Text(4), SSCC: r.Text(5),
			Goods: scanGoods(r, 6),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("packing: contents: %w", err)
	}
	return list, nil
}

// scanGoods reads goods from five columns of a row: order line, item, lot, serial
// number and quantity.
func scanGoods(r *db.Row, i int) Goods {
	return Goods{
		OrderLineID: r.Text(i), ItemID: r.Text(i + 1),
		Identity: Identity{LotID: r.Text(i + 2), Serial: r.Text(i + 3)},
		Quantity: r.Dec(i + 4),
	}
}

// SumOf adds up what is packed of an order line.
func SumOf(contents []Content, orderLine string) (sum decimal.Dec) {
	for _, c := range contents {
		if c.OrderLineID == orderLine {
			sum += c.Quantity
		}
	}
	return sum
}

// OfShipment are the contents of one shipment's packages.
func OfShipment(contents []Content, shipment string) (own []Content) {
	for _, c := range contents {
		if c.ShipmentID == shipment {
			own = append(own, c)
		}
	}
	return own
}

// Loose is goods that are picked for order lines and not packed.
type Loose struct{ goods []Goods }

// pickedSQL selects what lies picked for order lines, oldest promise first.
// $1 tenant, $2 ids of order lines.
const pickedSQL = `
	SELECT promise.order_line_id, promise.item_id, promise.lot_id, promise.serial, promise.quantity
	FROM reservations AS promise
	WHERE promise.tenant_id = $1
		AND {lines}
		AND promise.state = 'active'
		AND promise.picked
	ORDER BY promise.id`

// ReadLoose reads what is picked for order lines and not packed. The caller holds
// the lines' orders.
func ReadLoose(tx *store.Tx, orderLines []string) (*Loose, error) {
	packed, err := ReadContents(tx, orderLines)
	if err != nil || len(orderLines) == 0 {
		return &Loose{}, err
	}
	out := &Loose{}
	text := strings.ReplaceAll(pickedSQL, "{lines}", tx.DB().InUUID("promise.order_line_id", 2))
	err = tx.Query(text, []any{tx.TenantID, query.List(orderLines)}, func(r *db.Row) error {
		out.goods = append(out.goods, scanGoods(r, 0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("packing: picked goods: %w", err)
	}
	for _, c := range packed {
		out.Take(c.OrderLineID, &c.Identity, c.Quantity)
	}
	return out, nil
}

// Sum is how much of an order line is loose, of one identity or, where that is nil,
// of any.
func (l *Loose) Sum(orderLine string, of *Identity) (sum decimal.Dec) {
	for _, g := range l.goods {
		if g.OrderLineID == orderLine && (of == nil || g.Identity == *of) {
			sum += g.Quantity
		}
	}
	return sum
}

// Take takes up to a quantity of an order line's loose goods, of one identity or,
// where that is nil, of any, and returns what it took.
func (l *Loose) Take(orderLine string, of *Identity, most decimal.Dec) (taken []Goods) {
	for i := range l.goods {
		g := &l.goods[i]
		if g.OrderLineID != orderLine || of != nil && g.Identity != *of {
			continue
		}
		q := min(most, g.Quantity)
		if q == 0 {
			continue
		}
		part := *g
		part.Quantity = q
		g.Quantity -= q
		most -= q
		taken = append(taken, part)
	}
	return mergeSame(taken)
}

// mergeSame adds up goods of the same order line and identity.
func mergeSame(list []Goods) (out []Goods) {
	for _, g := range list {
		at := slices.IndexFunc(out, func(o Goods) bool {
			return o.OrderLineID == g.OrderLineID && o.Identity == g.Identity
		})
		if at < 0 {
			out = append(out, g)
			continue
		}
		out[at].Quantity += g.Quantity
	}
	return out
}

// TakeOut takes up to a quantity of an order line's goods out of contents, of one
// identity or, where that is nil, of any, and returns how much there was.
func TakeOut(contents []Content, orderLine string, of *Identity, most decimal.Dec) (has decimal.Dec) {
	for i := range contents {
		c := &contents[i]
		if c.OrderLineID != orderLine || of != nil && c.Identity != *of {
			continue
		}
		has += c.Quantity
		q := min(most, c.Quantity)
		c.Quantity -= q
		most -= q
	}
	return has
}
