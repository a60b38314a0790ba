package db

import "github.com/google/uuid"

// NewID returns the id of a new row, a UUID version 7 (RFC 9562, 5.7): their
// order is the order of creation. It panics when the system has no randomness,
// because no id may be guessed.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Null is the argument of a column where no text is null.
func Null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
