package db_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"holdfast/internal/db"
)

var workerColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"},
	{Name: "employee_no", Type: "text"},
	{Name: "name", Type: "text"}, {Name: "employment", Type: "text"}, {Name: "supervised", Type: "boolean"},
	{Name: "status", Type: "text"}, {Name: "user_id", Type: "uuid"}, {Name: "birth_year", Type: "bigint"},
	{Name: "created_at", Type: "timestamptz"},
	{Name: "updated_at", Type: "timestamptz"}, {Name: "version", Type: "bigint"}}

// person sets the columns of one row.
func person(r *db.Rows, tenant, id uuid.UUID, number string, year int64, at time.Time) error {
	r.UUID(tenant)
	r.Text(id.String())
	r.Text(number)
	r.Text("Ada")
	r.Text("employee")
	r.Bool(false)
	r.Text("active")
	r.Null()
	if year < 0 {
		r.Null()
	} else {
		r.Int(year)
	}
	r.Time(at)
	r.Text("2026-03-29T01:02:03.456789Z")
	r.Int(1)
	return r.End()
}

// One row, two rows, and more than a statement holds: each arrives once and as it
// was set, whether all rows share a value, none or only the first ones do.
func TestRows(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 2, 3, 456789000, time.UTC)
	for _, n := range []int{1, 2, 2499, 2500, 2501, 5000} {
		each(t, func(t *testing.T, d *db.DB) {
			tenant := uuid.New()
			ctx, scope := context.Background(), db.Scope{Tenant: tenant.String()}
			var want, got []string
			err := d.Write(ctx, scope, func(tx *db.Tx) error {
				want = nil
				rows := tx.InsertMany("workers", workerColumns, "")
				for i := range n {
					year := int64(7)
					if i > n/2 {
						year = int64(i%3) - 1 // -1 = null
					}
					if err := person(rows, tenant, uuid.New(), fmt.Sprintf("Z%05d", i), year,
						at.Add(time.Duration(i/2)*time.Second)); err != nil {
						return err
					}
					want = append(want, fmt.Sprintf("Z%05d %d %v %s", i, max(year, 0), year < 0,
						at.Add(time.Duration(i/2)*time.Second).Format(db.TimeLayout)))
				}
				rows.Queue()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = d.Read(ctx, scope, func(tx *db.Tx) error {
				return tx.Query("SELECT employee_no, birth_year, created_at, updated_at, tenant_id FROM workers WHERE tenant_id = $1 ORDER BY employee_no",
					[]any{tenant.String()}, func(r *db.Row) error {
						got = append(got, fmt.Sprintf("%s %d %v %s", r.Text(0), r.Int(1), r.Null(1), r.Text(2)))
						if !r.Time(3).Equal(at) || r.UUID(4) != tenant {
							t.Errorf("%s: %v, tenant %v", r.Text(0), r.Time(3), r.UUID(4))
						}
						return nil
					})
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A row that meets another one follows the ON CONFLICT clause.
func TestRows_conflict(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		tenant, id, at := uuid.New(), uuid.New(), time.Now()
		ctx, scope := context.Background(), db.Scope{Tenant: tenant.String()}
		for _, year := range []int64{1, 2} {
			err := d.Write(ctx, scope, func(tx *db.Tx) error {
				rows := tx.InsertMany("workers", workerColumns,
					"ON CONFLICT (tenant_id, id) DO UPDATE SET birth_year = excluded.birth_year")
				if err := person(rows, tenant, id, "A", year, at); err != nil {
					return err
				}
				return rows.Send()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var got []int64
		err := d.Read(ctx, scope, func(tx *db.Tx) error {
			return tx.Query("SELECT birth_year FROM workers WHERE tenant_id = $1", []any{tenant.String()},
				func(r *db.Row) error {
					got = append(got, r.Int(0))
					return nil
				})
		})
		if diff := cmp.Diff([]int64{2}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// What a column cannot take is refused by the column's name, before anything is
// sent.
func TestRows_refuse(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		for name, row := range map[string][]any{
			"a column is missing": {"A"},
			"one too many":        {"A", 1.5, 2},
			"no number":           {"A", math.NaN()},
			"infinity":            {"A", math.Inf(1)},
			"no value":            {"A", struct{}{}},
		} {
			err := d.Write(context.Background(), db.Scope{Tenant: uuid.NewString()}, func(tx *db.Tx) error {
				return tx.InsertMany("anything", []db.Column{{Name: "name", Type: "text"},
					{Name: "share", Type: "double precision"}}, "").Add(row...)
			})
			if err == nil {
				t.Errorf("%s: taken", name)
			} else if !strings.HasPrefix(err.Error(), "db: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
