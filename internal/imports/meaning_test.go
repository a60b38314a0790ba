package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// styledCell is a cell of a workbook with the format that its number is shown in.
type styledCell struct {
	value  any
	format string
}

// styledBook is a workbook of one sheet.
func styledBook(k *kit, rows ...[]styledCell) []byte {
	k.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, cells := range rows {
		for j, c := range cells {
			name, err := excelize.CoordinatesToCellName(j+1, i+1)
			if err == nil {
				err = f.SetCellValue("Sheet1", name, c.value)
			}
			style := 0
			if err == nil && c.format != "" {
				if style, err = f.NewStyle(&excelize.Style{CustomNumFmt: &c.format}); err == nil {
					err = f.SetCellStyle("Sheet1", name, name, style)
				}
			}
			if err != nil {
				k.Fatal(err)
			}
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		k.Fatal(err)
	}
	return b.Bytes()
}

// A number that a sheet shows with zeros or letters in front is the code that people see,
// one that it shows as hundredths is a percentage; what a format adds is no part of a
// quantity.
func TestNumbersAsSheetsShowThem(t *testing.T) {
	each(t, func(k *kit) {
		sku := []styledCell{{"sku", ""}, {"name", ""}, {"max", ""}}
		body := styledBook(k, sku,
			[]styledCell{{42, "00000"}, {"a", ""}, {7, "000"}}, []styledCell{{1234567, "000-000"}, {"b", ""}, {12, `0" pcs"`}},
			[]styledCell{{12, `"SKU-"0000`}, {"c", ""}, {nil, ""}}, []styledCell{{123456, "0000"}, {"d", ""}, {5, "#,##0.00"}},
			[]styledCell{{7, "0"}, {"e", ""}, {nil, ""}}, []styledCell{{0.5, "0.00"}, {"f", ""}, {0.25, "0%"}})
		_, p, _ := k.imported("items", "", "", "codes.xlsx", body)
		want := []string{"00042 7", "1234-567 12", "SKU-0012 <nil>", "123456 5", "7 <nil>"}
		if diff := cmp.Diff(want, k.fieldsOf("items", "sku", "max_stock")); diff != "" ||
			strings.Join(where(p.Errors), " ") != "7 max number" {
			k.Errorf("%s%s %+v", diff, p.Message, p.Errors)
		}
		body = styledBook(k, []styledCell{{"code", ""}, {"title", ""}, {"pass mark", ""}},
			[]styledCell{{"C1", ""}, {"a", ""}, {0.8, "0%"}}, []styledCell{{"C2", ""}, {"b", ""}, {0.725, "0.0%"}},
			[]styledCell{{"C3", ""}, {"c", ""}, {80, ""}})
		_, p, _ = k.imported("courses", "", "", "courses.xlsx", body)
		if diff := cmp.Diff([]string{"C1 80", "C2 72.5", "C3 80"}, k.fieldsOf("courses", "code", "pass_mark")); diff != "" {
			k.Errorf("%s%s %+v", diff, p.Message, p.Errors)
		}
	})
}

// What a spreadsheet has made of a code, a date or a rounded number, is an error of its
// row, unless the options say what it means.
func TestCodesThatSpreadsheetsChanged(t *testing.T) {
	each(t, func(k *kit) {
		body := []byte("sku,name\n1-Mar,a\nMar-05,b\n3.76104E+17,c\n1E5,d\nMAR-5,e\n")
		_, p, _ := k.imported("items", "", "", "codes.csv", body)
		if diff := cmp.Diff([]string{"2 sku dated", "3 sku dated", "4 sku rounded"}, where(p.Errors)); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		_, p, _ = k.imported("items", `{"force":true,"values":{"sku":{"1-Mar":"MAR1","Mar-05":"Mar-05","3.76104E+17":"376104000000000001"}}}`, "", "codes.csv", body)
		if diff := cmp.Diff([]string{"1E5", "MAR-5", "MAR1", "Mar-05", "376104000000000001"},
			k.fieldsOf("items", "sku")); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
	})
}

// question processes a job that has to be asked about, and returns the question.
func (k *kit) question(target, options, name string, body []byte) *fault.Error {
	k.Helper()
	_, err := k.m.Process(context.Background(), k.as, k.upload(target, options, "", name, body).ID)
	if err == nil {
		k.Errorf("%s of %s is not asked about", body, target)
		return &fault.Error{}
	}
	return fault.As(err)
}

// Numbers that may be seconds or milliseconds since 1970 are asked about, and so are
// years of two digits of fields that lie neither in the past nor in the future.
func TestTimesThatAreAskedAbout(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		body := []byte("title,date,reported date\nFall,1768490100,2026-01-16\nCut,1768493700,2026-01-16\n")
		q := k.question("incidents", allInjuries, "log.csv", body)
		want := `column "date" has numbers such as 1768490100: are they seconds since 1970 (this one is 15 January 2026, 15:15 UTC)?`
		if !strings.Contains(q.Msg, want) {
			k.Error(q.Msg)
		}
		millis := []byte(strings.NewReplacer("1768490100", "1768490100000", "1768493700",
			"1768493700500").Replace(string(body)))
		for unit, file := range map[string][]byte{"seconds": body, "milliseconds": millis} {
			_, p, _ := k.imported("incidents", `{"epoch":"`+unit+`","defaults":{"kind":"injury"}}`, "", "log.csv", file)
			if p.Stats.InvalidRows > 0 {
				k.Errorf("%s: %+v", unit, p.Errors)
			}
		}
		times := []string{"2026-01-15T15:15:00.000000Z", "2026-01-15T15:15:00.000000Z", "2026-01-15T16:15:00.000000Z",
			"2026-01-15T16:15:00.500000Z"}
		got := k.fieldsOf("incidents", "occurred_at")
		if diff := cmp.Diff(times, slices.Sorted(slices.Values(got))); diff != "" {
			k.Error(diff)
		}

		body = []byte("employee no,name,left on\nE1,a,2026-03-01\nE2,b,31/12/58\nE3,c,31/12/30\n")
		if q = k.question("workers", "", "left.csv", body); !strings.Contains(q.Msg,
			"in the past or in the future? Say which (short_years: past or future)") {
			k.Error(q.Msg)
		}
		for years, want := range map[string]string{"past": "1958-12-31", "future": "2058-12-31"} {
			_, p, _ := k.imported("workers", `{"short_years":"`+years+`","force":true}`, "", "left.csv", body)
			if got := k.find("workers", "employee_no", "E2")["left_on"]; got != want {
				k.Errorf("%s: %v %+v", years, got, p.Errors)
			}
		}
	})
}

