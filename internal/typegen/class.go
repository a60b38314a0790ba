package typegen

import (
	"reflect"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

// class is a JSON object with a name: what languages are written from that, other
// than TypeScript, have no nameless ones.
type class struct {
	name, doc string
	members   []member
}

// member is one member of a class. One that is optional may be absent; one that
// is only null is always there.
type member struct {
	wire, doc      string
	optional, null bool
	of             value
}

// value is the type of a member or of an element.
type value struct {
	kind   schema.Kind
	format string
	oneOf  []string
	name   string // of the closed set, or of the class of an object or a record
	of     *value // element of a list or a map
	null   bool   // as an element
}

// closedSet are the values of a text column.
type closedSet struct {
	name   string
	values []string
}

// classes are all named types, those that others are made of first.
type classes struct {
	catalog *catalog.Catalog
	sets    []closedSet
	list    []class
	at      map[string]int // place in list
}

func classesOf(src Source) *classes {
	c := &classes{catalog: src.Catalog, at: map[string]int{}}
	for _, r := range src.Catalog.All() {
		c.declareRow(r)
	}
	for _, r := range src.Catalog.All() {
		c.declareWritten("Insert", "What a new row may and must give.", r, insertMark)
		c.declareWritten("Update", "What a change may give.", r, updateMark)
	}
	for _, calls := range [][]Call{src.Verbs, src.Functions} {
		for i := range calls {
			c.declareCall(&calls[i])
		}
	}
	return c
}

// declareRow is a record as it is read. What a caller may not see reads as null.
func (c *classes) declareRow(r *catalog.Resource) {
	k := class{name: pascalCase(r.Name) + "Row", doc: "A row of " + r.Name + ", with all its columns."}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Secret() {
			continue
		}
		if isEnum(f) {
			c.sets = append(c.sets, closedSet{pascalCase(r.Name, f.Name), f.OneOf})
		}
		s := f.Describe()
		k.members = append(k.members, member{f.Name, columnDoc(f, &s), false, s.Null || len(f.Readers) > 0,
			c.columnValue(r, f, &s)})
	}
	c.declareClass(k)
}

// declareWritten is what a request may give of a record; of the columns that it may
// leave out, those that a row may lack can be null.
func (c *classes) declareWritten(what, doc string, r *catalog.Resource, mark func(*catalog.Field) string) {
	k := class{name: pascalCase(r.Name) + what, doc: doc}
	for i := range r.Fields {
		f := &r.Fields[i]
		mark := mark(f)
		if f.Made() == catalog.ByServer || mark == never {
			continue
		}
		s := f.Describe()
		k.members = append(k.members, member{f.Name, "", mark == may, s.Null, c.columnValue(r, f, &s)})
	}
	if len(k.members) > 0 {
		c.declareClass(k)
	}
}

func (c *classes) columnValue(r *catalog.Resource, f *catalog.Field, s *schema.Shape) value {
	if isEnum(f) {
		return value{kind: schema.Text, oneOf: f.OneOf, name: pascalCase(r.Name, f.Name)}
	}
	return c.shapeValue(s, pascalCase(r.Name, f.Name))
}

// declareCall declares arguments and answer of a verb or a function.
func (c *classes) declareCall(call *Call) {
	name := pascalCase(call.Name)
	if call.In != nil && len(call.In.Members) > 0 {
		c.declareObject(call.In, name+"Args", call.Doc)
	}
	if call.Out != nil && hasKnownRecords(c.catalog, call.Out) {
		c.declareObject(call.Out, name+"Answer", "What "+call.Name+" answers.")
	}
}

// shapeValue is the type of a shape; name is what an object in it is called.
func (c *classes) shapeValue(s *schema.Shape, name string) value {
	v := value{kind: s.Kind, format: s.Format, null: s.Null}
	switch s.Kind {
	case schema.Text:
		v.oneOf = s.OneOf
	case schema.List, schema.Map:
		of := c.shapeValue(s.Of, name)
		v.of = &of
	case schema.Object:
		if len(s.Members) == 0 {
			return value{kind: schema.Map, of: &value{kind: schema.Any}, null: s.Null}
		}
		v.name = c.declareObject(s, name, s.Doc)
	case schema.Record:
		v.name = pascalCase(s.Rows) + "Row"
	}
	return v
}

// declareObject declares a class of the shape's members and returns its name.
func (c *classes) declareObject(s *schema.Shape, name, doc string) string {
	k := class{name: name, doc: doc}
	for i := range s.Members {
		m := &s.Members[i]
		k.members = append(k.members, member{m.Name, m.Description(), !m.Required, m.Null,
			c.shapeValue(&m.Shape, name+pascalCase(m.Name))})
	}
	return c.declareClass(k)
}

// declareClass keeps a class under its name, or under the next one that is free where
// another has it.
func (c *classes) declareClass(k class) string {
	base := k.name
	for n := 2; ; n++ {
		at, taken := c.at[k.name]
		if !taken {
			c.at[k.name] = len(c.list)
			c.list = append(c.list, k)
			return k.name
		}
		if reflect.DeepEqual(c.list[at], k) {
			return k.name
		}
		k.name = base + strconv.Itoa(n)
	}
}

// initials are words that are written in capitals.
var initials = map[string]string{"id": "ID", "ids": "IDs", "url": "URL", "gtin": "GTIN", "sku": "SKU", "sscc": "SSCC"}

// pascalCase joins the words of names that the wire has in snake or kebab case.
func pascalCase(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !isWord(r) }) {
			if capitals, ok := initials[word]; ok {
				b.WriteString(capitals)
			} else {
				b.WriteString(strings.ToUpper(word[:1]) + word[1:])
			}
		}
	}
	return b.String()
}

func isWord(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' }
