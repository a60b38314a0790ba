package route

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/web"
)

// Handler serves routes, and refuses every other path in its surface's words. It
// is an error where a route is not said whole, or is there twice.
func Handler(d *Authenticator, routes []Route) (http.Handler, error) {
	var order []*place
	paths := map[string]*place{}
	for i := range routes {
		rt := &routes[i]
		if err := rt.checkRoute(); err != nil {
			return nil, err
		}
		at := rt.Pattern
		if rt.Beside {
			at = rt.Method + " " + rt.Pattern
		}
		p := paths[at]
		if p == nil {
			p = &place{door: d, pattern: rt.Pattern, surface: surfaceOf(rt.Pattern), names: wildcardNames(rt.Pattern), at: at}
			paths[at] = p
			order = append(order, p)
		}
		if p.routeFor(rt.Method) != nil {
			return nil, fmt.Errorf("route: %s %s is there twice", rt.Method, rt.Pattern)
		}
		p.routes = append(p.routes, rt)
	}
	mux := http.NewServeMux()
	for _, p := range order {
		p.mountPath(mux)
	}
	for _, nowhere := range unserved {
		d.placeAt(nowhere).mountPath(mux)
	}
	return d.serveCleanPaths(mux), nil
}

// place is one path and what is served there.
type place struct {
	door    *Authenticator
	pattern string // what the log calls it
	at      string // its pattern in the mux
	surface *surface
	names   []string // of the wildcards, in order
	routes  []*Route // one for each method
}

// unserved are paths below which nothing is served but what has a route.
var unserved = []string{"/", "/functions", "/functions/", "/functions/v1", "/functions/v1/", "/auth", "/auth/",
	"/auth/v1", "/auth/v1/", "/auth/v1/scim", "/auth/v1/scim/"}

// placeAt is a path that nothing is served at.
func (d *Authenticator) placeAt(pattern string) *place {
	return &place{door: d, pattern: pattern, surface: surfaceOf(pattern), at: pattern}
}

// mountPath puts a path onto a mux. What the mux would redirect is served alike: a
// prefix without its slash, and a path of identity with one.
func (p *place) mountPath(mux *http.ServeMux) {
	h := web.Wrap(p.surface.shape, p.servePath)
	mux.Handle(p.at, h)
	bare := strings.TrimSuffix(p.at, "/{$}")
	if bare != p.at && bare != "" {
		mux.Handle(bare, h)
	} else if p.surface.identity && !strings.HasSuffix(p.at, "/") && p.routes != nil {
		mux.Handle(p.at+"/{$}", h)
	}
}

// routeFor is what serves a method; nil where nothing does.
func (p *place) routeFor(method string) *Route {
	for _, rt := range p.routes {
		if rt.Method == method || rt.Method == "" {
			return rt
		}
	}
	if method == http.MethodHead {
		return p.routeFor(http.MethodGet)
	}
	return nil
}

func (p *place) servePath(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodOptions {
		if over := p.countUncounted(w, r); over != nil {
			return over
		}
	}
	err := p.answerCall(w, r)
	if err == nil {
		return nil
	}
	if over := p.countUncounted(w, r); over != nil {
		return over
	}
	return err
}

// countUncounted counts a request that nothing else counts: one that is refused
// before its caller is known, or that only asks for methods. Every answer says
// what is left, whatever it is.
func (p *place) countUncounted(w http.ResponseWriter, r *http.Request) error {
	switch {
	case access.IsCounted(w):
		return nil
	case p.surface.identity && p.door.Windows.Session != nil:
		return p.door.Windows.Session(w, r, actor.Actor{Role: actor.Anon})
	case !p.surface.identity && p.door.Gate != nil:
		return p.door.Gate.Count(w, r)
	}
	return nil
}

func (p *place) answerCall(w http.ResponseWriter, r *http.Request) error {
	if err := web.CheckHeaders(r); err != nil {
		return err
	}
	if err := p.surface.checkDemands(w, r); err != nil {
		return err
	}
	if p.routes == nil || p.hasEscapedSlash(r) {
		return p.surface.notFoundFault()
	}
	rt := p.routeFor(r.Method)
	if rt == nil {
		return p.refuseMethod(w, r)
	}
	if err := p.surface.checkAudience(r); err != nil {
		return err
	}
	c := &Call{Request: r}
	err := p.door.admitCaller(w, c, rt)
	if rt.Method != "" {
		web.Note(w, p.pattern, c.Actor.TenantID, c.Actor.UserID, c.Actor.KeyID)
	}
	if err != nil && rt.Who == Returning {
		return RedirectOnError(w, p.door.Identity, err)
	}
	if err != nil {
		return err
	}
	if p.surface.identity {
		c.Request = web.WithActor(r, c.Actor)
		if err := p.checkIDs(c, rt); err != nil {
			return err
		}
	}
	return rt.Handle(w, c)
}

// refuseMethod answers a method that the path does not serve.
func (p *place) refuseMethod(w http.ResponseWriter, r *http.Request) error {
	served := make([]string, len(p.routes))
	for i, rt := range p.routes {
		served[i] = rt.Method
	}
	w.Header().Set("Allow", web.Allow(served))
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return p.surface.badMethod(r, served)
}

// hasEscapedSlash reports a segment of identity's that holds an escaped slash: no id does.
func (p *place) hasEscapedSlash(r *http.Request) bool {
	for _, name := range p.names {
		if p.surface.identity && strings.Contains(r.PathValue(name), "/") {
			return true
		}
	}
	return false
}

// checkIDs refuses what is no id where one is asked for, in a path of identity, and
// writes ids one way. What browsers are led to answers with a redirect,
// directories by RFC 7644.
func (p *place) checkIDs(c *Call, rt *Route) error {
	if rt.Names || rt.Who == Returning || rt.Who == Provisioner || len(p.names) == 0 {
		return nil
	}
	values := make([]string, len(p.names))
	for i, name := range p.names {
		values[i] = c.PathValue(name)
	}
	if err := accounts.PathIDs(rt.Pattern, values); err != nil {
		return err
	}
	for i, name := range p.names {
		c.SetPathValue(name, values[i])
	}
	return nil
}

// wildcardNames are the names in a pattern, in order.
func wildcardNames(pattern string) []string {
	var names []string
	for part := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok && name != "$}" {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}

// serveCleanPaths answers what http.ServeMux would redirect, in HTML: a path that is
// not written as the routes are is served by nobody, and its error is its
// surface's.
func (d *Authenticator) serveCleanPaths(next http.Handler) http.Handler {
	lost := web.Wrap(Shape, func(w http.ResponseWriter, r *http.Request) error {
		if over := d.placeAt(r.URL.Path).countUncounted(w, r); over != nil {
			return over
		}
		return fault.New(fault.NotFound, "PGRST125", "nothing is served at this path").With("",
			"write it without empty or dotted segments: "+cleanPath(r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; !isPlainPath(p) && p != cleanPath(p) {
			lost.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isPlainPath reports a path without anything that clean could change, which most are.
func isPlainPath(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
}

// cleanPath is a path as http.ServeMux wants it: no empty and no dotted segments,
// the last slash kept.
func cleanPath(p string) string {
	if p == "" || p == "*" {
		return p
	}
	out := path.Clean("/" + p)
	if out != "/" && strings.HasSuffix(p, "/") {
		out += "/"
	}
	return out
}
