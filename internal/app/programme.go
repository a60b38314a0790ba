package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/functions/programme"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// hooks let the safety programme, which writes in bulk, drop kept answers and
// tell events.
func (a *App) hooks() programme.Hooks {
	return programme.Hooks{Letterhead: a.letterhead(), Changed: a.changed, Moved: a.tellMoves, Due: a.tellDeadlines,
		Tell: func(tx *db.Tx, resource string, rows []store.Row) error {
			r, ok := a.catalog.Get(resource)
			if !ok {
				return nil
			}
			var events []event.Emitted
			for _, row := range rows {
				events = append(events, event.FromChange(r, nil, row)...)
			}
			return a.Outbox.EmitAll(tx, events)
		}}
}

// tellMoves makes an event of each entity in another cluster than before; a
// person's is for those who may read his score.
func (a *App) tellMoves(tx *db.Tx, tenant string, moves []programme.Move) error {
	events := make([]event.Emitted, len(moves))
	for i, m := range moves {
		data, err := json.Marshal(struct {
			ID       string `json:"id"`
			Type     string `json:"entity_type"`
			Entity   string `json:"entity_id"`
			Cluster  string `json:"cluster"`
			Previous string `json:"previous_cluster"`
		}{m.ScoreID, m.EntityType, m.EntityID, m.To, m.From})
		if err != nil {
			return err
		}
		events[i] = event.Emitted{Tenant: tenant, Type: "score.cluster_changed", Data: json.RawMessage(data),
			Audience: map[string]string{"entity_type": m.EntityType}}
		if m.UserID != "" {
			events[i].Audience["user_id"] = m.UserID
		}
	}
	return a.Outbox.EmitAll(tx, events)
}

// tellDeadlines makes an event of each day that comes near.
func (a *App) tellDeadlines(tx *db.Tx, _ string, list []programme.Deadline) error {
	events := make([]event.Emitted, len(list))
	for i, d := range list {
		t, ok := event.Find(d.Event)
		if !ok {
			return fmt.Errorf("app: %s is no event type", d.Event)
		}
		r, ok := a.catalog.Get(t.Collection)
		if !ok {
			return fmt.Errorf("app: the catalog has no %s", t.Collection)
		}
		events[i] = t.About(r, d.Row, map[string]any{"days_left": int64(d.Days)})
	}
	return a.Outbox.EmitAll(tx, events)
}

// newTenant gives a tenant the regulations and badges it starts with.
func (a *App) newTenant(tx *db.Tx, tenant string) error {
	return safety.SeedRegulations(tx, a.Store, tenant)
}

// site is the address that mails lead to: configured, never taken from a
// request.
func (a *App) site() string {
	if a.Config.SiteURL != "" {
		return a.Config.SiteURL
	}
	return a.Config.PublicURL
}

// letterhead is whose mails the programme's are.
func (a *App) letterhead() programme.Letterhead {
	return programme.Letterhead{Product: a.Config.ProductName, Site: a.site()}
}

// runProgramme does what is due in each tenant: its inspections, its nightly work
// when its night has come, and its morning's mails. A tenant that fails does not
// stop the others.
func (a *App) runProgramme(ctx context.Context) error {
	return errors.Join(a.keepUp(ctx), a.mornings(ctx))
}

// keepUp brings the records up to date.
func (a *App) keepUp(ctx context.Context) error {
	return errors.Join(a.eachTenant(ctx, a.programme.Owing, a.programme.Inspections),
		a.eachTenant(ctx, a.programme.Due, func(ctx context.Context, tenant string) error {
			_, err := a.programme.Nightly(ctx, tenant)
			return err
		}))
}

// mornings writes the day's digests where mails can be sent.
func (a *App) mornings(ctx context.Context) error {
	if !a.mails() {
		return nil
	}
	return a.eachTenant(ctx, a.programme.Mornings, func(ctx context.Context, tenant string) error {
		n, err := a.programme.Digest(ctx, tenant)
		if n > 0 {
			slog.Info("digests of overdue work", "tenant", tenant, "mails", n)
		}
		return err
	})
}

// eachTenant does work in the tenants that are due for it.
func (a *App) eachTenant(ctx context.Context, due func(context.Context) ([]string, error), work func(context.Context, string) error) error {
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

// mails reports whether mails can be sent at all.
func (a *App) mails() bool {
	_, none := a.mail.(noMail)
	return !none
}

// pageCritical writes mails about incidents that have become critical, for
// those who keep the programme. Imports are history and page nobody.
func (a *App) pageCritical(tx *db.Tx, s *store.Store, changes []store.Change) error {
	if !s.Audited() || !a.mails() {
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
		if err := a.letterhead().Page(tx, tenant, list, a.now()); err != nil {
			return err
		}
	}
	return nil
}
