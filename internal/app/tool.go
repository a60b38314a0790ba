package app

import (
	"context"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/warehouse"
)

// Line is one name and value of Status.
type Line struct{ Name, Value string }

// Status lists addresses and keys of this installation.
func (a *App) Status(ctx context.Context) ([]Line, error) {
	k, err := a.Identity.Keys(ctx)
	if err != nil {
		return nil, err
	}
	database := string(a.DB.Engine()) + " " + a.DB.Version()
	return []Line{
		{"API_URL", RunningURL(a.Config)}, {"ANON_KEY", k.AnonKey}, {"SERVICE_ROLE_KEY", k.ServiceRoleKey},
		{"PUBLISHABLE_KEY", k.PublishableKey}, {"SECRET_KEY", k.SecretKey}, {"DATABASE", database},
	}, nil
}

// Tenant finds a tenant by id or slug.
func (a *App) Tenant(ctx context.Context, name string) (identity.Tenant, error) {
	list, err := a.Identity.ListTenants(ctx)
	if err != nil {
		return identity.Tenant{}, err
	}
	for _, t := range list {
		if t.ID == name || t.Slug == name {
			return t, nil
		}
	}
	return identity.Tenant{}, fault.New(fault.NotFound, "", "there is no tenant %q; `holdfast tenant list` shows them", name)
}

// CreateAdmin makes an owner of a tenant, and the tenant when it is new.
func (a *App) CreateAdmin(ctx context.Context, email, password, tenant string) (*identity.User, error) {
	if _, err := a.Tenant(ctx, tenant); fault.Is(err, fault.NotFound) {
		if _, err := a.Identity.CreateTenant(ctx, tenant, "", ""); err != nil {
			return nil, err
		}
	}
	return a.Identity.CreateAdmin(ctx, email, password, tenant)
}

// Verify recomputes what is kept beside the records, for every tenant, and
// describes each difference.
func (a *App) Verify(ctx context.Context) ([]string, error) {
	tenants, err := a.Identity.ListTenants(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range tenants {
		err := a.DB.Read(ctx, db.Scope{Tenant: t.ID}, func(tx *db.Tx) error {
			found, err := warehouse.Recount(tx, a.catalog, t.ID)
			for _, d := range found {
				out = append(out, fmt.Sprintf("%s: %s", t.Slug, d))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// operator is who the command line acts as in a tenant.
func operator(tenant string) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: tenant, KeyID: "cli"}
}
