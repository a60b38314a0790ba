package app

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/catalog"
)

// beside lists who writes a catalog table in SQL of its own, beside the store,
// and why it may. A line that nobody needs any more fails, so the list shrinks.
var beside = map[string]string{
	"audit audit":          "the one writer of the log, which the store calls too",
	"identity/chain audit": "the sealer links rows that are there",

	"identity/tenants tenants":     "identity stands beside the store; it tells its changes as events",
	"identity/tenants members":     "as tenants",
	"identity/tenants invitations": "as tenants",
	"identity invitations":         "what ended is swept",
	"identity/sessions members":    "when a member was last seen",
	"identity/providers members":   "as tenants",
	"identity/admin members":       "as tenants",
	"identity/admin invitations":   "as tenants",
	"sso members":                  "a directory leads the membership",
	"sso sso_connections":          "what a provider says of itself, kept with its sealed secret",

	"warehouse stock_levels":       "a balance is the sum of the movements, which the store writes",
	"warehouse/costs item_costs":   "averages are reckoned from the movements",
	"warehouse items":              "on hand, available and value are sums of the movements",
	"warehouse zones":              "the load is a sum of the movements",
	"warehouse orders":             "the quantities are sums of the lines",
	"warehouse/packing orders":     "as warehouse",
	"warehouse/kits items":         "what is available of a kit follows its components",
	"warehouse/kits order_lines":   "how far a kit has come follows the lines of its components",
	"warehouse/walking pick_lines": "the lines of a list get the numbers of a walk as a set",
	"warehouse pick_lines":         "lines follow their list or order as a set",

	"webhook webhooks":           "since when an endpoint fails is noted by each delivery",
	"webhook webhook_deliveries": "a queue: its rows go by the thousand and are no records that people edit",

	"functions/programme predictive_scores": "scores by the hundred thousand, in columns; those of old runs go by age",
	"functions/programme score_runs":        "as scores",
	"functions/programme compliance_events": "verdicts by the hundred thousand, in columns",
	"functions/programme compliance_states": "as compliance_events",
	"functions/programme regulations":       "the moment of a scan is no change of the record",
	"functions/programme ?":                 "the two boards of scores, as verdicts",
	"functions/programme team_scores":       "teams that are too small to be shown leave their board",

	"imports/staged ?": "a job's own tables, which are no records",
	"safety ?":         "which entities an incident is about: an index",

	"identity/keyring ?": "identity's own tables, which are no records",
	"identity/admin ?":   "as keyring",
	"identity/factor ?":  "as keyring",
	"sso ?":              "sso's own tables, which are no records",
}

// writes finds a statement that changes a table, and the table; "?" is one that
// the text leaves open.
var writes = regexp.MustCompile(`\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?([a-z_]+|\?)`)

// filled finds a word in braces whose SQL db.FillWords sets.
var filled = regexp.MustCompile(`\{[a-z ]+\}`)

// Records are written by the store alone: what they must be, who hears of it and
// what is counted has one place.
func TestFenceCatalogTablesAreWrittenByTheStore(t *testing.T) {
	tables := map[string]bool{}
	for _, r := range catalog.Default().All() {
		tables[r.Name] = true
	}
	seen := map[string]bool{}
	tables["?"] = true
	eachText(t, func(pkg, file, text string) {
		for _, m := range writes.FindAllStringSubmatch(text, -1) {
			key := pkg + " " + m[1]
			if !tables[m[1]] || pkg == "store" || pkg == "db" {
				continue
			}
			if seen[key] = true; beside[key] == "" {
				t.Errorf("%s writes %s in SQL of its own: write records through the store (Bulk for many)", file, m[1])
			}
		}
	})
	for key := range beside {
		if !seen[key] {
			t.Errorf("%s is an exception that nobody needs any more", key)
		}
	}
}

// eachText visits the string literals of the product. Those joined by + are one,
// with "?" for what is no literal or is set at a word in braces; a table that package db is told to insert
// rows into is a statement too.
func eachText(t *testing.T, visit func(pkg, file, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		ast.Inspect(f, func(n ast.Node) bool {
			if table, ok := insertOf(n); ok {
				visit(pkg, path, "INSERT INTO "+table)
			}
			text, ok := textOf(n)
			if ok {
				visit(pkg, path, filled.ReplaceAllString(text, "?"))
			}
			return !ok
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// insertOf is the table of a call of db.Tx.InsertMany or db.Tx.Insert.
func insertOf(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return "", false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fn.Sel.Name != "InsertMany" && fn.Sel.Name != "Insert" {
		return "", false
	}
	if of, ok := fn.X.(*ast.Ident); !ok || of.Name != "tx" {
		return "", false
	}
	if text, ok := textOf(call.Args[0]); ok {
		return text, true
	}
	return "?", true
}

// textOf is a string literal, or a sum of some with "?" for its other parts.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(n.Value)
		return s, err == nil
	case *ast.ParenExpr:
		return textOf(n.X)
	case *ast.BinaryExpr:
		left, ok := textOf(n.X)
		right, too := textOf(n.Y)
		if n.Op != token.ADD || !ok && !too {
			return "", false
		}
		return cmp.Or(left, "?") + cmp.Or(right, "?"), true
	}
	return "", false
}
