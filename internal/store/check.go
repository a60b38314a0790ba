package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// Validate reads and checks one row of r: values from JSON, CSV or Go become
// stored ones. Each refused field is listed with its reason. A required field
// without value or default is refused on Insert only (an update keeps what is
// there).
func (s *Store) Validate(r *catalog.Resource, row Row, op Op) (Row, []fault.Field) {
	out := make(Row, len(row))
	var errs, absent []*fault.Error
	known := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		v, given := row[f.Name]
		if given {
			known++
			tv, err := checkValue(f, v)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if no, ok := tv.(string); ok && op == Insert && f.Format == catalog.Number && f.Prefix != "" &&
				misfitPrefix(f, no) != "" {
				errs = append(errs, refuseMisnumbered(f, misfitPrefix(f, no), no))
				continue
			}
			out[f.Name] = tv
		}
		if v == nil && op == Insert && f.Required && !isStoreFilled(f.Name) && f != numberField(r) &&
			(given || s.defaults[f] == nil) {
			absent = append(absent, isMissing(r, f))
		}
	}
	if known < len(row) {
		errs = append(errs, refuseUnknownFields(r, row)...)
	}
	var fields []fault.Field
	for _, e := range append(errs, absent...) {
		fields = append(fields, e.Fields...)
	}
	return out, fields
}

// roomFilled is room for what the server adds to a new row.
const roomFilled = 16

// checkRow reads the values given and fills defaults.
func (s *Store) checkRow(r *catalog.Resource, row Row, op Op) (Row, []*fault.Error) {
	out := make(Row, len(row)+roomFilled)
	var errs []*fault.Error
	known := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		v, given := row[f.Name]
		if !given {
			if d := s.defaults[f]; d != nil && op == Insert {
				out[f.Name] = d
			}
			continue
		}
		known++
		tv, err := checkValue(f, v)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[f.Name] = tv
	}
	if known < len(row) {
		errs = append(errs, refuseUnknownFields(r, row)...)
	}
	return out, errs
}

// refuseUnknownFields refuses the names that are no fields.
func refuseUnknownFields(r *catalog.Resource, row Row) (errs []*fault.Error) {
	for _, k := range slices.Sorted(maps.Keys(row)) {
		if _, ok := r.Field(k); !ok {
			errs = append(errs, fault.New(fault.Invalid, "PGRST204", "%q has no column %q", r.Name, k).At(k, "unknown column"))
		}
	}
	return errs
}

// checkValue reads one value and checks it against the field's rules.
func checkValue(f *catalog.Field, v any) (any, *fault.Error) {
	tv, err := query.Value(f, v)
	if err != nil {
		return nil, fault.As(err)
	}
	why := ""
	switch x := tv.(type) {
	case string:
		if f.Type != catalog.Text {
			return x, nil
		}
		if tooLong(f, x) {
			return nil, fault.New(fault.Invalid, "22001", "value too long for column %q: at most %d characters", f.Name,
				maxLength(f)).
				At(f.Name, "at most %d characters", maxLength(f))
		}
		x, why = checkText(f, x)
		tv = x
	case json.RawMessage:
		if f.Type == catalog.Array {
			why = checkArray(f, x)
		} else if f.Shape != nil && !f.Ruled && !f.ReadOnly {
			why = shapeProblem(f, x)
		}
	default:
		if why := checkBounds(f, tv); tv != nil && why != "" {
			refused := fault.New(fault.Invalid, "23514", "%q %s", f.Name, why).At(f.Name, "%s", why)
			return nil, refused.With("", "give "+query.NumberLimits(f))
		}
	}
	if why != "" {
		return nil, fault.New(fault.Invalid, "23514", "column %q %s", f.Name, why).At(f.Name, "%s", why)
	}
	return tv, nil
}

// shapeProblem says what a document's member is that its shape does not allow.
func shapeProblem(f *catalog.Field, raw json.RawMessage) string {
	path, reason := f.Shape.Check(raw)
	if reason == "" || path == "" {
		return reason
	}
	return "cannot hold this document: " + path + " " + reason
}

// listMissing lists required fields without a value.
func listMissing(r *catalog.Resource, row Row) []*fault.Error {
	var errs []*fault.Error
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Required && row[f.Name] == nil && !isStoreFilled(f.Name) {
			errs = append(errs, isMissing(r, f))
		}
	}
	return errs
}

func isMissing(r *catalog.Resource, f *catalog.Field) *fault.Error {
	return fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint", f.Name,
		r.Name).
		At(f.Name, "is required")
}

// isStoreFilled names the fields the store itself fills.
func isStoreFilled(name string) bool {
	switch name {
	case "id", "tenant_id", "created_at", "updated_at", "version":
		return true
	}
	return false
}

// mergeRefusals makes one fault of the refusals of row n (counted from 1; 0 = the
// only one): the first one's code, every field listed.
func mergeRefusals(errs []*fault.Error, n int) error {
	if len(errs) == 0 {
		return nil
	}
	e := *errs[0]
	for _, x := range errs[1:] {
		e.Fields = append(e.Fields, x.Fields...)
	}
	return atRow(&e, n)
}

// atRow names the row that a refusal is about, counted from 1; 0 = the only one.
func atRow(e *fault.Error, n int) error {
	if n == 0 {
		return e
	}
	c := *e
	c.Details = "row " + strconv.Itoa(n)
	if e.Details != "" {
		c.Details += ", " + e.Details
	}
	return &c
}

func formatInt(n int) string { return strconv.Itoa(n) }

// appendJSON writes a stored value as JSON.
func appendJSON(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return db.AppendString(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case bool:
		return strconv.AppendBool(b, x)
	case float64:
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	case json.RawMessage:
		return append(b, x...)
	case interface{ Append([]byte) []byte }:
		return x.Append(b)
	}
	return append(b, "null"...)
}

// Same compares two values in stored form.
func Same(a, b any) bool {
	ra, ok := a.(json.RawMessage)
	rb, too := b.(json.RawMessage)
	if ok || too {
		return ok && too && string(ra) == string(rb)
	}
	return a == b
}
