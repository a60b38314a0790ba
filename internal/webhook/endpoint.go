package webhook

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// rotation is how long the secret before the current one signs too.
const rotation = 24 * time.Hour

// perTenant is how many webhooks a tenant may have.
const perTenant = 50

// In is a new webhook.
type In struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"` // empty = all
	Description string   `json:"description"`
	Status      string   `json:"status"` // active when empty, or paused
}

// Endpoint is a webhook as it is answered where its secret is shown.
type Endpoint struct {
	ID             string   `json:"id"`
	URL            string   `json:"url"`
	Events         []string `json:"events"`
	Description    *string  `json:"description"`
	Status         string   `json:"status"`
	Secret         string   `json:"secret,omitempty"` // whsec_...; never shown again
	OldSecretUntil *string  `json:"old_secret_until"`
	CreatedAt      string   `json:"created_at"`
	Version        int64    `json:"version"`
}

// Create makes a webhook and returns it with its secret. It fails with
// fault.Forbidden, fault.Invalid (address or events, naming the field), or
// fault.Unprocessable over 50 webhooks.
func (s *Service) Create(ctx context.Context, a actor.Actor, in In) (*Endpoint, error) {
	if err := requireAdministrator(a); err != nil {
		return nil, err
	}
	u, err := s.parseURL(in.URL)
	if err != nil {
		return nil, err
	}
	if err := s.checkResolves(ctx, u.Hostname()); err != nil {
		return nil, err
	}
	if len(in.Events) == 0 {
		in.Events = []string{"*"}
	}
	id := db.NewID()
	secret := newSecret()
	row := store.Row{"id": id, "url": in.URL, "events": json.RawMessage(query.List(in.Events)),
		"secret": s.sealSecret(secret, id)}
	if in.Description != "" {
		row["description"] = in.Description
	}
	if in.Status != "" {
		row["status"] = in.Status
	}
	var rows []store.Row
	err = s.db.Write(ctx, store.Scope(a), func(tx *db.Tx) (err error) {
		if err := checkRoom(tx, a.TenantID); err != nil {
			return err
		}
		if rows, err = s.store.In(tx, a).InsertRows(s.webhooks.Name, []store.Row{cloneRow(row)}); err != nil {
			return err
		}
		return idempotency.Record(tx, showEndpoint(rows[0], nil)) // its secret is kept nowhere in clear
	})
	if err != nil {
		return nil, err
	}
	return showEndpoint(rows[0], secret), nil
}

// cloneRow copies a row: a transaction may run again.
func cloneRow(row store.Row) store.Row {
	out := make(store.Row, len(row))
	for k, v := range row {
		out[k] = v
	}
	return out
}

func checkRoom(tx *db.Tx, tenant string) error {
	n := int64(0)
	if err := tx.One("SELECT COUNT(*) FROM webhooks WHERE tenant_id = $1", []any{tenant}, func(r *db.Row) error {
		n = r.Int(0)
		return nil
	}); err != nil {
		return err
	}
	if n >= perTenant {
		return fault.New(fault.Unprocessable, "54000", "a tenant may have %d webhooks; delete one first", perTenant)
	}
	return nil
}

func showEndpoint(row store.Row, secret []byte) *Endpoint {
	e := &Endpoint{ID: row.Text("id"), URL: row.Text("url"), Status: row.Text("status"), CreatedAt: row.Text("created_at")}
	if secret != nil {
		e.Secret = formatSecret(secret)
	}
	e.Version, _ = row["version"].(int64)
	e.Events = readTopics(row)
	if d, ok := row["description"].(string); ok {
		e.Description = &d
	}
	if t, ok := row["old_secret_until"].(string); ok {
		e.OldSecretUntil = &t
	}
	return e
}

// readTopics are the events a webhook chose. The stored text was checked when it
// was written.
func readTopics(row store.Row) []string {
	raw, _ := row["events"].(json.RawMessage)
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// Rotate gives a webhook a new secret and returns it. The old one signs too
// for a day, so that receivers can change over.
func (s *Service) Rotate(ctx context.Context, a actor.Actor, id string) (*Endpoint, error) {
	if err := requireAdministrator(a); err != nil {
		return nil, err
	}
	secret := newSecret()
	var out *Endpoint
	err := s.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		row, err := s.findWebhook(tx, a, id)
		if err != nil {
			return err
		}
		changes, err := s.store.In(tx, a).ChangeRows(s.webhooks.Name, []string{id}, store.Row{
			"secret": s.sealSecret(secret, id), "old_secret": row["secret"],
			"old_secret_until": query.FormatTime(s.now().Add(rotation)),
		})
		if err != nil {
			return err
		}
		out = showEndpoint(changes[0].After, secret)
		return idempotency.Record(tx, showEndpoint(changes[0].After, nil))
	})
	return out, err
}

