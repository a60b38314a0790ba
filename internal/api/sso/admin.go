package sso

import (
	"net/http"
	"strings"

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
	draft  func(c *call, making bool) (sso.Draft, error)
	find   func(a *API, c *call) (*sso.Connection, error)
}

var (
	plain = spelling{"connections", "", func(c *sso.Connection) any { return c }, plainDraft, byID}
	saml  = spelling{"items", sso.SAML, asSAML, samlDraft, samlByID}
	oidc  = spelling{"providers", sso.OIDC, asCustom, customDraft, byIdentifier}
)

func plainDraft(c *call, _ bool) (d sso.Draft, err error) {
	err = body(c, &d)
	return d, err
}

func byID(a *API, c *call) (*sso.Connection, error) { return a.svc.Get(c.Context(), c.actor, c.ids[0]) }

func samlByID(a *API, c *call) (*sso.Connection, error) {
	got, err := byID(a, c)
	if err == nil && got.Kind != sso.SAML {
		return nil, fault.New(fault.NotFound, "sso_provider_not_found", "SSO Identity Provider not found")
	}
	return got, err
}

func byIdentifier(a *API, c *call) (*sso.Connection, error) {
	got, err := a.svc.ByIdentifier(c.Context(), c.ids[0])
	if fault.Is(err, fault.NotFound) || err == nil && got.Kind != sso.OIDC {
		return nil, fault.New(fault.NotFound, "custom_provider_not_found", "Custom provider not found")
	}
	return got, err
}

// shows says whether a list has the connection: an OpenID connection without
// an identifier has no name in the admin API.
func (s spelling) shows(c *sso.Connection) bool {
	return s.kind == "" || c.Kind == s.kind && (c.Kind != sso.OIDC || c.Identifier != "")
}

func (s spelling) list(a *API, w http.ResponseWriter, c *call) error {
	all, err := a.svc.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	out := []any{}
	for _, x := range all {
		if s.shows(x) {
			out = append(out, s.show(x))
		}
	}
	return web.JSON(w, http.StatusOK, map[string]any{s.member: out})
}

func (s spelling) create(a *API, w http.ResponseWriter, c *call) error {
	d, err := s.draft(c, true)
	if err != nil {
		return err
	}
	got, err := a.svc.Create(c.Context(), c.actor, d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, s.show(got))
}

func (s spelling) get(a *API, w http.ResponseWriter, c *call) error {
	got, err := s.find(a, c)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (s spelling) change(a *API, w http.ResponseWriter, c *call) error {
	d, err := s.draft(c, false)
	if err != nil {
		return err
	}
	got, err := s.find(a, c)
	if err == nil {
		got, err = a.svc.Update(c.Context(), c.actor, got.ID, d)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (s spelling) remove(a *API, w http.ResponseWriter, c *call) error {
	got, err := s.find(a, c)
	if err == nil {
		_, err = a.svc.Delete(c.Context(), c.actor, got.ID)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, s.show(got))
}

func (a *API) test(w http.ResponseWriter, c *call) error {
	loc, err := a.svc.BeginTest(c.Context(), c.actor, c.ids[0])
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"url": loc})
}

func (a *API) scimToken(w http.ResponseWriter, c *call) error {
	token, err := a.svc.TokenSCIM(c.Context(), c.actor, c.ids[0])
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, map[string]string{"token": token, "scim_url": a.svc.SCIMBase()})
}

func (a *API) revokeSCIM(w http.ResponseWriter, c *call) error {
	if err := a.svc.RevokeSCIM(c.Context(), c.actor, c.ids[0]); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) prove(w http.ResponseWriter, c *call) error {
	var in struct {
		Code string `json:"code"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	var got *sso.Connection
	var err error
	if in.Code != "" {
		got, err = a.svc.ProveByCode(c.Context(), c.actor, c.ids[0], c.ids[1], strings.TrimSpace(in.Code))
	} else {
		got, err = a.svc.ProveByDNS(c.Context(), c.actor, c.ids[0], c.ids[1])
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, got)
}

func (a *API) mailCode(w http.ResponseWriter, c *call) error {
	if err := a.svc.MailCode(c.Context(), c.actor, c.ids[0], c.ids[1]); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{})
}
