// Package config holds every setting. One struct field is one setting: its
// tags name the flag, the environment variable (HOLDFAST_ + upper case), the
// key in the configuration file, the default and the documentation.
//
// Layer: foundations. Begin at [Config].
package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is the server's settings. Order of strength: flag, environment, file,
// default.
type Config struct {
	Listen         string        `name:"listen" default:"127.0.0.1:8080" doc:"address to serve on"`
	Data           string        `name:"data" default:"holdfast-data" doc:"data directory: embedded database, files, keys"`
	DatabaseURL    string        `name:"database_url" flag:"database" secret:"true" doc:"PostgreSQL URL; empty = embedded SQLite in the data directory"`
	RedisURL       string        `name:"redis_url" flag:"redis" secret:"true" doc:"Redis of a fleet, for limits and notices: redis://user:password@host:6379/0"`
	BlobURL        string        `name:"blob_url" secret:"true" doc:"where files are kept: s3://KEY:SECRET@host/bucket/prefix?region=... or file:///path"`
	ImportQuota    int           `name:"import_quota" default:"5120" doc:"megabytes of import files one tenant may keep"`
	PhotoQuota     int           `name:"photo_quota" default:"10240" doc:"megabytes of photos one tenant may keep"`
	RedisTimeout   time.Duration `name:"redis_timeout" default:"250ms" doc:"how long a request waits for Redis before the node counts by itself"`
	Migrate        string        `name:"migrate" default:"auto" oneof:"auto wait never" doc:"a schema that is behind is migrated, waited for, or refused"`
	DatabasePooler string        `name:"database_pooler" default:"session" oneof:"session transaction" doc:"transaction = PgBouncer pools by transaction"`

	SignIn

	SigningKeys   string `name:"signing_keys" secret:"true" doc:"file with a private JWK set (ES256); made in the database when absent"`
	MasterKey     string `name:"master_key" secret:"true" doc:"base64 key of 32 bytes that encrypts secrets; made in the data directory when absent"`
	MasterKeyFile string `name:"master_key_file" doc:"file that holds the master key"`
	SMTPURL       string `name:"smtp_url" secret:"true" doc:"mail server: smtp://user:password@host:587 or smtps://"`
	MailFrom      string `name:"mail_from" default:"Holdfast <no-reply@localhost>" doc:"sender of mails"`
	SignupTaken   string `name:"signup_taken" default:"hide" oneof:"hide tell" doc:"tell = a sign-up with a taken address is answered so that it shows"`
	OTPUnknown    string `name:"otp_unknown" default:"hide" oneof:"hide tell" doc:"tell = otp_disabled where a code would have to make an account"`
	InviteLinks   string `name:"invite_links" default:"proved" oneof:"proved any" doc:"any = links that administrators hand over open any address"`

	PasswordClasses string `name:"password_requirements" oneof:"letters_digits lower_upper_letters_digits lower_upper_letters_digits_symbols" doc:"its characters"`

	SSOAllowPrivate  bool          `name:"sso_allow_private" doc:"providers of organisations may be on private addresses and plain http"`
	EmailSignin      bool          `name:"email_signin" default:"true" doc:"sign in and up with addresses"`
	SMSURL           string        `name:"sms_url" secret:"true" doc:"text messages are posted here, {\"to\": ..., \"text\": ...}; log = logged, with --dev only"`
	MFATOTPEnroll    bool          `name:"mfa_totp_enroll" default:"true" doc:"authenticator apps may be enrolled as second factors"`
	MFATOTPVerify    bool          `name:"mfa_totp_verify" default:"true" doc:"authenticator apps that are enrolled are asked; off switches mfa_totp_enroll off"`
	MFAWebAuthn      bool          `name:"mfa_webauthn" default:"true" doc:"security keys may be enrolled as second factors, and are asked"`
	PhoneCodes       []string      `name:"phone_codes" secret:"true" doc:"fixed codes of test numbers, 15550001111=424242,...; nothing is sent to them"`
	CaptchaURL       string        `name:"captcha_url" doc:"where captchas are verified, such as https://api.hcaptcha.com/siteverify; empty = none asked for"`
	CaptchaSecret    string        `name:"captcha_secret" secret:"true" doc:"the site's secret at that address"`
	OAuthProviders   []Provider    `name:"oauth" secret:"true" doc:"OAUTH_<PROVIDER>_CLIENT_ID, _SECRET, _ISSUER, _DOMAINS; for Apple _TEAM_ID, _KEY_ID, ..."`
	RateLimits       string        `name:"rate_limits" default:"on" oneof:"on off" doc:"off = none, for benchmarks"`
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
	BackupKeep       int           `name:"backup_keep" default:"7" doc:"how many backups of the server are kept"`
	BackupDrill      string        `name:"backup_drill" default:"weekly" oneof:"never daily weekly monthly" doc:"how often a backup is restored on trial"`
	BackupLog        bool          `name:"backup_log" doc:"between backups, send what is committed to backup_to within a second; embedded engine only"`
	BackupPassphrase string        `name:"backup_passphrase" secret:"true" doc:"passphrase that backups are encrypted to; at least 12 characters"`
	BackupRecipient  string        `name:"backup_recipient" doc:"age public key (age1...) that backups are encrypted to, instead of a passphrase"`
	StopDelay        time.Duration `name:"stop_delay" default:"500ms" doc:"how long a server that stops says so at /readyz and still takes requests; at most 15s"`
	SlowStatement    time.Duration `name:"slow_statement" default:"1s" doc:"statements that take longer are logged, without values; 0 = none"`
	LogLevel         string        `name:"log_level" default:"info" oneof:"debug info warn error" doc:"least level that is logged"`
	LogFormat        string        `name:"log_format" default:"json" oneof:"json text" doc:"format of log lines"`
	AdminListen      string        `name:"admin_listen" doc:"loopback address of a second listener with /metrics and profiles at /debug/pprof/; empty = none"`
	Dev              bool          `name:"dev" doc:"development: loopback only, autoconfirm, mails kept at /dev/mail"`
	Demo             bool          `name:"demo" doc:"--dev with two tenants and 90 days of data"`

	masterKeyIn string // the configuration file where it has the line master_key
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
	list := settingFields()
	out := make([]Setting, len(list))
	for i, f := range list {
		out[i] = settingOf(f)
	}
	return out
}