// findWebhook reads a webhook of the caller's tenant.
func (s *Service) findWebhook(tx *db.Tx, a actor.Actor, id string) (store.Row, error) {
	absent := fault.New(fault.NotFound, "PGRST116", "no such webhook")
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return nil, absent
	}
	rows, err := s.store.In(tx, a).Rows(s.webhooks.Name, "id = $2", id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, absent
	}
	return rows[0], nil
}

// Check is the Before effect of webhooks: it refuses addresses and events that
// cannot be, and clears what a webhook that is switched on again, or has
// another address, no longer has.
func (s *Service) Check(_ *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if c.Op == store.Delete {
			continue
		}
		if c.Op == store.Insert && c.After["secret"] == nil {
			return fault.New(fault.Invalid, "22023", "webhooks are made by POST /v1/webhooks, which answers their secret")
		}
		if c.Before.Text("url") != c.After.Text("url") {
			if _, err := s.parseURL(c.After.Text("url")); err != nil {
				return err
			}
		}
		if !slices.Equal(readTopics(c.Before), readTopics(c.After)) {
			if _, err := event.ParseTopics(readTopics(c.After), "events"); err != nil {
				return err
			}
		}
		if c.Op != store.Update {
			continue
		}
		if c.Before.Text("url") != c.After.Text("url") {
			c.After["failing_since"] = nil
		}
		if c.Before.Text("status") != "active" && c.After.Text("status") == "active" {
			c.After["disabled_reason"], c.After["failing_since"] = nil, nil
		}
	}
	return nil
}

// CheckReach is the Ahead effect of webhooks: it refuses addresses whose names do not lead to
// public addresses. What is no address at all is left to [Service.Check].
func (s *Service) CheckReach(ctx context.Context, rows []store.Row) error {
	hosts := map[string]bool{}
	for _, row := range rows {
		if u, err := s.parseURL(row.Text("url")); err == nil {
			hosts[u.Hostname()] = true
		}
	}
	if len(hosts) > perTenant {
		return badURL("more than %d hosts in one request", perTenant)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for host := range hosts {
		if err := s.checkResolves(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// Changed is the After effect of webhooks: it keeps their lanes.
func (s *Service) Changed(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		switch {
		case c.Op == store.Insert:
			s.openLane(tx.Tx, c.After)
		case c.Op == store.Delete:
			s.closeLane(tx.Tx, c.Before.Text("id"))
		case c.Before.Text("status") != c.After.Text("status") || c.Before.Text("url") != c.After.Text("url"):
			s.openLane(tx.Tx, c.After)
			if c.After.Text("status") == "disabled" {
				s.giveUp(tx.Tx, c.After.Text("id"), "the webhook was disabled")
			}
		}
	}
	tx.After(s.Wake)
	return nil
}

// openLaneSQL adds a webhook's lane, or sets the one that is there going afresh.
const openLaneSQL = `
	INSERT INTO webhook_lanes (webhook_id, tenant_id, active, next_at, failures, trips)
	VALUES ($1, $2, $3, $4, 0, 0)
	ON CONFLICT (webhook_id) DO UPDATE
	SET active = excluded.active, next_at = excluded.next_at, failures = 0, trips = 0, open_until = NULL`

// openLane makes a webhook's lane, or sets it going afresh: the breaker is
// closed, and what waits in it is due.
func (s *Service) openLane(tx *db.Tx, row store.Row) {
	tx.Queue(openLaneSQL,
		[]any{row.Text("id"), row.Text("tenant_id"), row.Text("status") == "active", s.now()}, nil)
}

// closeLane ends what waits for a webhook that is deleted, and its lane.
func (s *Service) closeLane(tx *db.Tx, id string) {
	s.giveUp(tx, id, "the webhook was deleted")
	tx.Queue("DELETE FROM webhook_lanes WHERE webhook_id = $1", []any{id}, nil)
}

const giveUpSQL = `
	UPDATE webhook_deliveries
	SET status = 'dead', next_at = NULL, done_at = $2, error = $3
	WHERE webhook_id = $1 AND next_at IS NOT NULL`

// giveUp ends what waits for a webhook. It can be replayed.
func (s *Service) giveUp(tx *db.Tx, id, why string) {
	tx.Queue(giveUpSQL, []any{id, s.now(), why}, nil)
}
