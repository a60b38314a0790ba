package register

import (
	"fmt"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Ratings from which a risk has a priority. A critical severity is medium at least, however
// seldom it is expected.
const (
	criticalRating = 15
	highRating     = 10
	mediumRating   = 5
)

// severityRank is the place of a severity on the scale of ratings.
var severityRank = map[string]int{"low": 1, "medium": 2, "high": 3, "critical": 4}

// checkEntries holds risks to the rules, and rates and ranks them.
func checkEntries(tx *store.Tx, changes []store.Change) error {
	if err := refuseArchivedUnits(tx, changes); err != nil {
		return err
	}
	for _, c := range changes {
		if err := trimTexts(c); err != nil {
			return err
		}
		dropCheck(c)
	}
	today, err := safety.ReadToday(tx.Tx, tx.TenantID, tx.Now())
	if err != nil {
		return fmt.Errorf("register: read the tenant's day: %w", err)
	}
	for _, c := range changes {
		if err := checkRatings(c.After); err != nil {
			return err
		}
		if err := checkMeasure(c.After); err != nil {
			return err
		}
		if err := checkDays(c, today.String()); err != nil {
			return err
		}
		RateEntry(c.After)
	}
	return nil
}

// refuseArchivedUnits refuses risks of units that are archived, new ones and changes of those
// that are there: no version would say what is changed. A risk may still be closed, which is
// to archive it. It locks the units, so that none is archived meanwhile.
func refuseArchivedUnits(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range changes {
		if isClosed := c.Op == store.Update && c.After[archivedColumn] != nil; !isClosed {
			ids = append(ids, c.After.Text(unitColumn))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	units, err := tx.Rows(Units, "id IN {ids $2} ORDER BY id {for update}", query.List(ids))
	if err != nil {
		return fmt.Errorf("register: lock units: %w", err)
	}
	for _, unit := range units {
		if unit[archivedColumn] != nil {
			return fault.New(fault.Conflict, safety.CodeGuard, "unit_id names %s, which is archived: "+
				"take the unit back into use; its risks can only be archived", unit.Text(codeColumn)).
				At(unitColumn, "is archived")
		}
	}
	return nil
}

// trimTexts takes blanks off the ends of what a risk says, and refuses blanks alone.
func trimTexts(c store.Change) error {
	for _, field := range [...]string{situationColumn, measureColumn} {
		said, isText := c.After[field].(string)
		if !isText || (c.Op == store.Update && !safety.IsChanged(c, field)) {
			continue
		}
		if said = strings.TrimSpace(said); said == "" {
			return safety.RefuseField(field, "has nothing but blanks")
		}
		c.After[field] = said
	}
	return nil
}

// dropCheck forgets what a check found when what was checked changes, unless the same change
// names a new check: the risk counts as it is without the measure until somebody looks again.
func dropCheck(c store.Change) {
	if c.Op != store.Update || safety.IsChanged(c, checkedColumn, effectiveColumn) {
		return
	}
	if safety.IsChanged(c, measureColumn, doneColumn, severityAfter, likelihoodAfter) {
		c.After[checkedColumn], c.After[effectiveColumn] = nil, nil
	}
}

// checkRatings refuses a rating after the measure that is above the one before, or without it.
func checkRatings(entry store.Row) error {
	before, after := severityRank[entry.Text(severityBefore)], severityRank[entry.Text(severityAfter)]
	if err := comparePair(severityAfter, severityBefore, before, after); err != nil {
		return err
	}
	before, after = stepOf(entry, likelihoodBefore), stepOf(entry, likelihoodAfter)
	return comparePair(likelihoodAfter, likelihoodBefore, before, after)
}

// comparePair holds a step after the measure to the one before; 0 is none.
func comparePair(field, other string, before, after int) error {
	switch {
	case after == 0:
		return nil
	case before == 0:
		return safety.RefuseField(field, "goes with %s: rate the risk as it is today first", other)
	case after > before:
		return safety.RefuseField(field, "lies above %s: a measure does not make a risk larger", other)
	}
	return nil
}

func stepOf(entry store.Row, field string) int {
	n, _ := entry[field].(int64)
	return int(n)
}

// checkMeasure refuses what is said of a measure where there is none, and of a check whose
// result or day is missing.
func checkMeasure(entry store.Row) error {
	for _, field := range [...]string{levelColumn, dueColumn, doneColumn} {
		if entry[field] != nil && entry.Text(measureColumn) == "" {
			return safety.RefuseField(field, "goes with a measure: say what is done")
		}
	}
	switch {
	case entry[effectiveColumn] != nil && entry[checkedColumn] == nil:
		return safety.RefuseField(effectiveColumn, "goes with effect_checked_on: say when it was checked")
	case entry[checkedColumn] != nil && entry[effectiveColumn] == nil:
		return safety.RefuseField(effectiveColumn, "is missing: say what the check of %s found", entry.Text(checkedColumn))
	case entry[checkedColumn] != nil && entry[doneColumn] == nil:
		return safety.RefuseField(checkedColumn,
			"goes with measure_done_on: a measure is in place before its effect is checked")
	case entry[checkedColumn] != nil && entry.Text(checkedColumn) < entry.Text(doneColumn):
		return safety.RefuseField(checkedColumn, "lies before the measure was in place, on %s", entry.Text(doneColumn))
	}
	return nil
}

// checkDays refuses a review that is planned for a day that is over, and what is said to be
// done on a day to come.
func checkDays(c store.Change, today string) error {
	entry := c.After
	isNew := func(field string) bool {
		return entry[field] != nil && (c.Op == store.Insert || safety.IsChanged(c, field))
	}
	if isNew(reviewColumn) && entry.Text(reviewColumn) < today {
		return safety.RefuseField(reviewColumn, "lies in the past: today is %s", today)
	}
	for _, field := range [...]string{doneColumn, checkedColumn} {
		if isNew(field) && entry.Text(field) > today {
			return safety.RefuseField(field, "lies in the future: today is %s", today)
		}
	}
	return nil
}

// RateEntry fills the ratings of a risk and its priority.
func RateEntry(entry store.Row) {
	entry[ratingBefore] = safety.RiskRating(entry.Text(severityBefore), entry[likelihoodBefore])
	entry[ratingAfter] = safety.RiskRating(entry.Text(severityAfter), entry[likelihoodAfter])
	now, severity := entry[ratingBefore], entry.Text(severityBefore)
	if entry[effectiveColumn] == any(true) && entry[ratingAfter] != nil {
		now, severity = entry[ratingAfter], entry.Text(severityAfter)
	}
	entry[ratingNow], entry[priorityColumn] = now, nil
	if rating, rated := now.(int64); rated {
		entry[priorityColumn] = priorityOf(rating, severity)
	}
}

// priorityOf ranks a rating.
func priorityOf(rating int64, severity string) string {
	switch {
	case rating >= criticalRating:
		return "critical"
	case rating >= highRating:
		return "high"
	case rating >= mediumRating, severity == "critical":
		return "medium"
	}
	return "low"
}
