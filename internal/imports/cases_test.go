package imports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

// fieldsOf lists a target's records, each as its fields with a blank between them.
func (k *kit) fieldsOf(name string, fields ...string) []string {
	k.Helper()
	list := []string{}
	for _, row := range k.rows(name) {
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = fmt.Sprint(row[f])
		}
		list = append(list, strings.Join(texts, " "))
	}
	return list
}

// A file of a case gives the values that it says (testdata/cases).
func TestCases(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		for i, c := range []struct {
			file, target, options, mapping string
			fields, want, errors           []string
			says                           string
		}{
			{"mapping-of-two-drops-the-rest.csv", "items", "", `{"sku":"material_id","name":"material_name"}`,
				[]string{"sku", "name", "category", "base_uom"},
				[]string{"M1 Laptop stand Electronics EA", "M2 Office chair Furniture EA"}, nil, ""},
			{"five-decimals.csv", "items", "", "", []string{"sku", "unit_cost"},
				[]string{"A1 0.0214", "A2 24.8014", "A3 975.22"}, nil,
				`Column "unit_cost" has numbers of more than 4 decimals (2 of them): they were rounded.`},
			{"computed-price.xlsx", "items", "", "", []string{"sku", "unit_cost"}, []string{"A1 3.3333", "A2 2"}, nil,
				"were rounded"},
			{"currency-signs.csv", "items", `{"decimal_mark":","}`, "", []string{"sku", "unit_cost"},
				[]string{"A1 5.5", "A2 7.25", "A3 1234.5"},
				[]string{"5 unit_cost number"}, ""},
			{"sku-became-a-date.xlsx", "items", "", "", []string{"sku"}, []string{}, []string{"2 sku dated"}, ""},
			{"invisible-in-sku.csv", "items", "", "", []string{"sku"}, []string{"A2", "Café"},
				[]string{"3 sku duplicate", "5 sku duplicate"}, ""},
			{"shopify-apostrophe-barcode.csv", "items", "", `{"sku":"Variant SKU","name":"Handle","gtin":"Variant Barcode"}`,
				[]string{"sku", "gtin"}, []string{"L-1 08720602828605", "L-2 08720602898363"}, nil, ""},
			{"shopify-apostrophe-barcode.csv", "items", "", "", []string{"sku", "name", "gtin", "price"},
				[]string{"L-1 Lamp 08720602828605 19.99"}, []string{"3 Title required"}, ""},
			{"two-digit-hire-years.csv", "workers", "", "", []string{"employee_no", "hired_on"},
				[]string{"E1 1958-03-15", "E2 1961-11-22", "E3 2003-06-05"}, nil, ""},
			{"month-names.csv", "incidents", allInjuries, "", []string{"external_ref", "occurred_at"},
				[]string{"1 2026-03-04T23:00:00.000000Z", "2 2026-03-05T13:30:00.000000Z", "3 2026-03-04T23:00:00.000000Z"}, nil,
				""},
			{"mac-roman-cr.csv", "zones", "", "", []string{"name"}, []string{"Zürich Süd", "Genève"}, nil,
				"was read as Mac Roman (Zürich, Süd, Genève)."},
			{"cp1250-czech.csv", "zones", "", "", []string{"name"}, []string{"Sklad Žižkov", "Příjem zboží"}, nil,
				"was read as Windows-1250"},
			{"cp1251-cyrillic.csv", "zones", "", "", []string{"name"}, []string{"Склад Север", "Приёмка"}, nil,
				"was read as Windows-1251"},
			{"shift-jis.csv", "zones", "", "", []string{"name"}, []string{"倉庫第一", "入荷場"}, nil, "was read as Shift-JIS"},
			{"vocab-items-es.csv", "items", `{"decimal_mark":","}`, "", []string{"sku", "name", "base_uom", "price"},
				[]string{"A1 uno EA 1.5"}, nil, ""},
			{"vocab-incidents-de.csv", "incidents", "", "", []string{"title", "severity", "kind"},
				[]string{"Schnitt am Finger high near_miss"}, nil, ""},
			{"osha-300-log.csv", "incidents", `{"date_order":"mdy"}`, "",
				[]string{"external_ref", "title", "kind", "occurred_at"},
				[]string{"1 Sprained wrist injury 2026-01-11T23:00:00.000000Z"},
				[]string{"3 (F) Describe injury or illness required", "3 (D) Date of injury required"},
				`No column gives "Kind": it is injury in every row.`},
		} {
			k.asTenant(i)
			_, p, _ := k.imported(c.target, c.options, c.mapping, c.file, real(k, "cases/"+c.file))
			if diff := cmp.Diff(c.want, k.fieldsOf(c.target, c.fields...)); diff != "" {
				k.Errorf("%s: %s%s %+v", c.file, diff, p.Message, p.Errors)
			}
			if diff := cmp.Diff(append([]string{}, c.errors...), where(p.Errors)); diff != "" {
				k.Errorf("%s: %s%+v", c.file, diff, p.Errors)
			}
			if !strings.Contains(p.Message, c.says) {
				k.Errorf("%s says %s, without %q", c.file, p.Message, c.says)
			}
		}
	})
}

