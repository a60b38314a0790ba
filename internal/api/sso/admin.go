package sso

import (
	"net/http"
	"strings"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// spelling is a way to write connections: the tenant's own, and the two of the
// admin API, which know one kind each.
type spelling struct {
	member string // of the list's answer
	kind   string // "" = any
	show   func(*sso.Connection) any
	draft  func(c *route.Call, making bool) (sso.Draft, error)
	find   func(a *API, c *route.Call) (*sso.Connection, error)
}

var (
	plain = spelling{"connections", "", func(c *sso.Connection) any { return c }, plainDraft, byID}
	saml  = spelling{"items", sso.SAML, asSAML, samlDraft, samlByID}
	oidc  = spelling{"providers", sso.OIDC, asCustom, customDraft, byIdentifier}
)

func plainDraft(c *route.Call, _ bool) (d sso.Draft, err error) {
	err = decodeBodyWith(web.DecodeExact, c, &d)
	return d, err
}

func byID(a *API, c *route.Call) (*sso.Connection, error) {
	return a.svc.Get(c.Context(), c.Actor, c.PathValue("id"))
}

func samlByID(a *API, c *route.Call) (*sso.Connection, error) {
	got, err := byID(a, c)
	if err == nil && got.Kind != sso.SAML {
		return nil, fault.New(fault.NotFound, "sso_provider_not_found", "SSO Identity Provider not found")
	}
	return got, err
}

func byIdentifier(a *API, c *route.Call) (*sso.Connection, error) {
	got, err := a.svc.ByIdentifier(c.Context(), c.PathValue("identifier"))
	if fault.Is(err, fault.NotFound) || err == nil && got.Kind != sso.OIDC {
		return nil, fault.New(fault.NotFound, "custom_provider_not_found", "Custom provider not found")
	}
	return got, err
}

// connections are all a tenant has, in one spelling.
type connections struct {
	*API
	spelling
}

// isShown says whether a list has the connection: an OpenID connection without
// an identifier has no name in the admin API.
func (s spelling) isShown(c *sso.Connection) bool {
	return s.kind == "" || c.Kind == s.kind && (c.Kind != sso.OIDC || c.Identifier != "")
}

func (s connections) listConnections(w http.ResponseWriter, c *route.Call) error {
	all, err := s.svc.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	out := []any{}
	for _, x := range all {
		if s.isShown(x) {
			out = append(out, s.show(x))
		}
	}
	return web.JSON(w, http.StatusOK, map[string]any{s.member: out})
}

func (s connections) createConnection(w http.ResponseWriter, c *route.Call) error {
	d, err := s.draft(c, true)
	if err != nil {
		return err
	}
	got, err := s.svc.Create(c.Context(), c.Actor, d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, s.show(got))
}

func (s connections) getConnection(w http.ResponseWriter, c *route.Call) error {
	got, err := s.find(s.API, c)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (s connections) changeConnection(w http.ResponseWriter, c *route.Call) error {
	d, err := s.draft(c, false)
	if err != nil {
		return err
	}
	got, err := s.find(s.API, c)
	if err == nil {
		got, err = s.svc.Update(c.Context(), c.Actor, got.ID, d)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (s connections) removeConnection(w http.ResponseWriter, c *route.Call) error {
	got, err := s.find(s.API, c)
	if err == nil {
		_, err = s.svc.Delete(c.Context(), c.Actor, got.ID)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (a *API) beginTest(w http.ResponseWriter, c *route.Call) error {
	loc, err := a.svc.BeginTest(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"url": loc})
}

func (a *API) scimToken(w http.ResponseWriter, c *route.Call) error {
	token, err := a.svc.TokenSCIM(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, map[string]string{"token": token, "scim_url": a.svc.SCIMBase()})
}

func (a *API) revokeSCIM(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.RevokeSCIM(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) proveDomain(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Code string `json:"code"`
	}
	if err := decodeBodyWith(web.DecodeExact, c, &in); err != nil {
		return err
	}
	var got *sso.Connection
	var err error
	if in.Code != "" {
		got, err = a.svc.ProveByCode(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("domain"),
			strings.TrimSpace(in.Code))
	} else {
		got, err = a.svc.ProveByDNS(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("domain"))
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, got)
}

func (a *API) mailCode(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.MailCode(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("domain")); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{})
}
