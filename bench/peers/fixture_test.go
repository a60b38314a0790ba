package peers

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/bench/data"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// What the function counts by itself is what Holdfast's counters say.
func TestCounted(t *testing.T) {
	ctx := context.Background()
	url := pgtest.DSN(t)
	d, err := db.Open(ctx, db.Options{URL: url, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tenant := data.Standard(1, 0.02)
	if err := data.Write(ctx, data.Target{DB: d}, tenant, time.Now()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	got := map[string]int64{}
	rows, err := conn.Query(ctx, counted(), tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		got[name] = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pick_lists:released", "shipments:planned", "drivers:available", "zones:active", "import_jobs:completed"} {
		var kept int64
		if err := conn.QueryRow(ctx, "SELECT CAST(SUM(delta) AS bigint) FROM counters WHERE tenant_id = $1 AND name = $2", tenant.ID, want).Scan(&kept); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got[want] != kept || kept == 0 {
			t.Errorf("%s: %d counted, %d kept", want, got[want], kept)
		}
	}
}