// Each file of a case is read by a test of this package.
func TestEveryCaseHasATest(t *testing.T) {
	var tests strings.Builder
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(source)
	}
	files, err := os.ReadDir("testdata/cases")
	if err != nil || len(files) < 24 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, f := range files {
		if !strings.Contains(tests.String(), f.Name()) {
			t.Errorf("no test reads %s", f.Name())
		}
	}
}

// A field that stands in several columns is put together from them, by its type: a time
// from date and time of day, a name from first and last; an end before its start is on
// the next day.
func TestColumnsThatJoin(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		for i, c := range []struct {
			body, target, options, mapping string
			fields, want                   []string
			parts                          string
		}{
			{string(real(k, "cases/timesheet-date-and-times-apart.csv")), "shifts", "", "",
				[]string{"started_at", "ended_at", "hours"}, []string{
					"2026-01-15T07:00:00.000000Z 2026-01-15T16:00:00.000000Z 8",
					"2026-01-15T21:00:00.000000Z 2026-01-16T05:00:00.000000Z 7.5",
					"2026-01-16T07:15:00.000000Z 2026-01-16T16:05:00.000000Z 8"}, "Date TimeIn, Date TimeOut"},
			{"Mitarbeiter;Beginn;Ende;Datum\n1;22:00;06:00;28.03.2026\n2;8:00;;29.03.2026\n", "shifts", "", "",
				[]string{"started_at", "ended_at", "status"}, []string{
					"2026-03-28T21:00:00.000000Z 2026-03-29T04:00:00.000000Z closed", "2026-03-29T06:00:00.000000Z <nil> open"},
				"Datum Beginn, Datum Ende"},
			{"Employee,Start date,Start time,End date,End time\n1,2026-01-15,22:00,2026-01-16,6:00\n", "shifts", "", "",
				[]string{"started_at", "ended_at"},
				[]string{"2026-01-15T21:00:00.000000Z 2026-01-16T05:00:00.000000Z"}, "Start date Start time, End date End time"},
			{"Employee,d,a,z\n1,2026-01-15,22:00,6:00\n", "shifts", "", `{"started_at":["d","a"],"ended_at":["d",4]}`,
				[]string{"started_at", "ended_at"},
				[]string{"2026-01-15T21:00:00.000000Z 2026-01-16T05:00:00.000000Z"}, "d a, d z"},
			{"Title,Date,Time\nFall,2026-01-15,3:15 PM\nCut,2026-01-16,\n", "incidents", allInjuries, "",
				[]string{"occurred_at"},
				[]string{"2026-01-15T14:15:00.000000Z", "2026-01-15T23:00:00.000000Z"}, "Date Time"},
			{"Title,Date,Time\nFall,2026-01-15,3:15 PM\n", "incidents", allInjuries, `{"occurred_at":["Date"]}`,
				[]string{"occurred_at"},
				[]string{"2026-01-14T23:00:00.000000Z"}, ""},
			{"Personalnummer;Vorname;Nachname\n7;Ina;Berg\n", "workers", "", "", []string{"employee_no", "name"},
				[]string{"7 Ina Berg"}, "Vorname Nachname"},
			{"Personalnummer;Vorname;Name\n7;Ina;Berg\n", "workers", "", "", []string{"employee_no", "name"},
				[]string{"7 Ina Berg"}, "Vorname Name"},
			{"Employee no,First name,Name\n7,Ina,Ina Berg\n", "workers", "", "", []string{"employee_no", "name"},
				[]string{"7 Ina Berg"}, ""},
			{"First name,Last name,Start,End\nIna,Berg,2026-01-15 8:00,2026-01-15 9:00\n", "shifts", "", "",
				[]string{"started_at"},
				[]string{"2026-01-15T07:00:00.000000Z"}, "First name Last name"},
		} {
			k.asTenant(30 + i)
			if c.target == "shifts" {
				k.add("workers", store.Row{"employee_no": "1", "name": "Ina Berg"})
				k.add("workers", store.Row{"employee_no": "2", "name": "Bo"})
			}
			job, p, _ := k.imported(c.target, c.options, c.mapping, "file.csv", []byte(c.body))
			if diff := cmp.Diff(c.want, k.fieldsOf(c.target, c.fields...)); diff != "" {
				k.Errorf("%s: %s%s %+v", c.body, diff, p.Message, p.Errors)
			}
			if got := joinedOf(p); got != c.parts {
				k.Errorf("%s is joined from %q, want %q", c.body, got, c.parts)
			}
			if _, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil {
				k.Error(err)
			}
		}
	})
}

