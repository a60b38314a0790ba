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
				if !containsText(f.OneOf, s) {
					t.Errorf("%s: state %q is not one of %v", r.Name, s, f.OneOf)
				}
			}
		}
		if !containsText(f.OneOf, r.States.Initial[0]) || f.Default != "" && f.Default != r.States.Initial[0] {
			t.Errorf("%s: initial %v, default %q", r.Name, r.States.Initial, f.Default)
		}
	}
}

// An id that callers may set is checked: by a foreign key, by what it names, or
// by an effect that knows more.
func TestIDsAreChecked(t *testing.T) {
	elsewhere := map[string]string{
		"members.user_id":        "is the membership itself: package identity",
		"actions.source_id":      "looked up by its source: package safety",
		"stock_movements.ref_id": "what the caller's own system calls the cause",
	}
	for _, r := range Default().All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			if f.Type != UUID || f.ReadOnly || f.Name == "id" || f.Name == "tenant_id" || f.Ref != "" || f.Names != "" {
				continue
			}
			if name := r.Name + "." + f.Name; elsewhere[name] == "" {
				t.Errorf("%s: nothing checks what it names", name)
			}
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
