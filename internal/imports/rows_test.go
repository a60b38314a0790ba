package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

func (k *kit) page(job *jobs.Job, f imports.RowFilter) *imports.RowPage {
	k.Helper()
	p, err := k.m.Rows(context.Background(), k.as, job.ID, f)
	if err != nil {
		k.Fatal(err)
	}
	return p
}

// joinErrors lists rows as "row line status cells".
func joinErrors(p *imports.RowPage) []string {
	out := []string{}
	for _, r := range p.Rows {
		out = append(out, fmt.Sprint(r.Row, " ", r.Line, " ", r.Status, " ", strings.Join(r.Cells, "|")))
	}
	return out
}

// Rows are paged in file order, across chunks, whole or by what is wrong.
func TestRowPages(t *testing.T) {
	each(t, func(k *kit) {
		var b bytes.Buffer
		b.WriteString("code,name,pick sequence\n")
		for i := range 2500 {
			switch {
			case i == 1700:
				fmt.Fprintf(&b, "C-%d,x,many\n", i)
			case i%500 == 3:
				fmt.Fprintf(&b, "bad code %d,x,1\n", i)
			default:
				fmt.Fprintf(&b, "C-%d,x,1\n", i)
			}
		}
		job := k.upload("zones", "", "", "z.csv", b.Bytes())
		k.process(job)
		p := k.page(job, imports.RowFilter{Page: 6, PageSize: 200})
		if p.Total != 2500 || !p.HasMore || p.Rows[0].Row != 1001 || p.Rows[199].Line != 1201 ||
			cmp.Diff([]string{"code", "name", "pick sequence"}, p.Columns) != "" {
			k.Errorf("%+v", p)
		}
		p = k.page(job, imports.RowFilter{Page: 2, PageSize: 3, Status: "invalid"})
		if diff := cmp.Diff([]string{"1504 1505 invalid bad code 1503|x|1", "1701 1702 invalid C-1700|x|many",
			"2004 2005 invalid bad code 2003|x|1"},
			joinErrors(p)); diff != "" || p.Total != 6 || p.HasMore {
			k.Error(diff, p.Total)
		}
		for _, f := range []imports.RowFilter{{Code: "number"}, {Column: "pick sequence"},
			{Code: "number", Column: "pick sequence", Status: "invalid"}} {
			f.Page, f.PageSize = 1, 50
			if p = k.page(job, f); p.Total != 1 || p.Rows[0].Row != 1701 || p.Rows[0].Errors[0].Column != "pick sequence" {
				k.Errorf("%+v: %+v", f, p)
			}
		}
		if p = k.page(job, imports.RowFilter{Page: 1, PageSize: 1, Status: "valid"}); p.Total != 2494 {
			k.Error(p.Total)
		}
		if _, err := k.m.Rows(context.Background(), k.as, job.ID,
			imports.RowFilter{Page: 1, PageSize: 1, Status: "odd"}); !fault.Is(err, fault.Invalid) {
			k.Error(err)
		}
	})
}

// What became of a row is told with it, also of a job that was applied in part.
func TestFates(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.parted(1000)
		file := strings.NewReplacer("Z-2,", "bad 2,", "Z-2400,", "bad 2400,").Replace(string(zonesFile(2500)))
		job := k.upload("zones", `{"mode":"insert"}`, "", "z.csv", []byte(file))
		k.process(job)
		statuses := []string{"valid", "invalid", "applied", "skipped", "rolled_back"}
		is := func(when string, third string, want ...int64) {
			k.Helper()
			got := []int64{}
			for _, s := range statuses {
				got = append(got, k.page(job, imports.RowFilter{Page: 1, PageSize: 1, Status: s}).Total)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				k.Errorf("%s: rows that are %v: %s", when, statuses, diff)
			}
			if p := k.page(job, imports.RowFilter{Page: 1, PageSize: 4}); p.Total != 2500 || p.Rows[2].Status != third ||
				p.Rows[2].Errors[0].Code != "invalid" {
				k.Errorf("%s: %+v", when, p.Rows[2])
			}
		}
		is("checked", "invalid", 2498, 2, 0, 0, 0)
		k.add("zones", store.Row{"code": "Z-2300", "name": "in the way"})
		if _, err := k.m.Apply(ctx, k.as, job.ID); !fault.HasCode(err, "import_stale") {
			k.Fatal(err)
		}
		is("broken off", "skipped", 2498, 2, 1999, 1, 0)
		remove(k, "zones", k.find("zones", "name", "in the way")["id"].(string))
		k.apply(job)
		is("applied", "skipped", 2498, 2, 2498, 2, 0)
		if _, err := k.m.Rollback(ctx, k.as, job.ID); err != nil {
			k.Fatal(err)
		}
		is("rolled back", "skipped", 2498, 2, 0, 2, 2498)
	})
}

