package imports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

// sheetRows is a workbook of rows of texts; nil leaves a row out, and "" a cell.
func sheetRows(t testing.TB, rows ...[]string) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for r, cells := range rows {
		if cells == nil {
			continue
		}
		fmt.Fprintf(&b, `<row r="%d">`, r+1)
		for c, text := range cells {
			if text != "" {
				fmt.Fprintf(&b, `<c r="%c%d" t="str"><v>%s</v></c>`, 'A'+c, r+1, text)
			}
		}
		b.WriteString("</row>")
	}
	return archive(t, map[string]string{"xl/worksheets/sheet1.xml": b.String() + "</sheetData></worksheet>"})
}

// A file's header is found among its first rows, or that it has none; what is
// not certain is asked. Lines are those of the file in any case.
func TestHeaderRow(t *testing.T) {
	const numbers = `{"code":1,"name":2,"pick_sequence":3}`
	ask := strings.Repeat("Где это было? ", 70) // more than 800 bytes
	coordinates := []byte("Kennung,Wo\nW,Hall W\nX,Hall X\nY,Hall Y\n")
	cases := []struct {
		name, file, options, mapping string
		body                         []byte
		want                         string // header row: line code ...
		says                         string
	}{
		{"in the first line", "z.csv", "", "", []byte("code,name\nZ-1,One\n"), "1: 2 Z-1", "The row is ready to be applied."},
		{"data like a header stays data", "z.csv", "", "", []byte("code,name\nname,code\nZ-1,One\n"), "1: 2 name, 3 Z-1",
			"All 2 rows"},
		{"below a title and a blank line", "z.csv", "", "", []byte("Shelves March 2026\n\ncode,name\nZ-1,One\n\nZ-2,Two\n"),
			"3: 4 Z-1, 6 Z-2",
			"The header was found in line 3; what stands above it was left out."},
		{"below the fields of a report", "z.csv", "", "",
			[]byte("Report;Shelves;\nName;All of them;\nPrinted;1.3.2026;\nCode;Name;Pick sequence\nZ-1;One;5\n"), "4: 5 Z-1",
			"The header was found in line 4"},
		{"below a title with line breaks", "z.csv", "", "", []byte("\"Shelves\nof March\",\ncode,name\nZ-1,One\n"),
			"3: 4 Z-1", "The header was found in line 3"},
		{"below a title in a sheet", "z.xlsx", "", "",
			sheetRows(t, []string{"Shelves"}, nil, []string{"", "", "as of March"},
				[]string{"code", "name", "pick sequence", "description"},
				[]string{"Z-1", "One"}, []string{"Z-2", "Two", "7"}), "4: 5 Z-1, 6 Z-2", "The header was found in line 4"},
		{"below a wider line in a sheet", "z.xlsx", "", "",
			sheetRows(t, []string{"a", "b", "c", "d"}, []string{"code", "name"}, []string{"Z-1", "One"}),
			"import_question", "line 2 (code, name) reads like the header, but line 1 (a, b, c, d) above it may be data: say on which line the header is"},
		{"below a damaged line", "z.csv", "", "", []byte("Shelves \x00\ncode,name\nZ-1,One\n"), "import_question",
			"above it may be data"},
		{"below a wider line in a sheet, said", "z.xlsx", `{"header_row":2}`, "",
			sheetRows(t, []string{"a", "b", "c", "d"}, []string{"code", "name"}, []string{"Z-1", "One"}), "2: 3 Z-1",
			"The row is ready"},
		{"by the headers of the mapping", "z.csv", "", `{"code":"Kennung","name":"Wo"}`,
			[]byte("Liste\nKennung,Wo\nZ-1,One\n"), "2: 3 Z-1",
			"The header was found in line 2"},
		{"below a title, by a long header of the mapping", "z.csv", "", `{"code":"Kennung","name":"` + ask + `"}`,
			[]byte("Liste\nKennung," + ask + "\nZ-1,One\n"), "2: 3 Z-1", "The header was found in line 2"},
		{"below a title, above columns by number", "z.csv", "", `{"code":1,"name":2}`,
			[]byte("Shelves\nCode,Name\nZ-1,One\n"), "2: 3 Z-1",
			"The header was found in line 2"},
		{"a record may be the header of columns by number", "z.csv", "", `{"code":1,"name":2}`,
			[]byte("Kennung,Wo\nW,One\nCode,Name\n"),
			"import_question", "line 3 (Code, Name) reads like the header, but line 1 (Kennung, Wo) above it may be data"},
		{"a record may be the header", "z.csv", "", "", []byte("code,Wo\nW,One\nCode,Name\n"), "import_question",
			"line 3 (Code, Name) reads like the header, but line 1 (code, Wo) above it may be data"},
		{"records with a word of the target", "z.csv", "", `{"code":1,"name":2}`, coordinates, "import_question",
			"is line 1 (Kennung, Wo) the header, or data already?"},
		{"records with a word of the target, the header said", "z.csv", `{"header":true}`, `{"code":1,"name":2}`,
			coordinates, "1: 2 W, 3 X, 4 Y", "All 3 rows"},
		{"the first record with a word of the target", "z.csv", "", `{"code":1,"name":2}`, []byte("X,Hall X\nY,Hall Y\n"),
			"import_question",
			"is line 1 (X, Hall X) the header, or data already?"},
		{"the first line, said", "z.csv", `{"header":true}`, "",
			[]byte("\ncode,Wo,name\nZ-0,x,Null\nCode,Name,Pick sequence\n"), "2: 3 Z-0, 4 Code", "All 2 rows"},
		{"none: numbers above numbers", "z.csv", "", numbers, []byte("Z-1,One,5,1.3.2026\nZ-2,Two,6,2.3.2026\n"),
			"0: 1 Z-1, 2 Z-2",
			"The file has no header: line 1 reads like those below it and was taken as a row."},
		{"none: nothing but numbers", "z.csv", "", `{"code":1,"name":1}`, []byte("101,\n102,\n"), "0: 1 101, 2 102",
			"The file has no header"},
		{"none, in a sheet", "z.xlsx", "", numbers, sheetRows(t, []string{"Z-1", "One", "5", "1.5"},
			[]string{"Z-2", "Two", "6", "2"}), "0: 1 Z-1, 2 Z-2",
			"The file has no header"},
		{"a number above numbers", "z.csv", "", numbers, []byte("Kennung,Wo,2026\nZ-1,One,5\n"), "import_question",
			"is line 1 (Kennung, Wo, 2026) the header, or data already?"},
		{"foreign, above numbers", "z.csv", "", numbers, []byte("Kennung,Wo,Folge\nZ-1,One,5\nZ-2,Two,6\n"),
			"1: 2 Z-1, 3 Z-2",
			"All 2 rows are ready to be applied."},
		{"foreign or none", "z.csv", "", `{"code":1,"name":2}`, []byte("Kennung,Wo\nZ-1,One\n"), "import_question",
			"is line 1 (Kennung, Wo) the header, or data already? Say which, or on which line the header is"},
		{"foreign or none, said", "z.csv", `{"header":true}`, `{"code":1,"name":2}`, []byte("Kennung,Wo\nZ-1,One\n"),
			"1: 2 Z-1", "The row is ready"},
		{"none, said", "z.csv", `{"header":false}`, `{"code":1,"name":2}`, []byte("Kennung,Wo\nZ-1,One\n"),
			"0: 1 Kennung, 2 Z-1", "All 2 rows"},
		{"the line is said", "z.csv", `{"header_row":3}`, `{"code":1,"name":2}`, []byte("Liste,\n\nKennung,Wo\nZ-1,One\n"),
			"3: 4 Z-1", "The row is ready"},
		{"the line is said, far down", "z.csv", `{"header_row":31}`, "",
			[]byte(strings.Repeat("x\n", 30) + "code,name\nZ-1,One\n"), "31: 32 Z-1", "The row is ready"},
		{"the line is blank", "z.csv", `{"header_row":2}`, "", []byte("Liste,\n\ncode,name\nZ-1,One\n"), "import_question",
			"line 2 of the file is blank"},
		{"the line is not there", "z.csv", `{"header_row":9}`, "", []byte("code,name\nZ-1,One\n"), "import_question",
			"line 9 of the file is blank, or not there"},
		{"no word is known", "z.csv", "", "", []byte("Liste\nKenn,Ort im Haus\nZ-1,One\n"), "import_question",
			"say on which line it is"},
		{"keys of JSON", "z.json", "", "", []byte(`[{"code":"Z-1","name":"One"}]`), "<nil>: 1 Z-1", "The row is ready"},
	}
	each(t, func(k *kit) {
		for _, c := range cases {
			job := k.upload("zones", c.options, c.mapping, c.file, c.body)
			p, err := k.m.Process(context.Background(), k.as, job.ID)
			if err != nil {
				if f := fault.As(err); f.Code != c.want || !strings.Contains(f.Msg, c.says) || k.status(job) != "failed" {
					k.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			var rows []string
			for _, r := range k.page(job, imports.RowFilter{Page: 1, PageSize: 50, Status: "valid"}).Rows {
				rows = append(rows, fmt.Sprint(r.Line, " ", r.Cells[0]))
			}
			row := k.find("import_jobs", "id", job.ID)
			got := fmt.Sprint(row["header_row"], ": ", strings.Join(rows, ", "))
			if got != c.want || !strings.Contains(p.Message, c.says) || row["message"] != p.Message || p.Stats.InvalidRows > 0 {
				k.Errorf("%s:\n got %s %s %+v\nwant %s %s", c.name, got, p.Message, p.Errors, c.want, c.says)
			}
		}
		for _, options := range []string{`{"header_row":-1}`, `{"header_row":2,"header":false}`, `{"header_row":"2"}`} {
			_, err := k.m.Create(context.Background(), k.as, imports.Request{Target: "zones", Options: json.RawMessage(options)})
			if !fault.HasCode(err, "options") {
				k.Errorf("%s: %v", options, err)
			}
		}
	})
}

// A mapping that is kept finds its header below a title, whatever the records
// are called.
func TestHeaderOfKeptMapping(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", "", `{"code":"Kennung","name":"Wo"}`, "z.csv", []byte("Kennung,Wo,Rest\nZ-1,One,x\n"))
		title := []string{"Liste", "", "", "", "fünf Spalten breit"}
		for name, body := range map[string][]byte{
			"x.csv":  []byte("Liste\nKennung,Wo,Rest\nCode,Name,Type\n"),
			"y.csv":  []byte("Liste\nKennung,Wo,Rest\nZ-9,Nine,y\n"),
			"y.xlsx": sheetRows(k, title[:1], []string{"Kennung", "Wo", "Rest"}, []string{"Z-9", "Nine"}),
			"w.xlsx": sheetRows(k, title, []string{"Kennung", "Wo", "Rest"}, []string{"Z-9", "Nine"}),
		} {
			job := k.upload("zones", "", "", name, body)
			p := k.process(job)
			if p.Stats != (plan.Stats{TotalRows: 1, ValidRows: 1}) ||
				k.find("import_jobs", "id", job.ID)["header_row"] != int64(2) || p.Columns[0].How != "saved" {
				k.Errorf("%s: %+v", name, p)
			}
		}
		job := k.upload("zones", "", "", "v.csv", []byte("Kennung,Wo,Rest\nZ-9,Nine,y\nCode,Name,Type\n"))
		if p := k.process(job); p.Stats.ValidRows != 2 || p.Columns[0].How != "saved" {
			k.Errorf("a record like a header: %+v", p)
		}
	})
}

