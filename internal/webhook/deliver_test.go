package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// What the receiver does, and what becomes of the delivery.
func TestReceiverFaults(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	type receiver struct {
		reply  func(w http.ResponseWriter, r *http.Request, n int)
		status string // of the delivery after its first attempt
		code   int64
		err    string
		after  time.Duration // least pause before the next attempt
		hook   string        // status of the webhook
	}
	receivers := map[string]receiver{
		"500": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) }, "retrying", 500, "answered 500",
			3 * time.Second, "active"},
		"301": {func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		}, "retrying", 301, "answered 301", 3 * time.Second, "active"},
		"410": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(410) }, "dead", 410, "answered 410", 0,
			"disabled"},
		"429": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		}, "retrying", 429, "answered 429", 118 * time.Second, "active"},
		"503 with a date": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, "retrying", 503, "answered 503", 9 * time.Minute, "active"},
		"hang": {func(_ http.ResponseWriter, r *http.Request, _ int) { waitFor(r, hang) }, "retrying", 0, noAnswer,
			3 * time.Second, "active"},
		"reset": {func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }, "retrying", 0, noAnswer,
			3 * time.Second, "active"},
		"200 with 1 GB": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			chunk := bytes.Repeat([]byte("x\x00\xff"), 1<<20)
			for range 400 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "delivered", 200, "", 0, "active"},
	}
	each(t, func(t *testing.T, k *kit) {
		ids := map[string]string{}
		for name, c := range receivers {
			ids[name] = k.create(north, newSink(t, c.reply).URL, "rate_limit.*").ID
		}
		taken := k.weigh()
		k.run()
		k.emit(north, 1)
		for name, c := range receivers {
			var d record
			k.until(name+": the first attempt", func() bool {
				if l := k.log(ids[name]); len(l) > 0 {
					d = l[0]
				}
				return d.attempt > 0
			})
			if d.attempt == 1 && (d.status != c.status || d.code != c.code || d.err != c.err) {
				t.Errorf("%s: delivery %s %d %q, want %s %d %q", name, d.status, d.code, d.err, c.status, c.code, c.err)
			}
			if pause := time.Until(d.next); c.after > time.Minute && (pause < c.after-10*time.Second || d.next.IsZero()) {
				t.Errorf("%s: next attempt in %v, want %v", name, pause, c.after)
			}
			if d.code == 0 && !strings.Contains(d.history, `"ms":null`) {
				t.Errorf("%s: a time is told of a request without an answer: %s", name, d.history)
			}
			if len(d.response) > 16<<10 || strings.Contains(d.response, `\u0000`) {
				t.Errorf("%s: kept %d bytes of the answer", name, len(d.response))
			}
			k.until(name+": the webhook to be "+c.hook, func() bool {
				return k.webhook(north,
					ids[name]).Text("status") == c.hook
			})
		}
		if n := taken.Load(); n < readAtMost || n > 2*readAtMost {
			t.Errorf("%d bytes were taken from all receivers; of one answer at most %d are", n, readAtMost)
		}
	})
}

// weigh counts the bytes that are taken from receivers from now on.
func (k *kit) weigh() *atomic.Int64 {
	n := &atomic.Int64{}
	tr := k.s.client.Transport.(*http.Transport)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return weighed{c, n}, nil
	}
	return n
}

type weighed struct {
	net.Conn
	n *atomic.Int64
}

func (w weighed) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.n.Add(int64(n))
	return n, err
}

func waitFor(r *http.Request, hang chan struct{}) {
	select {
	case <-hang:
	case <-r.Context().Done():
	}
}

// Whoever reads the log of deliveries cannot send one again as the server's: no signature of a request is kept, not
// even where the receiver sends it back.
func TestLogHidesSignatures(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			w.Header().Set("Location", "/?echo="+r.Header.Get("Webhook-Signature"))
			fmt.Fprint(w, "you sent ", r.Header.Get("Webhook-Signature"))
		})
		e := k.create(north, s.URL)
		if _, err := k.s.Rotate(context.Background(), admin(north), e.ID); err != nil {
			t.Fatal(err)
		}
		k.run()
		k.emit(north, 1)
		k.until("the delivery", func() bool { return len(k.log(e.ID)) == 1 && k.log(e.ID)[0].status == "delivered" })

		d := k.log(e.ID)[0]
		signatures := strings.Fields(s.all()[0].header.Get("Webhook-Signature"))
		if len(signatures) != 2 || !strings.Contains(d.response, "you sent") || !strings.Contains(d.request, hiddenSignature) {
			t.Fatalf("%d signatures; the log: %s %s", len(signatures), d.request, d.response)
		}
		for _, signature := range signatures {
			_, mac, _ := strings.Cut(signature, ",")
			if strings.Contains(d.request+d.response+d.history, mac) {
				t.Errorf("the log keeps a signature: %s %s %s", d.request, d.response, d.history)
			}
		}
	})
}

