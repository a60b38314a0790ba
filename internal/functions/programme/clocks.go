package programme

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/db"
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
		if err := p.write(ctx, a, func(tx *db.Tx) error { return clocks.Refresh(p.store.In(tx, a), ids[:n]) }); err != nil {
			errs = append(errs, fmt.Errorf("incidents from %s: %w", ids[0], err))
		}
		ids = ids[n:]
	}
	return errors.Join(errs...)
}
