package app_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// awkward are numbers that programs round, wrap or lose the sign of.
var awkward = []string{"1e999", "1e2147483648", "-0", "0.1", "0.30000000000000004", "12345.67891", "9007199254740993",
	"1234567890123456789012345", "1E2"}

// derived are the fields that the server writes itself where it can: here of runs
// that have a template.
var derived = map[string]bool{"checklist_runs.score": true}

// A number is refused, or read back as it was sent, in every field of every
// collection that takes one.
func TestNumbersAreKept(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as, tried, kept := testkit.As(actor.Owner), 0, 0
		for _, r := range catalog.Default().All() {
			var rows []struct{ ID string }
			if got := k.Get(as, "/v1/"+r.Name+"?select=id&order=id.desc&limit=1"); got.Status == 200 {
				got.JSON(t, &rows)
			}
			for _, f := range r.Fields {
				if len(rows) == 0 || f.ReadOnly || derived[r.Name+"."+f.Name] || f.Type != catalog.Int &&
					f.Type != catalog.Decimal && f.Type != catalog.Float {
					continue
				}
				tried++
				for _, n := range awkward {
					kept += keptNumber(t, k, r.Name+"?id=eq."+rows[0].ID, f.Name, n)
				}
			}
		}
		t.Logf("%d fields, %d numbers were taken", tried, kept)
		if tried < 60 || kept < 60 {
			t.Errorf("%d fields were tried, %d numbers taken", tried, kept)
		}
	})
}

// keptNumber sets a field and counts what was taken: 1, or 0 where it was refused.
func keptNumber(t *testing.T, k *testkit.Kit, row, field, n string) int {
	t.Helper()
	r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + row + "&select=" + field, As: testkit.As(actor.Owner),
		Body:   []byte(fmt.Sprintf(`{%q: %s}`, field, n)),
		Header: map[string]string{"Prefer": "return=representation"}})
	if r.Status >= 400 && r.Status < 500 {
		return 0
	}
	var got []map[string]json.RawMessage
	if r.Status != 200 || json.Unmarshal(r.Body, &got) != nil {
		t.Errorf("%s: %s = %s: %d %.200s", row, field, n, r.Status, r.Body)
		return 0
	}
	if len(got) == 0 {
		return 0 // not the caller's to change
	}
	want, ok := new(big.Rat).SetString(n)
	have, read := new(big.Rat).SetString(strings.Trim(string(got[0][field]), `"`))
	if !ok || !read || want.Cmp(have) != 0 {
		t.Errorf("%s: %s = %s is read as %s", row, field, n, got[0][field])
	}
	return 1
}
