package app

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/identity"
	"holdfast/internal/identity/captcha"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/sms"
)

// signInConfig is the identity service's part of the configuration.
func (a *App) signInConfig(master []byte) (identity.Config, error) {
	c := a.Config
	out := identity.Config{
		Ring:   a.jobs.Ring,
		SignIn: c.SignIn, EmailOff: !c.EmailSignin, SignupTellsTaken: c.SignupTaken == "tell",
		OTPTellsUnknown: c.OTPUnknown == "tell",
		InviteLinksAny:  c.InviteLinks == "any", MasterKey: master, MFAKeysOff: !c.MFAWebAuthn,
		MFAAppsOff: factor.Apps{NoEnrol: !c.MFATOTPEnroll || !c.MFATOTPVerify, NoVerify: !c.MFATOTPVerify},
		OIDC:       providersByName(c.OAuthProviders), Version: Version, Log: slog.Default(), OnTenant: a.newTenant,
		OnMember: a.announcer.announceMembers,
	}
	out.RefreshReuseInterval, out.MailInterval = zeroAsNone(c.RefreshReuseInterval), zeroAsNone(c.MailInterval)
	var known bool
	if out.PasswordClasses, known = password.ClassesOf(c.PasswordClasses); !known {
		return out, fmt.Errorf("app: password_requirements: %q is unknown", c.PasswordClasses)
	}
	var err error
	if c.SigningKeys != "" {
		if out.SigningKeys, err = os.ReadFile(c.SigningKeys); err != nil {
			return out, fmt.Errorf("app: signing_keys: %w", err)
		}
	}
	if out.ServiceAddresses, err = c.ServicePrefixes(); err != nil {
		return out, err
	}
	if out.PhoneCodes, err = c.TestNumbers(); err != nil {
		return out, err
	}
	if out.SMS, err = textSender(c); err != nil || c.CaptchaURL == "" {
		return out, err
	}
	out.Captcha, err = captcha.New(c.CaptchaURL, c.CaptchaSecret)
	return out, err
}

// zeroAsNone says 0 as the identity service does, where 0 is a default.
func zeroAsNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// textSender is what carries text messages; nil where nothing does.
func textSender(c *config.Config) (sms.Sender, error) {
	switch c.SMSURL {
	case "":
		return nil, nil
	case config.SMSLog:
		return sms.Log{To: slog.Default()}, nil
	}
	return sms.NewWebhook(c.SMSURL)
}

func providersByName(list []config.Provider) map[string]identity.Provider {
	out := map[string]identity.Provider{}
	for _, p := range list {
		made := identity.Provider{ClientID: p.ClientID, Secret: p.Secret, Issuer: p.Issuer, TeamID: p.TeamID, KeyID: p.KeyID}
		for _, d := range strings.Split(p.Domains, ",") {
			if d = strings.TrimSpace(d); d != "" {
				made.Domains = append(made.Domains, d)
			}
		}
		out[p.Name] = made
	}
	return out
}
