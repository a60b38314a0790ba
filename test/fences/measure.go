package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// measureTree counts the packages below cmd and internal of the module at root,
// by their directory. Tests, what only tests use and generated files, which nobody
// writes by hand, are left out.
func measureTree(root string) (map[string]*counts, error) {
	packages := map[string]*counts{}
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testkit" || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			return measureInto(packages, root, path)
		})
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", top, err)
		}
	}
	return packages, nil
}

func measureInto(packages map[string]*counts, root, path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(source, []byte("// Code generated ")) {
		return nil
	}
	c, err := measureFile(source)
	if err != nil {
		return err
	}

	name = filepath.ToSlash(name)
	if packages[name] == nil {
		packages[name] = &counts{}
	}
	packages[name].add(c)
	return nil
}

// measureFile counts one file.
func measureFile(source []byte) (*counts, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &counts{}
	c.countLines(source)
	seen := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.countName(n.Name.Name)
		case *ast.SwitchStmt:
			c.countSwitch(n)
		case *ast.IndexExpr:
			c.countIndex(n)
		case *ast.CallExpr:
			c.countCall(n)
		case *ast.BinaryExpr, *ast.BasicLit:
			c.countSQL(n.(ast.Expr), seen)
		}
		return true
	})
	return c, nil
}

// Kinds of lines.
const (
	blankLine = iota
	commentLine
	codeLine
	rawLine // within a raw string of several lines
)

// countLines counts tokens, and lines by what is on them.
func (c *counts) countLines(source []byte) {
	lines := strings.Split(strings.TrimSuffix(string(source), "\n"), "\n")
	kinds := make([]int, len(lines)+1)
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		kind := codeLine
		if tok == token.COMMENT {
			kind = commentLine
		} else {
			c.tokens++
		}
		first, further := file.Line(pos), strings.Count(text, "\n")
		if tok == token.STRING && further > 0 {
			kind = rawLine
		}
		for line := first; line <= first+further && line < len(kinds); line++ {
			kinds[line] = max(kinds[line], kind)
		}
	}

	c.lines += len(lines)
	for i, line := range lines {
		switch kinds[i+1] {
		case blankLine:
			c.blank++
		case commentLine:
			c.comment++
		default:
			c.code++
		}
		c.countColumns(line, kinds[i+1])
	}
}

func (c *counts) countColumns(line string, kind int) {
	columns := utf8.RuneCountInString(line)
	if kind == rawLine {
		return
	}
	if columns > 100 {
		c.over100++
	}
	if columns > 120 {
		c.over120++
	}
}

func (c *counts) countName(name string) {
	if ast.IsExported(name) || name == "main" {
		return
	}
	c.functions++
	c.functionLetters += utf8.RuneCountInString(name)
	if countWords(name) == 1 {
		c.oneWord++
	}
}

// countWords counts the words of a name by its capitals: lockItems has two, and
// so has toJSON.
func countWords(name string) int {
	words, wasLower := 1, false
	for _, r := range name {
		if unicode.IsUpper(r) && wasLower {
			words++
		}
		wasLower = !unicode.IsUpper(r)
	}
	return words
}

func (c *counts) countSwitch(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	c.switches++
	if len(n.Body.List) <= 2 {
		c.ternaries++
	}
}

func (c *counts) countIndex(n *ast.IndexExpr) {
	if isText(n.Index) {
		c.rowTexts++
	}
	literal, ok := n.X.(*ast.CompositeLit)
	if !ok {
		return
	}
	if m, ok := literal.Type.(*ast.MapType); ok && isNamed(m.Key, "bool") {
		c.choices++
	}
}

func (c *counts) countCall(n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 1 {
		return
	}
	if f.Sel.Name == "Text" && isText(n.Args[0]) {
		c.rowTexts++
	}
	if f.Sel.Name == "Format" && isDay(n.Args[0]) {
		c.clockDays++
	}
}

// isDay reports the layout of a date: time.DateOnly, or the same in letters.
func isDay(n ast.Expr) bool {
	if s, ok := n.(*ast.SelectorExpr); ok {
		return s.Sel.Name == "DateOnly"
	}
	literal, ok := n.(*ast.BasicLit)
	return ok && literal.Value == `"2006-01-02"`
}

func isText(n ast.Expr) bool {
	literal, ok := n.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

func isNamed(n ast.Expr, name string) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == name
}
