package api

import (
	"net/http"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/limit"
	"holdfast/internal/web"
)

// Platform serves the few /v1 routes that are no collection.
type Platform struct {
	gate  *gate.Gate
	clear func(tenant string)
}

// NewPlatform serves rate-limit status and the cache's clear: clear forgets a
// tenant's kept answers on all nodes.
func NewPlatform(g *gate.Gate, clear func(tenant string)) *Platform { return &Platform{g, clear} }

type windowStatus struct {
	Limit     int    `json:"limit" doc:"Requests or queries in a minute."`
	Remaining int    `json:"remaining" doc:"Of these, left in the window."`
	ResetAt   string `json:"reset_at" format:"date-time" doc:"When the window ends."`
}

// RateLimitStatus is what a caller has left in each window.
type RateLimitStatus struct {
	API           windowStatus `json:"api"`
	Database      windowStatus `json:"database" doc:"Reads."`
	DatabaseWrite windowStatus `json:"database_write"`
}

// RateLimits answers GET /v1/rate-limit/status: what the caller has left. The
// question itself takes nothing from it, and is answered when nothing is left.
func (p *Platform) RateLimits() http.Handler { return web.Wrap(CollectionShape, p.rateLimits) }

func (p *Platform) rateLimits(w http.ResponseWriter, r *http.Request) error {
	a, err := p.gate.Look(w, r)
	if a, err = signedIn(w, r, a, err); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, RateLimitStatus{API: p.window(a, limit.API), Database: p.window(a, limit.Read), DatabaseWrite: p.window(a, limit.Write)})
}

func (p *Platform) window(a actor.Actor, c limit.Category) windowStatus {
	plan := p.gate.Plan(a)
	if p.gate.Limits == nil {
		n := plan.Rule(c).Minute
		return windowStatus{n, n, time.Now().UTC().Format(time.RFC3339)}
	}
	s := p.gate.Limits.Peek(gate.Key(a, a.Address), c, plan)
	return windowStatus{plan.Rule(c).Minute, s.Remaining, s.Reset.UTC().Format(time.RFC3339)}
}

// ClearCache answers DELETE /v1/cache: an administrator empties the tenant's
// kept answers.
func (p *Platform) ClearCache() http.Handler { return web.Wrap(CollectionShape, p.clearCache) }

func (p *Platform) clearCache(w http.ResponseWriter, r *http.Request) error {
	a, err := p.gate.Enter(w, r, false)
	if a, err = signedIn(w, r, a, err); err != nil {
		return err
	}
	if !a.Administrator() || a.TenantID == "" {
		return fault.New(fault.Forbidden, "42501", "only an administrator of the tenant may clear its cache")
	}
	p.clear(a.TenantID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// signedIn lets through whom the gate has let in, unless he is nobody.
func signedIn(w http.ResponseWriter, r *http.Request, a actor.Actor, err error) (actor.Actor, error) {
	web.Note(w, r.Pattern, a.TenantID, a.UserID, a.KeyID)
	if err != nil {
		return a, err
	}
	if a.Anonymous() {
		return a, fault.New(fault.Unauthorized, "PGRST302", "sign in first: this needs an access token")
	}
	return a, nil
}

// Root answers the collections' root with the document of what the caller may
// use.
func (p *Platform) Root(d *Document) http.Handler {
	return web.Wrap(CollectionShape, func(w http.ResponseWriter, r *http.Request) error {
		a, err := p.gate.Enter(w, r, false)
		web.Note(w, r.Pattern, a.TenantID, a.UserID, a.KeyID)
		if err != nil {
			return err
		}
		d.send(w, r, a.Role, "application/openapi+json")
		return nil
	})
}
