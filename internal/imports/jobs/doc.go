// Package jobs is the rows of import_jobs and who works on each: a job's states,
// which change by compare-and-set under a row lock, the lease and the claim of
// the process that works on it, the steps under way, and what becomes of a job
// whose process died.
//
// Layer: across domains. Begin at [Table].
package jobs
