package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/console"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/password"
)

// SeedDemo makes the demonstration tenants and their users, once.
func (a *App) SeedDemo(ctx context.Context, size demo.Size) error {
	if !a.Config.Loopback() {
		return fmt.Errorf("app: demonstration users have a known password, so they exist on loopback only")
	}
	ctx = db.Patient(ctx, time.Minute) // all of it is one transaction
	hashed := hashInBackground(ctx, demo.Password)
	if err := demo.Seed(ctx, a.Store, a.now(), size); err != nil {
		return err
	}
	if err := a.keepUp(ctx); err != nil {
		return fmt.Errorf("app: demo scores: %w", err)
	}
	if err := a.DB.Analyze(ctx, "shifts", "incident_entities", "predictive_scores", "zones", "items", "stock_levels",
		"stock_movements", "orders", "order_lines", "reservations", "pick_lists", "pick_lines", "packages", "package_lines",
		"shipments", "shipment_lines", "incidents", "audit"); err != nil {
		return err
	}
	hash, err := hashed()
	if err != nil {
		return err
	}
	by := actor.Actor{Role: actor.Service, KeyID: "demo"}
	for _, u := range size.Accounts() {
		_, err := a.Identity.Admin.CreateUser(ctx, by, identity.AdminUser{
			ID: u.ID, Email: &u.Email, PasswordHash: &hash, EmailConfirm: true, UserMetadata: map[string]any{"name": u.Name},
		})
		if err != nil && !fault.HasCode(err, "email_exists") {
			return fmt.Errorf("app: demo user %s: %w", u.Email, err)
		}
	}
	return nil
}

// hashInBackground hashes a password while the caller does something else.
func hashInBackground(ctx context.Context, pw string) func() (string, error) {
	var hash string
	var err error
	var work sync.WaitGroup
	work.Go(func() { hash, err = password.New(1).Hash(ctx, pw) })
	return func() (string, error) {
		work.Wait()
		return hash, err
	}
}

// consoleSettings is what the console shows before anybody signed in. Only a
// demonstration tells who its people are.
func consoleSettings(c *config.Config) console.Settings {
	s := console.Settings{Product: c.ProductName}
	if !c.Demo {
		return s
	}
	s.Demo = &console.Demo{Password: demo.Password}
	for _, u := range demo.Users() {
		p := console.Person{Email: u.Email, Name: u.Name}
		for _, tenant := range []string{demo.South, demo.North} {
			if role, ok := u.Memberships[tenant]; ok {
				p.Role, p.Tenant = string(role), demo.TenantName(tenant)
			}
		}
		s.Demo.People = append(s.Demo.People, p)
	}
	return s
}

// refuseDemo keeps accounts with a password that everybody can read off a
// listener that others reach: they were made while it was on loopback.
func (a *App) refuseDemo(ctx context.Context) error {
	if a.Config.Loopback() {
		return nil
	}
	var ids []string
	for _, u := range demo.Whole.Accounts() {
		ids = append(ids, u.ID)
	}
	list, err := a.Identity.Admin.WithPassword(ctx, ids, demo.Password)
	if err != nil {
		return fmt.Errorf("app: demonstration users: %w", err)
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("app: this is a demonstration's database, and its users still have the password that everybody knows: %s; "+
		"listen on 127.0.0.1 instead of %s, use another --data or --database, or give each of them a password with `holdfast admin reset-password EMAIL`",
		strings.Join(list, ", "), a.Config.Listen)
}
