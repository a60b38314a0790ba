package auth

import "net/http"

// caller is who may call a route.
type caller uint8

const (
	public    caller = iota // anyone; the credential is not looked at, and what is tried is counted by what it is
	open                    // anyone; counted as a request of the address
	returning               // open, for a browser that a provider sends back: what is refused leads it to the site
	user                    // a signed-in user
	member                  // a signed-in user, with the second factor his tenant may ask for
	service                 // a service key
)

// anyone reports a route that looks at no credential.
func (c caller) anyone() bool { return c == public || c == open || c == returning }

// Route describes one served route, for rate limits and the OpenAPI document.
// Pattern is below /auth/v1.
type Route struct {
	Method   string
	Pattern  string
	Doc      string
	Public   bool              // served without a credential
	Service  bool              // served to service keys only
	Auth     bool              // counts in the authentication category
	Body     map[string]string // request members: name -> type
	Query    map[string]string // query parameters: name -> type
	Response map[string]string // members of the success body: name -> type; nil = none
	Status   int               // of success
}

// route is a line of the table: what Routes shows and what serves it.
type route struct {
	Route
	who    caller
	handle func(a *API, w http.ResponseWriter, c *call) error
}

// Routes lists everything the handler serves.
func Routes() []Route {
	out := make([]Route, len(table))
	for i := range table {
		out[i] = table[i].Route
		out[i].Public, out[i].Service = table[i].who.anyone(), table[i].who == service
		if out[i].Status == 0 {
			out[i].Status = http.StatusOK
		}
	}
	return out
}

type fields = map[string]string

var (
	sessionFields = fields{"access_token": "string", "token_type": "string", "expires_in": "integer", "expires_at": "integer",
		"refresh_token": "string", "user": "object"}
	userFields = fields{"id": "string", "aud": "string", "role": "string", "email": "string", "phone": "string", "app_metadata": "object",
		"user_metadata": "object",
		"identities":    "array", "created_at": "string", "updated_at": "string", "is_anonymous": "boolean"}
	adminFields = fields{"id": "string", "email": "string", "phone": "string", "phone_confirm": "boolean", "password": "string",
		"password_hash": "string", "email_confirm": "boolean", "user_metadata": "object",
		"app_metadata": "object", "role": "string", "ban_duration": "string"}
	invitationFields = fields{"id": "string", "tenant_id": "string", "tenant_name": "string", "role": "string", "created_at": "string", "expires_at": "string"}
	factorFields     = fields{"id": "string", "factor_type": "string", "friendly_name": "string", "status": "string", "created_at": "string",
		"updated_at": "string"}
	ceremonyFields = fields{"challenge_id": "string", "options": "object", "expires_at": "integer"}
	passkeyFields  = fields{"id": "string", "friendly_name": "string", "created_at": "string", "last_used_at": "string"}
	accountFields  = fields{"name": "string", "role": "string", "scopes": "array", "addresses": "array", "expires_at": "string"}
	accountAnswer  = fields{"id": "string", "name": "string", "role": "string", "scopes": "array", "addresses": "array", "expires_at": "string",
		"created_at": "string", "created_by": "string", "updated_at": "string", "keys": "array"}
	keyAnswer = fields{"id": "string", "state": "string", "secret": "string", "created_at": "string", "created_by": "string",
		"expires_at": "string", "revoked_at": "string", "last_used_at": "string"}
	empty           = fields{}
	redirectTo      = fields{"redirect_to": "string"}
	discoveryFields = fields{"issuer": "string", "jwks_uri": "string", "token_endpoint": "string", "grant_types_supported": "array",
		"response_types_supported": "array"}
	answerFields = fields{"state": "string", "code": "string", "error": "string", "error_description": "string", "iss": "string"}
)

func withPKCE(f fields) fields {
	out := fields{"code_challenge": "string", "code_challenge_method": "string"}
	for k, v := range f {
		out[k] = v
	}
	return out
}

