package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"
)

// Check reports where a JSON text does not fit the shape, as a path such as
// packages[0].weight_kg and a reason, or "" twice. Members that the shape does
// not name are taken as they are; a member that is null counts as absent.
func (s *Shape) Check(raw []byte) (path, reason string) {
	if s.Kind == Any {
		return "", ""
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", "is not JSON"
	}
	return s.checkValue("", v)
}

func (s *Shape) checkValue(at string, v any) (path, reason string) {
	if v == nil && s.Null {
		return "", ""
	}
	switch s.Kind {
	case Object:
		return s.checkObject(at, v)
	case Map:
		return s.checkMap(at, v)
	case List:
		return s.checkList(at, v)
	case Text:
		return s.checkText(at, v)
	case Integer, Number:
		return s.checkNumber(at, v)
	case Bool:
		if _, ok := v.(bool); !ok {
			return at, "must be true or false"
		}
	}
	return "", ""
}

func (s *Shape) checkObject(at string, v any) (path, reason string) {
	o, ok := v.(map[string]any)
	if !ok {
		return at, "must be an object"
	}
	for i := range s.Members {
		m := &s.Members[i]
		child := m.Name
		if at != "" {
			child = at + "." + m.Name
		}
		value := o[m.Name]
		if value == nil {
			if m.Required && !m.Null {
				return child, "is required"
			}
			continue
		}
		if path, reason := m.checkValue(child, value); reason != "" {
			return path, reason
		}
	}
	return "", ""
}

func (s *Shape) checkMap(at string, v any) (path, reason string) {
	o, ok := v.(map[string]any)
	if !ok {
		return at, "must be an object"
	}
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	sort.Strings(names) // the same refusal each time
	for _, name := range names {
		if path, reason := s.Of.checkValue(at+"["+strconv.Quote(name)+"]", o[name]); reason != "" {
			return path, reason
		}
	}
	return "", ""
}

func (s *Shape) checkList(at string, v any) (path, reason string) {
	list, ok := v.([]any)
	if !ok {
		return at, "must be an array"
	}
	if s.MaxLen > 0 && len(list) > s.MaxLen {
		return at, fmt.Sprintf("must have at most %d elements", s.MaxLen)
	}
	for i, e := range list {
		if path, reason := s.Of.checkValue(at+"["+strconv.Itoa(i)+"]", e); reason != "" {
			return path, reason
		}
	}
	return "", ""
}

func (s *Shape) checkText(at string, v any) (path, reason string) {
	text, ok := v.(string)
	if !ok {
		return at, "must be a string"
	}
	if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, text) {
		return at, fmt.Sprintf("must be one of %v", s.OneOf)
	}
	if s.MaxLen > 0 && utf8.RuneCountInString(text) > s.MaxLen {
		return at, fmt.Sprintf("must have at most %d characters", s.MaxLen)
	}
	return "", ""
}

func (s *Shape) checkNumber(at string, v any) (path, reason string) {
	text, ok := v.(json.Number)
	if !ok {
		return at, "must be a number"
	}
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil:
		return at, "is out of range"
	case s.Kind == Integer && n != math.Trunc(n):
		return at, "must be a whole number"
	case s.Min != "" && n < parseBound(s.Min):
		return at, "must be at least " + s.Min
	case s.Max != "" && n > parseBound(s.Max):
		return at, "must be at most " + s.Max
	}
	return "", ""
}

func parseBound(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
