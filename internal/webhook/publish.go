package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/query"
)

// chooser is a webhook and the events it wants.
type chooser struct {
	tenant, id string
	active     bool
	scores     bool // takes events that tell a single person's score
	topics     event.Topics
}

func (c *chooser) wants(e *event.Event) bool {
	return c.topics.Has(e.Type) && (c.scores || !e.TellsPersonsScore())
}

// Publish makes the deliveries of events: the notifier calls it in the
// transaction that publishes them, once for each event.
func (s *Service) Publish(tx *db.Tx, events []*event.Event) error {
	choosers, err := findChoosers(tx, events)
	if err != nil || len(choosers) == 0 {
		return err
	}
	if events, err = s.hideSealed(tx, events); err != nil {
		return err
	}
	now := s.now()
	var rows []queued
	touched := map[string]chooser{}
	for _, e := range events {
		payload := ""
		for _, c := range choosers[e.Tenant] {
			if !c.wants(e) {
				continue
			}
			if payload == "" {
				payload = string(e.Payload())
			}
			rows = append(rows, queued{tenant: e.Tenant, webhook: c.id, event: e.ID, typ: e.Type, payload: payload})
			touched[c.id] = c
		}
	}
	return s.enqueueDeliveries(tx, rows, touched, now)
}

const findChoosersSQL = `
	SELECT tenant_id, id, events, status, people_scores
	FROM webhooks
	WHERE tenant_id IN {ids $1} AND status <> 'disabled'`

func findChoosers(tx *db.Tx, events []*event.Event) (map[string][]chooser, error) {
	seen := map[string]bool{}
	var tenants []string
	for _, e := range events {
		if !seen[e.Tenant] {
			seen[e.Tenant] = true
			tenants = append(tenants, e.Tenant)
		}
	}
	var out map[string][]chooser
	err := tx.Query(findChoosersSQL, []any{query.List(tenants)}, func(r *db.Row) error {
		c := chooser{tenant: r.Text(0), id: r.Text(1), active: r.Text(3) == "active", scores: r.Bool(4)}
		if err := json.Unmarshal([]byte(r.Text(2)), &c.topics); err != nil {
			return fmt.Errorf("webhook: events of %s: %w", c.id, err)
		}
		if len(c.topics) == 0 { // chose nothing
			return nil
		}
		if out == nil {
			out = map[string][]chooser{}
		}
		out[c.tenant] = append(out[c.tenant], c)
		return nil
	})
	return out, err
}

// queued is a delivery about to be written.
type queued struct {
	tenant, webhook, event, typ, payload string
	replayOf                             any // id or nil
}

const queuedColumns = 11

// enqueueDeliveries writes deliveries that are due now and brings their lanes forward.
func (s *Service) enqueueDeliveries(tx *db.Tx, rows []queued, lanes map[string]chooser, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	for len(rows) > 0 {
		n := 64
		for n > len(rows) {
			n /= 2
		}
		args := make([]any, 0, n*queuedColumns)
		for _, q := range rows[:n] {
			args = append(args, db.NewID(), q.tenant, q.webhook, q.event, q.typ, q.payload, "pending", now, now, "[]",
				q.replayOf)
		}
		tx.Queue(db.FillWords(`
			INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, event_id, type, payload, status,
				queued_at, next_at, attempts, replay_of, attempt)
			VALUES {delivery values}`, "{delivery values}", deliveryValues(n)), args, nil)
		rows = rows[n:]
	}
	ids := make([]string, 0, len(lanes))
	for id := range lanes {
		ids = append(ids, id)
	}
	slices.Sort(ids) // one order of locks
	for _, id := range ids {
		tx.Queue(wakeLaneSQL, []any{id, lanes[id].tenant, lanes[id].active, now}, nil)
	}
	tx.After(s.Wake)
	return nil
}

// wakeLaneSQL adds a webhook's lane, or has the one that is there look for work by now.
const wakeLaneSQL = `
	INSERT INTO webhook_lanes (webhook_id, tenant_id, active, next_at, failures, trips)
	VALUES ($1, $2, $3, $4, 0, 0)
	ON CONFLICT (webhook_id) DO UPDATE
	SET next_at = CASE
		WHEN webhook_lanes.next_at <= excluded.next_at THEN webhook_lanes.next_at
		ELSE excluded.next_at
	END`

// deliveryValues writes n rows of placeholders; no attempt has been made.
func deliveryValues(n int) string {
	var b []byte
	p := 1
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		for range queuedColumns {
			b = fmt.Appendf(b, "$%d, ", p)
			p++
		}
		b = append(b, "0)"...)
	}
	return string(b)
}
