package imports_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// A name in digits is imported digit by digit or refused; it never becomes
// another name because a spreadsheet counts to 15.
func TestLongNumbers(t *testing.T) {
	const sheet = `<worksheet><sheetData><row><c t="str"><v>sku</v></c><c t="str"><v>name</v></c><c t="str"><v>on hand max</v></c></row>` +
		`<row><c><v>376104250021234567</v></c><c t="str"><v>written out</v></c></row>` +
		`<row><c><v>3.7610425002123501E+17</v></c><c t="str"><v>rounded</v></c></row>` +
		`<row><c><v>123456789012345</v></c><c t="str"><v>fifteen</v></c></row></sheetData></worksheet>`
	each(t, func(k *kit) {
		_, p, _ := k.imported("items", "", "", "i.xlsx", archive(t, map[string]string{"xl/worksheets/sheet1.xml": sheet}))
		if len(p.Errors) != 1 || p.Errors[0].Line != 3 || p.Errors[0].Code != "rounded" {
			k.Errorf("%+v", p.Errors)
		}
		k.find("items", "sku", "376104250021234567")
		k.find("items", "sku", "123456789012345")
		_, p, _ = k.imported("items", "", "", "i.csv", []byte("sku,name\n3.76104E+17,One\n\"3,76104E+17\",Two\n4E+17,Three\n5E12,Four\nE+17,Five\n"))
		var lines []int
		for _, e := range p.Errors {
			if e.Code == "rounded" {
				lines = append(lines, e.Line)
			}
		}
		if len(lines) != 3 || lines[0] != 2 || lines[2] != 4 {
			k.Errorf("%+v", p.Errors)
		}
		k.find("items", "sku", "5E12")
	})
}

// Doing what a question asks for, and no more, leads on.
func TestQuestionAnsweredInItsWords(t *testing.T) {
	each(t, func(k *kit) {
		job := k.upload("items", "", "", "i.csv", []byte("sku,name,name,unit cost\nA-1,old,One,2.5\nA-2,old,Two,3.5\n"))
		_, err := k.m.Process(t.Context(), k.as, job.ID)
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(f.Msg, "say by its number") {
			k.Fatal(err)
		}
		job = k.upload("items", "", `{"name":3}`, "i.csv",
			[]byte("sku,name,name,unit cost\nA-1,old,One,2.5\nA-2,old,Two,3.5\n"))
		if p := k.process(job); p.Mapping["sku"] != "sku" || p.Mapping["unit_cost"] != "unit cost" || p.Stats.ValidRows != 2 {
			k.Errorf("%+v", p)
		}
		k.apply(job)
		if row := k.find("items", "sku", "A-2"); row["name"] != "Two" {
			k.Errorf("%v", row)
		}
		// What is left out on purpose stays out.
		job = k.upload("items", "", `{"name":3,"unit_cost":null}`, "i.csv",
			[]byte("sku,name,name,unit cost\nA-3,old,Three,2.5\n"))
		if p := k.process(job); p.Mapping["unit_cost"] != "" {
			k.Errorf("%+v", p.Mapping)
		}
	})
}

// How far the checking of a file is can be told from its first rows on.
func TestProgressOfProcessing(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		job := k.upload("zones", "", "", "z.csv", zonesFile(6000))
		var seen []float64
		zones := k.effects.Before["zones"]
		k.effects.Before["zones"] = func(tx *store.Tx, c []store.Change) error {
			p, err := k.m.Progress(t.Context(), k.as, job.ID)
			if err == nil && p.Total > 0 {
				if p.Total != 6000 || p.Done > p.Total {
					k.Errorf("%+v", p)
				}
				seen = append(seen, p.Percent)
			}
			time.Sleep(600 * time.Millisecond)
			if zones == nil {
				return nil
			}
			return zones(tx, c)
		}
		k.process(job)
		if len(seen) < 3 || !slices.IsSorted(seen) || seen[len(seen)-1] < 50 {
			k.Errorf("seen %v", seen)
		}
	})
}
