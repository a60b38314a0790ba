package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme"
	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/factors"
)

// programmeHooks let the safety programme, which writes in bulk, drop kept answers and
// tell events.
func (a *App) programmeHooks() programme.Hooks {
	return programme.Hooks{Letterhead: newLetterhead(a.Config), CanMail: a.canSendMail, Changed: a.dropChanged,
		Moved: a.announcer.announceMoves, Due: a.announcer.announceDeadlines, Tell: a.announcer.announceRecords}
}

// newTenant gives a tenant the regulations, badges and units it starts with.
func (a *App) newTenant(tx *db.Tx, tenant string) error {
	seeding := a.Store.In(tx, actor.Actor{TenantID: tenant})
	if err := safety.SeedRegulations(seeding); err != nil {
		return err
	}
	return factors.SeedUnits(seeding)
}

// newLetterhead is whose mails the programme's are. The address they lead to is
// configured, never taken from a request.
func newLetterhead(c *config.Config) programme.Letterhead {
	site := c.SiteURL
	if site == "" {
		site = c.PublicURL
	}
	return programme.Letterhead{Product: c.ProductName, Site: site}
}

// runProgramme does what is due in each tenant: its inspections, its nightly work
// when its night has come, and its morning's mails. A tenant that fails does not
// stop the others.
func (a *App) runProgramme(ctx context.Context) error {
	return errors.Join(a.keepUp(ctx), a.writeDigests(ctx))
}

// keepUp brings the records up to date.
func (a *App) keepUp(ctx context.Context) error {
	return errors.Join(eachDue(ctx, a.programme.Owing, a.programme.Inspections),
		eachDue(ctx, a.programme.Due, func(ctx context.Context, tenant string) error {
			_, err := a.programme.Nightly(ctx, tenant)
			return err
		}))
}

// writeDigests writes the day's digests where mails can be sent.
func (a *App) writeDigests(ctx context.Context) error {
	if !a.canSendMail() {
		return nil
	}
	return eachDue(ctx, a.programme.Mornings, func(ctx context.Context, tenant string) error {
		n, err := a.programme.Digest(ctx, tenant)
		if n > 0 {
			slog.Info("digests of overdue work", "tenant", tenant, "mails", n)
		}
		return err
	})
}

// eachDue does work in the tenants that are due for it.
func eachDue(
	ctx context.Context, due func(context.Context) ([]string, error), work func(context.Context, string) error,
) error {
	tenants, err := due(ctx)
	errs := []error{err}
	for _, t := range tenants {
		if ctx.Err() != nil {
			break
		}
		if err := work(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("app: tenant %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// canSendMail reports whether mails can be sent at all.
func (a *App) canSendMail() bool {
	_, none := a.mail.(noMail)
	return !none
}

// pageCritical writes mails about incidents that have become critical, for
// those who keep the programme. Imports are history and page nobody.
func (a *App) pageCritical(tx *db.Tx, s *store.Store, changes []store.Change) error {
	if !s.Audited() || !a.canSendMail() {
		return nil
	}
	byTenant := map[string][]store.Row{}
	for _, c := range changes {
		if c.After != nil && c.After["severity"] == "critical" && (c.Before == nil || c.Before["severity"] != "critical") &&
			c.After["status"] != "void" && c.After["status"] != "closed" {
			tenant, _ := c.After["tenant_id"].(string)
			byTenant[tenant] = append(byTenant[tenant], c.After)
		}
	}
	for tenant, list := range byTenant {
		if err := newLetterhead(a.Config).Page(tx, tenant, list, a.now()); err != nil {
			return err
		}
	}
	return nil
}
