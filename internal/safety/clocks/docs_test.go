package clocks

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/clocks.md says of every rule which accidents it is about, from when it runs and
// what stops it, in the words of the rule.
func TestDocsClocks(t *testing.T) {
	const path, begin, end = "../../../docs/clocks.md", "<!-- clocks: TestDocsClocks -->\n", "<!-- /clocks -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	was, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the rules", path)
	}
	table := "| code | which accidents | from | time | to whom | what stops it | where it is written |\n|---|---|---|---|---|---|---|\n"
	for i := range rules {
		r := &rules[i]
		table += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", r.Code, r.Trigger, r.Base, r.describeTime(),
			strings.Join(r.Recipients, ", "), r.MetBy, r.Citation)
	}
	if os.Getenv("HOLDFAST_WRITE_CLOCKS") != "" {
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != table {
		t.Errorf("%s does not say what the rules say: HOLDFAST_WRITE_CLOCKS=1 go test ./internal/safety/clocks -run TestDocsClocks", path)
	}
}

func (r *Rule) describeTime() string {
	switch r.Unit {
	case AtOnce:
		return "without delay"
	case NoPeriod:
		return "recorded, no end"
	case Days:
		return fmt.Sprintf("%d days, to the end of the last", r.Length)
	case ClearDays:
		return fmt.Sprintf("%d clear days; a right, never a breach", r.Length)
	}
	text := fmt.Sprintf("%d hours", r.Length)
	if r.Calendar == FrenchWorked {
		text += ", not on Sundays and public holidays"
	}
	return text
}

// What a mail prints of a rule says nothing about anybody's health.
func TestCitationsAreNeutral(t *testing.T) {
	for _, rule := range rules {
		for _, word := range []string{"death", "fatal", "tödlich", "schwer", "mort", "décès", "injur"} {
			if strings.Contains(strings.ToLower(rule.Citation), word) {
				t.Errorf("%s: the citation says %q: %s", rule.Code, word, rule.Citation)
			}
		}
	}
}
