package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// weakSecrets are secrets printed in public documentation.
var weakSecrets = []string{
	"super-secret-jwt-token-with-at-least-32-characters-long",
	"your-super-secret-jwt-token-with-at-least-32-characters-long",
}

func (c *Config) checkConfig() error {
	if c.Demo {
		c.Dev = true
	}
	if c.Dev {
		c.Autoconfirm, c.SignupTenants = true, "claim"
	}
	if c.Dev && !c.Loopback() {
		return fmt.Errorf("config: --dev and --demo serve on loopback only: everyone who reaches them can sign in; listen on 127.0.0.1 instead of %s", c.Listen)
	}
	if c.PasswordMinLength < 6 || c.PasswordMinLength > 64 {
		return errors.New("config: password_min_length must be between 6 and 64")
	}
	if c.OTPLength < 6 || c.OTPLength > 10 {
		return errors.New("config: otp_length must be between 6 and 10")
	}
	for _, f := range []func() error{
		c.checkSecret, c.checkMaster, c.checkURLs, c.checkProviders, c.checkPhone, c.checkKeys, c.checkTLS,
		c.checkPlaces,
		c.checkBackups, c.checkOrigins, c.checkLimits,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := c.Proxies()
	if err == nil {
		_, err = c.ServicePrefixes()
	}
	return err
}

func (c *Config) checkSecret() error {
	if c.JWTSecret == "" {
		return nil
	}
	if len(c.JWTSecret) < 32 || slices.Contains(weakSecrets, c.JWTSecret) ||
		strings.Count(c.JWTSecret, c.JWTSecret[:1]) == len(c.JWTSecret) {
		return errors.New("config: jwt_secret is too weak: use at least 32 random bytes, for example from `openssl rand -base64 48`, or leave it empty to " +
			"have one made")
	}
	return nil
}

func (c *Config) checkURLs() error {
	for name, v := range map[string]string{"public_url": c.PublicURL, "site_url": c.SiteURL} {
		if v == "" {
			continue
		}
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return fmt.Errorf("config: %s must be an http or https address, not %q", name, v)
		}
	}
	if err := checkContact(c.SecurityContact); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("config: listen must be host:port, not %q", c.Listen)
	}
	if c.AdminListen != "" && !isLoopback(c.AdminListen) {
		return fmt.Errorf("config: admin_listen must be a loopback address, not %q: profiles show memory", c.AdminListen)
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	return nil
}

// checkContact holds security_contact to what RFC 9116 section 2.5.3 takes of a contact.
func checkContact(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	isMail := err == nil && u.Scheme == "mailto" && strings.Contains(u.Opaque, "@")
	isPage := err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil
	if !isMail && !isPage || strings.ContainsFunc(text, unicode.IsSpace) {
		return fmt.Errorf("config: security_contact must be like mailto:security@example.com or "+
			"https://example.com/security, not %q", text)
	}
	return nil
}

func (c *Config) checkProviders() error {
	for i := range c.OAuthProviders {
		if err := c.OAuthProviders[i].checkProvider(); err != nil {
			return err
		}
	}
	return nil
}

// checkPhone refuses telephone numbers that could send nothing, and codes in
// the log of a server that others use.
func (c *Config) checkPhone() error {
	c.MFAPhoneVerify = c.MFAPhoneVerify || c.MFAPhoneEnroll
	if (c.Phone || c.MFAPhoneVerify) && c.SMSURL == "" {
		if !c.Dev {
			return errors.New("config: phone_signin needs sms_url, and so does mfa_phone_verify")
		}
		c.SMSURL = SMSLog
	}
	if c.SMSURL == SMSLog && !c.Dev {
		return errors.New("config: sms_url = log writes codes into the log; it is for --dev only")
	}
	if u, err := url.Parse(c.SMSURL); c.SMSURL != "" && c.SMSURL != SMSLog &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("config: sms_url must be an http or https address, or log")
	}
	_, err := c.TestNumbers()
	return err
}

// SMSLog is the sms_url that writes messages into the log.
const SMSLog = "log"

// TestNumbers returns the fixed codes by telephone number.
func (c *Config) TestNumbers() (map[string]string, error) {
	out := map[string]string{}
	for _, s := range c.PhoneCodes {
		number, code, ok := strings.Cut(s, "=")
		if !ok {
			return nil, errors.New("config: phone_codes must be a list such as 15550001111=424242,15550002222=424242")
		}
		out[strings.TrimPrefix(strings.TrimSpace(number), "+")] = strings.TrimSpace(code)
	}
	return out, nil
}

// checkKeys refuses fixed API keys that are not recognised as such or could be
// guessed, and half a captcha.
func (c *Config) checkKeys() error {
	for _, k := range []struct{ name, value, prefix string }{{"publishable_key", c.PublishableKey, "sb_publishable_"},
		{"secret_key", c.SecretKey, "sb_secret_"}} {
		rest, ok := strings.CutPrefix(k.value, k.prefix)
		if k.value != "" && (!ok || len(rest) < 32 || strings.Count(rest, rest[:1]) == len(rest)) {
			return fmt.Errorf("config: %s must be %s and at least 32 random characters", k.name, k.prefix)
		}
	}
	if (c.CaptchaURL == "") != (c.CaptchaSecret == "") {
		return errors.New("config: captcha_url and captcha_secret go together")
	}
	return nil
}

// TLS reports whether the listener speaks TLS.
func (c *Config) TLS() bool { return c.TLSCert != "" || len(c.TLSDomains) > 0 }

