package counting

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// ReadStock reads the stock that a count is about.
func ReadStock(tx *store.Tx, task record.CountTask) ([]record.StockLevel, error) {
	if !task.HasItemID() {
		return record.List[record.StockLevel](tx, "zone_id = $2 AND quantity > 0 ORDER BY stock_key", task.ZoneID())
	}
	const ofItem = "zone_id = $2 AND item_id = $3 AND quantity > 0 ORDER BY stock_key"
	return record.List[record.StockLevel](tx, ofItem, task.ZoneID(), task.ItemIDOrNull())
}

// ReadEmptied reads the levels of a counted place that were emptied after the counter
// looked: what was found may be of theirs. There are none when the count does not say when
// that was.
func ReadEmptied(tx *store.Tx, task record.CountTask) ([]record.StockLevel, error) {
	if !task.HasCountedAt() {
		return nil, nil
	}
	const emptied = "zone_id = $2 AND quantity = 0 AND updated_at > $3 ORDER BY stock_key"
	return record.List[record.StockLevel](tx, emptied, task.ZoneID(), task.CountedAtOrNull())
}

// LockItems locks the items of count lines, as every movement of them does, and returns
// which they are: until the transaction ends nobody moves or promises their stock.
func LockItems(tx *store.Tx, lines []record.CountLine) (map[string]bool, error) {
	items := map[string]bool{}
	for _, line := range lines {
		items[line.ItemID()] = true
	}
	return items, lockItems(tx, items)
}

// CheckLocked begins the transaction again when an item came to a counted place while the
// locks were taken.
func CheckLocked(lines []record.CountLine, locked map[string]bool) error {
	for _, line := range lines {
		if !locked[line.ItemID()] {
			return fault.New(fault.Unavailable, "40001", "goods came to the place while it was counted: try again")
		}
	}
	return nil
}

// ReckonCount sets what the books had when the counter looked, and the variance of what was
// found from it. books is what they have now, moved what was moved since. More taken since
// than was found was taken before the look and booked after it: nobody can tell what of the
// variance is real.
func ReckonCount(count record.StockCount, books, moved decimal.Dec) error {
	found := count.Counted()
	count.SetExpected(books - moved)
	count.SetVariance(found - (books - moved))
	if found+moved < 0 {
		return refuseMoved()
	}
	return nil
}

// refuseMoved refuses a count without a figure: counters do not learn what the books have.
func refuseMoved() *fault.Error {
	return fault.New(fault.Conflict, "HF004", "goods of this place were moved since: count it again").
		At("counted_at", "goods were moved since")
}

// HideBooks makes the refusal of a movement that books a count one without figures of the
// books. A serial number that is elsewhere is none.
func HideBooks(err *fault.Error) *fault.Error {
	ofSerial := func(f fault.Field) bool { return f.Name == "serial" }
	if err.Code != "HF002" || slices.ContainsFunc(err.Fields, ofSerial) {
		return err
	}
	hidden := refuseMoved()
	if strings.HasPrefix(err.Details, "row ") {
		hidden.Details = err.Details
	}
	return hidden
}

// KeepKeys keeps the key by which a place is counted once at a time: a task has it until it
// is closed, however that comes about.
func KeepKeys(_ *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.CountTask](changes) {
		switch row := c.After; {
		case row == nil:
		case row.Status() == "open" || row.Status() == "counting" || row.Status() == "counted":
			row.SetOpenKey(KeyOf(row))
		default:
			row.ClearOpenKey()
		}
	}
	return nil
}

// KeyOf is the key by which the place of a count is counted once at a time.
func KeyOf(task record.CountTask) string { return task.ZoneID() + "|" + task.ItemID() }

// CheckUnchanged refuses the lines of a count whose place was put right since it was
// entered, by another count. Their items are locked.
func CheckUnchanged(tx *store.Tx, task record.CountTask, lines []record.CountLine, places []Place, keys Keys) error {
	moved, err := SumMoved(tx, places, keys)
	if err != nil {
		return err
	}
	levels, err := ReadStock(tx, task)
	if err != nil {
		return fmt.Errorf("counting: stock of a count: %w", err)
	}
	now := map[string]decimal.Dec{}
	for _, level := range levels {
		now[level.StockKey()] = level.Quantity()
	}
	for i, line := range lines {
		key := places[i].Key
		if now[key]-moved[key] != line.Expected() {
			return fault.New(fault.Conflict, "HF004", "the books changed since count %s was entered: count again",
				task.CountNo()).At("count_task_id", "is out of date")
		}
	}
	return nil
}
