package osha

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// followCases is what follows from changes to cases.
func followCases(tx *store.Tx, changes []store.Change) error {
	if err := refreshSummaries(tx, changes); err != nil {
		return err
	}
	return safety.PerTenant(hidePrivate)(tx, changes)
}

// hidePrivate makes the incident of a case that becomes a privacy case confidential: it names the
// person whom the log does not (29 CFR 1904.29(b)(6)). Nothing takes that back but people, since an
// incident may be confidential for other reasons too.
func hidePrivate(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.OSHACase](changes) {
		if c.After != nil && c.After.PrivacyCase() && (c.Before == nil || !c.Before.PrivacyCase()) {
			ids = append(ids, c.After.IncidentID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	server := actor.Actor{Role: actor.Service, TenantID: tx.TenantID, RequestID: tx.RequestID}
	set := record.Incident{}
	set.SetConfidential(true)
	if err := record.Update(tx.As(server), ids, set); err != nil {
		return fmt.Errorf("osha: hide the incidents of privacy cases: %w", err)
	}
	return nil
}
