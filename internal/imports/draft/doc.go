// Package draft takes rows of a file from cells to checked records, by what the plan
// found out: cells become values, names become ids, and a row is held to the rules of
// its resource and to those that tie its fields together. It may import plan and match,
// and what stands below them.
//
// Layer: across domains. Begin at [Reader].
package draft
