package imports_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/store"
)

// A file says what unit a price is of, in words or as a code; one that is none of the
// item's is an error of its row alone.
func TestPricesOfUnits(t *testing.T) {
	each(t, func(k *kit) {
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		k.add("items", store.Row{"sku": "B", "name": "B"})
		k.add("item_uoms", store.Row{"item_id": item, "uom": "CS", "factor": "12"})
		_, p, _ := k.imported("orders", `{"decimal_mark":","}`, "", "o.csv",
			[]byte("Auftragsnummer;Artikelnummer;Menge;Einzelpreis;Preis je\n"+
				"A-1;A;30;21,20;CS\nA-1;B;3;1,50;Stk\nA-2;B;12;21,20;CS\nA-3;A;2;1,50;\n"))
		if diff := cmp.Diff([]string{"4 Preis je rule"}, where(p.Errors)); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		if diff := cmp.Diff([]string{"30 21.2 CS 12 53", "3 1.5 EA 1 4.5", "2 1.5 <nil> 1 3"},
			k.fieldsOf("order_lines", "qty_ordered", "unit_price", "price_uom", "price_qty", "amount")); diff != "" {
			k.Error(diff)
		}
		if diff := cmp.Diff([]string{"57.5", "3"}, k.fieldsOf("orders", "total_value")); diff != "" {
			k.Error(diff)
		}
	})
}
