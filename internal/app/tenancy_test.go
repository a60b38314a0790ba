package app_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/db"
)

// tableIn finds the tables a statement reads or changes.
var (
	tableIn = regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE)\s+([a-z_]+|§)`)
	asked   = regexp.MustCompile(`tenant_id (?:= |IN \()\$`)
	// ofTenants finds the tables that hold tenants' rows.
	ofTenants = regexp.MustCompile(`(?i)create table (?:if not exists )?([a-z_]+) \((?:\s*--[^\n]*\n)?\s*tenant_id\b`)
)

// What begins so, with blanks folded, asks for no tenant in its own text: the other half of the
// statement does, or it is work that goes through all tenants on purpose.
var (
	halves = []string{"SELECT x.", "LEFT JOIN ", "WITH v(id", "WITH s(id", "WITH RECURSIVE v(id",
		"UPDATE zones SET load_units",
		"SELECT CAST(coalesce(SUM(s.hours)", "SELECT §, ",
		"SELECT e.id, COUNT(*), COUNT(*) FILTER", "%[1]s <= $%[2]d", "INSERT INTO § (§) SELECT",
		"SELECT id, §, version FROM § WHERE §",
		"SELECT § FROM § WHERE §", "UPDATE § SET version",
		"SELECT 1 FROM training_assignments n WHERE n.tenant_id = a.tenant_id",
		"JOIN incident_entities AS e ON e.tenant_id = i.tenant_id",
		"( SELECT item_barcodes.tenant_id, item_barcodes.item_id"}
	everywhere = []string{"SELECT l.tenant_id, l.id, l.expires_on, t.timezone, l.short_dated",
		"SELECT COALESCE(MAX(k.days), 0) FROM ( SELECT ( SELECT", "SELECT DISTINCT r.tenant_id, l.order_id FROM reservations",
		"SELECT DISTINCT tenant_id FROM replenish_rules", "SELECT tenants.id FROM tenants WHERE EXISTS",
		"SELECT tenant_id, id, status, entities",
		"SELECT tenant_id, id FROM import_jobs", "SELECT tenant_id, value FROM settings",
		"SELECT tenant_id, id, updated_at FROM import_jobs", "SELECT blob_key FROM §",
		"NOT EXISTS (SELECT 1 FROM nights n WHERE n.tenant_id = t.id", "(EXISTS ( SELECT 1 FROM checklist_schedules s"}
)

// Every statement written by hand in the domains, the functions and the imports
// asks for the tenant of each table of records it names. Row-level security
// would catch a slip on PostgreSQL; the embedded engine has none.
func TestStatementsNameTheirTenant(t *testing.T) {
	records := map[string]bool{"§": true} // a table that is computed
	steps, err := db.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ofTenants.FindAllStringSubmatch(fmt.Sprint(steps), -1) {
		records[m[1]] = true
	}
	if len(records) < 50 {
		t.Fatalf("%d tables hold rows of tenants", len(records))
	}
	statements := 0
	for _, dir := range []string{"functions", "warehouse", "safety", "score", "imports"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				x, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				sql, text := textOf(x)
				if !text {
					return true
				}
				sql = strings.Join(strings.Fields(sql), " ")
				named := 0
				for _, m := range tableIn.FindAllStringSubmatch(sql, -1) {
					if records[m[1]] {
						named++
					}
				}
				if named > 0 {
					statements++
				}
				if named > 0 && (strings.Count(sql, "tenant_id") < named || !asked.MatchString(sql)) &&
					!slices.ContainsFunc(slices.Concat(halves, everywhere), func(h string) bool { return strings.HasPrefix(sql, h) }) {
					t.Errorf("%s: %d tables of records, and tenant_id %d times, in %s", files.Position(n.Pos()), named,
						strings.Count(sql, "tenant_id"), sql)
				}
				return false
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if statements < 100 {
		t.Errorf("%d statements were found", statements)
	}
}

// textOf joins the literals of a concatenation; § stands for what is computed.
func textOf(x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, err := strconv.Unquote(x.Value)
			return s, err == nil
		}
	case *ast.ParenExpr:
		return textOf(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			a, left := textOf(x.X)
			b, right := textOf(x.Y)
			return a + b, left || right
		}
	}
	return "§", false
}
