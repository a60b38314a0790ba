package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An overlay is the content of source files, by their path in the module, in the
// place of what lies there or of nothing: `go help build`, -overlay.
type overlay map[string]string

// writeFiles writes the files to bin, and what the go command is to be told of them.
func (o overlay) writeFiles(root, bin string) (file string, err error) {
	var told struct{ Replace map[string]string }
	told.Replace = map[string]string{}
	for path, text := range o {
		at := filepath.Join(bin, "over-"+filepath.Base(path)+".txt") // no package of Go
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return "", err
		}
		told.Replace[filepath.Join(root, filepath.FromSlash(path))] = at
	}
	text, err := json.Marshal(told)
	if err != nil {
		return "", err
	}
	file = filepath.Join(bin, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// Later is the program of one version on: these sources with one migration more,
// in the style that upgrading.md asks for, and a field of zones, next_note, that it
// makes and serves.
func Later(t testing.TB) string {
	t.Helper()
	return later.builtPath(t, "later", oneVersionOn)
}

// LaterMigration is the name of its migration.
const LaterMigration = "next"

func oneVersionOn(root string) (overlay, error) {
	have, err := filepath.Glob(filepath.Join(root, "internal", "db", "migrations", "*.sql"))
	if err != nil {
		return nil, err
	}
	const catalog = "internal/catalog/warehouse.go"
	text, err := os.ReadFile(filepath.Join(root, catalog))
	if err != nil {
		return nil, err
	}
	before, after, found := strings.Cut(string(text), `Name: "zones", Family`)
	head, fields, begun := strings.Cut(after, "Fields: []Field{\n")
	if !found || !begun {
		return nil, errors.New("build: the fields of zones are not found in " + catalog)
	}
	return overlay{
		fmt.Sprintf("internal/db/migrations/%04d_%s.sql", len(have)+1, LaterMigration): `alter table zones add column next_note text;
create table next_notes (
  tenant_id uuid not null,
  id uuid not null,
  body text,
  primary key (tenant_id, id)
);
`,
		catalog: before + `Name: "zones", Family` + head + "Fields: []Field{\n{Name: \"next_note\", MaxLen: 200},\n" + fields,
	}, nil
}
