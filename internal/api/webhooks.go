package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/web"
	"holdfast/internal/webhook"
)

// Webhooks serves the verbs of webhooks; reading, changing and deleting them
// and their deliveries is the collections'.
type Webhooks struct {
	hook *webhook.Service
	keys *idempotency.Keys
}

// NewWebhooks returns the face of s; keys keep the answers of what is made.
func NewWebhooks(s *webhook.Service, keys *idempotency.Keys) *Webhooks {
	return &Webhooks{s, keys}
}

// Routes lists what is served.
func (h *Webhooks) Routes() []route.Route {
	list := []route.Route{
		{Pattern: "/v1/webhooks", Handle: withCaller(h.createWebhook), Out: webhook.Endpoint{}, Status: http.StatusCreated,
			Doc:  "Make a webhook; its secret is answered this once (administrators)",
			Body: map[string]string{"url": "string", "events": "texts", "description": "string", "status": "string"}},
		{Pattern: "/v1/webhooks/{id}/rotate", Handle: withCaller(h.rotateSecret), Out: webhook.Endpoint{},
			Doc: "Give a webhook a new secret; the old one signs too for a day"},
		{Pattern: "/v1/webhooks/{id}/test", Handle: h.queueDelivery(h.sendTest), Out: webhook.Queued{},
			Status: http.StatusAccepted, Doc: "Send webhook.test"},
		{Pattern: "/v1/webhooks/{id}/replay", Handle: h.queueDelivery(h.replayRange), Out: webhook.Queued{},
			Status: http.StatusAccepted, Query: map[string]string{"from": "string", "to": "string", "status": "string"},
			Doc: "Send again what was queued from, inclusive, to, exclusive, and failed; status=all: everything"},
		{Pattern: "/v1/webhooks/{id}/deliveries/{delivery}/replay", Handle: h.queueDelivery(h.replayDelivery),
			Out: webhook.Queued{}, Status: http.StatusAccepted, Doc: "Send one delivery again"},
	}
	for n := range list {
		list[n].Method, list[n].Tag, list[n].Who, list[n].Keyed, list[n].Beside = "POST", "webhooks", route.TenantMember,
			true, true
	}
	return list
}

// createWebhook answers POST /v1/webhooks with the webhook and, this once, its
// secret: the answer kept for an Idempotency-Key is without it.
func (h *Webhooks) createWebhook(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	var in webhook.In
	if err := web.DecodeExact(r, functionBody, &in); err != nil {
		return err
	}
	sent, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return serveIdempotent(h.keys, w, request{r, a, string(sent)},
		func(w http.ResponseWriter, claim *idempotency.Claim) error {
			r := keepAnswerWith(r, claim, func(w http.ResponseWriter, done any) error {
				return sendWebhook(w, done.(*webhook.Endpoint))
			})
			e, err := h.hook.Create(r.Context(), a, in)
			if err != nil {
				return err
			}
			return sendWebhook(w, e)
		})
}

func sendWebhook(w http.ResponseWriter, e *webhook.Endpoint) error {
	w.Header().Set("Location", "/v1/webhooks/"+e.ID)
	return sendSecret(w, http.StatusCreated, e)
}

// rotateSecret answers POST /v1/webhooks/{id}/rotate with a new secret, which the
// answer kept for an Idempotency-Key is without.
func (h *Webhooks) rotateSecret(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
	return serveIdempotent(h.keys, w, request{r: r, a: a}, func(w http.ResponseWriter, claim *idempotency.Claim) error {
		r := keepAnswerWith(r, claim, func(w http.ResponseWriter, done any) error {
			return sendSecret(w, http.StatusOK, done)
		})
		e, err := h.hook.Rotate(r.Context(), a, r.PathValue("id"))
		if err != nil {
			return err
		}
		return sendSecret(w, http.StatusOK, e)
	})
}

func sendSecret(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return web.JSON(w, status, v)
}

// sendTest answers POST /v1/webhooks/{id}/test: 202 with the id of the test event,
// by which its delivery can be found.
func (h *Webhooks) sendTest(ctx context.Context, c *route.Call) (webhook.Queued, error) {
	id, err := h.hook.Test(ctx, c.Actor, c.PathValue("id"))
	return webhook.Queued{Queued: 1, EventID: id}, err
}

// replayDelivery answers POST /v1/webhooks/{id}/deliveries/{delivery}/replay.
func (h *Webhooks) replayDelivery(ctx context.Context, c *route.Call) (webhook.Queued, error) {
	return webhook.Queued{Queued: 1}, h.hook.Replay(ctx, c.Actor, c.PathValue("id"), c.PathValue("delivery"))
}

// replayRange answers POST /v1/webhooks/{id}/replay?from=&to=&status=: what
// was queued from (inclusive) to (exclusive) and failed, or with status=all
// everything.
func (h *Webhooks) replayRange(ctx context.Context, c *route.Call) (webhook.Queued, error) {
	in, err := rangeOf(c.Query)
	if err != nil {
		return webhook.Queued{}, err
	}
	n, err := h.hook.ReplayRange(ctx, c.Actor, c.PathValue("id"), in)
	return webhook.Queued{Queued: n}, err
}

// queueDelivery is a verb that queues deliveries: 202, once for an Idempotency-Key.
func (h *Webhooks) queueDelivery(do func(ctx context.Context, c *route.Call) (webhook.Queued, error)) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		return serveIdempotent(h.keys, w, request{r: c.Request, a: c.Actor},
			func(w http.ResponseWriter, claim *idempotency.Claim) error {
				ctx := keepAnswerWith(c.Request, claim, func(w http.ResponseWriter, done any) error {
					return web.JSON(w, http.StatusAccepted, done)
				}).Context()
				n, err := do(ctx, c)
				if err != nil {
					return err
				}
				return web.JSON(w, http.StatusAccepted, n)
			})
	}
}

func rangeOf(q map[string][]string) (in webhook.Range, err error) {
	if in.From, err = momentParameter(q, "from", time.Time{}); err != nil {
		return in, err
	}
	if in.To, err = momentParameter(q, "to", time.Now().Add(time.Minute)); err != nil {
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
		return in, fault.New(fault.Invalid, "22023", "from is needed: an instant such as 2026-01-31T08:00:00Z").At("from",
			"missing")
	}
	return in, nil
}

func momentParameter(q map[string][]string, name string, absent time.Time) (time.Time, error) {
	v := q[name]
	if len(v) == 0 {
		return absent, nil
	}
	t, err := time.Parse(time.RFC3339, v[0])
	if err != nil || len(v) > 1 {
		return t, fault.New(fault.Invalid, "22007", "%s must be an instant such as 2026-01-31T08:00:00Z", name).At(name,
			"not an instant: %s", route.Clip(v[0]))
	}
	return t.UTC(), nil
}
