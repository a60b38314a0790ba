// Package safety holds what changes of incidents, actions, inspections and talks
// bring about (the effects that package store runs in the same transaction) and
// the formulas of workplace safety.
//
// Layer: domains. Begin at [Effects].
package safety

import (
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Codes of this package's faults.
const (
	CodeReport = "HF007" // an incident report that cannot be right
	CodeGuard  = "HF006" // a record is not ready for this step
)

// skew is how far a client's clock may run ahead of ours.
const skew = 5 * time.Minute

// Effects returns the consequences of changes to safety records, for
// store.New.
func Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{
		"incidents":           changeIncidents,
		"actions":             PerTenant(followActions),
		"checklist_templates": changeTemplates,
		"checklist_schedules": PerTenant(changeSchedules),
		"checklist_runs":      PerTenant(changeRuns),
		"checklist_answers":   PerTenant(changeAnswers),
		"toolbox_talks":       holdTalks,
		"talk_attendances":    PerTenant(signTalks),
		"shifts":              PerTenant(clockShifts),
		"regulations":         checkRegulations,
		"compliance_events":   PerTenant(changeVerdicts),
	}, After: map[string]store.Effect{
		"incidents":            PerTenant(afterIncidents),
		"actions":              PerTenant(afterActions),
		"checklist_templates":  PerTenant(supersedeRevisions),
		"checklist_schedules":  PerTenant(replanSchedules),
		"checklist_runs":       PerTenant(creditRuns),
		"checklist_answers":    PerTenant(afterAnswers),
		"talk_attendances":     PerTenant(creditTalks),
		"training_assignments": PerTenant(creditTraining),
	}}
}

func afterActions(tx *store.Tx, changes []store.Change) error {
	if err := followUp(tx, changes); err != nil {
		return err
	}
	return creditActions(tx, changes)
}

func changeIncidents(tx *store.Tx, changes []store.Change) error {
	leaveIncidents(tx.Tx, changes)
	return PerTenant(reportIncidents)(tx, changes)
}

func afterIncidents(tx *store.Tx, changes []store.Change) error {
	if err := enterIncidents(tx, changes); err != nil {
		return err
	}
	return creditIncidents(tx, changes)
}

// PerTenant runs an effect once per tenant: a service key without a tenant may
// change rows of several in one statement.
func PerTenant(f store.Effect) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		byTenant := map[string][]store.Change{}
		var order []string
		for _, c := range changes {
			if c.After == nil {
				continue
			}
			t := c.After.Text("tenant_id")
			if byTenant[t] == nil {
				order = append(order, t)
			}
			byTenant[t] = append(byTenant[t], c)
		}
		for _, t := range order {
			if err := f(tx.Of(t), byTenant[t]); err != nil {
				return err
			}
		}
		return nil
	}
}

// Becomes reports whether an update puts the status into value.
func Becomes(c store.Change, value string) bool {
	return c.Op == store.Update && c.After.Text("status") == value && c.Before.Text("status") != value
}

// IsChanged reports whether one of some fields changes.
func IsChanged(c store.Change, fields ...string) bool {
	for _, f := range fields {
		if !store.Same(c.Before[f], c.After[f]) {
			return true
		}
	}
	return false
}

// NotReady is the fault of a step that a record is not ready for.
func NotReady(format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, CodeGuard, format, args...)
}

// RefuseField is the fault of a field that cannot be right; the words follow its name.
func RefuseField(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, CodeReport, field+" "+format, args...).At(field, format, args...)
}

// IsAhead reports a moment beyond what a client's clock explains.
func IsAhead(moment string, now time.Time) bool { return moment > query.FormatTime(now.Add(skew)) }
