package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/decimal"
	"holdfast/internal/imports"
	"holdfast/internal/store"
)

const german = "Auftragsnummer;Kunde;Lieferdatum;Priorität;Artikelnummer;Menge;Einzelpreis\n" +
	"A-1;Müller GmbH;31.03.2026;1;P-1;10;2,50\n" +
	"A-2;Schulze;15.04.2026;;P-2;1;\n" +
	"A-1;;;;P-2;3;1,00\n" + // blank: as above
	"A-1;Müller GmbH;31.03.2026;;P-3;4;\n" +
	"A-2;Meier;;;P-1;1;\n" + // another customer
	"A-2;;;2;P-1;1;\n" + // a priority that the first row does not give
	"A-2;;;;P-9;1;\n" + // no such item
	";;;;P-1;1;\n" // no order

func (k *kit) lines(no string) []string {
	k.Helper()
	order := k.find("orders", "order_no", no)
	var out []string
	for _, l := range k.rows("order_lines") {
		if l["order_id"] == order["id"] {
			out = append(out, fmt.Sprint(l["line_no"], " ", k.find("items", "id", l["item_id"].(string))["sku"], " ",
				l["qty_ordered"], " ", l["unit_price"]))
		}
	}
	return out
}

// An order comes in over as many rows as it has lines. What its first row says
// need not be repeated, and may not be contradicted.
func TestOrdersOverManyRows(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.imported("items", "", "", "i.csv", []byte("sku,name\nP-1,One\nP-2,Two\nP-3,Three\n"))
		empty := k.dump("orders", "order_lines")
		job, p, a := k.imported("orders", `{"decimal_mark":","}`, "", "a.csv", []byte(german))
		if diff := cmp.Diff([]string{"6 Kunde differs", "7 Priorität differs", "8 Artikelnummer unknown_item",
			"9 Auftragsnummer required"},
			where(p.Errors)); diff != "" {
			k.Errorf("%s %+v", diff, p.Errors)
		}
		if a.ImportedCount != 4 || !strings.Contains(p.Message, "without them") {
			k.Errorf("%+v %s", a, p.Message)
		}
		if diff := cmp.Diff([]string{"1 P-1 10 2.5", "2 P-2 3 1", "3 P-3 4 <nil>"}, k.lines("A-1")); diff != "" {
			k.Error(diff)
		}
		o := k.find("orders", "order_no", "A-1")
		if o["party_name"] != "Müller GmbH" || o["status"] != "draft" || o["stage"] != "unallocated" ||
			o["priority"] != int64(1) || o["line_count"] != int64(3) ||
			o["qty_ordered"] != decimal.FromInt(17) || o["total_value"] != decimal.FromInt(28) ||
			o["promised_at"] != "2026-03-30T22:00:00.000000Z" {
			k.Errorf("%v", o)
		}

		// The same file again finds its orders and lines, and changes nothing.
		k.now = k.now.Add(1e9)
		before := k.dump("orders", "order_lines")
		again := k.upload("orders", `{"decimal_mark":",","force":true}`, "", "a.csv", []byte(german))
		k.process(again)
		if a := k.apply(again); a.Message != "4 rows applied: 0 new, 0 changed, 4 as they were. 4 rows with errors were left out." ||
			k.dump("orders", "order_lines") != before {
			k.Errorf("%+v", a)
		}
		// More lines and other prices for an order that is there.
		more, _, a := k.imported("orders", "", "", "b.csv",
			[]byte("order number,position,sku,quantity,unit price\nA-1,2,P-2,3,7.5\nA-1,9,P-1,1,\nA-3,1,P-1,1,\n"))
		if a.ImportedCount != 3 || len(k.lines("A-1")) != 4 || k.find("orders", "order_no", "A-1")["line_count"] != int64(4) {
			k.Errorf("%+v %v", a, k.lines("A-1"))
		}
		if res, err := k.m.Rollback(ctx, k.as, more.ID); err != nil || res.RolledBack != 3 {
			k.Fatalf("%+v %v", res, err)
		}
		if diff := cmp.Diff(before, k.dump("orders", "order_lines")); diff != "" {
			k.Errorf("not as it was: %s", diff)
		}
		if _, err := k.m.Rollback(ctx, k.as, again.ID); err != nil {
			k.Error(err)
		}

		// A line that somebody added keeps its order.
		k.add("order_lines", store.Row{"order_id": k.find("orders", "order_no", "A-2")["id"], "line_no": 99,
			"item_id": k.find("items", "sku", "P-1")["id"], "qty_ordered": "1"})
		_, err := k.m.Rollback(ctx, k.as, job.ID)
		if list := imports.Conflicts(err); len(list) != 2 || list[0].Label != "A-2" ||
			list[0].Reason != "is used by a record of order lines" ||
			list[1].EntityType != "order_lines" {
			k.Fatalf("%v %+v", err, list)
		}
		if res, err := k.m.RollbackRest(ctx, k.as, job.ID); err != nil || res.RolledBack != 3 ||
			len(k.rows("orders")) != 1 || len(k.lines("A-2")) != 2 {
			k.Errorf("%+v %v", res, err)
		}
		for _, l := range k.rows("order_lines") {
			if l["line_no"] == int64(99) {
				remove(k, "order_lines", l["id"].(string))
			}
		}
		if res, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || res.RolledBack != 4 ||
			k.dump("orders", "order_lines") != empty {
			k.Errorf("%+v %v", res, err)
		}
	})
}

