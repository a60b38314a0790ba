package warehouse_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// paper fetches a paper.
func (g *goods) paper(path string) paper {
	g.t.Helper()
	r := g.k.Get(g.as, path)
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/pdf" ||
		!strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment; filename=") {
		g.t.Fatalf("%s: %d %s %.300s", path, r.Status, r.Header, r.Body)
	}
	return readPDF(g.t, r.Body)
}

// row holds a paper to a row of a table: texts that follow each other, of which
// an empty one is not drawn.
func (p *paper) row(t *testing.T, cells ...string) {
	t.Helper()
	cells = slices.DeleteFunc(cells, func(s string) bool { return s == "" })
	for i := range p.texts {
		if i+len(cells) <= len(p.texts) && slices.Equal(p.texts[i:i+len(cells)], cells) {
			return
		}
	}
	t.Fatalf("no row %q in %.2000q", cells, p.texts)
}

// A delivery note names the lots: before the goods leave those that are picked,
// afterwards those that left, of this shipment alone; and each of its packages.
func TestDeliveryNote(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		l1 := k.Insert(t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": "L1", "expires_on": "2031-01-31"})
		l2 := k.Insert(t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": "L2", "expires_on": "2031-03-31"})
		g.bin("G-A", 6, l1)
		g.bin("G-B", 20, l2)
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer", "source": "shop",
			"external_ref": "PO 4711"})
		line := k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 3, "item_id": g.item,
			"qty_ordered": 10})
		_, picks := g.released(order)
		first := g.consigned(line, 8, nil)
		path := "/v1/shipments/" + first + "/delivery-note.pdf"
		orderNo := list1(t, k, g.as, "orders?select=id:order_no&id=eq."+order)
		p := g.paper(path)
		p.row(t, orderNo, "3", "G-1", "Goods", "", "", "8", "EA") // nothing is picked: no lot
		for i, q := range []float64{6, 4} {
			g.say("pick_line", map[string]any{"pick_line_id": picks[i], "quantity": q, "to_zone_id": g.lane}, 200, nil)
		}
		for range 2 { // picked, then gone
			p = g.paper(path)
			p.row(t, orderNo, "3", "G-1", "Goods", "L1", "2031-01-31", "6", "EA")
			p.row(t, orderNo, "3", "G-1", "Goods", "L2", "2031-03-31", "2", "EA")
			if list1(t, k, g.as, "shipments?select=id:status&id=eq."+first) == "planned" {
				g.packed(first, line, 8)
				g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
			}
		}
		var box []struct {
			No   string `json:"package_no"`
			SSCC string
		}
		k.Get(g.as, "/v1/packages?select=package_no,sscc&shipment_id=eq."+first).JSON(t, &box)
		p.row(t, box[0].No, box[0].SSCC, "BOX", "3.5")
		for _, want := range []string{"Delivery note", "Customer", "PO 4711", "PARCEL", "Signature", "Packages: 1"} {
			if !p.says(want) {
				t.Errorf("the note does not say %q: %q", want, p.texts)
			}
		}
		number := list1(t, k, g.as, "shipments?select=id:shipment_no&id=eq."+first)
		if !slices.Equal(p.codes, []string{number}) {
			t.Errorf("the bars say %q, want %s", p.codes, number)
		}
		g.reads(p.codes[0], "shipment", first)
		second := g.consigned(line, 2, nil)
		for range 2 { // picked, then gone
			p = g.paper("/v1/shipments/" + second + "/delivery-note.pdf")
			p.row(t, orderNo, "3", "G-1", "Goods", "L2", "2031-03-31", "2", "EA")
			if p.says("L1") {
				t.Errorf("goods of the first shipment on the second's note: %q", p.texts)
			}
			if list1(t, k, g.as, "shipments?select=id:status&id=eq."+second) == "planned" {
				g.packed(second, line, 2)
				g.say("dispatch", map[string]any{"shipment_id": second}, 200, nil)
			}
		}
	})
}