// A quantity may have its unit beside it, and an amount its currency: the unit is the
// record's, or has to be, and the currency the tenant's.
func TestColumnsThatSplit(t *testing.T) {
	each(t, func(k *kit) {
		for i, c := range []struct {
			body, target string
			fields, want []string
			errors       []string
		}{
			{"order no,type,item,quantity\nO1,outbound,A,12 pcs\nO2,outbound,A,3 Stk.\n", "orders",
				[]string{"uom", "qty_ordered"}, []string{"EA 12", "EA 3"}, nil},
			{"order no,type,item,quantity,unit\nO1,outbound,A,12 kg,EA\nO2,outbound,A,3 foo,EA\n", "orders", []string{"uom"},
				[]string{},
				[]string{"2 quantity unit", "3 quantity number"}},
			{"item,zone,quantity\nA,Z,12 pcs\nA,Z2,3 kg\nB,Z,2.5 kg\nB,Z2,4\n", "stock_levels", []string{"quantity"},
				[]string{"12", "2.5", "4"},
				[]string{"3 quantity unit"}},
			{"sku,name,min quantity\nC,c,5 kg\nD,d,\n", "items", []string{"sku", "base_uom", "reorder_point"},
				[]string{"A EA 0", "B KGM 0", "C KGM 5", "D EA 0"}, nil},
			{"sku,name,price,unit cost\nC,c,5.00 EUR,€ 4\nD,d,$ 5,\nE,e,,5 USD\n", "items",
				[]string{"sku", "price", "unit_cost"},
				[]string{"A <nil> 0", "B <nil> 0", "C 5 4"}, []string{"3 price currency", "4 unit cost currency"}},
		} {
			k.asTenant(60 + i)
			k.add("items", store.Row{"sku": "A", "name": "A"})
			k.add("items", store.Row{"sku": "B", "name": "B", "base_uom": "KGM"})
			k.add("zones", store.Row{"code": "Z", "name": "Z"})
			k.add("zones", store.Row{"code": "Z2", "name": "Z2"})
			_, p, _ := k.imported(c.target, `{"decimal_mark":"."}`, "", "file.csv", []byte(c.body))
			of := map[string]string{"orders": "order_lines", "items": "items", "stock_levels": "stock_levels"}[c.target]
			if diff := cmp.Diff(c.want, k.fieldsOf(of, c.fields...)); diff != "" {
				k.Errorf("%s: %s%s %+v", c.body, diff, p.Message, p.Errors)
			}
			if diff := cmp.Diff(append([]string{}, c.errors...), where(p.Errors)); diff != "" {
				k.Errorf("%s: %s%+v", c.body, diff, p.Errors)
			}
		}
	})
}

