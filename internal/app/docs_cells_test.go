package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// cellMost is how many characters of a table's cell are read without effort: two
// lines of a page. What is longer is a paragraph or a list below the table.
const cellMost = 160

var (
	bar  = regexp.MustCompile(`([^\\])\|`)
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// No cell of a table in our own pages is longer than two lines.
func TestDocsCells(t *testing.T) {
	const root = "../.."
	tables := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		page, err := os.ReadFile(path)
		for i, line := range strings.Split(string(page), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			tables++
			for _, cell := range strings.Split(bar.ReplaceAllString(line, "$1\x00"), "\x00") {
				if n := visible(cell); n > cellMost {
					t.Errorf("%s:%d: a cell of %d characters; make it a paragraph below the table: %.60s...", path, i+1, n, cell)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if tables < 300 {
		t.Errorf("%d lines of tables seen", tables)
	}
}

// visible counts the characters of a cell that a reader sees.
func visible(cell string) int {
	cell = link.ReplaceAllString(strings.TrimPrefix(cell, "|"), "$1")
	return utf8.RuneCountInString(strings.TrimSpace(strings.NewReplacer("`", "", "**", "", `\|`, "|").Replace(cell)))
}
