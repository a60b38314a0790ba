package swapping

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// promisesSQL selects active promises of goods that are not picked yet, with the lines
// that pick them and what their order lines want. $1 tenant.
const promisesSQL = `
	SELECT promise.id, pick.id, promise.order_line_id, promise.lot_id, promise.serial, promise.lpn,
		promise.owner_id, lot.lot_no, lot.expires_on,
		promise.quantity, COALESCE(pick.qty_picked, 0),
		item.id, item.sku, zone.id, zone.code,
		orders.order_no, line.lot_id, line.min_expiry, orders.promised_at, COALESCE(item.min_remaining_days, 0),
		tenant.timezone, promise.stock_key, lot.status
	FROM reservations AS promise
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = promise.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	JOIN items AS item ON item.tenant_id = $1 AND item.id = promise.item_id
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = promise.zone_id
	JOIN tenants AS tenant ON tenant.id = $1
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = promise.lot_id
	LEFT JOIN pick_lines AS pick ON pick.tenant_id = $1 AND pick.reservation_id = promise.id AND pick.status = 'pending'
	WHERE promise.tenant_id = $1
		AND promise.state = 'active'
		AND NOT promise.picked
		AND {which}
	ORDER BY promise.id`

// Which promises: that of a pick line, or those at stock levels.
const (
	ofPickLine = `promise.id = (
			SELECT own.reservation_id
			FROM pick_lines AS own
			WHERE own.tenant_id = $1
				AND own.id = $2
		)`
	atLevels = "promise.stock_key IN {texts $2}"
)

// twinsSQL selects the stock of an item at a place that was scanned. $1 tenant, $2 item,
// $3 zone, $4 what was read.
const twinsSQL = `
	SELECT level.stock_key, level.lot_id, level.serial, level.lpn, level.owner_id,
		lot.lot_no, lot.status, lot.expires_on, level.quantity - level.reserved
	FROM stock_levels AS level
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = level.lot_id
	WHERE level.tenant_id = $1
		AND level.item_id = $2
		AND level.zone_id = $3
		AND level.stock_status = 'available'
		AND level.quantity > 0
		AND {read}
	ORDER BY level.id`

// readPromise reads the promise that a pick line picks, nil for none.
func readPromise(tx *store.Tx, lineID string) (*promise, error) {
	list, err := readPromises(tx, ofPickLine, lineID)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// readRivals reads the promises that lie on stock.
func readRivals(tx *store.Tx, stock []twin) ([]promise, error) {
	keys := make([]string, len(stock))
	for i, t := range stock {
		keys[i] = t.goods.key
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return readPromises(tx, atLevels, query.List(keys))
}

func readPromises(tx *store.Tx, which string, of any) (list []promise, err error) {
	err = tx.Query(db.FillWords(promisesSQL, "{which}", which), []any{tx.TenantID, of}, func(r *db.Row) error {
		p := promise{
			id: r.Text(0), pickLineID: r.Text(1), orderLineID: r.Text(2),
			goods:   goods{r.Text(3), r.Text(4), r.Text(5), r.Text(21)},
			ownerID: r.Text(6), lotNo: r.Text(7), lotStatus: r.Text(22), expires: r.Text(8),
			quantity: r.Dec(9), picked: r.Dec(10),
			itemID: r.Text(11), sku: r.Text(12), zoneID: r.Text(13), zone: r.Text(14),
			demand: demand{orderNo: r.Text(15), lotID: r.Text(16), minExpiry: r.Text(17), keep: r.Int(19)},
		}
		p.leaveAt(tx, r, 18, r.Text(20))
		list = append(list, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("swapping: promises: %w", err)
	}
	return list, nil
}

// readTwins reads the stock at the place of a promise that was scanned, whoever owns it.
func readTwins(tx *store.Tx, mine *promise, scanned code) (list []twin, err error) {
	read, value := "lower(lot.lot_no) = lower($4)", scanned.lotNo
	if scanned.serial != "" {
		read, value = "level.serial = $4", scanned.serial
	}
	args := []any{tx.TenantID, mine.itemID, mine.zoneID, value}
	err = tx.Query(db.FillWords(twinsSQL, "{read}", read), args, func(r *db.Row) error {
		t := twin{
			goods: goods{r.Text(1), r.Text(2), r.Text(3), r.Text(0)}, ownerID: r.Text(4),
			lotNo: r.Text(5), lotStatus: r.Text(6), expires: r.Text(7), free: r.Dec(8),
		}
		list = append(list, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("swapping: stock: %w", err)
	}
	return list, nil
}
