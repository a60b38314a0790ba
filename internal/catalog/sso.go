package catalog

// SSOResources are the tenant's ties to identity providers of its own. They
// are read here and written by package sso, which proves what it stores.
func SSOResources() []Resource {
	return []Resource{ssoConnections()}
}

func ssoConnections() Resource {
	return Resource{
		Name: "sso_connections", Family: "platform",
		Doc: "Enterprise sign-in: an OpenID provider or a SAML identity provider of the tenant. Changed through /auth/v1/sso/connections.",
		Fields: []Field{
			{Name: "kind", ReadOnly: true, Required: true, Default: "oidc", OneOf: []string{"oidc", "saml"}},
			{Name: "name", Format: Name, ReadOnly: true},
			{Name: "identifier", Format: Name, MaxLen: 64, ReadOnly: true,
				Doc: "custom:name, by which /authorize finds it; unique on the server."},
			{Name: "status", ReadOnly: true, Required: true, Default: "active", OneOf: []string{"active", "disabled"}},
			{Name: "issuer", MaxLen: 1024, ReadOnly: true, Required: true, Doc: "The provider's issuer, or its SAML entity id."},
			{Name: "metadata_url", MaxLen: 2048, ReadOnly: true},
			{Name: "metadata_xml", MaxLen: 262144, ReadOnly: true, Readers: admins},
			{Name: "metadata_at", Type: Time, ReadOnly: true, Doc: "When the metadata were last read from metadata_url."},
			{Name: "metadata_tried_at", Type: Time, ReadOnly: true,
				Doc: "When metadata_url was last asked again, whatever came of it."},
			{Name: "client_id", Format: Name, ReadOnly: true},
			{Name: "secret", ReadOnly: true, Readers: nobody},
			{Name: "scopes", Type: Array, ReadOnly: true, Required: true, Default: "[]", MaxLen: 20},
			{Name: "name_id_format", Format: Name, ReadOnly: true},
			{Name: "attribute_mapping", Type: JSON, Shape: freeObject, ReadOnly: true, Required: true, Default: "{}"},
			{Name: "role_map", Type: JSON, Shape: texts, ReadOnly: true, Required: true, Default: "{}",
				Doc: "{group: role}; the strongest role of a person's groups holds."},
			{Name: "default_role", ReadOnly: true, OneOf: roleNames(),
				Doc: "Role of who is in no mapped group; null = not let in."},
			{Name: "enforced", Type: Bool, ReadOnly: true, Required: true, Default: "false",
				Doc: "Accounts of the proved domains sign in here and nowhere else."},
			{Name: "break_glass_user_id", Type: UUID, ReadOnly: true, Doc: "The owner who may always sign in with a password."},
			{Name: "allow_unsolicited", Type: Bool, ReadOnly: true, Required: true, Default: "false",
				Doc: "Sign-ins that begin at the SAML provider are taken."},
			{Name: "scim_token_hash", Format: Name, ReadOnly: true, Readers: nobody},
			{Name: "resource_id", Format: Name, ReadOnly: true, Doc: "What the operator's own system calls the connection."},
			{Name: "authorization_params", Type: JSON, Shape: texts, ReadOnly: true, Required: true, Default: "{}",
				Doc: "{name: value}: what each request to the OpenID provider says besides."},
			{Name: "last_test", Type: JSON, Shape: freeObject, ReadOnly: true, Readers: admins,
				Doc: "What the last test sign-in brought: attributes, role, or the reason it failed."},
			{Name: "last_test_at", Type: Time, ReadOnly: true},
		},
		Access: Access{Read: []Grant{grantAll(admins)}},
	}
}
