package api

import (
	"net/http"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

// Platform serves the few /v1 routes that are no collection.
type Platform struct {
	gate  *access.Gate
	clear func(tenant string)
}

// NewPlatform serves rate-limit status and the cache's clear: clear forgets a
// tenant's kept answers on all nodes.
func NewPlatform(g *access.Gate, clear func(tenant string)) *Platform { return &Platform{g, clear} }

type windowStatus struct {
	Limit     int    `json:"limit" doc:"Requests or queries in a minute."`
	Remaining int    `json:"remaining" doc:"Of these, left in the window."`
	ResetAt   string `json:"reset_at" format:"date-time" doc:"When the window ends."`
}

// RateLimitStatus is what a caller has left in each window, and what all of its tenant
// together have.
type RateLimitStatus struct {
	windowsStatus
	Tenant *windowsStatus `json:"tenant" doc:"Of all callers of the tenant together; null without one."`
}

type windowsStatus struct {
	API           windowStatus `json:"api"`
	Database      windowStatus `json:"database" doc:"Reads."`
	DatabaseWrite windowStatus `json:"database_write"`
}

// RateLimits answers GET /v1/rate-limit/status: what the caller has left. The
// question itself takes nothing from it, and is answered when nothing is left.
func (p *Platform) RateLimits(w http.ResponseWriter, c *route.Call) error {
	a, plan := c.Actor, p.gate.Plan(c.Actor)
	status := RateLimitStatus{windowsStatus: statusOf(func(c ratelimit.Category) windowStatus {
		return describeWindow(plan.Rule(c), p.gate.Room(a, c))
	})}
	if a.TenantID != "" {
		all := statusOf(func(c ratelimit.Category) windowStatus {
			return describeWindow(plan.Ceiling(c), p.gate.RoomOfTenant(a, c))
		})
		status.Tenant = &all
	}
	return web.JSON(w, http.StatusOK, status)
}

func statusOf(window func(ratelimit.Category) windowStatus) windowsStatus {
	return windowsStatus{API: window(ratelimit.API), Database: window(ratelimit.Read),
		DatabaseWrite: window(ratelimit.Write)}
}

func describeWindow(r ratelimit.Rule, s ratelimit.State) windowStatus {
	return windowStatus{r.Minute, s.Remaining, s.Reset.UTC().Format(time.RFC3339)}
}

// ClearCache answers DELETE /v1/cache: an administrator empties the tenant's
// kept answers.
func (p *Platform) ClearCache(w http.ResponseWriter, c *route.Call) error {
	a := c.Actor
	if !a.Administrator() || a.TenantID == "" {
		return fault.New(fault.Forbidden, "42501", "only an administrator of the tenant may clear its cache")
	}
	p.clear(a.TenantID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Media types of what the collections' root answers with: Swagger 2.0, as PostgREST
// calls it, or the form whose type is that of OpenAPI itself.
const (
	swaggerMedia = "application/openapi+json"
	openapiMedia = "application/vnd.oai.openapi+json"
)

// Root answers the root of the collections below a prefix with what the caller may
// use: as PostgREST does in Swagger 2.0, and in OpenAPI 3.1 where Accept names that.
func Root(d *Document, prefix string) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		w.Header().Add("Vary", "Accept")
		if strings.Contains(strings.ToLower(strings.Join(c.Header.Values("Accept"), ",")), openapiMedia) {
			d.sendDocument(w, c.Request, c.Actor.Role, openapiMedia)
			return nil
		}
		d.sendSwagger(w, c.Request, c.Actor.Role, prefix)
		return nil
	}
}
