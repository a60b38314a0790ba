package warehouse_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// labels fetches labels, as PDF and in ZPL, and returns what their barcodes say;
// both say the same.
func (g *goods) labels(path string) (codes []string, pdf paper, zpl [][]zplField) {
	g.t.Helper()
	r := g.k.Get(g.as, path)
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/pdf" {
		g.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	pdf = readPDF(g.t, r.Body)
	for _, dpi := range []string{"203", "300"} {
		r := g.k.Get(g.as, path+"&format=zpl&dpi="+dpi)
		if r.Status != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			g.t.Fatalf("%s in ZPL: %d %s", path, r.Status, r.Body)
		}
		zpl, codes = readZPL(g.t, r.Body), nil
		for _, l := range zpl {
			for _, f := range l {
				if strings.Contains(f.commands, "^BC") {
					codes = append(codes, f.data)
				}
			}
		}
		slices.Sort(codes)
		if !slices.Equal(codes, pdf.codes) {
			g.t.Errorf("%s: the PDF's bars say %q, the printer's at %s dpi %q", path, pdf.codes, dpi, codes)
		}
	}
	return codes, pdf, zpl
}

// reads holds a barcode to the record that a scan of it finds.
func (g *goods) reads(code, kind, id string) {
	g.t.Helper()
	var out struct {
		Kind   string
		Record struct{ ID string }
	}
	g.say("scan", map[string]any{"code": code}, 200, &out)
	if out.Kind != kind || out.Record.ID != id {
		g.t.Errorf("%q scans as %s %s, want %s %s", code, out.Kind, out.Record.ID, kind, id)
	}
}

// Each label's bars, measured as a scanner does, lead back to its record: an
// SSCC, a lot with its GTIN and expiry, an item, a place; a text that bars do
// not hold is a QR code.
func TestLabels(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "gtin": "4006381333931"})
		lot := k.Insert(t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": "L/7-a", "expires_on": "2031-02-28"})
		long := k.Insert(t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": "ABCDEFGHIJ-KLMN/PQRS",
			"expires_on": "2031-02-28"})
		odd := k.Insert(t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": "LOT OF GLOVES 1"})
		plain := k.Insert(t, g.as, "items", map[string]any{"sku": "A>1^2~3_4\\5", "name": "No GTIN"})
		round := k.Insert(t, g.as, "items", map[string]any{"sku": "Größe-9", "name": "Schuh"})
		bin := g.bin("G-A", 10, lot)
		const gtin = "]C10104006381333931"
		for _, c := range []struct {
			of, id, kind string
			want         []string
		}{
			{"lots", lot, "lot", []string{gtin + "1731022810L/7-a"}},
			{"lots", long, "lot", []string{gtin + "10ABCDEFGHIJ-KLMN/PQRS", "]C117310228"}},
			{"lots", odd, "lot", []string{"LOT OF GLOVES 1"}},
			{"items", g.item, "item", []string{gtin}},
			{"items", plain, "item", []string{"A>1^2~3_4\\5"}},
			{"items", round, "", nil},
			{"zones", bin, "zone", []string{"G-A"}},
		} {
			codes, _, zpl := g.labels("/v1/labels/" + c.of + "?ids=" + c.id)
			if !slices.Equal(codes, c.want) || len(zpl) != 1 {
				t.Errorf("%s %s: bars %q, want %q", c.of, c.id, codes, c.want)
			}
			if c.kind != "" && len(codes) > 0 {
				g.reads(codes[0], c.kind, c.id)
			}
		}
		_, pdf, zpl := g.labels("/v1/labels/items?ids=" + round)
		if at := slices.IndexFunc(zpl[0], func(f zplField) bool { return strings.Contains(f.commands, "^BQ") }); at < 0 ||
			zpl[0][at].data != "MM,B0009Größe-9" {
			t.Errorf("no QR code of Größe-9: %v", zpl)
		}
		if !pdf.says("Größe-9") || !pdf.says("Schuh") {
			t.Errorf("the label says %q", pdf.texts)
		}
		if _, pdf, zpl := g.labels("/v1/labels/zones?ids=" + g.lane + "," + bin); pdf.pages != 2 || len(zpl) != 2 ||
			!pdf.says("G-LANE") {
			t.Errorf("two labels: %d pages, %d labels, %q", pdf.pages, len(zpl), pdf.texts)
		}
	})
}

