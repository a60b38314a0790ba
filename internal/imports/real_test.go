package imports_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
)

// The files of a real warehouse, in the order a clerk would load them, with
// every row accounted for; then all of it taken back.
func TestRealWarehouse(t *testing.T) {
	each(t, func(k *kit) {
		_, p, a := k.imported("zones", "", "", "bins.csv", real(k, "openboxes_binLocations.csv"))
		if diff := cmp.Diff(plan.Stats{TotalRows: 40, ValidRows: 40}, p.Stats); diff != "" || a.ImportedCount != 40 {
			k.Errorf("zones: %s, imported %d", diff, a.ImportedCount)
		}
		if diff := cmp.Diff(map[string]string{"code": "locationNumber", "name": "name"}, p.Mapping); diff != "" {
			k.Errorf("zones mapping: %s", diff)
		}
		items, p, a := k.imported("items", "", "", "levels.csv", real(k, "openboxes_inventoryLevels.csv"))
		if diff := cmp.Diff(plan.Stats{TotalRows: 52, ValidRows: 52}, p.Stats); diff != "" || a.ImportedCount != 52 {
			k.Errorf("items: %s, imported %d", diff, a.ImportedCount)
		}
		morphine := k.find("items", "sku", "QX039")
		if morphine["reorder_point"] != decimal.FromInt(10000) || morphine["max_stock"] != decimal.FromInt(100000) ||
			morphine["low_stock"] != true {
			k.Errorf("QX039 = %v", morphine)
		}
		counters := k.counters()

		stock, p, a := k.imported("stock_movements", "", "", "stock.csv", real(k, "openboxes_mainWarehouseInventory.csv"))
		want := []string{
			"4 Physical QOH invalid", "8 Bin location ambiguous_zone", "9 Bin location ambiguous_zone",
			"12 Physical QOH invalid",
			"17 Product code unknown_item", "18 Product code unknown_item", "28 Physical QOH invalid",
			"31 Product code unknown_item", "31 Physical QOH invalid", "32 Product code unknown_item", "33 Physical QOH invalid",
			"44 Physical QOH invalid", "45 Product code unknown_item", "45 Physical QOH invalid", "54 Physical QOH invalid",
			"57 Physical QOH invalid",
		}
		if diff := cmp.Diff(want, where(p.Errors)); diff != "" {
			k.Errorf("stock errors: %s", diff)
		}
		if diff := cmp.Diff(plan.Stats{TotalRows: 57, ValidRows: 43, InvalidRows: 14}, p.Stats); diff != "" ||
			a.ImportedCount != 43 {
			k.Errorf("stock: %s, imported %d: %s", diff, a.ImportedCount, a.Message)
		}
		lot := k.find("lots", "lot_no", "00392/174")
		if lot["expires_on"] != "2025-06-30" {
			k.Errorf("lot = %v", lot)
		}
		// Its lots have expired, so none of it is available.
		if got := k.find("items", "sku", "TS894"); got["on_hand"] != decimal.FromInt(2000) || got["low_stock"] != true {
			k.Errorf("TS894 on hand %v low %v", got["on_hand"], got["low_stock"])
		}

		// Items and zones are in use now: taking them back is refused with names.
		_, err := k.m.Rollback(context.Background(), k.as, items.ID)
		if list := imports.Conflicts(err); len(list) == 0 || list[0].EntityType != "items" || list[0].Label == "" {
			k.Errorf("items rolled back under stock: %v", err)
		}
		if k.status(items) != "completed" {
			k.Errorf("after a refused rollback the job is %s", k.status(items))
		}
		r, err := k.m.Rollback(context.Background(), k.as, stock.ID)
		if err != nil || r.RolledBack != 43 {
			k.Fatalf("stock rollback: %v %v", r, err)
		}
		for _, l := range k.rows("stock_levels") {
			if l["quantity"] != decimal.Dec(0) {
				k.Errorf("stock left: %v", l)
			}
		}
		if diff := cmp.Diff(counters, k.counters()); diff != "" {
			k.Errorf("counters after rollback: %s", diff)
		}
		if n := len(k.rows("stock_movements")); n != 86 {
			k.Errorf("ledger has %d movements, want 43 and 43 against them", n)
		}
	})
}

