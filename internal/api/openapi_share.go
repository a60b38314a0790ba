package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/event"
)

// share writes bodies and answers once that several operations outside the
// collections have alike, under the id of the first of them.
func (w *writing) share() {
	w.unsaid()
	w.shareParameters()
	w.shareMembers(func(m property) string { return m.name })
	w.shareMembers(property.kind)
	for member, into := range map[string]object{"requestBody": w.bodies, "2XX": w.responses} {
		found := map[string][]func(object){}
		names := map[string]string{}
		for _, path := range slices.Sorted(maps.Keys(w.paths)) {
			w.repeats(path, member, found, names)
		}
		kind := map[string]string{"requestBody": "requestBodies", "2XX": "responses"}[member]
		for text, places := range found {
			if !shorter(len(places), len(text), len(names[text])) {
				continue
			}
			into[names[text]] = json.RawMessage(text)
			for _, set := range places {
				set(object{"$ref": "#/components/" + kind + "/" + names[text]})
			}
		}
	}
}

// eventColumns has what events tell of records refer to the columns of their
// collections, where that is shorter and the role sees them.
func (w *writing) eventColumns() {
	for _, t := range event.Types() {
		columns, _ := w.schemas[t.Collection+".columns"].(object)
		known, _ := columns["properties"].(object)
		for _, name := range []string{t.Name, t.Collection + ".event"} {
			data, _ := w.schemas[name].(object)
			if props, _ := data["properties"].(object); name == t.Name {
				data, _ = props["data"].(object)
			}
			told, _ := data["properties"].(object)
			for _, field := range t.Fields {
				at := ref(t.Collection + ".columns/properties/" + field)
				if text, err := json.Marshal(told[field]); err == nil && known[field] != nil && len(text) > len(at["$ref"].(string))+len(`{"$ref":""}`) {
					told[field] = at
				}
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
			p.list[p.at] = parameter(name)
		}
	}
}

// shareMembers writes members of schemas once that many have alike, columns and
// members of requests and answers, under their names: item_id, stock_status;
// item_id.2 is another of the name, such as one that may be null. What has the
// same form under several names is then written under its kind: date-time. The
// longest come first, so that what holds others takes them along.
func (w *writing) shareMembers(called func(property) string) {
	found := map[string][]property{}
	for _, tree := range []object{w.schemas, w.bodies, w.responses, w.paths} {
		members(tree, func(m property) {
			if text, err := json.Marshal(m.of[m.name]); err == nil && m.schema()["$ref"] == nil && called(m) != "" {
				key := called(m) + " " + string(text)
				found[key] = append(found[key], m)
			}
		})
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, key := range keys {
		places := found[key]
		first := called(places[0])
		name := first
		if !shorter(len(places), len(key)-len(name), len(name)) {
			continue
		}
		for n := 2; w.schemas[name] != nil; n++ {
			name = first + "." + strconv.Itoa(n)
		}
		w.schemas[name] = places[0].of[places[0].name]
		for _, p := range places {
			p.of[p.name] = ref(name)
		}
	}
}

// property is one of a schema's properties.
type property struct {
	of   object
	name string
}

func (m property) schema() object {
	s, _ := m.of[m.name].(object)
	return s
}

// kind is the format of a schema that says nothing of its own; "" of any other,
// which has no name but that of its member.
func (m property) kind() string {
	s := m.schema()
	kind, _ := s["format"].(string)
	if s["description"] != nil {
		return ""
	}
	return kind
}

// members calls each with the members of all schemas below a value, inner ones
// behind those that hold them, in an order that is always the same.
func members(v any, each func(property)) {
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if properties, ok := v[key].(object); ok && key == "properties" {
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					each(property{properties, name})
				}
			}
			members(v[key], each)
		}
	case []any:
		for _, x := range v {
			members(x, each)
		}
	}
}

// unsaid leaves out descriptions of members that say their names again, "The
// shipment." of shipment_id too.
func (w *writing) unsaid() {
	for _, tree := range []object{w.schemas, w.bodies, w.responses, w.paths} {
		members(tree, func(m property) {
			s := m.schema()
			doc, _ := s["description"].(string)
			said := strings.TrimSuffix(doc, ".")
			for _, article := range []string{"The ", "Its ", "A ", "An "} {
				said = strings.TrimPrefix(said, article)
			}
			if name := words(m.name); strings.EqualFold(said, name) || strings.EqualFold(said, strings.TrimSuffix(name, " id")) {
				delete(s, "description")
			}
		})
	}
}

// shorter reports whether n texts are longer than one of them and n references
// to it by a name.
func shorter(n, text, name int) bool {
	const reference = len(`{"$ref":"#/components/schemas/"}`)
	return n*text > text+name+n*(reference+name)
}

// repeats notes the bodies, or the successful answers, of a path by their text,
// each with what puts another in its place.
func (w *writing) repeats(path, member string, found map[string][]func(object), names map[string]string) {
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
