// Package staged is what an import job keeps of its file between its steps, and how
// that is packed: records as they were read or corrected, the checked rows made of
// them, what stood before in the records that were changed, and a set of keys small
// enough for every row of a file. It may import jobs and sheet.
//
// Layer: across domains. Begin at [Record].
package staged
