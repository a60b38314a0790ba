package openapi

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

// writeCollection describes one resource: its rows, what a write takes, and the
// operations that the role has. What operations share is written once: the
// columns, the filters, the answer with rows.
func (w *writing) writeCollection(r *catalog.Resource) {
	ops, one := w.listOperations(r), w.recordOperations(r)
	if len(ops) == 0 {
		return
	}
	w.tags[r.Name] = r.Doc
	columns, required := columnsSchema(r, w.role)
	if ops["post"] == nil && ops["patch"] == nil {
		columns["readOnly"] = true // the server keeps all of it
		for _, column := range columns["properties"].(object) {
			delete(column.(object), "readOnly")
		}
	}
	w.schemas[r.Name+".columns"] = columns
	w.schemas[r.Name] = rowSchema(r, w.role, required)
	w.responses[r.Name] = answerObject("Rows.", object{"type": "array", "items": schemaRef(r.Name)})
	if ops["patch"] != nil {
		w.bodies[r.Name] = bodyOf(schemaRef(r.Name+".columns"), updateExample(r, w.role))
	}
	ops["parameters"] = ofPath(ops, "rows", "prefer")
	w.paths["/v1/"+r.Name] = ops
	if len(one) > 0 {
		w.responses[r.Name+".one"] = answerObject("The record.", schemaRef(r.Name))
		one["parameters"] = ofPath(one, "id", "select", "prefer")
		w.paths["/v1/"+r.Name+"/{id}"] = one
	}
}

// ofPath are the parameters that all operations of a path have, said once; the
// key of writes among them, which reads pass over.
func ofPath(ops object, names ...string) []any {
	if ops["post"] != nil || ops["patch"] != nil || ops["delete"] != nil {
		names = append(names, "key")
	}
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = parameterRef(name)
	}
	return out
}

// rowSchema is a row as it is read: every column is there.
func rowSchema(r *catalog.Resource, role actor.Role, required []string) object {
	all := []any{schemaRef(r.Name + ".columns")}
	if hasCommon(r, role) {
		all = append(all, schemaRef("WholeRow"))
		required = slices.DeleteFunc(required, func(name string) bool { return slices.Contains(commonColumns, name) })
	}
	return object{"allOf": all, "required": required}
}

