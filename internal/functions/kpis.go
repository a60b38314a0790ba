package functions

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// KPIsIn asks for safety KPIs.
type KPIsIn struct {
	Days   int64 `query:"days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
	Detail bool  `query:"detail" default:"false" doc:"Also how well inspections went, and how long reports took to come and to close."`
}

type kpis struct {
	totals                           totals
	kinds, severities                map[string]int64
	reports, overdue, runsIn, runsOK int64
	last                             *list
	care                             *care
}

func (d *dashboard) kpisShared(a actor.Actor) bool { return d.shared(a, "incidents") }

// kpis answers safety-kpis: the window is (now - days x
// 24 h, now], void reports never count, and an action is overdue when it is
// open and its due moment has passed.
func (d *dashboard) kpis(ctx context.Context, a actor.Actor, in *KPIsIn) ([]byte, error) {
	now := d.now().UTC()
	k := kpis{totals: totals{}, kinds: map[string]int64{}, severities: map[string]int64{}, last: d.list(a, "incidents")}
	err := d.read(ctx, a, func(tx *db.Tx) {
		d.store.Counts(tx, a.TenantID, k.totals)
		from := now.Add(-time.Duration(in.Days) * 24 * time.Hour)
		k.queue(d, tx, a, from, now)
		if in.Detail {
			k.care = queueCare(tx, a.TenantID, from, now)
		}
	})
	if err != nil {
		return nil, err
	}
	b := head(make([]byte, 0, 1024+len(k.last.buf)), a, now)
	b = appendMember(append(b, `",`...), "date_range_days", in.Days)
	return k.append(b), nil
}

func (k *kpis) queue(d *dashboard, tx *db.Tx, a actor.Actor, from, to time.Time) {
	d.reports.Queue(tx, a.TenantID, from, to, func(part string, n int64) {
		kind, severity, _ := strings.Cut(part, ":")
		k.reports += n
		k.kinds[kind] += n
		k.severities[severity] += n
	})
	d.due.Queue(tx, a.TenantID, time.Time{}, to.Add(-time.Microsecond), func(_ string, n int64) { k.overdue += n })
	d.checklists.Queue(tx, a.TenantID, from, to, func(onTime string, n int64) {
		k.runsIn += n
		if onTime == "true" {
			k.runsOK += n
		}
	})
	k.last.queue(tx, a, page{size: recent}, " AND r.reported_at > $2 AND r.reported_at <= $3 AND r.status <> 'void'", "r.reported_at DESC", from, to)
}

func (k *kpis) append(b []byte) []byte {
	b = appendMember(append(b, `,"kpis":{`...), "tsr", k.reports)
	b = appendMember(append(b, ','), "critical_incidents", k.severities["critical"])
	b = appendMember(append(b, ','), "open_actions", k.totals.of("actions", safety.OpenActions[:]...))
	b = appendMember(append(b, ','), "overdue_actions", k.overdue)
	b = safety.ChecklistCompliance(k.runsOK, k.runsIn).Append(append(b, `,"checklist_compliance":`...))
	b = append(b, '}')
	if k.care != nil {
		b = k.care.append(append(b, `,"detail":`...))
	}
	b = appendCounts(append(b, `,"distribution":{"by_category":`...), k.kinds, "injury", "near_miss", "hazard")
	b = appendCounts(append(b, `,"by_severity":`...), k.severities, "low", "medium", "high")
	return append(k.last.appendTo(append(b, `},"recent_incidents":`...)), '}')
}