// A corrected row is checked as if the file had held it; it can be applied at
// once, and stays corrected when the job is processed again.
func TestCorrectedRows(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.upload("items", "", "", "i.csv", []byte("sku,name,unit_cost\nA,One,1.5\nB,,2.5\nA,Again,1.5\nC,Three,3\nD,Four,4.5\n"))
		p := k.process(job)
		if p.Stats != (plan.Stats{TotalRows: 5, ValidRows: 3, InvalidRows: 2}) {
			k.Fatalf("%+v", p)
		}
		edit := func(row int, cells map[string]string) *imports.StagedRow {
			k.Helper()
			r, err := k.m.EditRow(ctx, k.as, job.ID, row, imports.Edit{Cells: cells})
			if err != nil {
				k.Fatal(err)
			}
			return r
		}
		if r := edit(2, map[string]string{"name": "Two"}); r.Status != "valid" || !r.Edited {
			k.Errorf("%+v", r)
		}
		if j := k.find("import_jobs", "id", job.ID); j["valid_rows"] != int64(4) || j["invalid_rows"] != int64(1) ||
			j["message"] != "4 of 5 rows are ready to be applied; 1 has errors and will be left out." {
			k.Errorf("%v valid, %v invalid: %v", j["valid_rows"], j["invalid_rows"], j["message"])
		}
		if r := edit(3, map[string]string{"SKU": "D"}); r.Status != "valid" { // now row 5 is the second D
			k.Errorf("%+v", r)
		}
		if got := joinErrors(k.page(job, imports.RowFilter{Page: 1, PageSize: 9,
			Status: "invalid"})); cmp.Diff([]string{"5 6 invalid D|Four|4.5"}, got) != "" {
			k.Error(got)
		}
		edit(3, map[string]string{"sku": "E", "name": "=1+1"})
		if r := edit(5, map[string]string{"unit_cost": "4,5,6"}); r.Status != "invalid" || r.Errors[0].Code != "number" {
			k.Errorf("%+v", r)
		}
		for _, c := range []struct {
			row  int
			e    imports.Edit
			kind fault.Kind
		}{{0, imports.Edit{Cells: map[string]string{"sku": "x"}}, fault.NotFound},
			{6, imports.Edit{Cells: map[string]string{"sku": "x"}}, fault.NotFound},
			{1, imports.Edit{}, fault.Invalid}, {1, imports.Edit{Cells: map[string]string{"nothing": "x"}}, fault.Invalid}} {
			if _, err := k.m.EditRow(ctx, k.as, job.ID, c.row, c.e); !fault.Is(err, c.kind) {
				k.Errorf("%+v: %v", c, err)
			}
		}
		other := k.as
		other.TenantID = south
		if _, err := k.m.EditRow(ctx, other, job.ID, 1, imports.Edit{Cells: map[string]string{"sku": "x"}}); !fault.Is(err,
			fault.NotFound) {
			k.Error(err)
		}
		k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{"decimal_mark":"."}`)})
		if _, err := k.m.EditRow(ctx, k.as, job.ID, 1, imports.Edit{Cells: map[string]string{"sku": "x"}}); !fault.HasCode(err, "import_state") {
			k.Error(err)
		}
		if p = k.process(job); p.Stats != (plan.Stats{TotalRows: 5, ValidRows: 4, InvalidRows: 1}) {
			k.Errorf("%+v", p)
		}
		if a := k.apply(job); a.ImportedCount != 4 {
			k.Errorf("%+v", a)
		}
		if k.find("items", "sku", "B")["name"] != "Two" || k.find("items", "sku", "E")["name"] != "=1+1" {
			k.Error("the corrections are not in the records")
		}
		if _, err := k.m.EditRow(ctx, k.as, job.ID, 1, imports.Edit{Cells: map[string]string{"sku": "x"}}); !fault.HasCode(err, "import_state") {
			k.Error(err)
		}
	})
}

// Long rows lie in shorter chunks; each is known by its number all the same, and
// no correction makes one, or all of them together, longer than they may be.
func TestLongRows(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		pad := strings.Repeat(","+strings.Repeat("x", 30<<10), 4)
		var b bytes.Buffer
		b.WriteString("code,name,a,b,c,d\n")
		for i := range 80 {
			fmt.Fprintf(&b, "Z-%d,x%s\n", i+1, pad)
		}
		b.WriteString("Z-81,long" + pad + strings.Repeat("y", 1000) + strings.Repeat(","+strings.Repeat("x", 30<<10),
			1) + "\nZ-82,x,,,,\n")
		job := k.upload("zones", "", "", "z.csv", b.Bytes())
		if p := k.process(job); p.Stats != (plan.Stats{TotalRows: 82, ValidRows: 81, InvalidRows: 1}) ||
			p.Errors[0].Line != 82 ||
			p.Errors[0].Code != "row_too_long" {
			k.Fatalf("%+v %v", p.Stats, p.Errors)
		}
		for _, r := range k.page(job, imports.RowFilter{Page: 8, PageSize: 10}).Rows {
			if r.Line != r.Row+1 || r.Row < 71 || r.Row > 80 || r.Cells[0] != fmt.Sprint("Z-", r.Row) {
				k.Errorf("row %d, line %d: %s", r.Row, r.Line, r.Cells[0])
			}
		}
		edit := func(row int, cells map[string]string) (*imports.StagedRow, error) {
			return k.m.EditRow(ctx, k.as, job.ID, row, imports.Edit{Cells: cells})
		}
		if r, err := edit(77, map[string]string{"code": "y-77"}); err != nil || r.Line != 78 || r.Cells[0] != "y-77" {
			k.Errorf("%+v %v", r, err)
		}
		if r, err := edit(81, map[string]string{"name": "All of it anew"}); err != nil || r.Status != "invalid" ||
			r.Cells[0] != "" {
			k.Errorf("%+v %v", r, err)
		}
		if r, err := edit(81, map[string]string{"code": "Z-81", "name": "All of it anew"}); err != nil ||
			r.Status != "valid" {
			k.Errorf("%+v %v", r, err)
		}
		if _, err := edit(5, map[string]string{"name": strings.Repeat("n", 20<<10)}); !fault.Is(err, fault.Invalid) ||
			!strings.Contains(err.Error(), "128 kB") {
			k.Errorf("a row of 140 kB: %v", err)
		}
		err := k.d.Write(ctx, db.Scope{Tenant: north}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE import_edits SET cells = $3 WHERE tenant_id = $1 AND job_id = $2 AND row_no = 77", north,
				job.ID, `{"l":78,"c":["`+
					strings.Repeat("x", 32<<20)+`"]}`)
			return err
		})
		if err != nil {
			k.Fatal(err)
		}
		if _, err := edit(5, map[string]string{"name": "more"}); !fault.HasCode(err, "too_many_edits") {
			k.Errorf("32 MB of corrections: %v", err)
		}
		if a := k.apply(job); a.ImportedCount != 82 {
			k.Errorf("%+v", a)
		}
	})
}

