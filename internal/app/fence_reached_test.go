package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// calledByOthers are methods whose caller is a module: none of the program's own
// files names them.
const calledByOthers = " VerifySignature WebAuthnName WebAuthnDisplayName WebAuthnCredentials Transform OnStart OnEnd ForceFlush "

// names is what files of the program declare and name.
type names struct {
	fset     *token.FileSet
	declared []declared
	in       map[string]bool // folder and name: named in its own package
	outside  map[string]bool // folder and name: named behind its package's name
	behind   map[string]bool // named behind a value: a method or a field
}

type declared struct {
	id     *ast.Ident
	folder string
	method bool
}

// What only tests name belongs to them: a function, method, type, constant or
// variable of the program is named by the program. A method counts as named where
// any of its name is, so `make check` asks deadcode too.
func TestFenceReached(t *testing.T) {
	n := names{token.NewFileSet(), nil, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	goFiles(t, func(file string) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testkit/") {
			return
		}
		f, err := parser.ParseFile(n.fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		n.read(f, within(filepath.Dir(file)))
	})
	for _, d := range n.declared {
		at := d.folder + "." + d.id.Name
		if d.method && (n.behind[d.id.Name] || strings.Contains(calledByOthers, " "+d.id.Name+" ")) || !d.method &&
			(n.in[at] || n.outside[at]) {
			continue
		}
		t.Errorf("%s: the program does not name %s", n.fset.Position(d.id.Pos()), d.id.Name)
	}
	if len(n.declared) < 5000 {
		t.Errorf("%d declarations seen", len(n.declared))
	}
}

func (n *names) read(f *ast.File, folder string) {
	own := map[*ast.Ident]bool{}
	declare := func(id *ast.Ident, method bool) {
		own[id] = true
		if id.Name != "_" && id.Name != "main" {
			n.declared = append(n.declared, declared{id, folder, method})
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name, d.Recv != nil)
		case *ast.GenDecl:
			for _, id := range ofSpecs(d.Specs) {
				declare(id, false)
			}
		}
	}
	imported := importsOf(f)
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.SelectorExpr:
			own[x.Sel] = true // behind something, so none of this package
			if pkg, ok := x.X.(*ast.Ident); ok && imported[pkg.Name] != "" {
				n.outside[imported[pkg.Name]+"."+x.Sel.Name] = true
			}
			n.behind[x.Sel.Name] = true // also where a value has a package's name
		case *ast.InterfaceType: // what it asks for is called through it
			for _, m := range x.Methods.List {
				for _, id := range m.Names {
					n.behind[id.Name] = true
				}
			}
		case *ast.Ident:
			if !own[x] {
				n.in[folder+"."+x.Name] = true
			}
		}
		return true
	})
}

// ofSpecs are the names that a declaration of types, constants or variables gives.
func ofSpecs(specs []ast.Spec) (ids []*ast.Ident) {
	for _, s := range specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			ids = append(ids, s.Name)
		case *ast.ValueSpec:
			ids = append(ids, s.Names...)
		}
	}
	return ids
}

// importsOf gives the folders of our packages by the name a file has for them.
func importsOf(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, i := range f.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		folder, ok := strings.CutPrefix(from, "holdfast/")
		switch {
		case ok && i.Name != nil:
			out[i.Name.Name] = folder
		case ok:
			out[path.Base(folder)] = folder
		}
	}
	return out
}
