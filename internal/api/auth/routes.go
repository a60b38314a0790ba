package auth

import (
	"net/http"
	"slices"

	"holdfast/internal/api/route"
)

// Routes lists what is served under /auth/v1, but for organisations' providers.
// Of a zero API it is a list to read.
func (a *API) Routes() []route.Route {
	all := slices.Concat(a.signInRoutes(), a.accountRoutes(), a.tenantsRoutes(), a.factorsRoutes(), a.adminRoutes())
	for i := range all {
		all[i].Tag = "identity"
	}
	return all
}

type fields = map[string]string

var (
	sessionFields = fields{"access_token": "string", "token_type": "string", "expires_in": "integer",
		"expires_at": "integer", "refresh_token": "string", "user": "object"}
	userFields = fields{"id": "string", "aud": "string", "role": "string", "email": "string", "phone": "string",
		"app_metadata": "object", "user_metadata": "object",
		"identities": "array", "created_at": "string", "updated_at": "string", "is_anonymous": "boolean"}
	adminFields = fields{"id": "string", "email": "string", "phone": "string", "phone_confirm": "boolean",
		"password": "string", "password_hash": "string", "email_confirm": "boolean", "user_metadata": "object",
		"app_metadata": "object", "role": "string", "ban_duration": "string"}
	invitationFields = fields{"id": "string", "tenant_id": "string", "tenant_name": "string", "role": "string",
		"created_at": "string", "expires_at": "string"}
	factorFields = fields{"id": "string", "factor_type": "string", "friendly_name": "string", "status": "string",
		"created_at": "string", "updated_at": "string"}
	ceremonyFields = fields{"challenge_id": "string", "options": "object", "expires_at": "integer"}
	passkeyFields  = fields{"id": "string", "friendly_name": "string", "created_at": "string", "last_used_at": "string"}
	accountFields  = fields{"name": "string", "role": "string", "scopes": "texts", "addresses": "texts",
		"expires_at": "string"}
	accountAnswer = fields{"id": "string", "name": "string", "role": "string", "scopes": "texts", "addresses": "texts",
		"expires_at": "string", "created_at": "string", "created_by": "string", "updated_at": "string", "keys": "array"}
	keyAnswer = fields{"id": "string", "state": "string", "secret": "string", "created_at": "string",
		"created_by": "string", "expires_at": "string", "revoked_at": "string", "last_used_at": "string"}
	empty           = fields{}
	redirectTo      = fields{"redirect_to": "string"}
	discoveryFields = fields{"issuer": "string", "jwks_uri": "string", "token_endpoint": "string",
		"grant_types_supported": "texts", "response_types_supported": "texts"}
	answerFields = fields{"state": "string", "code": "string", "error": "string", "error_description": "string",
		"iss": "string"}
)

func withPKCE(f fields) fields {
	out := fields{"code_challenge": "string", "code_challenge_method": "string"}
	for k, v := range f {
		out[k] = v
	}
	return out
}

