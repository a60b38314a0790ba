package kits

import (
	"fmt"
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// agreed are the fields of lines that are settled once a kit has lines of its components.
var (
	agreedOfKit       = [...]string{"item_id", "uom", "qty_ordered", "lot_id", "min_expiry"}
	agreedOfComponent = [...]string{"item_id", "uom", "qty_ordered", "unit_price", "price_uom"}
)

// CheckLines refuses lines of kits in orders that sell nothing, and changes by which a kit
// and the lines of its components would no longer agree. What a file says of the past is
// refused when its order is confirmed.
func CheckLines(tx *store.Tx, changes []store.Change) error {
	if err := checkNewLines(tx, changes); err != nil {
		return err
	}
	if err := checkCancelled(tx, changes); err != nil {
		return err
	}
	for _, c := range record.Changes[record.OrderLine](changes) {
		var err error
		switch {
		case c.Op == store.Delete:
			err = checkDeleted(c.Before, changes)
		case c.Op == store.Update && IsKitLine(c.Before):
			err = checkKitChange(c)
		case c.Op == store.Update && c.Before.HasKitLineID():
			err = checkAgreed(c, agreedOfComponent[:],
				"a component of a kit: what it is and how much is agreed with the kit",
				"cancel whole kits with qty_cancelled of theirs")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNewLines refuses kits in orders that are bought, moved or come back.
func checkNewLines(tx *store.Tx, changes []store.Change) error {
	var items, orders []string
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.Op == store.Insert || c.Op == store.Update && c.Before.ItemID() != c.After.ItemID() {
			items = append(items, c.After.ItemID())
			orders = append(orders, c.After.OrderID())
		}
	}
	if len(items) == 0 || !tx.Store.Audited() {
		return nil
	}
	found := QueueKits(tx.Tx, tx.TenantID, items)
	if err := tx.Flush(); err != nil || len(found) == 0 {
		return err
	}
	rows, err := record.List[record.Order](tx, tx.DB().InUUID("id", 2), query.List(orders))
	if err != nil {
		return fmt.Errorf("kits: orders of lines: %w", err)
	}
	kind := map[string]string{}
	for _, r := range rows {
		kind[r.ID()] = r.Type()
	}
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.After == nil || found[c.After.ItemID()] == "" {
			continue
		}
		if k := kind[c.After.OrderID()]; k != "" && k != "outbound" {
			return refuseKind(k, found[c.After.ItemID()])
		}
	}
	return nil
}

// refuseKind refuses a kit in an order that is not sold.
func refuseKind(kind, sku string) *fault.Error {
	return fault.New(fault.Conflict, codeOrder,
		"item %s is a kit, which is sold as its components: an order of type %s has lines of these", sku, kind).
		With("", "order the components of "+sku).At("item_id", "is a kit")
}

// checkKitChange lets the line of a kit change its price and its number, and cancel kits.
func checkKitChange(c record.Change[record.OrderLine]) error {
	if c.After.QtyCancelled() < c.Before.QtyCancelled() {
		return fault.New(fault.Conflict, codeInUse,
			"what is cancelled of a kit stays so, as on the lines of its components").
			With("", "add another line").At("qty_cancelled", "is less than before")
	}
	if c.After.QtyCancelled()%decimal.Scale != 0 {
		return fault.New(fault.Invalid, codeMovement, "%s kits are not whole", c.After.QtyCancelled()).
			At("qty_cancelled", "is not whole")
	}
	return checkAgreed(c, agreedOfKit[:], "a kit whose components have lines",
		"cancel a part of it with qty_cancelled, or add another line")
}

// checkCancelled refuses to cancel the components of a kit otherwise than whole kits are: the
// others would leave for the price of fewer kits. What ends the rest of all of them, as the end
// of an order, may.
func checkCancelled(tx *store.Tx, changes []store.Change) error {
	after := map[string]record.OrderLine{}
	var kits []string
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.After != nil {
			after[c.After.ID()] = c.After
		}
		isCancelled := c.Op == store.Update && c.Before.QtyCancelledOrNull() != c.After.QtyCancelledOrNull()
		if isCancelled && c.Before.HasKitLineID() {
			kits = append(kits, c.After.KitLineID())
		}
	}
	if len(kits) == 0 {
		return nil
	}
	in := tx.DB().InUUID
	rows, err := record.List[record.OrderLine](tx, "("+in("kit_line_id", 2)+" OR "+in("id", 2)+")", query.List(kits))
	if err != nil {
		return fmt.Errorf("kits: lines of kits: %w", err)
	}
	lines, open := map[string]record.OrderLine{}, map[string]bool{}
	for _, r := range rows {
		if changed := after[r.ID()]; changed != nil {
			r = changed
		}
		lines[r.ID()] = r
		if r.QtyOrdered()-r.QtyCancelled() > r.QtyShipped() {
			open[r.KitLineID()] = true
		}
	}
	for _, r := range rows {
		part, kit := after[r.ID()], lines[r.KitLineID()]
		if part == nil || kit == nil || !open[kit.ID()] {
			continue
		}
		whole, err := kit.QtyCancelled().Mul(part.KitQty())
		if err != nil || part.QtyCancelled() != whole {
			return fault.New(fault.Conflict, codeOrder,
				"line %v is a component of the kit on line %v, of which %s are cancelled: it is not cancelled alone",
				part.LineNoOrNull(), kit.LineNoOrNull(), kit.QtyCancelled()).
				With("", "cancel whole kits with qty_cancelled of their line").
				At("qty_cancelled", "is not that of whole kits")
		}
	}
	return nil
}

func checkAgreed(c record.Change[record.OrderLine], fields []string, what, hint string) error {
	for _, f := range fields {
		if c.Before[f] != c.After[f] {
			return fault.New(fault.Conflict, codeInUse, "line %v is of %s: %s no longer changes",
				c.Before.LineNoOrNull(),
				what, f).
				With("", hint).At(f, "is kept as it is")
		}
	}
	return nil
}

// checkDeleted refuses to delete the line of a component without the line of its kit.
func checkDeleted(line record.OrderLine, changes []store.Change) error {
	kit := line.KitLineIDOrNull()
	if kit == nil || slices.ContainsFunc(changes, func(c store.Change) bool {
		return c.Op == store.Delete && record.OrderLine(c.Before).IDOrNull() == kit
	}) {
		return nil
	}
	return fault.New(fault.Conflict, codeInUse, "line %v is a component of a kit in the same order",
		line.LineNoOrNull()).
		With("", "cancel its quantity, or delete it together with the line of the kit")
}

// RefuseKitLine refuses to pack or ship the line of a kit, which has no goods.
func RefuseKitLine(line record.OrderLine) *fault.Error {
	return fault.New(fault.Conflict, codeOrder, "line %v is of a kit: its goods are on the lines of its components",
		line.LineNo()).With("", "name the order lines whose kit_line_id is this one")
}

// ReadComponentLines reads the lines of a kit's components, none of any other line.
func ReadComponentLines(tx *store.Tx, kitLine string) ([]record.OrderLine, error) {
	rows, err := record.List[record.OrderLine](tx, "kit_line_id = $2 ORDER BY line_no", kitLine)
	if err != nil {
		return nil, fmt.Errorf("kits: lines of components: %w", err)
	}
	return rows, nil
}

// CancelComponents cancels of components what is cancelled of their kits.
func CancelComponents(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.Op != store.Update || !IsKitLine(c.Before) ||
			c.Before.QtyCancelledOrNull() == c.After.QtyCancelledOrNull() {
			continue
		}
		parts, err := ReadComponentLines(tx, c.After.ID())
		if err != nil {
			return err
		}
		var sets []record.OrderLine
		for _, p := range parts {
			less, err := c.After.QtyCancelled().Mul(p.KitQty())
			if err != nil {
				return fmt.Errorf("kits: cancelled components: %w", err)
			}
			if less > p.QtyCancelled() {
				sets = append(sets, record.OrderLine{"id": p.ID(), "qty_cancelled": less})
			}
		}
		if err := tx.UpdateEach("order_lines", record.Rows(sets)); err != nil {
			return err
		}
	}
	return nil
}
