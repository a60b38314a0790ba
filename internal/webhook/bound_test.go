package webhook

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

// mostAttempts is how often a delivery is tried in its three days at most.
const mostAttempts = 25

// refusals are answers of receivers that take nothing, by name.
func refusals() map[string]http.HandlerFunc {
	answer := func(status int, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, value)
			}
			w.WriteHeader(status)
		}
	}
	return map[string]http.HandlerFunc{
		"429, a second":             answer(429, "Retry-After", "1"),
		"429, nothing":              answer(429, "Retry-After", "0"),
		"429, negative":             answer(429, "Retry-After", "-5"),
		"429, a fraction":           answer(429, "Retry-After", "0.001"),
		"429, huge":                 answer(429, "Retry-After", "99999999999999999999999"),
		"429, a date of the past":   answer(429, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"),
		"429, a date of the future": answer(429, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
		"429, no header":            answer(429, "", ""),
		"503, a second":             answer(503, "Retry-After", "1"),
		"503, negative":             answer(503, "Retry-After", "-1"),
		"503, huge":                 answer(503, "Retry-After", "99999999999999999999999"),
		"301 to itself":             answer(301, "Location", "/"),
		"307 to itself":             answer(307, "Location", "/"),
		"500, a second":             answer(500, "Retry-After", "1"),
		"a broken connection":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
}

// Whatever a receiver answers, and whenever it wants to be asked again, a delivery
// is tried a bounded number of times in three days, and then given up.
func TestAttemptsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for name, answer := range refusals() {
			s := newSink(t, func(w http.ResponseWriter, r *http.Request, _ int) { answer(w, r) })
			id := k.create(north, s.URL).ID
			k.enqueueTest(id, 1)
			begin := k.now()
			for k.log(id)[0].status != "dead" && s.count() <= mostAttempts {
				k.serveNext(id)
			}
			if d := k.log(id)[0]; d.status != "dead" || s.count() > mostAttempts {
				t.Errorf("%s: %s after %d attempts in %v", name, d.status, s.count(), k.now().Sub(begin))
			}
		}
	})
}

// A receiver that answers 429 to everything for a day is asked about each event a
// few times at its own pace, and then rarely: the breaker opens.
func TestBusyForEverIsAFailure(t *testing.T) {
	const events = 20
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		})
		id := k.create(north, s.URL).ID
		k.enqueueTest(id, events)
		for begin := k.now(); k.now().Sub(begin) < 24*time.Hour && s.count() < 400; {
			k.serveNext(id)
		}
		// An hour is the longest break, with a fifth of it less at random.
		if n := s.count(); n > events*busyTries+60 {
			t.Errorf("%d attempts in a day", n)
		}
		if _, blamed := k.health(id); !blamed {
			t.Error("no failure is held against the receiver")
		}
	})
}

// A receiver that is busy for a moment is asked again when it wants to be.
func TestBusyForAMoment(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n < busyTries {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(429)
			}
		})
		id := k.create(north, s.URL).ID
		k.enqueueTest(id, 1)
		begin := k.now()
		for range busyTries {
			k.serveNext(id)
		}
		if d := k.log(id)[0]; d.status != "delivered" || k.now().Sub(begin) > time.Minute {
			t.Errorf("%s after %d attempts in %v", d.status, s.count(), k.now().Sub(begin))
		}
		if _, blamed := k.health(id); blamed {
			t.Error("a failure is held against the receiver")
		}
	})
}

// enqueueTest queues n deliveries to a webhook.
func (k *kit) enqueueTest(webhook string, n int) {
	k.t.Helper()
	list := make([]queued, n)
	for i := range list {
		list[i] = queued{tenant: north, webhook: webhook, event: uuid.NewString(), typ: "webhook.test", payload: "{}"}
	}
	k.write(north, func(tx *db.Tx) error {
		return k.s.enqueueDeliveries(tx, list, map[string]chooser{webhook: {tenant: north, id: webhook, active: true}},
			k.now())
	})
}

// serveNext sets the clock on to when a webhook's lane is due, and serves it.
func (k *kit) serveNext(webhook string) {
	k.t.Helper()
	var due time.Time
	if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT next_at, open_until FROM webhook_lanes WHERE webhook_id = $1", []any{webhook},
			func(r *db.Row) error {
				due = latestTime(r.Time(0), r.Time(1))
				return nil
			})
	}); err != nil {
		k.t.Fatal(err)
	}
	if wait := due.Sub(k.now()); wait > 0 {
		k.ahead(wait + time.Millisecond)
	}
	lanes, err := k.s.claimLanes(context.Background(), 20, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, l := range lanes {
		k.s.serveLane(context.Background(), l)
	}
}
