package sso

import "net/http"

// caller is who may call a route.
type caller uint8

const (
	public        caller = iota // anyone
	returning                   // a browser that a provider sends back: what is refused leads it to the site
	attempt                     // anyone; counted as a sign-in
	departure                   // anyone; counted as a browser that goes to a provider
	administrator               // an administrator of a tenant, or a service key
	service                     // a service key
	provisioner                 // the bearer token of a connection
)

// Route describes one served route, for the OpenAPI document. Pattern is below
// /auth/v1.
type Route struct {
	Method, Pattern, Doc string
	Public               bool // served without a credential
	Service              bool // served to service keys only
	Body                 map[string]string
	Status               int // of success
}

type route struct {
	Route
	who    caller
	handle func(a *API, w http.ResponseWriter, c *call) error
}

// Routes lists everything the handler serves. GET /authorize is the other
// endpoints', which serve every provider of the configuration.
func Routes() []Route {
	out := make([]Route, len(table))
	for i := range table {
		out[i] = table[i].Route
		out[i].Public, out[i].Service = table[i].who == public || table[i].who == returning || table[i].who == attempt, table[i].who == service
		if out[i].Status == 0 {
			out[i].Status = http.StatusOK
		}
	}
	return out
}

type fields = map[string]string

var (
	connectionFields = fields{"tenant_id": "string", "kind": "string", "name": "string", "identifier": "string", "issuer": "string",
		"metadata_url": "string", "metadata_xml": "string",
		"client_id": "string", "client_secret": "string", "scopes": "array", "name_id_format": "string", "attribute_mapping": "object", "role_map": "object", "default_role": "string",
		"enforced": "boolean", "break_glass_user_id": "string", "allow_unsolicited": "boolean", "disabled": "boolean", "domains": "array", "authorization_params": "object", "resource_id": "string"}
	samlFields = fields{"type": "string", "tenant_id": "string", "metadata_url": "string", "metadata_xml": "string", "domains": "array",
		"attribute_mapping": "object",
		"name_id_format":    "string", "resource_id": "string", "disabled": "boolean"}
	customFields = fields{"provider_type": "string", "tenant_id": "string", "identifier": "string", "name": "string", "client_id": "string",
		"client_secret": "string", "issuer": "string",
		"scopes": "array", "attribute_mapping": "object", "authorization_params": "object", "enabled": "boolean", "domains": "array"}
	personFields = fields{"schemas": "array", "userName": "string", "externalId": "string", "name": "object", "displayName": "string",
		"emails": "array", "active": "boolean"}
	groupFields = fields{"schemas": "array", "displayName": "string", "externalId": "string", "members": "array"}
	patchFields = fields{"schemas": "array", "Operations": "array"}
)

// custom serves GET /authorize for the connections that are called custom:....
var custom = route{Route{Method: "GET", Pattern: "/authorize", Doc: "Sign in at an organisation's OpenID provider"}, departure, (*API).authorize}