// Lines of one order in different chunks stay together, also when they are
// corrected, and no other order's count.
func TestOrdersAcrossChunks(t *testing.T) {
	each(t, func(k *kit) {
		k.parted(1000)
		k.imported("items", "", "", "i.csv", []byte("sku,name\nP-1,One\n"))
		var b bytes.Buffer
		b.WriteString("order,customer,sku,quantity\n")
		for i := range 2500 {
			sku := "P-1"
			if i == 1200 || i == 2100 {
				sku = "P-9"
			}
			fmt.Fprintf(&b, "O-%d,Customer %d,%s,%d\n", i%3, i%3, sku, i+1)
		}
		job := k.upload("orders", `{"mode":"insert"}`, "", "o.csv", b.Bytes())
		if p := k.process(job); p.Stats.InvalidRows != 2 {
			k.Fatalf("%+v", p)
		}
		for _, row := range []int{1201, 2101} {
			r, err := k.m.EditRow(context.Background(), k.as, job.ID, row, imports.Edit{Cells: map[string]string{"sku": "P-1"}})
			if err != nil || r.Status != "valid" {
				k.Fatalf("%+v %v", r, err)
			}
		}
		if a := k.apply(job); a.ImportedCount != 2500 {
			k.Fatalf("%+v", a)
		}
		var sum, numbers int64
		for _, o := range k.rows("orders") {
			q, _ := o["qty_ordered"].(decimal.Dec)
			sum += int64(q) / decimal.Scale
			n, _ := o["line_count"].(int64)
			numbers += n * (n + 1) / 2
			if o["version"] != int64(1) {
				k.Errorf("order %v was changed", o["order_no"])
			}
		}
		for _, l := range k.rows("order_lines") {
			n, _ := l["line_no"].(int64)
			numbers -= n
		}
		if sum != 2500*2501/2 || numbers != 0 || len(k.rows("orders")) != 3 {
			k.Errorf("%d ordered, line numbers off by %d, %d orders", sum, numbers, len(k.rows("orders")))
		}
		if res, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || res.RolledBack != 2500 ||
			len(k.rows("orders")) != 0 {
			k.Errorf("%+v %v", res, err)
		}
	})
}