func (c *Config) checkTLS() error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("config: tls_cert and tls_key go together")
	}
	if len(c.TLSDomains) == 0 {
		return nil
	}
	if c.TLSCert != "" {
		return errors.New("config: tls_domains and tls_cert are two ways to one thing: give one")
	}
	for _, d := range c.TLSDomains {
		if net.ParseIP(d) != nil || !strings.Contains(d, ".") || strings.ContainsAny(d, "*/: ") {
			return fmt.Errorf("config: tls_domains: %q is no public name such as wms.example.com", d)
		}
	}
	if c.PublicURL == "" {
		c.PublicURL = "https://" + c.TLSDomains[0]
	}
	return nil
}

// checkBackups refuses a schedule that could not be kept.
func (c *Config) checkBackups() error {
	switch {
	case c.BackupLog && c.BackupTo == "":
		return errors.New("config: backup_log needs backup_to, where backups are made that it goes on from")
	case c.BackupLog && c.DatabaseURL != "":
		return errors.New("config: backup_log is of the embedded engine; PostgreSQL archives its own log: archive_mode and archive_command")
	case c.BackupTo == "":
		return nil
	}
	switch {
	case c.BackupPassphrase == "" && c.BackupRecipient == "":
		return errors.New("config: backup_to needs backup_passphrase or backup_recipient: backups hold the master key and everybody's data")
	case c.BackupEvery < time.Minute:
		return errors.New("config: backup_every must be at least 1m")
	case c.BackupKeep < 1:
		return errors.New("config: backup_keep must be at least 1")
	}
	return nil
}

// mostStopDelay leaves the rest of a stop within what systemd and Kubernetes
// wait for before they kill.
const mostStopDelay = 15 * time.Second

func (c *Config) checkLimits() error {
	if c.StopDelay > mostStopDelay {
		return fmt.Errorf("config: stop_delay is at most %s", mostStopDelay)
	}
	_, _, err := c.SigninRule()
	return err
}

// mostSignins keeps what a hundred addresses may try within what a window counts.
const mostSignins = 100_000

// SigninRule is signin_limit: attempts in a minute, and in 10 seconds.
func (c *Config) SigninRule() (minute, burst int, err error) {
	m, b, _ := strings.Cut(c.SigninLimit, "/")
	minute, merr := strconv.Atoi(m)
	burst, berr := strconv.Atoi(b)
	if merr != nil || berr != nil || burst < 1 || burst > minute || minute > mostSignins {
		return 0, 0, fmt.Errorf("config: signin_limit must be MINUTE/BURST such as 60/10, at most %d, not %q", mostSignins,
			c.SigninLimit)
	}
	return minute, burst, nil
}

// Differs names the settings that another configuration has other values of,
// leaving some out.
func (c *Config) Differs(d *Config, leave []string) []string {
	var out []string
	v, w := c.settingValues(), d.settingValues()
	for i, s := range Settings() {
		if !slices.Contains(leave, s.Name) && !reflect.DeepEqual(v[i].Interface(), w[i].Interface()) {
			out = append(out, s.Name)
		}
	}
	return out
}

// Engine is sqlite or postgresql.
func (c *Config) Engine() string {
	if c.DatabaseURL == "" {
		return "sqlite"
	}
	return "postgresql"
}

// Loopback reports whether only this machine can reach the listener.
func (c *Config) Loopback() bool { return isLoopback(c.Listen) }

// IsReachable reports whether others reach the server: at its listener, or through a proxy
// on this machine at a public_url that is elsewhere.
func (c *Config) IsReachable() bool {
	if !c.Loopback() {
		return true
	}
	u, err := url.Parse(c.PublicURL)
	return err == nil && u.Host != "" && !isLoopbackHost(u.Hostname())
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return isLoopbackHost(host)
}

func isLoopbackHost(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Proxies returns the trusted proxies as prefixes.
func (c *Config) Proxies() ([]netip.Prefix, error) {
	return parsePrefixes("trusted_proxies", c.TrustedProxies)
}

// ServicePrefixes returns the addresses of service keys as prefixes.
func (c *Config) ServicePrefixes() ([]netip.Prefix, error) {
	return parsePrefixes("service_addresses", c.ServiceAddresses)
}

func parsePrefixes(setting string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, aerr := netip.ParseAddr(s)
			if aerr != nil {
				return nil, fmt.Errorf("config: %s: %q is neither an address nor a prefix", setting, s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		// What they are compared with is unmapped (RFC 4291 section 2.5.5.2).
		if p.Addr().Is4In6() {
			if p.Bits() < 96 {
				return nil, fmt.Errorf("config: %s: %q has IPv4 addresses and others: give it a length of at least /96, or write it as an IPv4 prefix", setting, s)
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		out = append(out, p)
	}
	return out, nil
}

// Dump lists the settings in effect as lines of a configuration file. Secrets
// show only whether they are set.
func (c *Config) Dump() string {
	var b strings.Builder
	values := c.settingValues()
	for i, s := range Settings() {
		if s.Hidden {
			fmt.Fprintf(&b, "# %s\n", s.Doc)
			for _, p := range c.OAuthProviders {
				p.dumpTo(&b)
			}
			continue
		}
		fmt.Fprintf(&b, "# %s\n%s = %s\n", s.Doc, s.Name, showValue(values[i], s))
	}
	return b.String()
}

func showValue(v reflect.Value, s Setting) string {
	if s.Secret {
		if v.IsZero() {
			return ""
		}
		return "(set)"
	}
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}
