package identity

import (
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/admin"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/mfa"
	"holdfast/internal/identity/profile"
	"holdfast/internal/identity/providers"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
)

// What goes into the rooms and comes out of them, by one name for callers outside.
type (
	AccountChange = sessions.AccountChange
	AdminUser     = admin.AdminUser
	Arrival       = providers.Arrival
	AuthStart     = providers.AuthStart
	Authorize     = providers.Authorize
	Callback      = providers.Callback
	Client        = accounts.Client
	Config        = accounts.Config
	Credential    = accounts.Credential
	FactorChange  = mfa.FactorChange
	Federated     = providers.Federated
	IDToken       = providers.IDToken
	Invite        = tenants.Invite
	Reach         = tenants.Reach
	KeyUse        = keyring.KeyUse
	Landing       = signin.Landing
	LinkRequest   = admin.LinkRequest
	MailRequest   = signin.MailRequest
	MemberChange  = accounts.MemberChange
	Note          = providers.Note
	OAuthStyle    = sessions.OAuthStyle
	Offer         = mfa.Offer
	Open          = signin.Open
	PKCE          = codes.PKCE
	PhoneRequest  = signin.PhoneRequest
	PhoneSignUp   = signin.PhoneSignUp
	Proof         = profile.Proof
	Provider      = accounts.Provider
	Rekeyed       = keyring.Rekeyed
	Rekeying      = keyring.Rekeying
	Session       = sessions.Session
	SignUp        = signin.SignUp
	Tenant        = tenants.Tenant
	Time          = accounts.Time
	Transfer      = profile.Transfer
	Update        = profile.Update
	User          = accounts.User
	UserPage      = admin.UserPage
	Verify        = signin.Verify
)
