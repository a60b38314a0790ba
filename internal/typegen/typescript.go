package typegen

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

// TypeScript returns a module with the type Database that
// createClient<Database>() of supabase-js takes: rows, inserts, updates and
// relations of each collection, arguments and answers of the verbs; and beside
// it EdgeFunctions, arguments and answers of the functions by name.
func TypeScript(src Source) []byte {
	w := &tsWriter{catalog: src.Catalog}
	w.writeLine("// Types of this Holdfast's records, verbs and functions, written by: holdfast gen types ts")
	w.writeLine("")
	w.writeLine("export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[]")
	w.writeLine("")
	w.openBlock("export type Database = {")
	w.writeLine(`__InternalSupabase: { PostgrestVersion: "14.1" }`)
	w.openBlock("public: {")
	w.openBlock("Tables: {")
	for _, r := range src.Catalog.All() {
		w.writeTable(r)
	}
	w.closeBlock("}")
	w.writeLine("Views: { [_ in never]: never }")
	w.writeCalls("Functions", src.Verbs)
	w.writeEnums(src.Catalog)
	w.writeLine("CompositeTypes: { [_ in never]: never }")
	w.closeBlock("}")
	w.closeBlock("}")
	w.writeLine("")
	w.writeLine("/** Arguments and answers of the functions at /functions/v1, by name. */")
	w.edgeFunctions(src.Functions)
	w.b.WriteString(tsAliases)
	return w.b.Bytes()
}

// tsAliases are short names for what clients write most often.
const tsAliases = `
type Tables_ = Database["public"]["Tables"]

/** A row of a collection, as it is read. */
export type Tables<Name extends keyof Tables_> = Tables_[Name]["Row"]
/** What a new row may and must give. */
export type TablesInsert<Name extends keyof Tables_> = Tables_[Name]["Insert"]
/** What a change may give. */
export type TablesUpdate<Name extends keyof Tables_> = Tables_[Name]["Update"]
/** The closed set of a text column, such as Enums<"orders_status">. */
export type Enums<Name extends keyof Database["public"]["Enums"]> = Database["public"]["Enums"][Name]
/** What a verb answers. */
export type VerbAnswer<Name extends keyof Database["public"]["Functions"]> = Database["public"]["Functions"][Name]["Returns"]
/** What a function answers. */
export type FunctionAnswer<Name extends keyof EdgeFunctions> = EdgeFunctions[Name]["Returns"]
`

type tsWriter struct {
	catalog *catalog.Catalog
	b       bytes.Buffer
	depth   int
}

func (w *tsWriter) writeLine(format string, args ...any) {
	if format != "" {
		w.b.WriteString(strings.Repeat("  ", w.depth))
		fmt.Fprintf(&w.b, format, args...)
	}
	w.b.WriteByte('\n')
}

func (w *tsWriter) openBlock(format string, args ...any) {
	w.writeLine(format, args...)
	w.depth++
}

func (w *tsWriter) closeBlock(text string) {
	w.depth--
	w.writeLine("%s", text)
}

// writeTable writes one collection. What a caller may not see reads as null.
func (w *tsWriter) writeTable(r *catalog.Resource) {
	w.openBlock("%s: {", tsName(r.Name))
	w.openBlock("Row: {")
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Secret() {
			s := f.Describe()
			s.Null = s.Null || len(f.Readers) > 0
			w.writeLine("%s%s: %s", tsDoc(columnDoc(f, &s)), tsName(f.Name), tsColumn(r, f, &s))
		}
	}
	w.closeBlock("}")
	w.writeWritten("Insert", r, insertMark)
	w.writeWritten("Update", r, updateMark)
	w.writeRelationships(r)
	w.closeBlock("}")
}

// Marks of a member in a request.
const (
	must  = ""
	may   = "?"
	never = "-"
)

func insertMark(f *catalog.Field) string {
	if f.Made() == catalog.ByCaller {
		return must
	}
	return may
}

// updateMark leaves out what keeps its value for good.
func updateMark(f *catalog.Field) string {
	if f.Fixed {
		return never
	}
	return may
}

// columnDoc is a column's documentation where it says more than its name does.
func columnDoc(f *catalog.Field, s *schema.Shape) string {
	if f.Doc == "" && f.Unit == "" {
		return ""
	}
	return s.Description()
}

// writeWritten writes the columns that a request may give.
func (w *tsWriter) writeWritten(what string, r *catalog.Resource, mark func(*catalog.Field) string) {
	w.openBlock("%s: {", what)
	for i := range r.Fields {
		f := &r.Fields[i]
		mark := mark(f)
		if f.Made() == catalog.ByServer || mark == never {
			continue
		}
		s := f.Describe()
		w.writeLine("%s%s: %s", tsName(f.Name), mark, tsColumn(r, f, &s))
	}
	w.closeBlock("}")
}

func (w *tsWriter) writeRelationships(r *catalog.Resource) {
	w.openBlock("Relationships: [")
	for _, rel := range r.Relations() {
		if rel.From == r.Name {
			w.writeLine("{ foreignKeyName: %q; columns: [%q]; isOneToOne: %t; referencedRelation: %q; referencedColumns: [\"id\"] },",
				rel.Name, rel.Column, rel.Unique, rel.To)
		}
	}
	// supabase-js reads a relation to many off the other collection.
	every := w.catalog
	for _, other := range every.All() {
		for _, rel := range other.Arrays() {
			if rel.To == r.Name {
				w.writeLine(
					"{ foreignKeyName: %q; columns: [\"id\"]; isOneToOne: false; referencedRelation: %q; referencedColumns: [%q] },",
					rel.Name,
					rel.From,
					rel.Column,
				)
			}
		}
	}
	w.closeBlock("]")
}

