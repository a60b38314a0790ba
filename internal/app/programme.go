package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/functions/programme"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// hooks let the safety programme, which writes in bulk, drop kept answers and
// tell events.
func (a *App) hooks() programme.Hooks {
	return programme.Hooks{Changed: a.changed, Moved: a.tellMoves, Tell: func(tx *db.Tx, resource string, rows []store.Row) error {
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
		events[i] = event.Emitted{Tenant: tenant, Type: "score.cluster_changed", Data: json.RawMessage(data), Audience: map[string]string{"entity_type": m.EntityType}}
		if m.UserID != "" {
			events[i].Audience["user_id"] = m.UserID
		}
	}
	return a.Outbox.EmitAll(tx, events)
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
	var errs []error
	for _, tenant := range due {
		if _, err := a.programme.Nightly(ctx, tenant); err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", tenant, err))
		}
	}
	return errors.Join(errs...)
}
