package osha

import (
	"fmt"
	"maps"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/query"
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
func findChangedLabel(c store.Change) string {
	if c.Op != store.Update {
		return ""
	}
	for _, f := range [...]string{kindColumn, severityColumn, occurredColumn, siteColumn, journeyColumn, knownColumn} {
		if safety.IsChanged(c, f) {
			return f
		}
	}
	if isMoved(c) {
		return zoneColumn
	}
	return ""
}

// isMoved reports an incident that may lie at another site by now.
func isMoved(c store.Change) bool {
	return safety.IsChanged(c, siteColumn) || c.After[siteColumn] == nil && safety.IsChanged(c, zoneColumn)
}

// isHurt reports an incident that may be a case.
func isHurt(incident store.Row) bool {
	kind := incident.Text(kindColumn)
	return kind == "injury" || kind == "illness"
}

// isCriticalUndecided reports a critical injury or illness of which nobody has decided
// whether it is recordable. decided is what its case says, empty without one.
func isCriticalUndecided(incident store.Row, decided string) bool {
	return isHurt(incident) && incident.Text(severityColumn) == "critical" && (decided == "" || decided == "undecided")
}

// checkLabels holds a change of what a case rests on: nobody makes a critical injury
// something else before it is decided, and with a case the safety officer alone
// changes kind, severity, moment and site, and says why.
func checkLabels(a actor.Actor, c store.Change, field, decided string) error {
	if isCriticalUndecided(c.Before, decided) && safety.IsChanged(c, kindColumn, severityColumn) {
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
	case c.After[reasonColumn] == nil || !safety.IsChanged(c, reasonColumn):
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
	moved := map[string]store.Change{}
	var ids []string
	places := map[string]store.Row{}
	for _, c := range changes {
		if c.Op != store.Update {
			continue
		}
		if !safety.IsChanged(c, kindColumn, occurredColumn, knownColumn) && !isMoved(c) {
			continue
		}
		id := c.After.Text(idColumn)
		moved[id] = c
		ids = append(ids, id)
		places[id] = store.Row{siteColumn: c.After[siteColumn], zoneColumn: c.After[zoneColumn]}
	}
	if len(ids) == 0 {
		return nil
	}
	cases, err := tx.Rows("osha_cases", "incident_id IN {ids $2} ORDER BY id", query.List(ids))
	if err != nil {
		return fmt.Errorf("osha: read cases: %w", err)
	}
	if len(cases) == 0 {
		return nil
	}
	if err := fillSites(tx, places); err != nil {
		return err
	}
	sets := make([]store.Row, len(cases))
	var later []store.Change // cases whose injury has another moment
	for i, row := range cases {
		incident := row.Text("incident_id")
		sets[i] = followedBy(row, moved[incident], places[incident][siteColumn])
		if safety.IsChanged(moved[incident], occurredColumn) {
			after := maps.Clone(row)
			maps.Copy(after, sets[i])
			later = append(later, store.Change{Op: store.Update, Before: row, After: after})
		}
	}
	if err := checkMoments(tx, later); err != nil {
		return err
	}
	if err := tx.UpdateEach("osha_cases", sets); err != nil {
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
	for _, c := range cases {
		if err := checkFollow(b.absences[c.After.Text(idColumn)], b.injuryDay(c.After), occurredColumn); err != nil {
			return err
		}
	}
	return nil
}

// blameLabel names the label whose change a case does not bear, for who changed it
// sent no field of the case.
func blameLabel(err error, moved map[string]store.Change) error {
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
func followedBy(row store.Row, incident store.Change, site any) store.Row {
	set := store.Row{idColumn: row[idColumn]}
	if site != nil && isMoved(incident) {
		set[siteColumn] = site
	}
	if safety.IsChanged(incident, kindColumn) {
		set["illness_type"] = "injury"
		if incident.After.Text(kindColumn) == "illness" {
			set["illness_type"] = "other_illness"
		}
	}
	return set
}
