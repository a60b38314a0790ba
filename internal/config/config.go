// Package config holds every setting. One struct field is one setting: its
// tags name the flag, the environment variable (HOLDFAST_ + upper case), the
// key in the configuration file, the default and the documentation.
package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Config is the server's settings. Order of strength: flag, environment, file,
// default.
type Config struct {
	Listen            string        `name:"listen" default:"127.0.0.1:8080" doc:"address to serve on"`
	Data              string        `name:"data" default:"holdfast-data" doc:"data directory: embedded database, files, keys"`
	DatabaseURL       string        `name:"database_url" flag:"database" secret:"true" doc:"PostgreSQL URL; empty = embedded SQLite in the data directory"`
	RedisURL          string        `name:"redis_url" flag:"redis" secret:"true" doc:"Redis of a fleet, for limits and notices: redis://user:password@host:6379/0"`
	BlobURL           string        `name:"blob_url" secret:"true" doc:"where files are kept: s3://KEY:SECRET@host/bucket/prefix?region=... or file:///path"`
	ImportQuota       int           `name:"import_quota" default:"5120" doc:"megabytes of import files one tenant may keep"`
	PhotoQuota        int           `name:"photo_quota" default:"10240" doc:"megabytes of photos one tenant may keep"`
	RedisTimeout      time.Duration `name:"redis_timeout" default:"250ms" doc:"how long a request waits for Redis before the node counts by itself"`
	Migrate           string        `name:"migrate" default:"auto" oneof:"auto wait never" doc:"a schema that is behind is migrated, waited for, or refused"`
	DatabasePooler    string        `name:"database_pooler" default:"session" oneof:"session transaction" doc:"transaction = PgBouncer pools by transaction"`
	PublicURL         string        `name:"public_url" doc:"address clients use; links and tokens are built from it (default http://<listen>)"`
	SiteURL           string        `name:"site_url" doc:"where users land after mail links (default: public_url)"`
	RedirectURLs      []string      `name:"redirect_urls" doc:"allowed redirect targets, comma separated globs; tokens in links go to entries without * only"`
	SigningKeys       string        `name:"signing_keys" secret:"true" doc:"file with a private JWK set (ES256); made in the database when absent"`
	JWTSecret         string        `name:"jwt_secret" secret:"true" doc:"HS256 secret of anon and service keys, 32 bytes or more; made when absent"`
	PublishableKey    string        `name:"publishable_key" secret:"true" doc:"fixed key sb_publishable_..., taken beside the one that is made"`
	SecretKey         string        `name:"secret_key" secret:"true" doc:"fixed key sb_secret_... (32 characters or more follow), beside the one that is made"`
	MasterKey         string        `name:"master_key" secret:"true" doc:"base64 key of 32 bytes that encrypts secrets; made in the data directory when absent"`
	MasterKeyFile     string        `name:"master_key_file" doc:"file that holds the master key"`
	SMTPURL           string        `name:"smtp_url" secret:"true" doc:"mail server: smtp://user:password@host:587 or smtps://"`
	MailFrom          string        `name:"mail_from" default:"Holdfast <no-reply@localhost>" doc:"sender of mails"`
	MailInterval      time.Duration `name:"mail_interval" default:"60s" doc:"least time between two mails of a kind to one address"`
	Autoconfirm       bool          `name:"autoconfirm" doc:"treat every address as confirmed (--dev and --demo switch it on)"`
	Signup            bool          `name:"signup" default:"true" doc:"let strangers sign up"`
	SignupTenants     string        `name:"signup_tenants" default:"invite" oneof:"invite claim" doc:"claim = a sign-up with an unknown tenant id creates it"`
	SignupTaken       string        `name:"signup_taken" default:"hide" oneof:"hide tell" doc:"tell = a sign-up with a taken address is answered so that it shows"`
	OTPUnknown        string        `name:"otp_unknown" default:"hide" oneof:"hide tell" doc:"tell = otp_disabled where a code would have to make an account"`
	InviteLinks       string        `name:"invite_links" default:"proved" oneof:"proved any" doc:"any = links that administrators hand over open any address"`
	PasswordMinLength int           `name:"password_min_length" default:"8" doc:"shortest password, in characters"`

	PasswordClasses string `name:"password_requirements" oneof:"letters_digits lower_upper_letters_digits lower_upper_letters_digits_symbols" doc:"its characters"`

	PasswordCurrent  bool          `name:"password_require_current" doc:"changing a password takes the one so far, or the code of /reauthenticate"`
	RefreshReuse     time.Duration `name:"refresh_reuse_interval" default:"10s" doc:"how long a used refresh token is refused without ending its session"`
	AccessTokenTTL   time.Duration `name:"access_token_ttl" default:"1h" doc:"life of an access token"`
	RefreshTokenTTL  time.Duration `name:"refresh_token_ttl" default:"720h" doc:"a session ends after this long without a refresh"`
	AnonymousSignin  bool          `name:"anonymous_signin" doc:"let people in without an account, to be upgraded later"`
	SAML             bool          `name:"saml" doc:"organisations may sign in through their own SAML provider"`
	SSOAllowPrivate  bool          `name:"sso_allow_private" doc:"providers of organisations may be on private addresses and plain http"`
	ManualLinking    bool          `name:"manual_linking" doc:"let users link further identities to their account"`
	Passkeys         bool          `name:"passkeys" default:"true" doc:"sign in with passkeys"`
	WebAuthnID       string        `name:"webauthn_rp_id" doc:"domain that passkeys and security keys are made for (default: the host of site_url)"`
	WebAuthnOrigins  []string      `name:"webauthn_origins" doc:"web origins that may use them, within that domain (default: the origin of site_url)"`
	ProductName      string        `name:"product_name" default:"Holdfast" doc:"name in mails, text messages, authenticator apps, passkey prompts, user agents"`
	EmailSignin      bool          `name:"email_signin" default:"true" doc:"sign in and up with addresses"`
	PhoneSignin      bool          `name:"phone_signin" doc:"sign in and up with telephone numbers; needs sms_url"`
	PhoneAutoconfirm bool          `name:"phone_autoconfirm" doc:"treat every telephone number as confirmed"`
	SMSURL           string        `name:"sms_url" secret:"true" doc:"text messages are posted here, {\"to\": ..., \"text\": ...}; log = logged, with --dev only"`
	MFATOTPEnroll    bool          `name:"mfa_totp_enroll" default:"true" doc:"authenticator apps may be enrolled as second factors"`
	MFATOTPVerify    bool          `name:"mfa_totp_verify" default:"true" doc:"authenticator apps that are enrolled are asked; off switches mfa_totp_enroll off"`
	MFASameAddress   bool          `name:"mfa_same_address" doc:"a second factor is answered from the address that asked for it; telephones change theirs"`
	MFAPhoneEnroll   bool          `name:"mfa_phone_enroll" doc:"telephone numbers may be enrolled as second factors"`
	MFAPhoneVerify   bool          `name:"mfa_phone_verify" doc:"numbers that are enrolled as second factors are asked; mfa_phone_enroll switches it on"`
	MFAWebAuthn      bool          `name:"mfa_webauthn" default:"true" doc:"security keys may be enrolled as second factors, and are asked"`
	PhoneCodes       []string      `name:"phone_codes" secret:"true" doc:"fixed codes of test numbers, 15550001111=424242,...; nothing is sent to them"`
	CaptchaURL       string        `name:"captcha_url" doc:"where captchas are verified, such as https://api.hcaptcha.com/siteverify; empty = none asked for"`
	CaptchaSecret    string        `name:"captcha_secret" secret:"true" doc:"the site's secret at that address"`
	OTPLength        int           `name:"otp_length" default:"6" doc:"digits of mailed and texted codes, 6 to 10"`
	OTPTTL           time.Duration `name:"otp_ttl" default:"10m" doc:"life of mailed and texted codes and links"`
	FlowStateTTL     time.Duration `name:"flow_state_ttl" default:"5m" doc:"life of an authorization code (PKCE), from its issue"`
	ProviderTTL      time.Duration `name:"provider_ttl" default:"10m" doc:"how long somebody may take at a provider before the sign-in has to begin again"`
	MFAChallengeTTL  time.Duration `name:"mfa_challenge_ttl" default:"5m" doc:"how long a question to a second factor or a passkey waits for its answer"`
	ImplicitFlow     bool          `name:"implicit_flow" default:"true" doc:"tokens in the redirect fragment, which supabase-js asks for by default"`
	OAuthProviders   []Provider    `name:"oauth" secret:"true" doc:"OAUTH_<PROVIDER>_CLIENT_ID, _SECRET, _ISSUER, _DOMAINS; for Apple _TEAM_ID, _KEY_ID, ..."`
	RateLimits       string        `name:"rate_limits" default:"on" oneof:"on off" doc:"off = no limits, for benchmarks"`
	SigninLimit      string        `name:"signin_limit" default:"60/10" doc:"sign-ins of an address in a minute, and within it in 10 s; an account has twice"`
	TrustedProxies   []string      `name:"trusted_proxies" doc:"addresses or prefixes whose X-Forwarded-For and -Proto count"`
	ServiceAddresses []string      `name:"service_addresses" doc:"addresses or prefixes that service keys are taken from; empty = any"`
	CORSOrigins      []string      `name:"cors_origins" default:"*" doc:"browser origins that may call the API"`
	TLSCert          string        `name:"tls_cert" doc:"certificate file (PEM)"`
	TLSKey           string        `name:"tls_key" secret:"true" doc:"private key file (PEM)"`
	TLSDomains       []string      `name:"tls_domains" doc:"public names to fetch certificates for (ACME)"`
	ACMEURL          string        `name:"acme_url" default:"https://acme-v02.api.letsencrypt.org/directory" doc:"directory of the certificate authority"`
	ACMEEmail        string        `name:"acme_email" doc:"address that the certificate authority writes to"`
	ACMEListen       string        `name:"acme_listen" doc:"second listener, usually :80, for HTTP-01; it sends the rest to https"`
	WebhookPrivate   bool          `name:"webhook_allow_private" doc:"let webhooks call http and private addresses: for tests and closed networks"`
	BackupTo         string        `name:"backup_to" secret:"true" doc:"where the server makes backups by itself: a directory or s3:// address"`
	BackupEvery      time.Duration `name:"backup_every" default:"24h" doc:"how old the last backup may be before the next is made"`
	BackupKeep       int           `name:"backup_keep" default:"7" doc:"how many of the backups that the server made are kept"`
	BackupPassphrase string        `name:"backup_passphrase" secret:"true" doc:"passphrase that backups are encrypted to; at least 12 characters"`
	BackupRecipient  string        `name:"backup_recipient" doc:"age public key (age1...) that backups are encrypted to, instead of a passphrase"`
	SlowStatement    time.Duration `name:"slow_statement" default:"1s" doc:"statements that take longer are logged, without values; 0 = none"`
	LogLevel         string        `name:"log_level" default:"info" oneof:"debug info warn error" doc:"least level that is logged"`
	LogFormat        string        `name:"log_format" default:"json" oneof:"json text" doc:"format of log lines"`
	AdminListen      string        `name:"admin_listen" doc:"loopback address of a second listener with /metrics and profiles at /debug/pprof/; empty = none"`
	Dev              bool          `name:"dev" doc:"development: loopback only, autoconfirm, mails kept at /dev/mail"`
	Demo             bool          `name:"demo" doc:"--dev with two tenants and 90 days of data"`
}

