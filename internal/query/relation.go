package query

import (
	"fmt"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/suggest"
)

// link is one way a name can lead from a resource to another.
type link struct {
	rel     catalog.Relation
	forward bool // the origin holds the foreign key
	listed  bool // the origin holds an array of ids
}

func (l link) targetResource() string {
	if l.forward || l.listed {
		return l.rel.To
	}
	return l.rel.From
}

func (l link) hasMany() bool { return !l.forward && !l.rel.Unique }

// findLinks finds what an embed's name may mean: the other collection, the foreign
// key's name, or the origin's column, which may be an array of ids. A self relation is the children by the
// collection's name and the parent by the column.
func findLinks(r *catalog.Resource, name, hint string) []link {
	var out []link
	for _, rel := range r.Relations() {
		self := rel.From == rel.To
		if rel.From == r.Name && (name == rel.Column || name == rel.Name || !self && name == rel.To) {
			out = append(out, link{rel: rel, forward: true})
		}
		if rel.To == r.Name && (name == rel.From || !self && name == rel.Name) {
			out = append(out, link{rel: rel})
		}
	}
	for _, rel := range r.Arrays() {
		if name == rel.Column || name == rel.Name || name == rel.To {
			out = append(out, link{rel: rel, listed: true})
		}
	}
	if hint == "" {
		return out
	}
	kept := out[:0]
	for _, l := range out {
		if hint == l.rel.Name || hint == l.rel.Column || hint == l.targetResource() {
			kept = append(kept, l)
		}
	}
	return kept
}

func resolveLink(r *catalog.Resource, name, hint string) (link, error) {
	found := findLinks(r, name, hint)
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) == 0 {
		e := fault.New(fault.Invalid, "PGRST200", "no relation between %q and %q", r.Name, clipText(name))
		if hint != "" {
			e.Details = fmt.Sprintf("searched with the hint %q", clipText(hint))
		}
		if near := suggest.Nearest(name, relatedNames(r)); near != "" {
			e.Hint = fmt.Sprintf("perhaps %q is meant", near)
		}
		return link{}, e
	}
	return link{}, refuseAmbiguous(r, name, found)
}

func relatedNames(r *catalog.Resource) []string {
	var out []string
	for _, rel := range r.Relations() {
		if rel.From == r.Name {
			out = append(out, rel.To)
		} else {
			out = append(out, rel.From)
		}
	}
	for _, rel := range r.Arrays() {
		out = append(out, rel.To)
	}
	return out
}

// Choice is one reading of an ambiguous embed, as PGRST201's details list it.
type Choice struct {
	Cardinality  string `json:"cardinality"`
	Embedding    string `json:"embedding"`
	Relationship string `json:"relationship"`
}

func refuseAmbiguous(r *catalog.Resource, name string, found []link) error {
	e := fault.New(fault.Ambiguous, "PGRST201", "more than one relation between %q and %q", r.Name, clipText(name))
	var list []Choice
	var hints []string
	for _, l := range found {
		c := Choice{Cardinality: "many-to-one", Embedding: r.Name + " with " + l.targetResource()}
		if l.listed {
			c.Cardinality = "many-to-many"
		} else if !l.forward {
			c.Cardinality = "one-to-many"
		}
		c.Relationship = fmt.Sprintf("%s using %s(%s) and %s(id)", l.rel.Name, l.rel.From, l.rel.Column, l.rel.To)
		list = append(list, c)
		hints = append(hints, fmt.Sprintf("'%s!%s'", l.targetResource(), l.rel.Name))
	}
	e.Data = list
	e.Hint = "name the relation: " + strings.Join(hints, ", ")
	return e
}
