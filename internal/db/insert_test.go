package db_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// Every value arrives as it was sent, whatever is in it, also past the rows of
// one statement.
func TestInsert(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		tenant, at := uuid.NewString(), time.Date(2026, 3, 29, 1, 2, 3, 456789000, time.UTC)
		var cols []db.Column
		for _, c := range [][2]string{{"tenant_id", "uuid"}, {"id", "uuid"}, {"sku", "text"}, {"name", "text"},
			{"description", "text"},
			{"base_uom", "text"}, {"barcodes", "text"},
			{"tracking", "text"}, {"storage_class", "text"}, {"status", "text"}, {"has_expiry", "boolean"},
			{"low_stock", "boolean"}, {"unit_cost",
				"bigint"}, {"price", "bigint"},
			{"capacity_units", "bigint"}, {"reorder_point", "bigint"}, {"on_hand", "bigint"}, {"available", "bigint"},
			{"stock_value", "bigint"},
			{"created_at", "timestamptz"}, {"updated_at", "timestamptz"}, {"version", "bigint"}} {
			cols = append(cols, db.Column{Name: c[0], Type: c[1]})
		}
		texts := []any{"", " ", "NULL", "null", `"`, `\`, `\\"`, "a,b", "{}", "{a,b}", "a\nb\tc", "'; drop table zones; --",
			"ü€😀", "$1", nil}
		prices := []any{decimal.Dec(math.MaxInt64), decimal.Dec(math.MinInt64), int64(0), 7, nil}
		var rows [][]any
		var want []string
		for i := range 2100 {
			text, price := texts[i%len(texts)], prices[i%len(prices)]
			rows = append(rows, []any{tenant, uuid.NewString(), fmt.Sprintf("%05d", i), "n", text, "EA", "[]", "none",
				"ambient", "active", i%2 == 0, false,
				decimal.One, price,
				decimal.One, decimal.Dec(0), decimal.Dec(0), decimal.Dec(0), decimal.Dec(0), at, at.Format(db.TimeLayout), 1})
			want = append(want, fmt.Sprintf("%05d %v %v %v", i, text, plain(price), i%2 == 0))
		}
		ctx, scope := context.Background(), db.Scope{Tenant: tenant}
		if err := d.Write(ctx, scope, func(tx *db.Tx) error { return tx.Insert("items", cols, rows) }); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := d.Read(ctx, scope, func(tx *db.Tx) error {
			return tx.Query("SELECT sku, description, price, has_expiry, created_at, updated_at FROM items WHERE tenant_id = $1 ORDER BY sku", []any{tenant},
				func(r *db.Row) error {
					var text, price any
					if !r.Null(1) {
						text = r.Text(1)
					}
					if !r.Null(2) {
						price = r.Int(2)
					}
					if !r.Time(4).Equal(at) || !r.Time(5).Equal(at) {
						t.Errorf("%s: %v %v", r.Text(0), r.Time(4), r.Time(5))
					}
					got = append(got, fmt.Sprintf("%s %v %v %v", r.Text(0), text, price, r.Bool(3)))
					return nil
				})
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := d.Write(ctx, scope, func(tx *db.Tx) error {
			return tx.Insert("items", cols[:2],
				[][]any{{tenant, struct{}{}}})
		}); err == nil {
			t.Error("took a value that is none")
		}
	})
}

// plain is a number as the database gives it back.
func plain(v any) any {
	if d, ok := v.(decimal.Dec); ok {
		return int64(d)
	}
	return v
}