// The maintained library's verifier accepts every attempt; the id stays,
// the timestamp is new; during a rotation both secrets verify, afterwards the
// new one alone.
func TestSignature(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				w.WriteHeader(500)
			}
		})
		e := k.create(north, s.URL)
		k.run()
		k.emit(north, 1)
		k.until("the first attempt", func() bool { return len(k.log(e.ID)) == 1 && k.log(e.ID)[0].attempt == 1 })
		k.ahead(20 * time.Second)
		k.until("the second attempt", func() bool { return s.count() == 2 })
		old := verifier(t, e.Secret)
		a, b := s.all()[0], s.all()[1]
		for _, g := range []got{a, b} {
			if err := old.Verify(g.body, g.header); err != nil {
				t.Error(err)
			}
		}
		if err := old.Verify(append([]byte(" "), a.body...), a.header); err == nil {
			t.Error("a changed body verifies")
		}
		if a.header.Get("Webhook-Id") != b.header.Get("Webhook-Id") ||
			a.header.Get("Webhook-Timestamp") == b.header.Get("Webhook-Timestamp") {
			t.Errorf("id and timestamp of two attempts: %v %v", a.header, b.header)
		}
		r, err := k.s.Rotate(context.Background(), admin(north), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.Secret == e.Secret || r.OldSecretUntil == nil {
			t.Fatalf("rotated to %+v", r)
		}
		fresh := verifier(t, r.Secret)
		for _, c := range []struct {
			name  string
			ahead time.Duration
			old   bool
		}{{"during the rotation", 0, true}, {"after it", 25 * time.Hour, false}} {
			k.ahead(c.ahead)
			n := s.count()
			k.emit(north, 1)
			k.until("a delivery "+c.name, func() bool { return s.count() > n })
			g := s.all()[n]
			if err := fresh.VerifyIgnoringTimestamp(g.body, g.header); err != nil {
				t.Errorf("%s, new secret: %v", c.name, err)
			}
			if err := old.VerifyIgnoringTimestamp(g.body, g.header); (err == nil) != c.old {
				t.Errorf("%s, old secret: %v", c.name, err)
			}
		}
	})
}

func verifier(t testing.TB, secret string) *standardwebhooks.Webhook {
	t.Helper()
	if !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("secret %q", secret)
	}
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A change that is rolled back sends nothing; one that stays sends one.
func TestRolledBackChangeSendsNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, nil)
		k.create(north, s.URL, "incident.*")
		k.run()
		report := func(title string, veto error) error {
			return k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				if _, err := k.st.In(tx, admin(north)).InsertRows("incidents",
					[]store.Row{{"kind": "hazard", "title": title, "occurred_at": "2026-01-01T00:00:00Z"}}); err != nil {
					return err
				}
				if err := tx.Flush(); err != nil {
					return err
				}
				return veto
			})
		}
		if err := report("undone", errors.New("veto")); err == nil {
			t.Fatal("no veto")
		}
		if err := report("Wet floor", nil); err != nil {
			t.Fatal(err)
		}
		k.until("the delivery", func() bool { return s.count() > 0 })
		time.Sleep(200 * time.Millisecond)
		if s.count() != 1 || data(t, s.all()[0])["title"] != "Wet floor" {
			t.Errorf("sent %d: %s", s.count(), s.all()[0].body)
		}
	})
}

