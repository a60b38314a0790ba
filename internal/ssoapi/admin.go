package ssoapi

import (
	"net/http"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/stamp"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

func (a *API) list(w http.ResponseWriter, c *call) error {
	list, err := a.svc.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	if list == nil {
		list = []*sso.Connection{}
	}
	return web.JSON(w, http.StatusOK, map[string]any{"connections": list})
}

func (a *API) create(w http.ResponseWriter, c *call) error {
	var d sso.Draft
	if err := body(c, &d); err != nil {
		return err
	}
	got, err := a.svc.Create(c.Context(), c.actor, d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, got)
}

func (a *API) get(w http.ResponseWriter, c *call) error {
	got, err := a.svc.Get(c.Context(), c.actor, c.ids[0])
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, got)
}

func (a *API) change(w http.ResponseWriter, c *call) error {
	var d sso.Draft
	if err := body(c, &d); err != nil {
		return err
	}
	got, err := a.svc.Update(c.Context(), c.actor, c.ids[0], d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, got)
}

func (a *API) remove(w http.ResponseWriter, c *call) error {
	got, err := a.svc.Delete(c.Context(), c.actor, c.ids[0])
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, got)
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

// samlProvider is a SAML connection in the form of the admin API.
type samlProvider struct {
	ID       string      `json:"id"`
	TenantID string      `json:"tenant_id"`
	SAML     samlPart    `json:"saml"`
	Domains  []domainRef `json:"domains"`
	Disabled bool        `json:"disabled"`
	Created  stamp.Time  `json:"created_at"`
	Updated  stamp.Time  `json:"updated_at"`
}

type samlPart struct {
	EntityID     string      `json:"entity_id"`
	MetadataXML  string      `json:"metadata_xml"`
	MetadataURL  string      `json:"metadata_url,omitempty"`
	Mapping      sso.Mapping `json:"attribute_mapping"`
	NameIDFormat string      `json:"name_id_format,omitempty"`
}

type domainRef struct {
	Domain string `json:"domain"`
}

func asSAML(c *sso.Connection) samlProvider {
	return samlProvider{ID: c.ID, TenantID: c.TenantID, SAML: samlPart{c.Issuer, c.MetadataXML, c.MetadataURL, c.Mapping, c.NameIDFormat}, Domains: refs(c), Disabled: c.Disabled,
		Created: c.CreatedAt, Updated: c.UpdatedAt}
}

func refs(c *sso.Connection) []domainRef {
	out := []domainRef{}
	for _, d := range c.Domains {
		out = append(out, domainRef{d.Domain})
	}
	return out
}

// samlBody is the admin API's spelling of a draft.
type samlBody struct {
	Type string `json:"type"`
	sso.Draft
}

func (b *samlBody) draft() (sso.Draft, error) {
	if b.Type != "" && b.Type != "saml" {
		return b.Draft, fault.New(fault.Invalid, "validation_failed", "Only 'saml' is a type here; OpenID providers are under /admin/custom-providers")
	}
	kind := sso.SAML
	b.Kind = &kind
	return b.Draft, nil
}

func (a *API) listSAML(w http.ResponseWriter, c *call) error {
	list, err := a.svc.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	items := []samlProvider{}
	for _, x := range list {
		if x.Kind == sso.SAML {
			items = append(items, asSAML(x))
		}
	}
	return web.JSON(w, http.StatusOK, map[string]any{"items": items})
}

func (a *API) createSAML(w http.ResponseWriter, c *call) error {
	var in samlBody
	if err := body(c, &in); err != nil {
		return err
	}
	if in.Type != "saml" {
		return fault.New(fault.Invalid, "validation_failed", "type must be saml")
	}
	d, err := in.draft()
	if err != nil {
		return err
	}
	got, err := a.svc.Create(c.Context(), c.actor, d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, asSAML(got))
}

// ofKind returns a connection that the route's form can show.
func (a *API) ofKind(c *call, kind string) (*sso.Connection, error) {
	if kind == sso.OIDC {
		got, err := a.svc.ByIdentifier(c.Context(), c.ids[0])
		if fault.Is(err, fault.NotFound) || err == nil && got.Kind != kind {
			return nil, fault.New(fault.NotFound, "custom_provider_not_found", "Custom provider not found")
		}
		return got, err
	}
	got, err := a.svc.Get(c.Context(), c.actor, c.ids[0])
	if err == nil && got.Kind != kind {
		return nil, fault.New(fault.NotFound, "sso_provider_not_found", "SSO Identity Provider not found")
	}
	return got, err
}

func (a *API) getSAML(w http.ResponseWriter, c *call) error {
	got, err := a.ofKind(c, sso.SAML)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asSAML(got))
}

func (a *API) changeSAML(w http.ResponseWriter, c *call) error {
	var in samlBody
	if err := body(c, &in); err != nil {
		return err
	}
	d, err := in.draft()
	if err != nil {
		return err
	}
	got, err := a.svc.Update(c.Context(), c.actor, c.ids[0], d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asSAML(got))
}

