package db

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/localtime"
)

// NewID returns the id of a new row, a UUID version 7 (RFC 9562, 5.7): their
// order is the order of creation. It panics when the system has no randomness,
// because no id may be guessed.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewIDOfDay makes an id that tells the day (UTC) on which it was made, and no more:
// a UUIDv7 whose moment is the day's beginning. It is for records of which nobody may
// read when exactly they were made. It panics without randomness, as NewID does.
func NewIDOfDay(at time.Time) string {
	id := uuid.New()
	var moment [8]byte
	binary.BigEndian.PutUint64(moment[:], uint64(localtime.DateOf(at, time.UTC).UTC().UnixMilli()))
	copy(id[:6], moment[2:])
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
