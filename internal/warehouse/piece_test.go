package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// A serial number is in stock once. What would bring it in again is refused,
// names the zone that holds it and the row; a count that finds it elsewhere is
// taken together with one that finds its old place empty.
func TestSerialNumbersAreInStockOnce(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		saw := k.add("items", store.Row{"sku": "SAW", "name": "Saw", "tracking": "serial"})
		move := func(m store.Row, serial string) store.Row { m["serial"] = serial; return m }
		count := func(zone, counted string) store.Row {
			return store.Row{"zone_id": zone, "item_id": saw, "serial": "S1", "counted": counted}
		}
		k.add("stock_movements", move(in("receipt", saw, f.bin, "1"), "S1"))
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "5"))
		bolts := store.Row{"zone_id": f.bin, "item_id": f.bolt, "counted": "5"}
		held := "serial number S1 of SAW is in stock already, in zone " + k.row("zones", f.bin)["code"].(string)
		for _, c := range []struct {
			of   string
			rows []store.Row
			want string
			row  string
		}{
			{"stock_movements", []store.Row{move(in("receipt", saw, f.bin, "1"), "S1")}, held, ""},
			{"stock_movements", []store.Row{move(in("return_in", saw, f.other, "1"), "S1")}, held, ""},
			{"stock_movements", []store.Row{in("receipt", f.bolt, f.bin, "1"), move(in("receipt", saw, f.other, "1"), "S1")},
				held, "row 2"},
			{"stock_movements", []store.Row{move(in("receipt", saw, f.bin, "1"), "S2"),
				move(in("adjust_gain", saw, f.other, "1"), "S2")},
				"S2 of SAW would come into stock twice", "row 2"},
			{"stock_counts", []store.Row{count(f.other, "1")}, held, ""},
			{"stock_counts", []store.Row{bolts, count(f.other, "1")}, held, "row 2"},
			{"stock_counts", []store.Row{bolts, {"zone_id": f.bin, "item_id": f.bolt, "counted": "4", "lpn": "P"},
				count(f.other, "1")}, held, "row 3"},
		} {
			_, err := k.try(c.of, c.rows...)
			k.refused(err, warehouse.CodeStock)
			if got := fault.As(err); !strings.Contains(got.Msg, c.want) || got.Details != c.row {
				t.Errorf("%s: %q at %q, want %q at %q", c.of, got.Msg, got.Details, c.want, c.row)
			}
		}
		for _, zones := range [][2]string{{f.bin, f.other}, {f.other, f.bin}} {
			if _, err := k.try("stock_counts", count(zones[1], "1"), count(zones[0], "0")); err != nil {
				t.Errorf("found elsewhere: %v", err)
			}
		}
		k.is("items", saw, "on_hand", "1")
		k.agree()
	})
}
