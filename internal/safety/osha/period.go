package osha

import (
	"time"

	"holdfast/internal/db"
)

// Period says whose cases and hours are asked for, of a tenant or with Site of one of its
// establishments, from a moment until before another.
type Period struct {
	Tenant, Site string
	From, Until  time.Time
}

// Work is what a period was like: hours of approved shifts of the people whom OSHA's
// records are about, how many they were, and recordable cases by when they happened.
type Work struct {
	Hours                               float64
	People                              int64
	Deaths, DaysAway, Restricted, Other int
	LostTime                            int
}

// periodHoursSQL adds up what hoursSQL adds up, and counts whose hours they are. $1
// tenant, $2 and $3 when a shift may begin, $4 site, empty for all.
const periodHoursSQL = `
	SELECT CAST(coalesce(SUM(shift.hours), 0) AS bigint), COUNT(DISTINCT shift.worker_id)
	FROM shifts AS shift
	JOIN workers AS worker ON worker.tenant_id = $1 AND worker.id = shift.worker_id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = shift.zone_id
	WHERE shift.tenant_id = $1
		AND shift.status = 'approved'
		AND shift.started_at >= $2
		AND shift.started_at < $3
		AND (worker.employment <> 'contractor' OR worker.supervised)
		AND ($4 = '' OR CAST(coalesce(zone.site_id, worker.site_id) AS text) = $4)`

// periodCasesSQL counts recordable cases by outcome. $1 tenant, $2 and $3 when they may
// have happened, $4 site, empty for all.
const periodCasesSQL = `
	SELECT osha_case.outcome, osha_case.illness_type, COUNT(*)
	FROM osha_cases AS osha_case
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = osha_case.incident_id
	WHERE osha_case.tenant_id = $1
		AND osha_case.recordable = 'yes'
		AND incident.status <> 'void'
		AND incident.occurred_at >= $2
		AND incident.occurred_at < $3
		AND ($4 = '' OR CAST(osha_case.site_id AS text) = $4)
	GROUP BY osha_case.outcome, osha_case.illness_type`

// QueueWork asks for a period's work; it is there after the next flush.
func QueueWork(tx *db.Tx, p Period) *Work {
	w, counted := &Work{}, &Figures{}
	args := []any{p.Tenant, p.From, p.Until, p.Site}
	tx.Queue(periodHoursSQL, args, func(r *db.Row) error {
		w.Hours, w.People = r.Dec(0).Float(), r.Int(1)
		return nil
	})
	tx.Queue(periodCasesSQL, args, func(r *db.Row) error {
		counted.addOutcome(r.Text(0), r.Text(1) == "injury", false, int(r.Int(2)))
		w.Deaths, w.DaysAway = counted.Deaths, counted.DaysAway
		w.Restricted, w.Other = counted.Restricted, counted.Other
		w.LostTime = counted.LostTime
		return nil
	})
	return w
}
