package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The pages that lead from a rule to its test name tests that exist.
func TestPagesNameTests(t *testing.T) {
	var source strings.Builder
	for _, root := range []string{"..", "../../test", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			source.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"security.md", "formulas.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(page), -1)
		if len(names) < 30 {
			t.Fatalf("%s names %d tests", name, len(names))
		}
		for _, n := range names {
			if !strings.Contains(source.String(), "func "+n[1]+"(") {
				t.Errorf("%s: there is no %s", name, n[1])
			}
		}
	}
}
