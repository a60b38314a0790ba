// Package osha keeps the statutory side of injuries and illnesses: the rules of
// 29 CFR part 1904 that a case and an annual summary are held to before they
// are written, the log (form 300), summary (300A) and report (301) as PDF, the
// files of OSHA's Injury Tracking Application, and the European lists.
//
// The paragraphs cited are those of 29 CFR part 1904 as amended to 2024. The
// wording on the forms is our own.
//
// Layer: domains. Begin at [NewBooks].
package osha

import (
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// CodeRule is the code of a fault that names a broken rule of record keeping.
const CodeRule = "HF012"

// Effects returns the consequences of changes to cases, summaries and the
// incidents under them, for store.New.
func Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{
		"osha_cases":     changeCases,
		"osha_summaries": changeSummaries,
		"incidents":      guardIncidents,
	}, After: map[string]store.Effect{
		"osha_cases": followCases,
		"incidents":  followIncidents,
	}}
}

// refuseRule is the fault of a rule that a record does not keep: it names the field
// and the paragraph.
func refuseRule(field, cite, format string, args ...any) *fault.Error {
	f := fault.New(fault.Invalid, CodeRule, format, args...)
	f.Msg += " (" + cite + ")"
	return f.At(field, format, args...).With("rule: "+cite, "")
}

// refuseEarly is the fault of a step that the record is not ready for.
func refuseEarly(cite, format string, args ...any) *fault.Error {
	f := fault.New(fault.Conflict, safety.CodeGuard, format, args...)
	f.Msg += " (" + cite + ")"
	return f.With("rule: "+cite, "")
}

func intField(r store.Row, name string) int64 {
	n, _ := r[name].(int64)
	return n
}

func boolField(r store.Row, name string) bool { b, _ := r[name].(bool); return b }

// momentField reads a stored time; the zero time when there is none.
func momentField(r store.Row, name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Text(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// parseDay reads a stored calendar day as midnight UTC; the zero time when there is
// none.
func parseDay(s string) time.Time {
	d, err := localtime.ParseDate(s)
	if err != nil {
		return time.Time{}
	}
	return d.UTC()
}

// byID reads rows of a resource by their ids, once the transaction is flushed.
func byID[R record.Kind](tx *store.Tx, ids map[string]bool) (map[string]R, error) {
	out := map[string]R{}
	if len(ids) == 0 {
		return out, nil
	}
	names := make([]string, 0, len(ids))
	for id := range ids {
		names = append(names, id)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := record.List[R](tx.As(actor.Actor{TenantID: tx.TenantID}), "id IN {ids $2}", string(list))
	for _, row := range rows {
		out[record.IDOf(row)] = row
	}
	return out, err
}
