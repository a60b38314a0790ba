package sites

import (
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// CheckPicks refuses pick lines that somebody writes by hand where they would take goods
// of another site than their order's, or make a list of two sites. Lines that stand for a
// promise follow it. It returns which of the changes it refuses. The caller holds the lists.
func CheckPicks(tx *store.Tx, changes []store.Change) (at int, err error) {
	var rows []record.PickLine
	var places []int
	for i, c := range record.Changes[record.PickLine](changes) {
		isByHand := c.Op == store.Insert && !c.After.HasReservationID()
		if isByHand || c.Alters(record.PickLine.ZoneIDOrNull, record.PickLine.OrderLineIDOrNull) {
			rows, places = append(rows, c.After), append(places, i)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	bins, lines := record.Texts(rows, record.PickLine.ZoneID), record.Texts(rows, record.PickLine.OrderLineID)
	zones, err := ReadOfZones(tx, uniqueIDs(slices.Clone(bins)))
	if err != nil {
		return 0, err
	}
	orders, err := readOrdersOfLines(tx, uniqueIDs(slices.Clone(lines)))
	if err != nil {
		return 0, err
	}
	for n := range rows {
		order, bin := orders[lines[n]], zones[bins[n]]
		if order.across || !Differ(order.site, bin.SiteID) {
			continue
		}
		return places[n], refuseEntry(tx, order.number, order.site, bin, "zone_id")
	}
	n, err := findStray(tx, rows, zones)
	if n < 0 {
		return 0, err
	}
	return places[n], err
}

// lineOrder is the order of a line.
type lineOrder struct {
	number, site string
	across       bool // it may take goods of other sites, too
}

// ordersOfLinesSQL selects the orders of order lines. $1 tenant, $2 ids of lines.
const ordersOfLinesSQL = `
	SELECT line.id, orders.order_no, orders.site_id, orders.type = 'transfer'
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.id IN {ids $2}`

// readOrdersOfLines returns the orders of order lines by the lines' ids.
func readOrdersOfLines(tx *store.Tx, lines []string) (map[string]lineOrder, error) {
	orders := map[string]lineOrder{}
	if len(lines) == 0 {
		return orders, nil
	}
	across, err := ReadAcross(tx)
	if err != nil {
		return nil, err
	}
	err = tx.Query(ordersOfLinesSQL, []any{tx.TenantID, query.List(lines)}, func(r *db.Row) error {
		orders[r.Text(0)] = lineOrder{number: r.Text(1), site: r.Text(2), across: across && !r.Bool(3)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sites: orders of lines: %w", err)
	}
	return orders, nil
}

// sitesOfListsSQL selects the sites of the lines of pick lists, but for some lines. $1
// tenant, $2 ids of lists, $3 ids of the lines that are left out.
const sitesOfListsSQL = `
	SELECT DISTINCT line.pick_list_id, {site}
	FROM pick_lines AS line
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = line.zone_id
	WHERE line.tenant_id = $1
		AND line.pick_list_id IN {ids $2}
		AND NOT line.id IN {ids $3}
		AND line.status <> 'cancelled'`

// findStray finds the first of some pick lines that lies at another site than the other
// lines of its list, those written with it among them, and refuses it; -1 for none.
func findStray(tx *store.Tx, rows []record.PickLine, zones map[string]Zone) (at int, err error) {
	lists, bins := record.Texts(rows, record.PickLine.PickListID), record.Texts(rows, record.PickLine.ZoneID)
	known := map[string][]string{}
	args := []any{tx.TenantID, query.List(uniqueIDs(slices.Clone(lists))), query.List(record.IDs(rows))}
	err = tx.Query(FillStatement(sitesOfListsSQL), args, func(r *db.Row) error {
		known[r.Text(0)] = append(known[r.Text(0)], r.Text(1))
		return nil
	})
	if err != nil {
		return -1, fmt.Errorf("sites: of pick lists: %w", err)
	}
	for n, list := range lists {
		bin := zones[bins[n]]
		if slices.ContainsFunc(known[list], func(site string) bool { return Differ(site, bin.SiteID) }) {
			const why = "lies at another site than the other lines of the pick list"
			return n, fault.New(fault.Conflict, CodeElsewhere, "zone %s %s", bin.Code, why).
				With("", "write a list of its own for it: a list is walked at one site").
				At("zone_id", "%s", why)
		}
		known[list] = append(known[list], bin.SiteID)
	}
	return -1, nil
}
