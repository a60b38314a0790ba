package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// AdjustStockIn corrects the stock of one place without a count.
type AdjustStockIn struct {
	ItemID      string      `json:"item_id" required:"true" format:"uuid" names:"items" doc:"The item."`
	LotID       string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot."`
	Serial      string      `json:"serial" code:"true" max:"64" doc:"Its serial number."`
	LPN         string      `json:"lpn" code:"true" max:"64" doc:"The license plate it is on."`
	OwnerID     string      `json:"owner_id" format:"uuid" names:"goods_owners" doc:"Whose goods; the house's own when absent."`
	ZoneID      string      `json:"zone_id" required:"true" format:"uuid" names:"zones" doc:"The place."`
	Quantity    decimal.Dec `json:"quantity" required:"true" doc:"What is added, negative for what is taken away, in uom."`
	UoM         string      `json:"uom" code:"true" max:"64" doc:"Unit of the quantity; the item's base unit when absent."`
	StockStatus string      `json:"stock_status" enum:"available quarantine damaged hold" default:"available" doc:"Status of the goods."`
	ReasonCode  string      `json:"reason_code" required:"true" max:"64" doc:"Why, in the tenant's own codes: damage, theft, found."`
	Note        string      `json:"note" max:"500" doc:"Anything a second person should know."`

	OverrideReason string `json:"override_reason" max:"200" doc:"Why a manager adds goods where the zone refuses them."`
}

// AdjustStockOut is the movement, or the record that waits for a second person
// because the caller's adjustments of the item today, this one included, are worth
// more than setting adjust_limit_value.
type AdjustStockOut struct {
	verb.Answer
	Movement *verb.Record `json:"movement" record:"stock_movements"`
	Approval *verb.Record `json:"approval" record:"stock_adjustments"`
}

func adjustStock(c *verb.Call, in *AdjustStockIn) (*AdjustStockOut, error) {
	if _, err := readRecord[record.Zone](c, "zone_id", in.ZoneID); err != nil {
		return nil, err
	}
	if _, err := readRecord[record.Lot](c, "lot_id", in.LotID); err != nil {
		return nil, err
	}
	if _, err := readRecord[record.GoodsOwner](c, "owner_id", in.OwnerID); err != nil {
		return nil, err
	}
	base, err := inBase(c, in.ItemID, in.UoM, in.Quantity)
	if err != nil {
		return nil, err
	}
	if base == 0 {
		return nil, refuseMovement("quantity", "an adjustment adds or takes something")
	}
	ru := queueRules(c.Tx.Tx, c.TenantID, c.Now())
	items := queueArticles(c.Tx.Tx, c.TenantID, []string{in.ItemID})
	if err := c.Flush(); err != nil {
		return nil, err
	}
	today, err := lockWords(c.Tx.Tx, c.Actor, ru, []string{in.ItemID})
	if err != nil {
		return nil, err
	}
	value, err := items[in.ItemID].stockValue(base)
	if err != nil {
		return nil, err
	}
	row := record.StockAdjustment{"item_id": in.ItemID, "zone_id": in.ZoneID, "stock_status": in.StockStatus,
		"quantity": base,
		"value":    value, "reason_code": in.ReasonCode}
	setGiven(store.Row(row), "lot_id", in.LotID, "serial", in.Serial, "lpn", in.LPN, "owner_id", in.OwnerID, "note",
		in.Note)
	out := &AdjustStockOut{}
	alone := today[word{in.ItemID, adjustsStock}] + max(base, -base)
	if isAbove(ru.adjustLimit, alone, items[in.ItemID].worth) {
		made, err := record.Insert(c.Tx, []record.StockAdjustment{row})
		if err != nil {
			return nil, err
		}
		rec := record.Show(c, made[0])
		out.Approval = &rec
		out.Then("approve_adjustment", "A second person approves it")
		return out, nil
	}
	m := adjustmentMovement(row, "")
	setGiven(m, "override_reason", in.OverrideReason)
	rec, err := postMovement(c, record.StockMovement(m))
	out.Movement = &rec
	return out, err
}

