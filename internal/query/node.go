package query

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

// Select is a read, checked against the catalog and the caller's rights.
type Select struct {
	Root  *Node
	Count Counting
	Form  Shape
}

// WithVersion makes the rows of the answer tell their version, and returns its
// place, or -1 when the resource has none.
func (q *Select) WithVersion() int {
	f, ok := q.Root.Resource.Field("version")
	if !ok {
		return -1
	}
	return q.Root.need(f, nil, false)
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
	Counted  string   // key of the count that is the only output, or ""
	Only     []string // ids of the rows to return, whatever the filters say

	guard   guard
	where   []pred
	order   []orderBy
	fetch   []fetched
	ordered bool // the request said in which order
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

// keyed returns the columns that join parent and child.
func (e *Embed) keyed() (parent, child string) {
	if e.forward {
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
)

// Out is one member of a row's answer: a column, or an embed.
type Out struct {
	Key    string
	At     int // column of the statement's rows
	Form   Form
	Quoted bool // cast to text: written as a JSON string
	Embed  *Embed
}

// fetched is one column of a node's statement.
type fetched struct {
	field *catalog.Field
	steps []Step
	text  bool
}

type orderBy struct {
	field      *catalog.Field
	steps      []Step
	text       bool
	number     bool // the number a path leads to
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

// guard is the row policy of one caller on one resource.
type guard struct {
	tenant string // "" = the service key without a tenant
	root   bool
	limit  bool // only rows that match one of own and zones
	user   []string
	userID string
	hands  []string // columns that name the caller's worker record
	worker string
	zone   string
	zones  []string
	also   string // column by which more rows are reached,
	words  []string
}

// Access finds the caller's grant among gs. A caller without identity, tenant
// or grant is refused.
func Access(a actor.Actor, r *catalog.Resource, gs []catalog.Grant) (catalog.Grant, error) {
	if a.Anonymous() {
		return catalog.Grant{}, fault.New(fault.Unauthorized, "PGRST302", "anonymous access is disabled: sign in")
	}
	if a.Role != actor.Service && a.TenantID == "" {
		return catalog.Grant{}, fault.New(fault.Forbidden, "42501", "the user is not associated with a tenant")
	}
	g, ok := catalog.Find(gs, a.Role)
	if !ok || g.Scope == catalog.None {
		return g, fault.New(fault.Forbidden, "42501", "permission denied for table %s", r.Name)
	}
	return g, nil
}

func newGuard(a actor.Actor, r *catalog.Resource, g catalog.Grant) guard {
	p := guard{tenant: a.TenantID, root: r.Root}
	zoned := r.Zoned != "" && len(a.ZoneIDs) > 0 && (a.Role == actor.Operator || a.Role == actor.Driver)
	if g.Scope != catalog.Own && !zoned {
		return p
	}
	p.limit = true
	if g.Scope == catalog.Own {
		p.also, p.words = g.Also, g.In
	}
	for _, c := range r.Own {
		switch worker := strings.HasSuffix(c, "worker_id"); {
		case worker && a.WorkerID != "":
			p.hands, p.worker = append(p.hands, c), a.WorkerID
		case !worker && a.UserID != "":
			p.user, p.userID = append(p.user, c), a.UserID
		}
	}
	if g.Scope != catalog.Own {
		p.zone, p.zones = r.Zoned, a.ZoneIDs
	}
	return p
}

// Reach says in a word which rows of the tenant the caller's row policy under
// grant g leaves: all, own, zones, own or zones, none.
func Reach(a actor.Actor, r *catalog.Resource, g catalog.Grant) string {
	p := newGuard(a, r, g)
	own, zone := len(p.user)+len(p.hands) > 0, p.zone != ""
	switch {
	case !p.limit:
		return "all"
	case own && zone:
		return "own or zones"
	case own:
		return "own"
	case zone:
		return "zones"
	}
	return "none"
}

// Admits reports whether the caller's row policy under grant g reaches a row
// (for rows that are not found by a statement: inserts and upserts).
func Admits(a actor.Actor, r *catalog.Resource, g catalog.Grant, row Row) bool {
	p := newGuard(a, r, g)
	if !p.limit {
		return true
	}
	for _, c := range p.user {
		if row[c] == any(p.userID) {
			return true
		}
	}
	for _, c := range p.hands {
		if row[c] == any(p.worker) {
			return true
		}
	}
	if word, _ := row[p.also].(string); word != "" && has(p.words, word) {
		return true
	}
	zone, _ := row[p.zone].(string)
	return zone != "" && has(p.zones, zone)
}

// need adds a column to the node's statement and returns its place.
func (n *Node) need(f *catalog.Field, steps []Step, text bool) int {
	for i, c := range n.fetch {
		if c.field == f && len(steps) == 0 && len(c.steps) == 0 {
			return i
		}
	}
	n.fetch = append(n.fetch, fetched{f, steps, text})
	return len(n.fetch) - 1
}

// Width is the number of columns of the node's statement.
func (n *Node) Width() int { return len(n.fetch) }

// Global reports a read across tenants, whose keys are only unique together
// with the tenant.
func (n *Node) Global() bool { return n.guard.tenant == "" && !n.guard.root }

// TenantAt is the place of tenant_id in the statement's rows, or -1 when one
// tenant is read.
func (n *Node) TenantAt() int {
	if !n.Global() {
		return -1
	}
	f, _ := n.Resource.Field("tenant_id")
	return n.need(f, nil, false)
}

// IDAt is the place of id in the statement's rows.
func (n *Node) IDAt() int {
	f, _ := n.Resource.Field("id")
	return n.need(f, nil, false)
}

// Ordered reports that the request said in which order rows come.
func (n *Node) Ordered() bool { return n.ordered }
