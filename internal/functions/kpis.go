package functions

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// KPIsIn asks for safety KPIs.
type KPIsIn struct {
	Days   int64 `query:"days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
	Detail bool  `query:"detail" default:"false" doc:"Also how well inspections went, how long reports took to come and to close, and the law's clocks that run."`
}

// KPIsOut is the answer of safety-kpis.
type KPIsOut struct {
	output.Head
	Days         int64           `json:"date_range_days" unit:"days" doc:"Length of the window that ends now."`
	KPIs         SafetyKPIs      `json:"kpis" doc:"The window in figures."`
	Detail       *CareOut        `json:"detail,omitempty" doc:"How well the tenant looks after what it is told; only when asked for."`
	Distribution DistributionOut `json:"distribution" doc:"What the reports of the window were about."`
	Recent       json.RawMessage `json:"recent_incidents" records:"incidents" doc:"The ten of the window that were reported last."`
}

// SafetyKPIs are a window in figures.
type SafetyKPIs struct {
	Reports    int64       `json:"tsr" doc:"Total safety reports: incidents reported in the window that are not void."`
	Critical   int64       `json:"critical_incidents" doc:"Those of critical severity."`
	Open       int64       `json:"open_actions" doc:"Actions that are open now."`
	Overdue    int64       `json:"overdue_actions" doc:"Those past their due moment whose work is not done."`
	Compliance decimal.Dec `json:"checklist_compliance" unit:"percent" doc:"Inspections due in the window that were completed in time; 100 without one."`
}

// DistributionOut counts the reports of a window.
type DistributionOut struct {
	Kinds      map[string]int64 `json:"by_category" doc:"Reports by kind; injury, near_miss and hazard always."`
	Severities map[string]int64 `json:"by_severity" doc:"Reports by severity; low, medium and high always."`
}

// kpis is what an answer's figures are read from.
type kpis struct {
	out          *KPIsOut
	from, to     time.Time
	totals       totals
	runsIn, runs int64 // inspections in time, of all that were due
	last         *store.List
	care         *care
	clocks       *ClocksOut
}

func (d *dashboard) kpisShared(a actor.Actor) bool { return d.lists.Shared(a, "incidents") }

// safetyKPIs answers safety-kpis: the window is (now - days x
// 24 h, now], void reports never count, an action is overdue when its due moment has
// passed and it is not done, and an inspection counts when its deadline, which
// includes the grace, lies in the window.
func (d *dashboard) safetyKPIs(ctx context.Context, a actor.Actor, in *KPIsIn) (*KPIsOut, error) {
	now := d.now().UTC()
	k := d.newKPIs(a, now, in.Days)
	err := d.readSnapshot(ctx, a, func(tx *store.Tx) {
		d.store.Counts(tx.Tx, a.TenantID, k.totals)
		k.queueKPIs(d, tx)
		k.queueRecent(tx)
		if in.Detail {
			k.care = queueCare(tx.Tx, a.TenantID, k.from, k.to)
			k.clocks = queueClocks(tx, a, now)
		}
	})
	if err != nil {
		return nil, err
	}
	k.finishKPIs()
	return k.out, nil
}

// newKPIs are the figures of the days that end now, to be queued and finished.
func (d *dashboard) newKPIs(a actor.Actor, now time.Time, days int64) *kpis {
	return &kpis{totals: totals{}, last: d.lists.Of(a, "incidents"),
		from: now.Add(-time.Duration(days) * 24 * time.Hour), to: now,
		out: &KPIsOut{Head: output.HeadOf(a.TenantID, now), Days: days,
			Distribution: DistributionOut{map[string]int64{"injury": 0, "near_miss": 0, "hazard": 0},
				map[string]int64{"low": 0, "medium": 0, "high": 0}}}}
}

// queueKPIs asks for all figures but the counters.
func (k *kpis) queueKPIs(d *dashboard, tx *store.Tx) {
	d.reports.Queue(tx.Tx, tx.TenantID, k.from, k.to, func(part string, n int64) {
		kind, severity, _ := strings.Cut(part, ":")
		if n == 0 {
			return
		}
		k.out.KPIs.Reports += n
		k.out.Distribution.Kinds[kind] += n
		k.out.Distribution.Severities[severity] += n
	})
	before := k.to.Add(-time.Microsecond)
	d.due.Queue(tx.Tx, tx.TenantID, time.Time{}, before, func(_ string, n int64) { k.out.KPIs.Overdue += n })
	d.checklists.Queue(tx.Tx, tx.TenantID, k.from, k.to, func(onTime string, n int64) {
		k.runs += n
		if onTime == "true" {
			k.runsIn += n
		}
	})
}

// queueRecent asks for the reports of the window that came last.
func (k *kpis) queueRecent(tx *store.Tx) {
	k.last.Queue(tx, store.Page{Size: recent}, " AND r.reported_at > $2 AND r.reported_at <= $3 AND r.status <> 'void'",
		"r.reported_at DESC", k.from, k.to)
}

func (k *kpis) finishKPIs() {
	k.out.KPIs.Critical = k.out.Distribution.Severities["critical"]
	k.out.KPIs.Open = k.totals.sumOf("actions", safety.OpenActions[:]...)
	k.out.KPIs.Compliance = safety.ChecklistCompliance(k.runsIn, k.runs)
	k.out.Recent = k.last.JSON()
	if k.care != nil {
		k.out.Detail = k.care.careOut()
		k.out.Detail.Clocks = k.clocks
	}
}
