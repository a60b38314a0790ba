package data

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/warehouse/verify"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A generated tenant's counters and sums agree with its rows. Levels have no
// movements behind them: only those differ.
func TestCountersAgreeWithRows(t *testing.T) {
	for name, o := range map[string]db.Options{"sqlite": {Dir: t.TempDir(), Migrate: true}, "postgresql": {URL: pgtest.DSN(t), Migrate: true}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d, err := db.Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			tn := Standard(3, 0.01)
			tn.Actions, tn.Checks, tn.Days = 40, 60, 365
			to := Target{DB: d}
			if o.URL != "" {
				if to.Owner, err = pgx.Connect(ctx, o.URL); err != nil {
					t.Fatal(err)
				}
				defer to.Owner.Close(ctx)
			}
			if err := Write(ctx, to, tn, time.Now()); err != nil {
				t.Fatal(err)
			}
			err = d.Read(ctx, db.Scope{Tenant: tn.ID}, func(tx *db.Tx) error {
				diff, err := verify.RecountTotals(tx, catalog.Default(), tn.ID)
				for _, x := range diff {
					if strings.HasPrefix(x.What, "counter ") || strings.HasPrefix(x.What, "item ") || strings.HasPrefix(x.What, "order ") {
						t.Error(x)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
