package programme

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/safety/osha"
	"holdfast/internal/store"
)

// RecountAbsences brings cases whose absences last, and the open annual summaries, up
// to the calendar: what is read of them stands no longer at their last change. A case or
// summary that refuses does not stop the others.
func (p *Programme) RecountAbsences(ctx context.Context, tenant string) error {
	a := serverActor(tenant)
	var cases, summaries []string
	err := p.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) (err error) {
		if cases, err = osha.ListLasting(tx, tenant, p.now()); err != nil {
			return err
		}
		summaries, err = osha.ListOpen(p.store.In(tx, a))
		return err
	})
	errs := []error{err}
	each := func(what string, ids []string, recount func(*store.Tx, string) error) {
		for _, id := range ids {
			err := p.write(ctx, a, func(tx *db.Tx) error { return recount(p.store.In(tx, a), id) })
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", what, id, err))
			}
		}
	}
	each("case", cases, osha.RecountCase)
	each("summary", summaries, osha.RecountSummary)
	return errors.Join(errs...)
}
