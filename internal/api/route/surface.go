package route

import (
	"net/http"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/web"
)

// A surface is a part of the address space whose clients know one form of error.
// What an error's code and status are is its fault's (fault.Error, web.Status,
// accounts.WireCode); here is how each surface writes them.
type surface struct {
	prefix string // of its paths
	shape  web.Shape
	// identity says that a surface is GoTrue's or SCIM's: no answer is kept, one
	// audience is served, and every answer says what is left, a refusal too.
	identity bool
}

// surfaces are all of them; a path belongs to the first whose prefix it has.
var surfaces = []surface{
	{"/auth/v1/scim/", SCIMShape, true},
	{"/auth/", IdentityShape, true},
	{"/functions/", FunctionShape, false},
	{"/", CollectionShape, false},
}

func surfaceOf(path string) *surface {
	for i := range surfaces {
		if prefix := surfaces[i].prefix; strings.HasPrefix(path, prefix) || path == "/auth/v1/scim" &&
			prefix == "/auth/v1/scim/" {
			return &surfaces[i]
		}
	}
	return &surfaces[len(surfaces)-1]
}

// Shape writes a fault as the surface of the request's path does.
func Shape(r *http.Request, e *fault.Error) web.Reply { return surfaceOf(r.URL.Path).shape(r, e) }

// checkDemands are what a surface asks of every request, whoever makes it.
func (s *surface) checkDemands(w http.ResponseWriter, r *http.Request) error {
	if !s.identity {
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.FewParameters(r)
}

// checkAudience refuses a caller who is meant for somebody else's server.
func (s *surface) checkAudience(r *http.Request) error {
	if !s.identity {
		return nil
	}
	return sessions.CheckAudience(r.Header.Get("X-Jwt-Aud"))
}

// notFoundFault is the fault of a path that nothing is served at.
func (s *surface) notFoundFault() error {
	if s.identity {
		return fault.New(fault.NotFound, "not_found", "Nothing is served at this path")
	}
	return fault.New(fault.NotFound, "PGRST125", "nothing is served at this path").
		With("", "the API is under /v1, /rest/v1, /functions/v1 and /auth/v1; /openapi.json lists it")
}

// badMethod is the fault of a method that a path does not serve. The header Allow
// is set.
func (s *surface) badMethod(r *http.Request, served []string) error {
	if s.identity {
		return fault.New(fault.BadMethod, "method_not_allowed", "%s is not served here; use %s", r.Method, web.Allow(served))
	}
	return fault.New(fault.BadMethod, "PGRST117", "%s is not served here; use %s", r.Method, strings.Join(served, ", "))
}
