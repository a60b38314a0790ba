package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/store"
)

// When a delivery is tried again and when it, or its webhook, is given up.
const (
	keepTrying   = 72 * time.Hour
	disableAfter = 5 * 24 * time.Hour
	maxWait      = 24 * time.Hour // most that a Retry-After is believed
	tripAt       = 5              // failures in a row that open the breaker
	busyTries    = 4              // attempts of a delivery that a 429 may answer without being a failure
	firstBreak   = 30 * time.Second
	longestBreak = time.Hour
)

// delays are the pauses before the second, third, ... attempt; the last one
// repeats until three days are over.
var delays = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// retryDelay is the pause after attempt n, with a fifth of jitter either way.
func retryDelay(n int64) time.Duration {
	d := delays[min(int(max(n, 1)), len(delays))-1]
	return addJitter(d)
}

func addJitter(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5) }

// lease is one lease of a lane: what it finds out about the receiver.
type lease struct {
	s    *Service
	lane *lane
	ep   *endpoint
	end  time.Time // nothing is begun after it, so that the lease outlasts what was

	mu        sync.Mutex
	failures  int64 // in a row
	trips     int64
	succeeded bool
	failed    bool
	gone      bool
	tripped   bool
	openUntil time.Time
}

// isOver reports that nothing more is to be begun in this lease.
func (t *lease) isOver(ctx context.Context) bool {
	if ctx.Err() != nil || !time.Now().Before(t.end) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone || !t.openUntil.IsZero()
}

// sendBatch sends some of what is due, unless the lease is over before. It reports
// whether there may be more. What was begun is finished when the server stops:
// the receiver may have acted on it already.
func (t *lease) sendBatch(ctx context.Context) (more bool, err error) {
	lasting := context.WithoutCancel(ctx)
	limit := 8 * t.s.pace.perLane
	if t.failures >= tripAt {
		limit = 1 // the breaker is half open: one delivery finds out
	}
	ep, due, err := t.s.loadLane(lasting, t.lane, limit)
	if err != nil || ep == nil || len(due) == 0 || ep.url != t.ep.url { // what the lease knows is of another address
		return false, err
	}
	t.ep = ep
	work := make(chan *delivery)
	var wg sync.WaitGroup
	for range min(t.s.pace.perLane, len(due)) {
		wg.Go(func() {
			for d := range work {
				if !t.isOver(ctx) {
					t.attemptAndRecord(lasting, d)
				}
			}
		})
	}
	for _, d := range due {
		work <- d
	}
	close(work)
	wg.Wait()
	return true, nil
}

// attemptAndRecord makes one attempt and writes down how it went.
func (t *lease) attemptAndRecord(ctx context.Context, d *delivery) {
	o := t.sendRecovered(ctx, d)
	t.updateHealth(d, o)
	if err := t.s.recordOutcome(ctx, d, o); err != nil {
		// The attempt was made and is not known to have been: it is made again.
		slog.Warn("a delivery's outcome was not written", "delivery", d.id, "error", err)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.failures = max(t.failures, tripAt)
		t.openBreaker()
	}
}

// sendRecovered sends; what panics has failed.
func (t *lease) sendRecovered(ctx context.Context, d *delivery) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a webhook delivery panicked", "delivery", d.id, "panic", p, "stack", string(debug.Stack()))
			o = outcome{at: t.s.now(), err: "the attempt broke off"}
		}
	}()
	return t.s.sendOnce(ctx, t.ep, d)
}

// updateHealth takes an outcome into the receiver's health. Replays, which people ask
// for, do not count.
func (t *lease) updateHealth(d *delivery, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.s.now()
	if o.wait > 0 {
		t.openUntil = latestTime(t.openUntil, now.Add(o.wait))
		if isBusy(d, o) && t.failures < tripAt {
			return
		}
	} else if o.isGone() {
		t.gone = true
	}
	if d.replay {
		return
	}
	if o.isOK() {
		t.failures, t.trips, t.succeeded = 0, 0, true
		return
	}
	t.failed = true
	t.failures++
	if t.failures >= tripAt {
		t.openBreaker()
	}
}

// openBreaker opens the breaker, once in a lease: attempts at once fail together. t.mu is
// held.
func (t *lease) openBreaker() {
	if t.tripped {
		return
	}
	t.openUntil = latestTime(t.openUntil, t.s.now().Add(breakerPause(t.trips)))
	t.tripped = true
	t.trips++
}

