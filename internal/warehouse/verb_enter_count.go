package warehouse

import (
	"cmp"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
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
	Serial      string      `json:"serial" max:"64" doc:"Its serial number."`
	LPN         string      `json:"lpn" max:"64" doc:"The license plate it is on."`
	OwnerID     string      `json:"owner_id" format:"uuid" names:"goods_owners" doc:"Whose goods; by the books when absent, where they know one."`
	StockStatus string      `json:"stock_status" enum:"available quarantine damaged hold" default:"available" doc:"Status of the goods."`
	Counted     decimal.Dec `json:"counted" required:"true" min:"0" doc:"How much was found, in base units."`
	ReasonCode  string      `json:"reason_code" max:"64" doc:"Why it differs, where that is known."`
}

func (w Watch) enterCount(c *verb.Call, in *EnterCountIn) (*CountOut, error) {
	task, err := c.One("count_tasks", "count_task_id", in.CountTaskID)
	if err != nil {
		return nil, err
	}
	if s := task.Text("status"); s != "open" && s != "counting" {
		return nil, fault.New(fault.Conflict, "HF001", "count %s is %s", task.Text("count_no"), s).At("count_task_id",
			"is %s", s)
	}
	looked, err := counting.ReadLook(in.CountedAt, task.Text("created_at"), c.Now())
	if err != nil {
		return nil, err
	}
	task["counted_at"] = db.Null(looked)
	rows, err := foundRows(c, task, in.Lines)
	if err != nil {
		return nil, err
	}
	items, value, err := varianceValue(c, rows)
	if err != nil {
		return nil, err
	}
	held, err := counting.LockPromised(c.Tx, placesOf(countsOf(task, rows)), MovementKeys)
	if err != nil {
		return nil, err
	}
	waits, err := countWaits(c, rows, items, value)
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		if rows, err = c.Tx.InsertRows("count_lines", rows); err != nil {
			return nil, err
		}
	}
	set := store.Row{"status": "counted", "counted_by": db.Null(c.UserID), "variance_value": value,
		"counted_at": cmp.Or(looked, query.FormatTime(c.Now()))}
	if err := c.Tx.UpdateRows("count_tasks", []string{in.CountTaskID}, set); err != nil {
		return nil, err
	}
	if !waits {
		return w.finishCount(c, task, rows, held, store.Row{"status": "approved"})
	}
	out := &CountOut{Lines: c.Records("count_lines", rows), Movements: []verb.Record{}, Expected: []Expected{},
		Released: []verb.Record{}}
	out.Then("approve_count", "A second person approves the variance")
	out.Then("recount", "Count again")
	out.CountTask, err = c.Again("count_tasks", in.CountTaskID)
	return out, err
}

// foundRows puts what was found beside what the books say.
func foundRows(c *verb.Call, task store.Row, lines []CountLine) ([]store.Row, error) {
	levels, err := readCountable(c, task)
	if err != nil {
		return nil, err
	}
	zone := task.Text("zone_id")
	books := map[string]store.Row{}
	for _, l := range levels {
		books[l.Text("stock_key")] = l
	}
	var rows []store.Row
	var said []spoken
	seenKeys := map[string]bool{}
	for i, l := range lines {
		at := spot{zone: zone, item: l.ItemID, lot: l.LotID, serial: l.Serial, owner: l.OwnerID, lpn: l.LPN,
			status: l.StockStatus}
		if at.item == "" {
			at.item = task.Text("item_id")
		}
		if at.item == "" || task["item_id"] != nil && at.item != task.Text("item_id") {
			return nil, refuseMovement(fmt.Sprintf("lines[%d].item_id", i), "name the item, one that the count is about")
		}
		if at.owner == "" && books[at.stockKey()] == nil {
			owner, one := ownerOf(levels, at)
			if !one {
				return nil, refuseMovement(lineField(i, "owner_id"), "goods of more than one owner lie there: say whose they are")
			}
			at.owner = owner
		}
		key := at.stockKey()
		if seenKeys[key] {
			return nil, refuseMovement(fmt.Sprintf("lines[%d].counted", i), "the same stock is counted above already")
		}
		seenKeys[key] = true
		row := store.Row{"count_task_id": task["id"], "item_id": at.item, "stock_status": l.StockStatus, "counted": l.Counted,
			"expected": books[key].Decimal("quantity")}
		setGiven(row, "lot_id", l.LotID, "serial", l.Serial, "owner_id", at.owner, "lpn", l.LPN, "reason_code", l.ReasonCode)
		rows = append(rows, row)
		said = append(said, spoken{item: at.item, member: lineField(i, "counted"), quantity: l.Counted,
			all: books[key].Decimal("quantity")})
	}
	if err := checkBaseUnitDecimals(c, said...); err != nil {
		return nil, err
	}
	for _, l := range levels {
		if seenKeys[l.Text("stock_key")] {
			continue
		}
		row := store.Row{"count_task_id": task["id"], "item_id": l["item_id"], "stock_status": l["stock_status"],
			"counted": decimal.Dec(0), "expected": l["quantity"]}
		for _, f := range [...]string{"lot_id", "serial", "owner_id", "lpn"} {
			if l[f] != nil {
				row[f] = l[f]
			}
		}
		rows = append(rows, row)
	}
	places := placesOf(countsOf(task, rows))
	moved, err := counting.SumMoved(c.Tx, places, MovementKeys)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		row["expected"] = row.Decimal("expected") - moved[places[i].Key]
		row["variance"] = row.Decimal("counted") - row.Decimal("expected")
	}
	return rows, nil
}

