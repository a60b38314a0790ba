// Package typegen writes what the records, functions and verbs are as types of
// client languages, from the catalog and the shapes that the server itself
// checks and answers by.
//
// Layer: grammar. Begin at [TypeScript].
package typegen

import (
	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

// Call is a function or a verb: what it takes and what it answers.
type Call struct {
	Name string // get-dashboard-snapshot-v2, allocate_order
	Doc  string
	In   *schema.Shape // object; no members when it takes nothing
	Out  *schema.Shape // nil where its answer is not described
}

// Source is what types are made from.
type Source struct {
	Catalog   *catalog.Catalog
	Functions []Call // at /functions/v1/{name}
	Verbs     []Call // at /v1/rpc/{name}
}