// Setting describes one field for flags, help and the reference.
type Setting struct {
	Name    string // key in file; flag with dashes; environment in upper case
	Flag    string
	Env     string
	Default string
	Doc     string
	Secret  bool
	Bool    bool
	Hidden  bool // not a flag
	OneOf   []string
}

// FileVariable names the configuration file in the environment.
const FileVariable = prefix + "CONFIG"

const prefix = "HOLDFAST_"

// testPrefix begins the variables of the test suite, which a server started by
// a test inherits.
const testPrefix = prefix + "TEST_"

// Settings lists every setting in the order of the struct.
func Settings() []Setting {
	t := reflect.TypeFor[Config]()
	out := make([]Setting, t.NumField())
	for i := range out {
		out[i] = setting(t.Field(i))
	}
	return out
}

func setting(f reflect.StructField) Setting {
	name := f.Tag.Get("name")
	s := Setting{
		Name: name, Flag: f.Tag.Get("flag"), Env: prefix + strings.ToUpper(name), Default: f.Tag.Get("default"),
		Doc: f.Tag.Get("doc"), Secret: f.Tag.Get("secret") == "true", Bool: f.Type.Kind() == reflect.Bool,
		Hidden: f.Type == reflect.TypeFor[[]Provider](),
	}
	if s.Flag == "" {
		s.Flag = strings.ReplaceAll(name, "_", "-")
	}
	if one := f.Tag.Get("oneof"); one != "" {
		s.OneOf = strings.Fields(one)
	}
	return s
}