// A package that is closed has a label with its SSCC, its way and its weight, to
// which close_package leads; an open one has none.
func TestPackageLabel(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order := k.Insert(t, g.as, "orders", map[string]any{"source": "shop", "external_ref": "PO 4711",
			"ship_to": map[string]any{"name": "Jana Nowak", "lines": []string{"ul. Długa 5"}, "postal_code": "00-238",
				"city": "Warszawa"}})
		line := k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": g.item,
			"qty_ordered": 10})
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 10, "to_zone_id": g.lane}, 200, nil)
		sh := g.consigned(line, 10, map[string]any{"service": "NEXT"})
		pack := func() string {
			var out struct{ Package struct{ ID string } }
			g.say("pack", map[string]any{"shipment_id": sh,
				"lines": []any{map[string]any{"order_line_id": line, "quantity": 5}}}, 200, &out)
			return out.Package.ID
		}
		first, second := pack(), pack()
		if r := k.Get(g.as, "/v1/labels/packages?ids="+second); r.Status != 409 ||
			!strings.Contains(string(r.Body), "is open") {
			t.Errorf("the label of an open package: %d %s", r.Status, r.Body)
		}
		var closed struct {
			Package struct {
				SSCC string
				No   string `json:"package_no"`
			}
			Labels struct{ PDF, ZPL string }
		}
		g.say("close_package", map[string]any{"package_id": first}, 200, nil)
		g.say("close_package", map[string]any{"package_id": second, "weight_kg": 12.5}, 200, &closed)
		codes, pdf, _ := g.labels(closed.Labels.PDF)
		if !slices.Equal(codes, []string{"]C100" + closed.Package.SSCC}) {
			t.Fatalf("the bars say %q, the SSCC is %s", codes, closed.Package.SSCC)
		}
		g.reads(codes[0], "package", second)
		numbers := list1(t, k, g.as, "shipments?select=id:shipment_no&id=eq."+sh)
		for _, want := range []string{closed.Package.No, "Jana Nowak", "ul. Długa 5", "00-238 Warszawa", "PO 4711",
			"12.5 kg", "2 of 2", "PARCEL NEXT",
			"(00)" + closed.Package.SSCC, numbers} {
			if !pdf.says(want) {
				t.Errorf("the label does not say %q: %q", want, pdf.texts)
			}
		}
		if r := k.Get(g.as, closed.Labels.ZPL); r.Status != 200 || !strings.HasPrefix(string(r.Body), "^XA") {
			t.Errorf("%s: %d %s", closed.Labels.ZPL, r.Status, r.Body)
		}
	})
}

// What a record holds is text on its label and never a command of the printer.
func TestLabelsHoldNoCommands(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		const name = `^XZ~JR^XA^FO0,0^FDx^FS _5EXZ \& 100 %` + "\u007f"
		hostile := k.Insert(t, g.as, "items", map[string]any{"sku": "^XZ~JR>8_5E",
			"name": strings.TrimSuffix(name, "\u007f")})
		codes, pdf, zpl := g.labels("/v1/labels/items?ids=" + hostile)
		if len(zpl) != 1 || !slices.Equal(codes, []string{"^XZ~JR>8_5E"}) {
			t.Errorf("%d labels, bars %q", len(zpl), codes)
		}
		said := ""
		for _, f := range zpl[0] {
			said += f.data + "\n"
		}
		if want := "Name: " + strings.TrimSuffix(name, "\u007f"); !strings.Contains(said, want) || !pdf.says(want) {
			t.Errorf("%q is printed as %q and %q", want, said, pdf.texts)
		}
		g.reads(codes[0], "item", hostile)
	})
}

