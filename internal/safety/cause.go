package safety

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/record"
)

// Cause is one root cause of an incident.
type Cause struct {
	Method string   `json:"method"` // 5whys, fishbone, tree
	Layer  string   `json:"layer"`  // immediate, underlying, organisational
	Text   string   `json:"text"`
	Whys   []string `json:"whys,omitempty"` // the chain that led to it
}

const maxCauses = 50

var (
	causeMethods = []string{"5whys", "fishbone", "tree"}
	causeLayers  = []string{"immediate", "underlying", "organisational"}
)

// ParseCauses reads an incident's root causes. The fault is Invalid, stands at
// "root_causes" and names the member.
func ParseCauses(raw []byte) ([]Cause, error) {
	var list []Cause
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, badCause("must be an array of {method, layer, text, whys}")
	}
	if len(list) > maxCauses {
		return nil, badCause("at most %d", maxCauses)
	}
	for i, c := range list {
		switch {
		case !slices.Contains(causeMethods, c.Method):
			return nil, badCause("member %d: method must be %s", i+1, strings.Join(causeMethods, ", "))
		case !slices.Contains(causeLayers, c.Layer):
			return nil, badCause("member %d: layer must be %s", i+1, strings.Join(causeLayers, ", "))
		case strings.TrimSpace(c.Text) == "" || utf8.RuneCountInString(c.Text) > 2000:
			return nil, badCause("member %d: text must have 1-2000 characters", i+1)
		case len(c.Whys) > 10:
			return nil, badCause("member %d: at most 10 whys", i+1)
		}
	}
	return list, nil
}

func badCause(format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, "root_causes "+format, args...).At("root_causes", format, args...)
}

// checkCauses checks root causes where they changed.
func checkCauses(c record.Change[record.Incident]) error {
	raw := c.After.RootCauses()
	old := c.Before.RootCauses()
	if raw == nil || bytes.Equal(raw, old) {
		return nil
	}
	_, err := ParseCauses(raw)
	return err
}

func noCause(in record.Incident) bool {
	raw := in.RootCauses()
	list, err := ParseCauses(raw)
	return err != nil || len(list) == 0
}