// Load reads file (may be ""), environ ("KEY=value" pairs) and flags (by
// setting name) into a Config and checks it.
func Load(file string, environ []string, flags map[string]string) (*Config, error) {
	src := newSource()
	if file != "" {
		if err := src.readFile(file); err != nil {
			return nil, err
		}
	}
	if err := src.readCredentials(environ); err != nil {
		return nil, err
	}
	if err := src.readEnv(environ); err != nil {
		return nil, err
	}
	values := src.values
	for k, v := range flags {
		values[k] = v
	}
	c := &Config{OAuthProviders: src.list()}
	v := reflect.ValueOf(c).Elem()
	for i, s := range Settings() {
		text, given := values[s.Name]
		if !given {
			text = s.Default
		}
		if err := set(v.Field(i), s, text); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

func set(v reflect.Value, s Setting, text string) error {
	if text == "" {
		return nil
	}
	bad := func(what string) error {
		return fmt.Errorf("config: %s (%s) must be %s, not %q", s.Name, s.Env, what, text)
	}
	if len(s.OneOf) > 0 && !in(s.OneOf, text) {
		return bad("one of " + strings.Join(s.OneOf, ", "))
	}
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case bool:
		b, ok := parseBool(text)
		if !ok {
			return bad("on or off")
		}
		v.SetBool(b)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return bad("a whole number")
		}
		v.SetInt(int64(n))
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return bad("a duration such as 30s or 24h")
		}
		v.SetInt(int64(d))
	case []string:
		var list []string
		for _, p := range strings.Split(text, ",") {
			if p = strings.TrimSpace(p); p != "" {
				list = append(list, p)
			}
		}
		v.Set(reflect.ValueOf(list))
	}
	return nil
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "1", "true", "on", "yes":
		return true, true
	case "0", "false", "off", "no":
		return false, true
	}
	return false, false
}
