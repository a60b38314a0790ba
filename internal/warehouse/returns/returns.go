// Package returns says what of goods that left may come back: how much, and which lots
// and serial numbers, less what came back already. It only reads.
//
// Layer: domains. Begin at [ReadAway].
package returns

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Codes of faults, as package warehouse has them.
const (
	codeStock = "HF002" // a serial number twice
	codeOver  = "HF022" // more than may come back
)

// Goods are what distinguishes pieces that left; "" is none.
type Goods struct{ ItemID, OwnerID, LotID, Serial string }

// Sent is goods that left with a shipment.
type Sent struct {
	Goods
	Quantity decimal.Dec // base units
}

// originalJoin joins what a reversal reverses: whatever its own type, it counts where its
// original does.
const originalJoin = `LEFT JOIN stock_movements AS original ON original.tenant_id = $1
		AND original.id = movement.reversal_of`

// kindSQL is the type of a movement, or of what it reverses.
const kindSQL = "COALESCE(original.type, movement.type)"

// unexpectedSQL holds for what verb receive_return took in with a reason of its own, which
// never left, and for its reversal.
const unexpectedSQL = `{kind} = 'return_in'
			AND COALESCE(original.ref_type, movement.ref_type, '') = 'order_lines'
			AND COALESCE(original.reason_code, movement.reason_code, 'restock') NOT IN ('restock', 'quarantine', 'scrap')`

// leftSQL is a movement's quantity as it left: below zero where it came in.
const leftSQL = "CASE WHEN movement.to_zone_id IS NULL THEN movement.quantity ELSE -movement.quantity END"

// awaySQL selects how much more left than came back, by item, owner, lot and serial
// number. A movement that leads nowhere leaves the warehouse: a shipment, or a return
// that was taken back. What is unexpected is not what came back of anything. $1 tenant, $2
// ids of items.
const awaySQL = `
	SELECT movement.item_id, movement.owner_id, movement.lot_id, movement.serial,
		CAST(SUM({left}) AS bigint)
	FROM stock_movements AS movement
	{original}
	WHERE movement.tenant_id = $1
		AND {items}
		AND {kind} IN ('ship', 'return_in')
		AND NOT (
			{unexpected}
		)
		AND {counted}
	GROUP BY movement.item_id, movement.owner_id, movement.lot_id, movement.serial
	HAVING SUM({left}) <> 0`

// byVerbsSQL holds for what left, and for what verbs took back: movements that name a receipt
// or an order line that is there. Those written by hand or imported bring back what left
// before the ledger began.
const byVerbsSQL = `(
			{kind} = 'ship'
			OR EXISTS (
				SELECT 1
				FROM receipts AS receipt
				WHERE receipt.tenant_id = $1
					AND receipt.id = COALESCE(original.ref_id, movement.ref_id)
			)
			OR EXISTS (
				SELECT 1
				FROM order_lines AS line
				WHERE line.tenant_id = $1
					AND line.id = COALESCE(original.ref_id, movement.ref_id)
			)
		)`

// returnedSQL selects what verbs took back of items and what left of them, by owner. $1
// tenant.
const returnedSQL = `
	SELECT movement.item_id, movement.owner_id,
		CAST(SUM(CASE WHEN {kind} = 'return_in' THEN -({left}) ELSE 0 END) AS bigint),
		CAST(SUM(CASE WHEN {kind} = 'ship' THEN {left} ELSE 0 END) AS bigint)
	FROM stock_movements AS movement
	{original}
	WHERE movement.tenant_id = $1
		AND {kind} IN ('ship', 'return_in')
		AND {by verbs}
		AND NOT (
			{unexpected}
		)
	GROUP BY movement.item_id, movement.owner_id`

// fillWords puts into a statement what the statements of this package share.
func fillWords(statement string, wordsAndSQL ...string) string {
	statement = strings.NewReplacer(append(wordsAndSQL, "{left}", leftSQL, "{original}", originalJoin,
		"{unexpected}", unexpectedSQL, "{by verbs}", byVerbsSQL)...).Replace(statement)
	return strings.ReplaceAll(statement, "{kind}", kindSQL)
}

// ReturnedSQL is the statement that says of items and owners what verbs took back and what
// left, in base units; no item may have taken back more. Its argument is the tenant.
func ReturnedSQL() string { return fillWords(returnedSQL) }

// Away is how much of goods is away: left, and not come back.
type Away map[Goods]decimal.Dec

// ReadAway reads what of items is away: less all that came back, by whatever way.
func ReadAway(tx *store.Tx, items []string) (Away, error) { return readAway(tx, items, "TRUE") }

