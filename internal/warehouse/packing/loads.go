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

// Load is how much of an order line a shipment that has not left is to carry.
type Load struct {
	ShipmentID  string
	ShipmentNo  string
	OrderLineID string
	LineNo      int64
	Quantity    decimal.Dec // base units
	Packed      decimal.Dec // in the shipment's own packages
	Loose       decimal.Dec // picked for the order line and not packed
}

// Lacks is what of a load is not packed.
func (l Load) Lacks() decimal.Dec { return l.Quantity - l.Packed }

// loadsSQL selects the lines of outbound shipments that have not left. {which} is
// a condition on shipments and their lines. $1 tenant, $2 ids.
const loadsSQL = `
	SELECT shipment.id, shipment.shipment_no, load.order_line_id, line.line_no, load.quantity,
		line.qty_picked - line.qty_packed,
		CAST(COALESCE((
			SELECT SUM(content.quantity)
			FROM package_lines AS content
			JOIN packages AS package ON package.tenant_id = $1 AND package.id = content.package_id
			WHERE content.tenant_id = $1
				AND content.order_line_id = load.order_line_id
				AND package.shipment_id = shipment.id
				AND package.status <> 'emptied'
		), 0) AS bigint)
	FROM shipment_lines AS load
	JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = load.shipment_id
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = load.order_line_id
	WHERE load.tenant_id = $1
		AND {which}
		AND shipment.direction = 'outbound'
		AND shipment.status IN ('planned', 'packed', 'ready')
	ORDER BY shipment.shipment_no, load.id`

// ReadLoadsOfLines reads in which shipments that have not left order lines are to
// travel.
func ReadLoadsOfLines(tx *store.Tx, orderLines []string) ([]Load, error) {
	return readLoads(tx, tx.DB().InUUID("load.order_line_id", 2), orderLines)
}

// ReadLoadsOfShipments reads what shipments that have not left are to carry.
func ReadLoadsOfShipments(tx *store.Tx, shipments []string) ([]Load, error) {
	return readLoads(tx, tx.DB().InUUID("load.shipment_id", 2), shipments)
}

func readLoads(tx *store.Tx, which string, ids []string) (list []Load, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text := strings.ReplaceAll(loadsSQL, "{which}", which)
	err = tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		list = append(list, Load{
			ShipmentID: r.Text(0), ShipmentNo: r.Text(1), OrderLineID: r.Text(2), LineNo: r.Int(3),
			Quantity: r.Dec(4), Loose: r.Dec(5), Packed: r.Dec(6),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("packing: loads: %w", err)
	}
	return list, nil
}

// SumLacking adds up what loads of an order line lack, those of one shipment left
// out.
func SumLacking(loads []Load, orderLine, but string) (sum decimal.Dec) {
	for _, l := range loads {
		if l.OrderLineID == orderLine && l.ShipmentID != but {
			sum += max(l.Lacks(), 0)
		}
	}
	return sum
}

// SumOfOthers adds up what other shipments carry of an order line.
func SumOfOthers(loads []Load, orderLine, but string) (sum decimal.Dec) {
	for _, l := range loads {
		if l.OrderLineID == orderLine && l.ShipmentID != but {
			sum += l.Quantity
		}
	}
	return sum
}

// Unassigned are the packages with something of order lines in them that go with no
// shipment, each with all its contents, in the order of their numbers.
func Unassigned(tx *store.Tx, orderLines []string) (packages [][]Content, err error) {
	if len(orderLines) == 0 {
		return nil, nil
	}
	which := `package.shipment_id IS NULL AND package.id IN (
		SELECT own.package_id
		FROM package_lines AS own
		WHERE own.tenant_id = $1
			AND {lines}
	)`
	which = strings.ReplaceAll(which, "{lines}", tx.DB().InUUID("own.order_line_id", 2))
	list, err := readContents(tx, which, orderLines)
	for _, c := range list {
		if last := len(packages) - 1; last >= 0 && packages[last][0].PackageID == c.PackageID {
			packages[last] = append(packages[last], c)
			continue
		}
		packages = append(packages, []Content{c})
	}
	return packages, err
}

// Fill takes the packages whose whole contents a shipment lacks, in their order, and
// counts them as packed in its loads.
func Fill(loads []Load, packages [][]Content) (taken [][]Content) {
	for _, contents := range packages {
		if !canHold(loads, contents) {
			continue
		}
		for _, c := range contents {
			at := slices.IndexFunc(loads, func(l Load) bool { return l.OrderLineID == c.OrderLineID })
			loads[at].Packed += c.Quantity
		}
		taken = append(taken, contents)
	}
	return taken
}

// canHold reports loads that lack all of a package's contents.
func canHold(loads []Load, contents []Content) bool {
	for _, c := range contents {
		at := slices.IndexFunc(loads, func(l Load) bool { return l.OrderLineID == c.OrderLineID })
		if at < 0 || SumOf(contents, c.OrderLineID) > loads[at].Lacks() {
			return false
		}
	}
	return true
}

// MissingReason says what of a load is not in its shipment's packages, "" where all
// is.
func (l Load) MissingReason() string {
	switch lacks := l.Lacks(); {
	case lacks > l.Loose:
		return fmt.Sprintf("line %d: %s of %s are picked", l.LineNo, l.Packed+l.Loose, l.Quantity)
	case lacks > 0:
		return fmt.Sprintf("line %d: %s of %s are packed", l.LineNo, l.Packed, l.Quantity)
	case lacks < 0:
		return fmt.Sprintf("line %d: %s are packed, and %s travel", l.LineNo, l.Packed, l.Quantity)
	}
	return ""
}

// Package is a package that a shipment takes along.
type Package struct {
	ID      string
	OrderID string // of its contents; of one of them where they are of several
	Orders  int64  // whose goods are in it
}

// packagesSQL selects the packages of shipments that were not emptied. $1 tenant, $2
// ids of shipments.
const packagesSQL = `
	SELECT package.id, MIN(CAST(line.order_id AS text)), COUNT(DISTINCT line.order_id)
	FROM packages AS package
	LEFT JOIN package_lines AS content ON content.tenant_id = $1 AND content.package_id = package.id
	LEFT JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = content.order_line_id
	WHERE package.tenant_id = $1
		AND {shipments}
		AND package.status <> 'emptied'
	GROUP BY package.id
	ORDER BY package.id`

// ReadPackages reads the packages of shipments.
func ReadPackages(tx *store.Tx, shipments []string) (list []Package, err error) {
	if len(shipments) == 0 {
		return nil, nil
	}
	text := strings.ReplaceAll(packagesSQL, "{shipments}", tx.DB().InUUID("package.shipment_id", 2))
	err = tx.Query(text, []any{tx.TenantID, query.List(shipments)}, func(r *db.Row) error {
		list = append(list, Package{ID: r.Text(0), OrderID: r.Text(1), Orders: r.Int(2)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("packing: packages: %w", err)
	}
	return list, nil
}
