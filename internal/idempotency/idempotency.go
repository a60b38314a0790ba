// Package idempotency keeps what was answered to requests that carry an
// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header), so that a
// client that lost the answer can ask again without doing the work twice. A
// request claims its key, works, and stores its answer in the transaction of
// its effect. It knows no HTTP beyond a status, a head and a body.
//
// Layer: catalog and access. Begin at [Keys].
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// Bounds of what is kept.
const (
	KeptFor   = 24 * time.Hour
	MaxKey    = 255     // bytes of a key
	MaxBody   = 8 << 10 // bytes of an answer's body that is kept as it is; the longer one of a write is kept compressed
	MaxTenant = 20_000  // keys of a tenant; the oldest beyond are forgotten early
)

// Request is one request with a key.
type Request struct {
	Scope  db.Scope // whose rows it may touch
	Caller string   // who asks: another caller's key is another key
	Route  string   // method and path: the same key elsewhere is another key
	Key    string
	Print  string // a digest of all that makes the request what it is (Fingerprint)
}

// Fingerprint digests the parts of a request.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r *Request) tenantID() string {
	if r.Scope.Tenant == "" {
		return db.NoTenant
	}
	return r.Scope.Tenant
}

func (r *Request) requestID() string { return Fingerprint(r.Caller, r.Route, r.Key) }

// CheckKey refuses a key that is longer than MaxKey or holds anything but
// visible ASCII.
func CheckKey(key string) error {
	if len(key) > MaxKey {
		return fault.New(fault.Invalid, "HF013", "the Idempotency-Key is longer than %d bytes", MaxKey).At("Idempotency-Key",
			"is too long")
	}
	for i := range len(key) {
		if key[i] < '!' || key[i] > '~' {
			return fault.New(fault.Invalid, "HF013", "the Idempotency-Key holds more than visible ASCII characters").
				With("", "use a random UUID").At("Idempotency-Key", "holds other than visible ASCII characters")
		}
	}
	return nil
}

// Answer is what was answered to a request that succeeded.
type Answer struct {
	Status int
	Head   map[string][]string
	Body   []byte
}

// Keys keeps the keys of all callers. It is safe for concurrent use.
type Keys struct {
	d     *db.DB
	now   func() time.Time
	batch int // how many keys one transaction forgets
}

// batch bounds a transaction of the sweep: on SQLite it holds the only writer
// meanwhile, on PostgreSQL a statement has its time.
const batch = 2000

// New returns the keys in d. now is the clock.
func New(d *db.DB, now func() time.Time) *Keys {
	return &Keys{d: d, now: now, batch: batch}
}

// Claim is a request's hold of its key, until Settle or Release.
type Claim struct {
	keys  *Keys
	r     Request
	id    string
	token string
	end   context.CancelFunc
	ended sync.WaitGroup
	kept  bool // in the effect's transaction
	over  bool
}