// isBusy reports whether an answer says only that the receiver is alive and busy. A
// receiver that says so of one delivery again and again does not take it.
func isBusy(d *delivery, o outcome) bool {
	return o.status == http.StatusTooManyRequests && d.attempt < busyTries
}

func latestTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// breakerPause is how long the breaker stays open for the n-th time in a row.
func breakerPause(n int64) time.Duration {
	d := firstBreak << min(n, 10)
	return addJitter(min(d, longestBreak))
}

const releaseLaneSQL = `
	SELECT url, status, failing_since
	FROM webhooks
	WHERE tenant_id = $1 AND id = $2
	{for update}`

const lockWebhookLanesSQL = `
	SELECT 1 FROM webhook_lanes WHERE webhook_id = $1 AND owner = $2 {for update}`

const updateWebhookLanesSQL = `
	UPDATE webhook_lanes
	SET owner = NULL, lease_until = NULL, served_at = $2, next_at = (SELECT MIN(next_at) FROM webhook_deliveries
		WHERE webhook_id = $1 AND next_at IS NOT NULL)
	WHERE webhook_id = $1`

// releaseLane gives the lane back with what the lease found out, unless that is of
// an address the webhook no longer has, or of a webhook that was paused or
// disabled meanwhile. The webhook is locked before the lane, as by those who
// change it, and the lane before what is due in it is read: a delivery that is
// queued meanwhile brings the lane forward after us.
func (t *lease) releaseLane(ctx context.Context) error {
	return t.s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		same, since, mine := false, time.Time{}, false
		tx.Queue(releaseLaneSQL, []any{t.lane.tenant, t.lane.id},
			func(r *db.Row) error {
				same, since = t.ep != nil && r.Text(0) == t.ep.url && r.Text(1) == "active", r.Time(2)
				return nil
			})
		if err := tx.Query(lockWebhookLanesSQL, []any{t.lane.id, t.lane.owner},
			func(*db.Row) error { mine = true; return nil }); err != nil || !mine {
			return err
		}
		now := t.s.now()
		tx.Queue(updateWebhookLanesSQL, []any{t.lane.id, now}, nil)
		if !same {
			return nil
		}
		var open any
		if !t.openUntil.IsZero() {
			open = t.openUntil
		}
		tx.Queue(`
			UPDATE webhook_lanes
			SET failures = $2, trips = $3, open_until = $4
			WHERE webhook_id = $1`,
			[]any{t.lane.id, t.failures, t.trips, open}, nil)
		return t.writeHealth(tx, since, now)
	})
}

// writeHealth writes what the tenant sees of it: since when the receiver fails, and
// that it is given up. since is what the webhook says now.
func (t *lease) writeHealth(tx *db.Tx, since, now time.Time) error {
	switch {
	case t.gone:
		return t.s.disableWebhook(tx, t.ep, "the receiver answered 410 Gone")
	case t.succeeded && !since.IsZero():
		since = time.Time{}
	case t.failed && !t.succeeded && since.IsZero():
		since = now
	case t.failed && !t.succeeded && now.Sub(since) >= disableAfter:
		return t.s.disableWebhook(tx, t.ep, "the receiver has failed for five days")
	default:
		return nil
	}
	var at any
	if !since.IsZero() {
		at = since
	}
	tx.Queue(`
		UPDATE webhooks
		SET failing_since = $3
		WHERE tenant_id = $1
			AND id = $2`,
		[]any{t.lane.tenant, t.lane.id, at}, nil)
	return nil
}

const disableWebhookSQL = `
	SELECT email
	FROM members
	WHERE tenant_id = $1 AND status = 'active' AND role IN ('owner', 'admin') AND email IS NOT NULL
	ORDER BY email`

// disableWebhook switches a webhook off, ends what waits for it and tells the
// tenant's administrators.
func (s *Service) disableWebhook(tx *db.Tx, ep *endpoint, reason string) error {
	changes, err := s.store.In(tx, serverActor(ep.tenant)).ChangeRows(s.webhooks.Name, []string{ep.id},
		store.Row{"status": "disabled", "disabled_reason": reason})
	if err != nil {
		return fmt.Errorf("webhook: disable %s: %w", ep.id, err)
	}
	if len(changes) == 0 || changes[0].Before.Text("status") == "disabled" {
		return nil
	}
	tx.Queue(`
		UPDATE webhook_lanes
		SET active = $2, next_at = NULL
		WHERE webhook_id = $1`, []any{ep.id, false}, nil)
	s.giveUp(tx, ep.id, "the webhook was disabled")
	n := Notice{WebhookID: ep.id, URL: ep.url, Reason: reason}
	if err := tx.Query(disableWebhookSQL,
		[]any{ep.tenant}, func(r *db.Row) error { n.Emails = append(n.Emails, r.Text(0)); return nil }); err != nil {
		return err
	}
	if s.notify == nil {
		return nil
	}
	tx.After(func() { go s.notifyAdministrators(n) })
	return nil
}