// Importing and rolling back leaves every byte as it was, whether records were
// made or changed.
func TestRollbackRestoresBytes(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", "", "", "bins.csv", real(k, "openboxes_binLocations.csv"))
		k.imported("items", "", "", "levels.csv", real(k, "openboxes_inventoryLevels.csv"))
		before, counters := k.dump("zones", "items"), k.counters()
		k.now = k.now.Add(1e9)
		zones := "code,name,max_capacity,pick_sequence\nMW-COLD,Cold store,500,7\nmw-1-1-1,Shelf one,,\nNEW-1,New place,10,1\n"
		items := "SKU;Bezeichnung;Unit cost;reorder_point\nQX039;Morphine;1.234,50;5\nTS894;;0,25;\nFRESH-1;Fresh;2;3\nCR388;Lamivudine 150mg + " +
			"nevirapine 200mg + zidovudine 300mg tablet;;\n"
		zj, zp, za := k.imported("zones", "", "", "z.csv", []byte(zones))
		if zp.Stats.ValidRows != 3 || za.ImportedCount != 3 {
			k.Fatalf("zones: %+v %+v", zp, za)
		}
		if got := k.find("zones", "name", "Shelf one"); got["code"] != "mw-1-1-1" || got["version"] != int64(2) {
			k.Errorf("shelf = %v", got)
		}
		ij, ip, ia := k.imported("items", `{"mode":"upsert"}`, "", "i.csv", []byte(items))
		if diff := cmp.Diff([]string{"3 Bezeichnung required"}, where(ip.Errors)); diff != "" {
			k.Errorf("items: %s", diff)
		}
		if ia.ImportedCount != 3 {
			k.Errorf("items: %+v", ia)
		}
		if got := k.find("items", "sku", "QX039"); got["unit_cost"] != decimal.Dec(12345000) || got["name"] != "Morphine" {
			k.Errorf("QX039 = %v", got)
		}
		if k.dump("zones", "items") == before {
			k.Fatal("nothing was imported")
		}
		for _, job := range []*jobs.Job{ij, zj} {
			if r, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil {
				k.Fatalf("%v %v", r, err)
			}
		}
		if diff := cmp.Diff(before, k.dump("zones", "items")); diff != "" {
			k.Errorf("not as it was: %s", diff)
		}
		if diff := cmp.Diff(counters, k.counters()); diff != "" {
			k.Errorf("counters: %s", diff)
		}
	})
}

// The real register of accidents: 439 rows, one with a line break in a cell,
// levels in Roman numerals, a place column that names none of our zones.
func TestRealIncidents(t *testing.T) {
	each(t, func(k *kit) {
		job, p, a := k.imported("incidents", "", "", "ihm_incidents.csv", real(k, "ihm_incidents.csv"))
		if diff := cmp.Diff(plan.Stats{TotalRows: 439, ValidRows: 439}, p.Stats); diff != "" || a.ImportedCount != 439 {
			k.Errorf("%s, imported %d, errors %v", diff, a.ImportedCount, where(p.Errors))
		}
		want := map[string]string{"occurred_at": "Data", "severity": "Accident Level",
			"potential_severity": "Potential Accident Level", "title": "Risco Critico"}
		if diff := cmp.Diff(want, p.Mapping); diff != "" {
			k.Errorf("mapping: %s", diff)
		}
		bySeverity := map[any]int{}
		broken := 0
		for _, r := range k.rows("incidents") {
			bySeverity[r["severity"]]++
			if r["occurred_at"] == "2016-06-16T22:00:00.000000Z" && r["title"] == "Not applicable" && r["severity"] == "high" {
				broken++
			}
			if r["kind"] != "injury" || r["status"] != "reported" || r["incident_no"] == nil {
				k.Fatalf("incident = %v", r)
			}
		}
		if diff := cmp.Diff(map[any]int{"low": 368, "medium": 31, "high": 31, "critical": 9}, bySeverity); diff != "" {
			k.Errorf("severities: %s", diff)
		}
		if broken != 2 { // lines 168 and 170
			k.Errorf("%d incidents like the row with the quoted line break", broken)
		}
		counters := k.counters()
		if counters["incidents:reported:low:injury"] != 368 {
			k.Errorf("counters: %v", counters)
		}
		if r, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || r.RolledBack != 439 {
			k.Fatalf("%v %v", r, err)
		}
		if n := len(k.rows("incidents")); n != 0 || len(k.counters()) != 0 {
			k.Errorf("%d incidents, counters %v left", n, k.counters())
		}
	})
}

