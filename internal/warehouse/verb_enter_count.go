package warehouse

import (
	"cmp"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/counting"
)

// EnterCountIn is what was found. Stock of the count that no line names was not
// found: it counts as 0.
type EnterCountIn struct {
	CountTaskID string      `json:"count_task_id" required:"true" format:"uuid" names:"count_tasks" doc:"The count."`
	CountedAt   string      `json:"counted_at" format:"date-time" doc:"When it was looked at; now when absent."`
	Lines       []CountLine `json:"lines" doc:"What was found; none for an empty place."`
}

// CountLine is what was found of one stock key.
type CountLine struct {
	ItemID      string      `json:"item_id" format:"uuid" names:"items" doc:"The item; the task's when absent."`
	LotID       string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot."`
	Serial      string      `json:"serial" code:"true" max:"64" doc:"Its serial number."`
	LPN         string      `json:"lpn" code:"true" max:"64" doc:"The license plate it is on."`
	OwnerID     string      `json:"owner_id" format:"uuid" names:"goods_owners" doc:"Whose goods; by the books when absent, where they know one."`
	StockStatus string      `json:"stock_status" enum:"available quarantine damaged hold" default:"available" doc:"Status of the goods."`
	Counted     decimal.Dec `json:"counted" required:"true" min:"0" doc:"How much was found, in base units."`
	ReasonCode  string      `json:"reason_code" max:"64" doc:"Why it differs, where that is known."`
}

func (w Watch) enterCount(c *verb.Call, in *EnterCountIn) (*CountOut, error) {
	task, err := record.One[record.CountTask](c, "count_task_id", in.CountTaskID)
	if err != nil {
		return nil, err
	}
	if s := task.Status(); s != "open" && s != "counting" {
		return nil, fault.New(fault.Conflict, "HF001", "count %s is %s", task.CountNo(), s).At("count_task_id",
			"is %s", s)
	}
	looked, err := counting.ReadLook(in.CountedAt, task.CreatedAt(), c.Now())
	if err != nil {
		return nil, err
	}
	task.SetCountedAtOrNull(db.Null(looked))
	rows, held, err := lockFound(c, task, in.Lines)
	if err != nil {
		return nil, err
	}
	items, value, err := varianceValue(c, rows)
	if err != nil {
		return nil, err
	}
	waits, err := countWaits(c, rows, items, value)
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		if rows, err = record.Insert(c.Tx, rows); err != nil {
			return nil, err
		}
	}
	set := record.CountTask{"status": "counted", "counted_by": db.Null(c.UserID), "variance_value": value,
		"counted_at": cmp.Or(looked, query.FormatTime(c.Now()))}
	if err := record.Update(c.Tx, []string{in.CountTaskID}, set); err != nil {
		return nil, err
	}
	if !waits {
		return w.finishCount(c, task, rows, held, record.CountTask{"status": "approved"})
	}
	out := &CountOut{Lines: record.ShowList(c, rows), Movements: []verb.Record{}, Expected: []counting.Expected{},
		Released: []verb.Record{}}
	out.Then("approve_count", "A second person approves the variance")
	out.Then("recount", "Count again")
	out.CountTask, err = c.Again("count_tasks", in.CountTaskID)
	return out, err
}

// lockFound puts what was found beside what the books say while nobody moves any of it:
// what was read before the locks only says what to lock.
func lockFound(c *verb.Call, task record.CountTask, lines []CountLine) ([]record.CountLine, counting.Held, error) {
	before, err := foundRows(c, task, lines)
	if err != nil {
		return nil, nil, err
	}
	held, err := counting.LockPromised(c.Tx, placesOf(record.From[record.StockCount](counting.ListCounts(task,
		before))), MovementKeys)
	if err != nil {
		return nil, nil, err
	}
	locked, err := counting.LockItems(c.Tx, before)
	if err != nil {
		return nil, nil, err
	}
	rows, err := foundRows(c, task, lines)
	if err != nil {
		return nil, nil, err
	}
	if err := counting.CheckLocked(rows, locked); err != nil {
		return nil, nil, err
	}
	return rows, held, reckonRows(c, task, rows, len(lines))
}

