package warehouse_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/store"
)

// floor is a small warehouse: area A > aisle B > bins C (10 units) and D, and
// two items.
type floor struct{ area, aisle, bin, other, bolt, drum string }

func build(k *kit) floor {
	k.Helper()
	var f floor
	f.area = k.add("zones", store.Row{"code": "A", "name": "Area", "kind": "area", "max_capacity": "1000"})
	f.aisle = k.add("zones", store.Row{"code": "B", "name": "Aisle", "kind": "aisle", "parent_id": f.area})
	f.bin = k.add("zones", store.Row{"code": "C", "name": "Bin", "parent_id": f.aisle, "max_capacity": "10"})
	f.other = k.add("zones", store.Row{"code": "D", "name": "Bin", "parent_id": f.aisle})
	f.bolt = k.add("items", store.Row{"sku": "BOLT", "name": "Bolt", "unit_cost": "0.25", "reorder_point": "5"})
	f.drum = k.add("items", store.Row{"sku": "DRUM", "name": "Drum", "unit_cost": "80", "capacity_units": "2.5",
		"tracking": "lot"})
	return f
}

func in(kind, item, zone, qty string) store.Row {
	return store.Row{"type": kind, "item_id": item, "to_zone_id": zone, "quantity": qty}
}

func out(kind, item, zone, qty string) store.Row {
	return store.Row{"type": kind, "item_id": item, "from_zone_id": zone, "quantity": qty}
}

func between(kind, item, from, to, qty string) store.Row {
	return store.Row{"type": kind, "item_id": item, "from_zone_id": from, "to_zone_id": to, "quantity": qty}
}

func TestMovementsKeepStock(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.is("items", f.bolt, "low_stock", "true")
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "8"))
		k.is("items", f.bolt, "on_hand", "8")
		k.is("items", f.bolt, "available", "8")
		k.is("items", f.bolt, "stock_value", "2")
		k.is("items", f.bolt, "low_stock", "false")
		k.is("items", f.bolt, "version", "1")
		k.is("zones", f.bin, "load_units", "8")
		k.is("zones", f.bin, "utilization", "80")
		k.is("zones", f.aisle, "load_units", "8")
		k.is("zones", f.aisle, "utilization", "null")
		k.is("zones", f.area, "utilization", "0.8")

		k.add("stock_movements", between("putaway", f.bolt, f.bin, f.other, "3.5"))
		k.is("items", f.bolt, "on_hand", "8")
		k.is("zones", f.bin, "load_units", "4.5")
		k.is("zones", f.other, "load_units", "3.5")
		k.is("zones", f.area, "load_units", "8")

		k.add("stock_movements", store.Row{"type": "status_change", "item_id": f.bolt, "from_zone_id": f.bin,
			"to_zone_id": f.bin, "to_status": "damaged",
			"quantity": "4"})
		k.is("items", f.bolt, "on_hand", "8")
		k.is("items", f.bolt, "available", "4")
		k.is("items", f.bolt, "low_stock", "true")

		_, err := k.try("stock_movements", out("ship", f.bolt, f.bin, "0.6"))
		k.refused(err, "HF002")
		k.add("stock_movements", out("ship", f.bolt, f.other, "3.5"))
		k.is("items", f.bolt, "on_hand", "4.5")
		k.is("items", f.bolt, "stock_value", "1.125")
		got := k.counts()
		for name, want := range map[string]int64{"items:active:true": 1, "items:active:false": 1,
			"items.stock_value": int64(d("1.125")), "zones:active": 4} {
			if got[name] != want {
				t.Errorf("counter %s = %d, want %d", name, got[name], want)
			}
		}
	})
}

