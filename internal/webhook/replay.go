package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/store"
)

// most is how many deliveries one call replays.
const most = 10_000

// Queued is what a call queued: how many deliveries, and the event that Test made.
type Queued struct {
	Queued  int    `json:"queued"`
	EventID string `json:"event_id,omitempty"`
}

// Test queues a webhook.test event for one webhook and returns the event's id;
// the delivery shows how it went.
func (s *Service) Test(ctx context.Context, a actor.Actor, id string) (eventID string, err error) {
	data, err := json.Marshal(map[string]string{"webhook_id": id, "message": "This is a test. Your webhook works."})
	if err != nil {
		return "", err
	}
	e := &event.Event{ID: db.NewID(), Tenant: a.TenantID, Type: "webhook.test", At: s.now(), Data: data}
	_, err = s.requeueDeliveries(ctx, a, id, "webhooks.test", func(tx *db.Tx) ([]queued, error) {
		return []queued{{tenant: a.TenantID, webhook: id, event: e.ID, typ: e.Type, payload: string(e.Payload())}}, nil
	})
	return e.ID, err
}

// Replay queues one delivery again, whatever became of it: the same event id
// and payload, signed anew.
func (s *Service) Replay(ctx context.Context, a actor.Actor, id, delivery string) error {
	if _, err := uuid.Parse(delivery); err != nil || len(delivery) != 36 {
		return noDelivery()
	}
	_, err := s.requeueDeliveries(ctx, a, id, "webhooks.replay", func(tx *db.Tx) ([]queued, error) {
		rows, err := readPast(tx, a.TenantID, id, "id = $3", delivery)
		if err == nil && len(rows) == 0 {
			err = noDelivery()
		}
		return rows, err
	})
	return err
}

func noDelivery() error { return fault.New(fault.NotFound, "PGRST116", "no such delivery") }

// Range says which deliveries to replay: queued from From (inclusive) to To
// (exclusive), those that failed, or all of them. Replays themselves are left
// out.
type Range struct {
	From, To time.Time
	All      bool
}

// ReplayRange queues the deliveries of a range again and returns how many. It
// fails with fault.Unprocessable, queueing none, over 10,000.
func (s *Service) ReplayRange(ctx context.Context, a actor.Actor, id string, r Range) (int, error) {
	return s.requeueDeliveries(ctx, a, id, "webhooks.replay", func(tx *db.Tx) ([]queued, error) {
		where := "queued_at >= $3 AND queued_at < $4 AND replay_of IS NULL AND next_at IS NULL"
		if !r.All {
			where += " AND status = 'dead'"
		}
		rows, err := readPast(tx, a.TenantID, id, where+" ORDER BY id LIMIT $5", r.From, r.To, most+1)
		if err == nil && len(rows) > most {
			err = fault.New(fault.Unprocessable, "54000", "more than %d deliveries lie in this range: narrow it", most)
		}
		return rows, err
	})
}

func readPast(tx *db.Tx, tenant, id, where string, args ...any) ([]queued, error) {
	var rows []queued
	err := tx.Query(db.FillWords(`
		SELECT id, event_id, type, payload
		FROM webhook_deliveries
		WHERE tenant_id = $1
			AND webhook_id = $2
			AND {where}`, "{where}", where),
		append([]any{tenant, id}, args...), func(r *db.Row) error {
			rows = append(rows, queued{tenant: tenant, webhook: id, replayOf: r.Text(0), event: r.Text(1), typ: r.Text(2),
				payload: r.Text(3)})
			return nil
		})
	return rows, err
}

// requeueDeliveries queues deliveries to an active webhook of the caller's tenant, on the
// record.
func (s *Service) requeueDeliveries(
	ctx context.Context, a actor.Actor, id, action string, choose func(tx *db.Tx) ([]queued, error),
) (n int, err error) {
	if err := requireAdministrator(a); err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		row, err := s.findWebhook(tx, a, id)
		if err != nil {
			return err
		}
		if st := row.Text("status"); st != "active" {
			return fault.New(fault.Conflict, "HF001", "the webhook is %s: make it active first", st)
		}
		rows, err := choose(tx)
		if err != nil {
			return err
		}
		n = len(rows)
		s.writeAudit(tx, a, id, action, n)
		if err := s.enqueueDeliveries(tx, rows, map[string]chooser{id: {tenant: a.TenantID, id: id, active: true}},
			s.now()); err != nil {
			return err
		}
		done := Queued{Queued: n}
		if n == 1 && rows[0].replayOf == nil {
			done.EventID = rows[0].event
		}
		return idempotency.Record(tx, done)
	})
	return n, err
}

func (s *Service) writeAudit(tx *db.Tx, a actor.Actor, id, action string, n int) {
	audit.Write(tx, audit.Entry{Tenant: a.TenantID, At: s.now(), By: a, Action: action, EntityType: "webhooks",
		EntityID: id, Details: map[string]int{"deliveries": n}})
}
