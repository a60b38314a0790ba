// Package config holds every setting. One struct field is one setting: its
// tags name the flag, the environment variable (HOLDFAST_ + upper case), the
// key in the configuration file, the default and the documentation.
package config

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/spell"
)

// Config is the server's settings. Order of strength: flag, environment, file,
// default.
type Config struct {
	Listen            string        `name:"listen" default:"127.0.0.1:8080" doc:"address to serve on"`
	Data              string        `name:"data" default:"holdfast-data" doc:"data directory: embedded database, files, keys"`
	DatabaseURL       string        `name:"database_url" flag:"database" secret:"true" doc:"PostgreSQL URL; empty = embedded SQLite in the data directory"`
	RedisURL          string        `name:"redis_url" flag:"redis" secret:"true" doc:"Redis of a fleet: redis:// or rediss://user:password@host:6379/0; counts rate limits for all nodes, carries notices at once; empty = each node counts for itself"`
	DatabasePooler    string        `name:"database_pooler" default:"session" oneof:"session transaction" doc:"transaction = a transaction pooler (PgBouncer) stands before PostgreSQL"`
	PublicURL         string        `name:"public_url" doc:"address clients use; links and tokens are built from it (default http://<listen>)"`
	SiteURL           string        `name:"site_url" doc:"where users land after mail links (default: public_url)"`
	RedirectURLs      []string      `name:"redirect_urls" doc:"allowed redirect targets, comma separated globs"`
	SigningKeys       string        `name:"signing_keys" secret:"true" doc:"file with a private JWK set (ES256); made in the database when absent"`
	JWTSecret         string        `name:"jwt_secret" secret:"true" doc:"HS256 secret of the anon and service keys in JWT form; at least 32 bytes; made when absent"`
	MasterKey         string        `name:"master_key" secret:"true" doc:"base64 key of 32 bytes that encrypts stored secrets; made in the data directory when absent"`
	MasterKeyFile     string        `name:"master_key_file" doc:"file that holds the master key"`
	SMTPURL           string        `name:"smtp_url" secret:"true" doc:"mail server: smtp://user:password@host:587 or smtps://"`
	MailFrom          string        `name:"mail_from" default:"Holdfast <no-reply@localhost>" doc:"sender of mails"`
	MailInterval      time.Duration `name:"mail_interval" default:"60s" doc:"least time between two mails of a kind to one address"`
	Autoconfirm       bool          `name:"autoconfirm" doc:"treat every address as confirmed (--dev and --demo switch it on)"`
	Signup            bool          `name:"signup" default:"true" doc:"let strangers sign up"`
	SignupTenants     string        `name:"signup_tenants" default:"invite" oneof:"invite claim" doc:"claim = signing up with an unknown tenant id creates that tenant"`
	PasswordMinLength int           `name:"password_min_length" default:"8" doc:"shortest password, in characters"`
	RefreshReuse      time.Duration `name:"refresh_reuse_interval" default:"10s" doc:"how long a refresh token may be used again"`
	AccessTokenTTL    time.Duration `name:"access_token_ttl" default:"1h" doc:"life of an access token"`
	RefreshTokenTTL   time.Duration `name:"refresh_token_ttl" default:"720h" doc:"a session ends after this long without a refresh"`
	AnonymousSignin   bool          `name:"anonymous_signin" doc:"let people in without an account, to be upgraded later"`
	SAML              bool          `name:"saml" doc:"organisations may sign in through their own SAML provider"`
	SSOAllowPrivate   bool          `name:"sso_allow_private" doc:"providers of organisations may be on private addresses and plain http"`
	ManualLinking     bool          `name:"manual_linking" doc:"let users link further identities to their account"`
	Passkeys          bool          `name:"passkeys" default:"true" doc:"sign in with passkeys"`
	ImplicitFlow      bool          `name:"implicit_flow" default:"true" doc:"tokens in the redirect fragment, which supabase-js asks for by default"`
	OAuthProviders    []Provider    `name:"oauth" secret:"true" doc:"OAUTH_<PROVIDER>_CLIENT_ID, _SECRET and _ISSUER configure one OpenID Connect provider each"`
	RateLimits        string        `name:"rate_limits" default:"on" oneof:"on off" doc:"off = no limits, for benchmarks"`
	TrustedProxies    []string      `name:"trusted_proxies" doc:"addresses or prefixes whose X-Forwarded-For and -Proto count"`
	CORSOrigins       []string      `name:"cors_origins" default:"*" doc:"browser origins that may call the API"`
	TLSCert           string        `name:"tls_cert" doc:"certificate file (PEM)"`
	TLSKey            string        `name:"tls_key" secret:"true" doc:"private key file (PEM)"`
	WebhookPrivate    bool          `name:"webhook_allow_private" doc:"let webhooks call http and private addresses: for tests and closed networks"`
	LogLevel          string        `name:"log_level" default:"info" oneof:"debug info warn error" doc:"least level that is logged"`
	LogFormat         string        `name:"log_format" default:"json" oneof:"json text" doc:"format of log lines"`
	AdminListen       string        `name:"admin_listen" doc:"loopback address of a second listener with profiles at /debug/pprof/; empty = none"`
	Dev               bool          `name:"dev" doc:"development: loopback only, autoconfirm, mails kept at /dev/mail"`
	Demo              bool          `name:"demo" doc:"--dev with two tenants and 90 days of data"`
}

