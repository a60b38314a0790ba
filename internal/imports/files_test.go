package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
)

// outcome is what became of a file.
type outcome struct {
	Stats    plan.Stats
	Imported int64
	Errors   map[string]int // by column and code
}

// Every file of the collection (testdata/README.md) that fits a kind of record
// goes in, with a mapping where its headers are foreign, and each of its rows
// is accounted for. In the order in which a clerk would load them; then all of
// it is taken back.
func TestFilesThatFit(t *testing.T) {
	each(t, func(k *kit) {
		var jobs []*jobs.Job
		for _, c := range []struct {
			file, target, options, mapping string
			want                           outcome
		}{
			{"openboxes_binLocations.csv", "zones", "", "", outcome{plan.Stats{TotalRows: 40, ValidRows: 40}, 40, nil}},
			{"openboxes_inventoryLevels.csv", "items", "", "", outcome{plan.Stats{TotalRows: 52, ValidRows: 52}, 52, nil}},
			{"openboxes_WHO_products.csv", "items", "", `{"sku":"Name","name":"Name","category":"Category"}`,
				outcome{plan.Stats{TotalRows: 729, ValidRows: 717, InvalidRows: 12}, 717, map[string]int{"Name invalid": 12}}},
			{"openboxes_mainWarehouseInventory.csv", "stock_levels", "", "",
				outcome{plan.Stats{TotalRows: 57, ValidRows: 50, InvalidRows: 7}, 50,
					map[string]int{"Bin location ambiguous_zone": 2, "Product code unknown_item": 5}}},
			{"adventureworks_ProductInventory_headless_tab.csv", "items", `{"header":false}`, `{"sku":2,"name":2}`,
				outcome{plan.Stats{TotalRows: 1069, ValidRows: 432, InvalidRows: 637}, 432,
					map[string]int{"column 2 duplicate": 637}}},
			{"adventureworks_ProductInventory_headless_tab.csv", "zones", `{"header":false,"force":true}`, `{"code":3,"name":3}`,
				outcome{plan.Stats{TotalRows: 1069, ValidRows: 14, InvalidRows: 1055}, 14,
					map[string]int{"column 3 duplicate": 1055}}},
			{"adventureworks_ProductInventory_headless_tab.csv", "stock_levels", `{"header":false,"force":true}`,
				`{"item_id":2,"zone_id":3,"lpn":4,"quantity":6}`, outcome{plan.Stats{TotalRows: 1069, ValidRows: 1069}, 1069, nil}},
			{"ihm_incidents.csv", "incidents", "", "", outcome{plan.Stats{TotalRows: 439, ValidRows: 439}, 439, nil}},
			{"ihm_incidents_narrative.csv", "incidents", "", "", outcome{plan.Stats{TotalRows: 425, ValidRows: 425}, 425, nil}},
			{"ihm_incidents_narrative_ddmmyyyy.csv", "incidents", "", "",
				outcome{plan.Stats{TotalRows: 425, ValidRows: 425}, 425, nil}},
			{"neb_incidents_semicolon.csv", "incidents", `{"defaults":{"kind":"environmental"}}`,
				`{"external_ref":"Incident Number","occurred_at":"Reported Date","title":"What Happened","description":"Why It Happened",` +
					`"lat":"Latitude","lon":"Longitude"}`, outcome{plan.Stats{TotalRows: 1194, ValidRows: 1194}, 1194, nil}},
			{"uci_online_retail_1k.csv", "items", "", `{"sku":"StockCode","name":"Description"}`,
				outcome{plan.Stats{TotalRows: 999, ValidRows: 589, InvalidRows: 410}, 589,
					map[string]int{"StockCode duplicate": 409, "Description required": 1}}},
			{"uci_online_retail_1k.csv", "orders", `{"date_order":"mdy"}`, "",
				outcome{plan.Stats{TotalRows: 999, ValidRows: 989, InvalidRows: 10}, 989, map[string]int{"Quantity invalid": 10}}},
		} {
			job, p, a := k.imported(c.target, c.options, c.mapping, c.file, real(k, c.file))
			jobs = append(jobs, job)
			got := outcome{p.Stats, a.ImportedCount, nil}
			for page := 1; ; page++ {
				list, err := k.m.RowErrors(context.Background(), k.as, job.ID, page, 200)
				if err != nil {
					k.Fatal(err)
				}
				for _, e := range list.Errors {
					if got.Errors == nil {
						got.Errors = map[string]int{}
					}
					got.Errors[e.Column+" "+e.Code]++
				}
				if !list.HasMore {
					break
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				k.Errorf("%s as %s: %s %s", c.file, c.target, diff, p.Message)
			}
		}
		var used []string
		for i := len(jobs) - 1; i >= 0; i-- {
			_, err := k.m.Rollback(context.Background(), k.as, jobs[i].ID)
			switch {
			case fault.HasCode(err, "import_conflict"): // the ledger keeps both ways, and so what it names
				used = append(used, fmt.Sprint(jobs[i].Target, " ", len(imports.Conflicts(err)) > 0))
			case err != nil:
				k.Errorf("%s: %v", jobs[i].FileName, err)
			}
		}
		if diff := cmp.Diff([]string{"zones true", "items true", "items true", "zones true"}, used); diff != "" {
			k.Errorf("used by stock: %s", diff)
		}
		if left := k.dump("incidents", "orders", "order_lines"); left != "" {
			k.Errorf("not as it was: %.300s", left)
		}
		for _, it := range k.rows("items") {
			if it["on_hand"] != decimal.Dec(0) {
				k.Errorf("%v on hand of %v", it["on_hand"], it["sku"])
			}
		}
	})
}

// The others fit nothing and are refused, into whatever kind of record, before
// a row is written and in words that need no manual.
func TestFilesThatDoNotFit(t *testing.T) {
	each(t, func(k *kit) {
		statistics := func(name string) []byte {
			b, err := os.ReadFile("../score/testdata/" + name)
			if err != nil {
				k.Fatal(err)
			}
			return b
		}
		for name, body := range map[string][]byte{
			"ameli_at_2020.csv": statistics("ameli_at_2020.csv"), "ameli_at_2021.csv": statistics("ameli_at_2021.csv"),
			"osha_accident_injury_part.csv": real(k, "osha_accident_injury_part.csv"),
			"osha_accident_lookup2.csv":     real(k, "osha_accident_lookup2.csv"),
			// In the shape of the GPL tables MASS::ships, AER::ShipAccidents and insuranceData::WorkersComp of R: their headers and kinds of
			// values, rows of our own.
			"ships.csv": []byte("rownames,type,year,period,service,incidents\n1,A,60,60,410,2\n2,B,65,75,90,1\n3,C,75,60,0,0\n4,E,70,75,20370,17\n"),
			"accidents.csv": []byte(
				"rownames,type,construction,operation,service,incidents\n1,A,1960-64,1960-74,410,2\n2,B,1965-69,1975-79,90,1\n3,C,1975-79,1960-74,0,0\n"),
			"workers.csv":                   []byte("rownames,CL,YR,PR,LOSS\n1,1,1,20300400,510600\n2,1,2,21400500,0\n3,2,1,0,0\n847,124,7,3150200,98700\n"),
			"openboxes_inventory_biff8.xls": real(k, "openboxes_inventory_biff8.xls"),
		} {
			for _, r := range k.s.Catalog().All() {
				if r.Import == nil {
					continue
				}
				says := k.refused(r.Name, name, body)
				for _, jargon := range []string{"panic", "SQL", "nil", "strconv", "imports:", "options.", "mapping.",
					"header_row"} {
					if strings.Contains(says, jargon) {
						k.Errorf("%s as %s: %s", name, r.Name, says)
					}
				}
				if !strings.Contains(says, "Choose another kind of record") &&
					!strings.Contains(says, "the file has no column for ") &&
					!strings.Contains(says, "choose Save as") {
					k.Errorf("%s as %s: %q", name, r.Name, says)
				}
			}
		}
		// Two that were taken for the wrong kind of record are told the right one.
		for _, c := range []struct{ file, target, says string }{
			{"ihm_incidents.csv", "items",
				"none of the file's columns is known for items. " +
					"Choose another kind of record, or say in the mapping which column is which. " +
					"If the first row is data and no header, say so and give the columns by their numbers. " +
					"If the header is not where it was looked for, say on which line it is; the columns would fit incidents"},
			{"openboxes_inventoryLevels.csv", "zones", "the columns would fit items"},
			{"openboxes_mainWarehouseInventory.csv", "lots", ""},
		} {
			if says := k.refused(c.target, c.file, real(k, c.file)); !strings.HasSuffix(says, c.says) {
				k.Errorf("%s as %s: %s", c.file, c.target, says)
			}
		}
		if n := len(k.rows("items")) + len(k.rows("incidents")) + len(k.rows("orders")) + len(k.rows("actions")); n != 0 {
			k.Errorf("%d records were made", n)
		}
	})
}

// refused uploads and processes a file that must not go in, and returns what is
// said about it.
func (k *kit) refused(target, name string, body []byte) string {
	k.Helper()
	job, err := k.m.Upload(context.Background(), k.as, imports.Request{Target: target}, name, bytes.NewReader(body))
	if err == nil {
		var p *plan.Processed
		p, err = k.m.Process(context.Background(), k.as, job.ID)
		if err == nil && p.Stats.ValidRows > 0 {
			text, _ := json.Marshal(p.Mapping)
			k.Errorf("%s as %s: %+v %s", name, target, p.Stats, text)
		}
		if err == nil {
			return fmt.Sprint(p.Message)
		}
	}
	return fault.As(err).Msg
}
