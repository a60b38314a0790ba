// Package gotruetime is an instant as the identity endpoints write it.
//
// Layer: domains. Begin at [Time].
package gotruetime

import (
	"time"

	"holdfast/internal/db"
)

// Time is an instant in JSON's fixed-width UTC form.
type Time struct{ time.Time }

// MarshalJSON writes db.TimeLayout.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(db.TimeLayout) + `"`), nil
}
