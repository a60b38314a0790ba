package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/cache"
	"holdfast/internal/catalog"
	"holdfast/internal/event"
	"holdfast/internal/schema"
	"holdfast/internal/web"
)

// described is a collection as GET /v1/catalog tells it.
type described struct {
	Name       string           `json:"name"`
	Doc        string           `json:"doc"`
	Family     string           `json:"family"`
	Fields     []describedField `json:"fields"`
	Unique     [][]string       `json:"unique,omitempty"` // each per tenant
	States     *describedStates `json:"states,omitempty"`
	Children   []describedChild `json:"children,omitempty"` // collections whose records point here
	Import     *describedImport `json:"import,omitempty"`
	Archives   bool             `json:"archives,omitempty"`
	AppendOnly bool             `json:"append_only,omitempty"`
}

// describedEvent is a type of event that a webhook may choose.
type describedEvent struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// describedSetting is a key of collection settings.
type describedSetting struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Doc     string `json:"doc"`
	Wants   string `json:"wants"`  // what a value has to be, in words
	Absent  string `json:"absent"` // what holds where it is not set: JSON, or words
	// Value is what a value is made of, as a field of a form.
	Value describedField `json:"value"`
}

type describedField struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Format   string   `json:"format,omitempty"`
	Label    string   `json:"label"`
	Doc      string   `json:"doc,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Default  string   `json:"default,omitempty"`
	OneOf    []string `json:"one_of,omitempty"`
	Codes    string   `json:"codes,omitempty"` // list of which one_of are the codes
	Min      string   `json:"min,omitempty"`
	Max      string   `json:"max,omitempty"`
	MaxLen   int      `json:"max_len,omitempty"`
	Ref      string   `json:"ref,omitempty"`
	Names    string   `json:"names,omitempty"`
	Required bool     `json:"required,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Fixed    bool     `json:"fixed,omitempty"`

	// Of a document in a column: whether it is a list, and what it, or each element, is made of.
	List  bool             `json:"list,omitempty"`
	Parts []describedField `json:"parts,omitempty"`
}

type describedStates struct {
	Field   string          `json:"field"`
	Initial []string        `json:"initial"`
	Moves   []describedMove `json:"moves"`
}

type describedMove struct {
	From []string `json:"from"`
	To   string   `json:"to"`
}

type describedChild struct {
	Collection string `json:"collection"`
	Column     string `json:"column"`
}

type describedImport struct {
	Key    []string `json:"key"`
	Fields []string `json:"fields"`
}

var formatNames = map[catalog.Format]string{catalog.Name: "name", catalog.Code: "code", catalog.Number: "number",
	catalog.Email: "email", catalog.GTIN: "gtin",
	catalog.IANA: "timezone", catalog.Country: "country", catalog.Money: "currency"}

// Description serves GET /v1/catalog: every collection with its fields, types,
// units, states and references, and every setting, for clients that make lists and forms of them.
// It says the same to everybody; what a member may do is in /v1/permissions.
func Description(c *catalog.Catalog) (http.Handler, error) {
	list := make([]described, 0, len(c.All()))
	for _, r := range c.All() {
		list = append(list, describeResource(r))
	}
	settings := make([]describedSetting, 0, 48)
	for _, x := range catalog.TenantSettings() {
		value := viewMember(&schema.Member{Name: x.Key, Shape: x.Value})
		settings = append(settings, describedSetting{x.Section, x.Key, x.Doc, x.Wants, x.Absent, value})
	}
	events := make([]describedEvent, 0, len(event.Names()))
	for _, t := range event.Types() {
		events = append(events, describedEvent{t.Name, t.Doc})
	}
	b, err := json.Marshal(map[string]any{"collections": list, "settings": settings, "events": events})
	if err != nil {
		return nil, fmt.Errorf("api: describe the catalog: %w", err)
	}
	body := cache.NewBody(b, time.Now())
	return web.Wrap(route.CollectionShape, func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Etag"] = body.Tag()
		if web.HasTag(r.Header["If-None-Match"], body.Tag()[0]) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return writeJSON(w, r, body.Plain(), body.Gzip)
	}), nil
}

func describeResource(r *catalog.Resource) described {
	out := described{Name: r.Name, Doc: r.Doc, Family: r.Family, Unique: r.Unique, Archives: r.Archives,
		AppendOnly: r.AppendOnly}
	for i := range r.Fields {
		out.Fields = append(out.Fields, viewField(&r.Fields[i]))
	}
	for _, rel := range r.Relations() {
		if rel.To == r.Name {
			out.Children = append(out.Children, describedChild{rel.From, rel.Column})
		}
	}
	if s := r.States; s != nil {
		out.States = &describedStates{Field: s.Field, Initial: s.Initial, Moves: []describedMove{}}
		for _, m := range s.Moves {
			out.States.Moves = append(out.States.Moves, describedMove{m.From, m.To})
		}
	}
	if r.Import != nil {
		out.Import = &describedImport{Key: r.Import.Key, Fields: r.Import.Fields}
	}
	return out
}

func viewField(f *catalog.Field) describedField {
	d := describedField{Name: f.Name, Type: f.Type.String(), Format: formatNames[f.Format],
		Label: f.Label, Doc: f.Doc, Unit: f.Unit, Default: f.Default,
		OneOf: f.OneOf, Codes: f.Codes, Min: f.Min, Max: f.Max, MaxLen: f.MaxLen, Ref: f.Ref, Names: f.Names,
		Required: f.Required, ReadOnly: f.ReadOnly, Fixed: f.Fixed}
	if f.Shape != nil && !f.ReadOnly {
		d.List, d.Parts = viewParts(f.Shape)
	}
	return d
}

// viewParts describes the members of a document, or of the elements of a list of them.
func viewParts(s *schema.Shape) (isList bool, parts []describedField) {
	if s.Kind == schema.List {
		_, parts = viewParts(s.Of)
		return true, parts
	}
	for i := range s.Members {
		parts = append(parts, viewMember(&s.Members[i]))
	}
	return false, parts
}

// viewMember describes one member of a document as a field is described.
func viewMember(m *schema.Member) describedField {
	d := describedField{Name: m.Name, Type: partType(&m.Shape), Doc: m.Doc, Unit: m.Unit, OneOf: m.OneOf,
		Min: m.Min, Max: m.Max, Required: m.Required}
	d.List, d.Parts = viewParts(&m.Shape)
	if d.Type == catalog.Array.String() && len(d.OneOf) == 0 {
		d.OneOf = m.Of.OneOf
	}
	return d
}

// partType is the type of a field that holds what a member of a document does.
func partType(s *schema.Shape) string {
	switch {
	case s.Kind == schema.Text && s.Format == "uuid":
		return catalog.UUID.String()
	case s.Kind == schema.Text:
		return catalog.Text.String()
	case s.Kind == schema.Integer:
		return catalog.Int.String()
	case s.Kind == schema.Number:
		return catalog.Float.String()
	case s.Kind == schema.Bool:
		return catalog.Bool.String()
	case s.Kind == schema.List && s.Of.Kind == schema.Text:
		return catalog.Array.String()
	}
	return catalog.JSON.String()
}
