package handling

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"holdfast/internal/decimal"
)

// splitCase is a quantity and what it is by units. The console splits what a person types by
// the same table (test/console/handling.mjs).
type splitCase struct {
	Name     string
	Base     string
	Units    map[string]decimal.Dec
	Quantity decimal.Dec
	Parts    [][3]any
}

// A quantity is said by units, the largest first, and the sum of the parts is the quantity.
func TestSplit(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []splitCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		a := &article{base: c.Base}
		for code, factor := range c.Units {
			a.units = append(a.units, unit{code: code, factor: factor})
		}
		u := &Units{articles: map[string]*article{"item": a}, kinds: map[string]string{"kgm": "mass"}}
		u.settleUnits()

		got := [][3]any{}
		var sum decimal.Dec
		for _, p := range u.SplitQuantity("item", c.Quantity) {
			got = append(got, [3]any{p.Unit, p.Qty.Float(), p.Factor.Float()})
			part, isExact := p.Qty.MulExact(p.Factor)
			if !isExact {
				t.Errorf("%s: %v is not exact", c.Name, p)
			}
			sum += part
		}
		if !reflect.DeepEqual(got, c.Parts) {
			t.Errorf("%s: %v, want %v", c.Name, got, c.Parts)
		}
		if len(got) > 0 && sum != c.Quantity {
			t.Errorf("%s: the parts sum to %s, want %s", c.Name, sum, c.Quantity)
		}
	}
}
