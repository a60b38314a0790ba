package app

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/functions/programme"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// hooks let the safety programme, which writes in bulk, drop kept answers and
// tell events.
func (a *App) hooks() programme.Hooks {
	return programme.Hooks{Changed: a.changed, Tell: func(tx *db.Tx, resource string, rows []store.Row) error {
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

// newTenant gives a tenant the regulations and badges it starts with.
func (a *App) newTenant(tx *db.Tx, tenant string) error {
	return safety.SeedRegulations(tx, a.Store, tenant)
}

// runProgramme does each tenant's nightly work when its night has come, and
// marks inspections that were missed.
func (a *App) runProgramme(ctx context.Context) error {
	due, err := a.programme.Due(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range due {
		if _, err := a.programme.Nightly(ctx, tenant); err != nil {
			return err
		}
	}
	return nil
}
