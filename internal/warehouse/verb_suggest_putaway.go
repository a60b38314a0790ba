package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/verb"
)

// SuggestPutawayIn is goods that look for a place.
type SuggestPutawayIn struct {
	ItemID     string      `json:"item_id" required:"true" format:"uuid" names:"items" doc:"The item."`
	Quantity   decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"How much, in base units."`
	LotID      string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot, which a zone for one lot asks for."`
	FromZoneID string      `json:"from_zone_id" format:"uuid" names:"zones" doc:"Where the goods are: the way is measured from there."`
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
	from, err := readRecord(c, "zones", "from_zone_id", in.FromZoneID)
	if err != nil {
		return nil, err
	}
	lot, err := readRecord(c, "lots", "lot_id", in.LotID)
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
	case lot != nil && lot.Text("item_id") != it.id:
		return nil, refuseMovement("lot_id", "the lot belongs to another item")
	case in.Quantity > maxMove:
		return nil, fault.As(tooMuch("quantity", maxMove))
	}
	q := &placeRequest{item: it, lot: in.LotID, quantity: in.Quantity, from: from}
	if err := suggestPlaces(c.Tx.Tx, c.TenantID, []*placeRequest{q}); err != nil {
		return nil, err
	}
	return showSuggestions(c, q)
}

// showSuggestions shows the ten best places.
func showSuggestions(c *verb.Call, q *placeRequest) (*SuggestPutawayOut, error) {
	out := &SuggestPutawayOut{Zones: []Suggestion{}}
	best := q.found[:min(10, len(q.found))]
	ids := make([]string, len(best))
	for i, r := range best {
		ids[i] = r.id
	}
	zones, err := byID(c, "zones", ids)
	for _, r := range best {
		s := Suggestion{Zone: c.Record("zones", zones[r.id]), Why: r.placeReason(q.item.class)}
		if !r.unlimited {
			s.Room = &r.units
		}
		out.Zones = append(out.Zones, s)
	}
	if len(best) > 0 {
		out.Then("put_away", "Put it away there")
	}
	return out, err
}