// joinedOf names the columns that are joined, by field.
func joinedOf(p *plan.Processed) string {
	var list []string
	for _, c := range p.Columns {
		words := []string{}
		for _, part := range c.Parts {
			words = append(words, part.Header)
		}
		if len(words) > 0 {
			list = append(list, strings.Join(words, " "))
		}
	}
	return strings.Join(list, ", ")
}

// A certificate of a worker without an account is that worker's, and the same file
// again changes nothing; one of a person with an account is found by either name.
func TestTrainingOfWorkersWithoutAccount(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		worker := k.add("workers", store.Row{"employee_no": "E1", "name": "Ina"})
		k.add("members", store.Row{"user_id": person(1), "email": "bo@north.example", "role": "operator"})
		k.add("workers", store.Row{"employee_no": "E2", "name": "Bo", "user_id": person(1)})
		k.add("courses", store.Row{"code": "C1", "title": "Forklift"})
		file := real(k, "cases/training-of-worker-without-account.csv")
		_, p, _ := k.imported("training", "", "", "training.csv", file)
		want := []string{worker + " <nil> completed TC-1"}
		fields := []string{"worker_id", "user_id", "status", "certificate_no"}
		if diff := cmp.Diff(want, k.fieldsOf("training_assignments", fields...)); diff != "" {
			k.Fatalf("%s%s %+v", diff, p.Message, p.Errors)
		}

		_, _, again := k.imported("training", `{"force":true}`, "", "training.csv", file)
		more := "Person,Course,Completed,Certificate\nE1,C1,2026-05-01,TC-9\nbo@north.example,C1,2026-05-02,TC-2\n" +
			"E2,C1,2026-05-02,TC-3\nE7,C1,2026-05-02,TC-4\n"
		_, p, _ = k.imported("training", "", "", "more.csv", []byte(more))
		if !strings.Contains(again.Message, "0 new, 0 changed") {
			k.Errorf("the same file again: %s", again.Message)
		}
		if diff := cmp.Diff([]string{"4 Completed duplicate", "5 Person unknown_person"}, where(p.Errors)); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		second := k.find("workers", "employee_no", "E2").Text("id")
		want = []string{worker + " <nil> completed TC-9", second + " " + person(1) + " completed TC-2"}
		if diff := cmp.Diff(want, k.fieldsOf("training_assignments", fields...)); diff != "" {
			k.Error(diff)
		}
	})
}

// Where records stand elsewhere in a file than at its beginning, or are hidden, the
// answer says so, and an option answers.
func TestRecordsElsewhereInTheFile(t *testing.T) {
	each(t, func(k *kit) {
		k.asTenant(1)
		_, p, _ := k.imported("items", "", "", "wrapped.json", real(k, "cases/wrapped.json"))
		if diff := cmp.Diff([]string{"A1 one"}, k.fieldsOf("items", "sku", "name")); diff != "" {
			k.Errorf("%s%+v", diff, p)
		}
		if !strings.Contains(p.Message, `the list "data"`) {
			k.Error(p.Message)
		}

		k.asTenant(2)
		file := real(k, "cases/second-sheet-fits.xlsx")
		_, err := k.m.Process(context.Background(), k.as, k.upload("items", "", "", "prices.xlsx", file).ID)
		if !fault.HasCode(err, "import_question") || !strings.Contains(err.Error(), `the sheet "Items" fits`) {
			k.Error(err)
		}
		k.imported("items", `{"sheet":"Items"}`, "", "prices.xlsx", file)
		if diff := cmp.Diff([]string{"A1 one 2"}, k.fieldsOf("items", "sku", "name", "unit_cost")); diff != "" {
			k.Error(diff)
		}

		k.asTenant(3)
		file = real(k, "cases/hidden-by-filter.xlsx")
		_, p, _ = k.imported("items", `{"skip_hidden":true}`, "", "filtered.xlsx", file)
		if diff := cmp.Diff([]string{"A1", "A3"}, k.fieldsOf("items", "sku")); diff != "" ||
			strings.Contains(p.Message, "hidden") {
			k.Error(diff, p.Message)
		}
		_, p, _ = k.imported("items", `{"force":true}`, "", "filtered.xlsx", file)
		if diff := cmp.Diff([]string{"A1", "A3", "A2"}, k.fieldsOf("items", "sku")); diff != "" {
			k.Error(diff)
		}
		if !strings.Contains(p.Message, "1 row is hidden on the sheet") {
			k.Error(p.Message)
		}
	})
}

