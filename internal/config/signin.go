package config

import "time"

// SignIn is the settings that identity obeys as they are written: accounts.Config
// embeds them, so that a new one is a field here and the code that asks for it.
// Those that are read from a file, or that name something else by a text, stand in
// Config and are made what identity wants by package app.
//
// Where one is made by hand (in tests) a duration or a number of 0 is the default,
// and a negative MailInterval or RefreshReuseInterval is none.
type SignIn struct {
	PublicURL            string        `name:"public_url" doc:"address clients use; links and tokens are built from it (default http://<listen>)"`
	SecurityContact      string        `name:"security_contact" doc:"mailto: or https: address of who answers for security, told at /.well-known/security.txt"`
	SiteURL              string        `name:"site_url" doc:"where users land after mail links (default: public_url)"`
	RedirectURLs         []string      `name:"redirect_urls" doc:"allowed redirect targets, comma separated globs; tokens in links go to entries without * only"`
	JWTSecret            string        `name:"jwt_secret" secret:"true" doc:"HS256 secret of anon and service keys, 32 bytes or more; made when absent"`
	PublishableKey       string        `name:"publishable_key" secret:"true" doc:"fixed key sb_publishable_..., taken beside the one that is made"`
	SecretKey            string        `name:"secret_key" secret:"true" doc:"fixed key sb_secret_... (32 characters or more follow), beside the one that is made"`
	MailInterval         time.Duration `name:"mail_interval" default:"60s" doc:"least time between two mails of a kind to one address"`
	Autoconfirm          bool          `name:"autoconfirm" doc:"treat every address as confirmed (--dev and --demo switch it on)"`
	SignupEnabled        bool          `name:"signup" default:"true" doc:"let strangers sign up"`
	SignupTenants        string        `name:"signup_tenants" default:"invite" oneof:"invite claim" doc:"claim = a sign-up with an unknown tenant id creates it"`
	PasswordMinLength    int           `name:"password_min_length" default:"8" doc:"shortest password, in characters"`
	PasswordCurrent      bool          `name:"password_require_current" doc:"changing a password takes the one so far, or the code of /reauthenticate"`
	RefreshReuseInterval time.Duration `name:"refresh_reuse_interval" default:"10s" doc:"how long a used refresh token is refused without ending its session"`
	AccessTokenTTL       time.Duration `name:"access_token_ttl" default:"1h" doc:"life of an access token"`
	RefreshTokenTTL      time.Duration `name:"refresh_token_ttl" default:"720h" doc:"a session ends after this long without a refresh"`
	AnonymousUsers       bool          `name:"anonymous_signin" doc:"let people in without an account, to be upgraded later"`
	SAML                 bool          `name:"saml" doc:"organisations may sign in through their own SAML provider"`
	ManualLinking        bool          `name:"manual_linking" doc:"let users link further identities to their account"`
	Passkeys             bool          `name:"passkeys" default:"true" doc:"sign in with passkeys"`
	WebAuthnID           string        `name:"webauthn_rp_id" doc:"domain that passkeys and security keys are made for (default: the host of site_url)"`
	WebAuthnOrigins      []string      `name:"webauthn_origins" doc:"web origins that may use them, within that domain (default: the origin of site_url)"`
	ProductName          string        `name:"product_name" default:"Holdfast" doc:"name in mails, texts, authenticator apps, passkey prompts and user agents"`
	Phone                bool          `name:"phone_signin" doc:"sign in and up with telephone numbers; needs sms_url"`
	PhoneConfirmed       bool          `name:"phone_autoconfirm" doc:"treat every telephone number as confirmed"`
	MFASameAddress       bool          `name:"mfa_same_address" doc:"a second factor is answered from the address that asked for it; telephones change theirs"`
	MFAPhoneEnroll       bool          `name:"mfa_phone_enroll" doc:"telephone numbers may be enrolled as second factors"`
	MFAPhoneVerify       bool          `name:"mfa_phone_verify" doc:"numbers that are enrolled as second factors are asked; mfa_phone_enroll switches it on"`
	OTPLength            int           `name:"otp_length" default:"6" doc:"digits of mailed and texted codes, 6 to 10"`
	CodeTTL              time.Duration `name:"otp_ttl" default:"10m" doc:"life of mailed and texted codes and links"`
	FlowTTL              time.Duration `name:"flow_state_ttl" default:"5m" doc:"life of an authorization code (PKCE), from its issue"`
	ProviderTTL          time.Duration `name:"provider_ttl" default:"10m" doc:"how long somebody may take at a provider before the sign-in has to begin again"`
	ChallengeTTL         time.Duration `name:"mfa_challenge_ttl" default:"5m" doc:"how long a question to a second factor or a passkey waits for its answer"`
	ImplicitFlow         bool          `name:"implicit_flow" default:"true" doc:"tokens in the redirect fragment, which supabase-js asks for by default"`
}
