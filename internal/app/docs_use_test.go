package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

var (
	// proseBreaks ends a sentence of a page that has no code in it.
	proseBreaks = regexp.MustCompile(`[.?!:]\s+|\n\s*\n|\n[0-9]+\. |\n- `)
	// noProse are the lines of headings and tables.
	noProse = regexp.MustCompile(`(?m)^(#|\|).*$`)
	quoted  = regexp.MustCompile(`"([^"]+)"`)
)

// Pages for people at work are short, and so are their sentences: half of them have sixteen words
// at most, and none has more than thirty. What stands in quotation marks is a text of the console.
func TestDocsForPeopleAtWork(t *testing.T) {
	pages, err := filepath.Glob("../../docs/use/*.md")
	testkit.Must(t, err)
	if len(pages) < 2 {
		t.Fatalf("pages for people at work: %q", pages)
	}
	texts := readTexts(t)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		testkit.Must(t, err)
		if len(text) > 8<<10 {
			t.Errorf("%s has %d bytes", page, len(text))
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(texts, "'"+m[1]) {
				t.Errorf("%s: the console says nowhere %q", page, m[1])
			}
		}
		var lengths []int
		for _, sentence := range proseBreaks.Split(noProse.ReplaceAllString(string(text), ""), -1) {
			words := len(strings.Fields(sentence))
			if words > 30 {
				t.Errorf("%s: %d words: %s", page, words, sentence)
			}
			if words > 0 {
				lengths = append(lengths, words)
			}
		}
		slices.Sort(lengths)
		if median := lengths[len(lengths)/2]; median > 16 {
			t.Errorf("%s: half of the sentences have more than %d words", page, median)
		}
	}
}

// readTexts reads the texts of the console, as they are translated.
func readTexts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../console/src/texts/de*.ts")
	testkit.Must(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		all.Write(text)
	}
	return all.String()
}