// Rows of sums are said, and an option leaves them out; a row with other words is none.
func TestRowsOfSums(t *testing.T) {
	each(t, func(k *kit) {
		for i, word := range []string{"Total", "Gesamtsumme:", "Sous-total", "TOTAAL", "Suma 2026", "Totale", "Soma"} {
			k.asTenant(80 + i)
			body := []byte("sku;name;max\nA;one;5\nTotal;mixed biscuits;7\n" + word + ";;12\n")
			_, p, _ := k.imported("items", "", "", "file.csv", body)
			if !strings.Contains(p.Message, "Line 4 looks like a total of the others") ||
				strings.Join(where(p.Errors), " ") != "4 name required" {
				k.Errorf("%s: %s %+v", word, p.Message, p.Errors)
			}
			_, p, _ = k.imported("items", `{"skip_totals":true,"force":true}`, "", "file.csv", body)
			if diff := cmp.Diff([]string{"A", "Total"}, k.fieldsOf("items", "sku")); diff != "" || p.Stats.TotalRows != 2 ||
				strings.Contains(p.Message, "total of") {
				k.Error(word, diff, p.Message)
			}
		}
	})
}

// The list of a JSON file's one object is found whatever stands around it; several lists,
// or several objects, are none.
func TestListOfOneObject(t *testing.T) {
	each(t, func(k *kit) {
		filler := strings.Repeat("x", 1<<20)
		for i, c := range []struct {
			body string
			want int
		}{
			{`{"meta":{"tags":["a",{"sku":"no"}]},"count":1,"rows" : [ {"sku":"A","name":"[{\"x"} , {"sku":"B","name":"b"} ],"next":null}` + "\n", 2},
			{`{"note":"` + filler + `","rows":[{"sku":"A","name":"a"}]}`, 1},
			{`{"a":[{"sku":"A","name":"a"}],"b":[{"sku":"B","name":"b"}]}`, 0},
			{`{"a":[{"sku":"A","name":"a"}]}{"a":[{"sku":"B","name":"b"}]}`, 0},
			{`{"a":[{"sku":"A","name":"a"}`, 0},
		} {
			k.asTenant(10 + i)
			p, err := k.m.Process(context.Background(), k.as, k.upload("items", "", "", "list.json", []byte(c.body)).ID)
			if got := p != nil && int(p.Stats.ValidRows) == c.want; got != (c.want > 0) || (err == nil) != got {
				k.Errorf("%d: %+v %v", i, p, err)
			}
		}
	})
}

// asTenant makes a tenant, which the kit acts in from here.
func (k *kit) asTenant(n int) {
	k.Helper()
	k.as.TenantID = fmt.Sprintf("0190a000-0000-7000-9000-%012x", n)
	k.add("tenants", store.Row{"id": k.as.TenantID, "name": "T", "slug": fmt.Sprint("case-", n),
		"timezone": "Europe/Berlin"})
}

// A count that SAP writes with its minus behind is below nothing, and nothing with
// a minus is nothing.
func TestMinusBehind(t *testing.T) {
	each(t, func(k *kit) {
		for _, sku := range []string{"A1", "A2", "A3"} {
			k.add("items", store.Row{"sku": sku, "name": sku})
		}
		k.add("zones", store.Row{"code": "Z1", "name": "Z1"})
		_, p, _ := k.imported("stock_levels", `{"decimal_mark":","}`, "", "sap.csv", real(k, "cases/sap-trailing-minus.csv"))
		if diff := cmp.Diff([]string{"A1 1234", "A2 0", "A3 0"}, k.fieldsOf("items", "sku", "on_hand")); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		if p.Stats.ValidRows != 2 || len(p.Errors) != 1 || p.Errors[0].Line != 3 ||
			strings.Contains(p.Errors[0].Message, "type decimal") {
			k.Errorf("%+v %+v", p.Stats, p.Errors)
		}
	})
}

