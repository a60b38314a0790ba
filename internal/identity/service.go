package identity

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/post"
)

// Service is the identity service; safe for concurrent use. Callers ask the room
// they mean; a room knows only rooms that stand before it here.
type Service struct {
	*Base
	Passwords       *Passwords
	Links           *Links
	Proofs          *Proofs
	Codes           *Codes
	Keyring         *Keyring
	Accounts        *Accounts
	Post            *Post
	Tenants         *Tenants
	Invitations     *Invitations
	Addresses       *Addresses
	ServiceAccounts *ServiceAccounts
	Authenticator   *Authenticator
	Sessions        *Sessions
	OTP             *OTP
	Verification    *Verification
	SignIns         *SignIns
	SignUps         *SignUps
	Factors         *Factors
	Passkeys        *Passkeys
	OAuth           *OAuth
	Federation      *Federation
	Profile         *Profile
	Admin           *Administration
}

// hashQueue is how many password hashes may wait for a processor.
const hashQueue = 64

// New checks the configuration and prepares keys, making them at first start.
func New(cfg Config, d *db.DB, m Mailer, now func() time.Time) (*Service, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	b, err := newBase(cfg, d, now)
	if err != nil {
		return nil, err
	}
	s := &Service{Base: b, Proofs: &Proofs{b}, Codes: &Codes{b}, Keyring: &Keyring{Base: b}, Accounts: &Accounts{b}}
	s.Passwords = &Passwords{Base: b, hasher: password.New(hashQueue),
		policy: password.Policy{MinLength: cfg.PasswordMinLength, Classes: cfg.PasswordClasses}}
	if s.Links, err = newLinks(b); err != nil {
		return nil, err
	}
	relying, err := passkey.New(cfg.WebAuthnID, cfg.Name, cfg.WebAuthnOrigins)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	d.KeepLog(b.secrets.Log)
	if err = s.Keyring.prepareKeys(ctx); err != nil {
		return nil, err
	}
	s.Post = &Post{Base: b, links: s.Links, mailer: m, outbox: post.New(cfg.Log), recent: post.NewRecent()}
	s.seat()
	s.enter(relying)
	return s, nil
}

// seat makes what says where people belong, and who a request is from.
func (s *Service) seat() {
	b := s.Base
	s.Tenants = &Tenants{Base: b, proofs: s.Proofs}
	s.Invitations = &Invitations{Base: b, accounts: s.Accounts, codes: s.Codes, post: s.Post, proofs: s.Proofs, tenants: s.Tenants}
	s.Invitations.invites = post.NewBell(b.cfg.Log, s.Invitations.SendInvitations)
	s.Addresses = &Addresses{Base: b, accounts: s.Accounts, codes: s.Codes, invitations: s.Invitations}
	s.ServiceAccounts = &ServiceAccounts{Base: b, keyring: s.Keyring, proofs: s.Proofs}
	s.Authenticator = &Authenticator{Base: b, keyring: s.Keyring, proofs: s.Proofs, serviceAccounts: s.ServiceAccounts}
	s.Sessions = &Sessions{Base: b, invitations: s.Invitations, keyring: s.Keyring}
}

// enter makes the ways in, what people do with their accounts, and administration.
func (s *Service) enter(relying *passkey.Relying) {
	b := s.Base
	s.OTP = &OTP{Base: b, accounts: s.Accounts, codes: s.Codes, post: s.Post}
	s.Verification = &Verification{Base: b, accounts: s.Accounts, addresses: s.Addresses, codes: s.Codes, invitations: s.Invitations,
		links: s.Links, sessions: s.Sessions}
	s.SignIns = &SignIns{Base: b, accounts: s.Accounts, passwords: s.Passwords, sessions: s.Sessions}
	s.SignUps = &SignUps{Base: b, accounts: s.Accounts, codes: s.Codes, invitations: s.Invitations, otp: s.OTP, passwords: s.Passwords,
		post: s.Post, sessions: s.Sessions}
	s.Factors = &Factors{Base: b, post: s.Post, proofs: s.Proofs, sessions: s.Sessions, keeper: newKeeper(b, relying)}
	s.Passkeys = &Passkeys{Base: b, factors: s.Factors, post: s.Post, proofs: s.Proofs, sessions: s.Sessions, relying: relying}
	s.OAuth = &OAuth{Base: b, accounts: s.Accounts, addresses: s.Addresses, codes: s.Codes, invitations: s.Invitations, links: s.Links,
		post: s.Post, proofs: s.Proofs, sessions: s.Sessions, verification: s.Verification}
	s.Federation = &Federation{Base: b, accounts: s.Accounts, codes: s.Codes, links: s.Links, sessions: s.Sessions, tenants: s.Tenants}
	s.Profile = &Profile{Base: b, accounts: s.Accounts, addresses: s.Addresses, codes: s.Codes, factors: s.Factors, links: s.Links,
		otp: s.OTP, passkeys: s.Passkeys, passwords: s.Passwords, post: s.Post, proofs: s.Proofs, sessions: s.Sessions, tenants: s.Tenants}
	s.Admin = &Administration{Base: b, accounts: s.Accounts, addresses: s.Addresses, codes: s.Codes, invitations: s.Invitations, otp: s.OTP,
		passwords: s.Passwords, post: s.Post, tenants: s.Tenants}
}

// Close sends the mails and writes the audit rows that wait in memory, and stops.
// Mails of invitations wait in the database for the next start. The rows come last
// and have two seconds, whatever the mails took of ctx.
func (s *Service) Close(ctx context.Context) error {
	s.Passwords.hasher.Close()
	mails := errors.Join(s.Invitations.invites.Close(ctx), s.Post.outbox.Close(ctx))
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
	ext := map[string]bool{"email": !s.cfg.EmailOff, "phone": s.cfg.Phone, "anonymous_users": s.cfg.AnonymousUsers}
	for name := range s.providers {
		ext[name] = true
	}
	return Settings{External: ext, DisableSignup: !s.cfg.SignupEnabled, MailerAutoconfirm: s.cfg.Autoconfirm, PhoneAutoconfirm: s.cfg.PhoneConfirmed,
		SMSProvider: s.smsProvider(), PasskeysEnabled: s.cfg.Passkeys, SAMLEnabled: s.cfg.SAML}
}

// smsProvider is what GoTrue's settings call the carrier of texts.
func (s *Service) smsProvider() string {
	if !s.cfg.Phone {
		return ""
	}
	return "webhook"
}

// Issuer returns the iss claim: {PublicURL}/auth/v1.
func (s *Service) Issuer() string { return s.issuer }

// Version returns the version of the server, for GET /health.
func (s *Service) Version() string { return s.cfg.Version }
