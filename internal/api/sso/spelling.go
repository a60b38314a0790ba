package sso

import (
	"strings"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/sso"
)

// samlProvider is a SAML connection in the form of the admin API.
type samlProvider struct {
	ID       string          `json:"id"`
	Resource string          `json:"resource_id,omitempty"`
	TenantID string          `json:"tenant_id"`
	SAML     samlPart        `json:"saml"`
	Domains  []domainRef     `json:"domains"`
	Disabled bool            `json:"disabled"`
	Created  gotruetime.Time `json:"created_at"`
	Updated  gotruetime.Time `json:"updated_at"`
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

func asSAML(c *sso.Connection) any {
	return samlProvider{ID: c.ID, Resource: c.ResourceID, TenantID: c.TenantID,
		SAML: samlPart{c.Issuer, c.MetadataXML, c.MetadataURL, c.Mapping, c.NameIDFormat}, Domains: domainRefs(c),
		Disabled: c.Disabled,
		Created:  c.CreatedAt, Updated: c.UpdatedAt}
}

func domainRefs(c *sso.Connection) []domainRef {
	out := []domainRef{}
	for _, d := range c.Domains {
		out = append(out, domainRef{d.Domain})
	}
	return out
}

// samlBody is the admin API's spelling of a SAML draft.
type samlBody struct {
	Type string `json:"type"`
	sso.Draft
}

func samlDraft(c *route.Call, making bool) (sso.Draft, error) {
	var in samlBody
	if err := decodeBody(c, &in); err != nil {
		return in.Draft, err
	}
	if making && in.Type != "saml" {
		return in.Draft, fault.New(fault.Invalid, "validation_failed", "type must be saml")
	}
	if in.Type != "" && in.Type != "saml" {
		return in.Draft, fault.New(fault.Invalid, "validation_failed",
			"Only 'saml' is a type here; OpenID providers are under /admin/custom-providers")
	}
	kind := sso.SAML
	in.Kind = &kind
	return in.Draft, nil
}

// customProvider is an OpenID connection in the form of the admin API.
type customProvider struct {
	ID          string            `json:"id"`
	TenantID    string            `json:"tenant_id"`
	Type        string            `json:"provider_type"`
	Identifier  string            `json:"identifier"`
	Name        string            `json:"name"`
	ClientID    string            `json:"client_id"`
	Issuer      string            `json:"issuer"`
	Discovery   string            `json:"discovery_url"`
	Scopes      []string          `json:"scopes"`
	PKCE        bool              `json:"pkce_enabled"`
	Mapping     sso.Mapping       `json:"attribute_mapping"`
	Params      map[string]string `json:"authorization_params"`
	Enabled     bool              `json:"enabled"`
	Domains     []domainRef       `json:"domains"`
	CallbackURL string            `json:"callback_url"`
	Created     gotruetime.Time   `json:"created_at"`
	Updated     gotruetime.Time   `json:"updated_at"`
}

func asCustom(c *sso.Connection) any {
	return customProvider{ID: c.ID, TenantID: c.TenantID, Type: "oidc", Identifier: c.Identifier, Name: c.Name,
		ClientID: c.ClientID, Issuer: c.Issuer, Discovery: discoveryURL(c.Issuer),
		Scopes: c.Scopes, PKCE: true, Mapping: c.Mapping, Params: c.Params, Enabled: !c.Disabled, Domains: domainRefs(c),
		CallbackURL: c.ServiceAddress.Callback, Created: c.CreatedAt, Updated: c.UpdatedAt}
}

func discoveryURL(issuer string) string {
	return strings.TrimRight(issuer, "/") + "/.well-known/openid-configuration"
}

// customBody is the admin API's spelling of a draft. What would weaken a
// sign-in is understood, and refused.
type customBody struct {
	Type          string `json:"provider_type"`
	Discovery     string `json:"discovery_url"`
	PKCE          *bool  `json:"pkce_enabled"`
	Enabled       *bool  `json:"enabled"`
	EmailOptional bool   `json:"email_optional"`
	SkipNonce     bool   `json:"skip_nonce_check"`
	sso.Draft
}

func customDraft(c *route.Call, making bool) (sso.Draft, error) {
	var in customBody
	if err := decodeBody(c, &in); err != nil {
		return in.Draft, err
	}
	d, err := in.toDraft()
	if err == nil && making && (d.Identifier == nil || *d.Identifier == "") {
		err = fault.New(fault.Invalid, "validation_failed", "identifier is required")
	}
	return d, err
}

func (b *customBody) toDraft() (sso.Draft, error) {
	refuse := func(msg string) (sso.Draft, error) {
		return b.Draft, fault.New(fault.Invalid, "validation_failed", "%s", msg)
	}
	switch {
	case b.Type != "" && b.Type != "oidc":
		return refuse("provider_type must be oidc: plain OAuth 2 does not say verifiably who signed in")
	case b.PKCE != nil && !*b.PKCE, b.SkipNonce, b.EmailOptional:
		return refuse("pkce_enabled stays on; skip_nonce_check and email_optional stay off")
	case b.Discovery != "" && (b.Issuer == nil || b.Discovery != discoveryURL(*b.Issuer)):
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
