package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Each list of each collection refuses elements that can be none: an empty
// text, and a list or an object that was encoded twice.
func TestListsRefuseWhatIsNoElement(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, r := range catalog.Default().All() {
			for i := range r.Fields {
				f := &r.Fields[i]
				if f.Type != catalog.Array || f.ReadOnly {
					continue
				}
				for _, body := range []string{`["[]"]`, `["[\"*\"]"]`, `["{\"a\": 1}"]`, `[""]`, `[" "]`} {
					a := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + r.Name + "?id=eq." + demo.North, Bearer: k.Service(),
						Body: `{"` + f.Name + `":` + body + `}`})
					if a.Status != 400 || !strings.Contains(string(a.Body), f.Name) {
						t.Errorf("%s: %s = %s: %d %s, want 400 that names the field", r.Name, f.Name, body, a.Status, a.Body)
					}
				}
			}
		}
	})
}
