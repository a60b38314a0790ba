package sso

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/sso/samlsp"
)

// Mapping says which attribute of the provider is which of ours. The keys
// email, groups and sub steer the sign-in; the others go into the user's
// metadata.
type Mapping struct {
	Keys map[string]Attribute `json:"keys,omitempty"`
}

// Attribute is where one value comes from: the first name that is there, else
// the default.
type Attribute struct {
	Name    string   `json:"name,omitempty"`
	Names   []string `json:"names,omitempty"`
	Default any      `json:"default,omitempty"`
	Array   bool     `json:"array,omitempty"`
}

// reserved keys of the user's metadata are not a provider's to write.
var reserved = []string{"tenant_id", "tenant_role", "role", "app_metadata", "email_verified", "phone_verified",
	"provider", "providers"}

func (m *Mapping) checkMapping() error {
	if len(m.Keys) > 50 {
		return refuseInvalid("attribute_mapping has more than 50 keys")
	}
	for k, a := range m.Keys {
		if k == "" || len(k) > 64 || len(a.Name) > 300 || len(a.Names) > 20 {
			return refuseInvalid("attribute_mapping: key %.64q is too long, or has too many names", k)
		}
		if slices.Contains(reserved, k) {
			return refuseInvalid("attribute_mapping: %s is not for a provider to set", k)
		}
		if (k == "email" || k == "sub") && a.Default != nil {
			return refuseInvalid("attribute_mapping: %s has no default: the provider says who signs in", k)
		}
		switch a.Default.(type) {
		case nil, string, bool, float64:
		default:
			return refuseInvalid("attribute_mapping: the default of %.64q must be a string, a number or a boolean", k)
		}
	}
	return nil
}

// sourceName is the first name that is there; "" = none.
func (a Attribute) sourceName(attrs map[string][]string) string {
	for _, n := range append([]string{a.Name}, a.Names...) {
		if n != "" && len(attrs[n]) > 0 {
			return n
		}
	}
	return ""
}

func (a Attribute) valuesFrom(attrs map[string][]string) []string {
	if n := a.sourceName(attrs); n != "" {
		return attrs[n]
	}
	if s, ok := a.Default.(string); ok && s != "" {
		return []string{s}
	}
	return nil
}

// usual are the names that providers give to what we need, used where the
// mapping says nothing.
var usual = map[string]Attribute{
	"email": {Names: []string{"email", "mail", "emailAddress", "Email", "urn:oid:0.9.2342.19200300.100.1.3",
		"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"}},
	"groups": {Names: []string{"groups", "group", "memberOf", "Group",
		"http://schemas.microsoft.com/ws/2008/06/identity/claims/groups", "http://schemas.xmlsoap.org/claims/Group",
		"urn:oid:1.3.6.1.4.1.5923.1.5.1.1"}},
	"name": {Names: []string{"name", "displayName", "cn", "urn:oid:2.16.840.1.113730.3.1.241",
		"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name", "urn:oid:2.5.4.3"}},
	"given_name": {Names: []string{"given_name", "givenName", "urn:oid:2.5.4.42",
		"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname"}},
	"family_name": {Names: []string{"family_name", "sn", "surname", "urn:oid:2.5.4.4",
		"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname"}},
}

func (m Mapping) attributeFor(key string) Attribute {
	if a, ok := m.Keys[key]; ok {
		return a
	}
	return usual[key]
}

func (m Mapping) valuesFor(key string, attrs map[string][]string) []string {
	return m.attributeFor(key).valuesFrom(attrs)
}

// arrival is what a provider said, in one form for both kinds.
type arrival struct {
	subject string
	email   string // where it is not among the attributes
	attrs   map[string][]string
}

func samlArrival(a *samlsp.Assertion) arrival {
	out := arrival{subject: a.NameID, attrs: a.Attributes}
	if a.Format == samlsp.EmailFormat {
		out.email = a.NameID
	}
	return out
}

// maxValues bounds what is kept of a provider's attributes.
const maxValues, maxValue = 2000, 1024

// oidcArrival flattens the claims of an ID token.
func oidcArrival(claims map[string]any) arrival {
	out := arrival{attrs: map[string][]string{}}
	out.subject, _ = claims["sub"].(string)
	for k, v := range claims {
		out.attrs[k] = flattenClaim(v)
	}
	return out
}

