package imports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
)

// outcomes lists a job's rows as "line action what-the-record-says".
func (k *kit) outcomes(job *jobs.Job, resource, field string) []string {
	k.Helper()
	out := []string{}
	for _, r := range k.page(job, imports.RowFilter{Page: 1, PageSize: 99}).Rows {
		says := "-"
		if r.EntityID != "" {
			if r.EntityType != resource {
				k.Errorf("line %d became one of %s, not of %s", r.Line, r.EntityType, resource)
			}
			says = fmt.Sprint(k.find(resource, "id", r.EntityID)[field])
		}
		if r.Parsed != nil {
			k.Errorf("line %d is applied and still staged: %v", r.Line, r.Parsed)
		}
		out = append(out, fmt.Sprintf("%d %s %s", r.Line, r.Action, says))
	}
	return out
}

// From a line of the file to the record it became, whatever kind it is of; while
// it is staged the line says what would be written.
func TestRowsAndTheirRecords(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", "", "", "z.csv", []byte(shelves))
		k.imported("items", "", "", "i.csv", []byte("sku,name\nP-1,One\nP-2,Two\nP-4,Four\n"))
		for _, c := range []struct {
			target, file, parsed, resource, field string
			want                                  []string
		}{
			{"items", "sku,name,unit cost\nP-2,Two,\nP-3,Three,\"1,5\"\n,nameless,\nP-1,Uno,\n",
				`{"name":"Three","sku":"P-3","unit_cost":1.5}`, "items", "sku",
				[]string{"2 unchanged P-2", "3 insert P-3", "4  -", "5 update P-1"}},
			{"stock_movements", "sku,location,qty\nP-1,A-1,10\nP-1,Nowhere,1\nP-2,A-1,20\n", "", "stock_movements", "quantity",
				[]string{"2 insert 10", "3  -", "4 insert 20"}},
			{"stock_levels", "sku,location,qty\nP-1,A-1,12\nP-2,A-1,20\nP-4,A-1,7\n", "", "stock_movements", "quantity",
				[]string{"2 update 2", "3 unchanged -", "4 insert 7"}},
			{"orders", "order no,item,qty\nA-1,P-1,3\nA-2,P-9,1\nA-1,P-2,4\n", "", "order_lines", "qty_ordered",
				[]string{"2 insert 3", "3  -", "4 insert 4"}},
			{"courses", "code,title\nC-1,One\nC-2,Two\n", "", "courses", "code", []string{"2 insert C-1", "3 insert C-2"}},
		} {
			job := k.upload(c.target, "", "", "f.csv", []byte(c.file))
			k.process(job)
			for i, r := range k.page(job, imports.RowFilter{Page: 1, PageSize: 9}).Rows {
				if (r.Parsed == nil) != (r.Status == "invalid") || r.Action != "" || r.EntityID != "" {
					k.Errorf("%s, row %d before it is applied: %+v", c.target, i+1, r)
				}
				if text, err := json.Marshal(r.Parsed); i == 1 && c.parsed != "" && (err != nil || string(text) != c.parsed) {
					k.Errorf("%s: %s, want %s", c.target, text, c.parsed)
				}
			}
			k.apply(job)
			if diff := cmp.Diff(c.want, k.outcomes(job, c.resource, c.field)); diff != "" {
				k.Errorf("%s: %s", c.target, diff)
			}
		}
	})
}

