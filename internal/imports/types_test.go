package imports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"holdfast/internal/fault"
	"holdfast/internal/imports/plan"
)

// workbook writes rows with the library that most programs in Go write with.
func workbook(t testing.TB, rows ...[]any) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i := range rows {
		if err := f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A workbook gives its values as they are: numbers with a point whatever the
// country, dates by their style, codes that look like numbers as codes.
func TestWorkbooks(t *testing.T) {
	each(t, func(k *kit) {
		job, p, _ := k.imported("items", "", "", "Stock List.XLSX", workbook(k, []any{"SKU", "Name", "Unit cost", "Comment"},
			[]any{4006381333931, "Stapler", 1.234, "x"}, []any{"A-2", "Größe", "2,50", nil}, []any{"A-3", "Three", 1e-3, nil},
			nil, []any{"A-5", nil, 3, "#N/A"}))
		if p.FileType != "xlsx" || job.FileType != "xlsx" || job.FileName != "Stock List.XLSX" {
			k.Errorf("%+v %+v", p, job)
		}
		if diff := cmp.Diff([]string{"6 Name required"}, where(p.Errors)); diff != "" {
			k.Error(diff)
		}
		got := map[string]string{}
		for _, r := range k.rows("items") {
			got[r["sku"].(string)] = fmt.Sprint(r["name"], " ", r["unit_cost"])
		}
		if diff := cmp.Diff(map[string]string{"4006381333931": "Stapler 1.234", "A-2": "Größe 2.5", "A-3": "Three 0.001"},
			got); diff != "" {
			k.Error(diff)
		}
		day := time.Date(2027, 3, 4, 0, 0, 0, 0, time.UTC) // 3 April to some
		_, p, _ = k.imported("lots", "", "", "lots.xlsx",
			workbook(k, []any{"sku", "lot", "expiry"}, []any{"A-2", "L1", day}, []any{"A-3", "L2", "nonsense"}))
		if got := k.find("lots", "lot_no", "L1")["expires_on"]; got != "2027-03-04" || len(p.Errors) != 1 ||
			p.Errors[0].Line != 3 {
			k.Errorf("%v %+v", got, p.Errors)
		}
	})
}

// Records of JSON come in an array or one to a line; their numbers need no
// question.
func TestJSONFiles(t *testing.T) {
	each(t, func(k *kit) {
		_, p, _ := k.imported("items", "", "", "items.json",
			[]byte(`[{"sku":"A","name":"One","unit_cost":1.234}, {"name":"Two","sku":"B"}]`))
		if p.FileType != "json" || p.Stats.ValidRows != 2 {
			k.Errorf("%+v", p)
		}
		_, p, _ = k.imported("items", "", "", "items.ndjson",
			[]byte("{\"sku\":\"A\",\"name\":\"Uno\"}\n{\"sku\":}\n{\"sku\":\"C\",\"name\":\"Three\",\"tenant_id\":\""+south+"\"}\n"))
		if diff := cmp.Diff([]string{"2  json"}, where(p.Errors)); diff != "" || p.FileType != "json" {
			k.Error(diff)
		}
		a := k.find("items", "sku", "A")
		if fmt.Sprint(a["name"], " ", a["unit_cost"]) != "Uno 1.234" {
			k.Errorf("%v", a)
		}
		if c := k.find("items", "sku", "C"); c["tenant_id"] != north {
			k.Errorf("%v", c)
		}
	})
}

// A workbook of several sheets says so, and lets one be chosen.
func TestSheets(t *testing.T) {
	each(t, func(k *kit) {
		f := excelize.NewFile()
		defer f.Close()
		_, err := f.NewSheet("Zones")
		if err = errors.Join(err, f.SetSheetRow("Sheet1", "A1", &[]any{"about", "this"}),
			f.SetSheetRow("Zones", "A1", &[]any{"code", "name"}),
			f.SetSheetRow("Zones", "A2", &[]any{"Z1", "One"})); err != nil {
			k.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			k.Fatal(err)
		}
		job := k.upload("zones", "", "", "z.xlsx", b.Bytes())
		if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_question") {
			k.Errorf("%v", err)
		}
		if _, p, _ := k.imported("zones", `{"sheet":"Zones"}`, "", "z.xlsx",
			b.Bytes()); p.Stats != (plan.Stats{TotalRows: 1, ValidRows: 1}) {
			k.Errorf("%+v", p)
		}
		job = k.upload("zones", `{"sheet":"Zoness"}`, "", "z.xlsx", b.Bytes())
		if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_question") ||
			k.status(job) != "failed" {
			k.Errorf("%v", err)
		}
	})
}

// Words of a closed set are read as they are written elsewhere; one that is not
// in it is the row's error.
func TestWordsOfASet(t *testing.T) {
	each(t, func(k *kit) {
		_, p, _ := k.imported("incidents", "", "", "i.csv",
			[]byte("external_ref,kind,title,date,tags\nA,hazard,Wet,2026-01-01,Slip Trip; "+
				"struck-by\nB,hazard,Odd,2026-01-01,slip_trip;gremlins\nC,hazard,None,2026-01-01,\n"))
		if diff := cmp.Diff([]string{"3 tags choice"}, where(p.Errors)); diff != "" {
			k.Error(diff)
		}
		for ref, want := range map[string]string{"A": `["slip_trip","struck_by"]`, "C": "[]"} {
			if got := fmt.Sprintf("%s", k.find("incidents", "external_ref", ref)["category_tags"]); got != want {
				k.Errorf("%s: %s, want %s", ref, got, want)
			}
		}
	})
}
