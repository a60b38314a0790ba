package scanning

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// barcode is what a code stands for: one item in one unit.
type barcode struct{ value, item, unit string }

// canonicalBarcode is a code as item_barcodes keeps it: in its one spelling, and a GTIN
// with 14 digits however many the scanner sent.
func canonicalBarcode(code string) string {
	code = query.Identifier(code)
	if gtin, ok := gs1.GTIN(code); ok {
		return gtin
	}
	return code
}

// printed is an entry of an item's barcodes.
type printed struct {
	Value string `json:"value"`
	UoM   string `json:"uom"`
}

// LabelItems keeps item_barcodes in step with the items themselves.
func LabelItems(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.Item](changes) {
		if isRelabelled(c) {
			ids = append(ids, c.After.ID())
		}
	}
	return syncBarcodes(tx, ids)
}

// isRelabelled reports a change of an item that gives it other codes, or codes another unit.
func isRelabelled(c record.Change[record.Item]) bool {
	switch c.Op {
	case store.Insert:
		return c.After.HasGTIN() || len(readDocument(c.After)) > len("[]")
	case store.Update:
		return c.Before.GTINOrNull() != c.After.GTINOrNull() || c.Before.BaseUOMOrNull() != c.After.BaseUOMOrNull() ||
			!bytes.Equal(readDocument(c.Before), readDocument(c.After))
	}
	return false
}

// readDocument is the JSON of an item's barcodes.
func readDocument(item record.Item) json.RawMessage {
	raw := item.Barcodes()
	return raw
}

// LabelUnits keeps item_barcodes in step with the items' other units.
func LabelUnits(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.ItemUOM](changes) {
		unit := c.Current()
		if c.Op != store.Insert || unit.HasGTIN() || unit.HasBarcode() {
			ids = append(ids, unit.ItemID())
		}
	}
	return syncBarcodes(tx, ids)
}

// RemoveBarcodes takes the barcodes of items away before the items go. Those of bulk
// work go with them, unread (catalog.Resource.Follows).
func RemoveBarcodes(tx *store.Tx, changes []store.Change) error {
	var gone []string
	for _, c := range record.Changes[record.Item](changes) {
		if c.Op == store.Delete && tx.Store.Audited() {
			gone = append(gone, c.Before.ID())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var ids []string
	err := tx.Query(`
		SELECT id
		FROM item_barcodes
		WHERE tenant_id = $1
			AND item_id IN {ids $2}`,
		[]any{tx.TenantID, query.List(gone)}, func(r *db.Row) error {
			ids = append(ids, r.Text(0))
			return nil
		})
	if err != nil {
		return err
	}
	return dropBarcodes(tx, ids)
}

func dropBarcodes(tx *store.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	err := tx.Unaudited().DeleteRows("item_barcodes", ids)
	return err
}

// syncBarcodes writes what items and their units say into item_barcodes, where
// one code stands for one item in one unit.
func syncBarcodes(tx *store.Tx, items []string) error {
	if len(items) == 0 {
		return nil
	}
	wanted, err := saidBarcodes(tx.Tx, tx.TenantID, items)
	if err != nil {
		return err
	}
	kept := map[barcode]string{}
	err = tx.Query(`
		SELECT id, value, item_id, uom
		FROM item_barcodes
		WHERE tenant_id = $1
			AND item_id IN {ids $2}`, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		kept[barcode{r.Text(1), r.Text(2), r.Text(3)}] = r.Text(0)
		return nil
	})
	if err != nil {
		return err
	}
	var extra []string
	for b, id := range kept {
		if !slices.Contains(wanted, b) {
			extra = append(extra, id)
		}
	}
	if err := dropBarcodes(tx, extra); err != nil {
		return err
	}
	wanted = slices.DeleteFunc(wanted, func(b barcode) bool { return kept[b] != "" })
	return addBarcodes(tx, wanted)
}

// saidBarcodes collects what items and their units say.
func saidBarcodes(tx *db.Tx, tenant string, items []string) ([]barcode, error) {
	var list []barcode
	add := func(value, item, unit string) {
		b := barcode{canonicalBarcode(value), item, strings.ToUpper(unit)}
		if value != "" && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	tx.Queue(`
		SELECT id, base_uom, gtin, barcodes
		FROM items
		WHERE tenant_id = $1
			AND id IN {ids $2}
		ORDER BY id`,
		[]any{tenant, query.List(items)}, func(r *db.Row) error {
			add(r.Text(2), r.Text(0), r.Text(1))
			var codes []printed
			err := json.Unmarshal([]byte(r.Text(3)), &codes)
			for _, c := range codes {
				if c.UoM == "" {
					c.UoM = r.Text(1)
				}
				add(c.Value, r.Text(0), c.UoM)
			}
			return err
		})
	tx.Queue(`
		SELECT item_id, uom, gtin, barcode
		FROM item_uoms
		WHERE tenant_id = $1
			AND item_id IN {ids $2}
		ORDER BY id`,
		[]any{tenant, query.List(items)}, func(r *db.Row) error {
			add(r.Text(2), r.Text(0), r.Text(1))
			add(r.Text(3), r.Text(0), r.Text(1))
			return nil
		})
	return list, tx.Flush()
}

func addBarcodes(tx *store.Tx, list []barcode) error {
	if len(list) == 0 {
		return nil
	}
	values := make([]string, len(list))
	rows := make([]record.ItemBarcode, len(list))
	for i, b := range list {
		if slices.Contains(values[:i], b.value) {
			return refuseTakenBarcode(b.value, "another unit or item of this change")
		}
		values[i] = b.value
		rows[i] = record.ItemBarcode{"value": b.value, "item_id": b.item, "uom": b.unit}
	}
	err := tx.Query(`
		SELECT b.value, i.sku, b.uom
		FROM item_barcodes b
		JOIN items i ON i.tenant_id = $1 AND i.id = b.item_id
		WHERE b.tenant_id = $1
			AND b.value IN {texts $2}
		ORDER BY b.value
		LIMIT 1`, []any{tx.TenantID, query.List(values)},
		func(r *db.Row) error {
			return refuseTakenBarcode(r.Text(0), "item "+r.Text(1)+" in unit "+r.Text(2))
		})
	if err != nil {
		return err
	}
	_, err = record.Insert(tx.Unaudited(), rows)
	return err
}

// refuseTakenBarcode says whose a barcode is already.
func refuseTakenBarcode(value, by string) error {
	return fault.New(fault.Conflict, "23505", "barcode %s belongs to %s already", value, by).
		With("Key (value)=("+value+") already exists.", "a barcode or GTIN stands for one item in one unit").At("gtin",
		"belongs to %s", by)
}
