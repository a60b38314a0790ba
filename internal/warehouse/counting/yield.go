package counting

import (
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// Place is a counted place with what was found there.
type Place struct {
	Key    string // stock key
	ItemID string
	Found  decimal.Dec // base units

	LookedAt string // when it was found there; "" = at this moment
}

// Pledges change promises; package warehouse keeps them in step with stock levels.
type Pledges struct {
	Cut     func(reservation record.Reservation, quantity decimal.Dec) (record.Reservation, error)
	Release func(reservations []record.Reservation) error
	Settle  func(orderLines []string) error
}

// Held are the order lines of promises whose orders are locked.
type Held map[string]bool

// YieldPromises gives back what is promised at counted places and was not found, and
// returns the promises that were given back. Orders and pick lists are locked before
// items, so the caller has called [LockPromised] before it locked any. A promise that was
// made in between is one of an order that is not held: the transaction begins again.
func YieldPromises(tx *store.Tx, places []Place, held Held, keys Keys, pledges Pledges) ([]record.Reservation, error) {
	items := map[string]bool{}
	for _, p := range places {
		items[p.ItemID] = true
	}
	if err := lockItems(tx, items); err != nil {
		return nil, err
	}
	list, missing, err := readMissing(tx, places, keys)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	for _, p := range list {
		if !held[p.OrderLineID] {
			return nil, fault.New(fault.Unavailable, "40001", "goods were promised while they were counted: try again")
		}
	}
	return giveBack(tx, list, missing, pledges)
}

// lockItems locks items, so that nobody promises their stock meanwhile.
func lockItems(tx *store.Tx, items map[string]bool) error {
	if tx.DB().ForUpdate() == "" {
		return nil
	}
	ids := make([]string, 0, len(items))
	for id := range items {
		ids = append(ids, id)
	}
	_, err := locking.LockRows[record.Item](tx, ids)
	return err
}

// LockPromised locks the orders, and then the pick lists, of promises that may yield to
// what was counted.
func LockPromised(tx *store.Tx, places []Place, keys Keys) (Held, error) {
	list, _, err := readMissing(tx, places, keys)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	held := Held{}
	lines := make([]string, len(list))
	for i, p := range list {
		lines[i] = p.OrderLineID
		held[p.OrderLineID] = true
	}
	orders, err := locking.LockOrdersOfLines(tx, lines)
	if err != nil {
		return nil, err
	}
	return held, locking.LockOpenLists(tx, record.IDs(orders))
}

// readMissing reads the promises of places where less was found than is promised, and
// how much that is by stock key.
func readMissing(tx *store.Tx, places []Place, keys Keys) ([]promise, map[string]decimal.Dec, error) {
	places, err := reckonMoves(tx, places, keys)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]decimal.Dec{}
	var counted []string
	for _, p := range places {
		found[p.Key] = p.Found
		counted = append(counted, p.Key)
	}
	list, err := readPromises(tx, counted)
	if err != nil {
		return nil, nil, err
	}
	missing := sumMissing(list, found)
	list = slices.DeleteFunc(list, func(p promise) bool { return missing[p.StockKey] == 0 })
	return list, missing, nil
}

// giveBack releases promises for what is missing at their places. What is packed does
// not yield: a count that misses it is refused, without the quantity that the books have.
func giveBack(
	tx *store.Tx, list []promise, missing map[string]decimal.Dec, pledges Pledges,
) ([]record.Reservation, error) {
	ids, lines := make([]string, len(list)), make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ID
		lines[i] = p.OrderLineID
	}
	loose, err := packing.ReadLoose(tx, lines)
	if err != nil {
		return nil, err
	}
	yielding := chooseYielding(list, missing, func(p promise, most decimal.Dec) decimal.Dec {
		if !p.Picked {
			return most
		}
		q := min(most, loose.Sum(p.OrderLineID, &p.Identity))
		loose.Take(p.OrderLineID, &p.Identity, q)
		return q
	})
	for _, left := range missing {
		if left > 0 {
			return nil, fault.New(fault.Conflict, "HF004", "goods that were not found are packed for an order").
				With("", "unpack them, or count again").At("counted", "is less than what is packed")
		}
	}

	rows, err := locking.LockRows[record.Reservation](tx, ids)
	if err != nil {
		return nil, err
	}
	known := map[string]record.Reservation{}
	for i, id := range record.IDs(rows) {
		known[id] = rows[i]
	}
	var freed []record.Reservation
	for _, p := range yielding {
		row, err := cutPromise(tx, known[p.ID], p, pledges)
		if err != nil {
			return nil, err
		}
		freed = append(freed, row)
	}
	if err := pledges.Release(freed); err != nil {
		return nil, err
	}
	if err := pledges.Settle(lines); err != nil {
		return nil, err
	}
	return record.List[record.Reservation](tx, "id IN {ids $2} ORDER BY id", query.List(record.IDs(freed)))
}

// cutPromise takes what a promise gives back off it, and off the line by which the
// promise is to be picked, and returns the promise of that quantity.
func cutPromise(tx *store.Tx, row record.Reservation, p promise, pledges Pledges) (record.Reservation, error) {
	if p.Quantity == row.Quantity() {
		return row, nil
	}
	picks, err := record.List[record.PickLine](tx, "reservation_id = $2 AND status = 'pending'", p.ID)
	if err != nil {
		return nil, err
	}
	for i, id := range record.IDs(picks) {
		set := record.PickLine{"qty": picks[i].Qty() - p.Quantity}
		if err := record.Update(tx, []string{id}, set); err != nil {
			return nil, err
		}
	}
	return pledges.Cut(row, p.Quantity)
}
