package programme

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/safety/clocks"
)

// clocksAtOnce is how many incidents one transaction of the night works out.
const clocksAtOnce = 200

// RefreshClocks brings the legal clocks up to the calendar, and starts those of incidents
// that came in bulk or without a name: a fourth day away, an eighth, begins by time alone.
// Incidents that refuse do not stop the others.
func (p *Programme) RefreshClocks(ctx context.Context, tenant string) error {
	a := serverActor(tenant)
	var ids []string
	err := p.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) (err error) {
		ids, err = clocks.ListFollowed(tx, tenant, p.now())
		return err
	})
	errs := []error{err}
	for len(ids) > 0 {
		n := min(clocksAtOnce, len(ids))
		if err := p.write(ctx, a, func(tx *db.Tx) error { return clocks.CatchUp(p.store.In(tx, a), ids[:n]) }); err != nil {
			errs = append(errs, fmt.Errorf("incidents from %s: %w", ids[0], err))
		}
		ids = ids[n:]
	}
	return errors.Join(errs...)
}

// clockNotice is from how long before its end a clock is told of, each day.
const clockNotice = 3 * 24 * time.Hour

// clocksToTellSQL selects the clocks that are over or soon will be. $1 tenant, $2 a
// moment.
const clocksToTellSQL = `
	SELECT clock.code, incident.incident_no, clock.due_at
	FROM legal_clocks AS clock
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = clock.incident_id
	WHERE clock.tenant_id = $1
		AND clock.state = 'running'
		AND clock.due_at <= $2
	ORDER BY clock.due_at, clock.id
	LIMIT 5000`

// queueClocks asks for the law's clocks that run out. A mail names the incident and where
// the duty is written: no code, which may say how somebody was hurt.
func (d *digest) queueClocks(tx *db.Tx) {
	tx.Queue(clocksToTellSQL, []any{d.tenant, d.now.Add(clockNotice)}, func(r *db.Row) error {
		rule, known := clocks.Find(r.Text(0))
		if !known || rule.IsOption && r.Time(2).Before(d.now) {
			return nil
		}
		on := r.Time(2).In(d.local.Location()).Format("2006-01-02 15:04")
		d.tellAll(wording.LawClocks, wording.Line{What: r.Text(1) + ": " + rule.Citation, On: on}, actor.Safety)
		return nil
	})
}