// signInRoutes is what signed-out people and their browsers ask for.
func (a *API) signInRoutes() []route.Route {
	return []route.Route{
		{Method: "POST", Pattern: "/auth/v1/signup", Who: route.Public, Handle: a.signUp,
			Doc: "Make an account", Auth: true, Query: redirectTo, Response: sessionFields,
			Body: withPKCE(fields{"email": "string", "phone": "string", "channel": "string", "password": "string",
				"data": "object", "invite_token": "string"})},
		{Method: "POST", Pattern: "/auth/v1/token", Who: route.Public, Handle: a.serveToken,
			Doc: "Sign in with a password, refresh a session, or redeem an authorization code or a provider's ID token; " +
				"client_credentials (a form, the client by HTTP Basic or as members) gives a service account a token for a quarter of an hour", Auth: true,
			Query: fields{"grant_type": "string"}, Response: sessionFields,
			Body: fields{"grant_type": "string", "email": "string", "phone": "string", "password": "string",
				"refresh_token": "string", "auth_code": "string", "code_verifier": "string",
				"provider": "string", "id_token": "string", "access_token": "string", "nonce": "string", "link_identity": "boolean",
				"invite_token": "string", "client_id": "string", "client_secret": "string", "scope": "string"}},
		{Method: "POST", Pattern: "/auth/v1/recover", Who: route.Public, Handle: a.sendRecovery,
			Doc: "Mail a link to choose a new password", Auth: true, Query: redirectTo, Response: empty,
			Body: withPKCE(fields{"email": "string"})},
		{Method: "POST", Pattern: "/auth/v1/otp", Who: route.Public, Handle: a.sendOTP,
			Doc: "Mail a sign-in link and code, or text a code", Auth: true, Query: redirectTo, Response: empty,
			Body: withPKCE(fields{"email": "string", "phone": "string", "channel": "string", "create_user": "boolean",
				"data": "object"})},
		{Method: "POST", Pattern: "/auth/v1/magiclink", Who: route.Public, Handle: a.sendOTP,
			Doc: "Mail a sign-in link (older clients)", Auth: true, Query: redirectTo, Response: empty,
			Body: withPKCE(fields{"email": "string", "data": "object"})},
		{Method: "POST", Pattern: "/auth/v1/resend", Who: route.Public, Handle: a.resendMail,
			Doc: "Mail a confirmation again", Auth: true, Query: redirectTo, Response: empty,
			Body: withPKCE(fields{"type": "string", "email": "string", "phone": "string"})},
		{Method: "POST", Pattern: "/auth/v1/verify", Who: route.Public, Handle: a.verifyToken,
			Doc: "Redeem a mailed code or link", Auth: true, Query: redirectTo, Response: sessionFields,
			Body: fields{"type": "string", "token": "string", "email": "string", "phone": "string", "token_hash": "string"}},
		{Method: "GET", Pattern: "/auth/v1/verify", Who: route.Public, Handle: a.openLink,
			Doc: "Open a mailed link; redeems nothing by itself", Status: http.StatusSeeOther,
			Query: fields{"token": "string", "type": "string", "redirect_to": "string"}},
		{Method: "GET", Pattern: "/auth/v1/authorize", Who: route.Departing, Handle: a.beginSignIn,
			Doc: "Sign in at a provider", Status: http.StatusFound,
			Query: withPKCE(fields{"provider": "string", "redirect_to": "string", "scopes": "string",
				"invite_token": "string"})},
		{Method: "GET", Pattern: "/auth/v1/callback/{provider}", Who: route.Returning, Handle: a.finishSignIn,
			Doc: "Where a provider sends the browser back to", Status: http.StatusFound,
			Query: answerFields},
		{Method: "POST", Pattern: "/auth/v1/callback/{provider}", Who: route.Returning, Handle: a.postedCallback,
			Doc: "The same for providers that post a form", Status: http.StatusSeeOther},
		{Method: "GET", Pattern: "/auth/v1/callback", Who: route.Returning, Handle: a.finishSignIn,
			Doc: "The same on a server with one provider", Status: http.StatusFound, Query: answerFields},
		{Method: "POST", Pattern: "/auth/v1/callback", Who: route.Returning, Handle: a.postedCallback,
			Doc: "The same for a provider that posts a form", Status: http.StatusSeeOther},
		{Method: "POST", Pattern: "/auth/v1/setup", Who: route.Public, Handle: administration{a}.setUp, Auth: true,
			Unlisted: true, Doc: "Make the first administrator, with the token of the link that a server without one prints",
			Body: fields{"token": "string", "organisation": "string", "email": "string", "password": "string"}, Response: empty},
		{Method: "POST", Pattern: "/auth/v1/invitations/opened", Who: route.Public, Handle: tenancy{a}.openedInvitation,
			Auth: true, Unlisted: true, Doc: "What an invitation's link is about, and its state",
			Body: fields{"invite_token": "string"}, Response: fields{"id": "string", "tenant_id": "string",
				"tenant_name": "string", "email": "string", "role": "string", "state": "string"}},
		{Method: "GET", Pattern: "/auth/v1/settings", Who: route.Open, Handle: a.serveSettings,
			Doc: "What the server offers; setup_needed is true while there is no administrator",
			Response: fields{"setup_needed": "boolean",
				"external": "object", "disable_signup": "boolean", "mailer_autoconfirm": "boolean",
				"phone_autoconfirm": "boolean", "sms_provider": "string", "saml_enabled": "boolean",
				"passkeys_enabled": "boolean"}},
		{Method: "GET", Pattern: "/auth/v1/health", Who: route.Public, Handle: a.serveHealth,
			Doc:      "Version of the service",
			Response: fields{"version": "string", "name": "string", "description": "string"}},
		{Method: "GET", Pattern: "/auth/v1/.well-known/jwks.json", Who: route.Open, Handle: a.serveJWKS,
			Doc: "Public keys that access tokens are signed with", Response: fields{"keys": "array"}},
		{Method: "GET", Pattern: "/auth/v1/.well-known/openid-configuration", Who: route.Open, Handle: a.serveDiscovery,
			Doc:      "Where the keys are, for who knows the issuer",
			Response: discoveryFields},
		{Method: "GET", Pattern: "/auth/v1/.well-known/oauth-authorization-server", Who: route.Open, Handle: a.serveDiscovery,
			Doc: "The same by its OAuth name", Response: discoveryFields},
	}
}

