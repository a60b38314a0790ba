package programme

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/safety/osha"
)

// RecountAbsences brings cases whose absences last, and the open annual summaries, up
// to the calendar: what is read of them stands no longer at their last change. A case
// that refuses does not stop the others.
func (p *Programme) RecountAbsences(ctx context.Context, tenant string) error {
	a := serverActor(tenant)
	var cases []string
	err := p.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) (err error) {
		cases, err = osha.ListLasting(tx, tenant, p.now())
		return err
	})
	errs := []error{err}
	for _, id := range cases {
		err := p.write(ctx, a, func(tx *db.Tx) error { return osha.RecountCase(p.store.In(tx, a), id) })
		if err != nil {
			errs = append(errs, fmt.Errorf("case %s: %w", id, err))
		}
	}
	errs = append(errs, p.write(ctx, a, func(tx *db.Tx) error { return osha.RecountSummaries(p.store.In(tx, a)) }))
	return errors.Join(errs...)
}
