package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// piece is one thing with a number of its own.
type piece struct{ item, serial string }

// held is what comes in of a piece and what is in stock of it, and the code of
// a zone it is in.
type held struct {
	quantity decimal.Dec
	zone     string
}

// readPieces asks where the serial numbers that come in are in stock already;
// what is only moved is none of them.
func (p *posting) readPieces(tx *db.Tx, tenant string) {
	p.pieces = map[piece]*held{}
	for _, v := range p.order {
		if v.serial == "" {
			continue
		}
		k := piece{v.item, v.serial}
		if p.pieces[k] == nil {
			p.pieces[k] = &held{}
		}
		p.pieces[k].quantity += v.delta
	}
	var serials []string
	for k, h := range p.pieces {
		if h.quantity <= 0 {
			delete(p.pieces, k)
		} else {
			serials = append(serials, k.serial)
		}
	}
	if len(serials) == 0 {
		return
	}
	tx.Queue(`
		SELECT l.item_id, l.serial, l.quantity, z.code
		FROM stock_levels l
		JOIN zones z ON z.tenant_id = $1 AND z.id = l.zone_id
		WHERE l.tenant_id = $1
			AND l.item_id IN {ids $2}
			AND l.serial IN {texts $3}
			AND l.quantity > 0
		ORDER BY z.code`,
		[]any{tenant, jsonList(p.items.list),
			jsonList(serials)}, func(r *db.Row) error {
			if h := p.pieces[piece{r.Text(0), r.Text(1)}]; h != nil {
				h.quantity += r.Dec(2)
				h.zone = r.Text(3)
			}
			return nil
		})
}

// findDuplicateSerial finds the first serial number that would be in stock twice.
func (p *posting) findDuplicateSerial(changes []store.Change) (piece, bool) {
	for _, c := range record.Changes[record.StockMovement](changes) {
		_, to := movementPlaces(c.After)
		k := piece{to.item, to.serial}
		if h := p.pieces[k]; h != nil && h.quantity > decimal.One {
			return k, true
		}
	}
	return piece{}, false
}

// refuseDuplicateSerial says where a piece is that would be in stock twice.
func (p *posting) refuseDuplicateSerial(k piece) *fault.Error {
	sku, zone := p.itemByID[k.item].sku, p.pieces[k].zone
	if zone == "" {
		return fault.New(fault.Conflict, CodeStock, "serial number %s of %s would come into stock twice", k.serial,
			sku).At("serial", "comes into stock twice")
	}
	return fault.New(fault.Conflict, CodeStock, "serial number %s of %s is in stock already, in zone %s", k.serial, sku,
		zone).
		With("", "move it from there, or count it there as 0 together with where it was found").At("serial",
		"is in stock already, in zone %s", zone)
}

// lastArrival is the place of the last movement that brings the piece in.
func (k piece) lastArrival(changes []store.Change) int {
	at := 0
	for i, c := range record.Changes[record.StockMovement](changes) {
		if from, to := movementPlaces(c.After); from.zone == "" && (piece{to.item, to.serial}) == k {
			at = i
		}
	}
	return at
}