func readAway(tx *store.Tx, items []string, counted string) (Away, error) {
	away := Away{}
	if len(items) == 0 {
		return away, nil
	}
	text := fillWords(awaySQL, "{items}", tx.DB().InUUID("movement.item_id", 2), "{counted}", counted)
	err := tx.Query(text, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		away[scanGoods(r)] = r.Dec(4)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("returns: goods that are away: %w", err)
	}
	return away, nil
}

// scanGoods reads goods from the first four columns of a row: item, owner, lot, serial.
func scanGoods(r *db.Row) Goods {
	return Goods{ItemID: r.Text(0), OwnerID: r.Text(1), LotID: r.Text(2), Serial: r.Text(3)}
}

// Open is how much of goods may come back: no more of a lot or a serial number than left of
// it, and no more of it all than is away of their item and owner, since what came back without
// a lot may have been of any.
func (a Away) Open(g Goods) decimal.Dec {
	var like, whole decimal.Dec
	for is, quantity := range a {
		if is.ItemID != g.ItemID || is.OwnerID != g.OwnerID {
			continue
		}
		whole += quantity
		if (g.LotID == "" || g.LotID == is.LotID) && (g.Serial == "" || g.Serial == is.Serial) {
			like += quantity
		}
	}
	return max(min(like, whole), 0)
}

// Take notes that goods come back, of the lot that is found on them; "" is the lot that
// is waited for. It refuses with HF022 more than is away, and another lot.
func (a Away) Take(g Goods, found string, quantity decimal.Dec) error {
	const hint = "take them in with receive_return, disposition quarantine and a reason"
	if found != "" && g.LotID != "" && found != g.LotID {
		return fault.New(fault.Conflict, codeOver, "the goods are of another lot than the one that left").
			With("", hint).At("lot_id", "is not the lot that left")
	}
	if found != "" {
		g.LotID = found
	}
	if open := a.Open(g); quantity > open {
		return fault.New(fault.Conflict, codeOver,
			"%s came back, and of what left like it only %s is still away", quantity, open).
			With("", hint).At("quantity", "only %s may come back", open)
	}
	a[g] -= quantity
	return nil
}

// CheckReversed refuses with HF022 that goods which verbs took back are said never to have
// left. The caller holds their items.
func CheckReversed(tx *store.Tx, list []Sent) error {
	var items []string
	for _, s := range list {
		items = append(items, s.ItemID)
	}
	away, err := readAway(tx, items, fillWords(byVerbsSQL))
	if err != nil {
		return err
	}
	for _, s := range list {
		open := away.Open(s.Goods)
		if s.Quantity > open {
			return fault.New(fault.Conflict, codeOver, "of what left like it only %s is still away; the rest came back", open).
				With("", "reverse the return first, or reverse less").At("quantity", "only %s is still away", open)
		}
		away[s.Goods] -= s.Quantity
	}
	return nil
}

// Arrival is goods that are received under a return order.
type Arrival struct {
	Goods             // of the order's line; its serial number is that of no piece
	LotFound string   // the lot that is on them, "" where none is
	Serials  []string // one a piece, where pieces have numbers
	Quantity decimal.Dec
	At       string // their place in a request, as "lines[2]."
}

// CheckArrivals refuses goods that never left, or came back already, as [Away.Take] does.
// The caller holds their items.
func CheckArrivals(tx *store.Tx, list []Arrival) error {
	var items []string
	for _, a := range list {
		items = append(items, a.ItemID)
	}
	away, err := ReadAway(tx, items)
	if err != nil {
		return err
	}
	for _, a := range list {
		for _, part := range a.listPieces() {
			if err := away.Take(part.Goods, a.LotFound, part.Quantity); err != nil {
				return a.placeFields(fault.As(err))
			}
		}
	}
	return nil
}

// listPieces are the goods of an arrival, each numbered piece by itself.
func (a Arrival) listPieces() []Sent {
	if len(a.Serials) == 0 {
		return []Sent{{a.Goods, a.Quantity}}
	}
	var parts []Sent
	for _, serial := range a.Serials {
		of := a.Goods
		of.Serial = serial
		parts = append(parts, Sent{of, decimal.One})
	}
	return parts
}

// placeFields names the fields of a fault as verb receive has them.
func (a Arrival) placeFields(f *fault.Error) error {
	for i, field := range f.Fields {
		name := field.Name
		if name == "lot_id" {
			name = "lot_no"
		}
		if name == "quantity" && len(a.Serials) > 0 {
			name = "serials"
		}
		f.Fields[i].Name = a.At + name
	}
	return f
}

