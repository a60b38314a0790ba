package warehouse_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// taken imports a file of the collection (internal/imports/testdata/README.md says
// whose it is) and returns how many of its rows went in.
func taken(t *testing.T, k *testkit.Kit, file, target, options, mapping string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "imports", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return takenText(t, k, file, text, target, options, mapping)
}

// takenText imports a file with this text and returns how many of its rows went in.
func takenText(t *testing.T, k *testkit.Kit, file string, text []byte, target, options, mapping string) int {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range [][2]string{{"target", target}, {"options", options}, {"mapping", mapping}} {
		if f[1] != "" {
			if err := w.WriteField(f[0], f[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	part, err := w.CreateFormFile("file", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	as := testkit.As(actor.Manager)
	var job struct {
		ID       string
		Imported int `json:"imported_count"`
	}
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: b.Bytes(),
		Header: map[string]string{"Content-Type": w.FormDataContentType()}})
	if r.JSON(t, &job); r.Status != http.StatusCreated {
		t.Fatalf("%s as %s: %d %s", file, target, r.Status, r.Body)
	}
	for _, step := range []string{"process-import-job", "apply-import-job"} {
		if r := k.Post(as, "/functions/v1/"+step, map[string]any{"job_id": job.ID}); r.Status != http.StatusOK {
			t.Fatalf("%s of %s as %s: %d %s", step, file, target, r.Status, r.Body)
		}
	}
	return testkit.List[struct {
		Imported int `json:"imported_count"`
	}](t, k, as, "import_jobs?select=imported_count&id=eq."+job.ID)[0].Imported
}

// Bins and order lines of real businesses flow through the floor: their places
// are imported, their orders confirmed, picked in waves and shipped.
func TestRealGoodsFlow(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const bins, lines = "adventureworks_ProductInventory_headless_tab.csv", "uci_online_retail_1k.csv"
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		for _, f := range []struct {
			file, target, options, mapping string
			want                           int
		}{
			{bins, "items", `{"header":false}`, `{"sku":2,"name":2}`, 432},
			{bins, "zones", `{"header":false,"force":true}`, `{"code":3,"name":3}`, 14},
			{bins, "stock_levels", `{"header":false,"force":true}`, `{"item_id":2,"zone_id":3,"lpn":4,"quantity":6}`, 1069},
			{lines, "items", "", `{"sku":"StockCode","name":"Description"}`, 589},
			{lines, "orders", `{"date_order":"mdy"}`, "", 989},
		} {
			if n := taken(t, k, f.file, f.target, f.options, f.mapping); n != f.want {
				t.Errorf("%s as %s: %d rows, want %d", f.file, f.target, n, f.want)
			}
		}
		places := testkit.List[struct{ ID string }](t, k, m, "zones?select=id&order=code&code=in.(1,6,50)")
		if len(places) != 3 {
			t.Fatalf("places: %v", places)
		}
		orders := testkit.List[struct {
			ID    string
			Lines []dayLine `json:"order_lines"`
		}](t, k, m, "orders?select=id,order_lines(id,item_id,qty_ordered)&order_no=like.536*&limit=500&order=order_no")
		need, total := map[string]float64{}, 0.0
		for _, o := range orders {
			for _, l := range o.Lines {
				need[l.Item] += l.Ordered
				total += l.Ordered
			}
		}
		var stock []map[string]any
		for item, q := range need {
			stock = append(stock, map[string]any{"type": "opening", "item_id": item, "to_zone_id": places[len(stock)%3].ID,
				"quantity": q})
		}
		if len(orders) < 50 || len(stock) < 400 {
			t.Fatalf("%d orders of %d items", len(orders), len(stock))
		}
		made[struct{ ID string }](t, k, m, "stock_movements", stock)
		ids := make([]string, len(orders))
		for i, o := range orders {
			ids[i] = o.ID
			k.Say(t, m, "confirm_order", map[string]any{"order_id": o.ID}, 200, nil)
		}
		staging := k.Insert(t, m, "zones", map[string]any{"code": "REAL-LANE", "name": "Lane", "kind": "staging"})
		var out struct {
			Lists []struct{ ID string } `json:"pick_lists"`
			Lines []struct {
				ID  string
				Qty float64
			}
		}
		k.Say(t, m, "release_picks", map[string]any{"order_ids": ids, "method": "wave"}, 200, &out)
		for _, l := range out.Lists {
			k.Say(t, op, "claim_pick_list", map[string]any{"pick_list_id": l.ID}, 200, nil)
		}
		picked := 0.0
		for _, l := range out.Lines {
			k.Say(t, op, "pick_line", map[string]any{"pick_line_id": l.ID, "quantity": l.Qty, "to_zone_id": staging}, 200, nil)
			picked += l.Qty
		}
		if picked != total {
			t.Errorf("%v pieces picked of %v", picked, total)
		}
		var trip struct{ Shipment struct{ ID string } }
		k.Say(t, m, "create_shipment", map[string]any{"order_ids": ids, "carrier": "PARCEL"}, 200, &trip)
		for _, o := range orders {
			var content []any
			for _, l := range o.Lines {
				content = append(content, map[string]any{"order_line_id": l.ID, "quantity": l.Ordered})
			}
			var packed struct{ Package struct{ ID string } }
			k.Say(t, op, "pack", map[string]any{"shipment_id": trip.Shipment.ID, "lines": content}, 200, &packed)
			k.Say(t, op, "close_package", map[string]any{"package_id": packed.Package.ID}, 200, nil)
		}
		k.Say(t, m, "dispatch", map[string]any{"shipment_id": trip.Shipment.ID}, 200, nil)
		k.Say(t, m, "deliver", map[string]any{"shipment_id": trip.Shipment.ID, "proof": map[string]any{"name": "Gate"}}, 200,
			nil)
		if n := len(testkit.List[struct{ ID string }](t, k, m,
			"orders?select=id&limit=500&stage=eq.delivered&order_no=like.536*")); n != len(orders) {
			t.Errorf("%d of %d orders were delivered", n, len(orders))
		}
		k.Verified(t)
	})
}