// Fields of what is to come take years of two digits in this century, an expiry without
// a day is the last of its month, and a time that no clock showed is an error.
func TestDatesByTheirField(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		k.add("items", store.Row{"sku": "A", "name": "A"})
		_, p, _ := k.imported("lots", "", "", "lots.csv", []byte("item,lot,expiry\nA,1,31/12/75\nA,2,02/2028\nA,3,2027-04\n"))
		if diff := cmp.Diff([]string{"1 2075-12-31", "2 2028-02-29", "3 2027-04-30"},
			k.fieldsOf("lots", "lot_no", "expires_on")); diff != "" {
			k.Errorf("%s%s %+v", diff, p.Message, p.Errors)
		}
		_, p, _ = k.imported("incidents", allInjuries, "", "log.csv",
			[]byte("title,date\nGap,2026-03-29 02:30\nFall,2026-03-29 03:30\nMonth,03/2026\n"))
		if diff := cmp.Diff([]string{"2 date date", "4 date date"}, where(p.Errors)); diff != "" ||
			!strings.Contains(p.Errors[0].Message, "no clock showed") {
			k.Errorf("%s%+v", diff, p.Errors)
		}
	})
}

// Cells that mean nothing are listed by column, and the options give them a meaning once
// for all rows: members of closed sets, records, yes and no, nothing.
func TestValuesThatAreMapped(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		k.add("zones", store.Row{"code": "Z1", "name": "Hall"})
		body := []byte("title;severity;zone;date\nFall;ganz arg;Halle A;2026-01-05\nCut;ganz arg;Z1;2026-01-06\nBurn;gering;Halle  B;2026-01-07\n")
		_, p, _ := k.imported("incidents", allInjuries, "", "log.csv", body)
		unknown := map[string][]string{}
		for _, c := range p.Columns {
			if len(c.Unknown) > 0 {
				unknown[c.Field] = c.Unknown
			}
		}
		if diff := cmp.Diff(map[string][]string{"severity": {"ganz arg"}, "zone_id": {"Halle A", "Halle B"}},
			unknown); diff != "" || p.Stats.ValidRows != 0 {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		options, err := json.Marshal(map[string]any{"force": true, "defaults": map[string]string{"kind": "injury"},
			"values": map[string]any{
				"severity": map[string]string{"Ganz arg": "critical"},
				"zone_id":  map[string]string{"Halle A": "Z1", "Halle B": ""}}})
		if err != nil {
			k.Fatal(err)
		}
		_, p, _ = k.imported("incidents", string(options), "", "log.csv", body)
		zone := k.find("zones", "code", "Z1").Text("id")
		want := []string{"Fall critical " + zone, "Cut critical " + zone, "Burn low <nil>"}
		if diff := cmp.Diff(want, k.fieldsOf("incidents", "title", "severity", "zone_id")); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		job := k.upload("incidents", `{"values":{"sverity":{"a":"low"}}}`, "", "log.csv", body)
		if _, err := k.m.Process(context.Background(), k.as, job.ID); err == nil ||
			!strings.Contains(fault.As(err).Hint, "severity") {
			k.Errorf("a field that is none: %v", err)
		}
	})
}

// A file of movements that was exported says which are booked already, unless it is
// forced; a price list of new items names the mode that changes those that are there.
func TestFilesOfRecordsThatAreThere(t *testing.T) {
	each(t, func(k *kit) {
		k.add("items", store.Row{"sku": "A", "name": "A"})
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		k.imported("stock_movements", "", "", "in.csv", []byte("item,to zone,quantity\nA,Z,5\n"))
		id := k.rows("stock_movements")[0].Text("id")
		export := []byte("id,item,to zone,quantity\n" + id + ",A,Z,5\n0190a000-0000-7000-8000-00000000dead,A,Z,1\n")
		_, p, _ := k.imported("stock_movements", "", "", "export.csv", export)
		if diff := cmp.Diff([]string{"2 id booked"}, where(p.Errors)); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		_, p, _ = k.imported("stock_movements", `{"force":true}`, "", "export.csv", export)
		if p.Stats.ValidRows != 2 {
			k.Errorf("%+v", p.Errors)
		}

		q := k.question("items", "", "prices.csv", []byte("sku,unit_cost\nA,5\n"))
		if !strings.Contains(q.Msg, "If it only changes records that are there, as a list of prices does, use the mode update") {
			k.Error(q.Msg)
		}
		_, _, _ = k.imported("items", `{"mode":"update"}`, "", "prices.csv", []byte("sku,unit_cost\nA,5\n"))
		if got := k.fieldsOf("items", "unit_cost"); got[0] != "5" {
			k.Error(got)
		}
	})
}
