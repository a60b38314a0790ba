package query

import (
	"holdfast/internal/catalog"
	"holdfast/internal/prefer"
)

// Select is a read, checked against the catalog and the caller's rights.
type Select struct {
	Root  *Node
	Count prefer.Counting
	Form  Shape
	Paged bool // the answer tells the place behind a full page
	// Passed is how many rows lie before the place that the rows begin at.
	Passed int
}

// WithVersion makes the rows of the answer tell their version, and returns its
// place, or -1 when the resource has none.
func (q *Select) WithVersion() int {
	f, ok := q.Root.Resource.Field("version")
	if !ok {
		return -1
	}
	return q.Root.fetchColumn(f, nil, false)
}

// Shape is how the rows of an answer are written.
type Shape struct {
	Singular bool // one object; anything but one row is a fault
	CSV      bool
	Stripped bool // members that are null are left out
}

// Node is one collection of a read: the root, or an embed.
type Node struct {
	Resource *catalog.Resource
	Out      []Out
	Embeds   []*Embed
	Limit    int // -1 = up to MaxRows
	Offset   int
	Most     int      // rows that groups are made of at most; 0 = MaxGrouped
	Only     []string // ids of the rows to return, whatever the filters say

	policy  Policy
	where   []pred
	order   []orderBy
	fetch   []fetched
	ordered bool  // the request said in which order
	grouped bool  // the select has an aggregate
	keyed   bool  // and what its rows are grouped by
	from    []any // place behind which the rows begin; nil = the first
}

// Embed is a related collection of a node.
type Embed struct {
	Node
	Rel      catalog.Relation
	Many     bool
	Inner    bool
	Spread   bool
	Hidden   bool // rel(): filters only
	ParentAt int  // column of the parent's rows that holds the key
	ChildAt  int  // column of the embed's rows that holds the key
	forward  bool // the parent holds the foreign key
	listed   bool // the parent holds an array of ids
	alias    string
	written  string
}

// Name is the embed's key in the answer.
func (e *Embed) Name() string {
	if e.alias != "" {
		return e.alias
	}
	return e.written
}

// keyColumns returns the columns that join parent and child: of an array of ids the
// columns whose values are in it.
func (e *Embed) keyColumns() (parent, child string) {
	if e.forward || e.listed {
		return e.Rel.Column, "id"
	}
	return "id", e.Rel.Column
}

// Form is how a column's value is written.
type Form uint8

// Forms of a value.
const (
	AsNull     Form = iota
	AsText          // JSON string, escaped
	AsPlain         // JSON string of text that needs no escape
	AsInt           // integer
	AsDec           // decimal
	AsFloat         // float
	AsBool          // boolean
	AsRaw           // JSON as stored
	AsWhole         // decimal rounded to an integer
	AsDay           // date of an instant
	AsMidnight      // instant a date begins at, UTC
	AsSum           // sum, in two columns: times 2^32, and what is to be added
	AsMean          // mean, in three columns: a sum and a number
)

// Out is one member of a row's answer: a column, or an embed.
type Out struct {
	Key    string
	At     int // column of the statement's rows
	Form   Form
	Quoted bool // cast to text: written as a JSON string
	Scaled bool // a sum or mean of decimals, times decimal.Scale
	Whole  bool // a sum or mean cast to an integer
	Embed  *Embed
}

// fetched is one column of a node's statement.
type fetched struct {
	field *catalog.Field
	steps []Step
	text  bool
	via   bool     // the id of the parent whose array names the row
	by    *orderBy // what the order compares, where that is no column
	fold  fold     // what it is of a group's rows
	merge merge
}

type orderBy struct {
	tie        bool // ends the order, so that it is total
	field      *catalog.Field
	steps      []Step
	text       bool
	number     bool // the number a path leads to
	group      *Out // member of a group
	embed      *Embed
	desc       bool
	nullsFirst bool
}

// pred is a condition whose columns and values are checked.
type pred struct {
	not   bool
	join  Join
	kids  []pred
	field *catalog.Field
	steps []Step
	text  bool
	op    Op
	all   bool
	quant bool
	exact bool // a JSON value compared with numbers
	args  []any
	word  string // of is: null, true, false
	embed *Embed
}

// fetchColumn adds a column to the node's statement and returns its place.
func (n *Node) fetchColumn(f *catalog.Field, steps []Step, text bool) int {
	for i, c := range n.fetch {
		if c.field == f && c.by == nil && !c.via && len(steps) == 0 && len(c.steps) == 0 {
			return i
		}
	}
	n.fetch = append(n.fetch, fetched{field: f, steps: steps, text: text})
	return len(n.fetch) - 1
}

// Width is the number of columns of the node's statement.
func (n *Node) Width() int { return len(n.fetch) }

// Global reports a read across tenants, whose keys are only unique together
// with the tenant.
func (n *Node) Global() bool { return n.policy.isGlobal() }

// TenantAt is the place of tenant_id in the statement's rows, or -1 when one
// tenant is read.
func (n *Node) TenantAt() int {
	if !n.Global() {
		return -1
	}
	f, _ := n.Resource.Field("tenant_id")
	return n.fetchColumn(f, nil, false)
}

// IDAt is the place of id in the statement's rows.
func (n *Node) IDAt() int {
	f, _ := n.Resource.Field("id")
	return n.fetchColumn(f, nil, false)
}

// Ordered reports that the request said in which order rows come.
func (n *Node) Ordered() bool { return n.ordered }