func (s *Service) notifyAdministrators(n Notice) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("telling administrators of a disabled webhook panicked", "webhook", n.WebhookID, "panic", p, "stack",
				string(debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.notify(ctx, n); err != nil {
		slog.Warn("administrators were not told that a webhook was disabled", "webhook", n.WebhookID, "error", err)
	}
}

// endpoint is a webhook as deliveries need it.
type endpoint struct {
	tenant, id, url string
	secrets         [][]byte // that sign now, the current one first
}

// delivery is one that is due.
type delivery struct {
	id, event, payload string
	attempt            int64
	queuedAt           time.Time
	attempts           string
	replay             bool
}

const loadLaneSQL = `
	SELECT id, event_id, payload, attempt, queued_at, attempts, replay_of
	FROM webhook_deliveries
	WHERE webhook_id = $1 AND next_at <= $2
	ORDER BY next_at, id
	LIMIT $3`

// loadLane reads the webhook and what is due for it. A webhook that is no longer
// there, or not active, has a nil endpoint.
func (s *Service) loadLane(ctx context.Context, l *lane, limit int) (ep *endpoint, due []*delivery, err error) {
	now, found := s.now(), false
	var sealed, old string
	err = s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue(`
			SELECT url, status, secret, old_secret, old_secret_until
			FROM webhooks
			WHERE tenant_id = $1
				AND id = $2`,
			[]any{l.tenant, l.id}, func(r *db.Row) error {
				found = true
				if r.Text(1) != "active" {
					return nil
				}
				ep = &endpoint{tenant: l.tenant, id: l.id, url: r.Text(0)}
				sealed = r.Text(2)
				if !r.Null(4) && r.Time(4).After(now) {
					old = r.Text(3)
				}
				return nil
			})
		return tx.Query(loadLaneSQL, []any{l.id, now, limit}, func(r *db.Row) error {
			due = append(due, &delivery{
				id: r.Text(0), event: r.Text(1), payload: r.Text(2), attempt: r.Int(3),
				queuedAt: r.Time(4), attempts: r.Text(5), replay: !r.Null(6),
			})
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, s.closeForgotten(ctx, l)
	}
	if ep == nil {
		return nil, nil, nil
	}
	for _, text := range strings.Fields(sealed + " " + old) {
		secret, err := s.openSecret(text, l.id)
		if err != nil {
			return nil, nil, err
		}
		ep.secrets = append(ep.secrets, secret)
	}
	return ep, due, nil
}

// closeForgotten ends what was queued for a webhook while it was being deleted.
func (s *Service) closeForgotten(ctx context.Context, l *lane) error {
	return s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		s.closeLane(tx, l.id)
		return nil
	})
}

const sweepSQL = `
	UPDATE webhook_deliveries
	SET status = 'dead', next_at = NULL, done_at = $2, error = 'not delivered within three days'
	WHERE next_at IS NOT NULL AND queued_at <= $1`

const deleteWebhookDeliveriesSQL = `
	DELETE FROM webhook_deliveries
	WHERE id IN (SELECT id FROM webhook_deliveries WHERE id < $1 AND next_at IS NULL ORDER BY id LIMIT 20000)`

const updateWebhookLanesToSweepSQL = `
	UPDATE webhook_lanes
	SET next_at = $1
	WHERE active
		AND next_at IS NULL
		AND webhook_id IN (SELECT webhook_id FROM webhook_deliveries WHERE next_at IS NOT NULL)`

// Sweep ends deliveries that have waited for three days, and forgets those
// that were done 30 days ago.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	return s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue(sweepSQL, []any{now.Add(-keepTrying), now}, nil)
		tx.Queue(deleteWebhookDeliveriesSQL, []any{event.FirstID(now.Add(-kept))}, nil)
		// A lane that lost its next moment would sleep for ever.
		tx.Queue(updateWebhookLanesToSweepSQL, []any{now}, nil)
		return nil
	})
}

// kept is how long a delivery can be read and replayed.
const kept = 30 * 24 * time.Hour
