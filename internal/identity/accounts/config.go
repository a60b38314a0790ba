package accounts

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/identity/captcha"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/sms"
	"holdfast/internal/identity/token"
)

// What a sign-up with an unknown tenant id does.
const (
	TenantsClaim  = "claim"  // the tenant is made and the user is its owner
	TenantsInvite = "invite" // nothing; the user has no tenant
)

// Provider is one OpenID Connect provider of the configuration.
type Provider struct {
	ClientID string
	Secret   string
	TeamID   string   // apple; Secret is then the PEM key that signs client secrets
	KeyID    string   // apple
	Issuer   string   // may be empty for google, gitlab, github, apple and linkedin_oidc
	Domains  []string // e-mail domains it is trusted for; empty = all
}

// Config is everything the service needs to know. A zero duration or count
// takes the default in parentheses.
type Config struct {
	config.SignIn

	EmailOff         bool // nobody signs in or up with an address
	SignupTellsTaken bool // the answer to a sign-up shows that the address or number has an account
	OTPTellsUnknown  bool // a request for a code that makes no account says that there is none
	InviteLinksAny   bool // administrators of any tenant may vouch for any address by a link they hand over

	PasswordClasses password.Classes // of which a password has one character each; nil = any

	SessionTTL time.Duration // in all (720h)
	InviteTTL  time.Duration // invitations (168h)

	MasterKey        []byte         // 32 bytes: seals keys, derives API keys
	ServiceAddresses []netip.Prefix // service keys are taken from; none = from anywhere
	SigningKeys      []byte         // JWK set with private keys; empty = made and kept in the database

	Captcha    *captcha.Verifier // asked before accounts are made, passwords tried and mails sent; nil = not
	MFAKeysOff bool              // security keys are neither enrolled as second factors nor asked
	MFAAppsOff factor.Apps       // what authenticator apps may not do; NoVerify goes with NoEnrol
	SMS        sms.Sender        // carries texts
	PhoneCodes map[string]string // fixed codes of test numbers (digits): nothing is sent

	OIDC map[string]Provider // by the name in ?provider=

	Version  string                                 // noted where the installation begins
	OnTenant func(tx *db.Tx, tenantID string) error // seeds a tenant made here; may be nil
	Log      *slog.Logger                           // nil = slog.Default()
	// told after a commit that added a job of the kind; nil = it waits for the next look
	Ring func(kind string)

	// OnMember is told, in its transaction, of memberships that begin, end or
	// change here and not through the members collection. May be nil.
	OnMember func(tx *db.Tx, changes []MemberChange) error
}

// ConsolePath is where the server shows its own pages, below PublicURL.
const ConsolePath = "/console/"

// Console is the address of the server's own pages, which redeem every kind of
// mailed link in any browser.
func (c *Config) Console() string { return strings.TrimRight(c.PublicURL, "/") + ConsolePath }

// Home is where a link leads that names no address itself: the operator's site,
// or the console where that is the only one.
func (c *Config) Home() string {
	if strings.TrimRight(c.SiteURL, "/") == strings.TrimRight(c.PublicURL, "/") {
		return c.Console()
	}
	return c.SiteURL
}

// Complete fills in defaults and refuses what cannot be served.
func (c *Config) Complete() error {
	if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("identity: public URL %q is not an absolute URL", c.PublicURL)
	}
	if c.SiteURL == "" {
		c.SiteURL = c.PublicURL
	}
	if err := c.completeWebAuthn(); err != nil {
		return err
	}
	if (c.Phone || c.MFAPhoneVerify) && c.SMS == nil {
		return fmt.Errorf("identity: sign-in by phone needs something that sends text messages")
	}
	if c.MFAPhoneEnroll && !c.MFAPhoneVerify {
		return fmt.Errorf("identity: a phone that may be enrolled as a second factor has to be asked as one")
	}
	for phone, code := range c.PhoneCodes {
		if p, err := CanonicalPhone(phone); err != nil || p != phone || len(code) < 6 || len(code) > 10 {
			return fmt.Errorf("identity: test number %q: write digits with the country code first, and a code of six to ten digits", phone)
		}
	}
	switch c.SignupTenants {
	case "":
		c.SignupTenants = TenantsInvite
	case TenantsClaim, TenantsInvite:
	default:
		return fmt.Errorf("identity: sign-up tenants %q is neither %s nor %s", c.SignupTenants, TenantsClaim, TenantsInvite)
	}
	if len(c.MasterKey) != 32 {
		return fmt.Errorf("identity: the master key has %d bytes; it needs 32", len(c.MasterKey))
	}
	if c.JWTSecret != "" {
		if err := token.CheckSecret(c.JWTSecret); err != nil {
			return fmt.Errorf("identity: %w", err)
		}
	}
	if c.PasswordMinLength == 0 {
		c.PasswordMinLength = 8
	}
	if c.OTPLength == 0 {
		c.OTPLength = 6
	}
	if c.OTPLength < 6 || c.OTPLength > 10 {
		return fmt.Errorf("identity: a code has 6 to 10 digits")
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{
		{&c.AccessTokenTTL, time.Hour}, {&c.RefreshTokenTTL, 720 * time.Hour}, {&c.SessionTTL, 720 * time.Hour},
		{&c.RefreshReuseInterval, 10 * time.Second},
		{&c.CodeTTL, 10 * time.Minute}, {&c.FlowTTL, 5 * time.Minute}, {&c.ProviderTTL, 10 * time.Minute}, {&c.ChallengeTTL,
			5 * time.Minute}, {&c.InviteTTL, 168 * time.Hour}, {&c.MailInterval, time.Minute},
	} {
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	if c.AccessTokenTTL < time.Minute {
		return fmt.Errorf("identity: an access token lives at least a minute")
	}
	return nil
}

// completeWebAuthn takes what is not said from the site URL. An origin has to
// lie in the relying party's domain, or no browser would use it.
func (c *Config) completeWebAuthn() error {
	u, err := url.Parse(c.SiteURL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("identity: site URL %q is not an absolute URL", c.SiteURL)
	}
	if c.ProductName == "" {
		c.ProductName = "Holdfast"
	}
	// WebAuthn knows domains only; a server reached by its address (a
	// developer's, as a rule) is localhost to browsers on the same machine.
	host, port := u.Hostname(), u.Port()
	if _, err := netip.ParseAddr(host); err == nil {
		host = "localhost"
	}
	if c.WebAuthnID == "" {
		c.WebAuthnID = host
	}
	if len(c.WebAuthnOrigins) == 0 {
		origin := u.Scheme + "://" + host
		if port != "" {
			origin += ":" + port
		}
		c.WebAuthnOrigins = []string{origin}
	}
	for _, origin := range c.WebAuthnOrigins {
		o, err := url.Parse(origin)
		if err != nil || o.Host == "" || o.Hostname() != c.WebAuthnID && !strings.HasSuffix(o.Hostname(), "."+c.WebAuthnID) {
			return fmt.Errorf("identity: WebAuthn origin %q is not within the domain %s", origin, c.WebAuthnID)
		}
	}
	return nil
}

// Client is what is known of the caller besides its credential; it goes into
// sessions and the audit log.
type Client struct {
	Address   string
	UserAgent string
	RequestID string
	SessionID string // of the token shown; "" = none
	Invite    string // token of an invitation that the call takes up; "" = none
	Shared    bool   // Address is a server's that stands for many people

	// Found counts an attempt at the account that was looked up, before its
	// password is hashed; known says that somebody signed in to it from Address
	// before. Where nobody has the account userID is "", and counting takes as
	// long. nil counts nothing.
	Found func(userID string, known bool) error
}
