package db_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/db/shape"
	"holdfast/internal/testkit/dbtest"
)

const (
	dropColumn = "ALTER TABLE items DROP COLUMN description"
	dropIndex  = "DROP INDEX badges_code_key"
)

// What a migration made and somebody dropped has a name, and no server begins without
// it; what somebody added does not matter.
func TestDroppedPartsHaveNames(t *testing.T) {
	for what, c := range map[string]struct {
		sql  []string
		gone []string
	}{
		"nothing":               {nil, nil},
		"a column":              {[]string{dropColumn}, []string{"column items.description"}},
		"a table":               {[]string{"DROP TABLE probes"}, []string{"table probes"}},
		"a unique index":        {[]string{dropIndex}, []string{"unique index badges_code_key of badges"}},
		"an index that is none": {[]string{"DROP INDEX jobs_due_idx"}, nil},
		"additions": {[]string{"ALTER TABLE items ADD COLUMN theirs text", "CREATE TABLE theirs (id bigint PRIMARY KEY)"},
			nil},
		"two": {[]string{dropColumn, dropIndex},
			[]string{"column items.description", "unique index badges_code_key of badges"}},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, o db.Options) {
				change(t, o, c.sql)
				gone, err := db.FindGone(t.Context(), o)
				if slices.Sort(gone); err != nil || !slices.Equal(gone, c.gone) {
					t.Errorf("gone are %q, %v; want %q", gone, err, c.gone)
				}
				d, err := db.Open(t.Context(), o)
				if err == nil {
					d.Close()
				}
				if errors.Is(err, shape.ErrGone) != (c.gone != nil) {
					t.Fatalf("opened: %v", err)
				}
				for _, part := range c.gone {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v does not name %s", err, part)
					}
				}
			})
		})
	}
}

// change runs statements as the owner of a database: package db opens it before, and
// not after.
func change(t *testing.T, o db.Options, statements []string) {
	t.Helper()
	if o.URL != "" {
		owner, err := pgx.Connect(t.Context(), o.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer owner.Close(t.Context())
		for _, sql := range statements {
			if _, err := owner.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		return
	}
	d, err := db.Open(t.Context(), db.Options{Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, sql := range statements {
		err := d.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error { _, err := tx.Exec(sql); return err })
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
