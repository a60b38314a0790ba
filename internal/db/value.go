package db

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// NewID returns the id of a new row, a UUID version 7 (RFC 9562, 5.7): their
// order is the order of creation. It panics when the system has no randomness,
// because no id may be guessed.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewIDAt makes a UUIDv7 whose moment is the given one, not that of its making. It is
// for records of which nobody may read when exactly they were made: theirs is the
// beginning of the day where the tenant is. It panics without randomness, as NewID does.
func NewIDAt(moment time.Time) string {
	id := uuid.New()
	var milliseconds [8]byte
	binary.BigEndian.PutUint64(milliseconds[:], uint64(moment.UnixMilli()))
	copy(id[:6], milliseconds[2:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	return id.String()
}

// Null is the argument of a column where no text is null.
func Null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
