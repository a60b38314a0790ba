package planning

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/warehouse"
)

// KPIsIn asks for the warehouse's KPIs.
type KPIsIn struct {
	Days int64 `query:"days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
}

type kpisOut struct {
	TenantID  string `json:"tenant_id"`
	Timestamp string `json:"timestamp"`
	Cached    bool   `json:"cached"`
	Days      int64  `json:"date_range_days"`
	KPIs      kpis   `json:"kpis"`
}

type kpis struct {
	Accuracy  *decimal.Dec `json:"count_accuracy"`
	Counts    int64        `json:"counts"`
	Wrong     int64        `json:"counts_with_variance"`
	Rate      *decimal.Dec `json:"lines_per_hour"`
	Lines     int64        `json:"lines_picked"`
	Sampled   int64        `json:"lines_sampled"`
	Hours     decimal.Dec  `json:"pick_hours"`
	Shiftless int64        `json:"lines_without_shift"`
}

// pickMost bounds the picked lines whose shifts are looked for, the newest
// first.
const pickMost = "20000"

// KPIs answers warehouse-kpis: how often a count finds what the books say, and
// how many lines are picked in an hour of the shifts in which they were picked.
// Shifts are looked for of the newest lines only, as many as are told; lines of
// them that nobody had a closed shift for are told too, and count in neither.
func (p *Planner) KPIs(ctx context.Context, a actor.Actor, in *KPIsIn) ([]byte, error) {
	now := p.now().UTC()
	from := now.Add(-time.Duration(in.Days) * 24 * time.Hour)
	out := kpisOut{TenantID: a.TenantID, Timestamp: query.FormatTime(now), Days: in.Days}
	err := p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		out.KPIs = kpis{}
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
	if v, ok := warehouse.CountAccuracy(k.Counts, k.Wrong); ok {
		k.Accuracy = &v
	}
	if v, ok := warehouse.LinesPerHour(k.Sampled-k.Shiftless, k.Hours); ok {
		k.Rate = &v
	}
	return json.Marshal(out)
}

// queuePicks asks for the lines picked in (from, to] and the shifts of the
// pickers of the newest of them that were on then.
func (k *kpis) queuePicks(tx *db.Tx, tenant string, from, to time.Time) {
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
