package sso

import (
	"encoding/json"
	"holdfast/internal/api/route"
	"strings"

	"holdfast/internal/fault"
)

// selection is which attributes of a resource an answer holds (RFC 7644 section
// 3.9), by their names in lower case; a part of a complex one is name.part.
type selection struct {
	only, without map[string]bool // nil = all, none
}

func parseSelection(c *route.Call) (selection, error) {
	v := c.URL.Query()
	s := selection{attributeNames(v.Get("attributes")), attributeNames(v.Get("excludedAttributes"))}
	if s.only != nil && s.without != nil {
		return s, fault.New(fault.Invalid, "invalidValue", "attributes and excludedAttributes exclude one another")
	}
	return s, nil
}

func attributeNames(list string) map[string]bool {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	out := map[string]bool{}
	for _, name := range strings.Split(list, ",") {
		out[strings.ToLower(bareName(strings.TrimSpace(name)))] = true
	}
	return out
}

// bareName is an attribute's name without its schema's.
func bareName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, schemaUser+":"), schemaGroup+":")
}

// isSelected reports whether an answer has the attribute, or a part of it.
func (s selection) isSelected(name string) bool {
	if s.only == nil {
		return !s.without[name]
	}
	return s.only[name] || len(partNames(s.only, name)) > 0
}

// partNames are the names in set of the parts of a complex attribute.
func partNames(set map[string]bool, name string) map[string]bool {
	out := map[string]bool{}
	for k := range set {
		if part, ok := strings.CutPrefix(k, name+"."); ok {
			out[part] = true
		}
	}
	return out
}

// selectFrom returns what an answer has of a resource. Every resource has id and schemas.
func (s selection) selectFrom(resource any) (any, error) {
	if s.only == nil && s.without == nil {
		return resource, nil
	}
	b, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	for k, v := range m {
		switch name := strings.ToLower(k); {
		case name == "id" || name == "schemas" || s.only[name]:
		case !s.isSelected(name):
			delete(m, k)
		default:
			s.cutParts(name, v)
		}
	}
	return m, nil
}

// cutParts takes from a complex value, or from each of several, the parts that were
// not asked for.
func (s selection) cutParts(name string, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			s.cutParts(name, x)
		}
	case map[string]any:
		keep, drop := partNames(s.only, name), partNames(s.without, name)
		for k := range v {
			if part := strings.ToLower(k); drop[part] || s.only != nil && !keep[part] {
				delete(v, k)
			}
		}
	}
}
