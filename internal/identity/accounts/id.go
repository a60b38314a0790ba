package accounts

import (
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/fault"
)

// CanonicalID accepts exactly one spelling of a UUID, 36 characters in either
// case, and returns it in lower case. Braces, urn: and blanks never pass.
func CanonicalID(s string) (string, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}

// PathIDs brings values, what stands in a path for the placeholders of pattern,
// into the one spelling of a UUID where the placeholder is an id, and refuses
// what is none as GoTrue does.
func PathIDs(pattern string, values []string) error {
	at := 0
	for part := range strings.SplitSeq(pattern, "/") {
		name, ok := strings.CutPrefix(part, "{")
		if !ok {
			continue
		}
		if name = strings.TrimSuffix(name, "}"); name == "id" || strings.HasSuffix(name, "_id") {
			if values[at], ok = CanonicalID(values[at]); !ok {
				return fault.New(fault.NotFound, "validation_failed", "%s must be an UUID", name)
			}
		}
		at++
	}
	return nil
}