// Claim takes the key for the request, or returns what was answered to it.
// A key under which another request was done is fault.Unprocessable; a key under
// which a request still runs, this one or another, is fault.Conflict. So a
// client that lost the answer to a request, and has a changed one by now, sends
// it under the same key: it is done only if the first was not.
func (k *Keys) Claim(ctx context.Context, r Request) (*Claim, *Answer, error) {
	c := &Claim{keys: k, r: r, id: r.requestID(), token: uuid.NewString()}
	var old *Answer
	err := k.d.Write(ctx, r.Scope, func(tx *db.Tx) (err error) {
		old, err = c.takeKey(tx)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("once: claim: %w", err)
	}
	if old != nil {
		return nil, old, nil
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c.end = end
	c.ended.Go(func() { c.renewLoop(life) })
	return c, nil, nil
}

// Used reports that the caller's key is known on its route, whatever for. It
// claims nothing.
func (k *Keys) Used(ctx context.Context, r Request) (used bool, err error) {
	err = k.d.Read(ctx, r.Scope, func(tx *db.Tx) error {
		return tx.Last().Query("SELECT 1 FROM idempotency_keys WHERE tenant_id = $1 AND id = $2",
			[]any{r.tenantID(), r.requestID()}, func(*db.Row) error {
				used = true
				return nil
			})
	})
	if err != nil {
		return false, fmt.Errorf("once: look for a key: %w", err)
	}
	return used, nil
}

const takeKeySQL = `
	INSERT INTO idempotency_keys (tenant_id, id, print, claim, claimed_until, made_at)
	VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (tenant_id, id) DO NOTHING`

const updateIdempotencyKeysSQL = `
	UPDATE idempotency_keys
	SET print = $3, claim = $4, claimed_until = $5, made_at = $6, status = NULL, head = NULL,
		body = NULL
	WHERE tenant_id = $1 AND id = $2`

func (c *Claim) takeKey(tx *db.Tx) (*Answer, error) {
	now := c.keys.now().UTC()
	n, err := tx.Exec(takeKeySQL, c.r.tenantID(), c.id, c.r.Print, c.token, now.Add(db.DeadAfter), now)
	if err != nil || n == 1 {
		return nil, err
	}
	old, err := c.findKept(tx, now)
	if err != nil || old != nil {
		return old, err
	}
	// Too old to count, or its node died: the request runs anew.
	_, err = tx.Exec(updateIdempotencyKeysSQL, c.r.tenantID(), c.id, c.r.Print, c.token, now.Add(db.DeadAfter), now)
	return nil, err
}

const findKeptSQL = `
	SELECT print, claimed_until, made_at, status, head, body
	FROM idempotency_keys
	WHERE tenant_id = $1 AND id = $2
	{for update}`

// findKept reads a key that was used before: its answer, or nil if it is free.
func (c *Claim) findKept(tx *db.Tx, now time.Time) (*Answer, error) {
	var print, head string
	var until, made time.Time
	a := &Answer{}
	err := tx.One(findKeptSQL, []any{c.r.tenantID(), c.id}, func(r *db.Row) error {
		print, until, made = r.Text(0), r.Time(1), r.Time(2)
		if !r.Null(3) {
			a.Status, head = int(r.Int(3)), r.Text(4)
		}
		if r.Null(5) {
			return nil
		}
		var err error
		a.Body, err = unpackBody(r.AppendText([]byte{}, 5))
		return err
	})
	switch {
	case fault.Is(err, fault.NotFound): // given back since
		return nil, stillRunning()
	case err != nil:
		return nil, err
	case !now.Before(made.Add(KeptFor)):
		return nil, nil
	case a.Status == 0 && now.Before(until):
		return nil, stillRunning()
	case a.Status == 0:
		return nil, nil
	case print != c.r.Print:
		return nil, fault.New(fault.Unprocessable, "HF014",
			"the Idempotency-Key was used with another request, which was done").
			With("", "a new request needs a new key; a repeat must be the same in path, query, headers and body")
	}
	if err := json.Unmarshal([]byte(head), &a.Head); err != nil {
		return nil, fmt.Errorf("once: kept head: %w", err)
	}
	return a, nil
}

func stillRunning() error {
	f := fault.New(fault.Conflict, "HF015", "the request with this Idempotency-Key is still running").With("",
		"ask again in a moment")
	f.RetryAfter = time.Second
	return f
}

// renewLoop renews the claim while the request runs.
func (c *Claim) renewLoop(ctx context.Context) {
	t := time.NewTicker(db.BeatEvery)
	defer t.Stop()
	renewals := backoff.New(nil, "renew the claim of an Idempotency-Key", 0, 0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		err := c.keys.d.Write(ctx, c.r.Scope, func(tx *db.Tx) error {
			_, err := tx.Exec(`
				UPDATE idempotency_keys
				SET claimed_until = $4
				WHERE tenant_id = $1
					AND id = $2
					AND claim = $3`,
				c.r.tenantID(), c.id, c.token, c.keys.now().Add(db.DeadAfter))
			return err
		})
		renewals.Note(ctx, err)
	}
}

// Keep stores the answer in the transaction of the request's effect. It fails
// with fault.Conflict, and must fail the transaction, when the claim was taken
// over meanwhile.
func (c *Claim) Keep(tx *db.Tx, a *Answer) error {
	head, err := json.Marshal(a.Head)
	if err != nil {
		return fmt.Errorf("once: head: %w", err)
	}
	body, err := packBody(a.Body)
	if err != nil {
		return fmt.Errorf("once: body: %w", err)
	}
	n, err := tx.Exec(`
		UPDATE idempotency_keys
		SET status = $4, head = $5, body = $6
		WHERE tenant_id = $1
			AND id = $2
			AND claim = $3`,
		c.r.tenantID(), c.id, c.token, a.Status, string(head), body)
	if err == nil && n != 1 {
		err = stillRunning()
	}
	if err != nil {
		return fmt.Errorf("once: keep: %w", err)
	}
	tx.After(func() { c.kept = true })
	return nil
}

// settling bounds the statement that ends a claim; the client waits for it.
const settling = 5 * time.Second

// Settle ends the claim of a request that succeeded. An answer that was not
// kept with its effect is kept now; one too long is not, and a repeat works
// again.
func (c *Claim) Settle(ctx context.Context, a *Answer) {
	c.stopRenewing()
	if c.over = c.kept; c.over {
		return
	}
	if len(a.Body) > MaxBody {
		c.Release(ctx)
		return
	}
	c.over = true
	c.writeLast(ctx, func(tx *db.Tx) error { return c.Keep(tx, a) })
}

// Release ends the claim of a request that failed: a repeat runs anew, unless
// the effect was committed all the same. After Settle it does nothing.
func (c *Claim) Release(ctx context.Context) {
	c.stopRenewing()
	if c.over {
		return
	}
	c.over = true
	c.writeLast(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`
			DELETE FROM idempotency_keys
			WHERE tenant_id = $1
				AND id = $2
				AND claim = $3
				AND status IS NULL`,
			c.r.tenantID(), c.id, c.token)
		return err
	})
}

