package app_test

import (
	"testing"

	"holdfast/internal/testkit"
)

// part is a field as /catalog.json describes it, and what a document in it is made of.
type part struct {
	Name, Type string
	ReadOnly   bool `json:"read_only"`
	Required   bool
	List       bool
	Parts      []part
}

// Whoever makes a form of a document in a column reads in /catalog.json what it is made of.
func TestCatalogDescribesDocuments(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var out struct {
			Collections []struct {
				Name   string
				Fields []part
			}
		}
		k.Get("", "/catalog.json").JSON(t, &out)
		fields := map[string]part{}
		for _, c := range out.Collections {
			for _, f := range c.Fields {
				fields[c.Name+"."+f.Name] = f
				if f.ReadOnly && len(f.Parts) > 0 {
					t.Errorf("%s.%s is written by the server and has parts", c.Name, f.Name)
				}
			}
		}
		for name, want := range map[string]struct {
			list  bool
			parts map[string]string
		}{
			"items.barcodes": {true, map[string]string{"value": "text", "type": "text", "uom": "text"}},
			"incidents.entities": {true, map[string]string{"entity_type": "text", "entity_id": "uuid",
				"role": "text"}},
			"incidents.root_causes": {true, map[string]string{"method": "text", "layer": "text", "text": "text",
				"whys": "array"}},
			"orders.ship_to":               {false, map[string]string{"name": "text", "lines": "array", "country": "text"}},
			"shipments.origin":             {false, map[string]string{"lat": "float", "lon": "float"}},
			"badges.rule":                  {false, map[string]string{"at_least": "integer"}},
			"checklist_templates.sections": {true, map[string]string{"title": "text", "items": "json"}},
		} {
			f, types := fields[name], map[string]string{}
			for _, p := range f.Parts {
				types[p.Name] = p.Type
			}
			if f.List != want.list {
				t.Errorf("%s: list %v", name, f.List)
			}
			for member, kind := range want.parts {
				if types[member] != kind {
					t.Errorf("%s.%s: %q, want %q", name, member, types[member], kind)
				}
			}
		}
	})
}