// reckonRows takes what was moved since the counter looked off what the books have. The
// first rows, as many as named, are those that the caller named.
func reckonRows(c *verb.Call, task record.CountTask, rows []record.CountLine, named int) error {
	places := placesOf(record.From[record.StockCount](counting.ListCounts(task, rows)))
	moved, err := counting.SumMoved(c.Tx, places, MovementKeys)
	if err != nil {
		return err
	}
	var said []spoken
	for i, row := range rows {
		books := row.Expected()
		if err := counting.ReckonCount(record.StockCount(row), books, moved[places[i].Key]); err != nil {
			return err
		}
		if i < named {
			said = append(said, spoken{item: row.ItemID(), member: lineField(i, "counted"),
				quantity: row.Counted(), all: books})
		}
	}
	return checkBaseUnitDecimals(c, said...)
}

// foundRows puts what was found beside what the books have now.
func foundRows(c *verb.Call, task record.CountTask, lines []CountLine) ([]record.CountLine, error) {
	levels, err := counting.ReadStock(c.Tx, task)
	if err != nil {
		return nil, err
	}
	emptied, err := counting.ReadEmptied(c.Tx, task)
	if err != nil {
		return nil, err
	}
	books := map[string]record.StockLevel{}
	for _, l := range levels {
		books[l.StockKey()] = l
	}
	var rows []record.CountLine
	named := map[string]bool{}
	for i, l := range lines {
		at, err := placeFound(task, l, i, books, slices.Concat(levels, emptied))
		if err != nil {
			return nil, err
		}
		key := at.stockKey()
		if named[key] {
			return nil, refuseMovement(lineField(i, "counted"), "the same stock is counted above already")
		}
		named[key] = true
		row := record.CountLine{"count_task_id": task.ID(), "item_id": at.item, "stock_status": l.StockStatus,
			"counted":  l.Counted,
			"expected": books[key].Quantity()}
		setGiven(store.Row(row), "lot_id", l.LotID, "serial", l.Serial, "owner_id", at.owner, "lpn", l.LPN,
			"reason_code", l.ReasonCode)
		rows = append(rows, row)
	}
	for _, l := range levels {
		if !named[l.StockKey()] {
			rows = append(rows, counting.MissedRow(task, l))
		}
	}
	return rows, nil
}

// placeFound is where line i has its stock. An owner whom nobody names is the one whose
// goods the books have there, or had when the counter looked.
func placeFound(task record.CountTask, l CountLine, i int, books map[string]record.StockLevel,
	known []record.StockLevel) (spot, error) {
	at := spot{zone: task.ZoneID(), item: cmp.Or(l.ItemID, task.ItemID()), lot: l.LotID, serial: l.Serial,
		owner: l.OwnerID, lpn: l.LPN, status: l.StockStatus}
	if at.item == "" || task.HasItemID() && at.item != task.ItemID() {
		return at, refuseMovement(lineField(i, "item_id"), "name the item, one that the count is about")
	}
	if at.owner != "" || books[at.stockKey()] != nil {
		return at, nil
	}
	owner, one := ownerOf(known, at)
	if !one {
		return at, refuseMovement(lineField(i, "owner_id"), "goods of more than one owner lie there: say whose they are")
	}
	at.owner = owner
	return at, nil
}

// ownerOf is whose stock the books have where at is, but for its owner, "" for the house's
// own; one is false when it is that of several.
func ownerOf(levels []record.StockLevel, at spot) (owner string, one bool) {
	found := 0
	for _, l := range levels {
		like := at
		if like.owner = l.OwnerID(); like.stockKey() == l.StockKey() {
			owner = like.owner
			found++
		}
	}
	return owner, found <= 1
}

