package store_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/store"
)

// The log keeps of a new record what was said of it and what the server chose, and not
// what the entry says itself or every record begins with.
func TestLoggedNewRecord(t *testing.T) {
	long := "2020-03-01T10:00:00.000000Z"
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		for _, c := range []struct {
			name, logged string
			row          store.Row
		}{
			{"by the caller", "name sku", store.Row{"sku": "A", "name": "A"}},
			{"of an earlier day", "created_at name sku", store.Row{"sku": "B", "name": "B", "created_at": long}},
			{"for somebody else", "created_by name sku", store.Row{"sku": "C", "name": "C", "created_by": id(77)}},
		} {
			var made string
			err := k.s.Write(context.Background(), m, func(tx *store.Tx) error {
				rows, err := tx.InsertRows("items", []store.Row{c.row})
				if err == nil {
					made = rows[0]["id"].(string)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			after := strings.TrimSuffix(strings.TrimPrefix(
				k.get(as(north, actor.Admin), "audit?select=after&entity_id=eq."+made), `[{"after":`), `}]`)
			var logged map[string]any
			if err := json.Unmarshal([]byte(after), &logged); err != nil {
				t.Fatal(after, err)
			}
			given := slices.DeleteFunc(slices.Sorted(maps.Keys(logged)), func(field string) bool {
				return field != "created_at" && field != "created_by" && c.row[field] == nil
			})
			if got := strings.Join(given, " "); got != c.logged {
				t.Errorf("%s: %s is logged, want %s: %s", c.name, got, c.logged, after)
			}
			for _, field := range []string{"id", "tenant_id", "version", "on_hand"} {
				if logged[field] != nil {
					t.Errorf("%s: %s is logged: %s", c.name, field, after)
				}
			}
			if logged["status"] == nil {
				t.Errorf("%s: the status that the server chose is not logged: %s", c.name, after)
			}
		}
	})
}
