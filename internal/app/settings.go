package app

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/suggest"
)

// checkSettings refuses a setting that nothing obeys: one of an unknown key, in
// another section than its own, or of a value that could not be used.
func checkSettings(_ *store.Tx, changes []store.Change) error {
	known := catalog.TenantSettings()
	for _, c := range changes {
		if c.Op == store.Delete {
			continue
		}
		key, _ := c.After["key"].(string)
		at := slices.IndexFunc(known, func(s catalog.Setting) bool { return strings.EqualFold(s.Key, key) })
		if at < 0 {
			names := make([]string, len(known))
			for i := range known {
				names[i] = known[i].Key
			}
			hint := ""
			if near := suggest.Nearest(key, names); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fault.New(fault.Unprocessable, "22023", "there is no setting %s", key).With("", hint).At("key",
				"is no setting")
		}
		s := &known[at]
		value, _ := c.After["value"].(json.RawMessage)
		if c.After["section"] != any(s.Section) {
			return fault.New(fault.Unprocessable, "22023", "setting %s belongs into section %s", s.Key, s.Section).At("section",
				"must be %s", s.Section)
		}
		if !s.Accepts(value) {
			return fault.New(fault.Unprocessable, "22023", "setting %s must be %s", s.Key, s.Wants).At("value", "must be %s",
				s.Wants)
		}
	}
	return nil
}
