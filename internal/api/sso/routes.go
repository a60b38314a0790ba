package sso

import (
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/api/route"
)

// Routes lists everything that is served. GET /authorize is api/auth's, which
// leads to every provider of the configuration and hands on the others. Of a zero API
// it is a list to read.
func (a *API) Routes() []route.Route {
	all := slices.Concat(a.signInRoutes(), a.connectionRoutes(), a.providerRoutes(), a.directoryRoutes())
	for i := range all {
		rt := &all[i]
		rt.Tag = "identity"
		if strings.HasPrefix(rt.Pattern, "/auth/v1/admin/sso/") {
			rt.Names, rt.Handle = true, a.withSAML(rt.Handle)
		}
	}
	return all
}

type fields = map[string]string

var (
	connectionFields = fields{"tenant_id": "string", "kind": "string", "name": "string", "identifier": "string",
		"issuer": "string", "metadata_url": "string", "metadata_xml": "string",
		"client_id": "string", "client_secret": "string", "scopes": "texts", "name_id_format": "string",
		"attribute_mapping": "object",
		"role_map":          "object", "default_role": "string",
		"enforced": "boolean", "break_glass_user_id": "string", "allow_unsolicited": "boolean", "disabled": "boolean",
		"domains": "texts", "authorization_params": "object", "resource_id": "string"}
	samlFields = fields{"type": "string", "tenant_id": "string", "metadata_url": "string", "metadata_xml": "string",
		"domains": "texts", "attribute_mapping": "object",
		"name_id_format": "string", "resource_id": "string", "disabled": "boolean"}
	customFields = fields{"provider_type": "string", "tenant_id": "string", "identifier": "string", "name": "string",
		"client_id": "string", "client_secret": "string", "issuer": "string",
		"scopes": "texts", "attribute_mapping": "object", "authorization_params": "object", "enabled": "boolean",
		"domains": "texts"}
	personFields = fields{"schemas": "texts", "userName": "string", "externalId": "string", "name": "object",
		"displayName": "string", "emails": "array", "active": "boolean"}
	groupFields = fields{"schemas": "texts", "displayName": "string", "externalId": "string", "members": "array"}
	patchFields = fields{"schemas": "texts", "Operations": "array"}
)

// custom serves GET /authorize for the connections that are called custom:....

// signInRoutes are where browsers and providers come.
func (a *API) signInRoutes() []route.Route {
	return []route.Route{
		{Method: "POST", Pattern: "/auth/v1/sso", Who: route.Attempt, Handle: a.startSignIn,
			Doc:    "Sign in at an organisation's provider, by domain or provider_id; PKCE is required",
			Status: http.StatusSeeOther,
			Body: fields{"provider_id": "string", "domain": "string", "redirect_to": "string", "skip_http_redirect": "boolean",
				"code_challenge": "string", "code_challenge_method": "string"}},
		{Method: "GET", Pattern: "/auth/v1/sso/saml/metadata", Who: route.Open, Handle: a.serveMetadata,
			Doc: "SAML metadata of this service provider"},
		{Method: "POST", Pattern: "/auth/v1/sso/saml/acs", Who: route.Returning, Handle: a.consumeAssertion,
			Doc:    "Where SAML providers post their response (form: SAMLResponse, RelayState)",
			Status: http.StatusFound},
		{Method: "GET", Pattern: "/auth/v1/sso/oidc/{id}/callback", Who: route.Returning, Handle: a.finishSignIn,
			Doc:    "Where an organisation's OpenID provider sends the browser back to",
			Status: http.StatusFound},
	}
}

// connectionRoutes are where administrators look after their tenant's connections.
func (a *API) connectionRoutes() []route.Route {
	c := connections{a, plain}
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/sso/connections", Who: route.Administrator, Handle: c.listConnections,
			Doc: "The tenant's connections (administrators)"},
		{Method: "POST", Pattern: "/auth/v1/sso/connections", Who: route.Administrator, Handle: c.createConnection,
			Doc: "Make a connection (administrators)", Body: connectionFields, Status: http.StatusCreated},
		{Method: "GET", Pattern: "/auth/v1/sso/connections/{id}", Who: route.Administrator, Handle: c.getConnection,
			Doc: "One connection, with the result of its last test sign-in (administrators)"},
		{Method: "PUT", Pattern: "/auth/v1/sso/connections/{id}", Who: route.Administrator, Handle: c.changeConnection,
			Doc:  "Change a connection; what is not named stays. Disabling it ends its sessions (administrators)",
			Body: connectionFields},
		{Method: "DELETE", Pattern: "/auth/v1/sso/connections/{id}", Who: route.Administrator, Handle: c.removeConnection,
			Doc: "Remove a connection; its members are suspended (administrators)"},
		{Method: "POST", Pattern: "/auth/v1/sso/connections/{id}/test", Who: route.Administrator, Handle: a.beginTest,
			Doc: "Begin a test sign-in: its result is stored, no session comes of it (administrators)"},
		{Method: "POST", Pattern: "/auth/v1/sso/connections/{id}/scim-token", Who: route.Administrator, Handle: a.scimToken,
			Doc:    "Make the connection's SCIM token, in place of any before; shown once (administrators)",
			Status: http.StatusCreated},
		{Method: "DELETE", Pattern: "/auth/v1/sso/connections/{id}/scim-token", Who: route.Administrator,
			Handle: a.revokeSCIM,
			Doc:    "Revoke the connection's SCIM token; the people it provisioned stay (administrators)",
			Status: http.StatusNoContent},
		{Method: "POST", Pattern: "/auth/v1/sso/connections/{id}/domains/{domain}/verify", Who: route.Administrator,
			Handle: a.proveDomain,
			Doc:    "Prove a domain: by its TXT record, or by the code mailed to its postmaster (administrators)",
			Body:   fields{"code": "string"}},
		{Method: "POST", Pattern: "/auth/v1/sso/connections/{id}/domains/{domain}/mail", Who: route.Administrator,
			Handle: a.mailCode, Doc: "Mail a code to the domain's postmaster (administrators)"},
	}
}

