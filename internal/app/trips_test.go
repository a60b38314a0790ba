package app_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/pgtest"
)

// A new record of a tenant at work is one round trip to PostgreSQL, whatever the server
// says of it: its number comes from a block, and what rules go by is recalled.
func TestNewRecordsAreOneTrip(t *testing.T) {
	var tap *pgtest.Tap
	k := testkit.New(t, db.PostgreSQL, func(c *config.Config) {
		tap, c.DatabaseURL = pgtest.Through(t, c.DatabaseURL)
	})
	manager := testkit.As(actor.Manager)
	item := k.Insert(t, manager, "items", map[string]any{"sku": "T", "name": "Item"})
	for collection, row := range map[string]map[string]any{
		"zones":     {"code": "{n}", "name": "Zone"},
		"items":     {"sku": "{n}", "name": "Item"},
		"lots":      {"lot_no": "{n}", "item_id": item},
		"orders":    {"type": "outbound"},
		"shipments": {},
		"workers":   {"employee_no": "{n}", "name": "Worker"},
		"equipment": {"asset_no": "{n}", "kind": "forklift"},
		"incidents": {"title": "T", "kind": "near_miss", "severity": "low",
			"occurred_at": time.Now().Add(-time.Hour)},
		"actions": {"title": "Action"},
	} {
		t.Run(collection, func(t *testing.T) {
			if n := fewestTrips(t, k, tap, collection, row); n != 1 {
				t.Errorf("%d round trips", n)
			}
		})
	}
}

// fewestTrips makes records until one of them took no more than one round trip: what else
// the server does meanwhile is counted too.
func fewestTrips(
	t *testing.T, k *testkit.Kit, tap *pgtest.Tap, collection string, row map[string]any,
) (fewest int64) {
	t.Helper()
	const most = 40
	for i := range most {
		body := map[string]any{}
		for field, value := range row {
			if body[field] = value; value == "{n}" {
				body[field] = fmt.Sprint("T-", i)
			}
		}
		tap.Reset()
		r := k.Post(testkit.As(actor.Manager), "/rest/v1/"+collection, body)
		if r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if n := tap.Trips.Load(); i == 0 || n < fewest {
			fewest = n
		}
		if fewest == 1 {
			break
		}
	}
	return fewest
}