// accountRoutes is what a signed-in user asks of the account.
func (a *API) accountRoutes() []route.Route {
	s := signedIn{a.svc}
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/user", Who: route.Account, Handle: a.getUser,
			Doc: "The signed-in user", Response: userFields},
		{Method: "PUT", Pattern: "/auth/v1/user", Who: route.Account, Handle: a.putUser,
			Doc: "Change the signed-in user; data.tenant_id switches the session's tenant", Query: redirectTo,
			Response: userFields,
			Body: withPKCE(fields{"data": "object", "password": "string", "current_password": "string", "nonce": "string",
				"email": "string", "phone": "string", "channel": "string",
				"remove": "texts"})},
		{Method: "POST", Pattern: "/auth/v1/logout", Who: route.Account, Handle: a.endSession,
			Doc: "End sessions: global, local or others", Query: fields{"scope": "string"},
			Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/reauthenticate", Who: route.Account, Handle: a.sendReauthentication,
			Doc: "Mail a code for a sensitive change", Response: empty},
		{Method: "POST", Pattern: "/auth/v1/reauthenticate", Who: route.Account, Handle: a.renewProof,
			Auth:     true,
			Doc:      "Show a credential again, the password, the mailed code as nonce, or a passkey: the session is fresh for 10 minutes",
			Body:     fields{"password": "string", "nonce": "string", "challenge_id": "string", "credential": "object"},
			Response: empty},
		{Method: "GET", Pattern: "/auth/v1/sessions", Who: route.Account, Handle: s.listSessions,
			Doc: "Sessions of the signed-in user", Response: fields{"sessions": "array"}},
		{Method: "DELETE", Pattern: "/auth/v1/sessions/{id}", Who: route.Account, Handle: s.endSession,
			Doc: "End one of the signed-in user's sessions", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/user/identities/authorize", Who: route.Account, Handle: a.authorizeLink,
			Doc:    "Begin to link a further identity; with skip_http_redirect=true the address comes as JSON",
			Status: http.StatusFound,
			Query: withPKCE(fields{"provider": "string", "redirect_to": "string", "scopes": "string",
				"skip_http_redirect": "boolean"}), Response: fields{"url": "string"}},
		{Method: "DELETE", Pattern: "/auth/v1/user/identities/{id}", Who: route.Account, Handle: a.unlinkIdentity,
			Doc: "Unlink an identity, never the last one", Response: empty},
	}
}

