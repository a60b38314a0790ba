package route

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/web"
)

// Handler serves routes, and refuses every other path in its surface's words. It
// is an error where a route is not said whole, or is there twice.
func Handler(d *Door, routes []Route) (http.Handler, error) {
	var order []*place
	paths := map[string]*place{}
	for i := range routes {
		rt := &routes[i]
		if err := rt.check(); err != nil {
			return nil, err
		}
		at := rt.Pattern
		if rt.Beside {
			at = rt.Method + " " + rt.Pattern
		}
		p := paths[at]
		if p == nil {
			p = &place{door: d, pattern: rt.Pattern, surface: surfaceOf(rt.Pattern), names: wildcards(rt.Pattern), at: at}
			paths[at] = p
			order = append(order, p)
		}
		if p.route(rt.Method) != nil {
			return nil, fmt.Errorf("route: %s %s is there twice", rt.Method, rt.Pattern)
		}
		p.routes = append(p.routes, rt)
	}
	mux := http.NewServeMux()
	for _, p := range order {
		p.mount(mux)
	}
	for nowhere, shape := range map[string]web.Shape{"/": CollectionShape, "/functions/v1": FunctionShape, "/auth/v1": IdentityShape} {
		mux.Handle(nowhere, web.Wrap(shape, func(http.ResponseWriter, *http.Request) error { return surfaceOf("/").lost() }))
	}
	for _, nowhere := range []string{"/auth/v1/", "/auth/v1/scim", "/auth/v1/scim/"} {
		p := &place{door: d, pattern: nowhere, surface: surfaceOf(nowhere), at: nowhere}
		p.mount(mux)
	}
	return straight(mux), nil
}

// place is one path and what is served there.
type place struct {
	door    *Door
	pattern string // what the log calls it
	at      string // its pattern in the mux
	surface *surface
	names   []string // of the wildcards, in order
	routes  []*Route // one for each method
}

// mount puts a path onto a mux. What the mux would redirect is served alike: a
// prefix without its slash, and a path of identity with one.
func (p *place) mount(mux *http.ServeMux) {
	h := web.Wrap(p.surface.shape, p.serve)
	mux.Handle(p.at, h)
	bare := strings.TrimSuffix(p.at, "/{$}")
	if bare != p.at && bare != "" {
		mux.Handle(bare, h)
	} else if p.surface.identity && !strings.HasSuffix(p.at, "/") && p.routes != nil {
		mux.Handle(p.at+"/{$}", h)
	}
}

// route is what serves a method; nil where nothing does.
func (p *place) route(method string) *Route {
	for _, rt := range p.routes {
		if rt.Method == method || rt.Method == "" {
			return rt
		}
	}
	if method == http.MethodHead {
		return p.route(http.MethodGet)
	}
	return nil
}

func (p *place) serve(w http.ResponseWriter, r *http.Request) error {
	err := p.answer(w, r)
	if !p.surface.identity {
		return err
	}
	return gate.Late(w, r, err, p.door.Windows.Session)
}

func (p *place) answer(w http.ResponseWriter, r *http.Request) error {
	if err := p.surface.demands(w, r); err != nil {
		return err
	}
	if p.routes == nil || p.lost(r) {
		return p.surface.lost()
	}
	rt := p.route(r.Method)
	if rt == nil {
		return p.refuse(w, r)
	}
	if err := p.surface.audience(r); err != nil {
		return err
	}
	c := &Call{Request: r}
	err := p.door.admit(w, c, rt)
	if rt.Method != "" {
		web.Note(w, p.pattern, c.Actor.TenantID, c.Actor.UserID, c.Actor.KeyID)
	}
	if err != nil && rt.Who == Returning {
		return Astray(w, p.door.Identity, err)
	}
	if err != nil {
		return err
	}
	if p.surface.identity {
		c.Request = web.WithActor(r, c.Actor)
		if err := p.ids(c, rt); err != nil {
			return err
		}
	}
	return rt.Handle(w, c)
}

// refuse answers a method that the path does not serve.
func (p *place) refuse(w http.ResponseWriter, r *http.Request) error {
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

// lost reports a segment of identity's that holds an escaped slash: no id does.
func (p *place) lost(r *http.Request) bool {
	for _, name := range p.names {
		if p.surface.identity && strings.Contains(r.PathValue(name), "/") {
			return true
		}
	}
	return false
}

// ids refuses what is no id where one is asked for, in a path of identity, and
// writes ids one way. What browsers are led to answers with a redirect,
// directories by RFC 7644.
func (p *place) ids(c *Call, rt *Route) error {
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

// wildcards are the names in a pattern, in order.
func wildcards(pattern string) []string {
	var names []string
	for part := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok && name != "$}" {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}

// straight answers what http.ServeMux would redirect, in HTML: a path that is
// not written as the routes are is served by nobody, and its error is its
// surface's.
func straight(next http.Handler) http.Handler {
	lost := web.Wrap(Shape, func(_ http.ResponseWriter, r *http.Request) error {
		return fault.New(fault.NotFound, "PGRST125", "nothing is served at this path").With("", "write it without empty or dotted segments: "+clean(r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; !plain(p) && p != clean(p) {
			lost.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// plain reports a path without anything that clean could change, which most are.
func plain(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
}

// clean is a path as http.ServeMux wants it: no empty and no dotted segments,
// the last slash kept.
func clean(p string) string {
	if p == "" || p == "*" {
		return p
	}
	out := path.Clean("/" + p)
	if out != "/" && strings.HasSuffix(p, "/") {
		out += "/"
	}
	return out
}
