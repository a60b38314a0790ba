package planning

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/mingroup"
	"holdfast/internal/warehouse/costs"
	"holdfast/internal/warehouse/inventory"
)

// KPIsIn asks for the warehouse's KPIs.
type KPIsIn struct {
	Days int64 `query:"days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`

	AsOf string `query:"as_of" doc:"Day at whose end the stock is valued, where the tenant is; now when absent."`
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
	Rate      *decimal.Dec `json:"lines_per_hour" unit:"lines per hour" doc:"Lines picked in an hour of a shift; null without shifts or of too few pickers."`
	Lines     int64        `json:"lines_picked" doc:"Lines picked in the window."`
	Sampled   int64        `json:"lines_sampled" doc:"The newest of them, whose shifts were looked for."`
	Hours     *decimal.Dec `json:"pick_hours" unit:"hours" doc:"Hours of the shifts in which they were picked; null of too few pickers."`
	Shiftless int64        `json:"lines_without_shift" doc:"Those for whose picker no closed shift was found."`
	// Suppressed is 1 where the pickers are too few.
	Suppressed int `json:"suppressed" doc:"1 where the pickers are fewer than min_group, so that their rate is left out."`

	// Both are null for drivers and operators, and past what a number holds.
	Value       *decimal.Dec `json:"stock_value" unit:"the tenant's currency" doc:"Own stock then."`
	OwnersValue *decimal.Dec `json:"owners_stock_value" unit:"the tenant's currency" doc:"Owners' goods then."`
	AsOf        *string      `json:"stock_value_as_of" format:"date" doc:"The day that was asked for; null is now."`
	ValueBasis  string       `json:"stock_value_basis" enum:"average_cost" doc:"Movements' average cost."`
}

// picksSQL asks for the lines picked in a window, and for the shifts in which the
// newest of them were picked: at most 20,000 lines are looked at. $1 tenant, $2 and
// $3 the window.
const picksSQL = `
	WITH newest AS (
		SELECT assigned_worker_id, picked_at
		FROM pick_lines
		WHERE tenant_id = $1 AND picked_at > $2 AND picked_at <= $3 AND status IN ('picked', 'short')
		ORDER BY picked_at DESC
		LIMIT 20000
	), worked AS (
		SELECT shifts.id, shifts.worker_id, shifts.hours, COUNT(*) AS lines
		FROM newest
		JOIN shifts ON shifts.tenant_id = $1
			AND shifts.worker_id = newest.assigned_worker_id
			AND shifts.ended_at > $2
			AND shifts.ended_at > newest.picked_at
			AND shifts.started_at <= newest.picked_at
		GROUP BY shifts.id, shifts.worker_id, shifts.hours
	), looked AS (
		SELECT COUNT(*) AS sampled
		FROM newest
	)
	SELECT sampled,
		(SELECT CAST(COALESCE(SUM(lines), 0) AS bigint) FROM worked),
		(SELECT CAST(COALESCE(SUM(hours), 0) AS bigint) FROM worked),
		CASE WHEN sampled < 20000 THEN sampled ELSE (
			SELECT COUNT(*)
			FROM pick_lines
			WHERE tenant_id = $1 AND picked_at > $2 AND picked_at <= $3 AND status IN ('picked', 'short')
		) END,
		(SELECT COUNT(DISTINCT worker_id) FROM worked)
	FROM looked`

// KPIs answers warehouse-kpis: how often a count finds what the books say, what the stock
// is worth by what its movements cost, and how many lines are picked in an hour of the shifts in which they were picked.
// Shifts are looked for of the newest lines only, as many as are told; lines of
// them that nobody had a closed shift for are told too, and count in neither.
func (p *Planner) KPIs(ctx context.Context, a actor.Actor, in *KPIsIn) (*KPIsOut, error) {
	books := costs.NewBooks(p.store)
	if in.AsOf != "" { // a role that sees no costs learns of a wrong day, too
		if err := books.CheckDay(ctx, a, in.AsOf); err != nil {
			return nil, err
		}
	}
	now := p.now().UTC()
	from := now.Add(-time.Duration(in.Days) * 24 * time.Hour)
	var worth costs.Worth
	out := &KPIsOut{Kept: output.KeptOf(a.TenantID, now), Days: in.Days}
	var picks pickFigures
	err := p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		out.KPIs, picks = KPIs{ValueBasis: "average_cost"}, pickFigures{least: mingroup.Queue(tx, a.TenantID)}
		if worth = (costs.Worth{}); catalog.SeesCosts(a.Role) {
			costs.QueueWorth(tx, a.TenantID, &worth)
		}
		p.counts.Queue(tx, a.TenantID, from, now, func(exact string, n int64) {
			out.KPIs.Counts += n
			if exact == "false" {
				out.KPIs.Wrong += n
			}
		})
		picks.queuePicks(tx, &out.KPIs, a.TenantID, from, now)
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	k := &out.KPIs
	if v, ok := inventory.CountAccuracy(k.Counts, k.Wrong); ok {
		k.Accuracy = &v
	}
	if catalog.SeesCosts(a.Role) {
		if in.AsOf != "" {
			day, err := books.ReadDay(ctx, a, in.AsOf)
			if err != nil {
				return nil, err
			}
			worth, k.AsOf = day.SumWorth(), new(day.Date.String())
		}
		k.Value, k.OwnersValue = worth.OfTenant.Told(), worth.OfOwners.Told()
	}
	picks.fillRate(k)
	return out, nil
}

// pickFigures are what the rate of picking is made of.
type pickFigures struct {
	least   *mingroup.Least
	pickers int64 // people whose shifts count
	hours   decimal.Dec
}

// fillRate fills in how fast lines are picked. That is a figure of the pickers: of
// a few, it is the figure of each.
func (f *pickFigures) fillRate(k *KPIs) {
	if f.pickers > 0 && !f.least.Shows(f.pickers) {
		k.Suppressed = 1
		return
	}
	k.Hours = &f.hours
	if v, ok := inventory.LinesPerHour(k.Sampled-k.Shiftless, f.hours); ok {
		k.Rate = &v
	}
}

// queuePicks asks for the lines picked in (from, to] and the shifts of the
// pickers of the newest of them that were on then.
func (f *pickFigures) queuePicks(tx *db.Tx, k *KPIs, tenant string, from, to time.Time) {
	tx.Queue(picksSQL,
		[]any{tenant, from, to}, func(r *db.Row) error {
			k.Sampled, k.Shiftless, k.Lines = r.Int(0), r.Int(0)-r.Int(1), r.Int(3)
			f.hours, f.pickers = r.Dec(2), r.Int(4)
			return nil
		})
}