// Whoever may read a record may print its label. Another tenant's record, and
// another owner's for a client, is one that is not there; bad input names what
// is wrong.
func TestLabelsAreRead(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		mine, own := consigned(t, k, "ALPHA")
		_, others := consigned(t, k, "BETA")
		client := testkit.As(actor.Viewer)
		member := list1(t, k, testkit.As(actor.Manager), "members?select=id&email=eq."+client)
		get := func(as, path string, want int, says string) {
			t.Helper()
			for _, form := range []string{"pdf", "zpl"} {
				r := k.Get(as, "/v1/labels/"+path+"&format="+form)
				if r.Status != want || !strings.Contains(string(r.Body), says) {
					t.Errorf("%s, %s as %s: %d %.300s, want %d %s", path, form, as, r.Status, r.Body, want, says)
				}
			}
		}
		for _, as := range []string{testkit.As(actor.Operator), client, testkit.As(actor.Driver)} {
			get(as, "items?ids="+own["items"], 200, "")
		}
		if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/members/" + member, As: testkit.As(actor.Admin),
			Body: map[string]any{"owner_id": mine}}); r.Status != 200 {
			t.Fatalf("a viewer as a client: %d %s", r.Status, r.Body)
		}
		get(client, "items?ids="+own["items"], 200, "")
		get(client, "lots?ids="+own["lots"], 200, "")
		get(client, "items?ids="+others["items"], 404, others["items"])
		get(client, "lots?ids="+own["lots"]+","+others["lots"], 404, others["lots"])
		get(client, "packages?ids="+own["items"], 403, "42501")
		get(testkit.As(actor.Driver), "packages?ids="+own["items"], 403, "42501")
		get("admin@south.example", "items?ids="+own["items"], 404, own["items"])
		get(testkit.As(actor.Manager), "items?ids=7", 400, "ids")
		get(testkit.As(actor.Manager), "items?ids=", 400, "ids")
		get(testkit.As(actor.Manager), "items?dpi=203", 400, "ids")
		get(testkit.As(actor.Manager), "orders?ids="+own["orders"], 404, "have no labels")
		get(testkit.As(actor.Manager), "items?dpi=204&ids="+own["items"], 400, "dpi")
		get(testkit.As(actor.Manager), "items?size=9&ids="+own["items"], 400, "size")
		get(testkit.As(actor.Manager), "items?ids="+strings.Repeat(own["items"]+",", 200)+own["items"], 400, "ids")
		get(testkit.As(actor.Manager), "items?format=pdf&ids="+own["items"], 400, "once")
		if r := k.Get(testkit.As(actor.Manager), "/v1/labels/items?format=png&ids="+own["items"]); r.Status != 400 ||
			!strings.Contains(string(r.Body), "pdf or zpl") {
			t.Errorf("as PNG: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/v1/labels/items?ids=" + own["items"]}); r.Status != 401 {
			t.Errorf("a stranger: %d %s", r.Status, r.Body)
		}
	})
}

// A name in any script reaches the printer as it is, and is on paper in signs of a font of the
// machine, not in boxes.
func TestLabelsSayNamesInAnyScript(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		for i, name := range []string{"不锈钢螺栓 M8x40", "مسامير فولاذية", "ข้าวหอมมะลิ", "Żółć"} {
			item := k.Insert(t, g.as, "items", map[string]any{"sku": []string{"CN", "AR", "TH", "PL"}[i], "name": name})
			_, _, zpl := g.labels("/v1/labels/items?ids=" + item)
			isSaid := slices.ContainsFunc(zpl[0], func(f zplField) bool { return strings.Contains(f.data, name) })
			if !isSaid {
				t.Errorf("the printer is not sent %q: %q", name, zpl[0])
			}
		}
	})
}
