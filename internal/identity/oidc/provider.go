package oidc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"holdfast/internal/fault"
)

// Config is one provider of the configuration.
type Config struct {
	Name     string // as in ?provider=
	ClientID string
	Secret   string
	Issuer   string   // exact; discovery must repeat it
	Domains  []string // e-mail domains the provider is trusted for; empty = all
}

// issuers are the ones that need not be configured.
var issuers = map[string]string{"google": "https://accounts.google.com", "gitlab": "https://gitlab.com", "linkedin_oidc": "https://www.linkedin.com/oauth"}

// Provider talks to one OpenID provider. Its discovery document is fetched at
// first use and again after an hour.
type Provider struct {
	cfg      Config
	redirect string
	client   *http.Client
	now      func() time.Time

	mu    sync.Mutex
	meta  *metadata
	until time.Time
}

type metadata struct {
	endpoint oauth2.Endpoint
	verifier *goidc.IDTokenVerifier
}

// New checks the configuration; it does not go to the network. redirect is our
// callback's address.
func New(cfg Config, redirect string, now func() time.Time) (*Provider, error) {
	if cfg.Issuer == "" {
		cfg.Issuer = issuers[cfg.Name]
	}
	u, err := url.Parse(cfg.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("oidc: provider %s: issuer %q is not an absolute URL", cfg.Name, cfg.Issuer)
	}
	if cfg.ClientID == "" {
		return nil, fmt.Errorf("oidc: provider %s has no client id", cfg.Name)
	}
	return &Provider{cfg: cfg, redirect: redirect, client: client(u), now: now}, nil
}

// Config returns what the provider was made of, without the secret.
func (p *Provider) Config() Config {
	c := p.cfg
	c.Secret = ""
	return c
}

func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.meta != nil && p.now().Before(p.until) {
		return p.meta, nil
	}
	ctx = goidc.ClientContext(ctx, p.client)
	// go-oidc compares the document's issuer with the configured one.
	doc, err := goidc.NewProvider(ctx, p.cfg.Issuer)
	if err != nil {
		return nil, unreachable(err, "the sign-in provider's configuration cannot be read")
	}
	var extra struct {
		JWKS string   `json:"jwks_uri"`
		Algs []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := doc.Claims(&extra); err != nil {
		return nil, unreachable(err, "the sign-in provider's configuration cannot be read")
	}
	set := &keySet{url: extra.JWKS, client: p.client, now: p.now}
	p.meta = &metadata{endpoint: doc.Endpoint(), verifier: goidc.NewVerifier(p.cfg.Issuer, set, &goidc.Config{
		ClientID: p.cfg.ClientID, Now: p.now, SupportedSigningAlgs: asymmetric(extra.Algs),
	})}
	p.until = p.now().Add(time.Hour)
	return p.meta, nil
}

// asymmetric drops none and HMAC from what a provider says it signs with.
func asymmetric(algs []string) []string {
	var out []string
	for _, a := range algs {
		switch a {
		case "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA":
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return []string{"RS256"}
	}
	return out
}

func unreachable(err error, msg string) error {
	f := fault.Wrap(err, fault.Unavailable, "unexpected_failure", "%s", msg)
	f.RetryAfter = 5 * time.Second
	return f
}

func (p *Provider) oauth(m *metadata, scopes []string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: p.cfg.Secret, Endpoint: m.endpoint, RedirectURL: p.redirect, Scopes: scopes}
}

// Request is one authorization request.
type Request struct {
	State, Nonce, Verifier string
	Scopes                 []string   // added to openid email profile
	Extra                  url.Values // forwarded to the provider
}

// controls are the parameters of the request that a caller may not set.
var controls = map[string]bool{"client_id": true, "redirect_uri": true, "state": true, "response_type": true, "response_mode": true, "nonce": true,
	"scope": true, "scopes": true, "code_challenge": true, "code_challenge_method": true, "request": true, "request_uri": true, "registration": true}