// A form's export asks in whole sentences: such a column is called by how its
// Header begins, in the mapping too, in full, cut or by its number.
func TestLongHeaders(t *testing.T) {
	ask := strings.Repeat("Где это было? ", 20)
	cut := string([]rune(ask)[:199]) + "…"
	each(t, func(k *kit) {
		for i, c := range []struct{ mapping, columns, options, want, code, says string }{
			{"", "code,name," + ask, "", "code=code name=name", "", ""},
			{`{"code":1,"name":3}`, "Kennung,Rest," + ask, `{"header":true}`, "code=Kennung name=" + cut, "", ""},
			{`{"code":"Kennung","name":"` + ask + `"}`, "Kennung,Rest," + ask, "", "code=Kennung name=" + cut, "", ""},
			{`{"code":"Kennung","name":"` + cut + `"}`, "Kennung,Rest," + ask, "", "code=Kennung name=" + cut, "", ""},
			{"", "Kennung,Rest," + ask, "", "code=Kennung name=" + cut, "", ""}, // as it was mapped before
			{`{"code":"Kennung","name":"` + ask + `"}`, "Kennung," + ask + "," + ask + "?", "", "", "import_question",
				`columns 2 and 3 are both called "` +
					cut + `": say which with its number`},
		} {
			job := k.upload("zones", c.options, c.mapping, "z.csv", fmt.Appendf(nil, "%s\nZ-%d,One,Two\n", c.columns, i))
			p, err := k.m.Process(context.Background(), k.as, job.ID)
			if f := fault.As(err); err != nil && (f.Code != c.code || f.Msg != c.says) || err == nil && c.code != "" {
				k.Errorf("%d: %v", i, err)
			}
			if err != nil {
				continue
			}
			if got := fmt.Sprintf("code=%s name=%s", p.Mapping["code"], p.Mapping["name"]); got != c.want ||
				p.Stats.ValidRows != 1 || p.Columns[2].Header != cut {
				k.Errorf("%d: %s %+v", i, got, p)
			}
		}
	})
}

