package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/admin"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/mailqueue"
	"holdfast/internal/identity/mfa"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/profile"
	"holdfast/internal/identity/providers"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
)

// SolvedCaptcha refuses, where the configuration asks for captchas, a request
// whose answer is not good: captcha_failed.
func (s *Service) SolvedCaptcha(ctx context.Context, answer string, c accounts.Client) error {
	if s.Config.Captcha == nil {
		return nil
	}
	return s.Config.Captcha.Check(ctx, answer, c.Address)
}

// deleteSessionsSQL deletes sessions that have ended. Those of banned people stay: their next
// request is answered with the ban.
const deleteSessionsSQL = `
	DELETE FROM sessions
	WHERE not_after < $1
		AND user_id NOT IN (SELECT id FROM users WHERE banned_until > $1)`

// deleteFlowsSQL deletes flows that have ended. A mailed link can be opened again until it
// ends itself.
const deleteFlowsSQL = `
	DELETE FROM flow_states
	WHERE expires_at < $1
		AND NOT EXISTS (SELECT 1 FROM one_time_tokens WHERE one_time_tokens.id = flow_states.token_id)`

const updateInvitationsSQL = `
	UPDATE invitations
	SET status = 'expired', worker_id = NULL, owner_id = NULL, updated_at = $1, version = version + 1
	WHERE status = 'pending' AND expires_at < $1`

// Sweep deletes what has expired: sessions, codes, flows, and signing keys no
// token can name any more. Run it every hour or so.
func (s *Service) Sweep(ctx context.Context) error {
	err := s.Write(ctx, func(tx *db.Tx) error {
		now := s.Now()
		for _, q := range []string{
			deleteSessionsSQL,
			"DELETE FROM one_time_tokens WHERE expires_at < $1",
			deleteFlowsSQL,
		} {
			tx.Queue(q, []any{now}, nil)
		}
		s.Factors.Keeper.Sweep(tx)
		tx.Queue("DELETE FROM wrong_passwords WHERE since < $1", []any{now.Add(-accounts.GuessDay)}, nil)
		tx.Queue(updateInvitationsSQL, []any{now}, nil)
		tx.Queue(`
			DELETE FROM signing_keys
			WHERE state = 'retired'
				AND retired_at < $1`,
			[]any{now.Add(-s.Config.AccessTokenTTL - time.Minute)}, nil)
		return tx.Flush()
	})
	if err != nil {
		return fmt.Errorf("identity: sweep: %w", err)
	}
	return s.Keyring.LoadKeys(ctx)
}

// Service is the identity service; safe for concurrent use. Callers ask the room
// they mean; a room knows only rooms that stand before it here.
type Service struct {
	*accounts.Base
	Passwords       *accounts.Passwords
	Links           *accounts.Links
	Proofs          *accounts.Proofs
	Codes           *codes.Store
	Keyring         *keyring.Keyring
	Accounts        *accounts.Store
	Post            *codes.Post
	Tenants         *tenants.Store
	Invitations     *tenants.Invitations
	Addresses       *tenants.Addresses
	ServiceAccounts *sessions.ServiceAccounts
	Authenticator   *sessions.Authenticator
	Sessions        *sessions.Store
	OTP             *signin.OTP
	Verification    *signin.Verification
	SignIns         *signin.SignIns
	SignUps         *signin.SignUps
	Factors         *mfa.Factors
	Passkeys        *mfa.Passkeys
	OAuth           *providers.OAuth
	Federation      *providers.Federation
	Profile         *profile.Store
	Admin           *admin.Administration
}

// hashQueue is how many password hashes may wait for a processor.
const hashQueue = 64