var table = []route{
	{Route{Method: "POST", Pattern: "/sso", Doc: "Sign in at an organisation's provider, by domain or provider_id; PKCE is required", Status: http.StatusSeeOther,
		Body: fields{"provider_id": "string", "domain": "string", "redirect_to": "string", "skip_http_redirect": "boolean", "code_challenge": "string",
			"code_challenge_method": "string"}}, attempt, (*API).start},
	{Route{Method: "GET", Pattern: "/sso/saml/metadata", Doc: "SAML metadata of this service provider"}, public, (*API).metadata},
	{Route{Method: "POST", Pattern: "/sso/saml/acs", Doc: "Where SAML providers post their response (form: SAMLResponse, RelayState)",
		Status: http.StatusFound}, returning, (*API).acs},
	{Route{Method: "GET", Pattern: "/sso/oidc/{id}/callback", Doc: "Where an organisation's OpenID provider sends the browser back to",
		Status: http.StatusFound}, returning, (*API).callback},

	{Route{Method: "GET", Pattern: "/sso/connections", Doc: "The tenant's connections (administrators)"}, administrator, plain.list},
	{Route{Method: "POST", Pattern: "/sso/connections", Doc: "Make a connection (administrators)", Body: connectionFields, Status: http.StatusCreated},
		administrator, plain.create},
	{Route{Method: "GET", Pattern: "/sso/connections/{id}", Doc: "One connection, with the result of its last test sign-in (administrators)"},
		administrator, plain.get},
	{Route{Method: "PUT", Pattern: "/sso/connections/{id}",
		Doc: "Change a connection; what is not named stays. Disabling it ends its sessions (administrators)", Body: connectionFields}, administrator, plain.change},
	{Route{Method: "DELETE", Pattern: "/sso/connections/{id}", Doc: "Remove a connection; its members are suspended (administrators)"}, administrator,
		plain.remove},
	{Route{Method: "POST", Pattern: "/sso/connections/{id}/test",
		Doc: "Begin a test sign-in: its result is stored, no session comes of it (administrators)"}, administrator, (*API).test},
	{Route{Method: "POST", Pattern: "/sso/connections/{id}/scim-token",
		Doc: "Make the connection's SCIM token, in place of any before; shown once (administrators)", Status: http.StatusCreated}, administrator, (*API).scimToken},
	{Route{Method: "DELETE", Pattern: "/sso/connections/{id}/scim-token",
		Doc: "Revoke the connection's SCIM token; the people it provisioned stay (administrators)", Status: http.StatusNoContent}, administrator, (*API).revokeSCIM},
	{Route{Method: "POST", Pattern: "/sso/connections/{id}/domains/{domain}/verify",
		Doc: "Prove a domain: by its TXT record, or by the code mailed to its postmaster (administrators)", Body: fields{"code": "string"}}, administrator, (*API).prove},
	{Route{Method: "POST", Pattern: "/sso/connections/{id}/domains/{domain}/mail", Doc: "Mail a code to the domain's postmaster (administrators)"},
		administrator, (*API).mailCode},

	{Route{Method: "GET", Pattern: "/admin/sso/providers", Doc: "SAML providers of all tenants"}, service, saml.list},
	{Route{Method: "POST", Pattern: "/admin/sso/providers", Doc: "Make a SAML provider of the tenant tenant_id; its domains count as proved",
		Body: samlFields, Status: http.StatusCreated}, service, saml.create},
	{Route{Method: "GET", Pattern: "/admin/sso/providers/{id}", Doc: "One SAML provider"}, service, saml.get},
	{Route{Method: "PUT", Pattern: "/admin/sso/providers/{id}", Doc: "Change a SAML provider", Body: samlFields}, service, saml.change},
	{Route{Method: "DELETE", Pattern: "/admin/sso/providers/{id}", Doc: "Remove a SAML provider"}, service, saml.remove},
	{Route{Method: "GET", Pattern: "/admin/custom-providers", Doc: "OpenID providers of all tenants"}, service, oidc.list},
	{Route{Method: "POST", Pattern: "/admin/custom-providers", Doc: "Make an OpenID provider of the tenant tenant_id", Body: customFields,
		Status: http.StatusCreated}, service, oidc.create},
	{Route{Method: "GET", Pattern: "/admin/custom-providers/{identifier}", Doc: "One OpenID provider"}, service, oidc.get},
	{Route{Method: "PUT", Pattern: "/admin/custom-providers/{identifier}", Doc: "Change an OpenID provider", Body: customFields}, service, oidc.change},
	{Route{Method: "DELETE", Pattern: "/admin/custom-providers/{identifier}", Doc: "Remove an OpenID provider"}, service, oidc.remove},

	{Route{Method: "GET", Pattern: "/scim/v2/ServiceProviderConfig", Doc: "What of SCIM 2.0 is offered (SCIM token)"}, provisioner, (*API).scimConfig},
	{Route{Method: "GET", Pattern: "/scim/v2/ResourceTypes", Doc: "SCIM resource types (SCIM token)"}, provisioner, (*API).scimTypes},
	{Route{Method: "GET", Pattern: "/scim/v2/Schemas", Doc: "What users and groups consist of (SCIM token)"}, provisioner, (*API).scimSchemas},
	{Route{Method: "GET", Pattern: "/scim/v2/Schemas/{id}", Doc: "One SCIM schema (SCIM token)"}, provisioner, (*API).scimSchema},
	{Route{Method: "GET", Pattern: "/scim/v2/Users",
		Doc: "List the connection's users; filter: attribute eq \"value\"; attributes or excludedAttributes choose what is shown (SCIM token)"}, provisioner, (*API).scimUsers},
	{Route{Method: "POST", Pattern: "/scim/v2/Users", Doc: "Provision a user (SCIM token)", Body: personFields, Status: http.StatusCreated},
		provisioner, (*API).scimCreateUser},
	{Route{Method: "GET", Pattern: "/scim/v2/Users/{id}", Doc: "One user (SCIM token)"}, provisioner, (*API).scimUser},
	{Route{Method: "PUT", Pattern: "/scim/v2/Users/{id}", Doc: "Replace a user (SCIM token)", Body: personFields}, provisioner, (*API).scimPutUser},
	{Route{Method: "PATCH", Pattern: "/scim/v2/Users/{id}", Doc: "Change a user; active=false ends the user's sessions (SCIM token)",
		Body: patchFields}, provisioner, (*API).scimPatchUser},
	{Route{Method: "DELETE", Pattern: "/scim/v2/Users/{id}", Doc: "Remove a user (SCIM token)", Status: http.StatusNoContent}, provisioner, (*API).scimDeleteUser},
	{Route{Method: "GET", Pattern: "/scim/v2/Groups",
		Doc: "List the connection's groups with their members, unless excludedAttributes=members (SCIM token)"}, provisioner, (*API).scimGroups},
	{Route{Method: "POST", Pattern: "/scim/v2/Groups", Doc: "Make a group; role_map gives its members a role (SCIM token)", Body: groupFields,
		Status: http.StatusCreated}, provisioner, (*API).scimCreateGroup},
	{Route{Method: "GET", Pattern: "/scim/v2/Groups/{id}", Doc: "One group (SCIM token)"}, provisioner, (*API).scimGroup},
	{Route{Method: "PUT", Pattern: "/scim/v2/Groups/{id}", Doc: "Replace a group (SCIM token)", Body: groupFields}, provisioner, (*API).scimPutGroup},
	{Route{Method: "PATCH", Pattern: "/scim/v2/Groups/{id}", Doc: "Change a group's name or members (SCIM token)", Body: patchFields}, provisioner,
		(*API).scimPatchGroup},
	{Route{Method: "DELETE", Pattern: "/scim/v2/Groups/{id}", Doc: "Remove a group (SCIM token)", Status: http.StatusNoContent}, provisioner,
		(*API).scimDeleteGroup},
}