func flattenClaim(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok && len(out) < maxValues {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// mapPerson applies a connection's rules to what its provider said. scim are the
// groups that SCIM put the account in.
func (c *Connection) mapPerson(in arrival) (identity.Federated, error) {
	f := identity.Federated{Connection: c.ID, TenantID: c.TenantID, Method: "oauth", Issuer: c.Issuer, Subject: in.subject,
		Profile: map[string]any{}}
	if c.Kind == SAML {
		f.Method = sessions.MethodSAML
	}
	if v := c.Mapping.Keys["sub"].valuesFrom(in.attrs); len(v) == 1 {
		f.Subject = v[0]
	}
	if f.Subject == "" || len(f.Subject) > 255 {
		return f, fault.New(fault.Invalid, "saml_assertion_no_user_id", "The provider names no user")
	}
	raw := in.email
	if v := c.Mapping.valuesFor("email", in.attrs); len(v) > 0 {
		raw = v[0]
	}
	email, err := accounts.Canonical(raw)
	if err != nil {
		return f, fault.New(fault.Invalid, "saml_assertion_no_email",
			"The provider gave no usable email address; map one in attribute_mapping")
	}
	f.Email = email
	f.Doubted = c.Kind == OIDC && c.Mapping.attributeFor("email").sourceName(in.attrs) == "email" && isDoubted(in.attrs)
	if !c.holdsAddress(email) {
		return f, fault.New(fault.Forbidden, "access_denied",
			"The address is not in a domain that this organisation has proved")
	}
	for _, g := range c.Mapping.valuesFor("groups", in.attrs) {
		if len(f.Groups) < maxValues && len(g) <= maxValue {
			f.Groups = append(f.Groups, g)
		}
	}
	f.Role, f.Ruled = c.roleOf(f.Groups)
	f.Profile = c.profileData(in.attrs)
	return f, nil
}

// isDoubted reports that the provider does not vouch for the claim email:
// email_verified is there and not true (OpenID Connect Core section 5.1). Where it
// is not there, as with many providers of organisations, the proved domain vouches.
func isDoubted(attrs map[string][]string) bool {
	v := attrs["email_verified"]
	return len(v) > 0 && !strings.EqualFold(v[0], "true")
}

// profileData is what goes into the user's metadata.
func (c *Connection) profileData(attrs map[string][]string) map[string]any {
	out := map[string]any{}
	put := func(key string, array bool, v []string) {
		switch {
		case len(v) == 0 || len(v[0]) > maxValue:
		case array:
			out[key] = v[:min(len(v), 50)]
		default:
			out[key] = v[0]
		}
	}
	for _, k := range []string{"name", "given_name", "family_name"} {
		put(k, false, c.Mapping.valuesFor(k, attrs))
	}
	for k, a := range c.Mapping.Keys {
		if v := a.valuesFrom(attrs); k != "email" && k != "groups" && k != "sub" {
			put(k, a.Array, v)
			if _, ok := out[k]; !ok && a.Default != nil {
				out[k] = a.Default
			}
		}
	}
	if n, ok := out["name"]; ok {
		out["full_name"] = n
	}
	return out
}

// roleOf is the strongest role of the groups, else the default. ruled says that
// groups decide, so that a role follows when they change.
func (c *Connection) roleOf(groups []string) (role actor.Role, ruled bool) {
	for _, r := range actor.Members {
		for _, g := range groups {
			if c.RoleMap[g] == string(r) {
				return r, true
			}
		}
	}
	return actor.Role(c.DefaultRole), len(c.RoleMap) > 0
}

// shownAttributes is what a test sign-in shows: the attributes with their values cut, in
// the form the administrator has to map.
func (in arrival) shownAttributes() map[string][]string {
	out := map[string][]string{}
	for k, v := range in.attrs {
		if len(out) >= 100 || len(k) > 300 {
			continue
		}
		for _, x := range v[:min(len(v), 50)] {
			out[k] = append(out[k], cutText(x, 200))
		}
	}
	return out
}

// namesProvedDomain reports whether an arrival has an address in a domain that the connection
// has proved. The metadata of SAML providers are public, and every connection is
// the same party to them: who copies another's shall not read what it says of its
// people by leading them through a test.
func (c *Connection) namesProvedDomain(in arrival) bool {
	for _, v := range slices.Concat(append(slices.Collect(maps.Values(in.attrs)), []string{in.subject, in.email})...) {
		if email, err := accounts.Canonical(v); err == nil && c.holdsAddress(email) {
			return true
		}
	}
	return false
}

// testResult is kept of the last test sign-in.
type testResult struct {
	Outcome    string              `json:"outcome"` // ok or failed
	Reason     string              `json:"reason,omitempty"`
	Subject    string              `json:"subject,omitempty"`
	Email      string              `json:"email,omitempty"`
	Groups     []string            `json:"groups,omitempty"`
	Role       string              `json:"role,omitempty"`
	Profile    map[string]any      `json:"profile,omitempty"`
	Attributes map[string][]string `json:"attributes,omitempty"`
}

func (c *Connection) testResult(in arrival, failed error) json.RawMessage {
	t := testResult{Outcome: "ok"}
	f, err := c.mapPerson(in)
	if err == nil {
		err = f.MayLink()
	}
	if failed != nil {
		err = failed
	}
	if err == nil && f.Role == "" {
		err = fault.New(fault.Forbidden, "access_denied",
			"No group of this person is mapped to a role, and there is no default role")
	}
	if c.Kind != SAML || c.namesProvedDomain(in) {
		t.Subject, t.Attributes = cutText(in.subject, 255), in.shownAttributes()
		t.Email, t.Groups, t.Role, t.Profile = f.Email, f.Groups, string(f.Role), f.Profile
	}
	if err != nil {
		t.Outcome, t.Reason = "failed", reasonOf(err)
	}
	return json.RawMessage(asJSON(t))
}

// reasonOf is what an administrator is told of a failure: our own checks in
// full, a stranger's words not at all.
func reasonOf(err error) string {
	f := fault.As(err)
	if f.Kind == fault.Internal {
		return "unexpected failure"
	}
	if f.Details != "" {
		return f.Msg + ": " + f.Details
	}
	return strings.TrimSpace(f.Msg)
}