// What is damaged in a row is mended by writing that anew, not something else.
func TestDamagedCells(t *testing.T) {
	each(t, func(k *kit) {
		job := k.upload("zones", "", "", "z.csv", []byte("code,name,note\nÄ-1,ä\xff,ö\xff\nB-2,"+strings.Repeat("x",
			40<<10)+",\n"))
		if p := k.process(job); p.Stats.InvalidRows != 2 {
			k.Fatalf("%+v", p)
		}
		for _, c := range []struct {
			row          int
			column, want string
		}{{1, "code", "1 2 name encoding"}, {1, "name", "1 2 note encoding"}, {1, "note", "1 2 valid"},
			{2, "note", "2 3 name cell_too_long"}, {2, "name",
				"2 3 valid"}} {
			r, err := k.m.EditRow(context.Background(), k.as, job.ID, c.row,
				imports.Edit{Cells: map[string]string{c.column: fmt.Sprint("New-", c.row)}})
			if err != nil {
				k.Fatal(err)
			}
			got := fmt.Sprint(r.Row, " ", r.Line, " ", r.Status)
			if len(r.Errors) > 0 {
				got = fmt.Sprint(r.Row, " ", r.Line, " ", r.Errors[0].Column, " ", r.Errors[0].Code)
			}
			if got != c.want {
				k.Errorf("%+v: %s", c, got)
			}
		}
	})
}

