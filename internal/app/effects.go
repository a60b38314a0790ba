package app

import (
	"context"
	"maps"

	"holdfast/internal/event"
	"holdfast/internal/functions/programme/mention"
	"holdfast/internal/imports"
	"holdfast/internal/imports/check"
	"holdfast/internal/safety"
	"holdfast/internal/safety/absence"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/safety/evidence"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/safety/osha"
	"holdfast/internal/safety/photo"
	"holdfast/internal/safety/register"
	"holdfast/internal/safety/report"
	"holdfast/internal/safety/training"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// effectsTable are the consequences of changes, by resource: each domain's own and
// the identity service's.
func (a *App) effectsTable() store.Effects {
	e := store.Effects{First: map[string]store.First{},
		Before: map[string]store.Effect{"invitations": a.Identity.Invitations.PrepareInvitations, "tenants": checkLimits,
			"settings":       a.Identity.Tenants.CheckSettings,
			"mail_templates": a.Identity.Post.CheckMailTemplates},
		After: map[string]store.Effect{"members": a.Identity.Tenants.GuardMembers,
			"invitations": a.Identity.Invitations.MailInvitations, "tenants": a.Identity.Tenants.WatchTenants},
	}
	chainEffects(e.Before, map[string]store.Effect{"settings": imports.CheckSettings})
	chainEffects(e.Before, map[string]store.Effect{"settings": checkSettings})
	domains := []store.Effects{
		warehouse.Watch{LowStock: a.announcer.lowStock}.Effects(), safety.Effects(), training.Effects(),
		osha.Effects(), absence.Effects(), clocks.Effects(), report.Effects(), photo.Effects(a.blobs),
		evidence.Effects(a.catalog, a.blobs), jurisdiction.Effects(), register.Effects()}
	for _, domain := range domains {
		chainEffects(e.Before, domain.Before)
		chainEffects(e.After, domain.After)
		maps.Copy(e.First, domain.First)
	}
	e.Unmoved = resourcesWithoutEffects(domains)
	e.Before["import_jobs"] = check.GuardJobs(a.catalog)
	e.Ahead = map[string]store.Ahead{"webhooks": func(ctx context.Context, rows []store.Row) error {
		return a.Webhooks.CheckReach(ctx, rows)
	}}
	e.Before["webhooks"] = func(tx *store.Tx, cs []store.Change) error {
		return a.Webhooks.Check(tx, cs)
	}
	e.After["webhooks"] = func(tx *store.Tx, cs []store.Change) error {
		return a.Webhooks.Changed(tx, cs)
	}
	chainEffects(e.After, map[string]store.Effect{"incidents": func(tx *store.Tx, cs []store.Change) error {
		return a.pageCritical(tx.Tx, tx.Store, cs)
	}})
	followClocks := safety.PerTenant(clocks.AskForMails)
	chainEffects(e.After, map[string]store.Effect{clocks.Resource: func(tx *store.Tx, cs []store.Change) error {
		if !a.canSendMail() {
			return nil
		}
		return followClocks(tx, cs)
	}})
	chainEffects(e.After, map[string]store.Effect{"comments": func(tx *store.Tx, cs []store.Change) error {
		if !tx.Store.Audited() || !a.canSendMail() {
			return nil
		}
		return mention.Mail(tx, cs, newLetterhead(a.Config))
	}})
	for _, name := range event.Watched() {
		e.After[name] = a.announcer.withEvents(e.After[name])
	}
	return e
}

// resourcesWithoutEffects are the resources whose deletion moves none of the domains. That it is
// told as an event does not count: bulk work is not.
func resourcesWithoutEffects(domains []store.Effects) map[string]bool {
	out := map[string]bool{}
	for _, domain := range domains {
		maps.Copy(out, domain.Unmoved)
	}
	for _, domain := range domains {
		for _, effects := range []map[string]store.Effect{domain.Before, domain.After} {
			for name := range effects {
				if !domain.Unmoved[name] {
					delete(out, name)
				}
			}
		}
	}
	return out
}

// chainEffects puts a domain's effects behind those that are there. Either may be nil.
func chainEffects(effects, more map[string]store.Effect) {
	for name, next := range more {
		first := effects[name]
		switch {
		case next == nil:
			continue
		case first == nil:
			effects[name] = next
			continue
		}
		effects[name] = func(tx *store.Tx, cs []store.Change) error {
			if err := first(tx, cs); err != nil {
				return err
			}
			return next(tx, cs)
		}
	}
}