// A count says what is there; the difference is booked, as a gain, a loss or
// an opening, and goes back.
func TestStockCounts(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", "", "", "z.csv", []byte("code,name\nA-1,One\nA-2,Two\n"))
		k.imported("items", "", "", "i.csv", []byte("sku,name,tracking\nP-1,One,none\nP-2,Two,lot\nP-3,Three,serial\n"))
		k.imported("stock_movements", "", "", "m.csv", []byte("sku,location,quantity\nP-1,A-1,10\nP-1,A-2,5\n"))
		// Others' goods in the same places are not what a file counts.
		goods := k.add("goods_owners", store.Row{"code": "CLIENT", "name": "Client"})
		for _, place := range []string{"A-1", "A-2"} {
			k.add("stock_movements",
				store.Row{"type": "receipt", "item_id": k.find("items", "sku", "P-1")["id"],
					"to_zone_id": k.find("zones", "code", place)["id"],
					"owner_id":   goods, "quantity": decimal.FromInt(40)})
		}
		file := "Artikel;Lagerplatz;Charge;Verfallsdatum;Seriennummer;Menge\n" +
			"P-1;A-1;;;;8\n" + // two are missing
			"P-1;A-2;;;;5\n" + // as it should be
			"P-2;A-1;L-1;31.12.2027;;7\n" + // unknown until now, and so is the lot
			"P-3;A-1;;;S-1;1\n" +
			"P-3;A-1;;;S-2;2\n" + // two of one serial number
			"P-2;A-2;;;;1\n" + // of which lot?
			"P-1;A-1;;;;9\n" // counted twice
		levels := func() map[string]string {
			out := map[string]string{}
			for _, l := range k.rows("stock_levels") {
				if l["owner_id"] != nil {
					if l["quantity"] != decimal.FromInt(40) {
						k.Errorf("of the owner's goods %v are left", l["quantity"])
					}
				} else if l["quantity"] != decimal.Dec(0) {
					out[fmt.Sprint(k.find("items", "id", l["item_id"].(string))["sku"], " ",
						k.find("zones", "id", l["zone_id"].(string))["code"])] = fmt.Sprint(l["quantity"])
				}
			}
			return out
		}
		before := levels()
		// A row that says nothing of the quantity is not a count of none.
		_, p, _ := k.imported("stock_levels", `{"mode":"update"}`, "", "u.csv",
			[]byte("sku,zone,quantity\nP-1,A-1,\nP-1,A-2,5\n"))
		if diff := cmp.Diff([]string{"2 quantity required"}, where(p.Errors)); diff != "" {
			k.Error(diff)
		}
		job, p, a := k.imported("stock_levels", "", "", "c.csv", []byte(file))
		if diff := cmp.Diff([]string{"6 Menge invalid", "7 Charge required", "8 Artikel duplicate"},
			where(p.Errors)); diff != "" {
			k.Errorf("%s %+v", diff, p.Errors)
		}
		if a.Message != "4 rows applied: 2 new, 1 changed, 1 as they were. 3 rows with errors were left out." {
			k.Error(a.Message)
		}
		if diff := cmp.Diff(map[string]string{"P-1 A-1": "8", "P-1 A-2": "5", "P-2 A-1": "7", "P-3 A-1": "1"},
			levels()); diff != "" {
			k.Error(diff)
		}
		kinds := map[any]int{}
		for _, m := range k.rows("stock_movements") {
			if m["import_job_id"] == job.ID {
				kinds[m["type"]]++
			}
		}
		if diff := cmp.Diff(map[any]int{"count_loss": 1, "opening": 2}, kinds); diff != "" {
			k.Error(diff)
		}
		if res, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || res.RolledBack != 3 {
			k.Fatalf("%+v %v", res, err)
		}
		if diff := cmp.Diff(before, levels()); diff != "" {
			k.Error(diff)
		}
	})
}

