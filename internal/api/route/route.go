package route

import (
	"fmt"
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// Contract is the version of the interface, as its paths have it. Strangers are told this one alone: a release's
// version would tell them which weaknesses to try (OWASP ASVS 5.0, 13.4.6).
const Contract = "v1"

// Route is one method of one path: what is served there, to whom, and what the
// document says of it.
type Route struct {
	Method  string // "" = every method; the handler refuses what it does not know
	Pattern string // path of an http.ServeMux pattern
	Who     Caller
	Tag     string
	Doc     string
	Handle  Handle

	Auth     bool              // counts in the authentication category
	Question bool              // counted in a window of its own: who has nothing left asks it
	Reads    bool              // changes nothing a tenant stores, whatever the method
	Beside   bool              // the path's other methods are a collection's, or nobody's
	Names    bool              // {id} is a name too, not only a UUID
	Keyed    bool              // takes an Idempotency-Key
	Unlisted bool              // no operation of the OpenAPI document
	Body     map[string]string // request members: name -> type
	Query    map[string]string // query parameters: name -> type; members of tenants may send no others
	Response map[string]string // members of the answer: name -> type; nil = described by Out
	Out      any               // zero answer; nil = none, or described by Response
	Media    string            // type of an answer that is no JSON, beside Out or alone
	Status   int               // of success; 0 = 200
}

// Handle answers a request whose caller may make it, or says how it went wrong.
type Handle func(w http.ResponseWriter, c *Call) error

// Call is one request, with what is known of who makes it.
type Call struct {
	*http.Request
	Actor      actor.Actor
	Query      map[string][]string // of a request that is for SignedIn or TenantMember, which is read with care
	Connection *sso.Connection     // of a SCIM token
	Exempt     bool                // shows the service key where none is asked for: not counted on its address
}

// Client is what sessions and the audit log keep of the caller.
func (c *Call) Client() identity.Client {
	return identity.Client{Address: web.ClientAddress(c.Request), UserAgent: c.UserAgent(),
		RequestID: web.RequestID(c.Context()), Shared: c.Exempt}
}

// Plain serves what asks nothing of its caller, or asks for itself.
func Plain(h http.Handler) Handle {
	return func(w http.ResponseWriter, c *Call) error {
		h.ServeHTTP(w, c.Request)
		return nil
	}
}

// Success is the status of an answer that went well.
func (r *Route) Success() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// checkRoute refuses a route that is not said whole: who may call it, above all.
func (r *Route) checkRoute() error {
	missing := ""
	switch {
	case !strings.HasPrefix(r.Pattern, "/"):
		missing = "path"
	case r.Who == 0 || r.Who >= callers:
		missing = "caller"
	case r.Doc == "":
		missing = "description"
	case r.Handle == nil:
		missing = "handler"
	}
	if missing != "" {
		return fmt.Errorf("route: %s %s has no %s", r.Method, r.Pattern, missing)
	}
	return nil
}