// Corrections stay with their lines when another line is the header.
func TestCorrectionsFollowTheirLines(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.upload("zones", "", "", "z.csv", []byte("code,name\ncode,name\nbad 1,x\nbad 2,y\nbad 3,z\n"))
		k.process(job)
		edit := func(row int, code string) {
			k.Helper()
			if _, err := k.m.EditRow(ctx, k.as, job.ID, row, imports.Edit{Cells: map[string]string{"code": code}}); err != nil {
				k.Fatal(err)
			}
		}
		is := func(options string, want ...string) {
			k.Helper()
			k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(options)})
			k.process(job)
			if diff := cmp.Diff(want, joinErrors(k.page(job, imports.RowFilter{Page: 1, PageSize: 9}))); diff != "" {
				k.Errorf("%s: %s", options, diff)
			}
		}
		edit(1, "Z-0")
		edit(2, "Z-1")
		edit(3, "Z-2")
		is(`{"header_row":2}`, "1 3 valid Z-1|x", "2 4 valid Z-2|y", "3 5 invalid bad 3|z")
		edit(2, "Z-20")
		edit(3, "Z-30")
		is(`{"header_row":1}`, "1 2 valid Z-0|name", "2 3 valid Z-1|x", "3 4 valid Z-20|y", "4 5 valid Z-30|z")
		if a := k.apply(job); a.ImportedCount != 4 {
			k.Errorf("%+v", a)
		}
	})
}
