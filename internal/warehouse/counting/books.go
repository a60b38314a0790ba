package counting

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// ReadStock reads the stock that a count is about.
func ReadStock(tx *store.Tx, task store.Row) ([]store.Row, error) {
	if task["item_id"] == nil {
		return tx.Rows("stock_levels", "zone_id = $2 AND quantity > 0 ORDER BY stock_key", task["zone_id"])
	}
	const ofItem = "zone_id = $2 AND item_id = $3 AND quantity > 0 ORDER BY stock_key"
	return tx.Rows("stock_levels", ofItem, task["zone_id"], task["item_id"])
}

// ReadEmptied reads the levels of a counted place that were emptied after the counter
// looked: what was found may be of theirs. There are none when the count does not say when
// that was.
func ReadEmptied(tx *store.Tx, task store.Row) ([]store.Row, error) {
	if task["counted_at"] == nil {
		return nil, nil
	}
	const emptied = "zone_id = $2 AND quantity = 0 AND updated_at > $3 ORDER BY stock_key"
	return tx.Rows("stock_levels", emptied, task["zone_id"], task["counted_at"])
}

// LockItems locks the items of count lines, as every movement of them does, and returns
// which they are: until the transaction ends nobody moves or promises their stock.
func LockItems(tx *store.Tx, lines []store.Row) (map[string]bool, error) {
	items := map[string]bool{}
	for _, line := range lines {
		items[line.Text("item_id")] = true
	}
	return items, lockItems(tx, items)
}

// CheckLocked begins the transaction again when an item came to a counted place while the
// locks were taken.
func CheckLocked(lines []store.Row, locked map[string]bool) error {
	for _, line := range lines {
		if !locked[line.Text("item_id")] {
			return fault.New(fault.Unavailable, "40001", "goods came to the place while it was counted: try again")
		}
	}
	return nil
}

// ReckonCount sets what the books had when the counter looked, and the variance of what was
// found from it. books is what they have now, moved what was moved since. More taken since
// than was found was taken before the look and booked after it: nobody can tell what of the
// variance is real.
func ReckonCount(count store.Row, books, moved decimal.Dec) error {
	found := count.Decimal("counted")
	count["expected"] = books - moved
	count["variance"] = found - (books - moved)
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
	for _, c := range changes {
		switch row := c.After; {
		case row == nil:
		case row["status"] == "open" || row["status"] == "counting" || row["status"] == "counted":
			row["open_key"] = KeyOf(row)
		default:
			row["open_key"] = nil
		}
	}
	return nil
}

// KeyOf is the key by which the place of a count is counted once at a time.
func KeyOf(task store.Row) string { return task.Text("zone_id") + "|" + task.Text("item_id") }

// CheckUnchanged refuses the lines of a count whose place was put right since it was
// entered, by another count. Their items are locked.
func CheckUnchanged(tx *store.Tx, task store.Row, lines []store.Row, places []Place, keys Keys) error {
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
		now[level.Text("stock_key")] = level.Decimal("quantity")
	}
	for i, line := range lines {
		key := places[i].Key
		if now[key]-moved[key] != line.Decimal("expected") {
			return fault.New(fault.Conflict, "HF004", "the books changed since count %s was entered: count again",
				task.Text("count_no")).At("count_task_id", "is out of date")
		}
	}
	return nil
}
