package identity

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
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
func (s *Base) record(tx *db.Tx, e event) {
	// Packages above record the changes of accounts that they make.
	tx.After(func() { s.tokens.changes.Add(1) })
	session := e.client.SessionID
	if session == "" && e.entity == "session" {
		session = e.entityID
	}
	entry := audit.Entry{Tenant: e.tenant, At: s.now(),
		By:     actor.Actor{UserID: e.user, KeyID: e.key, SessionID: session, Address: e.client.Address, RequestID: e.client.RequestID},
		Action: e.action, EntityType: e.entity, EntityID: e.entityID, Outcome: e.outcome}
	if e.details != nil {
		entry.Details = e.details
	}
	audit.Write(tx, entry)
}

// note writes an audit row of its own, for what was refused and so has no
// transaction to go with.
func (s *Base) note(ctx context.Context, e event) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		s.record(tx, e)
		return nil
	})
}

// clientOf is what an actor carries of its client.
func clientOf(a actor.Actor) Client {
	return Client{Address: a.Address, RequestID: a.RequestID, SessionID: a.SessionID}
}