// AuthURL returns where to send the browser.
func (p *Provider) AuthURL(ctx context.Context, r Request) (string, error) {
	m, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	opts := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(r.Verifier), goidc.Nonce(r.Nonce)}
	for k, v := range r.Extra {
		if !controls[k] && len(v) > 0 {
			opts = append(opts, oauth2.SetAuthURLParam(k, v[0]))
		}
	}
	scopes := []string{goidc.ScopeOpenID, "email", "profile"}
	for _, s := range r.Scopes {
		if s != "" && s != "openid" && s != "email" && s != "profile" {
			scopes = append(scopes, s)
		}
	}
	return p.oauth(m, scopes).AuthCodeURL(r.State, opts...), nil
}

// Person is what the provider vouches for.
type Person struct {
	Subject       string
	Email         string
	EmailVerified bool
	Claims        map[string]any // name, picture, locale ... for the user's metadata
	AccessToken   string
	RefreshToken  string
}

// Exchange redeems a code and verifies the ID token: signature, issuer,
// audience and authorised party, times, nonce (OpenID Connect Core 3.1.3.7).
func (p *Provider) Exchange(ctx context.Context, code, verifier, nonce string) (Person, error) {
	m, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = goidc.ClientContext(ctx, p.client)
	tok, err := p.oauth(m, nil).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Person{}, unreachable(err, "the sign-in provider refused the code")
	}
	raw, _ := tok.Extra("id_token").(string)
	id, err := m.verifier.Verify(ctx, raw)
	if err != nil {
		return Person{}, rejected(err)
	}
	var c idClaims
	if err := id.Claims(&c); err != nil {
		return Person{}, rejected(err)
	}
	if err := p.check(id, c, nonce); err != nil {
		return Person{}, rejected(err)
	}
	return Person{Subject: id.Subject, Email: c.Email, EmailVerified: c.verified(), Claims: c.profile(), AccessToken: tok.AccessToken, RefreshToken: tok.RefreshToken}, nil
}

func rejected(err error) error {
	return fault.Wrap(err, fault.Unauthorized, "bad_oauth_callback", "the sign-in provider's answer cannot be verified")
}

func (p *Provider) check(id *goidc.IDToken, c idClaims, nonce string) error {
	switch {
	case id.Subject == "" || len(id.Subject) > 255:
		return fmt.Errorf("oidc: no subject")
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return fmt.Errorf("oidc: nonce differs")
	case len(id.Audience) > 1 && c.AZP == "", c.AZP != "" && c.AZP != p.cfg.ClientID:
		return fmt.Errorf("oidc: another authorised party")
	case id.IssuedAt.After(p.now().Add(30 * time.Second)):
		return fmt.Errorf("oidc: issued in the future")
	}
	return nil
}

// idClaims are the claims read; EmailVerified is a string at some providers.
type idClaims struct {
	Email             string `json:"email"`
	EmailVerified     any    `json:"email_verified"`
	AZP               string `json:"azp"`
	Name              string `json:"name"`
	GivenName         string `json:"given_name"`
	FamilyName        string `json:"family_name"`
	Picture           string `json:"picture"`
	PreferredUsername string `json:"preferred_username"`
	Locale            string `json:"locale"`
}

func (c idClaims) verified() bool {
	switch v := c.EmailVerified.(type) {
	case bool:
		return v
	case string:
		return v == "true"
	}
	return false
}

func (c idClaims) profile() map[string]any {
	m := map[string]any{}
	for k, v := range map[string]string{"name": c.Name, "full_name": c.Name, "given_name": c.GivenName, "family_name": c.FamilyName, "picture": c.Picture,
		"avatar_url": c.Picture, "preferred_username": c.PreferredUsername, "locale": c.Locale} {
		if v != "" && len(v) <= 1024 {
			m[k] = v
		}
	}
	return m
}

// Challenge returns the S256 challenge of a verifier, RFC 7636 section 4.2.
func Challenge(verifier string) string {
	h := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// NewVerifier returns a random code verifier.
func NewVerifier() string { return oauth2.GenerateVerifier() }
