// Package check reads a job's file a second time and checks every row: as a draft by
// itself, and against the other rows, the records there are and what the domains say.
// The valid ones are staged. Corrected rows are checked again in the same way. It may
// import all rooms of imports but apply and undo, which it meets in the job's rows.
//
// Layer: across domains. Begin at [Checker].
package check
