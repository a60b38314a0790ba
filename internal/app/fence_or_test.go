package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sqlWord finds what matters for the scope of an OR: quoted text, which is
// skipped, brackets, and the keywords that open, close or end a condition.
var sqlWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[()]|\b(?:SELECT|CASE|END|OR)\b`)

// hasLooseOR reports whether a text of SQL has an OR outside parentheses, at
// its top or right below a SELECT. AND binds closer: in "tenant_id = $1 AND a
// OR b" the tenant holds for a alone. An OR between CASE and END is enclosed.
func hasLooseOR(sql string) bool {
	type scope struct{ enclosed bool }
	scopes := []scope{{}}
	for _, word := range sqlWord.FindAllString(sql, -1) {
		top := len(scopes) - 1
		switch word {
		case "(", "CASE":
			scopes = append(scopes, scope{enclosed: true})
		case ")", "END":
			scopes = scopes[:max(top, 1)]
		case "SELECT":
			scopes[top].enclosed = false
		case "OR":
			if !scopes[top].enclosed {
				return true
			}
		}
	}
	return false
}

func TestHasLooseOR(t *testing.T) {
	for sql, loose := range map[string]bool{
		"tenant_id = $1 AND a = 1 OR b = 2":                true,
		"worker_id IS NULL AND § OR user_id IS NULL AND §": true,
		" OR ": true,
		"SELECT 1 FROM t WHERE tenant_id = $1 AND (a = 1 OR b = 2)":              false,
		"SELECT 1 FROM t WHERE (tenant_id = $1 AND a = 1) OR b = 2":              true,
		"EXISTS (SELECT 1 FROM t WHERE t.tenant_id = $1 AND a = 1 OR b = 2)":     true,
		"EXISTS (SELECT 1 FROM t WHERE t.tenant_id = $1 AND (a = 1 OR (b)))":     false,
		"(a = 1 OR EXISTS (SELECT 1 FROM t WHERE tenant_id = $1) OR b = 2)":      false,
		"SELECT CASE WHEN a = 1 OR b = 2 THEN 1 END FROM t WHERE tenant_id = $1": false,
		"SELECT CASE WHEN a THEN 1 END FROM t WHERE tenant_id = $1 OR b":         true,
		"name = 'this OR that' AND tenant_id = $1":                               false,
		"SELECT 1 FROM t WHERE tenant_id = $1 ORDER BY id":                       false,
	} {
		if got := hasLooseOR(sql); got != loose {
			t.Errorf("hasLooseOR(%q) = %v", sql, got)
		}
	}
}

// buildSQL are the packages that build conditions from parts and put the
// parentheses around them, and those that write the schema.
var buildSQL = map[string]bool{"catalog": true, "db": true, "query": true, "store": true}

// No statement and no part of one has an OR that a condition in front of it, as
// the tenant's, would not hold for.
func TestFenceLooseOR(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && buildSQL[d.Name()] {
			return fs.SkipDir
		}
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
			if text && hasLooseOR(sql) {
				t.Errorf("%s: put the OR into parentheses, in %s", files.Position(n.Pos()), sql)
			}
			return !text
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