// tenantsRoutes are about where the signed-in user is a member, and who else is.
func (a *API) tenantsRoutes() []route.Route {
	k := serviceAccounts{a}
	s := signedIn{a.svc}
	t := tenancy{a}
	return []route.Route{
		{Method: "POST", Pattern: "/auth/v1/tenant", Who: route.Account, Handle: t.switchTenant,
			Doc: "Switch the session to a tenant and get tokens that say so", Response: sessionFields,
			Body: fields{"tenant_id": "string"}},
		{Method: "GET", Pattern: "/auth/v1/tenants", Who: route.Account, Handle: t.listTenants,
			Doc: "Where the signed-in user is a member", Response: fields{"tenants": "array"}},
		{Method: "POST", Pattern: "/auth/v1/tenant/transfer", Who: route.AccountInTenant, Handle: t.transferTenant,
			Doc:    "Make another member owner of the tenant and the caller, an owner, its administrator; takes the password or the nonce of /reauthenticate",
			Status: http.StatusNoContent, Auth: true,
			Body: fields{"user_id": "string", "current_password": "string", "nonce": "string"}},
		{Method: "GET", Pattern: "/auth/v1/tenant/members/{id}/sessions", Who: route.AccountInTenant,
			Handle:   s.memberSessions,
			Doc:      "Sessions that a member has in the tenant; {id} is the member's user_id (administrators)",
			Response: fields{"sessions": "array"}},
		{Method: "GET", Pattern: "/auth/v1/tenant/members/{id}/works", Who: route.AccountInTenant, Handle: s.memberWorks,
			Doc:      "What a member, or a former one, set up and what goes on without that person (administrators)",
			Response: fields{"invitations": "array", "service_accounts": "array", "webhooks": "array", "connections": "array"}},
		{Method: "DELETE", Pattern: "/auth/v1/tenant/members/{id}/sessions", Who: route.AccountInTenant,
			Handle: s.endMemberSessions,
			Doc:    "End all sessions that a member has in the tenant (administrators, not of a role above their own)",
			Status: http.StatusNoContent},
		{Method: "DELETE", Pattern: "/auth/v1/tenant/members/{id}/sessions/{session_id}", Who: route.AccountInTenant,
			Handle: s.endMemberSession,
			Doc:    "End one of them (administrators, not of a role above their own)", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/tenant/service-accounts", Who: route.AccountInTenant,
			Handle:   k.listServiceAccounts,
			Doc:      "The tenant's service accounts with their keys, without secrets, and the scopes that keys may have (administrators)",
			Response: fields{"service_accounts": "array", "available_scopes": "texts"}},
		{Method: "POST", Pattern: "/auth/v1/tenant/service-accounts", Who: route.AccountInTenant,
			Handle: k.createServiceAccount, Status: http.StatusCreated,
			Doc:  "Make a service account, without keys yet (administrators; aal2 and a fresh proof, as all that follows)",
			Body: accountFields, Response: accountAnswer},
		{Method: "PATCH", Pattern: "/auth/v1/tenant/service-accounts/{id}", Who: route.AccountInTenant,
			Handle: k.changeServiceAccount, Doc: "Change a service account; its keys follow at once",
			Body: accountFields, Response: accountAnswer},
		{Method: "DELETE", Pattern: "/auth/v1/tenant/service-accounts/{id}", Who: route.AccountInTenant,
			Handle: k.removeServiceAccount, Doc: "Remove a service account and end its keys",
			Status: http.StatusNoContent},
		{Method: "POST", Pattern: "/auth/v1/tenant/service-accounts/{id}/keys", Who: route.AccountInTenant,
			Handle: k.renewServiceKey, Status: http.StatusCreated,
			Doc:  "Make a key; those before it are refused after overlap_seconds (0 = at once). The secret is answered this once",
			Body: fields{"overlap_seconds": "integer", "expires_at": "string"}, Response: keyAnswer},
		{Method: "DELETE", Pattern: "/auth/v1/tenant/service-accounts/{id}/keys/{key_id}", Who: route.AccountInTenant,
			Handle: k.revokeServiceKey, Doc: "End a key now",
			Status: http.StatusNoContent},
		{Method: "DELETE", Pattern: "/auth/v1/tenants/{id}", Who: route.Account, Handle: t.leaveTenant,
			Doc: "Leave a tenant; its last owner may not", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/invitations", Who: route.Account, Handle: t.listInvitations,
			Doc:      "Invitations that wait for the signed-in user's answer",
			Response: fields{"invitations": "array"}},
		{Method: "POST", Pattern: "/auth/v1/invitations/{id}/accept", Who: route.Account, Handle: t.acceptInvitation,
			Doc:      "Become a member where the signed-in user is invited",
			Response: invitationFields},
		{Method: "POST", Pattern: "/auth/v1/invitations/{id}/decline", Who: route.Account, Handle: t.declineInvitation,
			Doc:    "Turn an invitation down; its tenant is not told",
			Status: http.StatusNoContent},
		{Method: "POST", Pattern: "/auth/v1/invitations", Who: route.AccountInTenant, Handle: t.inviteMember,
			Doc: "Invite somebody to the tenant, in place of an invitation of the same address that is pending; with " +
				"deliver=link nothing is mailed and the answer has a link to hand over, once. worker_id, zone_ids and " +
				"owner_id (of a viewer) are the member's from the first request on (administrators)",
			Status: http.StatusCreated,
			Body: fields{"email": "string", "role": "string", "deliver": "string", "worker_id": "string",
				"zone_ids": "array", "owner_id": "string"},
			Response: fields{"id": "string", "tenant_id": "string", "email": "string",
				"role": "string", "worker_id": "string", "zone_ids": "array", "owner_id": "string",
				"expires_at": "string", "link": "string"}},
		{Method: "POST", Pattern: "/auth/v1/mail-templates/preview", Who: route.AccountInTenant, Handle: t.previewMail,
			Doc:      "A mail of the tenant with sample values: in the given words, else in those that would be sent (administrators)",
			Body:     fields{"kind": "string", "locale": "string", "subject": "string", "text": "string", "html": "string"},
			Response: fields{"subject": "string", "text": "string", "html": "string"}},
	}
}

