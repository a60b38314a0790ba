package warehouse

import (
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
)

// Movements that are held to more than the books.
var (
	leaves  = []string{"pick", "pack", "ship"}         // towards a customer: the lot must be fit
	shelves = []string{"area", "aisle", "rack", "bin"} // zones that class and mix policy are about
)

// isRuled reports a movement that the tenant's settings or day decide on.
func isRuled(c store.Change) bool {
	t := record.StockMovement(c.After).Type()
	return c.Op == store.Insert && (slices.Contains(leaves, t) || wordKinds[t] != "")
}

// checkRules refuses a movement that is for managers, one of a lot that may not
// leave and one into a place that refuses it. Bulk work, which records what was
// before the server was there, is held to the books alone.
func (p *posting) checkRules(a actor.Actor, m record.StockMovement, live bool) *fault.Error {
	if !live {
		return nil
	}
	if err := p.checkManagers(a, m); err != nil {
		return err
	}
	if slices.Contains(leaves, m.Type()) {
		if err := p.checkLotMayLeave(m); err != nil {
			return err
		}
	}
	if arrives(m) {
		return p.checkStorageClass(a, m)
	}
	return nil
}

// arrives reports a movement that brings goods into a zone that may refuse them.
// Goods that were counted lie there, and a second person has decided on others.
func arrives(m record.StockMovement) bool {
	isMoved := m.HasToZoneID() && m.ToZoneID() != m.FromZoneID()
	return isMoved && m.Type() != "count_gain" && !m.HasApprovedBy()
}

// checkLotMayLeave refuses a lot that may not go to a customer.
func (p *posting) checkLotMayLeave(m record.StockMovement) *fault.Error {
	lot := m.LotID()
	if lot == "" {
		return nil
	}
	l, it := p.lots[lot], p.itemByID[m.ItemID()]
	why := inventory.LotBarReason(l.status, l.expires, p.rules.localToday(), it.minRemaining)
	if why == "" {
		return nil
	}
	return fault.New(fault.Conflict, CodeLot, "lot %s of item %s %s", l.no, it.sku, why).At("lot_id", "%s", why)
}

// checkStorageClass refuses goods of another class than the zone's, and notes zones whose
// room has to be looked at. A manager puts goods anywhere who says why.
func (p *posting) checkStorageClass(a actor.Actor, m record.StockMovement) *fault.Error {
	z, it := p.at[m.ToZoneID()], p.itemByID[m.ItemID()]
	if m.HasOverrideReason() {
		if !isManager(a.Role) {
			return fault.New(fault.Forbidden, "42501", "only a manager puts goods where the zone refuses them").At(
				"override_reason", "is for managers")
		}
		return nil
	}
	if slices.Contains(shelves, z.kind) && z.class != it.class {
		return refusePlace(z.code, "is for "+z.class+" goods, item "+it.sku+" is "+it.class)
	}
	p.arrived[z.id] = 0
	return nil
}

func refusePlace(zone, why string) *fault.Error {
	return fault.New(fault.Conflict, CodePlace, "zone %s %s", zone, why).
		With("", "choose another zone, or let a manager give an override_reason").At("to_zone_id", "%s", why)
}

// queueRoom queues the look whether the zones that goods came into still hold
// what is allowed. It comes after the writes, whose locks keep others from
// filling the same zone meanwhile.
func (p *posting) queueRoom(tx *db.Tx, tenant string, loads map[string]decimal.Dec) {
	if len(p.arrived) == 0 {
		return
	}
	for _, v := range p.order {
		if _, ok := p.arrived[v.zone]; ok {
			p.arrived[v.zone] += v.delta
		}
	}
	here := "FROM stock_levels l WHERE l.tenant_id = $1 AND l.zone_id = z.id AND l.quantity > 0"
	tx.Queue(db.FillWords(`
		SELECT z.id, z.code, z.max_capacity, z.load_units, z.mix_policy,
			CASE z.mix_policy
				WHEN 'same_item' THEN (SELECT COUNT(DISTINCT l.item_id) {here})
				WHEN 'same_lot' THEN (SELECT COUNT(*) FROM (SELECT DISTINCT l.item_id, l.lot_id {here}) d)
				ELSE 0
			END,
			CASE z.mix_policy
				WHEN 'empty_only' THEN (SELECT CAST(SUM(l.quantity) AS bigint) {here})
				ELSE 0
			END,
			CASE
				WHEN z.max_weight_kg IS NULL THEN FALSE
				ELSE (
					SELECT SUM(CAST(l.quantity AS double precision) * COALESCE(i.weight_kg, 0))
					FROM stock_levels l
					JOIN items i ON i.tenant_id = $1 AND i.id = l.item_id
					WHERE l.tenant_id = $1
						AND l.zone_id = z.id
						AND l.quantity > 0
				) > CAST(z.max_weight_kg AS double precision) * 10000
			END,
			z.kind
		FROM zones z
		WHERE z.tenant_id = $1
			AND z.id IN {ids $2}
			AND (z.max_capacity > 0 OR z.max_weight_kg IS NOT NULL OR z.mix_policy <> 'any')
		ORDER BY z.code`, "{here}", here),
		[]any{tenant, jsonList(slices.Sorted(maps.Keys(p.arrived)))}, func(r *db.Row) error {
			if why := p.capacityProblem(r, loads[r.Text(0)]); why != "" {
				return refusePlace(r.Text(1), why)
			}
			return nil
		})
}

// capacityProblem says what a zone is too full of, "" when it is not.
func (p *posting) capacityProblem(r *db.Row, risen decimal.Dec) string {
	shelf := slices.Contains(shelves, r.Text(8))
	switch {
	case r.Dec(2) > 0 && risen > 0 && r.Dec(3) > r.Dec(2):
		return "holds " + r.Dec(2).String() + " capacity units, with these goods it would be " + r.Dec(3).String()
	case shelf && r.Int(5) > 1:
		return "takes one " + map[string]string{"same_item": "item", "same_lot": "lot"}[r.Text(4)] + " alone"
	case shelf && r.Text(4) == "empty_only" && r.Dec(6) > p.arrived[r.Text(0)]:
		return "takes goods only when it is empty"
	case r.Bool(7):
		return "would carry more than its weight"
	}
	return ""
}
