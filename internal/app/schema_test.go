package app_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"holdfast/internal/app"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A record's columns are said once, in the catalog: both schemas follow.
func TestSchemaIsTheCatalog(t *testing.T) {
	for name, o := range map[string]db.Options{"sqlite": {Dir: t.TempDir()}, "postgresql": {URL: pgtest.DSN(t)}} {
		t.Run(name, func(t *testing.T) {
			o.Migrate = true
			d, err := db.Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			missing, extra, err := app.SchemaDiff(context.Background(), d, catalog.Default())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range append(missing, extra...) {
				t.Errorf("%s: write it with: HOLDFAST_WRITE_RECORDS=1 go test ./internal/catalog ./internal/app "+
					"-run TestRecordsMigration (after the first release: holdfast migrate new)", m)
			}
		})
	}
}

// Until a version is released the records' schema is one file, made from the
// catalog with all its indexes.
func TestRecordsMigration(t *testing.T) {
	const file = "../db/migrations/0001_records.sql"
	want := recordsDDL(catalog.Default())
	if os.Getenv("HOLDFAST_WRITE_RECORDS") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("the records' migration is not the catalog's; write it with: " +
			"HOLDFAST_WRITE_RECORDS=1 go test ./internal/catalog ./internal/app -run TestRecordsMigration")
	}
}

// recordsDDL is the text of the first migration: the table of every resource of
// the catalog but those that workers read across tenants, which stand with the
// platform's.
func recordsDDL(c *catalog.Catalog) string {
	var b strings.Builder
	b.WriteString("-- The catalog's records, as TestRecordsMigration writes them. One text for both\n" +
		"-- engines: on PostgreSQL the migrator moves foreign keys behind the creation of\n" +
		"-- all tables and fences each table with row policies.\n")
	for _, r := range c.All() {
		if !r.Queue {
			b.WriteString("\n" + r.DDL())
		}
	}
	return b.String()
}
