package warehouse_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// A column that is a GLN or a GTIN holds one with its check digit, or nothing:
// a party's, a site's, an item's.
func TestGS1Keys(t *testing.T) {
	bad := map[catalog.Format][]string{
		catalog.GLN:  {"9506000134353", "950600013435", "09506000134352", "950600013435X", "urn:9506000134352"},
		catalog.GTIN: {"4006381333932", "400638133393", "40063813339310", "400638133393X"},
	}
	const nobody = "00000000-0000-7000-8000-000000000000"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var checked []string
		for _, r := range catalog.Default().All() {
			for _, f := range r.Fields {
				if bad[f.Format] == nil || f.Made() == catalog.ByServer {
					continue
				}
				if _, may := catalog.Find(r.Access.Update, actor.Admin); !may {
					t.Fatalf("%s.%s is a key that no administrator sets: say here how it is", r.Name, f.Name)
				}
				checked = append(checked, r.Name+"."+f.Name)
				for _, v := range bad[f.Format] {
					got := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + r.Name + "?id=neq." + nobody,
						As:   testkit.As(actor.Admin),
						Body: map[string]any{f.Name: v}})
					if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), f.Name) {
						t.Errorf("%s.%s = %s: %d %s", r.Name, f.Name, v, got.Status, got.Body)
					}
				}
			}
		}
		for _, known := range []string{"orders.party_gln", "sites.gln", "items.gtin", "item_uoms.gtin"} {
			if !slices.Contains(checked, known) {
				t.Errorf("%s is no key with a check digit", known)
			}
		}
	})
}
