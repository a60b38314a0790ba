package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
)

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// numbered puts numbers in the order of appearance for the ids of an answer,
// which are others in each run.
func numbered(b []byte) []byte {
	seen := map[string]int{}
	return anyID.ReplaceAllFunc(b, func(id []byte) []byte {
		if _, ok := seen[string(id)]; !ok {
			seen[string(id)] = len(seen) + 1
		}
		return fmt.Appendf(nil, "id-%d", seen[string(id)])
	})
}

// The answers of reading functions over the small warehouse are those of the
// golden files, member by member and on both engines alike.
// HOLDFAST_WRITE_GOLDEN=1 writes them anew.
func TestGoldenAnswers(t *testing.T) {
	cases := []struct {
		file, function, params string
		role                   actor.Role
	}{
		{"snapshot", "get-dashboard-snapshot-v2", "pageSize=2", actor.Manager},
		{"snapshot_operator", "get-dashboard-snapshot-v2", "", actor.Operator},
		{"snapshot_light", "get-dashboard-snapshot-v2", "lightweight=true", actor.Viewer},
		{"summary", "admin-dashboard-summary", "", actor.Owner},
		{"overview", "site-overview", "", actor.Viewer},
		{"kpis", "safety-kpis", "detail=true", actor.Safety},
		{"rates", "safety-rates", "year=2026", actor.Safety},
		{"plan", "inventory-plan", "abc=true", actor.Manager},
		{"warehouse_kpis", "warehouse-kpis", "", actor.Manager},
		{"engagement", "safety-engagement", "", actor.Owner},
		{"training", "auto-assign-training", "", actor.Safety},
	}
	each(t, func(k *kit) {
		fill(k)
		for _, c := range cases {
			k.as = actor.Actor{UserID: bo, TenantID: north, Role: c.role}
			var got bytes.Buffer
			if err := json.Indent(&got, numbered(k.bytes(c.function, c.params)), "", "  "); err != nil {
				k.Fatal(err)
			}
			golden(k, c.file, got.Bytes())
		}
	})
}

func golden(t testing.TB, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".json")
	if os.Getenv("HOLDFAST_WRITE_GOLDEN") != "" {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)+"\n"); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}
