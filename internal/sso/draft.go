package sso

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/outbound"
	"holdfast/internal/secrets"
	"holdfast/internal/sso/samlsp"
)

// Draft is what may be said of a connection; what is nil stays as it is.
type Draft struct {
	TenantID     *string            `json:"tenant_id"` // service key, at creation
	Kind         *string            `json:"kind"`
	Name         *string            `json:"name"`
	Identifier   *string            `json:"identifier"`
	Issuer       *string            `json:"issuer"`
	MetadataURL  *string            `json:"metadata_url"`
	MetadataXML  *string            `json:"metadata_xml"`
	ClientID     *string            `json:"client_id"`
	ClientSecret *string            `json:"client_secret"`
	Scopes       *[]string          `json:"scopes"`
	NameIDFormat *string            `json:"name_id_format"`
	Mapping      *Mapping           `json:"attribute_mapping"`
	RoleMap      *map[string]string `json:"role_map"`
	DefaultRole  *string            `json:"default_role"`
	Enforced     *bool              `json:"enforced"`
	BreakGlass   *string            `json:"break_glass_user_id"`
	Unsolicited  *bool              `json:"allow_unsolicited"`
	Disabled     *bool              `json:"disabled"`
	Domains      *[]string          `json:"domains"`
	ResourceID   *string            `json:"resource_id"`
	Params       *map[string]string `json:"authorization_params"`
}

var identifierForm = regexp.MustCompile(`^custom:[a-z0-9][a-z0-9:_-]{0,56}$`)

// formats of a name id by the short names of the admin API.
var formats = map[string]string{
	"persistent":   "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
	"emailAddress": samlsp.EmailFormat,
}

// drafting checks what is said of connections, and takes it over.
type drafting struct {
	saml, allowPrivate bool // see Config
	keys               secrets.Keys
	now                func() time.Time
	client             *http.Client
	ours               func(identifier string) bool // names a provider of this server
}

// applyDraft checks a draft and writes it onto the connection. It may go to the
// network, for metadata.
func (w *drafting) applyDraft(ctx context.Context, c *Connection, d Draft) error {
	for _, f := range []struct {
		name     string
		from, to *string
		max      int
	}{{"name", d.Name, &c.Name, 200}, {"identifier", d.Identifier, &c.Identifier, 64},
		{"client_id", d.ClientID, &c.ClientID, 200}, {"break_glass_user_id", d.BreakGlass, &c.BreakGlass, 36},
		{"resource_id", d.ResourceID, &c.ResourceID, 200}} {
		if f.from == nil {
			continue
		}
		if len(*f.from) > f.max || strings.ContainsAny(*f.from, "\x00\r\n") {
			return refuseInvalid("%s is longer than %d characters, or holds a line break", f.name, f.max)
		}
		*f.to = strings.TrimSpace(*f.from)
	}
	for _, b := range []struct {
		from *bool
		to   *bool
	}{{d.Enforced, &c.Enforced}, {d.Unsolicited, &c.Unsolicited}, {d.Disabled, &c.Disabled}} {
		if b.from != nil {
			*b.to = *b.from
		}
	}
	if id, ok := accounts.CanonicalID(c.BreakGlass); c.BreakGlass != "" && !ok {
		return refuseInvalid("break_glass_user_id must be a UUID")
	} else if ok {
		c.BreakGlass = id
	}
	if c.Identifier != "" && !identifierForm.MatchString(c.Identifier) {
		return refuseInvalid(`identifier must be "custom:" and lower-case letters, digits, - or _`)
	}
	if d.Identifier != nil && w.ours(c.Identifier) {
		return refuseInvalid("identifier is the name of a provider of this server")
	}
	if err := c.applyRoles(d); err != nil {
		return err
	}
	switch c.Kind {
	case SAML:
		return w.applySAML(ctx, c, d)
	case OIDC:
		return w.applyOIDC(ctx, c, d)
	}
	return refuseInvalid("kind must be oidc or saml")
}

func (c *Connection) applyRoles(d Draft) error {
	if d.Mapping != nil {
		if err := d.Mapping.checkMapping(); err != nil {
			return err
		}
		c.Mapping = *d.Mapping
	}
	if d.RoleMap != nil {
		if len(*d.RoleMap) > 500 {
			return refuseInvalid("role_map has more than 500 groups")
		}
		c.RoleMap = map[string]string{}
		for g, r := range *d.RoleMap {
			if err := checkRole(r); err != nil || g == "" || len(g) > 300 {
				return refuseInvalid("role_map: %q must be one of admin, manager, safety, operator, driver, viewer", r)
			}
			c.RoleMap[g] = r
		}
	}
	if d.DefaultRole != nil {
		if *d.DefaultRole != "" && checkRole(*d.DefaultRole) != nil {
			return refuseInvalid("default_role must be one of admin, manager, safety, operator, driver, viewer, or empty")
		}
		c.DefaultRole = *d.DefaultRole
	}
	return nil
}

// checkRole takes every role but owner: ownership is handed on by people.
func checkRole(r string) error {
	if role := actor.Role(r); !role.Valid() || role == actor.Owner {
		return errors.New("no role a provider may give")
	}
	return nil
}