// Corrections at the same time do not lose each other, and a key cannot become
// the second one in another chunk.
func TestCorrectionsAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		var b bytes.Buffer
		b.WriteString("code,name\n")
		for i := range 1500 {
			fmt.Fprintf(&b, "bad %d,x\n", i)
		}
		job := k.upload("zones", "", "", "z.csv", b.Bytes())
		k.process(job)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for try := 0; ; try++ {
					_, err := k.m.EditRow(ctx, k.as, job.ID, i*400+1,
						imports.Edit{Cells: map[string]string{"code": fmt.Sprintf("Z-%d", i)}})
					if err == nil {
						return
					}
					if !fault.HasCode(err, "import_busy") || try > 20 {
						k.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if p := k.page(job, imports.RowFilter{Page: 1, PageSize: 9, Status: "valid"}); p.Total != 4 {
			k.Errorf("%d of 4 corrections are there", p.Total)
		}
		if r, err := k.m.EditRow(hurried(), k.as, job.ID, 1500,
			imports.Edit{Cells: map[string]string{"code": "z-0"}}); err != nil ||
			r.Status != "invalid" || r.Errors[0].Code != "duplicate" {
			k.Errorf("%+v %v", r, err)
		}
		if a := k.apply(job); a.ImportedCount != 4 {
			k.Errorf("%+v", a)
		}
	})
}

// The corrected file carries no formula, and read again it gives the same.
func TestCorrectedFile(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.upload("items", "", "", "stück.csv",
			[]byte("sku,name,unit_cost\nA,=1+1,1.5\nB,\"+4 \"\"x\"\", @y\",-2.5\nC,\"two\nlines\",3\nD,,4\nE,\uff1dSUM(A1),5\n"))
		k.process(job)
		file := func(status string) (string, string) {
			k.Helper()
			c, err := k.m.Corrected(ctx, k.as, job.ID, status)
			if err != nil {
				k.Fatal(err)
			}
			var b bytes.Buffer
			if err := c.Write(ctx, &b); err != nil {
				k.Fatal(err)
			}
			return c.Name, b.String()
		}
		name, all := file("all")
		want := "\ufeffsku,name,unit_cost\nA,'=1+1,1.5\nB,\"'+4 \"\"x\"\", @y\",-2.5\nC,\"two\nlines\",3\nD,,4\nE,'\uff1dSUM(A1),5\n"
		if diff := cmp.Diff(want, all); diff != "" || name != "stück-rows.csv" {
			k.Error(name, diff)
		}
		name, bad := file("invalid")
		if !strings.Contains(bad, "sku,name,unit_cost,What is wrong\n") || strings.Count(bad, "\n") != 3 ||
			name != "stück-invalid-rows.csv" {
			k.Errorf("%s %q", name, bad)
		}
		again := k.upload("items", "", "", "again.csv", []byte(all))
		k.process(again)
		k.apply(again)
		for sku, name := range map[string]string{"A": "=1+1", "E": "\uff1dSUM(A1)"} {
			if got := k.find("items", "sku", sku)["name"]; got != name {
				k.Errorf("%s: %v", sku, got)
			}
		}
		if _, err := k.m.Corrected(ctx, actor.Actor{TenantID: north, Role: actor.Viewer}, job.ID, "all"); !fault.Is(err,
			fault.Forbidden) {
			k.Error(err)
		}
	})
}