// A mapping of one field, whichever it is, keeps every other column that is known:
// of each target the record holds all that the file gives.
func TestPartialMappingKeepsTheRest(t *testing.T) {
	each(t, func(k *kit) {
		for _, r := range k.s.Catalog().All() {
			if r.Import == nil {
				continue
			}
			k.as.TenantID = fresh(k, r.Name)
			body := sample(k, r, map[int]int{0: 0})
			header, rest, _ := strings.Cut(string(body), "\n")
			names := strings.Split(header, ",")
			for i, field := range names {
				foreign := append([]string{}, names...)
				foreign[i] = "my own word"
				mapping, err := json.Marshal(map[string]string{field: "my own word"})
				if err != nil {
					k.Fatal(err)
				}
				p := k.process(k.upload(r.Name, "", string(mapping), "file.csv", []byte(strings.Join(foreign, ",")+"\n"+rest)))
				if len(p.Mapping) != len(names) || p.Stats.InvalidRows != 0 {
					k.Errorf("%s with %s mapped: %d of %d columns are read: %s %+v", r.Name, field, len(p.Mapping), len(names),
						p.Message, p.Errors)
				}
			}
		}
	})
}

// A column that a usual word guessed for a closed set, and none of whose cells names a
// member, means something else: it is left out and the message says so.
func TestGuessedChoiceThatMeansSomethingElse(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		body := []byte("Mitarbeiternummer;Name;Zustand\n1;Ina;Lagerarbeit\n2;Bo;Versand\n")
		_, p, _ := k.imported("workers", "", "", "leute.csv", body)
		if diff := cmp.Diff([]string{"1 active", "2 active"}, k.fieldsOf("workers", "employee_no", "status")); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		if !strings.Contains(p.Message, `Column "Zustand" names none of`) || len(p.Errors) > 0 {
			k.Errorf("%s %+v", p.Message, p.Errors)
		}
	})
}

// Items are found by their SKU, and by a GTIN of any length or another barcode of the
// unit that is counted, as the code of a supplier; the barcode of a carton counts no
// pieces.
func TestItemsByBarcode(t *testing.T) {
	each(t, func(k *kit) {
		k.add("zones", store.Row{"code": "Z", "name": "Z"})
		k.add("items", store.Row{"sku": "A", "name": "A", "gtin": "8720602828605"})
		k.add("items", store.Row{"sku": "B", "name": "B",
			"barcodes": json.RawMessage(`[{"value":"4006381333931","type":"ean13","uom":"EA"},{"value":"B-CARTON","type":"code128","uom":"CT"},
				{"value":"4711/Süd","type":"supplier"}]`)})
		_, p, _ := k.imported("stock_levels", `{"defaults":{"zone_id":"Z"}}`, `{"item_id":"EAN13","quantity":"QTE"}`,
			"count.csv", real(k, "cases/count-by-ean.csv"))
		if diff := cmp.Diff([]string{"A 5", "B 7"}, k.fieldsOf("items", "sku", "on_hand")); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		_, p, _ = k.imported("stock_levels", "", "", "more.csv",
			[]byte("item,zone,quantity\n08720602828605,Z,6\nB-CARTON,Z,1\n"))
		if diff := cmp.Diff([]string{"3 item unknown_item"}, where(p.Errors)); diff != "" ||
			k.find("items", "sku", "A")["on_hand"] == nil {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		if diff := cmp.Diff([]string{"A 6", "B 7"}, k.fieldsOf("items", "sku", "on_hand")); diff != "" {
			k.Error(diff)
		}
		_, p, _ = k.imported("stock_levels", "", "", "list.csv",
			[]byte("Lieferantenartikelnummer,zone,quantity\n4711/Su\u0308d,Z,9\n"))
		if diff := cmp.Diff([]string{"A 6", "B 9"}, k.fieldsOf("items", "sku", "on_hand")); diff != "" {
			k.Errorf("%s%s %+v", diff, p.Message, p.Errors)
		}
	})
}
