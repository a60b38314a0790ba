package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/once"
	"holdfast/internal/web"
	"holdfast/internal/webhook"
)

// Webhooks serves the verbs of webhooks; reading, changing and deleting them
// and their deliveries is the collections'.
type Webhooks struct {
	gate *gate.Gate
	hook *webhook.Service
	keys *once.Keys
}

// NewWebhooks returns the face of s; keys keep the answers of what is made.
func NewWebhooks(g *gate.Gate, s *webhook.Service, keys *once.Keys) *Webhooks {
	return &Webhooks{g, s, keys}
}

// verb lets members through.
func (h *Webhooks) verb(do func(w http.ResponseWriter, r *http.Request, a actor.Actor, q map[string][]string) error) http.Handler {
	return web.Wrap(CollectionShape, func(w http.ResponseWriter, r *http.Request) error {
		a, q, err := member(h.gate, w, r, true)
		if err != nil {
			return err
		}
		return do(w, r, a, q)
	})
}

// Create answers POST /v1/webhooks with the webhook and, this once, its
// secret: the answer kept for an Idempotency-Key is without it.
func (h *Webhooks) Create() http.Handler {
	return h.verb(func(w http.ResponseWriter, r *http.Request, a actor.Actor, _ map[string][]string) error {
		var in webhook.In
		if err := web.Decode(r, functionBody, &in); err != nil {
			return err
		}
		sent, err := json.Marshal(in)
		if err != nil {
			return err
		}
		return keyed(h.keys, w, request{r, a, string(sent)}, func(w http.ResponseWriter, claim *once.Claim) error {
			r := telling(r, claim, func(w http.ResponseWriter, done any) error { return hooked(w, done.(*webhook.Endpoint)) })
			e, err := h.hook.Create(r.Context(), a, in)
			if err != nil {
				return err
			}
			return hooked(w, e)
		})
	})
}

func hooked(w http.ResponseWriter, e *webhook.Endpoint) error {
	w.Header().Set("Location", "/v1/webhooks/"+e.ID)
	return secretly(w, http.StatusCreated, e)
}

// Rotate answers POST /v1/webhooks/{id}/rotate with a new secret, which the
// answer kept for an Idempotency-Key is without.
func (h *Webhooks) Rotate() http.Handler {
	return h.verb(func(w http.ResponseWriter, r *http.Request, a actor.Actor, _ map[string][]string) error {
		return keyed(h.keys, w, request{r: r, a: a}, func(w http.ResponseWriter, claim *once.Claim) error {
			r := telling(r, claim, func(w http.ResponseWriter, done any) error { return secretly(w, http.StatusOK, done) })
			e, err := h.hook.Rotate(r.Context(), a, r.PathValue("id"))
			if err != nil {
				return err
			}
			return secretly(w, http.StatusOK, e)
		})
	})
}

func secretly(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return web.JSON(w, status, v)
}

// Test answers POST /v1/webhooks/{id}/test: 202 with the id of the test event,
// by which its delivery can be found.
func (h *Webhooks) Test() http.Handler {
	return h.queueing(func(ctx context.Context, r *http.Request, a actor.Actor, _ map[string][]string) (webhook.Queued, error) {
		id, err := h.hook.Test(ctx, a, r.PathValue("id"))
		return webhook.Queued{Queued: 1, EventID: id}, err
	})
}

// Replay answers POST /v1/webhooks/{id}/deliveries/{delivery}/replay.
func (h *Webhooks) Replay() http.Handler {
	return h.queueing(func(ctx context.Context, r *http.Request, a actor.Actor, _ map[string][]string) (webhook.Queued, error) {
		return webhook.Queued{Queued: 1}, h.hook.Replay(ctx, a, r.PathValue("id"), r.PathValue("delivery"))
	})
}

// ReplayRange answers POST /v1/webhooks/{id}/replay?from=&to=&status=: what
// was queued from (inclusive) to (exclusive) and failed, or with status=all
// everything.
func (h *Webhooks) ReplayRange() http.Handler {
	return h.queueing(func(ctx context.Context, r *http.Request, a actor.Actor, q map[string][]string) (webhook.Queued, error) {
		in, err := replayRange(q)
		if err != nil {
			return webhook.Queued{}, err
		}
		n, err := h.hook.ReplayRange(ctx, a, r.PathValue("id"), in)
		return webhook.Queued{Queued: n}, err
	})
}

// queueing is a verb that queues deliveries: 202, once for an Idempotency-Key.
func (h *Webhooks) queueing(do func(ctx context.Context, r *http.Request, a actor.Actor, q map[string][]string) (webhook.Queued, error)) http.Handler {
	return h.verb(func(w http.ResponseWriter, r *http.Request, a actor.Actor, q map[string][]string) error {
		return keyed(h.keys, w, request{r: r, a: a}, func(w http.ResponseWriter, claim *once.Claim) error {
			ctx := telling(r, claim, func(w http.ResponseWriter, done any) error { return web.JSON(w, http.StatusAccepted, done) }).Context()
			n, err := do(ctx, r, a, q)
			if err != nil {
				return err
			}
			return web.JSON(w, http.StatusAccepted, n)
		})
	})
}

func replayRange(q map[string][]string) (in webhook.Range, err error) {
	if in.From, err = moment(q, "from", time.Time{}); err != nil {
		return in, err
	}
	if in.To, err = moment(q, "to", time.Now().Add(time.Minute)); err != nil {
		return in, err
	}
	switch s := q["status"]; {
	case len(s) == 0 || len(s) == 1 && s[0] == "dead":
	case len(s) == 1 && s[0] == "all":
		in.All = true
	default:
		return in, fault.New(fault.Invalid, "22023", "status must be dead or all").At("status", "must be dead or all")
	}
	if in.From.IsZero() {
		return in, fault.New(fault.Invalid, "22023", "from is needed: an instant such as 2026-01-31T08:00:00Z").At("from", "missing")
	}
	return in, nil
}

func moment(q map[string][]string, name string, absent time.Time) (time.Time, error) {
	v := q[name]
	if len(v) == 0 {
		return absent, nil
	}
	t, err := time.Parse(time.RFC3339, v[0])
	if err != nil || len(v) > 1 {
		return t, fault.New(fault.Invalid, "22007", "%s must be an instant such as 2026-01-31T08:00:00Z", name).At(name, "not an instant: %s", clipped(v[0]))
	}
	return t.UTC(), nil
}
