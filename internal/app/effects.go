package app

import (
	"maps"

	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// effects are the consequences of changes, by resource: each domain's own and
// the identity service's.
func (a *App) effects() store.Effects {
	e := store.Effects{
		Before: map[string]store.Effect{"invitations": a.Identity.PrepareInvitations},
		After:  map[string]store.Effect{"members": a.Identity.GuardMembers, "invitations": a.Identity.MailInvitations, "tenants": a.Identity.WatchTenants},
	}
	for _, domain := range []store.Effects{warehouse.Effects(), safety.Effects()} {
		maps.Copy(e.Before, domain.Before)
		maps.Copy(e.After, domain.After)
	}
	return e
}
