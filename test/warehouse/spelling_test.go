package warehouse_test

import (
	"net/http"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Codes of one lot as a keyboard, a scanner and a spreadsheet send them.
const (
	lotKept   = "L\u00D6T-1"
	lotApart  = " LO\u0308T-1"
	lotEnded  = "L\u00D6T-1\r\n"
	lotHidden = "\u00A0L\u00D6T\u200B-1 "
)

// A lot is one lot by whichever door its number comes in, and however it is spelled.
func TestLotsMeetInAnySpelling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		y := newYard(t, k, "SPELL", map[string]any{"tracking": "lot"})
		lot := func(no string) map[string]any { return map[string]any{"item_id": y.item, "lot_no": no} }
		id := k.Insert(t, m, "lots", lot(lotApart))
		other := k.Insert(t, m, "lots", lot("OTHER"))

		status := func(what string, r testkit.Response, want int) {
			t.Helper()
			if r.Status != want {
				t.Errorf("%s: %d %s, want %d", what, r.Status, r.Body, want)
			}
		}
		for _, no := range []string{lotKept, lotApart, lotEnded, lotHidden} {
			status("POST", k.Post(m, "/v1/lots", lot(no)), 409)
			status("bulk", k.Post(m, "/v1/lots", []any{lot("NEW"), lot(no)}), 409)
			status("PATCH", k.Call(testkit.Request{Method: "PATCH", Path: "/v1/lots?id=eq." + other, As: m,
				Body: map[string]any{"lot_no": no}}), 409)
			status("upsert", k.Call(testkit.Request{Method: "POST", Path: "/v1/lots?on_conflict=item_id,lot_no", As: m,
				Body: []any{lot(no)}, Header: map[string]string{"Prefer": "resolution=merge-duplicates"}}), 200)
			var found struct {
				Kind   string
				Record struct{ ID string }
			}
			k.Say(t, m, "scan", map[string]any{"code": no}, 200, &found)
			if found.Kind != "lot" || found.Record.ID != id {
				t.Errorf("scan of %q: %+v", no, found)
			}
			k.Say(t, m, "receive", map[string]any{"zone_id": y.dock, "lines": []any{
				map[string]any{"item_id": y.item, "quantity": 2, "lot_no": no}}}, 200, nil)
		}
		status("two of one request", k.Post(m, "/v1/lots", []any{lot("TW\u00D6 "), lot("TWO\u0308")}), 409)
		file := "item,lot,expires\nSPELL," + lotHidden + ",2031-01-31\n"
		takenText(t, k, "lots.csv", []byte(file), "lots", "", `{"item_id":"item","lot_no":"lot","expires_on":"expires"}`)

		type row struct {
			ID    string
			LotNo string `json:"lot_no"`
		}
		rows := testkit.List[row](t, k, m, "lots?select=id,lot_no&order=lot_no&item_id=eq."+y.item)
		if len(rows) != 2 || rows[0] != (row{id, lotKept}) {
			t.Errorf("lots: %+v", rows)
		}
		k.Verified(t)
	})
}

// Serial numbers, plates and the codes that are scanned at a bin are found however they
// are sent to a verb.
func TestVerbsTakeCodesInAnySpelling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "SPELLS", map[string]any{"tracking": "serial"})
		k.Say(t, op, "receive", map[string]any{"zone_id": y.dock, "lines": []any{
			map[string]any{"barcode": " SPELLS\r\n", "serials": []any{" S\u00C9-1", "SE\u0301-2 "}, "lpn": "P-1\t"}}}, 200, nil)
		k.Insert(t, m, "stock_movements", map[string]any{"type": "receipt", "item_id": y.item, "to_zone_id": y.dock,
			"quantity": 1, "serial": "SE\u0301-3 ", "lpn": " P-1"})
		for _, serial := range []string{"SE\u0301-1", "S\u00C9-1 ", "\u00A0S\u00C9-3"} {
			refusedWith(t, k, op, "receive", "serial", http.StatusConflict, map[string]any{"zone_id": y.dock,
				"lines": []any{map[string]any{"item_id": y.item, "serials": []any{serial}}}})
		}
		for _, serial := range []string{"SE\u0301-1 ", " S\u00C9-2", "S\u00C9-3"} {
			k.Say(t, op, "move_stock", map[string]any{"item_id": y.item, "from_zone_id": y.dock, "to_zone_id": y.bin,
				"quantity": 1, "serial": serial, "lpn": " P-1 "}, 200, nil)
		}
		refusedWith(t, k, m, "adjust_stock", "S\u00C9-1", http.StatusConflict, map[string]any{"item_id": y.item,
			"zone_id": y.bin, "quantity": 1, "serial": "SE\u0301-1 ", "lpn": "P-1 ", "reason_code": "found"})

		order, _ := confirmed(t, k, "outbound", y.item, 3, nil)
		k.Say(t, m, "allocate_order", map[string]any{"order_id": order}, 200, nil)
		var lists struct {
			Lines []struct{ ID, Serial string }
		}
		k.Say(t, m, "release_picks", map[string]any{"order_ids": []any{order}, "method": "single"}, 200, &lists)
		for _, line := range lists.Lines {
			k.Say(t, m, "pick_line", map[string]any{"pick_line_id": line.ID, "quantity": 1, "zone_scan": " SPELLS-BIN ",
				"item_scan": "SPELLS\t", "serials": []any{line.Serial + " "}}, 200, nil)
		}
		if len(lists.Lines) != 3 {
			t.Errorf("lines: %+v", lists.Lines)
		}
		k.Verified(t)
	})
}