// settingValues are what the settings are, in the order of Settings; they can be set.
func (c *Config) settingValues() []reflect.Value {
	v := reflect.ValueOf(c).Elem()
	var out []reflect.Value
	for _, f := range settingFields() {
		out = append(out, v.FieldByIndex(f.Index))
	}
	return out
}

// settingFields lists the fields that are settings, those of embedded structs in their
// place.
func settingFields() []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[Config]()), func(f reflect.StructField) bool {
		return f.Anonymous || !f.IsExported()
	})
}

func settingOf(f reflect.StructField) Setting {
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
	keyOfFile := src.values["master_key"]
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
	c := &Config{OAuthProviders: src.listProviders()}
	at := c.settingValues()
	for i, s := range Settings() {
		text, given := values[s.Name]
		if !given {
			text = s.Default
		}
		if err := setValue(at[i], s, text); err != nil {
			return nil, err
		}
	}
	if keyOfFile != "" && values["master_key"] == keyOfFile {
		c.masterKeyIn = file
	}
	return c, c.checkConfig()
}

func setValue(v reflect.Value, s Setting, text string) error {
	if text == "" {
		return nil
	}
	bad := func(what string) error {
		return fmt.Errorf("config: %s (%s) must be %s, not %q", s.Name, s.Env, what, text)
	}
	if len(s.OneOf) > 0 && !isListed(s.OneOf, text) {
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