// What the domain refuses of a record is an error of its row, not the end of
// the whole file.
func TestRowsTheDomainRefuses(t *testing.T) {
	each(t, func(k *kit) {
		for n := range 2 {
			k.add("workers", seeds["workers"].row(n))
			k.add("members", seeds["members"].row(n))
		}
		k.add("workers", store.Row{"employee_no": "E-9", "name": "Nobody's user"})
		k.add("shifts", store.Row{"worker_id": k.find("workers", "employee_no", "E-0")["id"],
			"started_at": "2026-02-01T06:00:00Z",
			"ended_at":   "2026-02-01T14:00:00Z"})
		item := k.add("items", store.Row{"sku": "P-1", "name": "One"})
		client := k.add("goods_owners", store.Row{"code": "CLIENT", "name": "Client"})
		k.add("orders", store.Row{"order_no": "O-1", "source": "shop", "external_ref": "R-1", "owner_id": client})
		for _, place := range []string{"A-1", "A-2"} {
			zone := k.add("zones", store.Row{"code": place, "name": place})
			k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": zone, "quantity": "5"})
			if place == "A-1" {
				k.set("stock_levels", k.find("stock_levels", "zone_id", zone)["id"].(string), store.Row{"reserved": "4"})
			}
		}
		k.add("courses", store.Row{"code": "FORK", "title": "Fork lift", "pass_mark": "80", "validity_months": 12})
		for _, c := range []struct {
			target, file string
			want         []string
		}{
			{"shifts", "Personalnummer,Beginn,Ende,Pause\n" +
				"E-0,2026-02-01 08:00,2026-02-01 10:00,0\n" + // while on the shift that is there
				"E-0,2026-02-02 08:00,2026-02-02 16:00,30\n" +
				"E-0,2026-02-02 15:00,2026-02-02 17:00,0\n" + // while on the one above
				"E-1,2026-02-02 15:00,2026-02-02 17:00,0\n" +
				"E-1,2026-02-03 15:00,2026-02-03 14:00,0\n" + // backwards
				"E-1,2026-02-04 06:00,2026-02-06 06:00,0\n" + // two days
				"E-1,2026-02-07 06:00,2026-02-07 07:00,90\n" + // all of it a break
				"E-1,2027-02-07 06:00,,0\n", // next year
				[]string{"2 Beginn rule", "4 Beginn overlap", "6 Ende rule", "7 Ende rule", "8 Pause rule", "9 Beginn rule"}},
			{"training", "email,course,completed,score\n" +
				"p0@north.example,fork,2026-01-31,85\n" +
				"P1@north.example,Fork lift,2026-01-31,79\n" + // failed
				"E-10,FORK,2026-01-31,90\n" + // nobody
				"p0@north.example,FORK,2026-12-31,90\n", // not yet
				[]string{"3  rule", "4 email unknown_person", "5 completed rule"}},
			{"orders", "order_no,source,external_ref,sku,quantity\n" +
				"A-1,shop,R-1,P-1,1\n" + // the reference of O-1
				"A-2,shop,R-2,P-1,1\n" +
				"A-2,shop,R-2,P-1,2\n" +
				"A-3,shop,R-2,P-1,1\n" + // of the one above
				"A-4,,R-2,P-1,1\n" +
				"O-1,,,P-1,1\n" +
				"SO-2026-12,,,P-1,1\n" + // like a number of ours, and none
				"SO-2025-000012,,,P-1,1\n",
				[]string{"2 external_ref exists", "5 external_ref duplicate", "8 order_no invalid"}},
			{"stock_levels", "sku,zone,quantity\n" +
				"P-1,A-1,3\n" + // of which four are reserved
				"P-1,A-2,3\n",
				[]string{"2 quantity reserved"}},
			{"regulations", "code,title,rule\nA,One,\"{\"\"metric\"\":\"\"luck\"\"}\"\nB,Two," +
				`"{""scope"":{""entity_types"":[""zone""],""filter"":{}},` +
				`""evidence"":{""of"":""incidents"",""absence"":""insufficient_data""},` +
				`""metric"":""incident_count"",""window_days"":90,""breach"":{""op"":"">="",""value"":1}}"` + "\nC,Three,{\n",
				[]string{"2 rule rule", "4 rule invalid"}},
			{"incidents", "external_ref,title,kind,date\nX,Fell,injury,2026-01-01\nY,Will fall,injury,2027-01-01\n",
				[]string{"3 date rule"}},
		} {
			_, p, a := k.imported(c.target, "", "", "f.csv", []byte(c.file))
			if diff := cmp.Diff(c.want, where(p.Errors)); diff != "" {
				k.Errorf("%s: %s %+v", c.target, diff, p.Errors)
			}
			if a.ImportedCount != p.Stats.ValidRows || a.ImportedCount == 0 {
				k.Errorf("%s: %+v", c.target, a)
			}
		}
		done := k.find("training_assignments", "status", "completed")
		if done["expires_on"] != "2027-01-31" || done["certificate_no"] == nil || done["user_id"] != person(0) {
			k.Errorf("%v", done)
		}
		if s := k.find("shifts", "started_at", "2026-02-02T07:00:00.000000Z"); s["source"] != "import" ||
			s["status"] != "closed" ||
			s["hours"] != decimal.Dec(75000) {
			k.Errorf("%v", s)
		}
	})
}

