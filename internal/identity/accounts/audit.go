package accounts

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
)

// Everywhere is the scope of identity's own statements: accounts and sessions
// belong to no tenant, and a sign-in has to look for memberships in all.
var Everywhere = db.Scope{All: true}

// Event is one row of the audit log.
type Event struct {
	Tenant, User, Key string
	Action, Outcome   string // outcome "" = ok
	Entity, EntityID  string
	Details           map[string]any
	Client            Client
}

// Audit queues the row in the transaction of the change.
func (s *Base) Audit(tx *db.Tx, e Event) {
	// Packages above record the changes of accounts that they make.
	tx.After(func() { s.Tokens.Changes.Add(1) })
	session := e.Client.SessionID
	if session == "" && e.Entity == "session" {
		session = e.EntityID
	}
	entry := audit.Entry{Tenant: e.Tenant, At: s.Now(),
		By: actor.Actor{UserID: e.User, KeyID: e.Key, SessionID: session, Address: e.Client.Address,
			RequestID: e.Client.RequestID},
		Action: e.Action, EntityType: e.Entity, EntityID: e.EntityID, Outcome: e.Outcome}
	if e.Details != nil {
		entry.Details = e.Details
	}
	audit.Write(tx, entry)
}

// AuditAlone writes an audit row of its own, for what was refused and so has no
// transaction to go with.
func (s *Base) AuditAlone(ctx context.Context, e Event) error {
	return s.DB.Write(ctx, Everywhere, func(tx *db.Tx) error {
		s.Audit(tx, e)
		return nil
	})
}

// ClientOf is what an actor carries of its client.
func ClientOf(a actor.Actor) Client {
	return Client{Address: a.Address, RequestID: a.RequestID, SessionID: a.SessionID}
}
