// Package sso is enterprise sign-in on the wire: /auth/v1/sso, its
// administration, and SCIM 2.0. It stands beside the other identity endpoints
// and hands on what is not its own.
package sso

import (
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// Options are what stands around the handler.
type Options struct {
	Shape      web.Shape                                                         // error bodies of /auth/v1
	Credential func(r *http.Request) identity.Credential                         // what a request shows of itself
	Next       http.Handler                                                      // serves every other path of /auth/v1
	Limit      func(w http.ResponseWriter, a gate.Attempt) error                 // counts an attempt; nil counts nothing
	Depart     func(w http.ResponseWriter, r *http.Request) error                // counts a browser that goes to a provider; nil counts nothing
	Session    func(w http.ResponseWriter, r *http.Request, a actor.Actor) error // counts a request under the API category; nil counts nothing
}

// API serves the routes of Routes.
type API struct {
	svc   *sso.Service
	ident *identity.Service
	opt   Options
}

// prefix is where the handler is mounted; it may have been stripped.
const prefix = "/auth/v1"

const maxBody = 1 << 20

// New returns the handler.
func New(svc *sso.Service, ident *identity.Service, o Options) http.Handler {
	a := &API{svc, ident, o}
	auth, scim := web.Wrap(o.Shape, a.serve), web.Wrap(scimShape, a.serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := split(r.URL.Path)
		switch {
		case parts[0] == "scim":
			scim.ServeHTTP(w, r)
		case len(find(parts)) > 0, parts[0] == "authorize" && a.custom(r.URL.Query().Get("provider")):
			auth.ServeHTTP(w, r)
		default:
			o.Next.ServeHTTP(w, r)
		}
	})
}

// custom reports a name that only a connection may have: no tenant's takes the
// place of a provider of the configuration.
func (a *API) custom(provider string) bool {
	return strings.HasPrefix(provider, "custom:") && !a.ident.OAuth.Configured(provider)
}

func split(path string) []string {
	return strings.Split(strings.Trim(strings.TrimPrefix(path, prefix), "/"), "/")
}

// find returns the routes of a path, one to a method.
func find(parts []string) []*route {
	var out []*route
	for i := range table {
		if table[i].matches(parts) {
			out = append(out, &table[i])
		}
	}
	return out
}

func (rt *route) matches(parts []string) bool {
	if strings.Count(rt.Pattern, "/") != len(parts) {
		return false // most requests are another face's, and should not pay for this one
	}
	for i, p := range split(rt.Pattern) {
		if p != parts[i] && !(strings.HasPrefix(p, "{") && parts[i] != "") {
			return false
		}
	}
	return true
}

// call is one request: who makes it, and the ids of its path in order.
type call struct {
	*http.Request
	actor actor.Actor
	conn  *sso.Connection // of a SCIM token
	ids   []string
	sel   selection // of SCIM attributes
}

func (c *call) client() identity.Client {
	return identity.Client{Address: web.ClientAddress(c.Request), UserAgent: c.UserAgent(), RequestID: web.RequestID(c.Context())}
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) error {
	return gate.Late(w, r, a.answer(w, r), a.opt.Session)
}

func (a *API) answer(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	if err := web.FewParameters(r); err != nil {
		return err
	}
	parts := split(r.URL.Path)
	routes := find(parts)
	if parts[0] == "authorize" {
		routes = []*route{&custom}
	}
	if len(routes) == 0 {
		return fault.New(fault.NotFound, "not_found", "Nothing is served at this path")
	}
	var rt *route
	var methods []string
	for _, x := range routes {
		methods = append(methods, x.Method)
		if x.Method == r.Method || r.Method == http.MethodHead && x.Method == http.MethodGet {
			rt = x
		}
	}
	if rt == nil {
		w.Header().Set("Allow", web.Allow(methods))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return fault.New(fault.BadMethod, "method_not_allowed", "%s is not served here; use %s", r.Method, web.Allow(methods))
	}
	c := &call{Request: r}
	for i, p := range split(rt.Pattern) {
		if strings.HasPrefix(p, "{") {
			c.ids = append(c.ids, parts[i])
		}
	}
	if err := identity.CheckAudience(r.Header.Get("X-Jwt-Aud")); err != nil {
		return err
	}
	err := a.admit(w, c, rt)
	web.Note(w, prefix+rt.Pattern, c.actor.TenantID, c.actor.UserID, c.actor.KeyID)
	if err != nil && rt.who == returning {
		return a.astray(w, err)
	}
	if err != nil {
		return err
	}
	if !a.svc.SAML() && strings.HasPrefix(rt.Pattern, "/admin/sso/") {
		return samlOff()
	}
	// What browsers are led to answers with a redirect, directories by RFC 7644, and
	// where providers are found, which GoTrue names by resource ids too, none is.
	if rt.who == administrator || rt.who == service && !strings.HasPrefix(rt.Pattern, "/admin/sso/") {
		if err := identity.PathIDs(rt.Pattern, c.ids); err != nil {
			return err
		}
	}
	return rt.handle(a, w, c)
}