// A batch is booked as a whole: what arrives in it may leave in it, whatever
// the order of its rows.
func TestMovementsAreBookedTogether(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		rows := []store.Row{out("ship", f.bolt, f.other, "2")}
		for range 700 {
			opening := in("opening", f.bolt, f.bin, "1")
			opening["override_reason"] = "a pile beside the bin"
			rows = append(rows, opening)
		}
		rows = append(rows, between("transfer", f.bolt, f.bin, f.other, "5"))
		if _, err := k.try("stock_movements", rows...); err != nil {
			t.Fatal(err)
		}
		k.is("items", f.bolt, "on_hand", "698")
		k.is("zones", f.bin, "load_units", "695")
		k.is("zones", f.other, "load_units", "3")
		k.is("zones", f.area, "utilization", "69.8")
		_, err := k.try("stock_movements", in("receipt", f.bolt, f.bin, "1"), out("ship", f.bolt, f.other, "3.0001"))
		k.refused(err, "HF002")
		k.is("items", f.bolt, "on_hand", "698")

		// More zones than the database walks up by itself.
		rows = nil
		for i := range 3 * 40 {
			if i < 40 {
				rows = append(rows, in("receipt", f.bolt, k.add("zones",
					store.Row{"code": fmt.Sprint("many", i), "name": "z", "parent_id": f.aisle,
						"max_capacity": "4"}), "1"))
			} else {
				rows = append(rows, in("receipt", f.bolt, rows[i%40]["to_zone_id"].(string), "1"))
			}
		}
		if _, err := k.try("stock_movements", rows...); err != nil {
			t.Fatal(err)
		}
		k.is("zones", f.area, "utilization", "81.8")
		k.is("zones", rows[7]["to_zone_id"].(string), "utilization", "75")
		k.set("items", f.bolt, store.Row{"capacity_units": "0.5"})
		k.is("zones", f.area, "load_units", "409")
		k.agree()
	})
}

func TestMovementShapes(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		lot := k.add("lots", store.Row{"item_id": f.drum, "lot_no": "L1"})
		saw := k.add("items", store.Row{"sku": "SAW", "name": "Saw", "tracking": "serial"})
		with := func(r store.Row, name string, v any) store.Row {
			r[name] = v
			return r
		}
		for name, m := range map[string]store.Row{
			"receipt from a zone":      between("receipt", f.bolt, f.bin, f.other, "1"),
			"receipt to nowhere":       {"type": "receipt", "item_id": f.bolt, "quantity": "1"},
			"ship to a zone":           between("ship", f.bolt, f.bin, f.other, "1"),
			"transfer within a zone":   between("transfer", f.bolt, f.bin, f.bin, "1"),
			"status change elsewhere":  between("status_change", f.bolt, f.bin, f.other, "1"),
			"status change to itself":  between("status_change", f.bolt, f.bin, f.bin, "1"),
			"in the future":            with(in("receipt", f.bolt, f.bin, "1"), "occurred_at", "2026-03-01T12:06:00Z"),
			"lot of another item":      with(in("receipt", f.bolt, f.bin, "1"), "lot_id", lot),
			"tracked by lot, none":     in("receipt", f.drum, f.bin, "1"),
			"tracked by serial, none":  in("receipt", saw, f.bin, "1"),
			"two of one serial number": with(in("receipt", saw, f.bin, "2"), "serial", "S1"),
		} {
			if _, err := k.try("stock_movements", m); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				k.refused(err, "HF003")
			}
		}
		k.add("stock_movements", with(in("receipt", saw, f.bin, "1"), "serial", "S1"))
		k.add("stock_movements", with(between("transfer", saw, f.bin, f.other, "1"), "serial", "S1"))
		k.add("stock_movements", with(between("transfer", saw, f.other, f.bin, "1"), "serial", "S1"))
		k.add("stock_movements", with(store.Row{"type": "ship", "item_id": saw, "from_zone_id": f.bin, "quantity": "1"},
			"serial", "S1"))
		k.add("stock_movements", with(in("return_in", saw, f.bin, "1"), "serial", "S1"))
		k.add("stock_movements", with(with(in("receipt", f.drum, f.bin, "4"), "lot_id", lot), "override_reason",
			"no other bin"))
		k.is("zones", f.bin, "load_units", "11")
		k.is("zones", f.bin, "utilization", "110")
		k.is("stock_movements", k.add("stock_movements", in("receipt", f.bolt, f.other, "1")), "occurred_at",
			"2026-03-01T12:00:00.000000Z")
	})
}

