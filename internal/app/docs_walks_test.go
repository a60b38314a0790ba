package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A reader who follows docs/architecture.md finds every function that a walk names.
func TestDocsWalks(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walks, found := strings.Cut(string(page), "<!-- walks: TestDocsWalks -->")
	walks, _, _ = strings.Cut(walks, "\n## ")
	names := regexp.MustCompile("`([a-z]+(?:\\.[A-Za-z]+)+)`").FindAllStringSubmatch(walks, -1)

	if !found || len(names) < 20 {
		t.Fatalf("docs/architecture.md has no walks, or only %d names in them", len(names))
	}
	functions := listFunctions(t, "..")
	for _, name := range names {
		if !functions[name[1]] {
			t.Errorf("docs/architecture.md sends its reader to %s, which is not there", name[1])
		}
	}
}

// listFunctions returns the functions below a folder as package.Function and
// package.Type.Method.
func listFunctions(t *testing.T, root string) map[string]bool {
	t.Helper()
	functions := map[string]bool{}

	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				functions[file.Name.Name+"."+receiverName(function)+function.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return functions
}

// receiverName is the type of a method with a dot behind it, "" for a function.
func receiverName(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	typ := function.Recv.List[0].Type
	if pointer, ok := typ.(*ast.StarExpr); ok {
		typ = pointer.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
