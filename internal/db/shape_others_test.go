package db_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/db/shape"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// olderSchema takes a database back to 0.1.0: what came after it changes rows alone.
const olderSchema = "DELETE FROM schema_migrations WHERE version > 4"

// What an administrator of the database made before a migration is his to take away; what
// the migrations made is still missed, whether it was noted before or not.
func TestPartsOfOthersAreNotMissed(t *testing.T) {
	theirs := []string{
		"CREATE TABLE spatial_ref_sys (srid bigint PRIMARY KEY)",
		"CREATE TABLE items_copy AS SELECT * FROM items",
		"ALTER TABLE items ADD COLUMN theirs text",
		"CREATE UNIQUE INDEX theirs_idx ON items (id, sku)",
	}
	taken := []string{"DROP INDEX theirs_idx", "ALTER TABLE items DROP COLUMN theirs", "DROP TABLE items_copy",
		"DROP TABLE spatial_ref_sys"}
	for what, before := range map[string][]string{
		"noted":     {olderSchema},
		"not noted": {olderSchema, "DROP TABLE schema_shape"},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, o db.Options) {
				change(t, o, append(slices.Clone(theirs), before...))
				openAs(t, o, nil)
				change(t, o, taken)
				openAs(t, o, nil)
				change(t, o, []string{dropColumn})
				openAs(t, o, []string{"column items.description"})
			})
		})
	}
}

// A database that held something of others before its first migration opens without it.
func TestTableBeforeTheFirstMigration(t *testing.T) {
	o := db.Options{URL: pgtest.DSN(t), Migrate: true}
	change(t, o, []string{"CREATE TABLE spatial_ref_sys (srid bigint PRIMARY KEY)"})
	openAs(t, o, nil)
	change(t, o, []string{"DROP TABLE spatial_ref_sys"})
	openAs(t, o, nil)
	change(t, o, []string{"DROP TABLE probes"})
	openAs(t, o, []string{"table probes"})
}

// openAs opens a database of which these parts are gone.
func openAs(t *testing.T, o db.Options, gone []string) {
	t.Helper()
	found, err := db.FindGone(t.Context(), o)
	if err != nil || !slices.Equal(found, gone) {
		t.Errorf("gone are %q, %v; want %q", found, err, gone)
	}
	d, err := db.Open(t.Context(), o)
	if err == nil {
		d.Close()
	}
	if errors.Is(err, shape.ErrGone) != (gone != nil) || err != nil && gone == nil {
		t.Errorf("opened: %v; gone are %q", err, gone)
	}
}

// The error agrees with how many parts it names.
func TestLossIsExplained(t *testing.T) {
	for _, c := range []struct {
		gone []string
		want string
	}{
		{[]string{"table a"}, "table a is gone; put it back, or restore the last backup"},
		{[]string{"table a", "table b"}, "table a, table b are gone; put them back, or restore the last backup"},
	} {
		if err := shape.ExplainLoss(c.gone); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.gone, err, c.want)
		}
	}
}
