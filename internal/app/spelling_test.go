package app_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// spellings are names and codes as programs send them, with an accent apart, a zero
// width space, a byte order mark or a soft hyphen in them, or with white space around
// them, and their one spelling.
var spellings = []struct{ sent, kept string }{
	{"Cafe\u0301\u200B X", "Caf\u00E9 X"},
	{"\uFEFFA\u00ADB-1\u2060", "AB-1"},
	{"  AB-2\t", "AB-2"},
	{"\u00A0Zoe\u0308-3 \u200B", "Zo\u00EB-3"},
	{"\u200Bcafe\u0301@north.example", "caf\u00E9@north.example"},
}

// A name or code is refused, or kept in its one spelling, in every field of every
// collection that takes one, whichever spelling was sent.
func TestNamesAndCodesHaveOneSpelling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		kept := 0
		for _, r := range catalog.Default().All() {
			var rows []struct{ ID string }
			path := "/v1/" + r.Name + "?select=id&order=id.desc&limit=1"
			if got := k.Get(testkit.As(actor.Owner), path); got.Status == 200 {
				got.JSON(t, &rows)
			}
			for _, f := range r.Fields {
				texts := f.Type == catalog.Text || f.Type == catalog.Array
				if len(rows) == 0 || f.ReadOnly || !texts || f.Format == catalog.Plain || len(f.OneOf) > 0 {
					continue
				}
				for _, s := range spellings {
					sent, want := any(s.sent), any(s.kept)
					if f.Type == catalog.Array {
						sent, want = []any{s.sent}, []any{s.kept}
					}
					kept += keptSpelling(t, k, r.Name+"?id=eq."+rows[0].ID, f.Name, sent, want)
				}
			}
		}
		if kept < 60 {
			t.Errorf("%d names and codes were taken", kept)
		}
	})
}

// keptSpelling sets a field and counts what was taken: 1, or 0 where it was refused.
func keptSpelling(t *testing.T, k *testkit.Kit, row, field string, sent, want any) int {
	t.Helper()
	r := k.Call(testkit.Request{
		Method: "PATCH",
		Path:   "/v1/" + row + "&select=" + field,
		As:     testkit.As(actor.Owner),
		Body:   map[string]any{field: sent},
		Header: map[string]string{"Prefer": "return=representation"},
	})
	if r.Status >= 400 && r.Status < 500 {
		return 0
	}
	var got []map[string]any
	if r.Status != 200 || json.Unmarshal(r.Body, &got) != nil {
		t.Errorf("%s: %s = %q: %d %.200s", row, field, sent, r.Status, r.Body)
		return 0
	}
	if len(got) == 0 {
		return 0 // not the caller's to change
	}
	have, _ := json.Marshal(got[0][field])
	if text, _ := json.Marshal(want); string(have) != string(text) {
		t.Errorf("%s: %s = %q is read as %s", row, field, sent, have)
	}
	return 1
}

// A record is found by its name or code in any spelling: by a filter, by the key of an
// upsert, by a scan, and by a barcode beside its own.
func TestRecordsAreFoundInAnySpelling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner := testkit.As(actor.Owner)
		apart, hidden := "Ge\u0300ne\u0300ve", "SUP-\u200B1"
		id := k.Insert(t, owner, "items", map[string]any{
			"sku": apart, "name": "Lamp", "barcodes": []any{map[string]any{"value": hidden, "type": "supplier"}},
		})
		for _, filter := range []string{"sku=eq." + apart, "sku=in.(x," + apart + ")", "sku=eq.G\u00E8n\u00E8ve\uFEFF",
			"sku=eq. " + apart + " "} {
			name, value, _ := strings.Cut(filter, "=")
			if got := first(t, k, "/v1/items?select=id&"+name+"="+url.QueryEscape(value), "id"); got != id {
				t.Errorf("%q finds %q", filter, got)
			}
		}
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/items?on_conflict=sku&select=id", As: owner,
			Body:   map[string]any{"sku": "G\u00E8n\u00E8ve", "name": "Lamp 2"},
			Header: map[string]string{"Prefer": "return=representation,resolution=merge-duplicates"}})
		var rows []struct{ ID string }
		if r.JSON(t, &rows); len(rows) != 1 || rows[0].ID != id {
			t.Errorf("the upsert wrote %s", r.Body)
		}
		for _, code := range []string{apart, "SUP-1", "SUP-1\u2060", " SUP-1\r\n"} {
			var out struct {
				Kind   string
				Record struct{ ID string }
			}
			if k.Say(t, owner, "scan", map[string]any{"code": code}, 200, &out); out.Kind != "item" {
				t.Errorf("%q is %+v", code, out)
			}
		}
	})
}
