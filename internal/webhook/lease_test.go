package webhook

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

// What a webhook that failed for long and was paused, or was given another
// address, does next is judged anew.
func TestLongFailureIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) })
		for name, changes := range map[string][]store.Row{
			"paused and resumed": {{"status": "paused"}, {"status": "active"}},
			"another address":    {{}, {"url": s.URL + "/elsewhere"}},
		} {
			e := k.create(north, s.URL)
			failing := func() bool { return k.webhook(north, e.ID)["failing_since"] != nil }
			stop := k.run()
			k.emit(north, 1)
			k.until("the first failure", failing)
			stop()
			for i, set := range changes {
				if i == 1 {
					k.ahead(disableAfter + time.Minute)
				}
				if err := k.set(north, e.ID, set); err != nil {
					t.Fatal(err)
				}
			}
			if failing() {
				t.Errorf("%s: still said to be failing", name)
			}
			n := len(k.log(e.ID))
			stop = k.run()
			k.emit(north, 1)
			k.until("another failure", func() bool { l := k.log(e.ID); return len(l) > n && l[n].attempt > 0 && failing() })
			stop()
			if status := k.webhook(north, e.ID).Text("status"); status != "active" {
				t.Errorf("%s: %s after one failure", name, status)
			}
		}
	})
}

// What a turn finds out about an address is not held against the one that the
// webhook was given meanwhile, and what was given up meanwhile stays so, unless
// it arrived.
func TestChangedDuringATurn(t *testing.T) {
	const elsewhere = "http://127.0.0.1:9/"
	type fate struct {
		delivery, err string
		status        string // of the webhook
		blamed        bool   // failures are held against it
	}
	set := func(field, value string) func(*kit, string) error {
		return func(k *kit, id string) error { return k.set(north, id, store.Row{field: value}) }
	}
	each(t, func(t *testing.T, k *kit) {
		for name, c := range map[string]struct {
			answer int
			change func(k *kit, id string) error
			want   fate
		}{
			"gone, another address":   {410, set("url", elsewhere), fate{"dead", "answered 410", "active", false}},
			"failed, another address": {500, set("url", elsewhere), fate{"retrying", "answered 500", "active", false}},
			"failed, same address":    {500, set("description", "x"), fate{"retrying", "answered 500", "active", true}},
			"gone, same address":      {410, set("description", "x"), fate{"dead", "answered 410", "disabled", false}},
			"gone, paused":            {410, set("status", "paused"), fate{"dead", "answered 410", "paused", false}},
			"failed, disabled":        {500, disabling, fate{"dead", "the webhook was disabled", "disabled", false}},
			"failed, deleted":         {500, deleting, fate{"dead", "the webhook was deleted", "", false}},
			"arrived, deleted":        {204, deleting, fate{"delivered", "", "", false}},
		} {
			var id string
			s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				if err := c.change(k, id); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				w.WriteHeader(c.answer)
			})
			id = k.create(north, s.URL).ID
			k.write(north, func(tx *db.Tx) error {
				return k.s.enqueueDeliveries(tx, []queued{{tenant: north, webhook: id, event: uuid.NewString(),
					typ: "webhook.test", payload: "{}"}},
					map[string]chooser{id: {tenant: north, id: id, active: true}}, k.now())
			})
			lanes, err := k.s.claimLanes(t.Context(), 20, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lanes { // one of an earlier case may be due again
				if l.id == id {
					k.s.serveLane(t.Context(), l)
				}
			}
			d := k.log(id)[0]
			got := fate{delivery: d.status, err: d.err}
			got.status, got.blamed = k.health(id)
			if got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
	})
}

// Nor are the failures that the lane had when the turn began.
func TestChangedBeforeATurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := newSink(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) })
		id := k.create(north, "http://127.0.0.1:9/").ID
		k.write(north, func(tx *db.Tx) error {
			return k.s.enqueueDeliveries(tx, []queued{{tenant: north, webhook: id, event: uuid.NewString(), typ: "webhook.test",
				payload: "{}"}},
				map[string]chooser{id: {tenant: north, id: id, active: true}}, k.now())
		})
		k.write(north, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE webhook_lanes SET failures = $1, trips = 7", tripAt-1)
			return err
		})
		for turn := range 2 {
			lanes, err := k.s.claimLanes(t.Context(), 5, nil)
			if err != nil || len(lanes) != 1 {
				t.Fatalf("turn %d: claimed %d, %v", turn, len(lanes), err)
			}
			if turn == 0 {
				if err := k.set(north, id, store.Row{"url": s.URL}); err != nil {
					t.Fatal(err)
				}
			}
			k.s.serveLane(t.Context(), lanes[0])
		}
		if err := k.d.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One("SELECT failures, trips, open_until FROM webhook_lanes WHERE webhook_id = $1", []any{id},
				func(r *db.Row) error {
					if s.count() != 1 || r.Int(0) != 1 || r.Int(1) != 0 || !r.Null(2) {
						t.Errorf("%d attempts, %d failures, tripped %d times, open until %v", s.count(), r.Int(0), r.Int(1), r.Time(2))
					}
					return nil
				})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// disabling disables a webhook as the server does.
func disabling(k *kit, id string) error {
	return k.d.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return k.s.disableWebhook(tx, &endpoint{tenant: north, id: id}, "a test")
	})
}

func deleting(k *kit, id string) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		err := k.st.In(tx, admin(north)).DeleteRows(k.s.webhooks.Name, []string{id})
		return err
	})
}

// health is a webhook's status and whether failures are held against it.
func (k *kit) health(id string) (status string, blamed bool) {
	k.t.Helper()
	if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT w.status, w.failing_since, l.failures FROM webhooks w JOIN webhook_lanes l ON l.webhook_id = w.id WHERE w.tenant_id = $1 "+
			"AND w.id = $2 AND l.owner IS NULL", []any{north, id}, func(r *db.Row) error {
			status, blamed = r.Text(0), !r.Null(1) || r.Int(2) > 0
			return nil
		})
	}); err != nil {
		k.t.Fatal(err)
	}
	return status, blamed
}

// A node whose clock runs ahead leaves the lanes to those who serve them, until
// it has watched them for as long as a lease lasts.
func TestLeaseTrustsNoClock(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		id := k.create(north, "http://127.0.0.1:9/").ID
		k.write(north, func(tx *db.Tx) error {
			return k.s.enqueueDeliveries(tx, []queued{{tenant: north, webhook: id, event: uuid.NewString(), typ: "webhook.test",
				payload: "{}"}},
				map[string]chooser{id: {tenant: north, id: id, active: true}}, k.now())
		})
		other := node(t, k.d)
		other.ahead(24 * time.Hour)
		for _, step := range []struct {
			who   *kit
			after time.Duration
			want  int
		}{{k, 0, 1}, {other, 0, 0}, {other, k.s.pace.lease - time.Second, 0}, {k, 0, 0}, {other, 2 * time.Second, 1},
			{k, 0, 0}} {
			step.who.ahead(step.after)
			lanes, err := step.who.s.claimLanes(t.Context(), 5, nil)
			if err != nil || len(lanes) != step.want {
				t.Errorf("after %v: claimed %d lanes, want %d; %v", step.after, len(lanes), step.want, err)
			}
		}
	})
}