// Nor can a correction give an order the reference that another chunk's has.
func TestReferencesAcrossChunks(t *testing.T) {
	each(t, func(k *kit) {
		var b strings.Builder
		b.WriteString("order_no,source,external_ref\n")
		for i := range 1002 {
			fmt.Fprintf(&b, "T-%d,shop,R-%d\n", i, i-i/1001) // the last two share one
		}
		job := k.upload("orders", "", "", "o.csv", []byte(b.String()))
		if p := k.process(job); cmp.Diff([]string{"1003 external_ref duplicate"}, where(p.Errors)) != "" ||
			!strings.HasPrefix(p.Errors[0].Message, "line 1002 ") {
			k.Errorf("%+v", p.Errors)
		}
		for to, want := range map[string]string{"R-0": "invalid", "r-0": "valid", "R-1001": "valid"} {
			r, err := k.m.EditRow(context.Background(), k.as, job.ID, 1002,
				imports.Edit{Cells: map[string]string{"external_ref": to}})
			if err != nil || r.Status != want || want == "invalid" &&
				(r.Errors[0].Code != "duplicate" || !strings.HasPrefix(r.Errors[0].Message, "line 2 ")) {
				k.Errorf("%s: %+v %v", to, r, err)
			}
		}
	})
}

// What a file leaves open is not taken over into records that say otherwise.
func TestDefaultsAreForNewRecords(t *testing.T) {
	each(t, func(k *kit) {
		k.add("incidents", store.Row{"external_ref": "X", "kind": "near_miss", "title": "Slipped",
			"occurred_at": "2026-01-01T00:00:00Z"})
		k.imported("incidents", "", "", "f.csv", []byte("external_ref,title,date of injury\nX,Nearly slipped,2026-01-01\nY,Fell,2026-01-02\n"))
		if x, y := k.find("incidents", "external_ref", "X"),
			k.find("incidents", "external_ref", "Y"); x["kind"] != "near_miss" ||
			x["title"] != "Nearly slipped" || y["kind"] != "injury" {
			k.Errorf("%v %v", x["kind"], y["kind"])
		}
		job := k.upload("incidents", `{"dry_run":true}`, "", "g.csv",
			[]byte("external_ref,title,date of injury\nX,Nearly slipped,2026-01-01\n"))
		if p := k.process(job); p.Preview == nil || p.Preview.Unchanged != 1 {
			text, _ := json.Marshal(p.Preview)
			k.Errorf("%s", text)
		}
	})
}
