package warehouse

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/inventory"
)

// few is up to how many zones the database itself walks up the tree, which
// saves a round trip. For more, level by level is quicker: a recursive join
// over many rows is at the mercy of the planner's guess at their number.
const few = 32

// placed is a zone on the way of a movement.
type placed struct {
	id, parent, code, status string
	load                     decimal.Dec
	kind, class              string
}

// places are zones by id, with all their ancestors.
type places map[string]placed

// ancestorsOf lists a zone and its ancestors.
func (p places) ancestorsOf(id string) []string {
	var out []string
	for len(out) < MaxDepth+2 && id != "" {
		out = append(out, id)
		id = p[id].parent
	}
	return out
}

func (p places) addZone(r *db.Row) error {
	p[r.Text(0)] = placed{id: r.Text(0), parent: r.Text(1), code: r.Text(2), status: r.Text(3), load: r.Dec(4),
		kind: r.Text(5), class: r.Text(6)}
	return nil
}

// queuePlaces queues reading a few zones with their ancestors.
func queuePlaces(tx *db.Tx, tenant string, ids []string, into places) {
	tx.Queue(`
		WITH RECURSIVE up(id, parent_id, code, status, load_units, kind, storage_class, depth) AS (
			SELECT id, parent_id, code, status, load_units, kind, storage_class, 1
			FROM zones
			WHERE tenant_id = $1
				AND id IN {ids $2}
			UNION ALL
			SELECT z.id, z.parent_id, z.code, z.status, z.load_units, z.kind, z.storage_class, up.depth + 1
			FROM up
			JOIN zones z ON z.tenant_id = $1 AND z.id = up.parent_id
			WHERE up.depth < 8
		)
		SELECT id, parent_id, code, status, load_units, kind, storage_class
		FROM up`, []any{tenant, jsonList(ids)},
		into.addZone)
}

// readPlaces reads many zones with their ancestors, level by level.
func readPlaces(tx *db.Tx, tenant string, ids []string, into places) error {
	for len(ids) > 0 {
		err := tx.Query(`
			SELECT id, parent_id, code, status, load_units, kind, storage_class
			FROM zones
			WHERE tenant_id = $1
				AND id IN {ids $2}`,
			[]any{tenant, jsonList(ids)}, into.addZone)
		if err != nil {
			return err
		}
		var next set
		for _, id := range ids {
			if p := into[id].parent; p != "" && into[p].id == "" {
				next.addID(p)
			}
		}
		ids = next.list
	}
	return nil
}

// checkUnchanged has the transaction start over where a zone, as it is under a lock, is no
// longer where it was, or is open or closed to orders since.
func (p places) checkUnchanged(now placed) error {
	was := p[now.id]
	if was.parent == now.parent && was.status == now.status && was.kind == now.kind {
		return nil
	}
	return fault.New(fault.Unavailable, "40001", "zones were changed meanwhile; try again")
}

// lockZones queues locking zones in id order. As they are under the lock they go to
// seen, which may be nil.
func lockZones(tx *db.Tx, tenant string, ids []string, seen func(placed) error) {
	if tx.DB().ForUpdate() == "" || len(ids) == 0 {
		return
	}
	text := `
		SELECT id, parent_id, status, kind
		FROM zones
		WHERE tenant_id = $1
			AND id IN {ids $2}
		ORDER BY id`
	tx.Queue(text+tx.DB().ForUpdate(), []any{tenant,
		jsonList(ids)}, func(r *db.Row) error {
		if seen == nil {
			return nil
		}
		return seen(placed{id: r.Text(0), parent: r.Text(1), status: r.Text(2), kind: r.Text(3)})
	})
}

// haul is a change of loads.
type haul struct {
	tx     *db.Tx
	tenant string
	now    string
	field  string // of the request, blamed for a load past maxTotal
	at     places // the zones with their ancestors; nil = to be read
}