// 729 products without product code: each a named error, or taken by name
// where the clerk says so, with the names that are too long for a SKU refused.
func TestRealProductsWithoutCode(t *testing.T) {
	each(t, func(k *kit) {
		job := k.upload("items", "", "", "who.csv", real(k, "openboxes_WHO_products.csv"))
		p := k.process(job)
		if diff := cmp.Diff(plan.Stats{TotalRows: 729, InvalidRows: 729}, p.Stats); diff != "" {
			k.Error(diff)
		}
		if len(p.Errors) != 100 || p.Errors[0].Line != 2 || p.Errors[0].Column != "ProductCode" ||
			p.Errors[0].Code != "required" {
			k.Errorf("errors: %v", where(p.Errors[:3]))
		}
		page, err := k.m.RowErrors(context.Background(), k.as, job.ID, 4, 200)
		if err != nil || page.Total != 729 || len(page.Errors) != 129 || page.HasMore || page.Errors[128].Line != 730 {
			k.Errorf("page: %+v %v", page, err)
		}
		byName := k.upload("items", "", `{"sku":"Name","name":"Name","category":"Category","base_uom":"UnitOfMeasure"}`,
			"who.csv",
			real(k, "openboxes_WHO_products.csv"))
		q := k.process(byName)
		if q.Stats.TotalRows != 729 || q.Stats.ValidRows == 0 || q.Stats.InvalidRows == 0 {
			k.Errorf("by name: %+v", q.Stats)
		}
		for _, e := range q.Errors {
			if e.Code != "invalid" && e.Code != "duplicate" {
				k.Errorf("by name: %+v", e)
			}
		}
		if a := k.apply(byName); a.ImportedCount != q.Stats.ValidRows {
			k.Errorf("imported %d of %d", a.ImportedCount, q.Stats.ValidRows)
		}
	})
}

// A file without header, tabs under the name .csv: read by column numbers.
func TestRealHeadlessFile(t *testing.T) {
	each(t, func(k *kit) {
		body := real(k, "adventureworks_ProductInventory_headless_tab.csv")
		job := k.upload("zones", "", "", "inventory.csv", body)
		if _, err := k.m.Process(context.Background(), k.as, job.ID); err == nil || k.status(job) != "failed" {
			k.Errorf("without mapping: %v, job %s", err, k.status(job))
		}
		job = k.upload("zones", `{"header":false}`, `{"code":3,"name":4}`, "inventory.csv", body)
		p := k.process(job)
		if p.FileType != "tsv" || p.Stats.TotalRows != 1069 {
			k.Errorf("%+v", p)
		}
		if p.Errors[0].Code != "duplicate" || p.Errors[0].Column != "column 3" {
			k.Errorf("%+v", p.Errors[0])
		}
	})
}

// The enforcement agency's coded injuries: no column is a record's by name, so
// the clerk maps them. Each of 3,063 rows keeps the time it names, EDT or EST,
// whatever the tenant's own zone is, and all of them are taken back.
func TestRealInjuriesWithZonedTimes(t *testing.T) {
	each(t, func(k *kit) {
		body := real(k, "osha_accident_injury_part.csv")
		job, p, a := k.imported("incidents", `{"mode":"insert","defaults":{"title":"Coded injury","kind":"injury","severity":"medium"}}`,
			`{"occurred_at":"load_dt","description":"event_type"}`, "injuries.csv", body)
		if diff := cmp.Diff(plan.Stats{TotalRows: 3063, ValidRows: 3063}, p.Stats); diff != "" || a.ImportedCount != 3063 {
			k.Fatalf("%s, imported %d, errors %v: %s", diff, a.ImportedCount, where(p.Errors), p.Message)
		}
		want, got := map[string]int{}, map[string]int{}
		for line := range strings.Lines(string(body)) {
			cells := strings.Split(strings.TrimSpace(line), ",")
			cell := cells[len(cells)-1]
			if at, zone := strings.TrimSuffix(cell, " EDT"), "-04:00"; at != cell || strings.HasSuffix(cell, " EST") {
				if at == cell {
					at, zone = strings.TrimSuffix(cell, " EST"), "-05:00"
				}
				when, err := time.Parse("2006-01-02 15:04:05-07:00", at+zone)
				if err != nil {
					k.Fatal(err)
				}
				want[when.UTC().Format(db.TimeLayout)]++
			}
		}
		for _, r := range k.rows("incidents") {
			at, _ := r["occurred_at"].(string)
			got[at]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.Errorf("times: %s", diff)
		}
		if r, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || r.RolledBack != 3063 ||
			len(k.rows("incidents")) != 0 {
			k.Errorf("rollback: %v %v", r, err)
		}
	})
}