// ownerOf is whose stock the books have where at is, but for its owner; one is
// false when it is that of several.
func ownerOf(levels []store.Row, at spot) (owner string, one bool) {
	for _, l := range levels {
		like := at
		if like.owner = l.Text("owner_id"); like.stockKey() != l.Text("stock_key") {
			continue
		}
		if owner != "" {
			return "", false
		}
		owner = like.owner
	}
	return owner, true
}

// countWaits reports whether the variances of a count need a second person: all
// of them together are worth more than the tenant's limit, or what the caller
// counts of one item today is.
func countWaits(c *verb.Call, rows []store.Row, items map[string]*article, value decimal.Dec) (bool, error) {
	ru := queueRules(c.Tx.Tx, c.TenantID, c.Now())
	if err := c.Flush(); err != nil || ru.countLimit == nil || value > *ru.countLimit {
		return ru.countLimit != nil, err
	}

	var ids set
	variances := map[string]decimal.Dec{}
	for _, row := range rows {
		if variance := row.Decimal("variance"); variance != 0 {
			ids.addID(row.Text("item_id"))
			variances[row.Text("item_id")] += max(variance, -variance)
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
		if isAbove(ru.countLimit, today[word{item, countsStock}]+variance, items[item].cost) {
			return true, nil
		}
	}
	return false, nil
}

// varianceValue adds up what the variances cost, each without its sign: a gain
// here does not make up for a loss there. It returns the items too.
func varianceValue(c *verb.Call, rows []store.Row) (items map[string]*article, total decimal.Dec, err error) {
	var ids, lots, owners set
	for _, row := range rows {
		ids.addID(row.Text("item_id"))
		lots.addID(row.Text("lot_id"))
		owners.addID(row.Text("owner_id"))
	}
	items = queueArticles(c.Tx.Tx, c.TenantID, ids.list)
	if err := c.Flush(); err != nil {
		return nil, 0, err
	}
	known, err := byID(c, "lots", lots.list)
	if err != nil {
		return nil, 0, err
	}
	whose, err := byID(c, "goods_owners", owners.list)
	if err != nil {
		return nil, 0, err
	}
	for i, row := range rows { // what was entered comes first, in its order
		it := items[row.Text("item_id")]
		if it == nil {
			return nil, 0, verb.Missing("items", lineField(i, "item_id"))
		}
		if lot := row.Text("lot_id"); lot != "" && known[lot] == nil {
			return nil, 0, verb.Missing("lots", lineField(i, "lot_id"))
		}
		if owner := row.Text("owner_id"); owner != "" && whose[owner] == nil {
			return nil, 0, verb.Missing("goods_owners", lineField(i, "owner_id"))
		}
		v, err := it.stockValue(row.Decimal("variance"))
		if err != nil {
			return nil, 0, err
		}
		if total, err = addWithin(total, v, maxTotal, "counted"); err != nil {
			return nil, 0, err
		}
	}
	return items, total, nil
}

// countsOf are the counts of the lines of a task.
func countsOf(task store.Row, lines []store.Row) (counts []store.Row) {
	for _, l := range lines {
		n := store.Row{"zone_id": task["zone_id"], "item_id": l["item_id"], "stock_status": l["stock_status"],
			"counted": l["counted"], "counted_at": task["counted_at"]}
		setGiven(n, "lot_id", l.Text("lot_id"), "serial", l.Text("serial"), "owner_id", l.Text("owner_id"),
			"lpn", l.Text("lpn"), "reason_code", l.Text("reason_code"))
		counts = append(counts, n)
	}
	return counts
}

// finishCount gives back promises of what was not found, books the variances and closes
// the task.
func (w Watch) finishCount(
	c *verb.Call, task store.Row, lines []store.Row, held counting.Held, set store.Row,
) (*CountOut, error) {
	id, counts := task.Text("id"), countsOf(task, lines)
	for i := range counts {
		setGiven(counts[i], "approved_by", set.Text("approved_by"))
	}
	freed, err := w.workOf(c).yieldPromises(placesOf(counts), held)
	if err != nil {
		return nil, err
	}
	out := &CountOut{Lines: c.Records("count_lines", lines), Expected: []Expected{}, Movements: []verb.Record{},
		Released: c.Records("reservations", freed)}
	if len(counts) > 0 {
		if counts, err = c.Tx.InsertRows("stock_counts", counts); err != nil {
			return nil, err
		}
		var ids []string
		for _, n := range counts {
			ids = append(ids, n.Text("id"))
		}
		moves, err := c.Rows("stock_movements", "ref_type = 'stock_counts' AND "+c.DB().InUUID("ref_id", 2)+" ORDER BY id",
			query.List(ids))
		if err != nil {
			return nil, err
		}
		out.Movements = c.Records("stock_movements", moves)
	}
	set["approved_at"] = query.FormatTime(c.Now())
	if err := c.Tx.UpdateRows("count_tasks", []string{id}, set); err != nil {
		return nil, err
	}
	out.CountTask, err = c.Again("count_tasks", id)
	return out, err
}