// One receiver hangs under 10,000 events of its tenant;
// another tenant's event, and the same tenant's other webhook, do not wait.
func TestHangingReceiverDelaysNobody(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.s.pace.attempt = time.Second // there is much to wait for
		hanging := newSink(t, nil)
		hanging.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { waitFor(r, hanging.stop) })
		other, same := newSink(t, nil), newSink(t, nil)
		for range 6 { // more than a tenant's share of lanes
			k.create(north, hanging.URL)
		}
		k.create(south, other.URL)
		k.run()
		k.emit(north, 10_000)
		k.until("the hanging receiver to be busy", func() bool {
			n := 0
			k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query("SELECT 1 FROM webhook_lanes WHERE owner IS NOT NULL", nil, func(*db.Row) error { n++; return nil })
			})
			return n >= 4
		})
		start := time.Now()
		k.emit(south, 1)
		k.until("the other tenant's event", func() bool { return other.count() == 1 })
		t.Logf("the other tenant waited %v", other.all()[0].at.Sub(start)) // bench/webhooks has the bound
		k.create(north, same.URL)
		k.emit(north, 1)
		k.until("the same tenant's other webhook", func() bool { return same.count() >= 1 })
	})
}

// A payload holds its tenant's event and nothing else, and is small.
func TestPayload(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, nil)
		e := k.create(north, s.URL)
		k.create(south, s.URL+"/south", "order.*")
		k.run()
		const canary = "CANARY-7f3a"
		long := strings.Repeat("ü", 200)
		k.write(north, func(tx *db.Tx) error {
			_, err := k.st.In(tx, admin(north)).InsertRows("incidents", []store.Row{{
				"kind": "injury", "title": long, "description": canary, "reported_by": admin(north).UserID,
				"occurred_at": "2026-01-01T00:00:00Z",
				"entities":    json.RawMessage(`[{"entity_type":"worker","role":"` + canary + `"}]`)}})
			return err
		})
		k.until("the delivery", func() bool { return s.count() == 1 })
		g := s.all()[0]
		if body := string(g.body); len(body) > 20_000 || strings.Contains(body, canary) || strings.Contains(body, south) ||
			strings.Contains(body, "reported_by") || strings.Contains(body, e.Secret) {
			t.Errorf("payload %s", body)
		}
		var p struct {
			ID        string    `json:"id"`
			Type      string    `json:"type"`
			TenantID  string    `json:"tenant_id"`
			Timestamp time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal(g.body, &p); err != nil || p.ID != g.header.Get("Webhook-Id") ||
			p.Type != "incident.reported" || p.TenantID != north ||
			p.Timestamp.IsZero() {
			t.Errorf("payload %s: %v", g.body, err)
		}
	})
}

// Events reach the webhooks that chose them, in whatever order; each once.
func TestChoiceAndOrderIndependence(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		all, some, none := newSink(t, nil), newSink(t, nil), newSink(t, nil)
		k.create(north, all.URL)
		k.create(north, some.URL, "rate_limit.*", "order.completed")
		k.create(north, none.URL, "order.*")
		k.run()
		const n = 120
		k.emit(north, n/2)
		k.emit(north, n/2)
		k.until("all deliveries", func() bool { return all.count() >= n && some.count() >= n })
		time.Sleep(100 * time.Millisecond)
		for name, s := range map[string]*sink{"*": all, "rate_limit.*": some} {
			seen := map[string]bool{}
			for _, g := range s.all() {
				seen[g.header.Get("Webhook-Id")] = true
			}
			if s.count() != n || len(seen) != n {
				t.Errorf("%s: %d deliveries of %d events, want %d", name, s.count(), len(seen), n)
			}
		}
		if none.count() != 0 {
			t.Errorf("order.* got %d", none.count())
		}
	})
}

// Two nodes on one database never make the same attempt both.
func TestTwoNodes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, nil)
		for range 3 {
			k.create(north, s.URL)
			k.create(south, s.URL)
		}
		second := node(t, k.d)
		k.run()
		second.run()
		for range 20 {
			k.emit(north, 3)
			second.emit(south, 3)
		}
		const want = 20 * 3 * 6
		k.until("all deliveries", func() bool { return s.count() >= want })
		time.Sleep(200 * time.Millisecond)
		if s.count() != want {
			t.Errorf("%d deliveries, want %d", s.count(), want)
		}
	})
}

