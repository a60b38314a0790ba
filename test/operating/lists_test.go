package operating_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/testkit/program"
)

// listRows are one row of each collection that has a list of free texts, as a
// person makes it. "tenants" has its row from the beginning.
var listRows = map[string]map[string]any{
	"carriers": {"code": "DHL", "name": "DHL"},
	"checklist_templates": {"code": "WALK", "title": "Walk", "sections": []any{map[string]any{
		"title": "Aisles", "items": []any{map[string]any{"key": "clear", "prompt": "Clear?", "type": "yes_no_na"}}}}},
	"courses":   {"code": "FORK", "title": "Forklift"},
	"orders":    {"party_name": "Receiver"},
	"shipments": {"direction": "outbound"},
	"zones":     {"code": "BIN", "name": "Bin"},
}

// freeLists are the lists of the catalog that a caller sets and that took any
// text as an element. The photos of an answer are none: each must be a photo of
// the inspection. Units of the risk register are younger than the mistake.
func freeLists() (fields [][2]string) {
	for _, r := range catalog.Default().All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			free := f.Type == catalog.Array && !f.ReadOnly && len(f.OneOf) == 0 && f.Names == ""
			if free && r.Name != "checklist_answers" && r.Name != "webhooks" && r.Name != "work_units" {
				fields = append(fields, [2]string{r.Name, f.Name})
			}
		}
	}
	return fields
}

// A list that the console stored with the text "[]" in it loses that text when
// the database is brought up to date, and keeps its other elements.
func TestEmptyListsAreMended(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		v := s.Serve()
		bearer := v.Token("jo@acme.example", program.Passphrase)
		for name, row := range listRows {
			if r := v.Call("POST", "/v1/"+name, bearer, row); r.Status != 201 {
				s.Fatalf("%s: %d %s", name, r.Status, r.Body)
			}
		}
		v.Stop()

		fields := freeLists()
		for _, c := range []struct{ stored, want string }{
			{`["[]"]`, `[]`},
			{`["[]","one"]`, `["one"]`},
			{`["one","[]"]`, `["one"]`},
			{`["[]","one","[]","two"]`, `["one","two"]`},
			{`["x\"[]","[]","\"[]\",","[] "]`, `["x\"[]","\"[]\",","[] "]`},
			{`["[x]"]`, `["[x]"]`},
		} {
			for _, f := range fields {
				s.Write("UPDATE "+f[0]+" SET "+f[1]+" = $1", c.stored)
			}
			s.Write("DELETE FROM schema_migrations WHERE version >= 5")
			s.Exec("migrate")
			for _, f := range fields {
				got := s.Texts("SELECT " + f[1] + " FROM " + f[0])
				if len(got) == 0 || slices.ContainsFunc(got, func(text string) bool { return text != c.want }) {
					s.Errorf("%s of %s: %s became %s, want %s", f[1], f[0], c.stored, strings.Join(got, " "), c.want)
				}
			}
		}
	})
}
