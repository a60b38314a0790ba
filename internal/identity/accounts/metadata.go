package accounts

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/internal/fault"
)

// Bounds of user and app metadata: both travel in every token.
const (
	maxMetadata      = 8 << 10
	maxMetadataDepth = 8
)

// Merge changes have as a client's update asks: keys shallowly replaced, null
// deletes. The result is checked against the bounds.
func Merge(have, change map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(have)+len(change))
	for k, v := range have {
		out[k] = v
	}
	for k, v := range change {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out, CheckMetadata(out)
}

// MergeUserData is Merge for user metadata that a caller gives: the tenant_id
// in it is the UUID of a tenant, since the account begins or goes on there.
func MergeUserData(have, change map[string]any) (map[string]any, error) {
	if err := CheckWishedTenant(change); err != nil {
		return nil, err
	}
	return Merge(have, change)
}

// CheckMetadata refuses metadata that is too deep or too large.
func CheckMetadata(m map[string]any) error {
	if depth(m) > maxMetadataDepth {
		return fault.New(fault.Invalid, "validation_failed", "Metadata is nested deeper than %d levels", maxMetadataDepth)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "validation_failed", "Metadata cannot be stored")
	}
	if len(b) > maxMetadata {
		return fault.New(fault.Invalid, "validation_failed", "Metadata is larger than %d bytes", maxMetadata)
	}
	if strings.Contains(string(b), `\u0000`) {
		return fault.New(fault.Invalid, "validation_failed", "Metadata must not contain NUL")
	}
	return nil
}

func depth(v any) int {
	n := 0
	switch x := v.(type) {
	case map[string]any:
		for _, e := range x {
			n = max(n, depth(e))
		}
		return n + 1
	case []any:
		for _, e := range x {
			n = max(n, depth(e))
		}
		return n + 1
	}
	return 0
}

// readMap decodes a stored JSON object, keeping numbers as written.
func readMap(text string) map[string]any {
	m := map[string]any{}
	if text == "{}" {
		return m
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&m) != nil || m == nil {
		return map[string]any{}
	}
	return m
}

// WriteJSON is metadata as a column holds it.
func WriteJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// CutText is a text of at most n bytes.
func CutText(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}
