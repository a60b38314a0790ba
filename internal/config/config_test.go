package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(file, []byte("# mine\nlisten = 127.0.0.1:1\nmail_from = \"A <a@b.c>\"\nsignup = off\noauth_hub_client_id = y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, []string{"HOLDFAST_LISTEN=127.0.0.1:2", "HOLDFAST_ACCESS_TOKEN_TTL=5m",
		"HOLDFAST_OAUTH_MY_IDP_CLIENT_ID=x",
		"HOLDFAST_OAUTH_MY_IDP_ISSUER=https://i", "HOLDFAST_OAUTH_MY_IDP_CLIENT_SECRET=z", "HOLDFAST_OAUTH_HUB_SECRET=w"},
		map[string]string{"listen": "127.0.0.1:3"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" || c.MailFrom != "A <a@b.c>" || c.SignupEnabled || c.AccessTokenTTL != 5*time.Minute ||
		c.PasswordMinLength != 8 {
		t.Errorf("%+v", c)
	}
	want := []Provider{{Name: "hub", ClientID: "y", Secret: "w"},
		{Name: "my_idp", ClientID: "x", Issuer: "https://i", Secret: "z"}}
	if !reflect.DeepEqual(c.OAuthProviders, want) {
		t.Errorf("providers %+v", c.OAuthProviders)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"HOLDFAST_LISTN=x", "did you mean HOLDFAST_LISTEN?"},
		{"HOLDFAST_JWT_SECRET=secret", "too weak"},
		{"HOLDFAST_JWT_SECRET=super-secret-jwt-token-with-at-least-32-characters-long", "too weak"},
		{"HOLDFAST_MASTER_KEY=short", "32 bytes"},
		{"HOLDFAST_RATE_LIMITS=maybe", "one of on, off"},
		{"HOLDFAST_MAIL_INTERVAL=soon", "duration"},
		{"HOLDFAST_PUBLIC_URL=ftp://x", "http or https"},
		{"HOLDFAST_TRUSTED_PROXIES=proxy", "neither an address"},
		{"HOLDFAST_SERVICE_ADDRESSES=::ffff:0.0.0.0/95", "at least /96"},
		{"HOLDFAST_OAUTH_X_SECRET=y", "needs HOLDFAST_OAUTH_X_CLIENT_ID"},
		{"HOLDFAST_OAUTH_X_CLIENT_SECRET=y", "needs HOLDFAST_OAUTH_X_CLIENT_ID"},
		{"HOLDFAST_TLS_CERT=a.pem", "go together"},
		{"HOLDFAST_OAUTH_APPLE_TEAM_ID=t HOLDFAST_OAUTH_APPLE_CLIENT_ID=c", "go together"},
		{"HOLDFAST_OAUTH_APPLE_PRIVATE_KEY_FILE=/nowhere HOLDFAST_OAUTH_APPLE_CLIENT_ID=c HOLDFAST_OAUTH_APPLE_TEAM_ID=t HOLDFAST_OAUTH_APPLE_KEY_ID=k",
			"no such file"},
		{"HOLDFAST_OAUTH_X_CLIENT_IDS=y", "unknown setting"},
		{"HOLDFAST_OAUTH=y", "unknown setting"},
		{"HOLDFAST_PHONE_SIGNIN=on", "needs sms_url"},
		{"HOLDFAST_SMS_URL=log", "--dev only"},
		{"HOLDFAST_SMS_URL=smtp://x", "http or https"},
		{"HOLDFAST_SECURITY_CONTACT=security@example.com", "security_contact must be like mailto:"},
		{"HOLDFAST_SECURITY_CONTACT=http://example.com/security", "security_contact must be like mailto:"},
		{"HOLDFAST_SECURITY_CONTACT=mailto:nobody", "security_contact must be like mailto:"},
		{"HOLDFAST_PHONE_CODES=1555", "phone_codes must be a list"},
		{"HOLDFAST_SECRET_KEY=sb_secret_short", "32 random"},
		{"HOLDFAST_PUBLISHABLE_KEY=sb_secret_0123456789abcdef0123456789abcdef", "must be sb_publishable_"},
		{"HOLDFAST_CAPTCHA_URL=https://x", "go together"},
		{"HOLDFAST_OTP_LENGTH=4", "between 6 and 10"},
		{"HOLDFAST_SIGNIN_LIMIT=60", "MINUTE/BURST"},
		{"HOLDFAST_SIGNIN_LIMIT=10/60", "MINUTE/BURST"},
		{"HOLDFAST_SIGNIN_LIMIT=0/0", "MINUTE/BURST"},
		{"HOLDFAST_SIGNIN_LIMIT=100001/10", "at most 100000"},
		{"HOLDFAST_STOP_DELAY=16s", "at most 15s"},
	} {
		_, err := Load("", strings.Fields(c.env), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.env, err, c.want)
		}
	}
	if _, err := Load("", nil, map[string]string{"dev": "true", "listen": "0.0.0.0:80"}); err == nil {
		t.Error("--dev on a public listener was accepted")
	}
}

// An IPv4 address is the same in its IPv6 form, of which a dual-stack system may
// speak; the addresses compared with these are in the short one.
func TestPrefixes(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.5":              "10.0.0.5/32",
		"10.0.0.0/8":            "10.0.0.0/8",
		"::ffff:10.0.0.5":       "10.0.0.5/32",
		"::ffff:10.0.0.5/128":   "10.0.0.5/32",
		"::ffff:10.0.0.0/104":   "10.0.0.0/8",
		"::ffff:0.0.0.0/96":     "0.0.0.0/0",
		"2001:db8::/32":         "2001:db8::/32",
		"2001:db8::1":           "2001:db8::1/128",
		"::/0":                  "::/0",
		"::ffff:0:10.0.0.5/128": "::ffff:0:a00:5/128", // not the mapped form
	} {
		c, err := Load("", nil, map[string]string{"trusted_proxies": in, "service_addresses": in})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		for _, read := range []func() ([]netip.Prefix, error){c.Proxies, c.ServicePrefixes} {
			if got, err := read(); err != nil || len(got) != 1 || got[0].String() != want {
				t.Errorf("%s: %v %v, want %s", in, got, err, want)
			}
		}
	}
}

func TestDumpHidesSecrets(t *testing.T) {
	c, err := Load("", []string{"HOLDFAST_SMTP_URL=smtp://u:hunter2@h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Dump(); strings.Contains(d, "hunter2") || !strings.Contains(d, "smtp_url = (set)") {
		t.Error(d)
	}
}

// A setting of an embedded struct is one like any other: read, told and exported.
func TestEmbeddedSettings(t *testing.T) {
	c, err := Load("", []string{"HOLDFAST_OTP_LENGTH=8"},
		map[string]string{"redirect_urls": "https://a.example/x,https://b.example"})
	if err != nil {
		t.Fatal(err)
	}
	if c.SignIn.OTPLength != 8 || c.SignIn.CodeTTL != 10*time.Minute || len(c.SignIn.RedirectURLs) != 2 {
		t.Errorf("%+v", c.SignIn)
	}
	if want := "redirect_urls = https://a.example/x,https://b.example\notp_length = 8\n"; c.Export() != want {
		t.Errorf("exported %q, wanted %q", c.Export(), want)
	}
	if !strings.Contains(c.Dump(), "\notp_length = 8\n") {
		t.Error(c.Dump())
	}
	d := *c
	d.OTPLength = 9
	if got := d.Differs(c, nil); len(got) != 1 || got[0] != "otp_length" {
		t.Errorf("differs in %q", got)
	}
}
