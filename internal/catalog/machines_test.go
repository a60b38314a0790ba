package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machines writes every machine as a table: a line for each step, with who may
// ask for it; a step that nobody may ask for is the server's own.
func machines(c *Catalog) string {
	var b strings.Builder
	for _, r := range c.All() {
		if r.States == nil {
			continue
		}
		fmt.Fprintf(&b, "%s begins as %s\n", r.Name, strings.Join(r.States.Initial, " or "))
		for _, m := range r.States.Moves {
			who := "the server"
			if len(m.Roles) > 0 {
				words := make([]string, len(m.Roles))
				for i, x := range m.Roles {
					words[i] = string(x)
				}
				who = strings.Join(words, " ")
			}
			for _, from := range m.From {
				fmt.Fprintf(&b, "  %-34s %s\n", from+" > "+m.To, who)
			}
		}
	}
	return b.String()
}

// The table in testdata is what the product promises: a step that is added,
// taken away or given to somebody else is a change of it, to be made by hand.
func TestMachines(t *testing.T) {
	want, err := os.ReadFile("testdata/machines.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := machines(Default())
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("(- testdata/machines.txt, + the catalog)\n%s", diff)
	}
}