// countWaits reports whether the variances of a count need a second person: all
// of them together are worth more than the tenant's limit, or what the caller
// counts of one item today is.
func countWaits(c *verb.Call, rows []record.CountLine, items map[string]*article, value decimal.Dec) (bool, error) {
	ru := queueRules(c.Tx.Tx, c.TenantID, c.Now())
	if err := c.Flush(); err != nil || ru.countLimit == nil || value > *ru.countLimit {
		return ru.countLimit != nil, err
	}

	var ids set
	variances := map[string]decimal.Dec{}
	for _, row := range rows {
		if variance := row.Variance(); variance != 0 {
			ids.addID(row.ItemID())
			variances[row.ItemID()] += max(variance, -variance)
		}
	}
	if len(ids.list) == 0 {
		return false, nil
	}
	today, err := lockWords(c.Tx.Tx, c.Actor, ru, ids.list)
	if err != nil {
		return false, err
	}
	for item, variance := range variances {
		if isAbove(ru.countLimit, today[word{item, countsStock}]+variance, items[item].worth) {
			return true, nil
		}
	}
	return false, nil
}

// varianceValue adds up what the variances cost, each without its sign: a gain
// here does not make up for a loss there. It returns the items too.
func varianceValue(c *verb.Call, rows []record.CountLine) (items map[string]*article, total decimal.Dec, err error) {
	var ids, lots, owners set
	for _, row := range rows {
		ids.addID(row.ItemID())
		lots.addID(row.LotID())
		owners.addID(row.OwnerID())
	}
	items = queueArticles(c.Tx.Tx, c.TenantID, ids.list)
	if err := c.Flush(); err != nil {
		return nil, 0, err
	}
	known, err := byID[record.Lot](c, lots.list)
	if err != nil {
		return nil, 0, err
	}
	whose, err := byID[record.GoodsOwner](c, owners.list)
	if err != nil {
		return nil, 0, err
	}
	for i, row := range rows { // what was entered comes first, in its order
		it := items[row.ItemID()]
		if it == nil {
			return nil, 0, verb.Missing("items", lineField(i, "item_id"))
		}
		if lot := row.LotID(); lot != "" && known[lot] == nil {
			return nil, 0, verb.Missing("lots", lineField(i, "lot_id"))
		}
		if owner := row.OwnerID(); owner != "" && whose[owner] == nil {
			return nil, 0, verb.Missing("goods_owners", lineField(i, "owner_id"))
		}
		v, err := it.stockValue(row.Variance())
		if err != nil {
			return nil, 0, err
		}
		if total, err = addWithin(total, v, maxTotal, "counted"); err != nil {
			return nil, 0, err
		}
	}
	return items, total, nil
}

// finishCount gives back promises of what was not found, books the variances and closes
// the task.
func (w Watch) finishCount(
	c *verb.Call, task record.CountTask, lines []record.CountLine, held counting.Held, set record.CountTask,
) (*CountOut, error) {
	id, counts := task.ID(), record.From[record.StockCount](counting.ListCounts(task, lines))
	for i := range counts {
		setGiven(store.Row(counts[i]), "approved_by", set.ApprovedBy())
	}
	freed, err := w.workOf(c).yieldPromises(placesOf(counts), held)
	if err != nil {
		return nil, err
	}
	out := &CountOut{Lines: record.ShowList(c, lines), Expected: []counting.Expected{}, Movements: []verb.Record{},
		Released: record.ShowList(c, freed)}
	if len(counts) > 0 {
		if counts, err = record.Insert(c.Tx, counts); err != nil {
			return nil, err
		}
		moves, err := counting.ReadMovements(c.Tx, counts)
		if err != nil {
			return nil, err
		}
		out.Movements = record.ShowList(c, moves)
	}
	set.SetApprovedAt(query.FormatTime(c.Now()))
	if err := record.Update(c.Tx, []string{id}, set); err != nil {
		return nil, err
	}
	out.CountTask, err = c.Again("count_tasks", id)
	return out, err
}
