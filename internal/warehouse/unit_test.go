package warehouse_test

import (
	"encoding/json"
	"testing"

	"holdfast/internal/store"
)

// Quantities in another unit are booked in base units: exactly, or not at all.
func TestMovementsInOtherUnits(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.add("uoms", store.Row{"code": "BX", "name": "Box", "decimals": 0})
		k.add("item_uoms", store.Row{"item_id": f.bolt, "uom": "BX", "factor": "12.5"})
		k.add("item_uoms", store.Row{"item_id": f.bolt, "uom": "MIL", "factor": "0.0003"})
		move := func(unit string, more store.Row) store.Row {
			m := store.Row{"type": "receipt", "item_id": f.bolt, "to_zone_id": f.other, "uom": unit}
			for name, v := range more {
				m[name] = v
			}
			return m
		}
		got := k.row("stock_movements", k.add("stock_movements", move("bx", store.Row{"uom_quantity": "2"})))
		if show(got["quantity"]) != "25" || show(got["uom_quantity"]) != "2" {
			t.Errorf("2 boxes are %v", got["quantity"])
		}
		got = k.row("stock_movements", k.add("stock_movements", move("BX", store.Row{"quantity": "50"})))
		if show(got["uom_quantity"]) != "4" {
			t.Errorf("50 pieces are %v boxes", got["uom_quantity"])
		}
		got = k.row("stock_movements", k.add("stock_movements", move("EA", store.Row{"quantity": "1", "uom_quantity": "1"})))
		if show(got["uom_quantity"]) != "1" {
			t.Errorf("base unit: %v", got)
		}
		k.is("items", f.bolt, "on_hand", "76")
		for name, m := range map[string]store.Row{
			"half a box":             move("BX", store.Row{"uom_quantity": "0.5"}),
			"finer than four places": move("MIL", store.Row{"uom_quantity": "0.5"}),
			"unknown unit":           move("PL", store.Row{"uom_quantity": "1"}),
			"unknown unit, quantity": move("PL", store.Row{"quantity": "1"}),
			"quantities that differ": move("BX", store.Row{"uom_quantity": "2", "quantity": "24"}),
			"another item's unit": {"type": "receipt", "item_id": f.drum, "to_zone_id": f.other, "uom": "BX",
				"uom_quantity": "1"},
			"a negative number of it": move("BX", store.Row{"uom_quantity": "-1"}),
		} {
			if _, err := k.try("stock_movements", m); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		k.is("items", f.bolt, "on_hand", "76")
		k.refused(k.change("items", f.bolt, store.Row{"base_uom": "KGM"}), "HF004")
		k.set("items", f.drum, store.Row{"base_uom": "KGM"})
	})
}

// A barcode or GTIN stands for one item in one unit, wherever it is written.
func TestBarcodesAreUnique(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		codes := func(values ...string) json.RawMessage {
			list := []map[string]string{}
			for _, v := range values {
				list = append(list, map[string]string{"value": v})
			}
			raw, _ := json.Marshal(list)
			return raw
		}
		k.set("items", f.bolt, store.Row{"gtin": "4006381333931", "barcodes": codes("BOLT-1", "4006381333931")})
		box := k.add("item_uoms", store.Row{"item_id": f.bolt, "uom": "BX", "factor": "12", "gtin": "14006381333938",
			"barcode": "BOLT-BOX"})
		k.same("04006381333931 EA, 14006381333938 BX, BOLT-1 EA, BOLT-BOX BX", k.barcodes(f.bolt))

		k.refused(k.change("items", f.drum, store.Row{"gtin": "04006381333931"}), "23505")
		k.refused(k.change("items", f.drum, store.Row{"barcodes": codes("BOLT-BOX")}), "23505")
		_, err := k.try("items", store.Row{"sku": "NEW", "name": "New", "gtin": "14006381333938"})
		k.refused(err, "23505")
		_, err = k.try("item_uoms", store.Row{"item_id": f.drum, "uom": "BX", "factor": "2", "barcode": "BOLT-1"})
		k.refused(err, "23505")
		_, err = k.try("items", store.Row{"sku": "N1", "name": "N", "gtin": "96385074"},
			store.Row{"sku": "N2", "name": "N", "gtin": "96385074"})
		k.refused(err, "23505")

		k.set("items", f.bolt, store.Row{"barcodes": codes("OTHER"), "base_uom": "PCE"})
		k.set("item_uoms", box, store.Row{"barcode": nil})
		k.same("04006381333931 PCE, 14006381333938 BX, OTHER PCE", k.barcodes(f.bolt))
		k.set("items", f.drum, store.Row{"barcodes": codes("BOLT-BOX", "BOLT-1")})
		k.same("BOLT-1 EA, BOLT-BOX EA", k.barcodes(f.drum))
		k.remove("items", f.drum)
		k.same("", k.barcodes(f.drum))
		k.as.TenantID = south
		k.add("items", store.Row{"sku": "BOLT", "name": "Bolt", "gtin": "4006381333931"})
	})
}
