package schema

import "encoding/json"

// Example is a small value that fits the shape: required members alone.
func (s *Shape) Example() any {
	switch s.Kind {
	case Text:
		return s.exampleText()
	case Integer, Number:
		if s.Min != "" {
			return json.Number(s.Min)
		}
		return json.Number("1")
	case Bool:
		return false
	case List:
		return []any{s.Of.Example()}
	case Object, Map:
		o := map[string]any{}
		for i := range s.Members {
			if m := &s.Members[i]; m.Required && !m.Null {
				o[m.Name] = m.Example()
			}
		}
		return o
	}
	return "text"
}

func (s *Shape) exampleText() string {
	switch {
	case len(s.OneOf) > 0:
		return s.OneOf[0]
	case s.Format == "uuid":
		return "0190c000-0000-7000-8000-000000000001"
	case s.Format == "date-time":
		return "2026-01-31T08:00:00Z"
	case s.Format == "date":
		return "2026-01-31"
	case s.Format == "email":
		return "somebody@north.example"
	}
	return "text"
}
