package store_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
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

// A zero that somebody has found is no beginning: the log says it, masked where the record
// shows it to some alone.
func TestLoggedFindings(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		err := k.s.Write(context.Background(), as(north, actor.Manager), func(tx *store.Tx) error {
			zones, err := tx.InsertRows("zones", []store.Row{{"code": "Z", "name": "Z"}})
			if err != nil {
				return err
			}
			items, err := tx.InsertRows("items", []store.Row{{"sku": "A", "name": "A"}})
			if err != nil {
				return err
			}
			_, err = tx.InsertRows("stock_counts", []store.Row{{
				"zone_id": zones[0]["id"], "item_id": items[0]["id"], "counted_at": "2026-03-01T10:00:00Z",
				"counted": "1", "expected": "0", "variance": "1", "exact": false,
			}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		k.want(k.get(as(north, actor.Admin),
			"audit?select=after->exact,after->expected&entity_type=eq.stock_counts"),
			`[{"exact":false,"expected":"`+catalog.Masked+`"}]`)
	})
}
