package app_test

import (
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

	"holdfast/internal/catalog"
)

// tableIn finds the tables a statement reads or changes.
var tableIn = regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE)\s+([a-z_]+)\b`)

// halves are parts of statements whose other part names the tenant.
var halves = []string{"SELECT x.", "UPDATE zones SET load_units", "SELECT CAST(coalesce(SUM(s.hours)", "WITH v(id", "WITH s(id", "WITH RECURSIVE v(id"}

// Every statement written by hand in the domains, the functions and the imports
// asks for the tenant of each table of records it names. Row-level security
// would catch a slip on PostgreSQL; the embedded engine has none.
func TestStatementsNameTheirTenant(t *testing.T) {
	records := map[string]bool{}
	for _, r := range catalog.Default().All() {
		records[r.Name] = !r.Root
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
				named := 0
				for _, m := range tableIn.FindAllStringSubmatch(sql, -1) {
					if records[m[1]] {
						named++
					}
				}
				if named > 0 {
					statements++
				}
				if strings.Count(sql, "tenant_id") < named && !slices.ContainsFunc(halves, func(h string) bool { return strings.HasPrefix(sql, h) }) {
					t.Errorf("%s: %d tables of records, and tenant_id %d times, in %s", files.Position(n.Pos()), named, strings.Count(sql, "tenant_id"), sql)
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

// textOf joins the literals of a concatenation; what is computed stays out.
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
	return "", false
}