// sentSQL selects what left with a shipment, by item, owner, lot and serial number, less
// what reversals say never left, which leaves 0 where they reverse it all. $1 tenant, $2
// ids of items, $3 shipment.
const sentSQL = `
	SELECT movement.item_id, movement.owner_id, movement.lot_id, movement.serial,
		CAST(SUM(movement.quantity - COALESCE((
			SELECT SUM(reversal.quantity)
			FROM stock_movements AS reversal
			WHERE reversal.tenant_id = $1
				AND reversal.reversal_of = movement.id
		), 0)) AS bigint)
	FROM stock_movements AS movement
	WHERE movement.tenant_id = $1
		AND {items}
		AND movement.type = 'ship'
		AND movement.to_zone_id IS NULL
		AND movement.ref_id = $3
	GROUP BY movement.item_id, movement.owner_id, movement.lot_id, movement.serial
	ORDER BY movement.item_id, movement.lot_id, movement.serial`

// ReadSent reads what of items left with a shipment.
func ReadSent(tx *store.Tx, items []string, shipment string) (list []Sent, err error) {
	text := strings.ReplaceAll(sentSQL, "{items}", tx.DB().InUUID("movement.item_id", 2))
	err = tx.Query(text, []any{tx.TenantID, query.List(items), shipment}, func(r *db.Row) error {
		list = append(list, Sent{scanGoods(r), r.Dec(4)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("returns: goods of a shipment: %w", err)
	}
	return list, nil
}

// Line is a part of goods that left, of one lot; "" is none.
type Line struct {
	LotID    string
	Quantity decimal.Dec
}

// Divide divides a quantity of an item that left by the lots that it left in, and takes
// it off sent. Where no movement of the item is known, as of what left before the ledger
// began, it is one line without a lot; what movements that are known do not show never left.
func Divide(sent []Sent, item string, quantity decimal.Dec) (lines []Line) {
	add := func(lot string, part decimal.Dec) {
		if last := len(lines) - 1; last >= 0 && lines[last].LotID == lot {
			lines[last].Quantity += part
			return
		}
		lines = append(lines, Line{lot, part})
	}
	isKnown := false
	for i := range sent {
		if sent[i].ItemID != item {
			continue
		}
		isKnown = true
		part := min(quantity, sent[i].Quantity)
		if part <= 0 {
			continue
		}
		sent[i].Quantity -= part
		quantity -= part
		add(sent[i].LotID, part)
	}
	if quantity > 0 && !isKnown {
		add("", quantity)
	}
	return lines
}

// soldSQL selects pieces that left more often than they came back. $1 tenant, $2 ids of
// items, $3 serial numbers.
const soldSQL = `
	SELECT movement.item_id, movement.serial
	FROM stock_movements AS movement
	{original}
	WHERE movement.tenant_id = $1
		AND {items}
		AND {serials}
		AND {kind} IN ('ship', 'return_in')
	GROUP BY movement.item_id, movement.serial
	HAVING SUM({left}) > 0`

// piece is one piece of an item.
type piece struct{ item, serial string }

// Pieces are numbered pieces of items that come in as new, with the number of their
// item and their place in a request, as "lines[2].".
type Pieces map[piece]struct{ sku, at string }

// Add notes pieces of an item.
func (p Pieces) Add(item, sku, at string, serials []string) {
	for _, serial := range serials {
		p[piece{item, serial}] = struct{ sku, at string }{sku, at}
	}
}

// CheckNew refuses with HF002 pieces that were sold and have not come back.
func (p Pieces) CheckNew(tx *store.Tx) error {
	if len(p) == 0 {
		return nil
	}
	var items, serials []string
	for is := range p {
		items, serials = append(items, is.item), append(serials, is.serial)
	}
	d := tx.DB()
	text := fillWords(soldSQL, "{items}", d.InUUID("movement.item_id", 2), "{serials}", d.InText("movement.serial", 3))
	return tx.Query(text, []any{tx.TenantID, query.List(items), query.List(serials)}, func(r *db.Row) error {
		serial := r.Text(1)
		is, isHere := p[piece{r.Text(0), serial}]
		if !isHere {
			return nil
		}
		return fault.New(fault.Conflict, codeStock,
			"serial number %s of item %s was sold and did not come back", serial, is.sku).
			With("", "receive it under a return order, or say accept_sold where it is new all the same").
			At(is.at+"serials", "%s was sold", serial)
	})
}