// writeEnums writes the closed sets of text columns, named collection_column.
func (w *tsWriter) writeEnums(c *catalog.Catalog) {
	w.openBlock("Enums: {")
	for _, r := range c.All() {
		for i := range r.Fields {
			if f := &r.Fields[i]; isEnum(f) {
				w.writeLine("%s: %s", tsName(r.Name+"_"+f.Name), tsUnion(f.OneOf))
			}
		}
	}
	w.closeBlock("}")
}

func isEnum(f *catalog.Field) bool { return f.Type == catalog.Text && len(f.OneOf) > 0 && !f.Secret() }

func (w *tsWriter) writeCalls(what string, calls []Call) {
	if len(calls) == 0 {
		w.writeLine("%s: { [_ in never]: never }", what)
		return
	}
	w.openBlock("%s: {", what)
	for i := range calls {
		w.writeCall(&calls[i])
	}
	w.closeBlock("}")
}

func (w *tsWriter) edgeFunctions(calls []Call) {
	w.openBlock("export type EdgeFunctions = {")
	for i := range calls {
		w.writeCall(&calls[i])
	}
	w.closeBlock("}")
}

func (w *tsWriter) writeCall(c *Call) {
	args, out := "Record<PropertyKey, never>", "Json"
	if c.In != nil && len(c.In.Members) > 0 {
		args = tsType(c.In, w.depth+1, inRequest)
	}
	if c.Out != nil && hasKnownRecords(w.catalog, c.Out) {
		out = tsType(c.Out, w.depth+1, inAnswer)
	}
	w.writeLine("%s%s: {", tsDoc(c.Doc), tsName(c.Name))
	w.writeLine("  Args: %s", args)
	w.writeLine("  Returns: %s", out)
	w.writeLine("}")
}

// hasKnownRecords reports that all records of an answer are rows of the catalog.
func hasKnownRecords(c *catalog.Catalog, s *schema.Shape) bool {
	known := true
	s.Records(func(collection string) {
		_, ok := c.Get(collection)
		known = known && ok
	})
	return known
}

// direction is which way a value goes; what a request takes is documented
// member by member.
type direction bool

const (
	inRequest direction = false
	inAnswer  direction = true
)

// tsColumn is the type of a column; closed sets are named once, in Enums.
func tsColumn(r *catalog.Resource, f *catalog.Field, s *schema.Shape) string {
	if !isEnum(f) {
		return tsType(s, 5, inAnswer)
	}
	t := `Database["public"]["Enums"][` + strconv.Quote(r.Name+"_"+f.Name) + "]"
	if s.Null {
		t += " | null"
	}
	return t
}

func tsType(s *schema.Shape, depth int, dir direction) string {
	t := tsBare(s, depth, dir)
	if s.Null {
		t += " | null"
	}
	return t
}

func tsBare(s *schema.Shape, depth int, dir direction) string {
	switch s.Kind {
	case schema.Text:
		if len(s.OneOf) > 0 {
			return tsUnion(s.OneOf)
		}
		return "string"
	case schema.Integer, schema.Number:
		return "number"
	case schema.Bool:
		return "boolean"
	case schema.List:
		of := tsType(s.Of, depth, dir)
		if strings.ContainsAny(of, "|") && (s.Of.Kind != schema.Object || s.Of.Null) {
			of = "(" + of + ")"
		}
		return of + "[]"
	case schema.Map:
		return "{ [key: string]: " + tsType(s.Of, depth, dir) + " }"
	case schema.Object:
		return tsObject(s, depth, dir)
	case schema.Record:
		return `Database["public"]["Tables"][` + strconv.Quote(s.Rows) + `]["Row"]`
	}
	return "Json"
}

// tsObject is on one line while it is short.
func tsObject(s *schema.Shape, depth int, dir direction) string {
	if len(s.Members) == 0 {
		return "{ [key: string]: Json }"
	}
	var parts []string
	long := 0
	for i := range s.Members {
		m := &s.Members[i]
		mark := ""
		if !m.Required {
			mark = "?"
		}
		part := tsName(m.Name) + mark + ": " + tsType(&m.Shape, depth+1, dir)
		if dir == inRequest || strings.Contains(part, "\n") {
			part = tsDoc(m.Description()) + part
		}
		parts, long = append(parts, part), long+len(part)
	}
	if long < 140 && !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, "\n") }) {
		return "{ " + strings.Join(parts, "; ") + " }"
	}
	pad := "\n" + strings.Repeat("  ", depth+1)
	return "{" + pad + strings.Join(parts, pad) + "\n" + strings.Repeat("  ", depth) + "}"
}

func tsUnion(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return strings.Join(quoted, " | ")
}

func tsDoc(doc string) string {
	if doc == "" {
		return ""
	}
	return "/** " + strings.ReplaceAll(doc, "*/", "* /") + " */ "
}

// tsName is a member's name, quoted where it is no identifier.
func tsName(name string) string {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return strconv.Quote(name)
		}
	}
	return name
}
