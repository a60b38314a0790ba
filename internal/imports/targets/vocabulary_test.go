package targets

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
)

// Each line of the vocabulary speaks of a field that files may give, and each of its
// members is one.
func TestVocabularyIsOfFields(t *testing.T) {
	all := Of(catalog.Default())
	find := func(key string) []*Column {
		var found []*Column
		target, field, _ := strings.Cut(key, ".")
		for name, x := range all {
			if c := x.Column(field); c != nil && name == target {
				found = append(found, c)
			}
			if c := x.Column(key); c != nil {
				found = append(found, c)
			}
		}
		return found
	}
	for key, words := range headerWords() {
		if strings.HasPrefix(key, "@") || strings.HasPrefix(key, "part.") || strings.HasPrefix(key, "every.") {
			continue
		}
		if len(find(key)) == 0 {
			t.Errorf("headers.txt: no file gives %s", key)
		}
		for _, w := range words {
			if w == "" {
				t.Errorf("headers.txt: %s has a word without letters", key)
			}
		}
	}
	for key, members := range memberWords() {
		columns := find(key)
		for word, member := range members {
			known := func(c *Column) bool { return len(c.Field.OneOf) == 0 || slices.Contains(c.Field.OneOf, member) }
			if !slices.ContainsFunc(columns, known) {
				t.Errorf("values.txt: %s is never %s (%s)", key, member, word)
			}
		}
	}
}

// Severities of registers are known by their words, and the levels of the IHM register
// by their Roman numerals (I the least, VI the worst).
func TestSeverity(t *testing.T) {
	c := Of(catalog.Default())["incidents"].Column("severity")
	for in, want := range map[string]string{"I": "low", "II": "low", "III": "medium", "IV": "high", "V": "critical",
		"VI": "critical", "High": "high",
		"Major": "high", "VII": "", "": "", "hoch": "high", "élevée": "high", "Leve": "low", "tödlich": "critical"} {
		if got, _ := cell.Choice(in, c.Field.OneOf, c.Values); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
}