// Provider is one OpenID Connect provider.
type Provider struct {
	Name, ClientID, Secret, Issuer string
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
	values := map[string]string{}
	if file != "" {
		if err := readFile(file, values); err != nil {
			return nil, err
		}
	}
	providers, err := readEnv(environ, values)
	if err != nil {
		return nil, err
	}
	for k, v := range flags {
		values[k] = v
	}
	c := &Config{OAuthProviders: providers}
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

// readEnv takes HOLDFAST_* variables; an unknown one is an error, because a
// misspelt security setting must not be ignored.
func readEnv(environ []string, values map[string]string) ([]Provider, error) {
	names := map[string]string{}
	var known []string
	for _, s := range Settings() {
		names[s.Env] = s.Name
		known = append(known, s.Env)
	}
	oauth := map[string]*Provider{}
	var order []string
	for _, kv := range environ {
		key, val, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(key, prefix) || key == FileVariable || strings.HasPrefix(key, testPrefix) {
			continue
		}
		if name, part, ok := oauthVar(key); ok {
			if oauth[name] == nil {
				oauth[name] = &Provider{Name: name}
				order = append(order, name)
			}
			oauth[name].put(part, val)
			continue
		}
		name, ok := names[key]
		if !ok {
			return nil, unknown(key, known)
		}
		values[name] = val
	}
	var out []Provider
	for _, n := range order {
		out = append(out, *oauth[n])
	}
	return out, nil
}

func unknown(key string, known []string) error {
	hint := "run `holdfast config dump` for the list"
	if near := spell.Nearest(key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("config: unknown setting %s; %s", key, hint)
}

func oauthVar(key string) (provider, part string, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix+"OAUTH_")
	if !ok {
		return "", "", false
	}
	for _, part := range []string{"CLIENT_ID", "SECRET", "ISSUER"} {
		if p, found := strings.CutSuffix(rest, "_"+part); found && p != "" {
			return strings.ToLower(p), part, true
		}
	}
	return "", "", false
}

func (p *Provider) put(part, val string) {
	switch part {
	case "CLIENT_ID":
		p.ClientID = val
	case "SECRET":
		p.Secret = val
	case "ISSUER":
		p.Issuer = val
	}
}

// readFile reads lines "name = value"; # begins a comment line.
func readFile(path string, values map[string]string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	var known []string
	for _, s := range Settings() {
		known = append(known, s.Name)
	}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, val, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok {
			return fmt.Errorf("config: %s line %d is not \"name = value\"", path, n)
		}
		if !in(known, key) {
			return fmt.Errorf("config: %s line %d: %w", path, n, unknown(key, known))
		}
		values[key] = strings.Trim(strings.TrimSpace(val), `"`)
	}
	return sc.Err()
}

func in(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
