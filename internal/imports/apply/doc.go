// Package apply writes a job's checked rows as records: new ones are made, those there
// are changed, stock is moved, and what was there before is kept for a rollback. All of
// it in one transaction or, a large job, chunk by chunk with a journal, by which a job
// that broke off goes on. It may import all rooms of imports but check and undo, which
// it meets in the job's rows.
//
// Layer: across domains. Begin at [Applier].
package apply
