package planning

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/score"
	"holdfast/internal/warehouse"
)

// WalkIn asks for the walk of a pick list.
type WalkIn struct {
	ListID string `query:"pick_list_id" required:"true" format:"uuid" doc:"The pick list; its pending lines are put in order."`
	Start  string `query:"start_zone_id" format:"uuid" doc:"Where the picker sets out and returns to; without it the walk begins and ends at a line."`
	Apply  bool   `query:"apply" default:"false" doc:"Give the lines this order and the list this route_m; without it nothing changes."`
}

type walkOut struct {
	Success  bool          `json:"success"`
	TenantID string        `json:"tenant_id"`
	ListID   string        `json:"pick_list_id"`
	Number   string        `json:"pick_no"`
	Applied  bool          `json:"applied"`
	Metres   float64       `json:"distance_m"`
	Before   float64       `json:"distance_before_m"`
	Saved    float64       `json:"saved_m"`
	Lines    []walkLineOut `json:"lines"`
	Unplaced []string      `json:"unplaced_zones"`
}

type walkLineOut struct {
	ID     string      `json:"id"`
	Seq    int64       `json:"seq"`
	ZoneID string      `json:"zone_id"`
	Code   string      `json:"zone_code"`
	ItemID string      `json:"item_id"`
	Qty    decimal.Dec `json:"qty"`
}

// Walk answers plan-pick-path. The order is found before anything is locked.
func (p *Planner) Walk(ctx context.Context, a actor.Actor, in *WalkIn) ([]byte, error) {
	w, err := warehouse.WalkOf(ctx, p.store, a, in.ListID, in.Start)
	if err != nil {
		return nil, err
	}
	if err := p.write(ctx, a, in.Apply, func(tx *db.Tx) error { return w.Take(tx, a, p.store) }); err != nil {
		return nil, err
	}
	out := walkOut{Success: true, TenantID: a.TenantID, ListID: w.ListID, Number: w.Number, Applied: in.Apply, Lines: []walkLineOut{}, Unplaced: []string{},
		Metres: score.Round(w.Metres, 1), Before: score.Round(w.Before, 1), Saved: score.Round(w.Before-w.Metres, 1)}
	out.Unplaced = append(out.Unplaced, w.Unplaced...)
	for _, l := range w.Lines {
		out.Lines = append(out.Lines, walkLineOut{l.ID, l.Seq, l.ZoneID, l.ZoneCode, l.ItemID, l.Qty})
	}
	return json.Marshal(out)
}
