// Package event is the outbox: what happened, written in the transaction of
// the change that made it happen, and told afterwards to those who listen.
//
// An event is an immutable row. It has an id (UUIDv7) from the moment it is
// written and a place in the order of events from the moment a node publishes
// it, after the commit. Readers see events in that order, each of them once.
//
// Layer: records. Begin at [New].
package event

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// MaxPayload bounds an event as it is sent, in bytes: receivers answer within seconds.
const MaxPayload = 20_000

// Event is one published event of one tenant.
type Event struct {
	ID       string
	Tenant   string
	Type     string
	At       time.Time
	Audience map[string]string // who is named by the record: its Own columns and their ids
	Data     json.RawMessage
	Seq      int64 // place in the order of all tenants' events
}

// Payload is the event as it is sent: type, timestamp and data as Standard
// Webhooks has them, and our id and tenant.
func (e *Event) Payload() []byte {
	b, err := marshalJSON(struct {
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"`
		ID        string          `json:"id"`
		TenantID  string          `json:"tenant_id"`
		Data      json.RawMessage `json:"data"`
	}{e.Type, e.At.UTC().Format(db.TimeLayout), e.ID, e.Tenant, e.Data})
	if err != nil {
		// Data was checked when it was written, so only a row changed by hand
		// gets here; its readers learn the type.
		return []byte(fmt.Sprintf(`{"type":%q,"id":%q,"tenant_id":%q,"data":{}}`, e.Type, e.ID, e.Tenant))
	}
	return b
}

func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Emitted is an event about to be written.
type Emitted struct {
	Tenant   string
	Type     string
	Data     any // an object in JSON
	Audience map[string]string

	day    time.Time // beginning of the day that is all it tells of its moment; zero = it tells the moment
	moment moment    // what time raised it by, if time did
}

// Outbox writes events. It is safe for concurrent use.
type Outbox struct {
	now  func() time.Time
	wake chan struct{}

	mu     sync.Mutex
	warned map[string]time.Time // last rate_limit.exceeded by tenant and category
}

// New returns an outbox; now is the clock.
func New(now func() time.Time) *Outbox {
	return &Outbox{now: now, wake: make(chan struct{}, 1), warned: map[string]time.Time{}}
}

// Emit queues one event in the change's own transaction: it is sent if, and
// only if, the change commits. It fails, with a plain error, for a type that
// is not in Types or data over MaxPayload: both are mistakes of the program.
func (o *Outbox) Emit(tx *db.Tx, tenant, typ string, data any) error {
	return o.EmitAll(tx, []Emitted{{Tenant: tenant, Type: typ, Data: data}})
}

// EmitAll queues several events, in order.
func (o *Outbox) EmitAll(tx *db.Tx, list []Emitted) error {
	if len(list) == 0 {
		return nil
	}
	at := o.now().UTC()
	if err := storeRaised(tx, list, at); err != nil {
		return fmt.Errorf("event: note what time raised: %w", err)
	}
	for len(list) > 0 {
		n := blockOf(len(list))
		args := make([]any, 0, n*columns)
		for _, e := range list[:n] {
			row, err := e.eventRow(at)
			if err != nil {
				return err
			}
			args = append(args, row...)
		}
		tx.Queue(db.FillWords(`
			INSERT INTO outbox (id, tenant_id, type, at, audience, data)
			VALUES {values clause}`, "{values clause}", valuesClause(n, columns)), args, nil)
		list = list[n:]
	}
	tx.After(o.Wake)
	return nil
}

const columns = 6