// factorsRoutes are what proves more than a password.
func (a *API) factorsRoutes() []route.Route {
	f := secondFactors{a}
	p := passkeys{a}
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/factors", Who: route.Account, Handle: f.listFactors,
			Doc: "Second factors of the signed-in user", Response: fields{"factors": "array"}},
		{Method: "POST", Pattern: "/auth/v1/factors", Who: route.Account, Handle: f.enrolFactor,
			Doc:      "Enrol a second factor: totp, phone or webauthn. Where there is one already the session has to be aal2",
			Body:     fields{"factor_type": "string", "friendly_name": "string", "issuer": "string", "phone": "string"},
			Response: fields{"id": "string", "type": "string", "friendly_name": "string", "phone": "string", "totp": "object"}},
		{Method: "DELETE", Pattern: "/auth/v1/factors/{id}", Who: route.Account, Handle: f.unenrolFactor,
			Doc:      "Remove a second factor; a verified one takes an aal2 session",
			Response: fields{"id": "string"}},
		{Method: "POST", Pattern: "/auth/v1/factors/{id}/challenge", Who: route.Account, Handle: f.challengeFactor,
			Doc:      "Ask a second factor; a telephone is sent a code by channel sms or whatsapp",
			Body:     fields{"channel": "string", "webauthn": "object"},
			Response: fields{"id": "string", "type": "string", "expires_at": "integer", "webauthn": "object"}},
		{Method: "POST", Pattern: "/auth/v1/factors/{id}/verify", Who: route.Account, Handle: f.verifyFactor,
			Doc: "Answer a challenge: the session becomes aal2. Wrong answers cost waits that grow", Auth: true,
			Body: fields{"challenge_id": "string", "code": "string", "webauthn": "object"}, Response: sessionFields},
		{Method: "GET", Pattern: "/auth/v1/factors/recovery-codes", Who: route.Account, Handle: f.recoveryCodes,
			Doc: "How many recovery codes are left", Response: fields{"remaining": "integer"}},
		{Method: "POST", Pattern: "/auth/v1/factors/recovery-codes", Who: route.Account, Handle: f.newRecoveryCodes,
			Doc:      "Make ten single-use recovery codes in place of any before; shown once",
			Response: fields{"codes": "texts"}},
		{Method: "POST", Pattern: "/auth/v1/factors/recovery-codes/verify", Who: route.Account, Handle: f.useRecoveryCode,
			Doc:  "Use a recovery code in place of a lost factor: the session becomes aal2",
			Auth: true, Body: fields{"code": "string"},
			Response: sessionFields},
		{Method: "POST", Pattern: "/auth/v1/passkeys/registration/options", Who: route.Account, Handle: p.registerPasskey,
			Doc: "Begin to register a passkey", Response: ceremonyFields},
		{Method: "POST", Pattern: "/auth/v1/passkeys/registration/verify", Who: route.Account, Handle: p.registeredPasskey,
			Doc:  "Register a passkey",
			Body: fields{"challenge_id": "string", "credential": "object"}, Response: passkeyFields},
		{Method: "GET", Pattern: "/auth/v1/passkeys", Who: route.Account, Handle: p.listPasskeys,
			Doc: "Passkeys of the signed-in user (an array)"},
		{Method: "PATCH", Pattern: "/auth/v1/passkeys/{id}", Who: route.Account, Handle: p.renamePasskey,
			Doc: "Rename a passkey", Body: fields{"friendly_name": "string"}, Response: passkeyFields},
		{Method: "DELETE", Pattern: "/auth/v1/passkeys/{id}", Who: route.Account, Handle: p.removePasskey,
			Doc: "Remove a passkey and end the sessions it began", Status: http.StatusNoContent},
		{Method: "POST", Pattern: "/auth/v1/passkeys/authentication/options", Who: route.Public, Handle: p.askPasskey,
			Doc: "Begin to sign in with a passkey", Auth: true, Response: ceremonyFields},
		{Method: "POST", Pattern: "/auth/v1/passkeys/authentication/verify", Who: route.Public, Handle: p.signInPasskey,
			Doc: "Sign in with a passkey: the session is aal2", Auth: true,
			Body: fields{"challenge_id": "string", "credential": "object"}, Response: sessionFields},
	}
}