// A turn that is over, or a server that stops, begins no more attempts: those
// to a slow receiver would outlast the lane's lease, and another node would
// make them too.
func TestSlowReceiver(t *testing.T) {
	for name, end := range map[string]struct {
		turn time.Duration
		stop bool
	}{"the turn is over": {turn: 2 * time.Second}, "the server stops": {turn: time.Hour, stop: true}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				k.s.pace.turn, k.s.pace.attempt = end.turn, time.Minute
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				over := time.Now()
				s := newSink(t, func(w http.ResponseWriter, r *http.Request, _ int) {
					if end.stop {
						stop()
					} else {
						time.Sleep(time.Until(over) + 500*time.Millisecond) // serve reads the clock after us
					}
				})
				e := k.create(north, s.URL)
				list := make([]queued, 30)
				for i := range list {
					list[i] = queued{tenant: north, webhook: e.ID, event: uuid.NewString(), typ: "webhook.test", payload: "{}"}
				}
				k.write(north, func(tx *db.Tx) error {
					return k.s.enqueueDeliveries(tx, list, map[string]chooser{e.ID: {tenant: north, id: e.ID, active: true}}, k.now())
				})
				lanes, err := k.s.claimLanes(ctx, 5, nil)
				if err != nil || len(lanes) != 1 {
					t.Fatalf("claimed %v, %v", lanes, err)
				}
				over = time.Now().Add(end.turn)
				k.s.serveLane(ctx, lanes[0])
				if n := s.count(); n > k.s.pace.perLane {
					t.Errorf("%d attempts, %d at once", n, k.s.pace.perLane)
				}
				if lanes, err := k.s.claimLanes(context.Background(), 5, nil); err != nil || len(lanes) != 1 {
					t.Errorf("the lane was not given back: %v, %v", lanes, err)
				}
			})
		})
	}
}

// An attempt that panics has failed, and the server lives.
func TestAttemptPanics(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.s.client = &http.Client{Transport: panicking{}}
		e := k.create(north, "https://example.com/hook")
		k.run()
		k.emit(north, 1)
		k.until("the attempt", func() bool { l := k.log(e.ID); return len(l) == 1 && l[0].attempt == 1 })
		if d := k.log(e.ID)[0]; d.status != "retrying" || d.err != "the attempt broke off" {
			t.Errorf("delivery %s %q", d.status, d.err)
		}
	})
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("a transport") }

// A node that dies in the middle of an attempt leaves a lease; when it has run
// out another node makes the attempt.
func TestDeadNode(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, nil)
		e := k.create(north, s.URL)
		k.write(north, func(tx *db.Tx) error {
			return k.s.enqueueDeliveries(tx, []queued{{tenant: north, webhook: e.ID, event: uuid.NewString(),
				typ: "webhook.test", payload: "{}"}},
				map[string]chooser{e.ID: {tenant: north, id: e.ID, active: true}}, k.now())
		})
		lanes, err := k.s.claimLanes(context.Background(), 5, nil)
		if err != nil || len(lanes) != 1 {
			t.Fatalf("claimed %v, %v", lanes, err)
		}
		again, err := k.s.claimLanes(context.Background(), 5, nil)
		if err != nil || len(again) != 0 {
			t.Fatalf("claimed twice: %v, %v", again, err)
		}
		k.run()
		time.Sleep(300 * time.Millisecond)
		if s.count() != 0 {
			t.Fatal("sent under another node's lease")
		}
		k.ahead(k.s.pace.lease + time.Second)
		k.until("the delivery", func() bool { return s.count() == 1 })
		if err := (&lease{s: k.s, lane: lanes[0]}).releaseLane(context.Background()); err != nil { // the dead node wakes up
			t.Error(err)
		}
		k.until("it to be noted", func() bool { return k.log(e.ID)[0].status == "delivered" })
	})
}

// The schedule spreads attempts over three days; then the delivery is dead.
func TestSchedule(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) })
		e := k.create(north, s.URL)
		k.emit(north, 1)
		k.run()
		begin := k.now()
		var d record
		for range 60 {
			k.until("an attempt", func() bool { l := k.log(e.ID); return len(l) == 1 && l[0].attempt > d.attempt })
			if d = k.log(e.ID)[0]; d.status == "dead" {
				break
			}
			k.ahead(max(d.next.Sub(k.now()), 2*time.Hour)) // past the breaker, too
		}
		if d.status != "dead" || d.attempt < 8 || d.attempt > 40 {
			t.Errorf("after %v and %d attempts: %s", k.now().Sub(begin), d.attempt, d.status)
		}
		var tries []try
		if err := json.Unmarshal([]byte(d.history), &tries); err != nil || len(tries) == 0 || len(tries) > keepTries ||
			*tries[0].Status != 500 {
			t.Errorf("history %s: %v", d.history, err)
		}
		if row := k.webhook(north, e.ID); row["failing_since"] == nil {
			t.Error("the webhook does not say that it is failing")
		}
	})
}

