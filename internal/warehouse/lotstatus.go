package warehouse

import (
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// freeLots keeps what is available of items in step with the status of their
// lots: stock of a lot that is not released is there and not available.
func (w Watch) freeLots(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	sign := map[string]decimal.Dec{}
	var lots, items set
	for _, c := range changes {
		if !altered(c, "status") || (c.Before["status"] == "released") == (c.After["status"] == "released") {
			continue
		}
		id := text(c.After, "id")
		lots.add(id)
		items.add(text(c.After, "item_id"))
		if sign[id] = -1; c.After["status"] == "released" {
			sign[id] = 1
		}
	}
	if len(lots.list) == 0 {
		return nil
	}
	p := posting{ledger: ledger{levels: map[string]*level{}, items: items}}
	if err := p.load(tx, a.TenantID); err != nil {
		return err
	}
	free := map[string]decimal.Dec{}
	err := tx.Query("SELECT lot_id, item_id, quantity - reserved FROM stock_levels WHERE tenant_id = $1 AND stock_status = 'available' AND "+tx.DB().
		InUUID("lot_id", 2),
		[]any{a.TenantID, jsonList(lots.list)}, func(r *db.Row) error {
			free[r.Text(1)] += sign[r.Text(0)] * r.Dec(2)
			return nil
		})
	if err != nil {
		return err
	}
	return w.refree(tx, a.TenantID, s, p.itemByID, free)
}

// refree adds to what is available of items.
func (w Watch) refree(tx *db.Tx, tenant string, s *store.Store, items map[string]*stocked, free map[string]decimal.Dec) error {
	counts := map[string]int64{}
	changed := map[string]*stocked{}
	var fallen []string
	for id, d := range free {
		it := items[id]
		if d == 0 || it == nil {
			continue
		}
		was := *it
		it.available += d
		it.low = LowStock(it.available, it.reorderPoint)
		if err := it.count(counts, was); err != nil {
			return err
		}
		if it.low && !was.low {
			fallen = append(fallen, id)
		}
		changed[id] = it
	}
	if len(changed) == 0 {
		return nil
	}
	writeItems(tx, tenant, query.FormatTime(s.Now()), changed)
	s.Count(tx, tenant, counts)
	if len(fallen) == 0 || w.LowStock == nil {
		return nil
	}
	return w.LowStock(tx, s, tenant, fallen)
}
