package identity

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// everywhere is the scope of identity's own statements: accounts and sessions
// belong to no tenant, and a sign-in has to look for memberships in all.
var everywhere = db.Scope{All: true}

// event is one row of the audit log.
type event struct {
	tenant, user, key string
	action, outcome   string // outcome "" = ok
	entity, entityID  string
	details           map[string]any
	client            Client
}

// record queues the row in the transaction of the change.
func (s *Service) record(tx *db.Tx, e event) {
	// Packages above record the changes of accounts that they make.
	tx.After(func() { s.tokens.changes.Add(1) })
	if e.tenant == "" {
		e.tenant = db.NoTenant
	}
	if e.outcome == "" {
		e.outcome = "ok"
	}
	session := e.client.SessionID
	if session == "" && e.entity == "session" {
		session = e.entityID
	}
	var details any
	if e.details != nil {
		details = writeJSON(e.details)
	}
	tx.Queue(`INSERT INTO audit (tenant_id, id, at, actor_user_id, key_id, action, entity_type, entity_id, outcome, details, address, request_id, session_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		[]any{e.tenant, newID(), s.now(), null(e.user), null(e.key), e.action, null(e.entity), null(e.entityID), e.outcome, details, null(e.client.Address), null(e.client.RequestID), null(session)}, nil)
}

// note writes an audit row of its own, for what was refused and so has no
// transaction to go with.
func (s *Service) note(ctx context.Context, e event) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		s.record(tx, e)
		return nil
	})
}

// clientOf is what an actor carries of its client.
func clientOf(a actor.Actor) Client {
	return Client{Address: a.Address, RequestID: a.RequestID, SessionID: a.SessionID}
}