// A mapping that was given once is taken for the next file of the same
// columns, by this tenant and into this target only.
func TestSavedMappings(t *testing.T) {
	each(t, func(k *kit) {
		const file = "Nr;Wie es heißt;Übrig\nA;One;x\n"
		job := k.upload("items", "", "", "a.csv", []byte(file))
		if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_question") {
			k.Fatal(err)
		}
		first := k.upload("items", "", `{"sku":"Nr","name":"Wie es heißt"}`, "b.csv", []byte(file))
		k.process(first)
		_, p, _ := k.imported("items", "", "", "c.csv", []byte(strings.ReplaceAll(file, "A;", "B;")))
		how := []string{}
		for _, c := range p.Columns {
			how = append(how, fmt.Sprint(c.Header, ">", c.Field, " ", c.How))
			if c.Why == "" {
				k.Errorf("%+v", c)
			}
		}
		if diff := cmp.Diff([]string{"Nr>sku saved", "Wie es heißt>name saved", "Übrig> ignored"}, how); diff != "" ||
			!strings.Contains(p.Message, first.JobNo) {
			k.Error(diff, p.Message)
		}
		job = k.upload("items", `{"guess":true}`, "", "d.csv", []byte(file))
		if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_question") {
			k.Error(err)
		}
		k.as.TenantID = south
		job = k.upload("items", "", "", "e.csv", []byte(file))
		if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_question") {
			k.Error(err)
		}
	})
}

// What a role may not see of a record it neither sets by a file nor reads in the
// file of somebody who may, whoever of them had it checked.
func TestHiddenFields(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.add("workers", store.Row{"employee_no": "E-1", "name": "One", "birth_year": 1971})
		boss, manager := *k, *k
		manager.as.Role = actor.Manager
		const file = "employee_no,Geburtsjahr,name\nE-1,1984,Uno\nE-2,born 1985,Two\nE-3,1986\n"

		job := manager.upload("workers", "", "", "m.csv", []byte(file))
		p := manager.process(job)
		if diff := cmp.Diff([]string{"4  columns"}, where(p.Errors)); diff != "" ||
			cmp.Diff([]string{"Geburtsjahr"}, p.Ignored) != "" ||
			!strings.Contains(p.Message, "may not see the field birth_year") {
			k.Errorf("%s %+v", diff, p)
		}
		if v, err := k.m.Preview(ctx, manager.as, job.ID, 1, 9); err != nil || len(v.Rows) != 2 ||
			len(v.Rows[0].Fields) != 1 {
			k.Errorf("%+v %v", v, err)
		}
		manager.apply(job)
		if w := k.find("workers", "employee_no", "E-1"); w["birth_year"] != int64(1971) || w["name"] != "Uno" {
			k.Errorf("%v", w)
		}

		job = boss.upload("workers", `{"force":true}`, "", "b.csv", []byte(file))
		if p = boss.process(job); cmp.Diff([]string{"3 Geburtsjahr number", "4  columns"}, where(p.Errors)) != "" {
			k.Errorf("%+v", p.Errors)
		}
		told := func(by *kit) string {
			t.Helper()
			rows := by.page(job, imports.RowFilter{Page: 1, PageSize: 9})
			errs, err := k.m.RowErrors(ctx, by.as, job.ID, 1, 9)
			v, fail := k.m.Preview(ctx, by.as, job.ID, 1, 9)
			one, bad := k.m.EditRow(ctx, by.as, job.ID, 2, imports.Edit{Cells: map[string]string{"name": "Two"}})
			var out bytes.Buffer
			c, refused := k.m.Corrected(ctx, by.as, job.ID, "all")
			if err := errors.Join(err, fail, bad, refused); err != nil {
				k.Fatal(err)
			}
			if err := c.Write(ctx, &out); err != nil {
				k.Fatal(err)
			}
			text, err := json.Marshal([]any{rows, errs, v, one, out.String()})
			if err != nil {
				k.Fatal(err)
			}
			return string(text)
		}
		for _, secret := range []string{"1984", "born 1985", "1986", "1971"} {
			if text := told(&manager); strings.Contains(text, secret) {
				k.Errorf("a manager reads %s: %s", secret, text)
			}
			if text := told(&boss); !strings.Contains(text, secret) {
				k.Errorf("an administrator does not read %s: %s", secret, text)
			}
		}
		if _, err := k.m.EditRow(ctx, manager.as, job.ID, 1,
			imports.Edit{Cells: map[string]string{"Geburtsjahr": "1990"}}); !fault.Is(err, fault.Invalid) {
			k.Error(err)
		}
		if _, err := k.m.Apply(ctx, manager.as, job.ID); !fault.Is(err, fault.Forbidden) {
			k.Error(err)
		}
		if p = manager.process(job); p.Stats != (plan.Stats{TotalRows: 3, ValidRows: 2,
			InvalidRows: 1}) { // checked anew, without
			k.Errorf("%+v", p)
		}
		if text := told(&manager); strings.Contains(text, "1985") {
			k.Error(text)
		}
		for _, r := range []imports.Request{
			{Target: "workers", Mapping: json.RawMessage(`{"employee_no":"employee_no","birth_year":"Geburtsjahr"}`)},
			{Target: "workers", Options: json.RawMessage(`{"defaults":{"birth_year":"1990"}}`)},
		} {
			made, err := k.m.Upload(ctx, manager.as, r, "x.csv", strings.NewReader(file))
			if err == nil {
				_, err = k.m.Process(ctx, manager.as, made.ID)
			}
			if !fault.Is(err, fault.Forbidden) || len(fault.As(err).Fields) != 1 {
				k.Errorf("%s %s: %v", r.Mapping, r.Options, err)
			}
		}
	})
}

