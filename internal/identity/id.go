package identity

import "github.com/google/uuid"

// newID returns a UUIDv7.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// canonicalID accepts exactly one spelling of a UUID, 36 characters in either
// case, and returns it in lower case. Braces, urn: and blanks never pass.
func canonicalID(s string) (string, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}
