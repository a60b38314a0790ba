// Package job keeps the work that is done outside a request: a queue of jobs in
// the database, retried until they are done or given up, and schedules that one
// node of a fleet follows at a time.
//
// A job is added in the transaction of the change that asks for it, so it is
// there if and only if the change is. It is done at least once: a node that dies
// between doing it and noting so leaves it to another.
//
// Layer: catalog and access. Begin at [NewRunner].
package job
