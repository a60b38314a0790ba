package sheets

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

// printed are the collections whose fields and values stand on sheets.
var printed = []string{"incidents", "actions", "checklist_runs", "checklist_answers",
	"work_units", "risk_entries", "risk_register_versions"}

// Every text of a sheet is there in German and French: as the console says it, or among
// the texts of sheets where the console has none. HOLDFAST_WRITE_WORDS=1 writes the
// former from the console's texts.
func TestWordsAreTheConsoles(t *testing.T) {
	texts := listTexts(t)
	for lang, own := range map[string]map[string]string{"de": germanTexts, "fr": frenchTexts} {
		console := readConsole(t, lang)
		want := map[string]string{}
		for _, text := range texts {
			_, isOwn := own[text]
			said, isThere := console[text]
			switch {
			case isOwn && isThere:
				t.Errorf("%s: %q is said by the console too: leave it to the console", lang, text)
			case isThere:
				want[text] = said
			case !isOwn:
				t.Errorf("%s: %q has no words", lang, text)
			}
		}
		for text := range own {
			if !slices.Contains(texts, text) {
				t.Errorf("%s: nothing says %q", lang, text)
			}
		}
		holdWords(t, lang, want)
	}
}

// holdWords holds the file of a language to the words that are wanted.
func holdWords(t *testing.T, lang string, want map[string]string) {
	t.Helper()
	name := "words_" + lang + ".json"
	if os.Getenv("HOLDFAST_WRITE_WORDS") != "" {
		raw, err := json.MarshalIndent(want, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := readWords(lang); !maps.Equal(got, want) {
		t.Errorf("%s is not what the console says: HOLDFAST_WRITE_WORDS=1 go test ./internal/safety/sheets", name)
	}
}

// listTexts lists the English texts that sheets say: literals in the program, and what
// the catalog calls fields and values.
func listTexts(t *testing.T) []string {
	t.Helper()
	texts := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			addCalled(texts, n)
			return true
		})
	}
	for _, name := range printed {
		r, _ := catalog.Default().Get(name)
		for i := range r.Fields {
			f := &r.Fields[i]
			if !f.ReadOnly {
				texts[f.Label] = true
			}
			addValues(texts, f.OneOf)
			if f.Shape != nil {
				addShape(texts, f.Shape)
			}
		}
	}
	return slices.Sorted(maps.Keys(texts))
}

// addCalled adds the literal that a call of sayText, findText or translateWord begins with.
func addCalled(texts map[string]bool, n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	literal, isText := call.Args[0].(*ast.BasicLit)
	if !ok || !isText || literal.Kind != token.STRING {
		return
	}
	text, _ := strconv.Unquote(literal.Value)
	switch method.Sel.Name {
	case "sayText", "findText":
		texts[text] = true
	case "translateWord":
		texts[spokenWord(text)] = true
	}
}

func addValues(texts map[string]bool, values []string) {
	for _, v := range values {
		texts[spokenWord(v)] = true
	}
}

func addShape(texts map[string]bool, s *schema.Shape) {
	addValues(texts, s.OneOf)
	if s.Of != nil {
		addShape(texts, s.Of)
	}
	for i := range s.Members {
		addShape(texts, &s.Members[i].Shape)
	}
}

// pair is a text of the console and its translation, as its sources are written.
var pair = regexp.MustCompile(`(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\b([A-Za-z_]\w*)):\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)

var escaped = regexp.MustCompile(`\\(.)`)

// readConsole reads the texts of the console in a language.
func readConsole(t *testing.T, lang string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, part := range [...]string{"", "-pages", "-catalog"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "console", "src", "texts", lang+part+".ts"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pair.FindAllStringSubmatch(string(raw), -1) {
			key, said := m[1]+m[2]+m[3], m[4]+m[5]
			out[escaped.ReplaceAllString(key, "$1")] = escaped.ReplaceAllString(said, "$1")
		}
	}
	if len(out) < 1000 || strings.Contains(strings.Join(slices.Collect(maps.Keys(out)), ""), "\n") {
		t.Fatalf("%d texts of the console in %s", len(out), lang)
	}
	return out
}