// eventRow is the event as its columns.
func (e Emitted) eventRow(at time.Time) ([]any, error) {
	t, ok := Find(e.Type)
	if !ok {
		return nil, fmt.Errorf("event: %q is not in the table of types", e.Type)
	}
	data, err := marshalJSON(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event: %s: %w", e.Type, err)
	}
	id := db.NewID()
	if !e.day.IsZero() {
		id, at = db.NewIDAt(e.day), e.day
	}
	sent := Event{ID: id, Tenant: e.Tenant, Type: t.Name, At: at, Data: data}
	if n := len(sent.Payload()); n > MaxPayload || len(data) == 0 || data[0] != '{' {
		return nil, fmt.Errorf("event: %s: data must be an object of at most %d bytes, not %d", e.Type, MaxPayload, n)
	}
	var audience any
	if len(e.Audience) > 0 {
		b, err := marshalJSON(e.Audience)
		if err != nil {
			return nil, fmt.Errorf("event: %s: %w", e.Type, err)
		}
		audience = string(b)
	}
	return []any{sent.ID, e.Tenant, e.Type, at, audience, string(data)}, nil
}

// Wake tells this node's notifier that there may be something to publish. It
// never blocks.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Post writes one event in a transaction of its own, for what happens without
// a change to a record.
func (o *Outbox) Post(ctx context.Context, d *db.DB, tenant, typ string, data any) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error { return o.Emit(tx, tenant, typ, data) })
}

// RateLimit is the data of rate_limit.exceeded.
type RateLimit struct {
	Category   string `json:"category"`    // api, auth, webhook, read, write
	Scope      string `json:"scope"`       // caller or tenant
	Limit      int    `json:"limit"`       // units per minute
	RetryAfter int    `json:"retry_after"` // seconds
	ResetAt    string `json:"reset_at"`
}

// RateLimits returns when a tenant was over a limit, as far as events are kept,
// newest first and at most limit.
func RateLimits(ctx context.Context, d *db.DB, tenant string, limit int) (out []*Event, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		out, err = listEvents(tx, "tenant_id = $1 AND type = 'rate_limit.exceeded' ORDER BY id DESC LIMIT $2", tenant, limit)
		return err
	})
	return out, err
}

// warnEvery is how often a node repeats that a tenant is over one limit.
const warnEvery = time.Minute

// RateLimited posts rate_limit.exceeded, at most once a minute for a tenant,
// category and scope on this node: the refused requests come by the thousand.
func (o *Outbox) RateLimited(ctx context.Context, d *db.DB, tenant string, r RateLimit) error {
	if tenant == "" || !o.isDue(tenant+" "+r.Category+" "+r.Scope) {
		return nil
	}
	return o.Post(ctx, d, tenant, "rate_limit.exceeded", r)
}

func (o *Outbox) isDue(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if last, ok := o.warned[key]; ok && now.Sub(last) < warnEvery {
		return false
	}
	if len(o.warned) > 10_000 {
		clear(o.warned)
	}
	o.warned[key] = now
	return true
}

// blockOf cuts n rows into statements of 128, 64, ... rows, so that a few
// prepared texts serve any number.
func blockOf(n int) int {
	size := 128
	for size > n {
		size /= 2
	}
	return size
}

// valuesClause writes "($1, $2), ($3, $4)" for n rows.
func valuesClause(n, width int) string {
	b := make([]byte, 0, n*width*5)
	p := 1
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		for c := range width {
			sep := byte(',')
			if c == 0 {
				sep = '('
			}
			b = fmt.Appendf(append(b, sep), "$%d", p)
			p++
		}
		b = append(b, ')')
	}
	return string(b)
}

// readEvent scans a row of eventColumns.
func readEvent(r *db.Row) (*Event, error) {
	e := &Event{ID: r.Text(0), Tenant: r.Text(1), Type: r.Text(2), At: r.Time(3), Data: json.RawMessage(r.Text(5)),
		Seq: r.Int(6)}
	if !r.Null(4) {
		if err := json.Unmarshal([]byte(r.Text(4)), &e.Audience); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "", "event %s", e.ID)
		}
	}
	return e, nil
}

const eventColumns = "id, tenant_id, type, at, audience, data, coalesce(seq, 0)"

// FirstID is the least UUIDv7 of an instant: rows with smaller ids are older.
func FirstID(t time.Time) string {
	var id uuid.UUID
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8] = 0x70, 0x80
	return id.String()
}
