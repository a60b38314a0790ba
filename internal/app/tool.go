package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/warehouse/verify"
)

// Line is one name and value of Status.
type Line struct{ Name, Value string }

// Status lists addresses and keys of this installation.
func (a *App) Status(ctx context.Context) ([]Line, error) {
	k, err := a.Identity.Keyring.Keys(ctx)
	if err != nil {
		return nil, err
	}
	database := string(a.DB.Engine()) + " " + a.DB.Version()
	return []Line{
		{"API_URL", RunningURL(a.Config)}, {"ANON_KEY", k.AnonKey}, {"SERVICE_ROLE_KEY", k.ServiceRoleKey},
		{"PUBLISHABLE_KEY", k.PublishableKey}, {"SECRET_KEY", k.SecretKey}, {"DATABASE", database},
	}, nil
}

// Tenant finds a tenant by id, slug or name.
func (a *App) Tenant(ctx context.Context, name string) (t identity.Tenant, err error) {
	err = a.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		t, err = tenants.TenantBy(tx, name)
		return err
	})
	return t, err
}

// wholeTenant is how long a statement may take that reads all of a tenant.
const wholeTenant = time.Hour

// Verify recomputes what is kept beside the records, for every tenant, and
// describes each difference. A tenant that cannot be recounted does not keep
// the others from it; the errors come back together.
func (a *App) Verify(ctx context.Context) ([]string, error) {
	ctx = db.Patient(ctx, wholeTenant)
	all, err := a.Identity.Tenants.ListTenants(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	err = eachTenant(all, func(t identity.Tenant) error {
		var found []verify.Difference
		err := a.DB.Read(ctx, db.Scope{Tenant: t.ID}, func(tx *db.Tx) (err error) {
			found, err = verify.RecountTotals(tx, a.catalog, t.ID)
			return err
		})
		for _, d := range found {
			out = append(out, fmt.Sprintf("%s: %s", t.Slug, d))
		}
		return err
	})
	return out, err
}

// Repair puts every tenant's counters right and returns how many it changed.
// Stock, orders and zones, whose rows tell of a fault, are left as they are.
func (a *App) Repair(ctx context.Context) (int, error) {
	ctx = db.Patient(ctx, wholeTenant)
	all, err := a.Identity.Tenants.ListTenants(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	err = eachTenant(all, func(t identity.Tenant) error {
		deltas, err := a.recountCounters(ctx, t.ID)
		if err != nil || len(deltas) == 0 {
			return err
		}
		n += len(deltas)
		return a.DB.Write(ctx, db.Scope{Tenant: t.ID}, func(tx *db.Tx) error {
			a.Store.Count(tx, t.ID, deltas)
			return nil
		})
	})
	return n, err
}

// eachTenant calls f for all, also after one failed, and joins the errors.
func eachTenant(list []identity.Tenant, f func(identity.Tenant) error) error {
	var errs []error
	for _, t := range list {
		if err := f(t); err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", t.Slug, err))
		}
	}
	return errors.Join(errs...)
}

// recountCounters returns what the counters of a tenant lack. It reads one snapshot,
// and what is written meanwhile is added to both sides, so that the result
// stays right.
func (a *App) recountCounters(ctx context.Context, tenant string) (deltas map[string]int64, err error) {
	err = a.DB.Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) (err error) {
		deltas, err = verify.RecountCounters(tx, a.catalog, tenant)
		return err
	})
	return deltas, err
}

// commandLineActor is who the command line acts as in a tenant.
func commandLineActor(tenant string) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: tenant, KeyID: "cli"}
}