// A note of many lines goes on over pages, with the header of its table on each,
// and no line is lost; one of a pick list is in walking order.
func TestPapersOfManyLines(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"base_uom": "KGM"})
		g.bin("G-A", 500, "")
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
		const n = 90
		rows := make([]map[string]any, n)
		for i := range rows {
			rows[i] = map[string]any{"order_id": order, "line_no": i + 1, "item_id": g.item, "qty_ordered": 1.5}
		}
		if r := k.Post(g.as, "/v1/order_lines", rows); r.Status != http.StatusCreated {
			t.Fatalf("lines: %d %s", r.Status, r.Body)
		}
		list, _ := g.released(order)
		var out struct{ Shipment struct{ ID string } }
		g.say("create_shipment", map[string]any{"order_ids": []string{order}, "carrier": "PARCEL"}, 200, &out)
		orderNo := list1(t, k, g.as, "orders?select=id:order_no&id=eq."+order)
		note := g.paper("/v1/shipments/" + out.Shipment.ID + "/delivery-note.pdf")
		picks := g.paper("/v1/pick-lists/" + list + "/pick-list.pdf")
		for i := range n {
			note.row(t, orderNo, fmt.Sprint(i+1), "G-1", "Goods", "", "", "1.5", "KGM")
			picks.row(t, fmt.Sprint(i+1), "G-A", "G-1", "Goods", "", "1.5", "KGM", orderNo)
		}
		for _, p := range []paper{note, picks} {
			heads := 0
			for _, s := range p.texts {
				if s == "SKU" {
					heads++
				}
			}
			if p.pages < 3 || heads < p.pages-1 || !p.says(fmt.Sprintf("Page %d of", p.pages)) {
				t.Errorf("%d pages, %d headers of the table", p.pages, heads)
			}
		}
	})
}

// Whoever may read a shipment or a list may print it: a driver his own, a client
// its own goods'; any other is not there. An inbound shipment has its sender's
// note.
func TestPapersAreRead(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		mine, own := consigned(t, k, "ALPHA")
		_, others := consigned(t, k, "BETA")
		get := func(as, path string, want int, says string) {
			t.Helper()
			r := k.Get(as, "/v1/"+path)
			if r.Status != want || !strings.Contains(string(r.Body), says) {
				t.Errorf("%s as %s: %d %.300s, want %d %s", path, as, r.Status, r.Body, want, says)
			}
		}
		note := func(id string) string { return "shipments/" + id + "/delivery-note.pdf" }
		client := testkit.As(actor.Viewer)
		get(client, note(own["shipments"]), 200, "%PDF")
		get(testkit.As(actor.Operator), note(own["shipments"]), 200, "%PDF")
		get(testkit.As(actor.Driver), note(own["shipments"]), 404, "")
		get("admin@south.example", note(own["shipments"]), 404, "")
		if r := k.Call(testkit.Request{Method: http.MethodPatch,
			Path: "/v1/members/" + list1(t, k, m, "members?select=id&email=eq."+client),
			As:   testkit.As(actor.Admin),
			Body: map[string]any{"owner_id": mine}}); r.Status != 200 {
			t.Fatalf("a viewer as a client: %d %s", r.Status, r.Body)
		}
		get(client, note(own["shipments"]), 200, "%PDF")
		get(client, note(others["shipments"]), 404, "")
		inbound := k.Insert(t, m, "shipments", map[string]any{"direction": "inbound"})
		get(m, note(inbound), 409, "is inbound")
		get(m, note("7"), 404, "")
		list := k.Insert(t, m, "pick_lists", map[string]any{})
		get(m, "pick-lists/"+list+"/pick-list.pdf", 200, "%PDF")
		get(testkit.As(actor.Operator), "pick-lists/"+list+"/pick-list.pdf", 404, "")
		get(client, "pick-lists/"+list+"/pick-list.pdf", 403, "42501")
		get("admin@south.example", "pick-lists/"+list+"/pick-list.pdf", 404, "")
		var driver []struct{ ID string }
		k.Get(testkit.As(actor.Driver), "/v1/shipments?select=id&direction=eq.outbound&limit=1").JSON(t, &driver)
		if len(driver) == 0 {
			t.Fatal("the driver has no shipment")
		}
		get(testkit.As(actor.Driver), note(driver[0].ID), 200, "%PDF")
	})
}