func samlOff() error {
	return fault.New(fault.NotFound, "saml_provider_disabled", "SAML 2.0 is disabled")
}

// admit checks the credential that a route asks for, and counts the request.
func (a *API) admit(w http.ResponseWriter, c *call, rt *route) error {
	switch rt.who {
	case attempt:
		many := a.ident.Authenticator.ServiceKey(c.Context(), a.opt.Credential(c.Request), c.Method, prefix+rt.Pattern)
		if a.opt.Limit == nil {
			return nil
		}
		return a.opt.Limit(w, gate.Attempt{Address: web.ClientAddress(c.Request), Many: many, Secret: true})
	case departure:
		if a.opt.Depart == nil {
			return nil
		}
		return a.opt.Depart(w, c.Request)
	case public, returning:
		c.actor = actor.Actor{Role: actor.Anon, Address: web.ClientAddress(c.Request)}
		return a.count(w, c)
	case provisioner:
		return a.admitSCIM(w, c)
	}
	cred := a.opt.Credential(c.Request)
	who, err := a.ident.Authenticator.Authenticate(c.Context(), cred)
	if err != nil {
		return err
	}
	c.actor = who
	switch {
	case who.Anonymous():
		return fault.New(fault.Unauthorized, "no_authorization", "This endpoint requires a valid Bearer token")
	case who.Role == actor.Service:
	case who.Scope != nil:
		return fault.New(fault.Forbidden, "not_admin", "Keys of a tenant do not reach its identities")
	case rt.who == service, !who.Administrator(), who.TenantID == "":
		return fault.New(fault.Forbidden, "not_admin", "User not allowed")
	case who.Suspended && rt.Method != http.MethodGet:
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	case rt.Method != http.MethodGet:
		if err := a.ident.Proofs.Admit(who); err != nil {
			return err
		}
	}
	return a.count(w, c)
}

func (a *API) count(w http.ResponseWriter, c *call) error {
	if a.opt.Session == nil {
		return nil
	}
	return a.opt.Session(w, c.Request, c.actor)
}

// admitSCIM finds the connection of a bearer token; it is no user's token and
// opens nothing but SCIM.
func (a *API) admitSCIM(w http.ResponseWriter, c *call) error {
	h := c.Header.Get("Authorization")
	if len(h) < 8 || !strings.EqualFold(h[:7], "bearer ") {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return fault.New(fault.Unauthorized, "no_authorization", "This endpoint requires a SCIM token")
	}
	conn, plan, err := a.svc.BySCIMToken(c.Context(), strings.TrimSpace(h[7:]))
	if err != nil {
		if a.opt.Limit != nil && fault.Is(err, fault.Unauthorized) {
			if over := a.opt.Limit(w, gate.Attempt{Address: web.ClientAddress(c.Request)}); over != nil {
				return over
			}
		}
		return err
	}
	c.conn = conn
	c.actor = actor.Actor{TenantID: conn.TenantID, Plan: plan, KeyID: "scim:" + conn.ID, Address: web.ClientAddress(c.Request),
		RequestID: web.RequestID(c.Context())}
	if err := a.count(w, c); err != nil {
		return err
	}
	c.sel, err = parseSelection(c)
	return err
}

// body reads one JSON object; an absent one leaves v alone.
func body(c *call, v any) error {
	err := web.Decode(c.Request, maxBody, v)
	if f := fault.As(err); err != nil && f.Kind == fault.Invalid {
		out := *f
		out.Code = "bad_json"
		return &out
	}
	return err
}
