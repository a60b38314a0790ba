package warehouse

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/ownstock"
	"holdfast/internal/warehouse/plates"
	"holdfast/internal/warehouse/sites"
)

// MovePlateIn is a license plate that was carried to another place.
type MovePlateIn struct {
	LPN            string `json:"lpn" required:"true" code:"true" max:"64" doc:"The license plate."`
	ToZoneID       string `json:"to_zone_id" required:"true" format:"uuid" names:"zones" doc:"Where it is."`
	OverrideReason string `json:"override_reason" max:"200" doc:"Why a manager puts it where the zone refuses it."`
}

// MovePlateOut is the movements that were booked: what the plate holds, and what is promised of
// it for itself.
type MovePlateOut struct {
	verb.Answer
	Movements []verb.Record `json:"movements" record:"stock_movements"`
}

// platePlan is a plate on its way.
type platePlan struct {
	work
	in       *MovePlateIn
	to       record.Zone
	from     *plates.Place
	promises []record.Reservation // of what the plate holds
	moves    []record.StockMovement
	moved    []record.Reservation
}

func (w Watch) movePlate(c *verb.Call, in *MovePlateIn) (*MovePlateOut, error) {
	to, err := readRecord[record.Zone](c, "to_zone_id", in.ToZoneID)
	if err != nil {
		return nil, err
	}
	p := &platePlan{work: w.workOf(c), in: in, to: to}
	if err := plates.LockNumbers(c.Tx, []string{in.LPN}); err != nil {
		return nil, err
	}
	if p.from, err = plates.ReadGoods(c.Tx, in.LPN); err != nil {
		return nil, err
	}
	if p.from.ZoneID == in.ToZoneID {
		return nil, fault.New(fault.Conflict, CodeMovement, "plate %s lies in zone %s already", in.LPN, to.Code()).
			At("to_zone_id", "is where the plate lies")
	}
	for _, step := range [...]func() error{p.lockPromises, p.checkTarget, p.planMoves} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	rows, err := record.Insert(c.Tx, p.moves)
	if err != nil {
		return nil, err
	}
	if err := p.bringWorkAlong(); err != nil {
		return nil, err
	}
	return &MovePlateOut{Movements: record.ShowList(c, rows)}, nil
}

// lockPromises locks the orders, pick lists and promises of what the plate holds, then its
// items, and reads what it holds again.
func (p *platePlan) lockPromises() (err error) {
	var keys, items []string
	for _, g := range p.from.Goods {
		keys, items = append(keys, g.StockKey), append(items, g.ItemID)
	}
	list := func(tail string) ([]record.Reservation, error) {
		return record.List[record.Reservation](p.Tx, "stock_key IN {texts $2} AND state = 'active' ORDER BY id"+tail,
			jsonList(keys))
	}
	if p.promises, err = list(""); err != nil {
		return err
	}
	lines := record.Texts(p.promises, record.Reservation.OrderLineID)
	if _, err := locking.LockOrdersOfLines(p.Tx, lines); err != nil {
		return err
	}
	picks, err := p.listPicks()
	if err != nil {
		return err
	}
	if err := locking.LockListsOf(p.Tx, picks); err != nil {
		return err
	}
	if p.promises, err = list(p.DB().ForUpdate()); err != nil {
		return err
	}
	slices.Sort(items)
	lockItems(p.Tx.Tx, p.TenantID, jsonList(slices.Compact(items)))
	was := p.from.ZoneID
	if p.from, err = plates.ReadGoods(p.Tx, p.in.LPN); err != nil {
		return err
	}
	if p.from.ZoneID != was {
		return fault.New(fault.Conflict, CodeInUse, "plate %s was just moved to zone %s", p.in.LPN, p.from.Code).
			At("lpn", "was just moved")
	}
	return nil
}

// listPicks are the pick lines that wait for goods of the plate.
func (p *platePlan) listPicks() ([]record.PickLine, error) {
	if len(p.promises) == 0 {
		return nil, nil
	}
	return record.List[record.PickLine](p.Tx, "reservation_id IN {ids $2} AND status = 'pending' ORDER BY id",
		jsonList(record.IDs(p.promises)))
}

