package counting

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// skew is how far a counter's clock may differ from ours.
const skew = 5 * time.Minute

// ReadLook reads when a counter looked, as it is stored: at the earliest when the count
// was started, and not after now. It is "" when the count does not say so.
func ReadLook(said, started string, now time.Time) (string, error) {
	if said == "" {
		return "", nil
	}
	at, err := time.Parse(time.RFC3339Nano, said)
	if err != nil || at.After(now.Add(skew)) {
		return "", refuseLook("counted_at must be a moment that has passed", "must have passed")
	}
	start, err := time.Parse(time.RFC3339Nano, started)
	if err != nil {
		return "", fmt.Errorf("counting: start of a count: %w", err)
	}
	if at.Before(start.Add(-skew)) {
		return "", refuseLook("counted_at lies before the count was started", "is before the count was started")
	}
	at = at.UTC()
	if at.Before(start) {
		at = start
	}
	if at.After(now) {
		at = now
	}
	return query.FormatTime(at), nil
}

func refuseLook(text, detail string) error {
	return fault.New(fault.Invalid, "22008", "%s", text).At("counted_at", "%s", detail)
}

// Keys returns the stock keys of where a movement's goods come from and go to, "" for
// outside the warehouse.
type Keys func(movement record.StockMovement) (from, to string)

// SumMoved adds up by stock key what was moved to places and away from them after the
// counter looked. Other counts are no moves: what they booked had happened before.
func SumMoved(tx *store.Tx, places []Place, keys Keys) (map[string]decimal.Dec, error) {
	looked := map[string]string{}
	items := map[string]bool{}
	since := ""
	for _, p := range places {
		if p.LookedAt == "" {
			continue
		}
		looked[p.Key] = p.LookedAt
		items[p.ItemID] = true
		if since == "" || p.LookedAt < since {
			since = p.LookedAt
		}
	}
	if len(looked) == 0 {
		return nil, nil
	}
	const after = "item_id IN {ids $2} AND occurred_at > $3 AND type NOT IN ('count_gain', 'count_loss')"
	moves, err := record.List[record.StockMovement](tx, after, query.List(slices.Sorted(maps.Keys(items))), since)
	if err != nil {
		return nil, fmt.Errorf("counting: movements since %s: %w", since, err)
	}
	moved := map[string]decimal.Dec{}
	for i, at := range record.Texts(moves, record.StockMovement.OccurredAt) {
		from, to := keys(moves[i])
		quantity := moves[i].Quantity()
		if when := looked[from]; when != "" && at > when {
			moved[from] -= quantity
		}
		if when := looked[to]; when != "" && at > when {
			moved[to] += quantity
		}
	}
	return moved, nil
}

// reckonMoves returns places with what is there now by the count: what was found, and
// what was moved since.
func reckonMoves(tx *store.Tx, places []Place, keys Keys) ([]Place, error) {
	moved, err := SumMoved(tx, places, keys)
	if err != nil {
		return nil, err
	}
	places = slices.Clone(places)
	for i := range places {
		places[i].Found = max(0, places[i].Found+moved[places[i].Key])
	}
	return places, nil
}
