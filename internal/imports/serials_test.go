package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// serialStock is a warehouse with unit S-1 in, reserved, in A-3.
func serialStock(k *kit) {
	k.imported("zones", "", "", "z.csv", []byte("code,name\nA-1,One\nA-2,Two\nA-3,Three\n"))
	k.imported("items", "", "", "i.csv", []byte("sku,name,tracking\nP-1,Saw,serial\nP-2,Bolt,none\n"))
	k.imported("stock_movements", "", "", "m.csv", []byte("type,sku,serial,to zone,quantity\nreceipt,P-1,S-1,A-1,1\nreceipt,P-1,R-1,A-3,1\n"))
	k.set("stock_levels", k.find("stock_levels", "serial", "R-1")["id"].(string), store.Row{"reserved": "1"})
}

// units are the places of what is in stock by serial number.
func (k *kit) units() []string {
	k.Helper()
	var out []string
	zones := map[any]any{}
	for _, z := range k.rows("zones") {
		zones[z["id"]] = z["code"]
	}
	for _, l := range k.rows("stock_levels") {
		if l["serial"] != nil && l["quantity"] != decimal.Dec(0) {
			out = append(out, fmt.Sprint(l["serial"], " ", zones[l["zone_id"]], " ", l["quantity"]))
		}
	}
	slices.Sort(out)
	return out
}

func messages(errs []staged.RowError) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%d %s %s: %s", e.Line, e.Column, e.Code, e.Message))
	}
	return out
}

// A stock-take that finds a serial number elsewhere moves it when it also finds
// its old place empty, whatever the order of the rows and however they fall into
// chunks; else its row is told where the books have it.
func TestCountsOfSerialNumbers(t *testing.T) {
	const head = "sku,zone,serial,quantity\n"
	none := strings.Builder{} // more than a chunk, in which there is nothing
	for n := range 1100 {
		fmt.Fprintf(&none, "P-2,A-1,B-%d,0\n", n)
	}
	moved := []string{"R-1 A-3 1", "S-1 A-2 1"}
	inA1 := "serial number S-1 is in A-1: count it there as 0 in the same file, or move it from there first"
	each(t, func(k *kit) {
		serialStock(k)
		for _, c := range []struct {
			name, file string
			want       []string
			units      []string // nil = as before
		}{
			{"new place only", "P-1,A-2,S-1,1\nP-2,A-1,,4\n", []string{"2 serial in_stock: by the books " + inA1}, nil},
			{"both, the old one first", "P-1,A-1,S-1,0\nP-1,A-2,S-1,1\n", []string{}, moved},
			{"both, the old one last", "P-1,A-2,S-1,1\nP-1,A-1,S-1,0\n", []string{}, moved},
			{"a chunk between, the old one last", "P-1,A-2,S-1,1\n" + none.String() + "P-1,A-1,S-1,0\n", []string{}, moved},
			{"a chunk between, the old one first", "P-1,A-1,S-1,0\n" + none.String() + "P-1,A-2,S-1,1\n", []string{}, moved},
			{"in two places", "P-1,A-1,S-1,1\nP-1,A-2,S-1,1\n",
				[]string{"3 serial duplicate: line 2 counts the same serial number elsewhere"}, nil},
			{"where it is", "P-1,A-1,S-1,1\n", []string{}, nil},
			{"a part of it", "P-1,A-1,S-1,0.5\nP-2,A-1,,4\n",
				[]string{"2 quantity invalid: of a serial number there is one unit, or none"}, nil},
			{"the old place is reserved", "P-1,A-2,R-1,1\nP-1,A-3,R-1,0\nP-2,A-1,,4\n", []string{
				"2 serial in_stock: by the books serial number R-1 is in A-3: count it there as 0 in the same file, or move it from there first",
				"3 quantity reserved: 1 of it are reserved for orders: free them before fewer are counted"}, nil},
		} {
			for _, whole := range []int64{20_000, 1} {
				k.rebuild(func(o *imports.Options) { o.Whole, o.Together = whole, 1 })
				before := k.units()
				job := k.upload("stock_levels", "", "", "c.csv", []byte(head+c.file))
				p := k.process(job)
				if diff := cmp.Diff(c.want, messages(p.Errors)); diff != "" {
					k.Errorf("%s: %s", c.name, diff)
				}
				if a := k.apply(job); a.ImportedCount != p.Stats.ValidRows {
					k.Errorf("%s: %+v", c.name, a)
				}
				want := c.units
				if want == nil {
					want = before
				}
				if diff := cmp.Diff(want, k.units()); diff != "" {
					k.Errorf("%s: %s", c.name, diff)
				}
				if _, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil {
					k.Fatalf("%s: %v", c.name, err)
				}
				if diff := cmp.Diff(before, k.units()); diff != "" {
					k.Errorf("%s, rolled back: %s", c.name, diff)
				}
			}
		}
	})
}