// adminRoutes is about every account, for the service key.
func (a *API) adminRoutes() []route.Route {
	f := secondFactors{a}
	m := administration{a}
	p := passkeys{a}
	s := signedIn{a.svc}
	return []route.Route{
		{Method: "GET", Pattern: "/auth/v1/admin/users/{id}/sessions", Who: route.Service, Handle: s.userSessions,
			Doc: "Sessions of an account", Response: fields{"sessions": "array"}},
		{Method: "DELETE", Pattern: "/auth/v1/admin/users/{id}/sessions", Who: route.Service, Handle: s.endUserSessions,
			Doc: "End all sessions of an account", Status: http.StatusNoContent},
		{Method: "DELETE", Pattern: "/auth/v1/admin/users/{id}/sessions/{session_id}", Who: route.Service,
			Handle: s.endUserSession, Doc: "End one session of an account", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/admin/users/{id}/passkeys", Who: route.Service, Handle: p.userPasskeys,
			Doc: "Passkeys of an account (an array)"},
		{Method: "DELETE", Pattern: "/auth/v1/admin/users/{id}/passkeys/{passkey_id}", Who: route.Service,
			Handle: p.removeUserPasskey, Doc: "Remove a passkey of an account", Status: http.StatusNoContent},
		{Method: "GET", Pattern: "/auth/v1/admin/users/{id}/factors", Who: route.Service, Handle: f.userFactors,
			Doc: "Second factors of an account (an array)"},
		{Method: "PUT", Pattern: "/auth/v1/admin/users/{id}/factors/{factor_id}", Who: route.Service,
			Handle: f.changeUserFactor, Doc: "Change a second factor: its name, a telephone's number",
			Body: fields{"friendly_name": "string", "phone": "string"}, Response: factorFields},
		{Method: "DELETE", Pattern: "/auth/v1/admin/users/{id}/factors/{factor_id}", Who: route.Service,
			Handle: f.removeUserFactor, Doc: "Remove a second factor: the way back for who lost it",
			Response: factorFields},
		{Method: "GET", Pattern: "/auth/v1/admin/users", Who: route.Service, Handle: m.listUsers,
			Doc:      "List accounts",
			Query:    fields{"page": "integer", "per_page": "integer", "filter": "string", "sort": "string"},
			Response: fields{"users": "array", "aud": "string"}},
		{Method: "POST", Pattern: "/auth/v1/admin/users", Who: route.Service, Handle: m.createUser,
			Doc: "Make an account", Body: adminFields, Response: userFields},
		{Method: "GET", Pattern: "/auth/v1/admin/users/{id}", Who: route.Service, Handle: m.adminUser,
			Doc: "One account", Response: userFields},
		{Method: "PUT", Pattern: "/auth/v1/admin/users/{id}", Who: route.Service, Handle: m.changeUser,
			Doc: "Change an account", Body: adminFields, Response: userFields},
		{Method: "DELETE", Pattern: "/auth/v1/admin/users/{id}", Who: route.Service, Handle: m.deleteUser,
			Doc: "Delete an account", Body: fields{"should_soft_delete": "boolean"}, Response: empty},
		{Method: "POST", Pattern: "/auth/v1/admin/generate_link", Who: route.Service, Handle: m.generateLink,
			Doc: "Make a link without mailing it", Query: redirectTo,
			Body: fields{"type": "string", "email": "string", "password": "string", "new_email": "string", "data": "object",
				"redirect_to": "string"},
			Response: fields{"id": "string", "action_link": "string", "email_otp": "string", "hashed_token": "string",
				"verification_type": "string", "redirect_to": "string"}},
		{Method: "POST", Pattern: "/auth/v1/invite", Who: route.Service, Handle: m.inviteUser,
			Doc: "Make an account and mail its invitation", Query: redirectTo,
			Body: fields{"email": "string", "data": "object"}, Response: userFields},
	}
}
