package app

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/decimal"
	"holdfast/internal/identity"
	"holdfast/internal/store"
)

// Records that bulk work deletes unread: their effects ask nothing of the
// transaction (there is none here), whatever the record held.
func TestUnmovedResourcesHaveNoEffectsOfDeletion(t *testing.T) {
	a := &App{catalog: catalog.Default(), Identity: &identity.Service{}}
	effects := a.effectsTable()
	for _, name := range []string{"items", "zones", "orders"} {
		if !effects.Unmoved[name] {
			t.Errorf("deleting %s is said to have effects: large imports of them are slow to take back", name)
		}
	}
	for name := range effects.Unmoved {
		r, _ := a.catalog.Get(name)
		full := store.Row{}
		for i := range r.Fields {
			switch f := &r.Fields[i]; f.Type {
			case catalog.Int:
				full[f.Name] = int64(7)
			case catalog.Decimal:
				full[f.Name] = decimal.Dec(70_000)
			case catalog.Bool:
				full[f.Name] = true
			default:
				full[f.Name] = "2026-01-02T03:04:05.000000Z"
			}
		}
		quiet := store.New(nil, a.catalog, effects, nil).Unaudited()
		changes := []store.Change{{Resource: r, Op: store.Delete, Before: full}}
		for _, of := range []map[string]store.Effect{effects.Before, effects.After} {
			if f := of[name]; f != nil {
				if err := f(quiet.In(nil, actor.Actor{TenantID: "t", Role: actor.Service}), changes); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// Effects that are added to a resource without any, or that are none themselves,
// leave no effect that calls nothing.
func TestAddedEffectsMayBeNil(t *testing.T) {
	calls := 0
	count := func(*store.Tx, []store.Change) error { calls++; return nil }
	effects := map[string]store.Effect{"zones": count, "items": nil}
	chainEffects(effects, map[string]store.Effect{"zones": nil, "items": count, "orders": count, "lots": nil})
	for name, want := range map[string]int{"zones": 1, "items": 1, "orders": 1, "lots": 0} {
		calls = 0
		if effect := effects[name]; effect != nil {
			if err := effect(&store.Tx{}, nil); err != nil {
				t.Error(err)
			}
		}
		if calls != want {
			t.Errorf("%s: %d calls, want %d", name, calls, want)
		}
	}
}