// providerRoutes are GoTrue's: every tenant's connections, for the service key.
func (a *API) providerRoutes() []route.Route {
	s, o := connections{a, saml}, connections{a, oidc}
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/admin/sso/providers", Who: route.Operator, Handle: s.listConnections,
			Doc: "SAML providers of all tenants"},
		{Method: "POST", Pattern: "/auth/v1/admin/sso/providers", Who: route.Operator, Handle: s.createConnection,
			Doc:  "Make a SAML provider of the tenant tenant_id; its domains count as proved",
			Body: samlFields, Status: http.StatusCreated},
		{Method: "GET", Pattern: "/auth/v1/admin/sso/providers/{id}", Who: route.Operator, Handle: s.getConnection,
			Doc: "One SAML provider"},
		{Method: "PUT", Pattern: "/auth/v1/admin/sso/providers/{id}", Who: route.Operator, Handle: s.changeConnection,
			Doc: "Change a SAML provider", Body: samlFields},
		{Method: "DELETE", Pattern: "/auth/v1/admin/sso/providers/{id}", Who: route.Operator, Handle: s.removeConnection,
			Doc: "Remove a SAML provider"},
		{Method: "GET", Pattern: "/auth/v1/admin/custom-providers", Who: route.Operator, Handle: o.listConnections,
			Doc: "OpenID providers of all tenants"},
		{Method: "POST", Pattern: "/auth/v1/admin/custom-providers", Who: route.Operator, Handle: o.createConnection,
			Doc: "Make an OpenID provider of the tenant tenant_id", Body: customFields,
			Status: http.StatusCreated},
		{Method: "GET", Pattern: "/auth/v1/admin/custom-providers/{identifier}", Who: route.Operator, Handle: o.getConnection,
			Doc: "One OpenID provider"},
		{Method: "PUT", Pattern: "/auth/v1/admin/custom-providers/{identifier}", Who: route.Operator,
			Handle: o.changeConnection, Doc: "Change an OpenID provider", Body: customFields},
		{Method: "DELETE", Pattern: "/auth/v1/admin/custom-providers/{identifier}", Who: route.Operator,
			Handle: o.removeConnection, Doc: "Remove an OpenID provider"},
	}
}

// directoryRoutes are where a directory provisions people and groups (RFC 7644).
func (a *API) directoryRoutes() []route.Route {
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/scim/v2/ServiceProviderConfig", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimConfig), Doc: "What of SCIM 2.0 is offered (SCIM token)"},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/ResourceTypes", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimTypes), Doc: "SCIM resource types (SCIM token)"},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Schemas", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimSchemas), Doc: "What users and groups consist of (SCIM token)"},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Schemas/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimSchema), Doc: "One SCIM schema (SCIM token)"},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Users", Who: route.Provisioner, Handle: a.serveDirectory((*API).scimUsers),
			Doc: "List the connection's users; filter: attribute eq \"value\"; attributes or excludedAttributes choose what is shown (SCIM token)"},
		{Method: "POST", Pattern: "/auth/v1/scim/v2/Users", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimCreateUser),
			Doc:    "Provision a user (SCIM token)", Body: personFields, Status: http.StatusCreated},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Users/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimUser), Doc: "One user (SCIM token)"},
		{Method: "PUT", Pattern: "/auth/v1/scim/v2/Users/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimPutUser), Doc: "Replace a user (SCIM token)", Body: personFields},
		{Method: "PATCH", Pattern: "/auth/v1/scim/v2/Users/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimPatchUser),
			Doc:    "Change a user; active=false ends the user's sessions (SCIM token)",
			Body:   patchFields},
		{Method: "DELETE", Pattern: "/auth/v1/scim/v2/Users/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimDeleteUser), Doc: "Remove a user (SCIM token)", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Groups", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimGroups),
			Doc:    "List the connection's groups with their members, unless excludedAttributes=members (SCIM token)"},
		{Method: "POST", Pattern: "/auth/v1/scim/v2/Groups", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimCreateGroup),
			Doc:    "Make a group; role_map gives its members a role (SCIM token)", Body: groupFields,
			Status: http.StatusCreated},
		{Method: "GET", Pattern: "/auth/v1/scim/v2/Groups/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimGroup), Doc: "One group (SCIM token)"},
		{Method: "PUT", Pattern: "/auth/v1/scim/v2/Groups/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimPutGroup), Doc: "Replace a group (SCIM token)", Body: groupFields},
		{Method: "PATCH", Pattern: "/auth/v1/scim/v2/Groups/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimPatchGroup),
			Doc:    "Change a group's name or members (SCIM token)", Body: patchFields},
		{Method: "DELETE", Pattern: "/auth/v1/scim/v2/Groups/{id}", Who: route.Provisioner,
			Handle: a.serveDirectory((*API).scimDeleteGroup), Doc: "Remove a group (SCIM token)", Status: http.StatusNoContent},
	}
}
