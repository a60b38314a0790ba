package planning

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/warehouse/inventory"
)

// KPIsIn asks for the warehouse's KPIs.
type KPIsIn struct {
	Days int64 `query:"days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
}

// KPIsOut is the answer of warehouse-kpis.
type KPIsOut struct {
	output.Kept
	Days int64 `json:"date_range_days" unit:"days" doc:"Length of the window that ends now."`
	KPIs KPIs  `json:"kpis" doc:"The window in figures."`
}

// KPIs are a window of warehouse work in figures.
type KPIs struct {
	Accuracy  *decimal.Dec `json:"count_accuracy" unit:"percent" doc:"Counts that found what the books say; null without counts."`
	Counts    int64        `json:"counts" doc:"Counts of the window."`
	Wrong     int64        `json:"counts_with_variance" doc:"Those that found something else."`
	Rate      *decimal.Dec `json:"lines_per_hour" unit:"lines per hour" doc:"Lines picked in an hour of the pickers' shifts; null without closed shifts."`
	Lines     int64        `json:"lines_picked" doc:"Lines picked in the window."`
	Sampled   int64        `json:"lines_sampled" doc:"The newest of them, whose shifts were looked for."`
	Hours     decimal.Dec  `json:"pick_hours" unit:"hours" doc:"Hours of the shifts in which they were picked."`
	Shiftless int64        `json:"lines_without_shift" doc:"Those for whose picker no closed shift was found."`
}

// pickMost bounds the picked lines whose shifts are looked for, the newest
// first.
const pickMost = "20000"

// KPIs answers warehouse-kpis: how often a count finds what the books say, and
// how many lines are picked in an hour of the shifts in which they were picked.
// Shifts are looked for of the newest lines only, as many as are told; lines of
// them that nobody had a closed shift for are told too, and count in neither.
func (p *Planner) KPIs(ctx context.Context, a actor.Actor, in *KPIsIn) (*KPIsOut, error) {
	now := p.now().UTC()
	from := now.Add(-time.Duration(in.Days) * 24 * time.Hour)
	out := &KPIsOut{Kept: output.KeptOf(a.TenantID, now), Days: in.Days}
	err := p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		out.KPIs = KPIs{}
		p.counts.Queue(tx, a.TenantID, from, now, func(exact string, n int64) {
			out.KPIs.Counts += n
			if exact == "false" {
				out.KPIs.Wrong += n
			}
		})
		out.KPIs.queuePicks(tx, a.TenantID, from, now)
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	k := &out.KPIs
	if v, ok := inventory.CountAccuracy(k.Counts, k.Wrong); ok {
		k.Accuracy = &v
	}
	if v, ok := inventory.LinesPerHour(k.Sampled-k.Shiftless, k.Hours); ok {
		k.Rate = &v
	}
	return out, nil
}

// queuePicks asks for the lines picked in (from, to] and the shifts of the
// pickers of the newest of them that were on then.
func (k *KPIs) queuePicks(tx *db.Tx, tenant string, from, to time.Time) {
	const picked = " FROM pick_lines WHERE tenant_id = $1 AND picked_at > $2 AND picked_at <= $3 AND status IN ('picked', 'short')"
	tx.Queue("WITH p AS (SELECT assigned_worker_id, picked_at"+picked+" ORDER BY picked_at DESC LIMIT "+pickMost+"), "+
		"q AS (SELECT s.id, s.hours, COUNT(*) AS n FROM p JOIN shifts s ON s.tenant_id = $1 AND s.worker_id = p.assigned_worker_id "+
		"AND s.ended_at > $2 AND s.ended_at > p.picked_at AND s.started_at <= p.picked_at GROUP BY s.id, s.hours), n AS (SELECT COUNT(*) AS sampled FROM p) "+
		"SELECT sampled, (SELECT CAST(COALESCE(SUM(n), 0) AS bigint) FROM q), (SELECT CAST(COALESCE(SUM(hours), 0) AS bigint) FROM q), "+
		"CASE WHEN sampled < "+pickMost+" THEN sampled ELSE (SELECT COUNT(*)"+picked+") END FROM n",
		[]any{tenant, from, to}, func(r *db.Row) error {
			k.Sampled, k.Shiftless, k.Hours, k.Lines = r.Int(0), r.Int(0)-r.Int(1), r.Dec(2), r.Int(3)
			return nil
		})
}
