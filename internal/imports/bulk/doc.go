// Package bulk writes checked rows as records, thousands at a time, through store.Bulk,
// and tells what is refused by the lines of the file. It may import match, targets and
// jobs, and what stands below them.
//
// Layer: across domains. Begin at [Writer].
package bulk
