// Package targets is the kinds of record that files are imported into: what of each a
// file may give, how its columns are usually called, and what a role may do with it.
// They follow from the catalog. It may import cell.
//
// Layer: across domains. Begin at [Of].
package targets
