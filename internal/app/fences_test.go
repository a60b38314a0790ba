package app

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	longestLine = 160
	mostMethods = 60
)

// A receiver with more methods than one can keep in mind hides several nouns.
func TestFenceReceivers(t *testing.T) {
	methods := map[string]int{}
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[within(filepath.Dir(path))+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	})
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods; at most %d", name, n, mostMethods)
		}
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// A line is read on one screen.
func TestFenceLines(t *testing.T) {
	goFiles(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(text) {
			if n++; len(bytes.TrimRight(line, "\n")) > longestLine {
				t.Errorf("%s:%d has more than %d bytes", within(path), n, longestLine)
			}
		}
	})
}

// dependencies is the page that gives each direct dependency its reason.
const dependencies = "../../docs/dependencies.md"

func TestFenceDependencies(t *testing.T) {
	page, err := os.ReadFile(dependencies)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if !bytes.Contains(page, []byte(path)) {
			t.Errorf("%s has no line in docs/dependencies.md that says what it is for", path)
		}
	}
}

// mostLinked is how many modules packages of the program may import, and of how
// many projects; a new one takes the place of one that goes. Decision 17.
const (
	mostLinked   = 36
	mostProjects = 29
)

// project is whose a module is, where one team releases several together.
func project(module string) string {
	for _, of := range [...]string{"go.opentelemetry.io/", "github.com/spf13/"} {
		if strings.HasPrefix(module, of) {
			return of
		}
	}
	return module
}

// Each module that the program's packages import is somebody to trust.
func TestFenceDependenciesLinked(t *testing.T) {
	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	imports := map[string]bool{}
	for _, path := range list("-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{join .Imports "\n"}}{{end}}{{end}}`,
		"holdfast/cmd/holdfast") {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			imports[path] = true
		}
	}
	modules, projects := map[string]bool{}, map[string]bool{}
	for _, path := range list(append([]string{"-f", "{{.Module.Path}}"}, slices.Sorted(maps.Keys(imports))...)...) {
		modules[path], projects[project(path)] = true, true
	}
	if n := len(projects); n > mostProjects {
		t.Errorf("they are of %d projects, want at most %d", n, mostProjects)
	}
	if n := len(modules); n > mostLinked || n < mostLinked/2 {
		t.Errorf("%d modules are imported, want at most %d:\n%s", n, mostLinked,
			strings.Join(slices.Sorted(maps.Keys(modules)), "\n"))
	}
}

// madeGo is what the tests of clients let the program write, beside these, and madeTypes
// what is written of the catalog.
const (
	madeGo    = "test/clients/go/holdfast"
	madeTypes = "internal/record/generated.go"
)

// goFiles calls f for every Go file of the project.
func goFiles(t *testing.T, f func(path string)) {
	t.Helper()
	for _, root := range []string{"../../cmd", "../../internal", "../../bench", "../../test"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && within(path) == madeGo:
				return fs.SkipDir
			case !d.IsDir() && strings.HasSuffix(path, ".go") && within(path) != madeTypes:
				f(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// within is a path as seen from the project's root.
func within(path string) string { return filepath.ToSlash(strings.TrimPrefix(path, "../../")) }
