package warehouse_test

import (
	"testing"

	"holdfast/internal/store"
)

func TestOrders(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		o := k.add("orders", store.Row{"party_name": "Customer"})
		k.is("orders", o, "stage", "unallocated")
		k.refused(k.change("orders", o, store.Row{"status": "confirmed"}), "HF006")

		l := k.add("order_lines", store.Row{"order_id": o, "line_no": 1, "item_id": f.bolt, "qty_ordered": "10",
			"qty_cancelled": "1", "unit_price": "0.3333"})
		k.add("order_lines", store.Row{"order_id": o, "line_no": 2, "item_id": f.drum, "qty_ordered": "2.5",
			"unit_price": "100.01"})
		k.is("orders", o, "line_count", "2")
		k.is("orders", o, "qty_ordered", "12.5")
		k.is("orders", o, "total_value", "253.0247") // 9 x 0.3333 + 2.5 x 100.01
		k.is("orders", o, "version", "1")

		k.set("items", f.drum, store.Row{"status": "discontinued"})
		k.refused(k.change("orders", o, store.Row{"status": "confirmed"}), "HF006")
		k.set("items", f.drum, store.Row{"status": "active"})
		k.set("orders", o, store.Row{"status": "confirmed"})

		for _, c := range []struct {
			set   store.Row
			stage string
		}{
			{store.Row{"qty_allocated": "4"}, "part_allocated"},
			{store.Row{"qty_allocated": "9"}, "part_allocated"},
			{store.Row{"qty_picked": "9"}, "picking"},
			{store.Row{"qty_packed": "9", "qty_shipped": "9"}, "part_shipped"},
		} {
			k.set("order_lines", l, c.set)
			k.is("orders", o, "stage", c.stage)
		}
		k.refused(k.change("orders", o, store.Row{"status": "cancelled"}), "HF004")
		k.is("orders", o, "qty_shipped", "9")
		k.agree()
	})
}

func TestOrderStages(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		o := k.add("orders", store.Row{})
		l := k.add("order_lines", store.Row{"order_id": o, "line_no": 1, "item_id": f.bolt, "qty_ordered": "2"})
		for _, step := range []struct{ field, stage string }{
			{"qty_allocated", "allocated"}, {"qty_picked", "picked"}, {"qty_packed", "packed"}, {"qty_shipped", "shipped"},
		} {
			k.set("order_lines", l, store.Row{step.field: "2"})
			k.is("orders", o, "stage", step.stage)
		}
		in := k.add("orders", store.Row{"type": "inbound"})
		k.add("order_lines", store.Row{"order_id": in, "line_no": 1, "item_id": f.bolt, "qty_ordered": "2"})
		k.is("orders", in, "stage", "expected")
		k.set("orders", in, store.Row{"status": "cancelled"})
		_, err := k.try("order_lines", store.Row{"order_id": in, "line_no": 2, "item_id": f.bolt, "qty_ordered": "2"})
		k.refused(err, "HF004")
	})
}

