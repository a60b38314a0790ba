package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/testkit/dbtest"
)

// roundDecimal is the product's catalog, made once.
var roundDecimal = catalog.Default()

// plan is how the engine would run the list that a query string asks for.
func plan(t *testing.T, d *db.DB, r *catalog.Resource, text string, settings ...string) string {
	t.Helper()
	req, err := query.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	a := actor.Actor{UserID: north, TenantID: north, Role: actor.Service}
	q, err := query.BindSelect(roundDecimal, a, r, req)
	if err != nil {
		t.Fatal(err)
	}
	st, err := q.Rows(d)
	if err != nil {
		t.Fatal(err)
	}
	explain := "EXPLAIN "
	if d.Engine() != db.PostgreSQL {
		explain = "EXPLAIN QUERY PLAN "
	}
	var lines []string
	err = d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		for _, s := range settings {
			tx.Queue(s, nil, nil)
		}
		return tx.Query(explain+st.SQL, st.Args, func(row *db.Row) error {
			lines = append(lines, row.Text(row.Len()-1))
			return nil
		})
	})
	if err != nil {
		t.Fatalf("%s %s: %v", r.Name, st.SQL, err)
	}
	return strings.Join(lines, "\n")
}

// dear finds in a plan of either engine what grows with the tenant: a sort, or
// rows read without an index.
func dear(plan string) string {
	for _, word := range []string{"TEMP B-TREE", "SCAN ", "Sort", "Seq Scan", "Bitmap"} {
		if strings.Contains(plan, word) {
			return word
		}
	}
	return ""
}

// Every order that the catalog names rides an index, both ways, for all records
// and for those in one state: whatever the collection holds, its pages need no
// sort.
func TestOrdersRideAnIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		var settings []string
		if d.Engine() == db.PostgreSQL { // of an empty table anything is cheap to read as it lies
			settings = []string{"SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off",
				"SET LOCAL enable_sort = off"}
		}
		for _, r := range roundDecimal.All() {
			for _, column := range append(r.Orders(), "id") {
				for _, text := range listings(r, column) {
					if p := plan(t, d, r, text, settings...); dear(p) != "" {
						t.Errorf("%s?%s: %s in\n%s", r.Name, text, dear(p), p)
					}
				}
			}
			for _, f := range r.Fields {
				if f.Type == catalog.JSON || f.Type == catalog.Array {
					continue
				}
				for _, text := range listings(r, f.Name) {
					if sorted(t, d, r, text) != "" {
						continue
					}
					if p := plan(t, d, r, text, settings...); dear(p) != "" {
						t.Errorf("%s?%s is said to ride an index: %s in\n%s", r.Name, text, dear(p), p)
					}
				}
			}
		}
	})
}

// sorted is what the statement says of the order that a query string asks for,
// on any engine.
func sorted(t *testing.T, d *db.DB, r *catalog.Resource, text string) string {
	t.Helper()
	req, err := query.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.BindSelect(roundDecimal, actor.Actor{UserID: north, TenantID: north, Role: actor.Service}, r, req)
	if err != nil {
		t.Fatal(err)
	}
	st, err := q.Rows(d)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sorted
}

// What an answer says of its order: nothing where an index keeps it or one row
// is asked for, else the columns.
func TestSorted(t *testing.T) {
	r, _ := roundDecimal.Get("orders")
	d := dbtest.Open(t, db.Options{Dir: t.TempDir(), Migrate: true})
	for _, c := range []struct{ query, want string }{
		{"limit=5", ""},
		{"order=created_at.desc", ""},
		{"order=updated_at.desc", ""},
		{"order=promised_at", ""},
		{"order=promised_at.desc", ""},
		{"order=promised_at.nullsfirst", "promised_at"},
		{"order=order_no.desc", ""},
		{"order=order_no,priority.desc", "order_no,priority"},
		{"order=order_no,priority", ""},
		{"order=id.desc", ""},
		{"status=eq.draft&order=promised_at", ""},
		{"status=eq.draft&order=status,promised_at", ""},
		{"order=priority", "priority"},
		{"order=created_at,priority", "created_at,priority"},
		{"order=ship_to->>city", "ship_to"},
		{"order_no=eq.SO-1&order=priority", ""},
		{"id=eq.00000000-0000-0000-0000-000000000001&order=priority", ""},
	} {
		if got := sorted(t, d, r, c.query); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
}

// listings are the query strings that ask for a page in the order of a column.
func listings(r *catalog.Resource, column string) []string {
	if column == "id" && (r.Queue || r.Root || r.Bare) {
		return nil
	}
	out := []string{"order=" + column + ".desc&limit=50", "order=" + column + "&limit=50"}
	if r.States != nil && column != "id" {
		f, _ := r.Field(r.States.Field)
		out = append(out, fmt.Sprintf("%s=eq.%s&order=%s.desc&limit=50", f.Name, f.OneOf[0], column))
	}
	return out
}

// manyOrders writes orders past the store, one second after the other, nine of
// ten confirmed.
func manyOrders(tx *db.Tx, n int) error {
	var columns []db.Column
	for _, c := range []string{"tenant_id uuid", "id uuid", "order_no text", "type text", "status text",
		"priority bigint", "tags text", "line_count bigint",
		"qty_ordered bigint", "qty_allocated bigint", "qty_picked bigint", "qty_packed bigint", "qty_shipped bigint",
		"qty_received bigint",
		"total_value bigint", "created_at timestamptz", "updated_at timestamptz", "version bigint"} {
		name, kind, _ := strings.Cut(c, " ")
		columns = append(columns, db.Column{Name: name, Type: kind})
	}
	rows := tx.InsertMany("orders", columns, "")
	for i := range n {
		status, at := "confirmed", time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		if i%10 == 0 {
			status = "draft"
		}
		if err := rows.Add(north, uuid.NewString(), fmt.Sprintf("SO-%07d", i), "outbound", status, 3, "[]", 0, 0, 0, 0, 0, 0,
			0, 0, at, at, 1); err != nil {
			return err
		}
	}
	return rows.Send()
}

// Of 10^5 orders, most of them in one state, a page by created_at is read from
// an index on both engines, without a setting.
func TestOrdersOfManyRows(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		err := d.Write(context.Background(), db.Scope{Tenant: north},
			func(tx *db.Tx) error { return manyOrders(tx, 100_000) })
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Analyze(context.Background(), "orders"); err != nil {
			t.Fatal(err)
		}
		r, _ := roundDecimal.Get("orders")
		for _, text := range []string{"order=created_at.desc&limit=50", "order=created_at&limit=50",
			"status=eq.confirmed&order=created_at.desc&limit=50",
			"status=eq.draft&order=created_at.desc&limit=50", "order=id.desc&limit=50", "order=order_no.desc&limit=50",
			"order=order_no&limit=50",
			"order=updated_at.desc&limit=50", "status=eq.draft&order=updated_at.desc&limit=50",
			"status=eq.confirmed&order=updated_at&limit=50",
			"order=promised_at&limit=50", "order=promised_at.desc&limit=50", "status=eq.draft&order=promised_at&limit=50"} {
			if p := plan(t, d, r, text); dear(p) != "" {
				t.Errorf("%s: %s in\n%s", text, dear(p), p)
			}
		}
		// The same eyes see an order that rides none.
		if p := plan(t, d, r, "order=priority.desc&limit=50"); dear(p) == "" {
			t.Errorf("an order without an index is not seen in\n%s", p)
		}
	})
}
