// Package audit writes the audit log: who did what to which record, in the
// transaction in which it was done. Every row of the log is written here; the
// log is append-only, and identity/chain seals what was written.
//
// A row carries from the first moment an authentication code (HMAC-SHA256 over
// its columns) under a key that is not in the database: who can write the
// database alone cannot add a row that passes for the server's.
//
// Layer: catalog and access. Begin at [Write].
package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// OK is the outcome of what was done.
const OK = "ok"

// Actions that a log begins with: there is none without.
const (
	TenantCreated   = "tenant.created"
	TenantInserted  = "tenants.insert"   // as an operator makes one, as a record
	PlatformCreated = "platform.created" // of the rows that belong to no tenant
)

// Entry is one row of the log. Empty texts are kept as null.
type Entry struct {
	Tenant     string // "" = none, as a sign-in of somebody without a tenant has
	At         time.Time
	DayAlone   bool        // At is the beginning of a day: the entry's id tells no more either
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
const insert = `
	INSERT INTO audit (tenant_id, id, at, actor_user_id, key_id, session_id, action, entity_type, entity_id,
		outcome, before, after, details, address, request_id, hash)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// columns are those of insert, which values fills.
var columns = []db.Column{
	{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "at", Type: "timestamptz"},
	{Name: "actor_user_id", Type: "uuid"}, {Name: "key_id", Type: "text"}, {Name: "session_id", Type: "uuid"},
	{Name: "action", Type: "text"}, {Name: "entity_type", Type: "text"}, {Name: "entity_id", Type: "uuid"},
	{Name: "outcome", Type: "text"},
	{Name: "before", Type: "text"}, {Name: "after", Type: "text"}, {Name: "details", Type: "text"},
	{Name: "address", Type: "text"}, {Name: "request_id", Type: "text"}, {Name: "hash", Type: "text"},
}

// Write queues an entry in a transaction.
func Write(tx *db.Tx, e Entry) { tx.Queue(insert, e.entryValues(NewCoder(tx.DB().LogKey())), nil) }

// WriteAll queues many entries.
func WriteAll(tx *db.Tx, entries []Entry) error {
	c, rows := NewCoder(tx.DB().LogKey()), make([][]any, len(entries))
	for i := range entries {
		rows[i] = entries[i].entryValues(c)
	}
	return tx.Insert("audit", columns, rows)
}

// entryValues are in the order of columns, as they are read again: ids in lower case. It panics without
// randomness: an id must not be guessable or repeated.
func (e *Entry) entryValues(c *Coder) []any {
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
	id := db.NewID() // rows are in the order of their ids
	if e.DayAlone {
		id = db.NewIDAt(e.At)
	}
	row := []any{tenant, id, e.At, db.Null(strings.ToLower(by.UserID)), db.Null(by.KeyID),
		db.Null(strings.ToLower(by.SessionID)), e.Action, db.Null(e.EntityType), db.Null(strings.ToLower(e.EntityID)),
		outcome,
		db.Null(e.Before), db.Null(e.After), db.Null(e.detailsJSON()), db.Null(by.Address), db.Null(by.RequestID)}
	return append(row, db.Null(c.codeRow(row)))
}

// Columns are what a row's code is of, after its tenant, and then the code.
const Columns = "id, at, actor_user_id, key_id, session_id, action, entity_type, entity_id, outcome, before, after, details, address, request_id, hash"

// width is how many columns the code is of, the tenant included.
const width = 15

// Coder makes the codes of rows under one key. One serves many rows, not at once.
type Coder struct {
	mac  hash.Hash // nil = no key
	text []byte
	sum  []byte
}

// NewCoder returns the coder of a key; without one there are no codes, and no
// row is genuine.
func NewCoder(key []byte) *Coder {
	if len(key) == 0 {
		return &Coder{}
	}
	return &Coder{mac: hmac.New(sha256.New, key), text: make([]byte, 0, 1024)}
}

// Genuine reports a row that the server wrote for the tenant and that nobody
// changed since. r has Columns first, the row is not sealed yet.
func (c *Coder) Genuine(tenant string, r *db.Row) bool {
	if c.mac == nil {
		return false
	}
	text := appendCoded(c.text[:0], tenant)
	for i := range width - 1 {
		if r.Null(i) {
			text = append(text, '-')
		} else {
			text = appendCoded(text, r.Text(i))
		}
	}
	return hmac.Equal([]byte(c.codeText(text)), []byte(r.Text(width-1)))
}

// codeRow authenticates a row's values: each as its length and text, so that no
// two rows give the same bytes.
func (c *Coder) codeRow(row []any) string {
	if c.mac == nil {
		return ""
	}
	text := c.text[:0]
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			text = append(text, '-')
		case time.Time:
			text = appendCoded(text, v.UTC().Format(db.TimeLayout))
		case string:
			text = appendCoded(text, v)
		default:
			text = appendCoded(text, "")
		}
	}
	return c.codeText(text)
}

func appendCoded(text []byte, s string) []byte {
	return append(append(strconv.AppendInt(text, int64(len(s)), 10), ':'), s...)
}

// codeText is the code of a text, which it keeps the room of.
func (c *Coder) codeText(text []byte) string {
	c.text = text
	c.mac.Reset()
	c.mac.Write(text)
	c.sum = c.mac.Sum(c.sum[:0])
	return hex.EncodeToString(c.sum)
}

// detailsJSON are "{}" for what JSON cannot hold: the row itself is never lost.
func (e *Entry) detailsJSON() string {
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
