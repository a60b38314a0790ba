package functions

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// siteFigures are what a tenant's counters say now, and how healthy its stock is.
type siteFigures struct {
	totals totals
	place  string // the tenant's time zone
	today  int64  // shipments completed in the tenant's local day
	late   int64  // open orders past their promise
	health health
}

// readSite reads the figures of the actor's tenant, and what queueLists asks for beside them, in one round trip. The
// bounds of the local day depend on the tenant's time zone, which is guessed from last time and read along: a wrong
// guess costs a second one.
func (d *dashboard) readSite(ctx context.Context, a actor.Actor, now time.Time, queueLists func(*store.Tx)) (
	*siteFigures, error,
) {
	guess, _ := d.places.Get(a.TenantID, now)
	kept, due, known := d.keptHealth(a.TenantID, now)
	f := &siteFigures{totals: totals{}, place: "UTC"}
	var as *assessment
	err := d.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(plain *db.Tx) error {
		tx := d.store.In(plain, a)
		d.store.Counts(plain, a.TenantID, f.totals)
		queueLists(tx)
		store.QueueZone(plain, a.TenantID, &f.place)
		f.queueToday(d, tx, now, guess)
		d.queueLate(tx, now, &f.late)
		if !known {
			as = d.queueHealth(tx, now, guess)
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		if localtime.Zone(f.place).String() != localtime.Zone(guess).String() {
			f.queueToday(d, tx, now, f.place)
			if !known {
				as = d.queueHealth(tx, now, f.place)
			}
		}
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	d.places.Put(a.TenantID, f.place, now.Add(24*time.Hour))
	if f.health = kept; !known {
		f.health, err = d.healthFrom(ctx, as, f.totals.activeItems())
		return f, err
	}
	if due {
		d.renewHealth(ctx, a.TenantID)
	}
	return f, nil
}

// queueToday counts what was completed in the current local day, the bounds of
// which need not be full hours of UTC.
func (f *siteFigures) queueToday(d *dashboard, tx *store.Tx, now time.Time, place string) {
	from, to := localtime.Day(now, localtime.Zone(place))
	f.today = 0
	d.completed.Queue(tx.Tx, tx.TenantID, from.Add(-time.Microsecond), to.Add(-time.Microsecond), func(_ string, n int64) {
		f.today += n
	})
}

func (f *siteFigures) shipmentStats() ShipmentStats {
	t := f.totals
	return ShipmentStats{Total: t.sumAll("shipments"), Active: t.sumOf("shipments", activeShipments...),
		InTransit: t["shipments:in_transit"], Today: f.today}
}