// requiredColumns are the columns that a new record must give.
func requiredColumns(r *catalog.Resource) []string {
	out := []string{}
	for i := range r.Fields {
		if r.Fields[i].Made() == catalog.ByCaller {
			out = append(out, r.Fields[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// columnsSchema describes the columns of a resource that the role sees, and
// lists them all: a row has each. A write gives some of those that are not
// readOnly. Members named x- tell what a generic client needs besides: family,
// unique keys, states, and for a column what it refers to, that it is set at
// creation only (x-fixed), and who sees it where that is not everybody.
func columnsSchema(r *catalog.Resource, role actor.Role) (schema object, required []string) {
	props, common := object{}, hasCommon(r, role)
	for i := range r.Fields {
		f := &r.Fields[i]
		if !f.Visible(role) {
			continue
		}
		required = append(required, f.Name)
		if !common || !slices.Contains(commonColumns, f.Name) {
			props[f.Name] = columnSchema(f)
		}
	}
	slices.Sort(required)
	s := object{"type": "object", "properties": props}
	if common {
		s = extendSchema(s, "CommonColumns")
	}
	if len(r.Unique) > 0 {
		s["x-unique"] = r.Unique
	}
	if r.States != nil {
		s["x-transitions"] = transitionTable(r.States)
	}
	return s, required
}

// hasCommon reports a resource that shows the role all common columns.
func hasCommon(r *catalog.Resource, role actor.Role) bool {
	for _, name := range commonColumns {
		if f, ok := r.Field(name); !ok || !f.Visible(role) {
			return false
		}
	}
	return true
}

// columnSchema describes a column. It refers to no part of another schema: generators of
// clients resolve references to whole schemas alone.
func columnSchema(f *catalog.Field) object {
	if f.Name == "archived_at" {
		return schemaRef(f.Name)
	}
	return fieldSchema(f)
}

// commonColumns are the columns that records have in common.
var commonColumns = []string{"id", "tenant_id", "created_at", "updated_at", "created_by", "version"}

// schemasOf describes columns that are the same wherever they stand.
func schemasOf(names ...string) object {
	r, _ := catalog.Default().Get("zones")
	props := object{}
	for _, name := range names {
		if f, ok := r.Field(name); ok {
			props[name] = fieldSchema(f)
		}
	}
	return props
}

// transitionTable are the moves of a state machine. A move that does not name its
// roles is for those of the machine, one with none is the server's own.
func transitionTable(st *catalog.States) object {
	often, most := map[string]int{}, []actor.Role{}
	for _, m := range st.Moves {
		key := fmt.Sprint(m.Roles)
		if often[key]++; often[key] > often[fmt.Sprint(most)] {
			most = append([]actor.Role{}, m.Roles...)
		}
	}
	moves := make([]any, 0, len(st.Moves))
	for i, m := range st.Moves {
		alike := func(o catalog.Move) bool { return o.To == m.To && slices.Equal(o.Roles, m.Roles) }
		if slices.ContainsFunc(st.Moves[:i], alike) {
			continue
		}
		from := []string{}
		for _, o := range st.Moves[i:] {
			if alike(o) {
				from = append(from, o.From...)
			}
		}
		move := object{"from": from, "to": m.To}
		if !slices.Equal(m.Roles, most) {
			move["roles"] = append([]actor.Role{}, m.Roles...)
		}
		moves = append(moves, move)
	}
	return object{"field": st.Field, "initial": st.Initial, "roles": most, "moves": moves}
}

func fieldSchema(f *catalog.Field) object {
	s := f.Describe()
	if f.Names != "" && !f.ReadOnly {
		s.Doc = strings.TrimSuffix(s.Doc, ".") + ". Names " + spacedName(f.Names) + " by " + catalog.NamedBy(f.Names) + "."
	}
	s.Null = s.Null || len(f.Readers) > 0
	if s.Title == catalog.Label(f.Name) || s.Doc == s.Title+"." {
		s.Title = "" // what the name says
	}
	schema := s.Schema()
	if f.Doc == "" && f.Ref != "" {
		delete(schema, "description") // x-ref says it
	}
	for name, v := range map[string]string{"x-ref": f.Ref, "x-names": f.Names} {
		if v != "" {
			schema[name] = v
		}
	}
	if len(f.Readers) > 0 {
		schema["x-readers"] = f.Readers
	}
	if f.ReadOnly {
		schema["readOnly"] = true
	}
	if f.Fixed {
		schema["x-fixed"] = true
	}
	return schema
}

// insertExample has what a new record must give.
func insertExample(r *catalog.Resource) object {
	o := object{}
	for i := range r.Fields {
		f := &r.Fields[i]
		// where something else in the record says it
		found := f.Filled && f.Type == catalog.Text && f.Format != catalog.Number
		if f.Made() != catalog.ByCaller && !found {
			continue
		}
		s := f.Describe()
		o[f.Name] = s.Example()
		if s.Kind == schema.Text && len(s.OneOf) == 0 && s.Format == "" {
			o[f.Name] = "example"
		}
	}
	return o
}

// updateExample changes one column that may be changed.
func updateExample(r *catalog.Resource, role actor.Role) object {
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Made() == catalog.ByServer || f.Fixed || f.Type != catalog.Text || len(f.OneOf) > 0 || f.Ref != "" ||
			!f.Settable(role) {
			continue
		}
		return object{f.Name: "example"}
	}
	return object{}
}

func (w *writing) mayUse(grants []catalog.Grant) bool {
	_, ok := catalog.Find(grants, w.role)
	return ok
}

// insertSchema is the schema of a row to be created: its columns, and which of them
// must be given.
func (w *writing) insertSchema(r *catalog.Resource) object {
	columns, names := schemaRef(r.Name+".columns"), requiredColumns(r)
	if len(names) == 0 {
		return columns
	}
	w.schemas[r.Name+".insert"] = object{"allOf": []any{columns}, "required": names}
	return schemaRef(r.Name + ".insert")
}

func (w *writing) listOperations(r *catalog.Resource) object {
	ops := object{}
	rows := object{"$ref": "#/components/responses/" + r.Name}
	if w.mayUse(r.Access.Read) {
		ops["get"] = operationObject(r, "list", "List rows", nil, nil, object{"200": rows})
	}
	if w.mayUse(r.Access.Create) {
		insert := w.insertSchema(r)
		w.bodies[r.Name+".insert"] = bodyOf(object{"oneOf": []any{insert, object{"type": "array", "items": insert}}},
			insertExample(r))
		body := object{"$ref": "#/components/requestBodies/" + r.Name + ".insert"}
		ops["post"] = operationObject(r, "insert", "Create rows", nil, body, object{"2XX": rows})
		ops["put"] = operationObject(r, "put", "Upsert a row", nil, body, object{"2XX": rows})
	}
	if w.mayUse(r.Access.Update) && !r.AppendOnly {
		ops["patch"] = operationObject(r, "update", "Change rows", nil, changeBody(r), object{"2XX": rows})
	}
	if w.mayUse(r.Access.Delete) && !r.AppendOnly {
		ops["delete"] = operationObject(r, "delete", "Delete rows", nil, nil, object{"2XX": rows})
	}
	return ops
}

func (w *writing) recordOperations(r *catalog.Resource) object {
	ops := object{}
	one := object{"$ref": "#/components/responses/" + r.Name + ".one"}
	if w.mayUse(r.Access.Read) {
		ops["get"] = operationObject(r, "get_one", "Read a row", nil, nil, object{"200": one})
	}
	if w.mayUse(r.Access.Update) && !r.AppendOnly {
		ops["patch"] = operationObject(r, "update_one", "Change a row", nil, changeBody(r), object{"2XX": one})
	}
	if w.mayUse(r.Access.Delete) && !r.AppendOnly {
		ops["delete"] = operationObject(r, "delete_one", "Delete a row", nil, nil, object{"2XX": one})
	}
	return ops
}

// changeBody is the body of a change.
func changeBody(r *catalog.Resource) object {
	return object{"$ref": "#/components/requestBodies/" + r.Name}
}

func bodyOf(schema, example object) object {
	return object{"required": true, "content": object{"application/json": object{"schema": schema, "example": example}}}
}

func operationObject(r *catalog.Resource, verb, summary string, params []any, body, responses object) object {
	responses["4XX"] = responseRef("Error")
	op := object{"operationId": verb + "_" + r.Name, "summary": summary,
		"description": summary + " of " + spacedName(r.Name) + ".", "tags": []string{r.Name}, "responses": responses}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if body != nil {
		op["requestBody"] = body
	}
	return op
}