// New checks the configuration and prepares keys, making them at first start.
func New(cfg accounts.Config, d *db.DB, m codes.Mailer, now func() time.Time) (*Service, error) {
	if err := cfg.Complete(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	b, err := accounts.NewBase(cfg, d, now)
	if err != nil {
		return nil, err
	}
	s := &Service{Base: b, Proofs: &accounts.Proofs{Base: b}, Codes: &codes.Store{Base: b},
		Keyring: &keyring.Keyring{Base: b}, Accounts: &accounts.Store{Base: b}}
	s.Passwords = &accounts.Passwords{Base: b, Hasher: password.New(hashQueue),
		Policy: password.Policy{MinLength: cfg.PasswordMinLength, Classes: cfg.PasswordClasses}}
	if s.Links, err = accounts.NewLinks(b); err != nil {
		return nil, err
	}
	relying, err := passkey.New(cfg.WebAuthnID, cfg.ProductName, cfg.WebAuthnOrigins)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	audit.KeepKey(d, b.Secrets.Log)
	if err = s.Keyring.PrepareKeys(ctx); err != nil {
		return nil, err
	}
	s.Post = &codes.Post{Base: b, Links: s.Links, Mailer: m, Outbox: mailqueue.New(cfg.Log), Recent: mailqueue.NewRecent()}
	s.seat()
	s.enter(relying)
	return s, nil
}

// seat makes what says where people belong, and who a request is from.
func (s *Service) seat() {
	b := s.Base
	s.Tenants = &tenants.Store{Base: b, Proofs: s.Proofs}
	s.Invitations = &tenants.Invitations{Base: b, Accounts: s.Accounts, Codes: s.Codes, Post: s.Post, Proofs: s.Proofs,
		Tenants: s.Tenants}
	s.Addresses = &tenants.Addresses{Base: b, Accounts: s.Accounts, Codes: s.Codes, Invitations: s.Invitations}
	s.ServiceAccounts = &sessions.ServiceAccounts{Base: b, Keyring: s.Keyring, Proofs: s.Proofs}
	s.Authenticator = &sessions.Authenticator{Base: b, Keyring: s.Keyring, Proofs: s.Proofs,
		ServiceAccounts: s.ServiceAccounts}
	s.Sessions = &sessions.Store{Base: b, Invitations: s.Invitations, Keyring: s.Keyring}
}

// enter makes the ways in, what people do with their accounts, and administration.
func (s *Service) enter(relying *passkey.Relying) {
	b := s.Base
	s.OTP = &signin.OTP{Base: b, Accounts: s.Accounts, Codes: s.Codes, Post: s.Post}
	s.Verification = &signin.Verification{Base: b, Accounts: s.Accounts, Addresses: s.Addresses, Codes: s.Codes,
		Invitations: s.Invitations, Links: s.Links, Sessions: s.Sessions}
	s.SignIns = &signin.SignIns{Base: b, Accounts: s.Accounts, Passwords: s.Passwords, Sessions: s.Sessions}
	s.SignUps = &signin.SignUps{Base: b, Accounts: s.Accounts, Codes: s.Codes, Invitations: s.Invitations, OTP: s.OTP,
		Passwords: s.Passwords, Post: s.Post, Sessions: s.Sessions}
	s.Factors = &mfa.Factors{Base: b, Post: s.Post, Proofs: s.Proofs, Sessions: s.Sessions,
		Keeper: mfa.NewKeeper(b, relying)}
	s.Passkeys = &mfa.Passkeys{Base: b, Factors: s.Factors, Post: s.Post, Proofs: s.Proofs, Sessions: s.Sessions,
		Relying: relying}
	s.OAuth = &providers.OAuth{Base: b, Accounts: s.Accounts, Addresses: s.Addresses, Codes: s.Codes,
		Invitations: s.Invitations, Links: s.Links,
		Post: s.Post, Proofs: s.Proofs, Sessions: s.Sessions, Verification: s.Verification}
	s.Federation = &providers.Federation{Base: b, Accounts: s.Accounts, Codes: s.Codes, Links: s.Links,
		Sessions: s.Sessions, Tenants: s.Tenants}
	s.Profile = &profile.Store{Base: b, Accounts: s.Accounts, Addresses: s.Addresses, Codes: s.Codes, Factors: s.Factors,
		Links: s.Links,
		OTP:   s.OTP, Passkeys: s.Passkeys, Passwords: s.Passwords, Post: s.Post, Proofs: s.Proofs, Sessions: s.Sessions,
		Tenants: s.Tenants}
	s.Admin = &admin.Administration{Base: b, Accounts: s.Accounts, Addresses: s.Addresses, Codes: s.Codes,
		Invitations: s.Invitations, OTP: s.OTP, Passwords: s.Passwords, Post: s.Post, Tenants: s.Tenants}
}

// Close sends the mails and writes the audit rows that wait in memory, and stops.
// Mails of invitations are jobs. The rows come last
// and have two seconds, whatever the mails took of ctx.
func (s *Service) Close(ctx context.Context) error {
	s.Passwords.Hasher.Close()
	mails := s.Post.Outbox.Close(ctx)
	rows, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(mails, s.Keyring.WriteKeyUses(rows))
}

// Settings is what clients may know of the configuration (GET /settings).
type Settings struct {
	External          map[string]bool `json:"external"`
	DisableSignup     bool            `json:"disable_signup"`
	MailerAutoconfirm bool            `json:"mailer_autoconfirm"`
	PhoneAutoconfirm  bool            `json:"phone_autoconfirm"`
	SMSProvider       string          `json:"sms_provider"`
	SAMLEnabled       bool            `json:"saml_enabled"`
	PasskeysEnabled   bool            `json:"passkeys_enabled"`
}

// Settings returns the public part of the configuration.
func (s *Service) Settings() Settings {
	ext := map[string]bool{"email": !s.Config.EmailOff, "phone": s.Config.Phone,
		"anonymous_users": s.Config.AnonymousUsers}
	for name := range s.Providers {
		ext[name] = true
	}
	return Settings{External: ext, DisableSignup: !s.Config.SignupEnabled, MailerAutoconfirm: s.Config.Autoconfirm,
		PhoneAutoconfirm: s.Config.PhoneConfirmed,
		SMSProvider:      s.smsProvider(), PasskeysEnabled: s.Config.Passkeys, SAMLEnabled: s.Config.SAML}
}

// smsProvider is what GoTrue's settings call the carrier of texts.
func (s *Service) smsProvider() string {
	if !s.Config.Phone {
		return ""
	}
	return "webhook"
}

// Issuer returns the iss claim: {PublicURL}/auth/v1.
func (s *Service) Issuer() string { return s.TokenIssuer }
