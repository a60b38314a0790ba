package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// MoveStockIn is goods that were carried from one place to another.
type MoveStockIn struct {
	ItemID         string      `json:"item_id" required:"true" format:"uuid" names:"items" doc:"The item."`
	LotID          string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot."`
	Serial         string      `json:"serial" code:"true" max:"64" doc:"Its serial number."`
	LPN            string      `json:"lpn" code:"true" max:"64" doc:"The license plate it is on."`
	OwnerID        string      `json:"owner_id" format:"uuid" names:"goods_owners" doc:"Whose goods; the house's own when absent."`
	FromZoneID     string      `json:"from_zone_id" required:"true" format:"uuid" names:"zones" doc:"Where it was."`
	ToZoneID       string      `json:"to_zone_id" required:"true" format:"uuid" names:"zones" doc:"Where it is."`
	Quantity       decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"How much, in uom."`
	UoM            string      `json:"uom" code:"true" max:"64" doc:"Of the quantity; the item's base unit when absent."`
	StockStatus    string      `json:"stock_status" enum:"available quarantine damaged hold" default:"available" doc:"Status the goods are in; they keep it."`
	OverrideReason string      `json:"override_reason" max:"200" doc:"Why a manager puts it where the zone refuses it."`
}

// MovedOut is the movement that was booked.
type MovedOut struct {
	verb.Answer
	Movement verb.Record `json:"movement" record:"stock_movements"`
}

func moveStock(c *verb.Call, in *MoveStockIn) (*MovedOut, error) {
	for _, z := range [...][2]string{{"from_zone_id", in.FromZoneID}, {"to_zone_id", in.ToZoneID}} {
		if _, err := readRecord[record.Zone](c, z[0], z[1]); err != nil {
			return nil, err
		}
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
	m := store.Row{"type": "transfer", "item_id": in.ItemID, "from_zone_id": in.FromZoneID, "to_zone_id": in.ToZoneID,
		"quantity": base, "from_status": in.StockStatus, "to_status": in.StockStatus}
	setGiven(m, "lot_id", in.LotID, "serial", in.Serial, "lpn", in.LPN, "owner_id", in.OwnerID, "override_reason",
		in.OverrideReason)
	out := &MovedOut{}
	out.Movement, err = postMovement(c, record.StockMovement(m))
	return out, err
}
