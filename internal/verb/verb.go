// Package verb is what a verb is: one thing a person says they did, done in one
// transaction. A verb's input and answer are structs; their tags (json, doc,
// unit, enum, format) are read by the binder and by the OpenAPI document. The
// domains fill the table, package api serves it.
//
// Layer: verbs. Begin at [Verb].
package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/trace"
)

// Verb is one line of the table.
type Verb struct {
	Name  string
	Doc   string
	Roles []actor.Role // who may say it besides the service key; nil = nobody
	Reads bool         // changes nothing: it is counted as a read and takes no key
	In    any          // zero input
	Out   any          // zero answer; its type embeds Answer

	run func(c *Call, in any) (any, error)
}

// New makes the line of a verb that changes something. Out embeds Answer.
func New[In, Out any](name, doc string, roles []actor.Role, run func(*Call, *In) (*Out, error)) Verb {
	return Verb{Name: name, Doc: doc, Roles: roles, In: *new(In), Out: *new(Out), run: func(c *Call, in any) (any, error) {
		out, err := run(c, in.(*In))
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

// Asks makes the line of a verb that only answers.
func Asks[In, Out any](name, doc string, roles []actor.Role, run func(*Call, *In) (*Out, error)) Verb {
	v := New(name, doc, roles, run)
	v.Reads = true
	return v
}

// Answer is embedded in every verb's answer.
type Answer struct {
	DryRun bool   `json:"dry_run,omitempty" doc:"Nothing was written: this is what would happen."`
	Next   []Step `json:"next" doc:"What the caller can do now."`
}

// Step is a verb that can be said next.
type Step struct {
	Verb  string `json:"verb"`
	Label string `json:"label" doc:"The step in words, for a button."`
}

func (a *Answer) answer() *Answer { return a }

// Then adds a step that can follow.
func (a *Answer) Then(verb, label string) { a.Next = append(a.Next, Step{Verb: verb, Label: label}) }

// Call is the transaction a verb runs in, for a caller whose TenantID is set.
type Call struct {
	*store.Tx
}

// Record is a row as the collection of its resource answers it.
type Record struct {
	res  *catalog.Resource
	role actor.Role
	row  store.Row
}

// Row returns the record's values by column.
func (r Record) Row() store.Row { return r.row }

// MarshalJSON writes the columns in the catalog's order. What the caller's role
// may not see is null.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.res == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range r.res.Fields {
		f := &r.res.Fields[i]
		v := r.row[f.Name]
		if !f.Visible(r.role) {
			v = nil
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.Name + `":`)
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Record shows a row of a resource to the caller.
func (c *Call) Record(resource string, row store.Row) Record {
	return Record{res: c.Resource(resource), role: c.Role, row: row}
}

// Records shows rows of a resource to the caller.
func (c *Call) Records(resource string, rows []store.Row) []Record {
	out := make([]Record, len(rows))
	for i, row := range rows {
		out[i] = c.Record(resource, row)
	}
	return out
}

// RowsToRead is Rows of those records that the caller may read; an OR in where stands in
// parentheses.
func (c *Call) RowsToRead(resource, where string, args ...any) ([]store.Row, error) {
	policy, ok := query.ReadPolicy(c.Actor, c.Resource(resource))
	if !ok {
		return nil, nil
	}
	args = append([]any{c.TenantID}, args...)
	readable := policy.Where(c.DB(), resource, &args)
	return c.Rows(resource, readable+" AND "+where, args[1:]...)
}

// Lock reads the rows with these ids and locks them in the order of ids. An id
// that the tenant does not have is fault.NotFound, blamed on field.
func (c *Call) Lock(resource, field string, ids ...string) ([]store.Row, error) {
	rows, err := c.Rows(resource, c.DB().InUUID("id", 2)+" ORDER BY id"+c.DB().ForUpdate(), query.List(ids))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(rows, func(r store.Row) bool { return r["id"] == any(id) }) {
			return nil, Missing(resource, field)
		}
	}
	return rows, nil
}

// One is Lock of a single row.
func (c *Call) One(resource, field, id string) (store.Row, error) {
	rows, err := c.Lock(resource, field, id)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Again reads a row as it is after the verb's changes.
func (c *Call) Again(resource, id string) (Record, error) {
	rows, err := c.Rows(resource, "id = $2", id)
	if err != nil {
		return Record{}, err
	}
	if len(rows) != 1 {
		return Record{}, Missing(resource, "id")
	}
	return c.Record(resource, rows[0]), nil
}

// Missing is the fault of an id that names no record of the caller's tenant.
func Missing(resource, field string) error {
	return fault.New(fault.NotFound, "PGRST116", "%s names none of the tenant's %s", field, resource).At(field,
		"no such record")
}

// Table serves verbs over a store.
type Table struct {
	store *store.Store
	list  []Verb
	named map[string]*Verb
}

// NewTable returns the table of some verbs.
func NewTable(s *store.Store, list []Verb) *Table {
	t := &Table{store: s, list: list, named: map[string]*Verb{}}
	for i := range list {
		t.named[list[i].Name] = &list[i]
	}
	return t
}

// All lists the verbs in the order of the table.
func (t *Table) All() []Verb { return t.list }

// Find returns the verb of a name, nil if there is none.
func (t *Table) Find(name string) *Verb { return t.named[name] }

// Do runs a verb for the actor, whose TenantID is set, in one transaction. in
// points to a value of the type of v.In. dry answers what would happen.
func (t *Table) Do(ctx context.Context, a actor.Actor, v *Verb, in any, dry bool) (any, error) {
	ctx, span := trace.Begin(ctx, "verb", v.Name)
	out, err := t.doVerb(ctx, a, v, in, dry)
	span.End(err)
	return out, err
}

func (t *Table) doVerb(ctx context.Context, a actor.Actor, v *Verb, in any, dry bool) (any, error) {
	run := t.store.Write
	if v.Reads {
		run = t.store.Read
	} else if dry {
		run = t.store.Try
	}
	var out any
	err := run(ctx, a, func(tx *store.Tx) (err error) {
		out, err = v.run(&Call{tx}, in)
		if err != nil {
			return err
		}
		t.dropForbiddenNext(a, out, dry)
		if err := tx.Flush(); err != nil {
			return err
		}
		return idempotency.Record(tx.Tx, out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// dropForbiddenNext drops from the next steps those that the caller may not say.
func (t *Table) dropForbiddenNext(a actor.Actor, out any, dry bool) {
	x, ok := out.(interface{ answer() *Answer })
	if !ok {
		return
	}
	ans := x.answer()
	ans.DryRun = dry
	steps := []Step{}
	for _, s := range ans.Next {
		if v := t.named[s.Verb]; v != nil && v.Permits(a.Role) {
			steps = append(steps, s)
		}
	}
	ans.Next = steps
}

// Permits reports whether a role may say the verb.
func (v *Verb) Permits(role actor.Role) bool {
	return role == actor.Service || slices.Contains(v.Roles, role)
}
