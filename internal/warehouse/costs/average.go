package costs

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
)

// Standing is what is known of an item's goods of one owner after some movements.
type Standing struct {
	ID       string      // of the row that keeps it, "" before there is one
	Quantity decimal.Dec // what is there, base units
	Average  decimal.Dec // what one base unit cost on average
	Known    bool        // something of known cost has come in
	Postings int64       // movements so far
}

// Posting is a movement as far as the average cost goes.
type Posting struct {
	Quantity  decimal.Dec
	Cost      decimal.Dec // of one base unit
	HasCost   bool
	In, Out   bool // into the warehouse, out of it; neither within it
	IsReverse bool // undoes another
}

func readPosting(movement record.StockMovement) Posting {
	return Posting{
		Quantity: movement.Quantity(), Cost: movement.UnitCost(), HasCost: movement.HasUnitCost(),
		In: !movement.HasFromZoneID(), Out: !movement.HasToZoneID(),
		IsReverse: movement.HasReversalOf(),
	}
}

// Post takes a movement in. Goods that come in at a known cost move the average, the
// weighted average of IAS 2.27: (quantity x average + what came x its cost) / (both
// quantities), rounded half up to four decimals. Where nothing is there, or nothing of
// known cost, it is the cost of what came. Goods that leave keep it, but for the reversal
// of a receipt, which takes out what the receipt brought, if that leaves something there
// and no less than nothing of value.
func (s *Standing) Post(p Posting) error {
	var err error
	if p.In && p.HasCost {
		err = s.addReceived(p)
	} else if p.Out && p.HasCost && p.IsReverse {
		s.removeReceived(p)
	}
	s.Postings++
	if p.In {
		s.Quantity += p.Quantity
	}
	if p.Out {
		s.Quantity -= p.Quantity
	}
	return err
}

func (s *Standing) addReceived(p Posting) (err error) {
	if !s.Known || s.Quantity <= 0 {
		s.Average, s.Known = p.Cost, true
		return nil
	}
	s.Average, err = decimal.WeightedMean(s.Quantity, s.Average, p.Quantity, p.Cost)
	return err
}

func (s *Standing) removeReceived(p Posting) {
	if !s.Known || s.Quantity <= p.Quantity {
		return
	}
	average, err := decimal.WeightedMean(s.Quantity, s.Average, -p.Quantity, p.Cost)
	if err == nil && average >= 0 {
		s.Average = average
	}
}

// goodsKey is whose goods of which item.
type goodsKey struct{ item, owner string }

func keyOf(movement record.StockMovement) goodsKey {
	return goodsKey{movement.ItemID(), movement.OwnerID()}
}

// standings are what is known of items, by whose they are.
type standings map[goodsKey]*Standing

// standingOf is the standing of a movement's goods.
func (all standings) standingOf(movement record.StockMovement) *Standing {
	key := keyOf(movement)
	if all[key] == nil {
		all[key] = &Standing{}
	}
	return all[key]
}

// standingsSQL selects what is kept of items. $1 tenant, $2 item ids.
const standingsSQL = `
	SELECT item_id, owner_id, id, quantity, average_cost, postings
	FROM item_costs
	WHERE tenant_id = $1
		AND item_id IN {ids $2}`

func queueStandings(tx *store.Tx, items []string) standings {
	all := standings{}
	tx.Queue(standingsSQL, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		all[goodsKey{r.Text(0), r.Text(1)}] = &Standing{ID: r.Text(2), Quantity: r.Dec(3), Average: r.Dec(4),
			Known: !r.Null(4), Postings: r.Int(5)}
		return nil
	})
	return all
}

// Keeping is what is kept of the items of posted movements.
type Keeping struct {
	changes  []store.Change
	standing standings
}

// Keep queues reading what is kept of the items of posted movements, whose rows the
// transaction holds since they were reckoned.
func Keep(tx *store.Tx, changes []store.Change) *Keeping {
	k := &Keeping{changes: changes}
	if ids := movedItems(changes); len(ids) > 0 {
		k.standing = queueStandings(tx, ids)
	}
	return k
}

// QueueWrites takes the movements in and queues writing what is kept now.
func (k *Keeping) QueueWrites(tx *store.Tx) error {
	var order []goodsKey
	met := map[goodsKey]bool{}
	for _, c := range record.Changes[record.StockMovement](k.changes) {
		if c.Op != store.Insert {
			continue
		}
		key := keyOf(c.After)
		if !met[key] {
			met[key] = true
			order = append(order, key)
		}
		if err := k.standing.standingOf(c.After).Post(readPosting(c.After)); err != nil {
			return fmt.Errorf("costs: average of item %s: %w", key.item, err)
		}
	}
	now := query.FormatTime(tx.Now())
	b := blocks.Block{
		Head: `
			INSERT INTO item_costs (tenant_id, created_at, updated_at, version, id, item_id, owner_id, quantity,
				average_cost, postings)
			VALUES`,
		Tail: " ON CONFLICT (tenant_id, id) DO UPDATE SET quantity = excluded.quantity, " +
			"average_cost = excluded.average_cost, postings = excluded.postings, updated_at = excluded.updated_at, " +
			"version = item_costs.version + 1",
		Width: 10,
	}
	b.QueueRows(tx.Tx, len(order), func(i int, args []any) []any {
		key := order[i]
		s := k.standing[key]
		if s.ID == "" {
			s.ID = db.NewID()
		}
		var average any
		if s.Known {
			average = s.Average
		}
		return append(args, tx.TenantID, now, now, 1, s.ID, key.item, db.Null(key.owner), s.Quantity, average, s.Postings)
	})
	return nil
}