// adjustmentMovement is the movement that books one; approval is the record a second
// person approved, "" for one within the limit.
func adjustmentMovement(row record.StockAdjustment, approval string) store.Row {
	q := row.Quantity()
	m := store.Row{"item_id": row.ItemIDOrNull(), "quantity": max(q, -q), "from_status": row.StockStatusOrNull(),
		"to_status": row.StockStatusOrNull(), "reason_code": row.ReasonCodeOrNull()}
	for _, f := range [...]string{"lot_id", "serial", "owner_id", "lpn"} {
		if row[f] != nil {
			m[f] = row[f]
		}
	}
	if approval != "" {
		m["ref_type"] = "stock_adjustments"
		m["ref_id"] = approval
		m["approved_by"] = row.DecidedByOrNull()
	}
	if m["type"], m["to_zone_id"] = "adjust_gain", row.ZoneIDOrNull(); q < 0 {
		m["type"] = "adjust_loss"
		m["from_zone_id"] = row.ZoneIDOrNull()
		delete(m, "to_zone_id")
	}
	return m
}

// DecideAdjustmentIn names what waits and says why it is decided so.
type DecideAdjustmentIn struct {
	AdjustmentID string `json:"adjustment_id" required:"true" format:"uuid" names:"stock_adjustments" doc:"What waits for a second person."`
	Reason       string `json:"reason" required:"true" max:"500" doc:"Why."`
}

func approveAdjustment(c *verb.Call, in *DecideAdjustmentIn) (*AdjustStockOut, error) {
	row, err := lockUndecided(c, in)
	if err != nil {
		return nil, err
	}
	row.SetDecidedBy(c.UserID)
	rec, err := postMovement(c, record.StockMovement(adjustmentMovement(row, in.AdjustmentID)))
	if err != nil {
		return nil, err
	}
	out, err := decideAdjustment(c, in, record.StockAdjustment{"status": "approved",
		"movement_id": record.StockMovement(rec.Row()).IDOrNull()})
	if err != nil {
		return nil, err
	}
	out.Movement = &rec
	return out, nil
}

func rejectAdjustment(c *verb.Call, in *DecideAdjustmentIn) (*AdjustStockOut, error) {
	if _, err := lockUndecided(c, in); err != nil {
		return nil, err
	}
	return decideAdjustment(c, in, record.StockAdjustment{"status": "rejected"})
}

// lockUndecided holds an adjustment that somebody else asked for.
func lockUndecided(c *verb.Call, in *DecideAdjustmentIn) (record.StockAdjustment, error) {
	row, err := record.One[record.StockAdjustment](c, "adjustment_id", in.AdjustmentID)
	if err != nil {
		return nil, err
	}
	if row.Status() != "waiting" {
		return nil, fault.New(fault.Conflict, "HF001", "adjustment %s is %s already", row.AdjustmentNo(),
			row.Status()).At("adjustment_id", "is decided")
	}
	return row, requireSecondPerson(c, row.CreatedByOrNull(), "adjustment "+row.AdjustmentNo())
}

// requireSecondPerson refuses all but a second person to decide on what the first did.
func requireSecondPerson(c *verb.Call, first any, what string) error {
	if c.Seconds(first) {
		return nil
	}
	return fault.New(fault.Conflict, CodeApproval, "%s needs a second person: not the one who entered it, and no key",
		what)
}

func decideAdjustment(c *verb.Call, in *DecideAdjustmentIn, set record.StockAdjustment) (*AdjustStockOut, error) {
	set.SetDecidedBy(c.UserID)
	set.SetDecidedAt(query.FormatTime(c.Now()))
	set.SetDecisionNote(in.Reason)
	if err := record.Update(c.Tx, []string{in.AdjustmentID}, set); err != nil {
		return nil, err
	}
	rec, err := c.Again("stock_adjustments", in.AdjustmentID)
	return &AdjustStockOut{Approval: &rec}, err
}
