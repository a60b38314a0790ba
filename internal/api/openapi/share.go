package openapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// shareBodies writes bodies and answers once that several operations outside the
// collections have alike, under the id of the first of them.
func (w *writing) shareBodies() {
	w.dropPlainDescriptions()
	w.shareParameters()
	w.shareMembers(func(m property) string { return m.name })
	w.shareMembers(property.schemaFormat)
	for member, into := range map[string]object{"requestBody": w.bodies, "2XX": w.responses} {
		found := map[string][]func(object){}
		names := map[string]string{}
		for _, path := range slices.Sorted(maps.Keys(w.paths)) {
			w.noteRepeats(path, member, found, names)
		}
		kind := map[string]string{"requestBody": "requestBodies", "2XX": "responses"}[member]
		for text, places := range found {
			if !isShorterShared(len(places), len(text), len(names[text])) {
				continue
			}
			into[names[text]] = json.RawMessage(text)
			for _, set := range places {
				set(object{"$ref": "#/components/" + kind + "/" + names[text]})
			}
		}
	}
}

// shareParameters writes parameters once that several operations have alike,
// under their names.
func (w *writing) shareParameters() {
	type place struct {
		list []any
		at   int
	}
	found := map[string][]place{}
	for _, path := range slices.Sorted(maps.Keys(w.paths)) {
		item, _ := w.paths[path].(object)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			op, _ := item[method].(object)
			list, _ := op["parameters"].([]any)
			for i, p := range list {
				if text, err := json.Marshal(p); err == nil && p.(object)["$ref"] == nil {
					found[string(text)] = append(found[string(text)], place{list, i})
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(found)) {
		places := found[text]
		first, _ := places[0].list[places[0].at].(object)
		name, _ := first["name"].(string)
		if len(places) < 2 || w.params[name] != nil {
			continue
		}
		w.params[name] = first
		for _, p := range places {
			p.list[p.at] = parameterRef(name)
		}
	}
}

// shareMembers writes members of schemas once that many have alike, columns and
// members of requests and answers, under their names: shared.item_id; alone some of
// them would be words of a language that clients are written in: file, any, open.
// shared.item_id.2 is another of the name, such as one that may be null. What has the
// same form under several names is then written under its kind: date-time. The
// longest come first, so that what holds others takes them along.
func (w *writing) shareMembers(called func(property) string) {
	found := map[string][]property{}
	for _, tree := range []object{w.schemas, w.bodies, w.responses, w.paths} {
		visitMembers(tree, func(m property) {
			if text, err := json.Marshal(m.of[m.name]); err == nil && m.schemaObject()["$ref"] == nil && called(m) != "" {
				key := called(m) + " " + string(text)
				found[key] = append(found[key], m)
			}
		})
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	for _, key := range keys {
		places := found[key]
		first := "shared." + called(places[0])
		name := first
		if !isShorterShared(len(places), len(key)-len(name), len(name)) {
			continue
		}
		for n := 2; w.schemas[name] != nil; n++ {
			name = first + "." + strconv.Itoa(n)
		}
		w.schemas[name] = places[0].of[places[0].name]
		for _, p := range places {
			p.of[p.name] = schemaRef(name)
		}
	}
}

// property is one of a schema's properties.
type property struct {
	of   object
	name string
}

func (m property) schemaObject() object {
	s, _ := m.of[m.name].(object)
	return s
}

// schemaFormat is the format of a schema that says nothing of its own; "" of any other,
// which has no name but that of its member.
func (m property) schemaFormat() string {
	s := m.schemaObject()
	kind, _ := s["format"].(string)
	if s["description"] != nil {
		return ""
	}
	return kind
}

// visitMembers calls each with the members of all schemas below a value, inner ones
// behind those that hold them, in an order that is always the same.
func visitMembers(v any, each func(property)) {
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if properties, ok := v[key].(object); ok && key == "properties" {
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					each(property{properties, name})
				}
			}
			visitMembers(v[key], each)
		}
	case []any:
		for _, x := range v {
			visitMembers(x, each)
		}
	}
}

// dropPlainDescriptions leaves out descriptions of members that say their names again, "The
// shipment." of shipment_id too.
func (w *writing) dropPlainDescriptions() {
	for _, tree := range []object{w.schemas, w.bodies, w.responses, w.paths} {
		visitMembers(tree, func(m property) {
			s := m.schemaObject()
			doc, _ := s["description"].(string)
			said := strings.TrimSuffix(doc, ".")
			for _, article := range []string{"The ", "Its ", "A ", "An "} {
				said = strings.TrimPrefix(said, article)
			}
			if name := spacedName(m.name); strings.EqualFold(said, name) ||
				strings.EqualFold(said, strings.TrimSuffix(name, " id")) {
				delete(s, "description")
			}
		})
	}
}

// isShorterShared reports whether n texts are longer than one of them and n references
// to it by a name.
func isShorterShared(n, text, name int) bool {
	const reference = len(`{"$ref":"#/components/schemas/"}`)
	return n*text > text+name+n*(reference+name)
}

// noteRepeats notes the bodies, or the successful answers, of a path by their text,
// each with what puts another in its place.
func (w *writing) noteRepeats(path, member string, found map[string][]func(object), names map[string]string) {
	item, _ := w.paths[path].(object)
	for _, method := range slices.Sorted(maps.Keys(item)) {
		op, ok := item[method].(object)
		if !ok {
			continue
		}
		holder, keys := op, []string{member}
		if member == "2XX" {
			holder, _ = op["responses"].(object)
			keys = slices.DeleteFunc(slices.Sorted(maps.Keys(holder)), func(status string) bool { return status[0] != '2' })
		}
		for _, key := range keys {
			value, ok := holder[key].(object)
			if !ok || value["$ref"] != nil || value["content"] == nil {
				continue
			}
			text, err := json.Marshal(value)
			if err != nil {
				continue
			}
			if names[string(text)] == "" {
				names[string(text)], _ = op["operationId"].(string)
			}
			found[string(text)] = append(found[string(text)], func(reference object) { holder[key] = reference })
		}
	}
}