// Five failures open the breaker: what else waits is not tried until it
// closes, one delivery finds out, and then the rest follows.
func TestBreaker(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		up := make(chan struct{})
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			select {
			case <-up:
			default:
				w.WriteHeader(500)
			}
		})
		e := k.create(north, s.URL)
		k.run()
		k.emit(north, 40)
		k.until("the breaker", func() bool { return s.count() >= tripAt })
		k.tripped(e.ID)
		if n := s.count(); n > tripAt+k.s.pace.perLane {
			t.Errorf("%d attempts before the breaker opened", n)
		}
		before := s.count()
		k.ahead(40 * time.Second)
		k.until("the probe", func() bool { return s.count() > before })
		k.tripped(e.ID)
		if n := s.count(); n != before+1 {
			t.Errorf("%d probes, want 1", n-before)
		}
		close(up)
		k.ahead(2 * time.Minute)
		k.until("everything to arrive", func() bool {
			for _, d := range k.log(e.ID) {
				if d.status != "delivered" {
					return false
				}
			}
			return true
		})
		k.until("the webhook to be well", func() bool { return k.webhook(north, e.ID)["failing_since"] == nil })
	})
}

// tripped waits until a webhook's lane is given back with its breaker open, and
// leaves time to do what an open breaker forbids.
func (k *kit) tripped(webhook string) {
	k.t.Helper()
	k.until("the breaker to be kept", func() bool {
		kept := false
		if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT 1 FROM webhook_lanes WHERE webhook_id = $1 AND owner IS NULL AND open_until > $2",
				[]any{webhook, k.now()}, func(*db.Row) error {
					kept = true
					return nil
				})
		}); err != nil {
			k.t.Fatal(err)
		}
		return kept
	})
	time.Sleep(300 * time.Millisecond)
}

// Five days of failure disable a webhook and tell its administrators, once;
// made active again it works.
func TestDisabledAfterFiveDays(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var status atomic.Int64
		status.Store(500)
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(int(status.Load())) })
		e := k.create(north, s.URL)
		k.run()
		k.emit(north, 1)
		k.until("the first failure", func() bool { return k.webhook(north, e.ID)["failing_since"] != nil })
		k.emit(north, 1)
		k.until("both deliveries to wait", func() bool { return len(k.log(e.ID)) == 2 })
		n := s.count()
		k.ahead(5*24*time.Hour + time.Minute)
		k.until("another failure", func() bool { return s.count() > n })
		k.until("the webhook to be disabled", func() bool { return k.webhook(north, e.ID).Text("status") == "disabled" })
		k.until("a notice", func() bool { k.mu.Lock(); defer k.mu.Unlock(); return len(k.notices) > 0 })
		if got := k.notices[0]; len(k.notices) != 1 || got.WebhookID != e.ID || len(got.Emails) != 1 ||
			got.Emails[0] != "admin@0.example" {
			t.Errorf("notices %+v", k.notices)
		}
		for _, d := range k.log(e.ID) {
			if d.status != "dead" {
				t.Errorf("a delivery is %s", d.status)
			}
		}
		status.Store(204)
		n = s.count()
		k.emit(north, 1)
		if err := k.set(north, e.ID, store.Row{"status": "active"}); err != nil {
			t.Fatal(err)
		}
		k.emit(north, 1)
		k.until("a delivery", func() bool { return s.count() > n })
		if row := k.webhook(north, e.ID); row["disabled_reason"] != nil {
			t.Errorf("still says %v", row["disabled_reason"])
		}
	})
}

// A paused webhook keeps its events; a deleted one ends them.
func TestPauseAndDelete(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, nil)
		e := k.create(north, s.URL)
		if err := k.set(north, e.ID, store.Row{"status": "paused"}); err != nil {
			t.Fatal(err)
		}
		k.run()
		k.emit(north, 3)
		k.until("the deliveries to be queued", func() bool { return len(k.log(e.ID)) == 3 })
		time.Sleep(200 * time.Millisecond)
		if s.count() != 0 {
			t.Fatal("a paused webhook was called")
		}
		if err := k.set(north, e.ID, store.Row{"status": "active"}); err != nil {
			t.Fatal(err)
		}
		k.until("the deliveries", func() bool { return s.count() == 3 })
		if err := k.set(north, e.ID, store.Row{"status": "paused"}); err != nil {
			t.Fatal(err)
		}
		k.emit(north, 1)
		k.until("the delivery to be queued", func() bool { return len(k.log(e.ID)) == 4 })
		k.write(north, func(tx *db.Tx) error {
			err := k.st.In(tx, admin(north)).DeleteRows(k.s.webhooks.Name, []string{e.ID})
			return err
		})
		if d := k.log(e.ID)[3]; d.status != "dead" || d.err != "the webhook was deleted" {
			t.Errorf("left behind: %+v", d)
		}
	})
}

