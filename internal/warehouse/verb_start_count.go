package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// StartCountIn says what is to be counted.
type StartCountIn struct {
	ZoneID string `json:"zone_id" required:"true" format:"uuid" names:"zones" doc:"The place."`
	ItemID string `json:"item_id" format:"uuid" names:"items" doc:"The item; everything in the zone when absent."`
	Method string `json:"method" enum:"cycle full zero_check" default:"cycle" doc:"A cycle count, a full one, or a look whether the place is empty."`
	Blind  *bool  `json:"blind" doc:"Whether the counter is not told what the books say; true when absent."`
	DueOn  string `json:"due_on" format:"date" doc:"When it has to be done."`
	Assign string `json:"assigned_worker_id" format:"uuid" names:"workers" doc:"Who counts."`
	Reason string `json:"reason" max:"500" doc:"Why it is counted."`
}

// CountOut is a count as it is afterwards.
type CountOut struct {
	verb.Answer
	CountTask verb.Record   `json:"count_task" record:"count_tasks"`
	Lines     []verb.Record `json:"lines" record:"count_lines"`
	Expected  []Expected    `json:"expected" doc:"What the books say, unless the count is blind."`
	Movements []verb.Record `json:"movements" record:"stock_movements"`
	Released  []verb.Record `json:"released" record:"reservations" doc:"Promises of what was not found."`
}

// Expected is what the books say of one stock key.
type Expected struct {
	ItemID      string      `json:"item_id"`
	LotID       *string     `json:"lot_id"`
	Serial      *string     `json:"serial"`
	LPN         *string     `json:"lpn"`
	OwnerID     *string     `json:"owner_id"`
	StockStatus string      `json:"stock_status"`
	Quantity    decimal.Dec `json:"quantity"`
}

func startCount(c *verb.Call, in *StartCountIn) (*CountOut, error) {
	zone, err := readRecord(c, "zones", "zone_id", in.ZoneID)
	if err != nil {
		return nil, err
	}
	if zone["status"] == "archived" {
		return nil, fault.New(fault.Conflict, CodeMovement, "zone %s is archived", zone.Text("code")).At("zone_id",
			"is archived")
	}
	for _, f := range [...][3]string{{"items", "item_id", in.ItemID}, {"workers", "assigned_worker_id", in.Assign}} {
		if _, err := readRecord(c, f[0], f[1], f[2]); err != nil {
			return nil, err
		}
	}
	row := store.Row{"zone_id": in.ZoneID, "method": in.Method, "blind": in.Blind == nil || *in.Blind}
	setGiven(row, "item_id", in.ItemID, "due_on", in.DueOn, "assigned_worker_id", in.Assign, "reason", in.Reason)
	task, err := openCount(c, row)
	if err != nil {
		return nil, err
	}
	out := &CountOut{CountTask: c.Record("count_tasks", task), Lines: []verb.Record{}, Movements: []verb.Record{},
		Expected: []Expected{}, Released: []verb.Record{}}
	out.Then("enter_count", "Enter what was found")
	if task["blind"] == true {
		return out, nil
	}
	levels, err := readCountable(c, task)
	for _, l := range levels {
		out.Expected = append(out.Expected, Expected{l.Text("item_id"), optionalText(l, "lot_id"), optionalText(l, "serial"),
			optionalText(l, "lpn"), optionalText(l, "owner_id"), l.Text("stock_status"), l.Decimal("quantity")})
	}
	return out, err
}

func optionalText(r store.Row, name string) *string {
	if s, ok := r[name].(string); ok {
		return &s
	}
	return nil
}

// openCount opens a count task, unless one is open for the zone and item.
func openCount(c *verb.Call, row store.Row) (store.Row, error) {
	key := row.Text("zone_id") + "|" + row.Text("item_id")
	err := c.Query("SELECT count_no FROM count_tasks WHERE tenant_id = $1 AND open_key = $2", []any{c.TenantID, key},
		func(r *db.Row) error {
			return fault.New(fault.Conflict, CodeInUse, "count %s is open for that place already", r.Text(0)).At("zone_id",
				"is being counted")
		})
	if err != nil {
		return nil, err
	}
	made, err := c.Tx.InsertRows("count_tasks", []store.Row{row})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// keyCounts keeps the key by which a place is counted once at a time: a task has
// it until it is closed, however that comes about.
func keyCounts(_ *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		switch row := c.After; {
		case row == nil:
		case row["status"] == "open" || row["status"] == "counting" || row["status"] == "counted":
			row["open_key"] = row.Text("zone_id") + "|" + row.Text("item_id")
		default:
			row["open_key"] = nil
		}
	}
	return nil
}

// readCountable reads the stock that a count is about.
func readCountable(c *verb.Call, task store.Row) ([]store.Row, error) {
	if task["item_id"] == nil {
		return c.Rows("stock_levels", "zone_id = $2 AND quantity > 0 ORDER BY stock_key", task["zone_id"])
	}
	return c.Rows("stock_levels", "zone_id = $2 AND item_id = $3 AND quantity > 0 ORDER BY stock_key", task["zone_id"],
		task["item_id"])
}
