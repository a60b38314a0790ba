package osha

import (
	"fmt"
	"maps"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Columns of an incident that its case rests on, and why one of them is changed.
const (
	kindColumn     = "kind"
	severityColumn = "severity"
	occurredColumn = "occurred_at"
	siteColumn     = "site_id"
	zoneColumn     = "zone_id"
	journeyColumn  = "journey"
	knownColumn    = "known_at"
	reasonColumn   = "change_reason"
)

// findChangedLabel is the first of an incident's labels that an update changes; ""
// when it changes none. A zone is one of them where it alone says the site.
func findChangedLabel(c record.Change[record.Incident]) string {
	if c.Op != store.Update {
		return ""
	}
	for _, f := range [...]string{kindColumn, severityColumn, occurredColumn, siteColumn, journeyColumn, knownColumn} {
		if safety.IsChanged(c.Change, f) {
			return f
		}
	}
	if isMoved(c) {
		return zoneColumn
	}
	return ""
}

// isMoved reports an incident that may lie at another site by now.
func isMoved(c record.Change[record.Incident]) bool {
	return safety.IsChanged(c.Change, siteColumn) || !c.After.HasSiteID() && safety.IsChanged(c.Change, zoneColumn)
}

// isHurt reports an incident that may be a case.
func isHurt(incident record.Incident) bool {
	kind := incident.Kind()
	return kind == "injury" || kind == "illness"
}

// isCriticalUndecided reports a critical injury or illness of which nobody has decided
// whether it is recordable. decided is what its case says, empty without one.
func isCriticalUndecided(incident record.Incident, decided string) bool {
	return isHurt(incident) && incident.Severity() == "critical" && (decided == "" || decided == "undecided")
}

// checkLabels holds a change of what a case rests on: nobody makes a critical injury
// something else before it is decided, and with a case the safety officer alone
// changes kind, severity, moment and site, and says why.
func checkLabels(a actor.Actor, c record.Change[record.Incident], field, decided string) error {
	if isCriticalUndecided(c.Before, decided) && safety.IsChanged(c.Change, kindColumn, severityColumn) {
		return refuseEarly("29 CFR 1904.29(b)(3)",
			"%s of a critical injury or illness stays until it is decided whether the case is recordable (osha_cases)", field)
	}
	switch {
	case decided == "":
		return nil
	case a.Role != actor.Safety && a.Role != actor.Service:
		return fault.New(fault.Forbidden, "42501",
			"%s of an incident with a case is changed by the safety officer alone", field).
			At(field, "is changed by the safety officer alone: the incident has a case")
	case !isHurt(c.After):
		return refuseRule(kindColumn, "29 CFR 1904.4(a)",
			"%s stays injury or illness: the incident has a case", kindColumn)
	case !c.After.HasChangeReason() || !safety.IsChanged(c.Change, reasonColumn):
		return safety.NotReady("say why %s of an incident with a case is changed: %s", field, reasonColumn).
			At(reasonColumn, "is required: the incident has a case")
	}
	return nil
}

// followIncidents has cases follow their incidents into another year, log or
// establishment, with column M where the kind changed.
func followIncidents(tx *store.Tx, changes []store.Change) error {
	return safety.PerTenant(followLabels)(tx, changes)
}

func followLabels(tx *store.Tx, changes []store.Change) error {
	moved := map[string]record.Change[record.Incident]{}
	var ids []string
	places := map[string]record.Incident{}
	for _, c := range record.Changes[record.Incident](changes) {
		if c.Op != store.Update {
			continue
		}
		if !safety.IsChanged(c.Change, kindColumn, occurredColumn, knownColumn) && !isMoved(c) {
			continue
		}
		id := c.After.ID()
		moved[id] = c
		ids = append(ids, id)
		places[id] = record.Incident{siteColumn: c.After.SiteIDOrNull(), zoneColumn: c.After.ZoneIDOrNull()}
	}
	if len(ids) == 0 {
		return nil
	}
	cases, err := record.List[record.OSHACase](tx, "incident_id IN {ids $2} ORDER BY id", query.List(ids))
	if err != nil {
		return fmt.Errorf("osha: read cases: %w", err)
	}
	if len(cases) == 0 {
		return nil
	}
	if err := fillSites(tx, places); err != nil {
		return err
	}
	sets := make([]record.OSHACase, len(cases))
	var later []store.Change // cases whose injury has another moment
	for i, row := range cases {
		incident := row.IncidentID()
		sets[i] = followedBy(row, moved[incident], places[incident].SiteIDOrNull())
		if safety.IsChanged(moved[incident].Change, occurredColumn) {
			after := maps.Clone(row)
			maps.Copy(after, sets[i])
			later = append(later, store.Change{Op: store.Update, Before: store.Row(row), After: store.Row(after)})
		}
	}
	if err := checkMoments(tx, later); err != nil {
		return err
	}
	if err := tx.UpdateEach("osha_cases", record.Rows(sets)); err != nil {
		return blameLabel(err, moved)
	}
	return nil
}

// checkMoments holds the new moments of injuries to the absences of their cases.
func checkMoments(tx *store.Tx, cases []store.Change) error {
	if len(cases) == 0 {
		return nil
	}
	b, err := readBackground(tx, cases)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.OSHACase](cases) {
		if err := checkFollow(b.absences[c.After.ID()], b.injuryDay(c.After), occurredColumn); err != nil {
			return err
		}
	}
	return nil
}

// blameLabel names the label whose change a case does not bear, for who changed it
// sent no field of the case.
func blameLabel(err error, moved map[string]record.Change[record.Incident]) error {
	f := fault.As(err)
	if f == nil || f.Kind != fault.Invalid && f.Kind != fault.Conflict || len(f.Fields) == 0 {
		return err
	}
	labels := map[string]bool{}
	for _, c := range moved {
		labels[findChangedLabel(c)] = true
	}
	if len(labels) != 1 {
		return err
	}
	for label := range labels {
		if f.Fields[0].Name == label {
			return err
		}
		blamed := *f
		blamed.Msg = label + " does not go with the case: " + f.Msg
		blamed.Fields = []fault.Field{{Name: label, Msg: "does not go with the case: " + f.Fields[0].Msg}}
		return &blamed
	}
	return err
}

// followedBy is what changes in a case with its incident. An illness is one of all
// others until the case says which.
func followedBy(row record.OSHACase, incident record.Change[record.Incident], site any) record.OSHACase {
	set := record.OSHACase{idColumn: row.ID()}
	if site != nil && isMoved(incident) {
		set.SetSiteIDOrNull(site)
	}
	if safety.IsChanged(incident.Change, kindColumn) {
		set.SetIllnessType("injury")
		if incident.After.Kind() == "illness" {
			set.SetIllnessType("other_illness")
		}
	}
	return set
}
