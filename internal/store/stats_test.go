package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// The planner of SQLite is told that the columns of indexes are coarse which the catalog gives a
// few values, and of no others.
func TestCoarseColumns(t *testing.T) {
	d := dbtest.Open(t, dbtest.Options(t, db.SQLite))
	got, want := map[string]bool{}, map[string]bool{}
	for _, r := range catalog.Default().All() {
		for _, column := range indexedColumns(t, d, r.Name) {
			f, ok := r.Field(column)
			isCoarse := ok && (f.OneOf != nil || f.Type == catalog.Bool)
			want[column] = want[column] || isCoarse
			got[column] = db.IsCoarse(column)
		}
	}
	if !want["status"] || want["id"] || len(want) < 100 {
		t.Errorf("%d indexed columns of the catalog", len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("coarse columns (-want +got):\n%s", d)
	}
}

// indexedColumns are the columns of a table's indexes.
func indexedColumns(t *testing.T, d *db.DB, table string) (columns []string) {
	t.Helper()
	err := d.Read(context.Background(), db.Scope{}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT DISTINCT part.name
			FROM pragma_index_list($1) AS list
			JOIN pragma_index_info(list.name) AS part
			WHERE part.name IS NOT NULL`, []any{table}, func(r *db.Row) error {
			columns = append(columns, r.Text(0))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(columns)
	return columns
}
