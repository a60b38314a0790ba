package app

import (
	"maps"

	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// effects are the consequences of changes, by resource: each domain's own and
// the guard of memberships.
func (a *App) effects() store.Effects {
	e := store.Effects{Before: map[string]store.Effect{}, After: map[string]store.Effect{"members": a.Identity.GuardMembers}}
	for _, domain := range []store.Effects{warehouse.Effects(), safety.Effects()} {
		maps.Copy(e.Before, domain.Before)
		maps.Copy(e.After, domain.After)
	}
	return e
}