// moveLoads adds each zone's difference to it and to all zones above it, and brings
// their utilization up to date.
func (h haul) moveLoads(loads map[string]decimal.Dec) error {
	var zones []string
	for z, d := range loads {
		if d != 0 && z != "" {
			zones = append(zones, z)
		}
	}
	if len(zones) == 0 {
		return nil
	}
	slices.Sort(zones)
	if err := h.locateZones(zones); err != nil {
		return err
	}
	sums, err := h.sumLoads(zones, loads)
	if err != nil {
		return err
	}
	if len(zones) > few {
		return h.queueLoads(sums)
	}
	h.queueClimb(zones, loads)
	return nil
}

// locateZones reads where the zones lie, unless the caller knows.
func (h *haul) locateZones(zones []string) error {
	if h.at != nil {
		return nil
	}
	h.at = places{}
	if len(zones) > few {
		return readPlaces(h.tx, h.tenant, zones, h.at)
	}
	queuePlaces(h.tx, h.tenant, zones, h.at)
	return h.tx.Flush()
}

// sumLoads carries the differences up the tree and holds the loads to maxTotal.
// What was read without a lock may be old on PostgreSQL; there the statement
// itself refuses to pass the number range.
func (h haul) sumLoads(zones []string, loads map[string]decimal.Dec) (map[string]decimal.Dec, error) {
	out := map[string]decimal.Dec{}
	for _, z := range zones {
		for _, u := range h.at.ancestorsOf(z) {
			var err error
			if out[u], err = addWithin(out[u], loads[z], maxTotal, h.field); err != nil {
				return nil, err
			}
		}
	}
	for u, d := range out {
		if _, err := addWithin(h.at[u].load, d, maxTotal, h.field); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// queueClimb queues the change of a few zones in one statement that finds the
// ancestors itself: after the zones were locked, in case one has just been hung
// elsewhere.
func (h haul) queueClimb(zones []string, loads map[string]decimal.Dec) {
	b := blocks.Block{
		Head: "WITH RECURSIVE v(id, delta) AS (VALUES ((SELECT id FROM zones WHERE 1 = 0), CAST(0 AS bigint)), ",
		Tail: "), up(id, parent_id, delta, depth) AS (" +
			"SELECT z.id, z.parent_id, v.delta, 1 FROM v JOIN zones z ON z.tenant_id = $1 AND z.id = v.id " +
			"UNION ALL SELECT z.id, z.parent_id, up.delta, up.depth + 1 FROM up JOIN zones z ON z.tenant_id = $1 AND z.id = up.parent_id WHERE up.depth < 8), " +
			"s(id, delta) AS (SELECT id, CAST(SUM(delta) AS bigint) FROM up GROUP BY id) " + setLoads +
			" FROM s WHERE zones.tenant_id = $1 AND zones.id = s.id AND s.delta <> 0",
		Fixed: []any{h.tenant, h.now}, Width: 2,
	}
	b.QueueRows(h.tx, len(zones), func(i int, args []any) []any { return append(args, zones[i], loads[zones[i]]) })
}

// setLoads adds s.delta to the load of zones.
var setLoads = db.FillWords(`
	UPDATE zones
	SET load_units = zones.load_units + s.delta, updated_at = $2, utilization = {utilization}`,
	"{utilization}", inventory.UtilizationSQL("zones.load_units + s.delta", "zones.max_capacity"))

// queueLoads queues the change of many zones, ancestors counted in. A zone that
// was hung elsewhere since its place was read makes the transaction start over.
func (h haul) queueLoads(sums map[string]decimal.Dec) error {
	var ids []string
	for id, d := range sums {
		if d != 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	lockZones(h.tx, h.tenant, ids, h.at.checkUnchanged)
	if err := h.tx.Flush(); err != nil {
		return err
	}
	b := blocks.Block{
		Head:  "WITH s(id, delta) AS (VALUES ((SELECT id FROM zones WHERE 1 = 0), CAST(0 AS bigint)), ",
		Tail:  ") " + setLoads + " FROM s WHERE zones.tenant_id = $1 AND zones.id = s.id",
		Fixed: []any{h.tenant, h.now}, Width: 2,
	}
	b.QueueRows(h.tx, len(ids), func(i int, args []any) []any { return append(args, ids[i], sums[ids[i]]) })
	return nil
}
