package draft

import (
	"fmt"

	"holdfast/internal/decimal"
)

// Note is what is said once of a column whose cells a record does not hold as they
// stand, though the row has no error.
type Note struct {
	kind   noteKind
	Column string // of the file
}

type noteKind int

const (
	noteRounded noteKind = iota // more decimals than a record keeps
	noteFixed                   // another value than the record has, of a field that does not change
	noteNoLot                   // the expiry of a lot in a row that names none
	noteEnded                   // open, of a shift that has an end
)

// Say is the note as a sentence about so many cells.
func (n Note) Say(cells int) string {
	switch n.kind {
	case noteRounded:
		return fmt.Sprintf("Column %q has numbers of more than %d decimals (%d of them): they were rounded.",
			n.Column, decimal.Places, cells)
	case noteFixed:
		return fmt.Sprintf("Column %q has other values than the records that are there (%d of them): "+
			"it is set once only, so they keep theirs.", n.Column, cells)
	case noteNoLot:
		return fmt.Sprintf("Column %q says when a lot expires in rows that name no lot (%d of them): it was left out there.",
			n.Column, cells)
	}
	return fmt.Sprintf("Column %q calls shifts open that have an end (%d of them): they are closed.", n.Column, cells)
}

// note notes something of a cell.
func (d *Draft) addNote(kind noteKind, column string) { d.Notes = append(d.Notes, Note{kind, column}) }

// NoteFixed notes that the record there is keeps its value of a column's field.
func (d *Draft) NoteFixed(column string) { d.addNote(noteFixed, column) }