// checkTarget refuses to carry goods that are promised to where none are promised, and away from
// their site.
func (p *platePlan) checkTarget() error {
	if len(p.promises) == 0 {
		return nil
	}
	var sum decimal.Dec
	for _, r := range p.promises {
		sum += r.Quantity()
	}
	if p.to.Status() == "active" && !ownstock.IsOpen(p.to.Status(), p.to.Kind()) {
		return fault.New(fault.Conflict, CodeInUse, "%s on plate %s are promised to orders, and zone %s is for %s",
			sum, p.in.LPN, p.to.Code(), p.to.Kind()).
			With("", "give the stock back first (deallocate_order), then bring the plate there").
			At("to_zone_id", "bars what is in it from orders")
	}
	at, err := sites.ReadOfZones(p.Tx, []string{p.from.ZoneID, p.in.ToZoneID})
	if err != nil || at[p.from.ZoneID].SiteID == at[p.in.ToZoneID].SiteID {
		return err
	}
	return fault.New(fault.Conflict, CodeInUse, "%s on plate %s are promised to orders, and zone %s is of another site",
		sum, p.in.LPN, at[p.in.ToZoneID].Code).
		With("", "give the stock back first (deallocate_order), or leave the plate at its site").
		At("to_zone_id", "is of another site")
}

// planMoves plans a movement for each promise on the plate, and one for what is free of each of
// its goods. What was picked is for the shipment that it waits for.
func (p *platePlan) planMoves() error {
	for _, g := range p.from.Goods {
		free := g.Quantity
		for _, r := range p.promises {
			if r.StockKey() != g.StockKey {
				continue
			}
			if r.Picked() {
				return fault.New(fault.Conflict, CodeInUse,
					"%s on plate %s are picked: they wait in %s for their shipment", r.Quantity(), p.in.LPN,
					p.from.Code).
					With("", "put them back (unpick), or pack and ship them").At("lpn", "is picked")
			}
			free -= r.Quantity()
			m := p.movementOf(g, r.Quantity())
			m.SetReservationID(r.ID())
			p.moves = append(p.moves, m)
			at := spotOf(store.Row(r))
			at.zone = p.in.ToZoneID
			p.moved = append(p.moved, record.Reservation{"id": r.ID(), "zone_id": at.zone, "stock_key": at.stockKey()})
		}
		if free > 0 {
			p.moves = append(p.moves, p.movementOf(g, free))
		}
	}
	return nil
}

func (p *platePlan) movementOf(g plates.Goods, quantity decimal.Dec) record.StockMovement {
	m := record.StockMovement{"type": "transfer", "item_id": g.ItemID, "lot_id": db.Null(g.LotID),
		"serial": db.Null(g.Serial), "owner_id": db.Null(g.OwnerID), "lpn": p.in.LPN,
		"from_zone_id": p.from.ZoneID, "to_zone_id": p.in.ToZoneID, "quantity": quantity,
		"from_status": g.Status, "to_status": g.Status}
	if p.in.OverrideReason != "" {
		m.SetOverrideReason(p.in.OverrideReason)
	}
	return m
}

// bringWorkAlong has promises, pick lines and open tasks look for the goods where they are now.
// A plate that is brought from a dock or a lane to a place is put away.
func (p *platePlan) bringWorkAlong() error {
	if err := p.UpdateEach("reservations", record.Rows(p.moved)); err != nil {
		return err
	}
	picks, err := p.listPicks()
	if err != nil {
		return err
	}
	if err := record.Update(p.Tx, record.IDs(picks), record.PickLine{"zone_id": p.in.ToZoneID}); err != nil {
		return err
	}
	const open = "lpn = $2 AND from_zone_id = $3 AND status IN ('open', 'in_progress') ORDER BY id"
	puts, err := record.List[record.PutawayTask](p.Tx, open, p.in.LPN, p.from.ZoneID)
	if err != nil {
		return err
	}
	isPlace := p.to.Kind() != "dock" && p.to.Kind() != "staging"
	for _, t := range puts {
		if err := p.followTask("putaway_tasks", t.ID(), t.Quantity(), isPlace); err != nil {
			return err
		}
	}
	brought, err := record.List[record.ReplenishTask](p.Tx, open, p.in.LPN, p.from.ZoneID)
	if err != nil {
		return err
	}
	for _, t := range brought {
		isThere := t.ToZoneID() == p.in.ToZoneID
		if err := p.followTask("replenish_tasks", t.ID(), t.Quantity(), isThere); err != nil {
			return err
		}
	}
	return nil
}

// followTask has a task done, or its goods fetched where the plate is now.
func (p *platePlan) followTask(resource, id string, quantity decimal.Dec, isDone bool) error {
	set := store.Row{"from_zone_id": p.in.ToZoneID}
	if isDone {
		set = store.Row{"quantity_done": quantity, "status": "done", "completed_at": query.FormatTime(p.Now())}
	}
	return p.UpdateRows(resource, []string{id}, set)
}