// What moved after the file was checked stops it, with the line and the place.
func TestSerialNumberMovesAfterCheck(t *testing.T) {
	each(t, func(k *kit) {
		serialStock(k)
		job := k.upload("stock_levels", "", "", "c.csv", []byte("sku,zone,serial,quantity\nP-1,A-2,S-1,1\nP-1,A-1,S-1,0\n"))
		k.process(job)
		k.imported("stock_movements", "", "", "n.csv", []byte("type,sku,serial,from zone,to zone,quantity\ntransfer,P-1,S-1,A-1,A-3,1\n"))
		_, err := k.m.Apply(context.Background(), k.as, job.ID)
		if f := fault.As(err); err == nil || f.Code != "import_stale" ||
			!strings.Contains(f.Msg, "line 2 cannot be written: by now the books have serial number S-1 in A-3") {
			k.Errorf("%v", err)
		}
	})
}

// A movement that brings in what is in stock, by the books or by the file, is
// an error of its row.
func TestMovementsOfSerialNumbers(t *testing.T) {
	each(t, func(k *kit) {
		serialStock(k)
		file := "type,sku,serial,from zone,to zone,quantity\n" +
			"receipt,P-1,S-1,,A-2,1\n" +
			"ship,P-1,S-1,A-1,,1\n" +
			"return_in,P-1,S-1,,A-2,1\n" + // it had gone
			"receipt,P-1,S-1,,A-2,1\n" +
			"receipt,P-1,S-2,,A-1,1\n" +
			"transfer,P-1,S-2,A-1,A-2,1\n" +
			"receipt,P-1,S-2,,A-1,1\n" +
			"receipt,P-2,S-2,,A-1,1\n" // of another item
		for _, whole := range []int64{20_000, 1} {
			k.rebuild(func(o *imports.Options) { o.Whole, o.Together = whole, 1 })
			before := k.units()
			job, p, a := k.imported("stock_movements", "", "", "n.csv", []byte(file))
			if diff := cmp.Diff([]string{"2 serial in_stock: serial number S-1 is in stock already, in A-1: move it from there",
				"5 serial duplicate: line 4 brings the same serial number in already",
				"8 serial duplicate: line 6 brings the same serial number in already"}, messages(p.Errors)); diff != "" ||
				a.ImportedCount != 5 {
				k.Errorf("%s %+v", diff, a)
			}
			if diff := cmp.Diff([]string{"R-1 A-3 1", "S-1 A-2 1", "S-2 A-1 1", "S-2 A-2 1"}, k.units()); diff != "" {
				k.Error(diff)
			}
			if _, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil {
				k.Fatal(err)
			}
			if diff := cmp.Diff(before, k.units()); diff != "" {
				k.Error(diff)
			}
		}
	})
}

// A correction is judged beside what the rest of the file says.
func TestCorrectedSerialNumbers(t *testing.T) {
	each(t, func(k *kit) {
		serialStock(k)
		job := k.upload("stock_levels", "", "", "c.csv", []byte("sku,zone,serial,quantity\nP-1,A-2,S-1,1\nP-1,A-9,S-1,0\n"))
		if diff := cmp.Diff([]string{"2 serial in_stock", "3 zone unknown_zone"}, where(k.process(job).Errors)); diff != "" {
			k.Fatal(diff)
		}
		row, err := k.m.EditRow(context.Background(), k.as, job.ID, 2, imports.Edit{Cells: map[string]string{"zone": "A-1"}})
		if err != nil || row.Status != "valid" {
			k.Fatalf("%+v %v", row, err)
		}
		if a := k.apply(job); a.ImportedCount != 2 {
			k.Errorf("%+v", a)
		}
		if diff := cmp.Diff([]string{"R-1 A-3 1", "S-1 A-2 1"}, k.units()); diff != "" {
			k.Error(diff)
		}
	})
}

// What a file took out and came back since is a conflict of the rollback, which
// a partial one spares.
func TestRollbackOfSerialNumbers(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		serialStock(k)
		job, _, _ := k.imported("stock_movements", "", "", "n.csv",
			[]byte("type,sku,serial,from zone,to zone,quantity\nship,P-1,S-1,A-1,,1\nreceipt,P-2,,,A-2,4\n"))
		k.imported("stock_movements", "", "", "o.csv", []byte("type,sku,serial,to zone,quantity\nreturn_in,P-1,S-1,A-3,1\n"))
		_, err := k.m.Rollback(ctx, k.as, job.ID)
		list := imports.Conflicts(err)
		if len(list) != 1 || list[0].Label != "P-1 S-1" || !strings.Contains(list[0].Reason, "is in A-3 again") {
			k.Fatalf("%v %+v", err, list)
		}
		if res, err := k.m.RollbackRest(ctx, k.as, job.ID); err != nil || res.RolledBack != 1 {
			k.Errorf("%+v %v", res, err)
		}
		if diff := cmp.Diff([]string{"R-1 A-3 1", "S-1 A-3 1"}, k.units()); diff != "" {
			k.Error(diff)
		}
	})
}