// Test pings and replays: the same event id and payload, a new row in the log,
// on the record.
func TestReplay(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		ctx := context.Background()
		var well atomic.Bool
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			if !well.Load() {
				w.WriteHeader(410)
			}
		})
		e := k.create(north, s.URL, "rate_limit.*")
		k.run()
		begin := k.now()
		k.emit(north, 1)
		k.until("410", func() bool { return k.webhook(north, e.ID).Text("status") == "disabled" })
		first := k.log(e.ID)[0]
		if err := k.s.Replay(ctx, admin(north), e.ID, first.id); !fault.Is(err, fault.Conflict) {
			t.Errorf("replay to a disabled webhook: %v", err)
		}
		well.Store(true)
		if err := k.set(north, e.ID, store.Row{"status": "active"}); err != nil {
			t.Fatal(err)
		}
		if err := k.s.Replay(ctx, admin(north), e.ID, first.id); err != nil {
			t.Fatal(err)
		}
		k.until("the replay", func() bool { return s.count() == 2 })
		if a, b := s.all()[0], s.all()[1]; !bytes.Equal(a.body, b.body) ||
			a.header.Get("Webhook-Id") != b.header.Get("Webhook-Id") {
			t.Errorf("replayed %s %s, was %s %s", b.header, b.body, a.header, a.body)
		}
		n, err := k.s.ReplayRange(ctx, admin(north), e.ID, Range{From: begin, To: k.now()})
		if err != nil || n != 1 {
			t.Errorf("range of failures: %d %v", n, err)
		}
		if n, err = k.s.ReplayRange(ctx, admin(north), e.ID,
			Range{From: k.now(), To: k.now().Add(time.Hour), All: true}); err != nil || n != 0 {
			t.Errorf("empty range: %d %v", n, err)
		}
		id, err := k.s.Test(ctx, admin(north), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		k.until("range and test", func() bool { return s.count() == 4 })
		seen := fmt.Sprint(s.all()[2].header.Get("Webhook-Id"), s.all()[3].header.Get("Webhook-Id"))
		if !strings.Contains(seen, id) || !strings.Contains(seen, first.event) {
			t.Errorf("sent %s, want %s and %s", seen, id, first.event)
		}
		for name, err := range map[string]error{
			"unknown delivery":         k.s.Replay(ctx, admin(north), e.ID, uuid.NewString()),
			"malformed delivery":       k.s.Replay(ctx, admin(north), e.ID, "x"),
			"another tenant's webhook": k.s.Replay(ctx, admin(south), e.ID, first.id),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := k.s.Test(ctx, actor.Actor{TenantID: north, Role: actor.Manager}, e.ID); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a manager's test: %v", err)
		}
		audits := 0
		k.d.Read(ctx, db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return tx.Query("SELECT action FROM audit WHERE tenant_id = $1 AND entity_id = $2 AND action IN ('webhooks.replay', 'webhooks.test', "+
				"'webhooks.insert')", []any{north, e.ID}, func(*db.Row) error { audits++; return nil })
		})
		if audits != 5 { // made, replayed, twice a range, tested
			t.Errorf("%d audit rows", audits)
		}
	})
}

// Deliveries wait for three days at most and are kept for thirty.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		e := k.create(north, "http://127.0.0.1:9/")
		if err := k.set(north, e.ID, store.Row{"status": "paused"}); err != nil {
			t.Fatal(err)
		}
		stop := k.run()
		k.emit(north, 2)
		k.until("the deliveries", func() bool { return len(k.log(e.ID)) == 2 })
		stop()
		for _, step := range []struct {
			ahead  time.Duration
			rows   int
			status string
		}{{71 * time.Hour, 2, "pending"}, {2 * time.Hour, 2, "dead"}, {28 * 24 * time.Hour, 0, ""}} {
			k.ahead(step.ahead)
			if err := k.s.Sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
			l := k.log(e.ID)
			if len(l) != step.rows || len(l) > 0 && l[0].status != step.status {
				t.Errorf("after %v: %+v", step.ahead, l)
			}
		}
	})
}
