// Package query reads a collection request: query string, Prefer header and
// body, scanned by our own scanner (never url.Query, which drops pairs it
// cannot read), checked against the catalog and the caller's rights, and
// written out as SQL with bound parameters. Names in the SQL come from the
// catalog, never from the request. The grammar is a subset of PostgREST's; every
// limit below is checked while scanning.
//
// Layer: grammar. Begin at [Parse].
package query

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
)

// Limits of one request. Without them a peer hung for half a minute on thirty
// nested embeds.
const (
	MaxURL       = 128 << 10 // bytes of a query string: clients put lists of ids in it (in), and warn from 8 KB
	MaxBody      = 4 << 20   // bytes of a body
	MaxRows      = 1000      // rows of one answer, and of one parent's embed
	MaxWriteRows = 5000      // rows of one write
	MaxInRows    = 100_000   // embedded rows of one answer

	maxDepth      = 20 // nesting of logic groups
	maxConditions = 500
	maxValues     = 5000 // members of in lists
	maxItems      = 500
	maxEmbeds     = 16
	maxEmbedDepth = 5
	maxArrows     = 16
	maxTerms      = 16
	maxDocument   = 10_000 // bytes of a JSON value in a filter
	maxColumns    = 200
	maxLike       = 1000 // bytes of a pattern of like
	maxPattern    = 200  // characters of a regular expression
	maxProgram    = 1000 // steps of its program
	maxPatterns   = 20   // regular expressions
	maxJSONDepth  = 64
)

// Row is one record by field name: nil, string (text, id, date; times as
// canonical text), int64, decimal.Dec, float64, bool, or json.RawMessage
// (JSON and arrays). In a body not yet checked each value is the
// json.RawMessage or CSV text that was sent.
type Row map[string]any

// Text is the text in a field, "" where there is none.
func (r Row) Text(field string) string {
	s, _ := r[field].(string)
	return s
}

// Integer is the integer in a field, 0 where there is none.
func (r Row) Integer(field string) int64 {
	n, _ := r[field].(int64)
	return n
}

// Decimal is the decimal in a field, 0 where there is none.
func (r Row) Decimal(field string) decimal.Dec {
	d, _ := r[field].(decimal.Dec)
	return d
}

// Request is a query string as the grammar reads it, before the catalog is
// asked.
type Request struct {
	Select   []Item   // nil = everything
	Columns  []string // nil = not given
	Conflict []string // on_conflict; nil = not given
	Wheres   []Where
	Orders   []Order
	Pages    []Page
	Cursor   string // place to go on from; "" = none
}

// Where is one filter or logic group and the embed it is for.
type Where struct {
	Path []string
	Cond Cond
}

// Order is one order parameter and the embed it is for.
type Order struct {
	Path  []string
	Terms []Term
}

// Page is one limit or offset; the absent one is -1.
type Page struct {
	Path          []string
	Limit, Offset int
}

// Item is one member of a select list.
type Item struct {
	Star   bool
	Alias  string
	Column Column
	Cast   string
	Func   string // aggregate: avg, count, max, min or sum
	Before string // cast of what is aggregated
	Rows   bool   // count(): of rows
	Embed  *EmbedItem
}

// EmbedItem is the part of an embed behind its name.
type EmbedItem struct {
	Hint   string
	Inner  bool
	Spread bool
	Items  []Item // empty = contributes no output
}

// Column names a column, with a path into it when it holds JSON.
type Column struct {
	Name  string
	Steps []Step
	Text  bool // the last arrow is ->>
}

// Step is one arrow of a JSON path.
type Step = db.Arrow

// Term is one member of an order list.
type Term struct {
	Column     Column
	Relation   string // order by a column of this to-one embed
	Desc       bool
	NullsFirst bool
	NullsGiven bool
}

// Join says how a condition's members are joined.
type Join uint8

// Joins of a condition; Leaf compares one column.
const (
	Leaf Join = iota
	And
	Or
)

// Cond is a condition: a comparison, or a group of conditions.
type Cond struct {
	Not    bool
	Join   Join
	Kids   []Cond
	Column Column
	Op     Op
	All    bool     // quantifier all (else any) over List
	Quant  bool     // the comparison has a quantifier
	Value  string   // what stands right of the operator, verbatim
	List   []string // members of in and of a quantifier's array
}

// Op is a comparison.
type Op uint8

// Comparisons of a filter.
const (
	Eq Op = iota + 1
	Neq
	Gt
	Gte
	Lt
	Lte
	Like
	ILike
	In
	Is
	IsDistinct
	Match
	IMatch
	Contains
	Contained
	Overlap
)

// findOperator returns the comparison spelt s; known but unserved ones are told
// apart so that they answer PGRST127.
func findOperator(s string) (op Op, unserved bool) {
	switch s {
	case "eq":
		return Eq, false
	case "neq":
		return Neq, false
	case "gt":
		return Gt, false
	case "gte":
		return Gte, false
	case "lt":
		return Lt, false
	case "lte":
		return Lte, false
	case "like":
		return Like, false
	case "ilike":
		return ILike, false
	case "in":
		return In, false
	case "is":
		return Is, false
	case "isdistinct":
		return IsDistinct, false
	case "match":
		return Match, false
	case "imatch":
		return IMatch, false
	case "cs":
		return Contains, false
	case "cd":
		return Contained, false
	case "ov":
		return Overlap, false
	case "fts", "plfts", "phfts", "wfts", "sl", "sr", "nxr", "nxl", "adj":
		return 0, true
	}
	return 0, false
}

// takesQuantifier reports the comparisons that take (any) and (all).
func (o Op) takesQuantifier() bool {
	switch o {
	case Eq, Neq, Gt, Gte, Lt, Lte, Like, ILike, Match, IMatch:
		return true
	}
	return false
}

func refuseUnserved(what string) *fault.Error {
	return fault.New(fault.Invalid, "PGRST127", "%s is not implemented", what)
}
