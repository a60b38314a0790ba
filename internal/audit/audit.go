// Package audit writes the audit log: who did what to which record, in the
// transaction in which it was done. Every row of the log is written here, once; the
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
	"encoding/base64"
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
		outcome, before, after, details, address, request_id, batch, code)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`

// columns are those of insert, which values fills.
var columns = []db.Column{
	{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "at", Type: "timestamptz"},
	{Name: "actor_user_id", Type: "uuid"}, {Name: "key_id", Type: "text"}, {Name: "session_id", Type: "uuid"},
	{Name: "action", Type: "text"}, {Name: "entity_type", Type: "text"}, {Name: "entity_id", Type: "uuid"},
	{Name: "outcome", Type: "text"},
	{Name: "before", Type: "text"}, {Name: "after", Type: "text"}, {Name: "details", Type: "text"},
	{Name: "address", Type: "text"}, {Name: "request_id", Type: "text"}, {Name: "batch", Type: "bigint"},
	{Name: "code", Type: "text"},
}

// Write queues an entry in a transaction.
func Write(tx *db.Tx, e Entry) { tx.Queue(insert, e.entryValues(tx, NewCoder(keyOf(tx.DB()))), nil) }

// WriteAll queues many entries.
func WriteAll(tx *db.Tx, entries []Entry) error {
	c, rows := NewCoder(keyOf(tx.DB())), make([][]any, len(entries))
	for i := range entries {
		rows[i] = entries[i].entryValues(tx, c)
	}
	return tx.Insert("audit", columns, rows)
}

// entryValues are in the order of columns, as they are read again: ids in lower case. It panics without
// randomness: an id must not be guessable or repeated.
func (e *Entry) entryValues(tx *db.Tx, c *Coder) []any {
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
		db.Null(e.Before), db.Null(e.After), db.Null(e.detailsJSON()), db.Null(by.Address), db.Null(by.RequestID),
		joinBatch(tx, tenant)}
	return append(row, db.Null(c.codeValues(row)))
}

// Columns are those of a row after its tenant: first what the code is of, then the code.
const Columns = "id, at, actor_user_id, key_id, session_id, action, entity_type, entity_id, outcome, before, after, " +
	"details, address, request_id, batch, code"

// Where columns stand in Columns.
const (
	atAction   = 5
	atEntityID = 7
	AtBatch    = 14
	AtCode     = 15
)

// codeBytes is how much of HMAC-SHA256 a code keeps: a half (RFC 2104, section 5).
const codeBytes = sha256.Size / 2

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
	return &Coder{mac: hmac.New(sha256.New, key)}
}

// AppendContent appends what a row says, so that no two rows give the same bytes: its tenant
// and all of Columns but the code, each as its length in bytes, a colon and its text, or as
// "-" where it is null. r has Columns first.
func AppendContent(b []byte, tenant string, r *db.Row) []byte {
	b = appendValue(b, tenant)
	for i := range AtBatch {
		if r.Null(i) {
			b = append(b, '-')
		} else {
			b = appendValue(b, r.Text(i))
		}
	}
	return appendValue(b, strconv.FormatInt(r.Int(AtBatch), 10))
}

// IsGenuine reports that the server wrote the row with this content, and that nobody changed
// it since. r has Columns first.
func (c *Coder) IsGenuine(content []byte, r *db.Row) bool {
	return c.mac != nil && hmac.Equal([]byte(c.codeContent(content)), []byte(r.Text(AtCode)))
}

// IsCreation reports the row with which the log of a tenant begins. r has Columns first.
func IsCreation(tenant string, r *db.Row) bool {
	action := r.Text(atAction)
	if tenant == db.NoTenant {
		return action == PlatformCreated
	}
	return (action == TenantCreated || action == TenantInserted) && r.Text(atEntityID) == tenant
}

// codeValues is the code of the values of a row that is written.
func (c *Coder) codeValues(row []any) string {
	if c.mac == nil {
		return ""
	}
	b := c.text[:0]
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, '-')
		case time.Time:
			b = appendValue(b, v.UTC().Format(db.TimeLayout))
		case int64:
			b = appendValue(b, strconv.FormatInt(v, 10))
		case string:
			b = appendValue(b, v)
		default:
			b = appendValue(b, "")
		}
	}
	c.text = b
	return c.codeContent(b)
}

func appendValue(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}

func (c *Coder) codeContent(content []byte) string {
	c.mac.Reset()
	c.mac.Write(content)
	c.sum = c.mac.Sum(c.sum[:0])
	return base64.RawURLEncoding.EncodeToString(c.sum[:codeBytes])
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
