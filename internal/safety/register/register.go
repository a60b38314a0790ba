// Package register is the register of risks: it holds work units and their risks to the
// rules, rates and ranks the risks, and publishes what the register says on a day as a
// version that nobody changes. France calls it document unique d'évaluation des risques
// professionnels (Code du travail L4121-3, L4121-3-1, R4121-1 to R4121-4), Germany
// Gefährdungsbeurteilung (ArbSchG 5 and 6).
//
// Layer: domains. Begin at [Publish].
package register

import (
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Collections of the register.
const (
	Units    = "work_units"
	Entries  = "risk_entries"
	Versions = "risk_register_versions"
)

// Columns that the rules are about.
const (
	siteColumn  = "site_id"
	zonesColumn = "zone_ids"
	unitColumn  = "unit_id"

	severityBefore   = "severity_before"
	likelihoodBefore = "likelihood_before"
	severityAfter    = "severity_after"
	likelihoodAfter  = "likelihood_after"

	situationColumn = "situation"
	measureColumn   = "measure"
	levelColumn     = "control_level"
	dueColumn       = "measure_due_on"
	doneColumn      = "measure_done_on"
	checkedColumn   = "effect_checked_on"
	effectiveColumn = "effective"
	reviewColumn    = "review_on"

	keepColumn      = "keep_until"
	sentColumn      = "sent_on"
	consultedColumn = "consulted_on"
	madeColumn      = "made_at"
	contentColumn   = "content"
)

// Effects returns the consequences of changes to the register, for store.New.
func Effects() store.Effects {
	return store.Effects{Before: map[string]store.Effect{
		Units:    safety.PerTenant(checkUnits),
		Entries:  safety.PerTenant(checkEntries),
		Versions: guardVersions,
	}, Unmoved: map[string]bool{Units: true, Entries: true}}
}
