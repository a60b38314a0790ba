// Package plan finds out what a file holds before any row of it is judged: where its
// header is, which column gives which field, how dates and numbers are written, and
// what of it a role may not see. The plan is kept with the job, so that applying and
// correcting read the file as processing did. It may import targets and staged, and what
// stands below them.
//
// Layer: across domains. Begin at [Look].
package plan