var table = []route{
	{Route{Method: "POST", Pattern: "/signup", Doc: "Make an account", Auth: true, Query: redirectTo, Response: sessionFields,
		Body: withPKCE(fields{"email": "string", "phone": "string", "channel": "string", "password": "string", "data": "object",
			"invite_token": "string"})}, public, (*API).signUp},
	{Route{Method: "POST", Pattern: "/token",
		Doc: "Sign in with a password, refresh a session, or redeem an authorization code or a provider's ID token; " +
			"client_credentials (a form, the client by HTTP Basic or as members) gives a service account a token for a quarter of an hour", Auth: true, Query: fields{"grant_type": "string"}, Response: sessionFields,
		Body: fields{"grant_type": "string", "email": "string", "phone": "string", "password": "string", "refresh_token": "string", "auth_code": "string",
			"code_verifier": "string",
			"provider":      "string", "id_token": "string", "access_token": "string", "nonce": "string", "link_identity": "boolean",
			"invite_token": "string", "client_id": "string", "client_secret": "string", "scope": "string"}}, public, (*API).token},
	{Route{Method: "POST", Pattern: "/recover", Doc: "Mail a link to choose a new password", Auth: true, Query: redirectTo, Response: empty,
		Body: withPKCE(fields{"email": "string"})}, public, (*API).recover},
	{Route{Method: "POST", Pattern: "/otp", Doc: "Mail a sign-in link and code, or text a code", Auth: true, Query: redirectTo, Response: empty,
		Body: withPKCE(fields{"email": "string", "phone": "string", "channel": "string", "create_user": "boolean", "data": "object"})}, public, (*API).otp},
	{Route{Method: "POST", Pattern: "/magiclink", Doc: "Mail a sign-in link (older clients)", Auth: true, Query: redirectTo, Response: empty,
		Body: withPKCE(fields{"email": "string", "data": "object"})}, public, (*API).otp},
	{Route{Method: "POST", Pattern: "/resend", Doc: "Mail a confirmation again", Auth: true, Query: redirectTo, Response: empty,
		Body: withPKCE(fields{"type": "string", "email": "string", "phone": "string"})}, public, (*API).resend},
	{Route{Method: "POST", Pattern: "/verify", Doc: "Redeem a mailed code or link", Auth: true, Query: redirectTo, Response: sessionFields,
		Body: fields{"type": "string", "token": "string", "email": "string", "phone": "string", "token_hash": "string"}}, public, (*API).verify},
	{Route{Method: "GET", Pattern: "/verify", Doc: "Open a mailed link; redeems nothing by itself", Status: http.StatusSeeOther,
		Query: fields{"token": "string", "type": "string", "redirect_to": "string"}}, public, (*API).openLink},
	{Route{Method: "GET", Pattern: "/authorize", Doc: "Sign in at a provider", Status: http.StatusFound,
		Query: withPKCE(fields{"provider": "string", "redirect_to": "string", "scopes": "string", "invite_token": "string"})}, public, (*API).authorize},
	{Route{Method: "GET", Pattern: "/callback/{provider}", Doc: "Where a provider sends the browser back to", Status: http.StatusFound,
		Query: answerFields}, returning, (*API).callback},
	{Route{Method: "POST", Pattern: "/callback/{provider}", Doc: "The same for providers that post a form", Status: http.StatusSeeOther}, returning,
		(*API).postedCallback},
	{Route{Method: "GET", Pattern: "/callback", Doc: "The same on a server with one provider", Status: http.StatusFound, Query: answerFields},
		returning, (*API).callback},
	{Route{Method: "POST", Pattern: "/callback", Doc: "The same for a provider that posts a form", Status: http.StatusSeeOther}, returning, (*API).postedCallback},
	{Route{Method: "GET", Pattern: "/settings", Doc: "What the server offers",
		Response: fields{"external": "object", "disable_signup": "boolean", "mailer_autoconfirm": "boolean",
			"phone_autoconfirm": "boolean", "sms_provider": "string", "saml_enabled": "boolean", "passkeys_enabled": "boolean"}}, open, (*API).settings},
	{Route{Method: "GET", Pattern: "/health", Doc: "Version of the service",
		Response: fields{"version": "string", "name": "string", "description": "string"}}, public, (*API).health},
	{Route{Method: "GET", Pattern: "/.well-known/jwks.json", Doc: "Public keys that access tokens are signed with", Response: fields{"keys": "array"}},
		open, (*API).jwks},
	{Route{Method: "GET", Pattern: "/.well-known/openid-configuration", Doc: "Where the keys are, for who knows the issuer",
		Response: discoveryFields}, open, (*API).discovery},
	{Route{Method: "GET", Pattern: "/.well-known/oauth-authorization-server", Doc: "The same by its OAuth name", Response: discoveryFields}, open,
		(*API).discovery},

	{Route{Method: "GET", Pattern: "/user", Doc: "The signed-in user", Response: userFields}, user, (*API).getUser},
	{Route{Method: "PUT", Pattern: "/user", Doc: "Change the signed-in user; data.tenant_id switches the session's tenant", Query: redirectTo,
		Response: userFields,
		Body: withPKCE(fields{"data": "object", "password": "string", "current_password": "string", "nonce": "string", "email": "string",
			"phone": "string", "channel": "string",
			"remove": "array"})}, user, (*API).putUser},
	{Route{Method: "POST", Pattern: "/tenant", Doc: "Switch the session to a tenant and get tokens that say so", Response: sessionFields,
		Body: fields{"tenant_id": "string"}}, user, (*API).switchTenant},
	{Route{Method: "GET", Pattern: "/tenants", Doc: "Where the signed-in user is a member", Response: fields{"tenants": "array"}}, user, (*API).tenants},
	{Route{Method: "POST", Pattern: "/tenant/transfer",
		Doc: "Make another member owner of the tenant and the caller, an owner, its administrator; takes the password or the nonce of /reauthenticate", Status: http.StatusNoContent, Auth: true,
		Body: fields{"user_id": "string", "current_password": "string", "nonce": "string"}}, member, (*API).transferTenant},
	{Route{Method: "GET", Pattern: "/tenant/members/{id}/sessions",
		Doc: "Sessions that a member has in the tenant; {id} is the member's user_id (administrators)", Response: fields{"sessions": "array"}}, member, (*API).memberSessions},
	{Route{Method: "DELETE", Pattern: "/tenant/members/{id}/sessions",
		Doc: "End all sessions that a member has in the tenant (administrators, not of a role above their own)", Status: http.StatusNoContent}, member, (*API).endMemberSessions},
	{Route{Method: "DELETE", Pattern: "/tenant/members/{id}/sessions/{session_id}",
		Doc: "End one of them (administrators, not of a role above their own)", Status: http.StatusNoContent}, member, (*API).endMemberSession},
	{Route{Method: "GET", Pattern: "/tenant/service-accounts",
		Doc:      "The tenant's service accounts with their keys, without secrets, and the scopes that keys may have (administrators)",
		Response: fields{"service_accounts": "array", "available_scopes": "array"}}, member, listServiceAccounts},
	{Route{Method: "POST", Pattern: "/tenant/service-accounts", Status: http.StatusCreated,
		Doc:  "Make a service account, without keys yet (administrators; aal2 and a fresh proof, as all that follows)",
		Body: accountFields, Response: accountAnswer}, member, createServiceAccount},
	{Route{Method: "PATCH", Pattern: "/tenant/service-accounts/{id}", Doc: "Change a service account; its keys follow at once",
		Body: accountFields, Response: accountAnswer}, member, changeServiceAccount},
	{Route{Method: "DELETE", Pattern: "/tenant/service-accounts/{id}", Doc: "Remove a service account and end its keys",
		Status: http.StatusNoContent}, member, removeServiceAccount},
	{Route{Method: "POST", Pattern: "/tenant/service-accounts/{id}/keys", Status: http.StatusCreated,
		Doc:  "Make a key; those before it are refused after overlap_seconds (0 = at once). The secret is answered this once",
		Body: fields{"overlap_seconds": "integer", "expires_at": "string"}, Response: keyAnswer}, member, renewServiceKey},
	{Route{Method: "DELETE", Pattern: "/tenant/service-accounts/{id}/keys/{key_id}", Doc: "End a key now",
		Status: http.StatusNoContent}, member, revokeServiceKey},
	{Route{Method: "DELETE", Pattern: "/tenants/{id}", Doc: "Leave a tenant; its last owner may not", Status: http.StatusNoContent},
		user, leaveTenant},
	{Route{Method: "GET", Pattern: "/invitations", Doc: "Invitations that wait for the signed-in user's answer",
		Response: fields{"invitations": "array"}}, user, invitations},
	{Route{Method: "POST", Pattern: "/invitations/{id}/accept", Doc: "Become a member where the signed-in user is invited",
		Response: invitationFields}, user, acceptInvitation},
	{Route{Method: "POST", Pattern: "/invitations/{id}/decline", Doc: "Turn an invitation down; its tenant is not told",
		Status: http.StatusNoContent}, user, declineInvitation},
	{Route{Method: "POST", Pattern: "/invitations",
		Doc: "Invite somebody to the tenant, in place of an invitation of the same address that is pending; with deliver=link nothing is mailed and the " +
			"answer has a link to hand over, once (administrators)", Status: http.StatusCreated,
		Body: fields{"email": "string", "role": "string", "deliver": "string"}, Response: fields{"id": "string", "tenant_id": "string", "email": "string",
			"role": "string", "expires_at": "string", "link": "string"}}, member, (*API).inviteMember},
	{Route{Method: "POST", Pattern: "/mail-templates/preview",
		Doc:  "A mail of the tenant with sample values: in the given words, else in those that would be sent (administrators)",
		Body: fields{"kind": "string", "locale": "string", "subject": "string", "text": "string", "html": "string"}, Response: fields{"subject": "string",
			"text": "string", "html": "string"}}, member, (*API).previewMail},
	{Route{Method: "POST", Pattern: "/logout", Doc: "End sessions: global, local or others", Query: fields{"scope": "string"},
		Status: http.StatusNoContent}, user, (*API).logout},
	{Route{Method: "GET", Pattern: "/reauthenticate", Doc: "Mail a code for a sensitive change", Response: empty}, user, (*API).reauthenticate},
	{Route{Method: "POST", Pattern: "/reauthenticate", Auth: true,
		Doc:  "Show a credential again, the password, the mailed code as nonce, or a passkey: the session is fresh for 10 minutes",
		Body: fields{"password": "string", "nonce": "string", "challenge_id": "string", "credential": "object"}, Response: empty}, user, renewProof},

	{Route{Method: "GET", Pattern: "/sessions", Doc: "Sessions of the signed-in user", Response: fields{"sessions": "array"}}, user, (*API).sessions},
	{Route{Method: "DELETE", Pattern: "/sessions/{id}", Doc: "End one of the signed-in user's sessions", Status: http.StatusNoContent}, user, (*API).endSession},
	{Route{Method: "GET", Pattern: "/user/identities/authorize",
		Doc: "Begin to link a further identity; with skip_http_redirect=true the address comes as JSON", Status: http.StatusFound,
		Query: withPKCE(fields{"provider": "string", "redirect_to": "string", "scopes": "string",
			"skip_http_redirect": "boolean"}), Response: fields{"url": "string"}}, user, (*API).authorizeLink},
	{Route{Method: "DELETE", Pattern: "/user/identities/{id}", Doc: "Unlink an identity, never the last one", Response: empty}, user, (*API).unlink},
	{Route{Method: "GET", Pattern: "/factors", Doc: "Second factors of the signed-in user", Response: fields{"factors": "array"}}, user, (*API).factors},
	{Route{Method: "POST", Pattern: "/factors", Doc: "Enrol a second factor: totp, phone or webauthn. Where there is one already the session has to be aal2",
		Body: fields{"factor_type": "string", "friendly_name": "string", "issuer": "string", "phone": "string"}, Response: fields{"id": "string",
			"type": "string", "friendly_name": "string", "phone": "string", "totp": "object"}}, user, (*API).enrolFactor},
	{Route{Method: "DELETE", Pattern: "/factors/{id}", Doc: "Remove a second factor; a verified one takes an aal2 session",
		Response: fields{"id": "string"}}, user, (*API).unenrolFactor},
	{Route{Method: "POST", Pattern: "/factors/{id}/challenge", Doc: "Ask a second factor; a telephone is sent a code by channel sms or whatsapp",
		Body:     fields{"channel": "string", "webauthn": "object"},
		Response: fields{"id": "string", "type": "string", "expires_at": "integer", "webauthn": "object"}}, user, (*API).challengeFactor},
	{Route{Method: "POST", Pattern: "/factors/{id}/verify", Doc: "Answer a challenge: the session becomes aal2. Wrong answers cost waits that grow", Auth: true,
		Body: fields{"challenge_id": "string", "code": "string", "webauthn": "object"}, Response: sessionFields}, user, (*API).verifyFactor},
	{Route{Method: "GET", Pattern: "/factors/recovery-codes", Doc: "How many recovery codes are left", Response: fields{"remaining": "integer"}}, user,
		(*API).recoveryCodes},
	{Route{Method: "POST", Pattern: "/factors/recovery-codes", Doc: "Make ten single-use recovery codes in place of any before; shown once",
		Response: fields{"codes": "array"}}, user, (*API).newRecoveryCodes},
	{Route{Method: "POST", Pattern: "/factors/recovery-codes/verify", Doc: "Use a recovery code in place of a lost factor: the session becomes aal2",
		Auth: true, Body: fields{"code": "string"},
		Response: sessionFields}, user, (*API).useRecoveryCode},

	{Route{Method: "POST", Pattern: "/passkeys/registration/options", Doc: "Begin to register a passkey", Response: ceremonyFields}, user, (*API).registerPasskey},
	{Route{Method: "POST", Pattern: "/passkeys/registration/verify", Doc: "Register a passkey",
		Body: fields{"challenge_id": "string", "credential": "object"}, Response: passkeyFields}, user, (*API).registeredPasskey},
	{Route{Method: "GET", Pattern: "/passkeys", Doc: "Passkeys of the signed-in user (an array)"}, user, (*API).passkeys},
	{Route{Method: "PATCH", Pattern: "/passkeys/{id}", Doc: "Rename a passkey", Body: fields{"friendly_name": "string"}, Response: passkeyFields},
		user, (*API).renamePasskey},
	{Route{Method: "DELETE", Pattern: "/passkeys/{id}", Doc: "Remove a passkey and end the sessions it began", Status: http.StatusNoContent}, user,
		(*API).removePasskey},
	{Route{Method: "POST", Pattern: "/passkeys/authentication/options", Doc: "Begin to sign in with a passkey", Auth: true, Response: ceremonyFields},
		public, (*API).askPasskey},
	{Route{Method: "POST", Pattern: "/passkeys/authentication/verify", Doc: "Sign in with a passkey: the session is aal2", Auth: true,
		Body: fields{"challenge_id": "string", "credential": "object"}, Response: sessionFields}, public, (*API).signInPasskey},

	{Route{Method: "GET", Pattern: "/admin/users/{id}/sessions", Doc: "Sessions of an account", Response: fields{"sessions": "array"}}, service,
		(*API).userSessions},
	{Route{Method: "DELETE", Pattern: "/admin/users/{id}/sessions", Doc: "End all sessions of an account", Status: http.StatusNoContent}, service,
		(*API).endUserSessions},
	{Route{Method: "DELETE", Pattern: "/admin/users/{id}/sessions/{session_id}", Doc: "End one session of an account", Status: http.StatusNoContent},
		service, (*API).endUserSession},
	{Route{Method: "GET", Pattern: "/admin/users/{id}/passkeys", Doc: "Passkeys of an account (an array)"}, service, (*API).userPasskeys},
	{Route{Method: "DELETE", Pattern: "/admin/users/{id}/passkeys/{passkey_id}", Doc: "Remove a passkey of an account", Status: http.StatusNoContent},
		service, (*API).removeUserPasskey},
	{Route{Method: "GET", Pattern: "/admin/users/{id}/factors", Doc: "Second factors of an account (an array)"}, service, (*API).userFactors},
	{Route{Method: "PUT", Pattern: "/admin/users/{id}/factors/{factor_id}", Doc: "Change a second factor: its name, a telephone's number",
		Body: fields{"friendly_name": "string", "phone": "string"}, Response: factorFields}, service, (*API).changeUserFactor},
	{Route{Method: "DELETE", Pattern: "/admin/users/{id}/factors/{factor_id}", Doc: "Remove a second factor: the way back for who lost it",
		Response: factorFields}, service, (*API).removeUserFactor},
	{Route{Method: "GET", Pattern: "/admin/users", Doc: "List accounts",
		Query:    fields{"page": "integer", "per_page": "integer", "filter": "string", "sort": "string"},
		Response: fields{"users": "array", "aud": "string"}}, service, (*API).listUsers},
	{Route{Method: "POST", Pattern: "/admin/users", Doc: "Make an account", Body: adminFields, Response: userFields}, service, (*API).createUser},
	{Route{Method: "GET", Pattern: "/admin/users/{id}", Doc: "One account", Response: userFields}, service, (*API).adminUser},
	{Route{Method: "PUT", Pattern: "/admin/users/{id}", Doc: "Change an account", Body: adminFields, Response: userFields}, service, (*API).changeUser},
	{Route{Method: "DELETE", Pattern: "/admin/users/{id}", Doc: "Delete an account", Body: fields{"should_soft_delete": "boolean"}, Response: empty},
		service, (*API).deleteUser},
	{Route{Method: "POST", Pattern: "/admin/generate_link", Doc: "Make a link without mailing it", Query: redirectTo,
		Body: fields{"type": "string", "email": "string", "password": "string", "new_email": "string", "data": "object", "redirect_to": "string"},
		Response: fields{"id": "string", "action_link": "string", "email_otp": "string", "hashed_token": "string", "verification_type": "string",
			"redirect_to": "string"}}, service, (*API).generateLink},
	{Route{Method: "POST", Pattern: "/invite", Doc: "Make an account and mail its invitation", Query: redirectTo,
		Body: fields{"email": "string", "data": "object"}, Response: userFields}, service, (*API).invite},
}