// stopRenewing stops renewing.
func (c *Claim) stopRenewing() {
	c.end()
	c.ended.Wait()
}

// writeLast writes even when the client has gone. What fails is logged: the claim
// then ends by itself.
func (c *Claim) writeLast(ctx context.Context, f func(*db.Tx) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	if err := c.keys.d.Write(ctx, c.r.Scope, f); err != nil {
		slog.Warn("an Idempotency-Key could not be settled", "error", err)
	}
}

type tellKey struct{}

// WithRecorder returns a context under which Record hands what a transaction did to
// f, which keeps the answer made of it.
func WithRecorder(ctx context.Context, f func(tx *db.Tx, done any) error) context.Context {
	return context.WithValue(ctx, tellKey{}, f)
}

// Record is called at the end of a transaction that does what was asked, with
// what it did. Without a key it does nothing.
func Record(tx *db.Tx, done any) error {
	f, ok := tx.Context().Value(tellKey{}).(func(*db.Tx, any) error)
	if !ok {
		return nil
	}
	return f(tx, done)
}

// Sweep forgets keys past their time, and the oldest of tenants that have too
// many.
func (k *Keys) Sweep(ctx context.Context) error { return k.sweepOld(ctx, MaxTenant) }

func (k *Keys) sweepOld(ctx context.Context, most int) error {
	if err := k.deleteKeys(ctx, "", k.now().Add(-KeptFor)); err != nil {
		return err
	}
	crowded := map[string]time.Time{} // by tenant, the newest key to forget
	err := k.d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(crowded)
		var tenants []string
		err := tx.Query(`
			SELECT tenant_id
			FROM idempotency_keys
			GROUP BY tenant_id
			HAVING count(*) > $1`, []any{most},
			func(r *db.Row) error {
				tenants = append(tenants, r.Text(0))
				return nil
			})
		if err != nil {
			return err
		}
		for _, t := range tenants {
			tx.Queue(`
				SELECT made_at
				FROM idempotency_keys
				WHERE tenant_id = $1
				ORDER BY made_at DESC
				LIMIT 1 OFFSET $2`,
				[]any{t, most}, func(r *db.Row) error {
					crowded[t] = r.Time(0)
					return nil
				})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("once: sweep: %w", err)
	}
	for t, until := range crowded {
		if err := k.deleteKeys(ctx, t, until); err != nil {
			return err
		}
	}
	return nil
}

// deleteKeys deletes the keys made until then, of one tenant or of all (""), a
// batch at a time.
func (k *Keys) deleteKeys(ctx context.Context, tenant string, until time.Time) error {
	for {
		n, err := k.forgetSome(ctx, tenant, until)
		if err != nil {
			return fmt.Errorf("once: sweep: %w", err)
		}
		if n < int64(k.batch) {
			return nil
		}
	}
}

// forgetSome deletes the oldest such keys: a batch, and what was made in the
// very instant of its last. One that is claimed anew meanwhile stays.
func (k *Keys) forgetSome(ctx context.Context, tenant string, until time.Time) (n int64, err error) {
	of, args := "", []any{until, k.batch - 1}
	if tenant != "" {
		of, args = "tenant_id = $3 AND ", append(args, tenant)
	}
	err = k.d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		n, err = tx.Exec(db.FillWords(`
			DELETE FROM idempotency_keys
			WHERE {of} made_at <= coalesce(
				(
					SELECT made_at
					FROM idempotency_keys
					WHERE {of} made_at <= $1
					ORDER BY made_at
					LIMIT 1 OFFSET $2
				), $1
			)`, "{of}", of), args...)
		return err
	})
	return n, err
}
