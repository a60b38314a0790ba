package app

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each package says what it is for; those under internal say also which layer they
// stand on, by the table that imports are held to, and where a reader begins.
func TestDocsPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Name}}\t{{join .GoFiles \" \"}}",
		"holdfast/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		at := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		path, name, files := at[0], at[2], strings.Fields(at[3])
		if len(files) == 0 {
			continue // tests alone
		}
		said, source := packageText(t, at[1], files)
		room, inside := strings.CutPrefix(path, "holdfast/internal/")
		switch {
		case len(said) != 1:
			t.Errorf("%s has %d comments that say what it is for; write one", path, len(said))
		case inside && name != "main":
			checkFloorLine(t, room, said[0], source)
		}
	}
}

// packageText is the package comments of a folder's files and all of their source.
func packageText(t *testing.T, dir string, files []string) (said []string, source string) {
	t.Helper()
	set := token.NewFileSet()
	for _, name := range files {
		path := filepath.Join(dir, name)
		f, err := parser.ParseFile(set, path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			said = append(said, f.Doc.Text())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source += "\n" + string(text)
	}
	return said, source
}

var layerLine = regexp.MustCompile(`^Layer: (.+)\. Begin at \[(\w+)\]\.$`)

func checkFloorLine(t *testing.T, room, said, source string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	m := layerLine.FindStringSubmatch(lines[len(lines)-1])
	i, known := layerOf(room)
	switch {
	case !known: // TestImportsGoDown tells
	case m == nil:
		t.Errorf("package %s: its comment ends with %q, not with the line %q", room, lines[len(lines)-1],
			"Layer: "+layers[i].name+". Begin at [Name].")
	case m[1] != layers[i].name:
		t.Errorf("package %s names layer %q; it stands on %q", room, m[1], layers[i].name)
	case !regexp.MustCompile(`(?m)^(func|type) ` + m[2] + `\b`).MatchString(source):
		t.Errorf("package %s sends its reader to %s, which it does not have", room, m[2])
	}
	words := strings.Join(strings.Fields(said), " ")
	if lineOf(room) > 0 && !strings.Contains(words, "may import") {
		t.Errorf("package %s does not say which rooms it may import", room)
	}
}
