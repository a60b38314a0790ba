package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/idempotency"
	"holdfast/internal/ratelimit"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/webhook"
)

// verbs serves the webhooks' verbs; who is the caller of every request.
func verbs(t *testing.T, o db.Options, who *actor.Actor, limits *ratelimit.Limiter) http.Handler {
	t.Helper()
	d, c := dbtest.Open(t, o), catalog.Default()
	var err error
	if _, ok := c.Get("webhooks"); !ok {
		if c, err = catalog.New(append(catalog.Resources(), catalog.EventResources()...)...); err != nil {
			t.Fatal(err)
		}
	}
	var s *webhook.Service
	st := store.New(d, c, store.Effects{
		Before: map[string]store.Effect{"webhooks": func(tx *store.Tx, cs []store.Change) error { return s.Check(tx, cs) }},
		After: map[string]store.Effect{"webhooks": func(tx *store.Tx, cs []store.Change) error {
			return s.Changed(tx, cs)
		}},
	}, time.Now)
	if s, err = webhook.New(webhook.Options{Store: st, Key: make([]byte, 32), AllowPrivate: true}); err != nil {
		t.Fatal(err)
	}
	return served(t, access.New(func(*http.Request) (actor.Actor, error) {
		return *who, nil
	}, limits), NewWebhooks(s, idempotency.New(d, time.Now)).Routes())
}

// served is what routes answer behind a gate.
func served(t *testing.T, g *access.Gate, routes []route.Route) http.Handler {
	t.Helper()
	h, err := route.Handler(&route.Authenticator{Gate: g}, routes)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWebhookVerbs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		who := boss
		h := verbs(t, o, &who, nil)
		made := ask(h, "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/in","events":["order.*"],"description":"ERP"}`)
		var e webhook.Endpoint
		if err := json.Unmarshal(made.Body.Bytes(), &e); err != nil || made.Code != 201 ||
			!strings.HasPrefix(e.Secret, "whsec_") ||
			made.Header().Get("Location") != "/v1/webhooks/"+e.ID || made.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %s %v", made.Code, made.Body, err)
		}
		manager := actor.Actor{UserID: testUser, TenantID: testTenant, Role: actor.Manager}
		suspended := boss
		suspended.Suspended = true
		other := actor.Actor{UserID: testUser, TenantID: otherTenant, Role: actor.Owner}
		for _, c := range []struct {
			who    actor.Actor
			path   string
			body   string
			status int
			says   string
		}{
			{boss, "", `{"url":"http://127.0.0.1:9/","events":["order.eaten"]}`, 400, "order.eaten"},
			{boss, "", `{"url":"gopher://x.example"}`, 400, "url"},
			{boss, "", `{"url":"http://127.0.0.1:9/","status":"disabled"}`, 409, "starts as"},
			{boss, "", `{"url":7}`, 400, "url"},
			{boss, "", ``, 400, "url"},
			{boss, "", `{"url":`, 400, "JSON"},
			{manager, "", `{"url":"http://127.0.0.1:9/"}`, 403, "administrator"},
			{suspended, "", `{"url":"http://127.0.0.1:9/"}`, 403, "suspended"},
			{actor.Actor{}, "", `{"url":"http://127.0.0.1:9/"}`, 401, "sign in"},
			{actor.Actor{UserID: testUser}, "", `{}`, 403, "member"},
			{actor.Actor{Role: actor.Service}, "", `{}`, 400, "tenant_id"},
			{actor.Actor{Role: actor.Service}, "?tenant_id=" + otherTenant, `{"url":"http://127.0.0.1:9/"}`, 201, "whsec_"},
			{boss, "/" + e.ID + "/test", ``, 202, "event_id"},
			{boss, "/" + e.ID + "/rotate", ``, 200, "old_secret_until"},
			{other, "/" + e.ID + "/rotate", ``, 404, "webhook"},
			{other, "/" + e.ID + "/test", ``, 404, "webhook"},
			{boss, "/x/test", ``, 404, "webhook"},
			{boss, "/" + e.ID + "/deliveries/" + testUser + "/replay", ``, 404, "delivery"},
			{boss, "/" + e.ID + "/replay?from=2026-01-01T00:00:00Z", ``, 202, `"queued":0`},
			{boss, "/" + e.ID + "/replay", ``, 400, "from"},
			{boss, "/" + e.ID + "/replay?from=yesterday", ``, 400, "from"},
			{boss, "/" + e.ID + "/replay?from=2026-01-01T00:00:00Z&status=some", ``, 400, "status"},
		} {
			who = c.who
			got := ask(h, "POST", "/v1/webhooks"+c.path, c.body)
			if got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
				t.Errorf("%s %s: %d %s, want %d and %s", c.path, c.body, got.Code, got.Body, c.status, c.says)
			}
		}
	})
}

// The interface's own limit of webhook endpoints: a burst of 100 in 10 s.
func TestWebhookLimit(t *testing.T) {
	who := boss
	who.Plan = "standard"
	h := verbs(t, db.Options{Dir: t.TempDir(), Migrate: true}, &who, ratelimit.New(ratelimit.Options{}))
	last := 0
	for range 101 {
		last = ask(h, "POST", "/v1/webhooks/x/test", "").Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the 101st request: %d", last)
	}
}