func TestBlockedZones(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.set("zones", f.bin, store.Row{"status": "blocked"})
		k.as.Role = actor.Operator
		_, err := k.try("stock_movements", in("receipt", f.bolt, f.bin, "1"))
		k.refused(err, "HF003")
		k.as.ZoneIDs = []string{f.bin}
		_, err = k.try("stock_movements", in("receipt", f.bolt, f.other, "1"))
		k.refused(err, "42501")
		k.as.ZoneIDs = []string{f.aisle}
		k.add("stock_movements", in("receipt", f.bolt, f.other, "1"))
		k.as.Role, k.as.ZoneIDs = actor.Manager, nil
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "1"))
	})
}

func TestItemChanges(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "8"))
		k.set("items", f.bolt, store.Row{"unit_cost": "1.5", "reorder_point": "8", "capacity_units": "0.5"})
		k.is("items", f.bolt, "stock_value", "12")
		k.is("items", f.bolt, "low_stock", "true")
		k.is("zones", f.bin, "load_units", "4")
		k.is("zones", f.area, "load_units", "4")
		k.refused(k.change("items", f.bolt, store.Row{"tracking": "lot"}), "HF004")
		k.set("items", f.bolt, store.Row{"archived_at": "2026-03-01T00:00:00Z"})
		k.is("items", f.bolt, "status", "discontinued")
		if got := k.counts(); got["items:active:true"] != 0 || got["items:discontinued:true"] != 1 ||
			got["items.stock_value"] != int64(d("12")) {
			t.Errorf("counters = %v", got)
		}
	})
}

func TestZoneTree(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "8"))
		k.refused(k.change("zones", f.area, store.Row{"parent_id": f.bin}), "HF005")
		k.refused(k.change("zones", f.bin, store.Row{"parent_id": f.bin}), "HF005")

		yard := k.add("zones", store.Row{"code": "Y", "name": "Yard", "max_capacity": "80"})
		k.set("zones", f.aisle, store.Row{"parent_id": yard})
		k.is("zones", f.area, "load_units", "0")
		k.is("zones", yard, "load_units", "8")
		k.is("zones", yard, "utilization", "10")
		k.set("zones", f.bin, store.Row{"max_capacity": "16"})
		k.is("zones", f.bin, "utilization", "50")

		top := yard
		for i := 2; i <= 6; i++ {
			top = k.add("zones", store.Row{"code": fmt.Sprintf("deep%d", i), "name": "deep", "parent_id": top})
		}
		_, err := k.try("zones", store.Row{"code": "too", "name": "deep", "parent_id": top})
		k.refused(err, "HF005")
		above := k.add("zones", store.Row{"code": "above", "name": "above"})
		k.refused(k.change("zones", yard, store.Row{"parent_id": above}), "HF005")

		k.refused(k.change("zones", f.bin, store.Row{"status": "archived"}), "HF004")
		k.refused(k.change("zones", f.aisle, store.Row{"status": "archived"}), "HF004")
		k.set("zones", f.other, store.Row{"archived_at": "2026-03-01T00:00:00Z"})
		k.is("zones", f.other, "status", "archived")
		_, err = k.try("stock_movements", in("receipt", f.bolt, f.other, "1"))
		k.refused(err, "HF003")
		k.set("zones", f.other, store.Row{"status": "active"})
		k.is("zones", f.other, "archived_at", "null")
	})
}

// A movement names nothing of another tenant.
func TestMovementsStayInTheTenant(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.as.TenantID = south
		mine := k.add("items", store.Row{"sku": "BOLT", "name": "Bolt"})
		bin := k.add("zones", store.Row{"code": "C", "name": "Bin"})
		for _, m := range []store.Row{in("receipt", f.bolt, bin, "1"), in("receipt", mine, f.bin, "1")} {
			if _, err := k.try("stock_movements", m); err == nil {
				t.Errorf("%v: accepted", m)
			}
		}
		k.add("stock_movements", in("receipt", mine, bin, "1"))
		k.as.TenantID = north
		k.is("items", f.bolt, "on_hand", "0")
		k.is("zones", f.bin, "load_units", "0")
	})
}
