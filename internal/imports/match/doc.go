// Package match finds the records that rows of a file are about: what a row's key is
// and which records have it, where the books have the units it counts, and what a
// record is called in a message. It may import targets and staged, and what stands
// below them.
//
// Layer: across domains. Begin at [Look].
package match
