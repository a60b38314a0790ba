package webhook

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/query"
)

// sealedSQL selects those of some records that only named readers read. $1 tenants, $2 ids.
const sealedSQL = `
	SELECT id
	FROM {records}
	WHERE tenant_id IN {ids $1}
		AND id IN {ids $2}
		AND {flag}`

// hideSealed takes words and people off events about records that are for named readers only: an
// address is none of them.
func (s *Service) hideSealed(tx *db.Tx, events []*event.Event) ([]*event.Event, error) {
	asked := map[*catalog.Resource][]string{}
	var tenants []string
	for _, e := range events {
		if record, id := s.sealingRecord(e); id != "" {
			asked[record] = append(asked[record], id)
			tenants = append(tenants, e.Tenant)
		}
	}
	isSealed := map[string]bool{}
	for record, ids := range asked {
		text := db.FillWords(sealedSQL, "{records}", record.Name, "{flag}", record.Seal.Flag)
		err := tx.Query(text, []any{query.List(tenants), query.List(ids)}, func(r *db.Row) error {
			isSealed[r.Text(0)] = true
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("webhook: look for %s that named readers read: %w", record.Name, err)
		}
	}
	out := make([]*event.Event, len(events))
	for i, e := range events {
		out[i] = e
		if _, id := s.sealingRecord(e); isSealed[id] {
			out[i] = e.WithoutText(s.resourceOf(e))
		}
	}
	return out, nil
}

// resourceOf is the resource of an event's record, nil for events of none.
func (s *Service) resourceOf(e *event.Event) *catalog.Resource {
	t, _ := event.Find(e.Type)
	r, _ := s.store.Catalog().Get(t.Collection)
	return r
}

// sealingRecord is the record whose flag may keep what an event is about for named readers; "" for
// none.
func (s *Service) sealingRecord(e *event.Event) (record *catalog.Resource, id string) {
	r := s.resourceOf(e)
	if r == nil || r.Seal == nil {
		return nil, ""
	}
	var told map[string]any
	if err := json.Unmarshal(e.Data, &told); err != nil {
		return nil, ""
	}
	column := r.Seal.By
	if record = r.Seal.Record(); record == nil {
		record, column = r, "id"
	}
	id, _ = told[column].(string)
	return record, id
}
