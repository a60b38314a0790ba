package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
)

// SchemaDiff returns the DDL statements that would take a migrated database to
// the catalog, and the columns that only the database has.
func SchemaDiff(ctx context.Context, d *db.DB, c *catalog.Catalog) (missing, extra []string, err error) {
	have, err := d.Columns(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range c.All() {
		columns, ok := have[r.Name]
		if !ok {
			missing = append(missing, strings.TrimSuffix(r.DDL(), ";\n"))
			continue
		}
		known := map[string]bool{}
		for i := range r.Fields {
			f := &r.Fields[i]
			known[f.Name] = true
			if columns[f.Name] == "" {
				add, err := f.AddColumnDDL(r.Name)
				if err != nil {
					return nil, nil, err
				}
				missing = append(missing, add)
			} else if !db.SameType(columns[f.Name], f.Type.Column()) {
				extra = append(extra, fmt.Sprintf("%s.%s is %s, the catalog says %s", r.Name, f.Name, columns[f.Name],
					f.Type.Column()))
			}
		}
		for name := range columns {
			if !known[name] {
				extra = append(extra, fmt.Sprintf("%s.%s is not in the catalog", r.Name, name))
			}
		}
	}
	return missing, extra, nil
}

var migrationName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// NewMigration writes the next migration file from the difference between the
// migrated schema and the catalog, and returns its path.
func NewMigration(ctx context.Context, dir, name string) (string, error) {
	if !migrationName.MatchString(name) {
		return "", fmt.Errorf("a migration's name is lower case with underscores, not %q", name)
	}
	tmp, err := os.MkdirTemp("", "holdfast-schema")
	if err != nil {
		return "", fmt.Errorf("app: %w", err)
	}
	defer os.RemoveAll(tmp)
	d, err := db.Open(ctx, db.Options{Dir: tmp, Migrate: true})
	if err != nil {
		return "", err
	}
	defer d.Close()
	missing, extra, err := SchemaDiff(ctx, d, catalog.Default())
	if err != nil {
		return "", err
	}
	if len(missing) == 0 {
		return "", fmt.Errorf("the schema already has everything the catalog names%s", listExtra(extra))
	}
	all, err := db.Migrations()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%04d_%s.sql", len(all)+1, name))
	if err := os.WriteFile(path, []byte(strings.Join(missing, ";\n\n")+";\n"), 0o644); err != nil {
		return "", fmt.Errorf("app: %w", err)
	}
	return path, nil
}

func listExtra(extra []string) string {
	if len(extra) == 0 {
		return ""
	}
	return "; by hand remain: " + strings.Join(extra, ", ")
}
