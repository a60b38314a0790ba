package app_test

import (
	"context"
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
				t.Errorf("run `holdfast migrate new`: %s", m)
			}
		})
	}
}