// The same of a job in chunks: a page deep inside, what is still staged behind
// the chunks that were applied, and nothing more when all is rolled back.
func TestRecordsOfChunks(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.broken() // in the third chunk
		deep := func(page int) []imports.StagedRow {
			k.Helper()
			return k.page(job, imports.RowFilter{Page: page, PageSize: 100}).Rows
		}
		zones := map[string]store.Row{}
		for _, z := range k.rows("zones") {
			zones[z["id"].(string)] = z
		}
		for _, r := range deep(16) {
			if z := zones[r.EntityID]; r.Action != "insert" || z["code"] != r.Cells[0] || r.Parsed != nil {
				k.Fatalf("%+v is %v", r, z)
			}
		}
		if r := deep(30)[0]; r.EntityID != "" || r.Action != "" || r.Parsed["code"] != r.Cells[0] {
			k.Errorf("behind the applied chunks: %+v", r)
		}
		e, err := k.m.EditRow(ctx, k.as, k.ready().ID, 1, imports.Edit{Cells: map[string]string{"name": "Other"}})
		if err != nil || e.Parsed["name"] != "Other" {
			k.Errorf("%+v %v", e, err)
		}
		remove(k, "zones", k.find("zones", "name", "in the way")["id"].(string))
		k.apply(job)
		if r := deep(35)[99]; r.Action != "insert" || k.find("zones", "id", r.EntityID)["code"] != "Z-3499" {
			k.Errorf("%+v", r)
		}
		if _, err := k.m.Rollback(ctx, k.as, job.ID); err != nil {
			k.Fatal(err)
		}
		if r := deep(1)[0]; r.Status != "rolled_back" || r.EntityID != "" || r.Action != "" {
			k.Errorf("rolled back: %+v", r)
		}
	})
}

// A rollback of a part leaves rows whose records are gone; they name none.
func TestRecordsOfAPartialRollback(t *testing.T) {
	const file = "sku,name\nP-1,Uno\nP-2,Two\nP-3,Three\nP-4,Four\n"
	each(t, func(k *kit) {
		for _, whole := range []int64{0, 1} { // at once, and in batches
			k.parted(whole)
			one := k.add("items", store.Row{"sku": "P-1", "name": "One"})
			job, _, _ := k.imported("items", `{"force":true}`, "", "i.csv", []byte(file))
			k.set("items", k.find("items", "sku", "P-3")["id"].(string), store.Row{"name": "Mine"})
			if res, err := k.m.RollbackRest(context.Background(), k.as, job.ID); err != nil || res.RolledBack != 3 {
				k.Fatalf("%+v %v", res, err)
			}
			if diff := cmp.Diff([]string{"2 update P-1", "3  -", "4 insert P-3", "5  -"},
				k.outcomes(job, "items", "sku")); diff != "" {
				k.Errorf("whole %d: %s", whole, diff)
			}
			for _, id := range []string{one, k.find("items", "sku", "P-3")["id"].(string)} {
				remove(k, "items", id)
			}
		}
		k.add("items", store.Row{"sku": "P-5", "name": "Five"})
		job, _, _ := k.imported("orders", "", "", "o.csv", []byte("order no,sku,quantity\nA-1,P-5,3\nA-2,P-5,4\n"))
		k.set("orders", k.find("orders", "order_no", "A-2")["id"].(string), store.Row{"notes": "mine"})
		if res, err := k.m.RollbackRest(context.Background(), k.as, job.ID); err != nil || res.RolledBack != 1 {
			k.Fatalf("%+v %v", res, err)
		}
		if diff := cmp.Diff([]string{"2  -", "3 insert 4"}, k.outcomes(job, "order_lines", "qty_ordered")); diff != "" {
			k.Error(diff)
		}
	})
}

// ready is another job, of one row.
func (k *kit) ready() *jobs.Job {
	k.Helper()
	job := k.upload("zones", "", "", "one.csv", []byte("code,name\nY-1,One\n"))
	k.process(job)
	return job
}

// Of a job that broke off and was rolled back, the rows that were never applied are
// shown as the file has them: what would be written is no longer kept.
func TestRowsThatWereNeverApplied(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.parted(1000)
		job := k.upload("zones", `{"mode":"insert"}`, "", "z.csv", zonesFile(2500))
		k.process(job)
		never := imports.RowFilter{Page: 401, PageSize: 5} // of the third chunk
		if p := k.page(job, never); p.Total != 2500 || p.Rows[0].Parsed == nil {
			k.Fatalf("checked: %+v", p)
		}
		k.add("zones", store.Row{"code": "Z-2300", "name": "in the way"})
		if _, err := k.m.Apply(ctx, k.as, job.ID); !fault.HasCode(err, "import_stale") {
			k.Fatal(err)
		}
		if _, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || k.status(job) != "rolled_back" {
			k.Fatal(err)
		}
		p := k.page(job, never)
		if r := p.Rows[0]; r.Row != 2001 || r.Status != "valid" || len(r.Cells) == 0 || r.Parsed != nil || r.EntityID != "" {
			k.Errorf("%+v", r)
		}
	})
}
