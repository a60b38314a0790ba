package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A cut takes a promise out of the server, to measure what it costs: from
// stands once in the file and is built as to.
type cut struct{ file, from, to string }

// promises can each be left out of a server that is built for measuring only.
// None of them can be left out of one that is built in any other way.
var promises = map[string][]cut{
	"audit": {{"internal/store/ledger.go", `if tx.Store.quiet || r.Name == "audit" {`, `if r != nil {`}},
	"seals": {{"internal/identity/chain/seal.go", "done, err := c.sealBatch(ctx, b)",
		"done, err := sealing{}, error(nil)"}},
	"counters": {{"internal/store/ledger.go", "if len(r.Counters) == 0 {",
		"if r != nil {"}, {"internal/store/ledger.go", "for i := range c.Resource.Counters {", "for i := range 0 {"}},
	"policies": {{"internal/db/migrate.go", `"ALTER TABLE %s ENABLE ROW LEVEL SECURITY"`,
		`"ALTER TABLE %s DISABLE ROW LEVEL SECURITY"`},
		{"internal/db/migrate.go", `"ALTER TABLE %s FORCE ROW LEVEL SECURITY"`,
			`"ALTER TABLE %s NO FORCE ROW LEVEL SECURITY"`}},
	"numbers": {{"internal/store/number.go", "first, err := q.reserveNumbers(tx, len(rows))",
		"first, err := noted.Add(int64(len(rows)))+1_000_000, error(nil)"},
		{"internal/store/number.go", "func (n *numbering) giveNumbers(",
			"var noted atomic.Int64\n\nfunc (n *numbering) giveNumbers("},
		{"internal/store/number.go", "import (", "import (\n\t\"sync/atomic\""}},
	// SQLite's; PostgreSQL's are dropped in case import
	"keys":    {{"internal/db/sqlite.go", `"foreign_keys(ON)"`, `"foreign_keys(OFF)"`}},
	"notices": {{"internal/cluster/cluster.go", `return b.insertRow(ctx, id, string(body))`, `return nil`}},
}

// without builds a server that lacks promises: without FILE NAME...
func without(args []string) error {
	if len(args) < 2 {
		return errors.New("without FILE PROMISE...: which of audit, seals, counters, keys, policies, numbers, notices")
	}
	dir, err := os.MkdirTemp("", "without")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	texts, err := lacking(".", args[1:])
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for file, text := range texts {
		replace[file] = filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	at := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(at, overlay, 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-overlay", at, "-o", args[0], "./cmd/holdfast")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return build.Run()
}

// lacking are the texts of the files below root that change when the promises
// are left out.
func lacking(root string, names []string) (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if promises[name] == nil {
			return nil, fmt.Errorf("no promise %q", name)
		}
		for _, c := range promises[name] {
			if texts[c.file] == "" {
				b, err := os.ReadFile(filepath.Join(root, c.file))
				if err != nil {
					return nil, err
				}
				texts[c.file] = string(b)
			}
			if n := strings.Count(texts[c.file], c.from); n != 1 {
				return nil, fmt.Errorf("%s: %q stands there %d times", c.file, c.from, n)
			}
			texts[c.file] = strings.Replace(texts[c.file], c.from, c.to, 1)
		}
	}
	return texts, nil
}
