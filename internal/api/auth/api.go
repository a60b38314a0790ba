// Package auth is the identity service on the wire: /auth/v1 as
// @supabase/auth-js speaks it. It reads requests, calls package identity and
// writes answers; it decides nothing.
package auth

import (
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// Options are what stands around the handler.
type Options struct {
	// Limit counts an attempt of the authentication category before any
	// password is hashed. It may write headers. Nil counts nothing.
	Limit func(w http.ResponseWriter, a gate.Attempt) error
	// Session counts a request of a signed-in user, or a refresh, under the
	// API category. Nil counts nothing.
	Session func(w http.ResponseWriter, r *http.Request, a actor.Actor) error
	// Unknown counts a refresh token of no session on the client's address;
	// with came false it only asks whether another may come. Nil counts nothing.
	Unknown func(w http.ResponseWriter, r *http.Request, came bool) error
	// Code is Unknown for authorization codes that nobody has: who brings a good
	// one was counted when he set out for it.
	Code func(w http.ResponseWriter, r *http.Request, came bool) error
	// Visit counts a browser that opens a mailed link on its address, and Depart
	// one that goes to a provider, apart from attempts. Nil counts nothing.
	Visit, Depart func(w http.ResponseWriter, r *http.Request) error
	// Scopes are the words that keys of tenants may be given, sorted.
	Scopes []string
}

// API serves the routes of Routes.
type API struct {
	svc    *identity.Service
	opt    Options
	static map[string]map[string]*route // path, method
	byID   []*shape                     // paths with {id} in them
}

// prefix is where the handler is mounted; it may have been stripped.
const prefix = "/auth/v1"

// New returns the handler of /auth/v1.
func New(svc *identity.Service, o Options) http.Handler {
	a := &API{svc: svc, opt: o, static: map[string]map[string]*route{}}
	for i := range table {
		a.add(&table[i])
	}
	return web.Wrap(Shape, a.serve)
}

// shape is a path with ids in it and what is served there.
type shape struct {
	pattern string
	parts   []string
	methods map[string]*route
}

func (a *API) add(r *route) {
	if !strings.Contains(r.Pattern, "{") {
		if a.static[r.Pattern] == nil {
			a.static[r.Pattern] = map[string]*route{}
		}
		a.static[r.Pattern][r.Method] = r
		return
	}
	for _, s := range a.byID {
		if s.pattern == r.Pattern {
			s.methods[r.Method] = r
			return
		}
	}
	a.byID = append(a.byID, &shape{r.Pattern, strings.Split(r.Pattern, "/"), map[string]*route{r.Method: r}})
}

// match returns the ids in a path of this shape.
func (s *shape) match(parts []string) (ids []string, ok bool) {
	if len(parts) != len(s.parts) {
		return nil, false
	}
	for i, p := range s.parts {
		switch {
		case strings.HasPrefix(p, "{") && parts[i] != "":
			ids = append(ids, parts[i])
		case p != parts[i]:
			return nil, false
		}
	}
	return ids, true
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) error {
	return gate.Late(w, r, a.answer(w, r), a.opt.Session)
}

func (a *API) answer(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	if err := web.FewParameters(r); err != nil {
		return err
	}
	methods, ids := a.find(r.URL.Path)
	if methods == nil {
		return fault.New(fault.NotFound, "not_found", "Nothing is served at this path")
	}
	m := r.Method
	if m == http.MethodHead && methods[m] == nil {
		m = http.MethodGet
	}
	rt := methods[m]
	if rt == nil {
		return refuseMethod(w, r, methods)
	}
	if err := identity.CheckAudience(r.Header.Get("X-Jwt-Aud")); err != nil {
		return err
	}
	who, err := a.admit(r, rt)
	web.Note(w, prefix+rt.Pattern, who.TenantID, who.UserID, who.KeyID)
	if err != nil {
		return err
	}
	if rt.who != public && a.opt.Session != nil {
		if err := a.opt.Session(w, r, who); err != nil {
			if rt.who == returning {
				return a.astray(w, err)
			}
			return err
		}
	}
	c := &call{Request: web.WithActor(r, who), actor: who, exempt: rt.who == public && rt.Auth &&
		a.svc.Authenticator.ServiceKey(r.Context(), Credential(r), r.Method, prefix+rt.Pattern)}
	if len(ids) > 0 {
		if err := identity.PathIDs(rt.Pattern, ids); err != nil {
			return err
		}
		c.id, c.sub = ids[0], ids[len(ids)-1]
	}
	return rt.handle(a, w, c)
}

// call is one request with who makes it and the ids of its path: {id}, and the
// last one.
type call struct {
	*http.Request
	actor   actor.Actor
	id, sub string
	exempt  bool // shows the service key, whose attempts are not counted on its address
}

// client is what sessions and the audit log keep of the caller.
func (c *call) client() identity.Client {
	return identity.Client{Address: web.ClientAddress(c.Request), UserAgent: c.UserAgent(), RequestID: web.RequestID(c.Context()),
		Shared: c.exempt}
}

// find returns the methods of a path, and the ids in it. A trailing slash and
// the mount prefix do not matter.
func (a *API) find(path string) (map[string]*route, []string) {
	path = "/" + strings.Trim(strings.TrimPrefix(path, prefix), "/")
	if m := a.static[path]; m != nil {
		return m, nil
	}
	parts := strings.Split(path, "/")
	for _, s := range a.byID {
		if ids, ok := s.match(parts); ok {
			return s.methods, ids
		}
	}
	return nil, nil
}

func refuseMethod(w http.ResponseWriter, r *http.Request, methods map[string]*route) error {
	var list []string
	for m := range methods {
		list = append(list, m)
	}
	allow := web.Allow(list)
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return fault.New(fault.BadMethod, "method_not_allowed", "%s is not served here; use %s", r.Method, allow)
}

// admit checks the credential a route asks for. Public routes look at none:
// signed-out clients send the anonymous key, or an expired token, as bearer.
func (a *API) admit(r *http.Request, rt *route) (actor.Actor, error) {
	if rt.who.anyone() {
		return actor.Actor{Role: actor.Anon, Address: web.ClientAddress(r), RequestID: web.RequestID(r.Context())}, nil
	}
	c := Credential(r)
	if c.Bearer == "" && rt.who != service {
		// The apikey header identifies a project, never a user.
		return actor.Actor{}, noBearer()
	}
	identify := a.svc.Authenticator.Identify
	if rt.who == member {
		identify = a.svc.Authenticator.Authenticate
	}
	who, err := identify(r.Context(), c)
	if err != nil {
		return who, err
	}
	switch {
	case who.Scope != nil:
		return who, fault.New(fault.Forbidden, "not_admin", "Keys of a tenant do not reach its identities")
	case rt.who == service && who.Role == actor.Service, rt.who != service && who.UserID != "":
		return who, nil
	case rt.who != service:
		return who, fault.New(fault.Unauthorized, "bad_jwt", "invalid claim: missing sub claim")
	case c.Bearer == "" && c.APIKey == "":
		return who, noBearer()
	}
	return who, fault.New(fault.Forbidden, "not_admin", "User not allowed")
}

func noBearer() error {
	return fault.New(fault.Unauthorized, "no_authorization", "This endpoint requires a valid Bearer token")
}

// Credential reads what a request shows of itself: headers only, never the
// address bar.
func Credential(r *http.Request) identity.Credential {
	c := identity.Credential{APIKey: r.Header.Get("Apikey"), Address: web.ClientAddress(r), UserAgent: r.UserAgent(), Origin: r.Header.Get("Origin"),
		SecFetchSite: r.Header.Get("Sec-Fetch-Site"), Cookie: r.Header.Get("Cookie") != "", RequestID: web.RequestID(r.Context())}
	if h := r.Header.Get("Authorization"); len(h) > 7 && strings.EqualFold(h[:7], "bearer ") {
		c.Bearer = strings.TrimSpace(h[7:])
	}
	return c
}
