package planning

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/score"
	"holdfast/internal/warehouse/walking"
)

// WalkIn asks for the walk of a pick list.
type WalkIn struct {
	ListID string `query:"pick_list_id" required:"true" format:"uuid" doc:"The pick list; its pending lines are put in order."`
	Start  string `query:"start_zone_id" format:"uuid" doc:"Where the picker sets out and returns to; without it the walk begins and ends at a line."`
	Apply  bool   `query:"apply" default:"false" doc:"Give the lines this order and the list this route_m; without it nothing changes."`
}

// WalkOut is the answer of plan-pick-path.
type WalkOut struct {
	Success  bool       `json:"success" doc:"true."`
	TenantID string     `json:"tenant_id" format:"uuid" doc:"The tenant."`
	ListID   string     `json:"pick_list_id" format:"uuid" doc:"The pick list."`
	Number   string     `json:"pick_no" doc:"Its number."`
	Applied  bool       `json:"applied" doc:"Whether the lines were given this order."`
	Metres   float64    `json:"distance_m" unit:"m" doc:"Length of the walk."`
	Before   float64    `json:"distance_before_m" unit:"m" doc:"Length in the order that the lines had."`
	Saved    float64    `json:"saved_m" unit:"m" doc:"What the order saves."`
	Lines    []WalkLine `json:"lines" doc:"Pending lines in walking order."`
	Unplaced []string   `json:"unplaced_zones" doc:"Codes of zones whose place is unknown; their lines come last."`
}

// WalkLine is a line of a pick list in walking order.
type WalkLine struct {
	ID     string      `json:"id" format:"uuid" doc:"The pick line."`
	Seq    int64       `json:"seq" doc:"Its place in the list."`
	ZoneID string      `json:"zone_id" format:"uuid" doc:"Where it is picked."`
	Code   string      `json:"zone_code" doc:"The code of that zone."`
	ItemID string      `json:"item_id" format:"uuid" doc:"What is picked."`
	Qty    decimal.Dec `json:"qty" unit:"base units of the item" doc:"How much."`
}

// Walk answers plan-pick-path. The order is found before anything is locked.
func (p *Planner) Walk(ctx context.Context, a actor.Actor, in *WalkIn) (*WalkOut, error) {
	w, err := walking.FindWalk(ctx, p.store, a, in.ListID, in.Start)
	if err != nil {
		return nil, err
	}
	if err := p.writeIfApplied(ctx, a, in.Apply, func(tx *db.Tx) error { return w.Take(p.store.In(tx, a)) }); err != nil {
		return nil, err
	}
	out := &WalkOut{Success: true, TenantID: a.TenantID, ListID: w.ListID, Number: w.Number, Applied: in.Apply,
		Lines: []WalkLine{}, Unplaced: []string{},
		Metres: score.Round(w.Metres, 1), Before: score.Round(w.Before, 1), Saved: score.Round(w.Before-w.Metres, 1)}
	out.Unplaced = append(out.Unplaced, w.Unplaced...)
	for _, l := range w.Lines {
		out.Lines = append(out.Lines, WalkLine{l.ID, l.Seq, l.ZoneID, l.ZoneCode, l.ItemID, l.Qty})
	}
	return out, nil
}
