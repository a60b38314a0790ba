package catalog

import (
	"os"
	"strings"
	"testing"
)

func TestCatalogLinks(t *testing.T) {
	c := Default()
	if _, ok := c.Get("import-jobs"); !ok {
		t.Error("dashed names are accepted")
	}
	if got := c.Nearest("zone"); got != "zones" {
		t.Errorf("Nearest(zone) = %q", got)
	}
	z, _ := c.Get("zones")
	if target, ok := z.ConflictTarget([]string{"code"}); !ok || target != "tenant_id, lower(code)" {
		t.Errorf("target = %q %v", target, ok)
	}
}

// Every state named by a move must be in the field's closed set.
func TestStatesAreInTheirSets(t *testing.T) {
	for _, r := range Default().All() {
		if r.States == nil {
			continue
		}
		f, _ := r.Field(r.States.Field)
		for _, m := range r.States.Moves {
			for _, s := range append(m.From, m.To) {
				if !contains(f.OneOf, s) {
					t.Errorf("%s: state %q is not one of %v", r.Name, s, f.OneOf)
				}
			}
		}
		if !contains(f.OneOf, r.States.Initial[0]) || f.Default != "" && f.Default != r.States.Initial[0] {
			t.Errorf("%s: initial %v, default %q", r.Name, r.States.Initial, f.Default)
		}
	}
}

func TestWriteDDL(t *testing.T) {
	path := os.Getenv("HOLDFAST_WRITE_DDL")
	if path == "" {
		return
	}
	var b strings.Builder
	for _, r := range Default().All() {
		b.WriteString(r.DDL() + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
