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
		out[strings.ToLower(bare(strings.TrimSpace(name)))] = true
	}
	return out
}

// bare is an attribute's name without its schema's.
func bare(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, schemaUser+":"), schemaGroup+":")
}

// holds reports whether an answer has the attribute, or a part of it.
func (s selection) holds(name string) bool {
	if s.only == nil {
		return !s.without[name]
	}
	return s.only[name] || len(parts(s.only, name)) > 0
}

// parts are the names in set of the parts of a complex attribute.
func parts(set map[string]bool, name string) map[string]bool {
	out := map[string]bool{}
	for k := range set {
		if part, ok := strings.CutPrefix(k, name+"."); ok {
			out[part] = true
		}
	}
	return out
}

// of returns what an answer has of a resource. Every resource has id and schemas.
func (s selection) of(resource any) (any, error) {
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
		case !s.holds(name):
			delete(m, k)
		default:
			s.cut(name, v)
		}
	}
	return m, nil
}

// cut takes from a complex value, or from each of several, the parts that were
// not asked for.
func (s selection) cut(name string, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			s.cut(name, x)
		}
	case map[string]any:
		keep, drop := parts(s.only, name), parts(s.without, name)
		for k := range v {
			if part := strings.ToLower(k); drop[part] || s.only != nil && !keep[part] {
				delete(v, k)
			}
		}
	}
}