func (w *drafting) applyOIDC(ctx context.Context, c *Connection, d Draft) error {
	if d.MetadataURL != nil && *d.MetadataURL != "" || d.MetadataXML != nil && *d.MetadataXML != "" {
		return refuseInvalid("metadata belong to SAML; an OpenID provider has an issuer")
	}
	isMoved := d.Issuer != nil && *d.Issuer != c.Issuer
	if isMoved {
		c.Issuer = *d.Issuer
	}
	if len(c.Issuer) > 1024 || strings.ContainsAny(c.Issuer, "?#") || outbound.CheckURL(c.Issuer, w.allowPrivate) != nil {
		return refuseInvalid("issuer must be an https URL without query")
	}
	if isMoved && outbound.CheckReach(ctx, c.Issuer, w.allowPrivate) != nil {
		return refuseInvalid("issuer: its host does not resolve to public addresses")
	}
	if c.ClientID == "" {
		return refuseInvalid("client_id is required")
	}
	if d.Scopes != nil {
		if len(*d.Scopes) > 20 {
			return refuseInvalid("more than 20 scopes")
		}
		for _, sc := range *d.Scopes {
			if sc == "" || len(sc) > 100 || strings.ContainsAny(sc, " \"\\\r\n") {
				return refuseInvalid("scope %.100q is malformed", sc)
			}
		}
		c.Scopes = append([]string{}, *d.Scopes...)
	}
	if err := c.applyParams(d); err != nil {
		return err
	}
	if d.ClientSecret != nil && *d.ClientSecret != "" {
		if len(*d.ClientSecret) > 1000 {
			return refuseInvalid("client_secret is longer than 1000 characters")
		}
		c.sealed = string(w.keys.Close(secrets.ConnectionSecret, []byte(*d.ClientSecret), c.ID))
	}
	return nil
}

// applyParams takes what each request to the provider says besides: hints for its
// sign-in page. What the flow itself says is not to be said otherwise.
func (c *Connection) applyParams(d Draft) error {
	if d.Params == nil {
		return nil
	}
	if len(*d.Params) > 20 {
		return refuseInvalid("authorization_params are more than 20")
	}
	for k, v := range *d.Params {
		if oidc.Controls(k) {
			return refuseInvalid("authorization_params: %.64q is not to be set", k)
		}
		if k == "" || len(k) > 64 || len(v) > 300 || strings.ContainsFunc(k+v, unicode.IsControl) {
			return refuseInvalid("authorization_params: %.64q is empty or too long, or holds a control character", k)
		}
	}
	c.Params = maps.Clone(*d.Params)
	return nil
}

func (w *drafting) openSecret(c *Connection) (string, error) {
	if c.sealed == "" {
		return "", nil
	}
	plain, err := w.keys.Open(secrets.ConnectionSecret, []byte(c.sealed), c.ID)
	return string(plain), err
}

func (w *drafting) applySAML(ctx context.Context, c *Connection, d Draft) error {
	if !w.saml {
		return samlOff()
	}
	if d.Params != nil && len(*d.Params) > 0 {
		return refuseInvalid("authorization_params are for OpenID providers")
	}
	if d.NameIDFormat != nil {
		f := *d.NameIDFormat
		if long, ok := formats[f]; ok {
			f = long
		}
		if f != "" && f != formats["persistent"] && f != samlsp.EmailFormat {
			return refuseInvalid("name_id_format must be persistent or emailAddress")
		}
		c.NameIDFormat = f
	}
	given := func(p *string) bool { return p != nil && *p != "" }
	switch {
	case given(d.MetadataURL) && given(d.MetadataXML):
		return refuseInvalid("Only one of metadata_xml or metadata_url needs to be set")
	case given(d.MetadataURL):
		c.MetadataURL = *d.MetadataURL
		return w.fetchMetadata(ctx, c)
	case given(d.MetadataXML):
		c.MetadataURL, c.MetadataAt = "", gotruetime.Time{}
		return w.takeMetadata(c, []byte(*d.MetadataXML))
	case c.MetadataXML == "":
		return refuseInvalid("Either metadata_xml or metadata_url must be set")
	}
	return nil
}

func samlOff() error {
	return fault.New(fault.NotFound, "saml_provider_disabled", "SAML 2.0 is disabled")
}

// fetchMetadata reads a connection's metadata from its address.
func (w *drafting) fetchMetadata(ctx context.Context, c *Connection) error {
	if outbound.CheckURL(c.MetadataURL, w.allowPrivate) != nil {
		return refuseInvalid("metadata_url must be an https URL")
	}
	b, err := outbound.Get(ctx, w.client, c.MetadataURL)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "validation_failed",
			"metadata_url does not answer with metadata of at most %d bytes", outbound.MaxAnswer)
	}
	if err := w.takeMetadata(c, b); err != nil {
		return err
	}
	c.MetadataAt = gotruetime.Time{Time: w.now()}
	return nil
}

func (w *drafting) takeMetadata(c *Connection, b []byte) error {
	p, err := samlsp.Metadata(b, w.now())
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "validation_failed", "%s",
			strings.TrimPrefix(cutText(err.Error(), 300), "samlsp: "))
	}
	if !w.allowPrivate && !strings.HasPrefix(p.SignIn, "https://") {
		return refuseInvalid("the provider's sign-in address is not https")
	}
	c.Issuer, c.MetadataXML = p.EntityID, string(b)
	return nil
}
