package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/putaway"
)

// SuggestPutawayIn is goods that look for a place.
type SuggestPutawayIn struct {
	ItemID     string      `json:"item_id" required:"true" format:"uuid" names:"items" doc:"The item."`
	Quantity   decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"How much, in base units."`
	LotID      string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot, which a zone for one lot asks for."`
	FromZoneID string      `json:"from_zone_id" format:"uuid" names:"zones" doc:"Where the goods are: they stay at its site, and the way is measured from there."`
	TaskID     string      `json:"task_id" format:"uuid" names:"putaway_tasks" doc:"Their task, whose own place counts as free for them."`
}

// SuggestPutawayOut is the places, best first.
type SuggestPutawayOut struct {
	verb.Answer
	Zones []Suggestion `json:"zones" doc:"Places that take all of it, best first; at most ten."`
}

// Suggestion is a place that would take the goods.
type Suggestion struct {
	Zone verb.Record  `json:"zone" record:"zones"`
	Room *decimal.Dec `json:"room" doc:"Capacity units free; null when the zone is not limited."`
	Why  string       `json:"why" doc:"What speaks for it."`
}

func suggestPutaway(c *verb.Call, in *SuggestPutawayIn) (*SuggestPutawayOut, error) {
	from, err := readRecord[record.Zone](c, "from_zone_id", in.FromZoneID)
	if err != nil {
		return nil, err
	}
	lot, err := readRecord[record.Lot](c, "lot_id", in.LotID)
	if err != nil {
		return nil, err
	}
	task, err := readRecord[record.PutawayTask](c, "task_id", in.TaskID)
	if err != nil {
		return nil, err
	}
	items := queueArticles(c.Tx.Tx, c.TenantID, []string{in.ItemID})
	if err := c.Flush(); err != nil {
		return nil, err
	}
	it := items[in.ItemID]
	switch {
	case it == nil:
		return nil, verb.Missing("items", "item_id")
	case isOfOtherItem(store.Row(lot), it):
		return nil, refuseMovement("lot_id", "the lot belongs to another item")
	case isOfOtherItem(store.Row(task), it):
		return nil, refuseMovement("task_id", "the task is for another item")
	case in.Quantity > maxMove:
		return nil, fault.As(tooMuch("quantity", maxMove))
	}
	goods, err := it.seekPlace(in.Quantity, from)
	if err != nil {
		return nil, err
	}
	goods.LotID, goods.TaskID = in.LotID, in.TaskID
	if err := putaway.SuggestPlaces(c.Tx, []*putaway.Goods{goods}); err != nil {
		return nil, err
	}
	return showSuggestions(c, goods)
}

// isOfOtherItem reports a lot or a task of another item; nil is none.
func isOfOtherItem(row store.Row, it *article) bool {
	return row != nil && row.Text("item_id") != it.id
}

// showSuggestions shows the ten best places.
func showSuggestions(c *verb.Call, goods *putaway.Goods) (*SuggestPutawayOut, error) {
	out := &SuggestPutawayOut{Zones: []Suggestion{}}
	best := goods.Found[:min(10, len(goods.Found))]
	ids := make([]string, len(best))
	for i, r := range best {
		ids[i] = r.ZoneID
	}
	zones, err := byID[record.Zone](c, ids)
	for _, r := range best {
		s := Suggestion{Zone: record.Show(c, zones[r.ZoneID]), Why: r.ReasonFor(goods.Class)}
		if !r.IsUnlimited {
			s.Room = &r.Units
		}
		out.Zones = append(out.Zones, s)
	}
	if len(best) > 0 {
		out.Then("put_away", "Put it away there")
	}
	return out, err
}