// A dry run says what applying would do, record by record, and writes nothing.
func TestPreview(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		k.imported("items", "", "", "a.csv", []byte("sku,name,unit_cost\nA,One,1.5\nB,Two,2.5\n"))
		before := k.dump("items")
		job := k.upload("items", `{"dry_run":true}`, "", "b.csv",
			[]byte("sku,name,unit_cost\nA,Uno,1.5\nB,Two,2.5\nC,Three,3.5\nD,,1\n"))
		p := k.process(job)
		if diff := cmp.Diff(&plan.Counts{Inserts: 1, Updates: 1, Unchanged: 1}, p.Preview); diff != "" ||
			!strings.Contains(p.Message, "make 1 record, change 1") {
			k.Error(diff, p.Message)
		}
		v, err := k.m.Preview(ctx, k.as, job.ID, 1, 10)
		if err != nil || v.Total != 3 || len(v.Rows) != 3 {
			k.Fatalf("%+v %v", v, err)
		}
		text, err := json.Marshal(v.Rows[:2])
		want := `[{"line":2,"action":"update","id":"` + v.Rows[0].ID + `","label":"A","fields":{"name":{"before":"One","after":"Uno"}}},` +
			`{"line":3,"action":"unchanged","id":"` + v.Rows[1].ID + `","label":"B","fields":{}}]`
		if err != nil || string(text) != want || v.Rows[2].Action != "insert" || v.Rows[2].Label != "C" {
			k.Errorf("%s\n%s %v", text, want, err)
		}
		if v, err = k.m.Preview(ctx, k.as, job.ID, 2, 2); err != nil || len(v.Rows) != 1 || v.Rows[0].Line != 4 || v.HasMore {
			k.Errorf("%+v %v", v, err)
		}
		if _, err := k.m.Apply(ctx, k.as, job.ID); !fault.HasCode(err, "import_state") || k.dump("items") != before {
			k.Error("the dry run wrote", err)
		}
		k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{}`)})
		k.process(job)
		if a := k.apply(job); a.ImportedCount != 3 || k.find("items", "name", "Uno")["version"] != int64(2) {
			k.Errorf("%+v", a)
		}
	})
}
