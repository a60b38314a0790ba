// Package sso is enterprise sign-in on the wire: /auth/v1/sso, its
// administration, and SCIM 2.0.
//
// Layer: endpoints. Begin at [New].
package sso

import (
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// API answers on the routes of Routes.
type API struct {
	svc   *sso.Service
	ident *identity.Service
}

const maxBody = 1 << 20

// New returns what answers for a service.
func New(svc *sso.Service, ident *identity.Service) *API { return &API{svc, ident} }

func samlOff() error {
	return fault.New(fault.NotFound, "saml_provider_disabled", "SAML 2.0 is disabled")
}

// withSAML serves h where SAML is on.
func (a *API) withSAML(h route.Handle) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		if !a.svc.SAML() {
			return samlOff()
		}
		return h(w, c)
	}
}

// scimCall is a directory's request, with what it wants to see of an answer.
type scimCall struct {
	*route.Call
	sel selection
}

// serveDirectory serves a directory's requests.
func (a *API) serveDirectory(h func(*API, http.ResponseWriter, *scimCall) error) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		sel, err := parseSelection(c)
		if err != nil {
			return err
		}
		return h(a, w, &scimCall{c, sel})
	}
}

// decodeBody reads one JSON object; an absent one leaves v alone, and members that
// are not known are ignored as GoTrue ignores them.
func decodeBody(c *route.Call, v any) error { return decodeBodyWith(web.Decode, c, v) }

// decodeBodyWith is decodeBody by web.Decode or by web.DecodeExact.
func decodeBodyWith(decode func(*http.Request, int64, any) error, c *route.Call, v any) error {
	err := decode(c.Request, maxBody, v)
	if f := fault.As(err); err != nil && f.Kind == fault.Invalid {
		out := *f
		out.Code = "bad_json"
		return &out
	}
	return err
}
