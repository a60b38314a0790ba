// Package undo rolls an import back, completed or broken off: records it made go,
// records it changed get back what they held, and movements it posted are undone by
// movements the other way. What was changed or used since is a conflict, and is looked
// for before anything is put back. A large import is put back batch by batch, and goes
// on where it broke off. It may import all rooms of imports but check and apply, which
// it meets in the job's rows.
//
// Layer: across domains. Begin at [Undoer].
package undo
