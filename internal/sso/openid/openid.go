// Package openid signs people in at an OpenID provider that a tenant named.
// Nobody but the tenant stands behind such a provider, so every request goes
// through the guarded client it is given, and all of its answers are checked.
//
// Layer: across domains. Begin at [New].
package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"holdfast/internal/cache"
	"holdfast/internal/identity/oidc"
)

// Config is one provider.
type Config struct {
	Issuer   string // exact; discovery must repeat it
	ClientID string
	Secret   string
	Scopes   []string          // added to openid email profile
	Params   map[string]string // said in each request besides; none that oidc.Controls
	Redirect string            // our callback, one to a provider
	Client   *http.Client
	Now      func() time.Time
}

// Provider talks to one provider. What it publishes is read at first use and
// again after an hour.
type Provider struct {
	cfg  Config
	meta cache.Remote[*metadata]
}

type metadata struct {
	endpoint oauth2.Endpoint
	verifier *goidc.IDTokenVerifier
	iss      bool // answers carry iss (RFC 9207)
}

// New makes a provider; it does not go to the network.
func New(cfg Config) *Provider {
	return &Provider{cfg: cfg, meta: cache.Remote[*metadata]{Life: time.Hour}}
}

// ErrUnreachable says that the provider did not answer as one should.
var ErrUnreachable = errors.New("openid: the provider cannot be reached, or does not answer as an OpenID provider")

// ErrAnswer says that an answer of the provider does not hold.
var ErrAnswer = errors.New("openid: the provider's answer cannot be verified")

// discover reads the provider's configuration, unless it was within the hour.
func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	m, err := p.meta.Get(ctx, p.cfg.Now, p.published)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return m, nil
}

// published reads the discovery document.
func (p *Provider) published(ctx context.Context) (*metadata, error) {
	// go-oidc compares the document's issuer with the configured one.
	doc, err := goidc.NewProvider(goidc.ClientContext(ctx, p.cfg.Client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("openid: discovery: %w", err)
	}
	var more struct {
		JWKS string   `json:"jwks_uri"`
		Iss  bool     `json:"authorization_response_iss_parameter_supported"`
		Auth []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := doc.Claims(&more); err != nil {
		return nil, fmt.Errorf("openid: discovery: %w", err)
	}
	var names []string
	for _, a := range oidc.Algorithms {
		names = append(names, string(a))
	}
	keys := oidc.NewKeys(more.JWKS, p.cfg.Client, p.cfg.Now)
	at := doc.Endpoint()
	at.AuthStyle = oidc.AuthStyle(more.Auth)
	return &metadata{endpoint: at, iss: more.Iss,
		verifier: goidc.NewVerifier(p.cfg.Issuer, keys, &goidc.Config{ClientID: p.cfg.ClientID, Now: p.cfg.Now,
			SupportedSigningAlgs: names})}, nil
}

func (p *Provider) oauth(m *metadata, more []string) *oauth2.Config {
	scopes := []string{goidc.ScopeOpenID, "email", "profile"}
	for _, s := range slices.Concat(p.cfg.Scopes, more) {
		if s != "" && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: p.cfg.Secret, Endpoint: m.endpoint,
		RedirectURL: p.cfg.Redirect, Scopes: scopes}
}

// Secrets are what ties an answer to its request.
type Secrets struct{ Nonce, Verifier string }

// Wish is what who signs in asks of the provider besides.
type Wish struct {
	Scopes []string   // added to the provider's
	Extra  url.Values // forwarded, except what the flow stands on and what Config.Params settles
}

// Location returns where to send the browser.
func (p *Provider) Location(ctx context.Context, state string, sec Secrets, w Wish) (string, error) {
	m, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	var opts []oauth2.AuthCodeOption
	for k, v := range w.Extra {
		if !oidc.Controls(k) && len(v) > 0 {
			opts = append(opts, oauth2.SetAuthURLParam(k, v[0]))
		}
	}
	for k, v := range p.cfg.Params {
		if !oidc.Controls(k) {
			opts = append(opts, oauth2.SetAuthURLParam(k, v))
		}
	}
	opts = append(opts, oauth2.S256ChallengeOption(sec.Verifier), goidc.Nonce(sec.Nonce))
	return p.oauth(m, w.Scopes).AuthCodeURL(state, opts...), nil
}

// Redeem exchanges a code and verifies the ID token: signature, issuer,
// audience and authorised party, times, nonce (OpenID Connect Core 3.1.3.7).
// It returns the token's claims. iss is the answer's, "" when it had none.
func (p *Provider) Redeem(ctx context.Context, code, iss string, sec Secrets) (map[string]any, error) {
	m, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if iss != "" && iss != p.cfg.Issuer || iss == "" && m.iss {
		return nil, fmt.Errorf("%w: it comes from another provider", ErrAnswer)
	}
	ctx = goidc.ClientContext(ctx, p.cfg.Client)
	tok, err := p.oauth(m, nil).Exchange(ctx, code, oauth2.VerifierOption(sec.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
			return nil, fmt.Errorf("%w: the code was refused: %w", ErrAnswer, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	raw, _ := tok.Extra("id_token").(string)
	id, err := m.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	azp, _ := claims["azp"].(string)
	switch {
	case id.Subject == "" || len(id.Subject) > 255:
		err = errors.New("no subject")
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(sec.Nonce)) != 1:
		err = errors.New("another nonce")
	case len(id.Audience) > 1 && azp == "", azp != "" && azp != p.cfg.ClientID:
		err = errors.New("another authorised party")
	case id.IssuedAt.IsZero() || id.IssuedAt.After(p.cfg.Now().Add(30*time.Second)):
		err = errors.New("issued in the future, or at no time")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return claims, nil
}