func TestPickLists(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		w := k.add("workers", store.Row{"employee_no": "1", "name": "Ada"})
		k.add("zones", store.Row{"code": "LANE", "name": "Lane", "kind": "staging"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": f.bolt, "to_zone_id": f.bin, "quantity": "5"})
		p := k.add("pick_lists", store.Row{"assigned_worker_id": w})
		line := func(seq int) string {
			return k.add("pick_lines", store.Row{"pick_list_id": p, "seq": seq, "zone_id": f.bin, "item_id": f.bolt, "qty": "3"})
		}
		a, b := line(1), line(2)
		k.is("pick_lines", a, "assigned_worker_id", w)
		k.refused(k.change("pick_lines", a, store.Row{"status": "picked"}), "HF006")
		k.set("pick_lists", p, store.Row{"status": "released"})
		k.is("pick_lists", p, "released_at", "2026-03-01T12:00:00.000000Z")

		k.set("pick_lines", a, store.Row{"status": "picked"})
		k.is("pick_lines", a, "qty_picked", "3")
		k.is("pick_lines", a, "picked_at", "2026-03-01T12:00:00.000000Z")
		k.is("pick_lists", p, "status", "in_progress")
		k.is("pick_lists", p, "started_at", "2026-03-01T12:00:00.000000Z")

		k.refused(k.change("pick_lists", p, store.Row{"status": "completed"}), "HF006")
		k.refused(k.change("pick_lines", b, store.Row{"status": "picked", "qty_picked": "2"}), "23514")
		k.refused(k.change("pick_lines", b, store.Row{"status": "picked"}), "HF002")
		other := k.add("workers", store.Row{"employee_no": "2", "name": "Bo"})
		k.set("pick_lists", p, store.Row{"assigned_worker_id": other})
		k.is("pick_lines", b, "assigned_worker_id", other)
		k.set("pick_lines", b, store.Row{"status": "short", "qty_picked": "2"})
		k.is("pick_lists", p, "status", "completed")
		k.is("pick_lists", p, "completed_at", "2026-03-01T12:00:00.000000Z")

		gone := k.add("pick_lists", store.Row{})
		c := k.add("pick_lines", store.Row{"pick_list_id": gone, "seq": 1, "zone_id": f.bin, "item_id": f.bolt, "qty": "3"})
		k.set("pick_lists", gone, store.Row{"status": "cancelled"})
		k.is("pick_lines", c, "status", "cancelled")
		k.agree()
	})
}

func TestShipments(t *testing.T) {
	each(t, func(k *kit) {
		w := k.add("workers", store.Row{"employee_no": "1", "name": "Ada"})
		d := k.add("drivers", store.Row{"worker_id": w, "licence_expires_on": "2026-02-28"})
		v := k.add("vehicles", store.Row{"plate": "X1", "status": "out_of_service"})
		o := k.add("orders", store.Row{})
		sh := k.add("shipments", store.Row{"driver_id": d, "vehicle_id": v, "order_ids": []string{o}})
		k.is("shipments", sh, "assigned_worker_id", w)

		k.refused(k.change("shipments", sh, store.Row{"status": "in_transit"}), "HF001")
		k.set("shipments", sh, store.Row{"status": "packed"})
		k.set("shipments", sh, store.Row{"status": "ready"})
		k.is("drivers", d, "status", "assigned")
		k.refused(k.change("shipments", sh, store.Row{"status": "in_transit"}), "HF024")
		k.set("drivers", d, store.Row{"licence_expires_on": "2026-03-01"})
		k.refused(k.change("shipments", sh, store.Row{"status": "in_transit"}), "HF024")
		k.set("vehicles", v, store.Row{"status": "in_service"})
		k.set("shipments", sh, store.Row{"status": "in_transit"})
		k.is("shipments", sh, "dispatched_at", "2026-03-01T12:00:00.000000Z")
		k.refused(k.change("shipments", sh, store.Row{"status": "arrived"}), "HF001")
		k.set("shipments", sh, store.Row{"status": "delivered"})
		k.is("shipments", sh, "completed_at", "2026-03-01T12:00:00.000000Z")
		k.is("drivers", d, "status", "available")
		k.refused(k.change("shipments", sh, store.Row{"tracking_no": "X"}), "HF004")

		in := k.add("shipments", store.Row{"direction": "inbound"})
		k.refused(k.change("shipments", in, store.Row{"status": "packed"}), "HF001")
		for _, st := range []string{"in_transit", "arrived", "received"} {
			k.set("shipments", in, store.Row{"status": st})
		}
		k.is("shipments", in, "completed_at", "2026-03-01T12:00:00.000000Z")
		k.set("drivers", d, store.Row{"archived_at": "2026-03-01T00:00:00Z"})
		k.is("drivers", d, "status", "off_duty")
		k.agree()
	})
}
