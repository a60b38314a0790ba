package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// The key of the whole server, which is of no tenant, changes a record of any collection as
// its tenant's own members do: no consequence of the change looks for the tenant in the key.
func TestServiceKeyChangesRecords(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		changed := 0
		for _, r := range catalog.Default().All() {
			if r.AppendOnly || r.Bare || r.Queue {
				continue
			}
			for i := range r.Fields {
				if f := &r.Fields[i]; !f.ReadOnly && !f.Fixed && f.Name != "id" && f.Name != "tenant_id" {
					changed += patchAsItIs(t, k, r, f)
				}
			}
		}
		if changed < 200 {
			t.Errorf("%d fields were changed", changed)
		}
	})
}

// patchAsItIs says of the newest record of North what a field says already, or says nothing
// where it is empty, and returns 1 where a record was changed.
func patchAsItIs(t *testing.T, k *testkit.Kit, r *catalog.Resource, f *catalog.Field) int {
	t.Helper()
	tenant := "&tenant_id=eq." + demo.North
	if r.Root {
		tenant = "&id=eq." + demo.North
	}
	ask := func(method, path string, body any) testkit.Response {
		return k.Call(testkit.Request{Method: method, Path: "/v1/" + r.Name + path, Bearer: k.Service(), Body: body})
	}
	var rows []map[string]json.RawMessage
	read := ask("GET", "?select=id,"+f.Name+"&limit=1&order=id.desc"+tenant, nil)
	if err := json.Unmarshal(read.Body, &rows); err != nil || len(rows) == 0 {
		return 0
	}
	id := strings.Trim(string(rows[0]["id"]), `"`)
	set := ask("PATCH", "?id=eq."+id, map[string]any{f.Name: rows[0][f.Name]})
	if set.Status >= http.StatusInternalServerError || strings.Contains(string(set.Body), "22P02") {
		t.Errorf("%s.%s: %d %s", r.Name, f.Name, set.Status, set.Body)
	}
	if set.Status/100 == 2 {
		return 1
	}
	return 0
}
