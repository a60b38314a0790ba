package warehouse

import (
	"sort"
	"strconv"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/plates"
	"holdfast/internal/warehouse/transfers"
)

// spot is where stock lies: the seven parts of a stock level's key, "" for
// null.
type spot struct{ zone, item, lot, serial, owner, lpn, status string }

// stockKey is the stock_key column. The item leads, so that key order is item order
// and locks are taken in one order; the serial's length keeps a bar inside it
// from reading as a separator.
func (p spot) stockKey() string {
	return p.item + "|" + p.zone + "|" + p.lot + "|" + p.owner + "|" + p.status + "|" +
		strconv.Itoa(len(p.serial)) + ":" + p.serial + "|" + p.lpn
}

// level is a stock level under change.
type level struct {
	spot
	key      string
	delta    decimal.Dec
	promised decimal.Dec // change of reserved
	quantity decimal.Dec // before, then after
	reserved decimal.Dec // before, then after
	counted  any         // occurred_at of the last count, or nil
	counts   bool        // what is free of it is available of the item
}

// ledger adds up what movements do, by stock key.
type ledger struct {
	levels map[string]*level
	order  []*level
	items  set
	lots   set
	zones  set
	gains  bool // something comes into the warehouse
}

// movementPlaces are where a movement's goods come from and go to; no zone is outside the
// warehouse.
func movementPlaces(m record.StockMovement) (from, to spot) {
	from = spot{item: m.ItemID(), lot: m.LotID(), serial: m.Serial(), owner: m.OwnerID(), lpn: m.LPN()}
	to = from
	from.zone, from.status = m.FromZoneID(), m.FromStatus()
	to.zone, to.status = m.ToZoneID(), m.ToStatus()
	switch m.PlateChange() {
	case plates.TakenOff:
		to.lpn = ""
	case plates.PutBack:
		from.lpn = ""
	}
	return from, to
}

// MovementKeys are the stock keys of where a movement's goods come from and go to, ""
// for outside the warehouse.
func MovementKeys(m record.StockMovement) (from, to string) {
	source, target := movementPlaces(m)
	if source.zone != "" {
		from = source.stockKey()
	}
	if target.zone != "" {
		to = target.stockKey()
	}
	return from, to
}

// enterMovement books one movement.
func (l *ledger) enterMovement(m record.StockMovement) error {
	from, to := movementPlaces(m)
	q := m.Quantity()
	l.gains = l.gains || from.zone == ""
	l.items.addID(from.item)
	l.lots.addID(from.lot)
	var counted any
	if t := m.Type(); t == "count_gain" || t == "count_loss" {
		counted = m.OccurredAtOrNull()
	}
	along := decimal.Dec(0) // what is reserved of the goods goes with them
	if m.HasReservationID() {
		along = q
	}
	if from.zone != "" {
		if err := l.bookAt(from, -q, counted); err != nil {
			return err
		}
		l.levels[from.stockKey()].promised -= along
	}
	if to.zone != "" {
		if err := l.bookAt(to, q, counted); err != nil {
			return err
		}
		if !transfers.IsLeg(m) { // the promise of what goes into transit has ended
			l.levels[to.stockKey()].promised += along
		}
	}
	return nil
}

// coversReserved reports a quantity that would not cover what is reserved.
func (v *level) coversReserved(q decimal.Dec) bool { return q < v.reserved }

// duplicatesSerial reports a serial number of which there would be more than one.
func (v *level) duplicatesSerial(q decimal.Dec) bool { return v.serial != "" && q > decimal.One }

// findCulprit is the movement, by its place, with which the level gets to where it
// may not be and stays.
func (v *level) findCulprit(changes []store.Change) int {
	at, q, bad := 0, v.quantity, false
	for i, c := range record.Changes[record.StockMovement](changes) {
		from, to := movementPlaces(c.After)
		if from == v.spot {
			q -= c.After.Quantity()
		}
		if to == v.spot {
			q += c.After.Quantity()
		}
		was := bad
		if bad = v.coversReserved(q) || v.duplicatesSerial(q); bad && !was {
			at = i
		}
	}
	return at
}

func (l *ledger) bookAt(at spot, q decimal.Dec, counted any) error {
	l.zones.addID(at.zone)
	l.lots.addID(at.lot)
	k := at.stockKey()
	v := l.levels[k]
	if v == nil {
		v = &level{spot: at, key: k}
		l.levels[k] = v
		l.order = append(l.order, v)
	}
	var err error
	if v.delta, err = addWithin(v.delta, q, maxStock, "quantity"); err != nil {
		return err
	}
	if c, _ := counted.(string); c != "" {
		if last, _ := v.counted.(string); c > last {
			v.counted = c
		}
	}
	return nil
}

// queueLevels queues the levels' present quantities, locked in key order.
func (l *ledger) queueLevels(tx *db.Tx, tenant string) {
	sort.Slice(l.order, func(i, j int) bool { return l.order[i].key < l.order[j].key })
	keys := make([]string, len(l.order))
	for i, v := range l.order {
		keys[i] = v.key
	}
	tx.Queue(`
		SELECT stock_key, quantity, reserved
		FROM stock_levels
		WHERE tenant_id = $1
			AND stock_key IN {texts $2}
		ORDER BY stock_key
		{for update}`,
		[]any{tenant, jsonList(keys)}, func(r *db.Row) error {
			if v := l.levels[r.Text(0)]; v != nil {
				v.quantity, v.reserved = r.Dec(1), r.Dec(2)
			}
			return nil
		})
}

// queueLevelWrites queues the levels that change, as they are now. A place which a call
// fills and empties again keeps its version. An upsert finds its row through the
// unique key whatever the planner believes about the table; an update joined to
// a list of values measured twice as slow before the table's first ANALYZE.
func (l *ledger) queueLevelWrites(tx *db.Tx, tenant, now string) {
	b := blocks.Block{
		Head: `
			INSERT INTO stock_levels (tenant_id, created_at, updated_at, version, reserved, id, zone_id,
				item_id, lot_id, serial, owner_id, lpn, stock_status, stock_key, quantity, last_counted_at)
			VALUES`,
		Tail: " ON CONFLICT (tenant_id, stock_key) DO UPDATE SET " +
			"quantity = excluded.quantity, reserved = excluded.reserved, updated_at = " +
			"excluded.updated_at, version = stock_levels.version + 1, " +
			"last_counted_at = COALESCE(excluded.last_counted_at, stock_levels.last_counted_at)",
		Width: 16,
	}
	changed := make([]*level, 0, len(l.order))
	for _, v := range l.order {
		if v.delta != 0 || v.promised != 0 || v.counted != nil {
			changed = append(changed, v)
		}
	}
	b.QueueRows(tx, len(changed), func(i int, args []any) []any {
		v := changed[i]
		return append(args, tenant, now, now, 1, v.reserved, db.NewID(), v.zone, v.item,
			db.Null(v.lot), db.Null(v.serial), db.Null(v.owner), db.Null(v.lpn), v.status,
			v.key, v.quantity, v.counted)
	})
}
