// Package audit writes the audit log: who did what to which record, in the
// transaction in which it was done. Every row of the log is written here; the
// log is append-only, and identity/chain seals what was written.
package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// OK is the outcome of what was done.
const OK = "ok"

// Entry is one row of the log. Empty texts are kept as null.
type Entry struct {
	Tenant     string // "" = none, as a sign-in of somebody without a tenant has
	At         time.Time
	By         actor.Actor // who, with what key, in which session and request, from where
	Anonymous  bool        // the record does not say who made it: neither does the log
	Action     string      // what was done: "orders.update", "import_jobs.apply"
	EntityType string      // what it was done to
	EntityID   string
	Outcome    string // OK, or what was refused; "" = OK
	Before     string // changed fields before and after, as JSON objects
	After      string
	Details    any // anything else, written as JSON; nil = none
}

// insert writes one row.
const insert = "INSERT INTO audit (tenant_id, id, at, actor_user_id, key_id, session_id, action, entity_type, entity_id, outcome, " +
	"before, after, details, address, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"

// columns are those of insert, which values fills.
var columns = []db.Column{
	{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "at", Type: "timestamptz"},
	{Name: "actor_user_id", Type: "uuid"}, {Name: "key_id", Type: "text"}, {Name: "session_id", Type: "uuid"},
	{Name: "action", Type: "text"}, {Name: "entity_type", Type: "text"}, {Name: "entity_id", Type: "uuid"}, {Name: "outcome", Type: "text"},
	{Name: "before", Type: "text"}, {Name: "after", Type: "text"}, {Name: "details", Type: "text"},
	{Name: "address", Type: "text"}, {Name: "request_id", Type: "text"},
}

// Write queues an entry in a transaction.
func Write(tx *db.Tx, e Entry) { tx.Queue(insert, e.values(), nil) }

// WriteAll queues many entries.
func WriteAll(tx *db.Tx, entries []Entry) error {
	rows := make([][]any, len(entries))
	for i := range entries {
		rows[i] = entries[i].values()
	}
	return tx.Insert("audit", columns, rows)
}

// values panics without randomness: an id must not be guessable or repeated.
func (e *Entry) values() []any {
	tenant, outcome, by := e.Tenant, e.Outcome, e.By
	if tenant == "" {
		tenant = db.NoTenant
	}
	if outcome == "" {
		outcome = OK
	}
	if e.Anonymous {
		by = actor.Actor{KeyID: by.KeyID}
	}
	id := uuid.Must(uuid.NewV7()) // rows are in the order of their ids
	return []any{tenant, id.String(), e.At, null(by.UserID), null(by.KeyID), null(by.SessionID), e.Action, null(e.EntityType), null(e.EntityID), outcome,
		null(e.Before), null(e.After), null(e.details()), null(by.Address), null(by.RequestID)}
}

// details are "{}" for what JSON cannot hold: the row itself is never lost.
func (e *Entry) details() string {
	if e.Details == nil {
		return ""
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if enc.Encode(e.Details) != nil {
		return "{}"
	}
	return strings.TrimSpace(text.String())
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
