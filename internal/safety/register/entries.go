package register

import (
	"fmt"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
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
	for _, c := range record.Changes[record.RiskEntry](changes) {
		if err := trimTexts(c); err != nil {
			return err
		}
		dropCheck(c)
	}
	today, err := safety.ReadToday(tx.Tx, tx.TenantID, tx.Now())
	if err != nil {
		return fmt.Errorf("register: read the tenant's day: %w", err)
	}
	for _, c := range record.Changes[record.RiskEntry](changes) {
		if err := checkRatings(c.After); err != nil {
			return err
		}
		if err := checkMeasure(c.After); err != nil {
			return err
		}
		if err := checkDays(c, today.String()); err != nil {
			return err
		}
		RateEntry(store.Row(c.After))
	}
	return nil
}

// refuseArchivedUnits refuses risks of units that are archived, new ones and changes of those
// that are there: no version would say what is changed. A risk may still be closed, which is
// to archive it. It locks the units, so that none is archived meanwhile.
func refuseArchivedUnits(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.RiskEntry](changes) {
		if isClosed := c.Op == store.Update && c.After.HasArchivedAt(); !isClosed {
			ids = append(ids, c.After.UnitID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	units, err := record.List[record.WorkUnit](tx, "id IN {ids $2} ORDER BY id {for update}", query.List(ids))
	if err != nil {
		return fmt.Errorf("register: lock units: %w", err)
	}
	for _, unit := range units {
		if unit.HasArchivedAt() {
			return fault.New(fault.Conflict, safety.CodeGuard, "unit_id names %s, which is archived: "+
				"take the unit back into use; its risks can only be archived", unit.Code()).
				At(unitColumn, "is archived")
		}
	}
	return nil
}

// trimTexts takes blanks off the ends of what a risk says, and refuses blanks alone.
func trimTexts(c record.Change[record.RiskEntry]) error {
	for _, field := range [...]string{situationColumn, measureColumn} {
		said, isText := c.After[field].(string)
		if !isText || (c.Op == store.Update && !safety.IsChanged(c.Change, field)) {
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
func dropCheck(c record.Change[record.RiskEntry]) {
	if c.Op != store.Update || safety.IsChanged(c.Change, checkedColumn, effectiveColumn) {
		return
	}
	if safety.IsChanged(c.Change, measureColumn, doneColumn, severityAfter, likelihoodAfter) {
		c.After.ClearEffectCheckedOn()
		c.After.ClearEffective()
	}
}

// checkRatings refuses a rating after the measure that is above the one before, or without it.
func checkRatings(entry record.RiskEntry) error {
	before, after := severityRank[entry.SeverityBefore()], severityRank[entry.SeverityAfter()]
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

func stepOf(entry record.RiskEntry, field string) int {
	n, _ := entry[field].(int64)
	return int(n)
}

// checkMeasure refuses what is said of a measure where there is none, and of a check whose
// result or day is missing.
func checkMeasure(entry record.RiskEntry) error {
	for _, field := range [...]string{levelColumn, dueColumn, doneColumn} {
		if entry[field] != nil && entry.Measure() == "" {
			return safety.RefuseField(field, "goes with a measure: say what is done")
		}
	}
	switch {
	case entry.HasEffective() && !entry.HasEffectCheckedOn():
		return safety.RefuseField(effectiveColumn, "goes with effect_checked_on: say when it was checked")
	case entry.HasEffectCheckedOn() && !entry.HasEffective():
		return safety.RefuseField(effectiveColumn, "is missing: say what the check of %s found",
			entry.EffectCheckedOn())
	case entry.HasEffectCheckedOn() && !entry.HasMeasureDoneOn():
		return safety.RefuseField(checkedColumn,
			"goes with measure_done_on: a measure is in place before its effect is checked")
	case entry.HasEffectCheckedOn() && entry.EffectCheckedOn() < entry.MeasureDoneOn():
		return safety.RefuseField(checkedColumn, "lies before the measure was in place, on %s", entry.MeasureDoneOn())
	}
	return nil
}

// checkDays refuses a review that is planned for a day that is over, and what is said to be
// done on a day to come.
func checkDays(c record.Change[record.RiskEntry], today string) error {
	entry := c.After
	isNew := func(field string) bool {
		return entry[field] != nil && (c.Op == store.Insert || safety.IsChanged(c.Change, field))
	}
	if isNew(reviewColumn) && entry.ReviewOn() < today {
		return safety.RefuseField(reviewColumn, "lies in the past: today is %s", today)
	}
	for _, field := range [...]string{doneColumn, checkedColumn} {
		if isNew(field) && store.Row(entry).Text(field) > today {
			return safety.RefuseField(field, "lies in the future: today is %s", today)
		}
	}
	return nil
}

// RateEntry fills the ratings of a risk and its priority.
func RateEntry(entry store.Row) {
	record.RiskEntry(entry).SetRatingBeforeOrNull(safety.RiskRating(record.RiskEntry(entry).SeverityBefore(),
		record.RiskEntry(entry).LikelihoodBeforeOrNull()))
	record.RiskEntry(entry).SetRatingAfterOrNull(safety.RiskRating(record.RiskEntry(entry).SeverityAfter(),
		record.RiskEntry(entry).LikelihoodAfterOrNull()))
	now, severity := record.RiskEntry(entry).RatingBeforeOrNull(), record.RiskEntry(entry).SeverityBefore()
	if record.RiskEntry(entry).EffectiveOrNull() == any(true) && record.RiskEntry(entry).HasRatingAfter() {
		now, severity = record.RiskEntry(entry).RatingAfterOrNull(), record.RiskEntry(entry).SeverityAfter()
	}
	record.RiskEntry(entry).SetRatingNowOrNull(now)
	record.RiskEntry(entry).ClearPriority()
	if rating, rated := now.(int64); rated {
		record.RiskEntry(entry).SetPriority(priorityOf(rating, severity))
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