func (a *API) removeSAML(w http.ResponseWriter, c *call) error {
	got, err := a.ofKind(c, sso.SAML)
	if err == nil {
		_, err = a.svc.Delete(c.Context(), c.actor, got.ID)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asSAML(got))
}

// customProvider is an OpenID connection in the form of the admin API.
type customProvider struct {
	ID          string      `json:"id"`
	TenantID    string      `json:"tenant_id"`
	Type        string      `json:"provider_type"`
	Identifier  string      `json:"identifier"`
	Name        string      `json:"name"`
	ClientID    string      `json:"client_id"`
	Issuer      string      `json:"issuer"`
	Discovery   string      `json:"discovery_url"`
	Scopes      []string    `json:"scopes"`
	PKCE        bool        `json:"pkce_enabled"`
	Mapping     sso.Mapping `json:"attribute_mapping"`
	Enabled     bool        `json:"enabled"`
	Domains     []domainRef `json:"domains"`
	CallbackURL string      `json:"callback_url"`
	Created     stamp.Time  `json:"created_at"`
	Updated     stamp.Time  `json:"updated_at"`
}

func asCustom(c *sso.Connection) customProvider {
	return customProvider{ID: c.ID, TenantID: c.TenantID, Type: "oidc", Identifier: c.Identifier, Name: c.Name, ClientID: c.ClientID, Issuer: c.Issuer, Discovery: discovery(c.Issuer),
		Scopes: c.Scopes, PKCE: true, Mapping: c.Mapping, Enabled: !c.Disabled, Domains: refs(c), CallbackURL: c.ServiceAddress.Callback, Created: c.CreatedAt, Updated: c.UpdatedAt}
}

func discovery(issuer string) string {
	return strings.TrimRight(issuer, "/") + "/.well-known/openid-configuration"
}

// customBody is the admin API's spelling of a draft. What would weaken a
// sign-in is understood, and refused.
type customBody struct {
	Type          string         `json:"provider_type"`
	Discovery     string         `json:"discovery_url"`
	PKCE          *bool          `json:"pkce_enabled"`
	Enabled       *bool          `json:"enabled"`
	EmailOptional bool           `json:"email_optional"`
	SkipNonce     bool           `json:"skip_nonce_check"`
	Params        map[string]any `json:"authorization_params"`
	sso.Draft
}

func (b *customBody) draft() (sso.Draft, error) {
	refuse := func(msg string) (sso.Draft, error) {
		return b.Draft, fault.New(fault.Invalid, "validation_failed", "%s", msg)
	}
	switch {
	case b.Type != "" && b.Type != "oidc":
		return refuse("provider_type must be oidc: plain OAuth 2 does not say verifiably who signed in")
	case b.PKCE != nil && !*b.PKCE, b.SkipNonce, b.EmailOptional:
		return refuse("pkce_enabled stays on; skip_nonce_check and email_optional stay off")
	case len(b.Params) > 0:
		return refuse("authorization_params are not taken")
	case b.Discovery != "" && (b.Issuer == nil || b.Discovery != discovery(*b.Issuer)):
		return refuse("discovery_url must be the issuer's own /.well-known/openid-configuration")
	}
	kind := sso.OIDC
	b.Kind = &kind
	if b.Enabled != nil {
		off := !*b.Enabled
		b.Disabled = &off
	}
	return b.Draft, nil
}

func (a *API) listCustom(w http.ResponseWriter, c *call) error {
	list, err := a.svc.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	out := []customProvider{}
	for _, x := range list {
		if x.Kind == sso.OIDC && x.Identifier != "" {
			out = append(out, asCustom(x))
		}
	}
	return web.JSON(w, http.StatusOK, map[string]any{"providers": out})
}

func (a *API) createCustom(w http.ResponseWriter, c *call) error {
	var in customBody
	if err := body(c, &in); err != nil {
		return err
	}
	d, err := in.draft()
	if err != nil {
		return err
	}
	if d.Identifier == nil || *d.Identifier == "" {
		return fault.New(fault.Invalid, "validation_failed", "identifier is required")
	}
	got, err := a.svc.Create(c.Context(), c.actor, d)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, asCustom(got))
}

func (a *API) getCustom(w http.ResponseWriter, c *call) error {
	got, err := a.ofKind(c, sso.OIDC)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asCustom(got))
}

func (a *API) changeCustom(w http.ResponseWriter, c *call) error {
	var in customBody
	if err := body(c, &in); err != nil {
		return err
	}
	d, err := in.draft()
	if err != nil {
		return err
	}
	got, err := a.ofKind(c, sso.OIDC)
	if err == nil {
		got, err = a.svc.Update(c.Context(), c.actor, got.ID, d)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asCustom(got))
}

func (a *API) removeCustom(w http.ResponseWriter, c *call) error {
	got, err := a.ofKind(c, sso.OIDC)
	if err == nil {
		_, err = a.svc.Delete(c.Context(), c.actor, got.ID)
	}
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, asCustom(got))
}
