package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// grants finds what reads who may reach which rows.
var grants = regexp.MustCompile(`\bcatalog\.Find\(|\.(?:Own|Zoned|Also)\b|\bcatalog\.(?:Own|All|None)\b`)

// reading lists who reads grants beside query, and why it may.
var reading = map[string]string{
	"internal/api/openapi/collection.go": "the API document shows a role the operations that it may call at all",
	"internal/api/swagger/swagger.go":    "so does the one in Swagger",
}

// Who may reach which rows is decided in query alone: a list or an event that
// decided it again would one day decide otherwise.
func TestFenceGrantsAreReadByQuery(t *testing.T) {
	goFiles(t, func(path string) {
		pkg := within(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || reading[within(path)] != "" || pkg == "internal/query" ||
			pkg == "internal/catalog" {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if code, _, _ := strings.Cut(line, "//"); grants.MatchString(code) {
				t.Errorf("%s:%d reads a grant: ask package query", within(path), n+1)
			}
		}
	})
}
