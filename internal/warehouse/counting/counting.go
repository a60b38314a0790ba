// Package counting decides what a count of a place means for what lies there:
// which promises yield when less was found than is promised.
//
// Layer: domains. Begin at [YieldPromises].
package counting

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/packing"
)

// promise is an active reservation at a counted place.
type promise struct {
	packing.Identity
	ID          string
	StockKey    string
	OrderLineID string
	Quantity    decimal.Dec // base units
	Picked      bool
}

// promisesSQL selects the active promises at some places: goods that nobody has picked
// before picked ones, and of those the least urgent order first. $1 tenant, $2 stock keys.
const promisesSQL = `
	SELECT promise.id, promise.stock_key, promise.order_line_id, promise.quantity, promise.picked,
		promise.lot_id, promise.serial
	FROM reservations AS promise
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = promise.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE promise.tenant_id = $1
		AND {keys}
		AND promise.state = 'active'
	ORDER BY promise.picked, orders.priority DESC, promise.id DESC`

// readPromises reads the active promises at places, those that yield first in front.
func readPromises(tx *store.Tx, keys []string) (list []promise, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	text := strings.ReplaceAll(promisesSQL, "{keys}", tx.DB().InText("promise.stock_key", 2))
	err = tx.Query(text, []any{tx.TenantID, query.List(keys)}, func(r *db.Row) error {
		list = append(list, promise{
			ID: r.Text(0), StockKey: r.Text(1), OrderLineID: r.Text(2), Quantity: r.Dec(3), Picked: r.Bool(4),
			Identity: packing.Identity{LotID: r.Text(5), Serial: r.Text(6)},
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("counting: promises at counted places: %w", err)
	}
	return list, nil
}

// sumMissing returns how much of what is promised at each place was not found, by stock
// key; places where enough was found are left out.
func sumMissing(list []promise, found map[string]decimal.Dec) map[string]decimal.Dec {
	missing := map[string]decimal.Dec{}
	for _, p := range list {
		missing[p.StockKey] += p.Quantity
	}
	for key, promised := range missing {
		if missing[key] = promised - found[key]; missing[key] <= 0 {
			delete(missing, key)
		}
	}
	return missing
}

// chooseYielding returns how much each promise gives back until what is left of them was
// found. free says how much of a promise yields, at most so much: what is packed does not. Places whose
// promises cannot yield enough keep the rest in missing.
func chooseYielding(
	list []promise, missing map[string]decimal.Dec, free func(p promise, most decimal.Dec) decimal.Dec,
) []promise {
	var yielding []promise
	for _, p := range list {
		lacks := missing[p.StockKey]
		if lacks <= 0 {
			continue
		}
		if p.Quantity = free(p, min(lacks, p.Quantity)); p.Quantity <= 0 {
			continue
		}
		missing[p.StockKey] -= p.Quantity
		yielding = append(yielding, p)
	}
	return yielding
}
