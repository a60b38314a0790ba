package oidc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"

	"holdfast/internal/cache"
	"holdfast/internal/fault"
)

// Config is one provider of the configuration.
type Config struct {
	Name     string   // as in ?provider=
	ClientID string   // or several, separated by commas: the web client's first, then those whose ID tokens are taken
	Secret   string   // with TeamID: the PEM key that signs Apple's
	TeamID   string   // apple
	KeyID    string   // apple
	Issuer   string   // exact; discovery must repeat it
	Domains  []string // e-mail domains the provider is trusted for; empty = all
}

// Provider talks to one OpenID provider. Its discovery document is fetched at
// first use and again after an hour.
type Provider struct {
	cfg      Config
	redirect string
	preset   preset
	client   *http.Client
	now      func() time.Time

	meta cache.Remote[*metadata]
}

type metadata struct {
	endpoint oauth2.Endpoint
	verifier *goidc.IDTokenVerifier
	iss      bool // answers carry iss (RFC 9207)
}

// New checks the configuration; it does not go to the network. redirect is our
// callback's address.
func New(cfg Config, redirect string, now func() time.Time) (*Provider, error) {
	pre := presetOf(cfg.Name)
	if cfg.Issuer == "" {
		cfg.Issuer = pre.issuer
	}
	if err := pre.checkPreset(cfg); err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("oidc: provider %s: issuer %q is not an absolute URL", cfg.Name, cfg.Issuer)
	}
	if cfg.webClientID() == "" {
		return nil, fmt.Errorf("oidc: provider %s has no client id", cfg.Name)
	}
	p := &Provider{cfg: cfg, redirect: redirect, preset: pre, client: guardedClient(u), now: now,
		meta: cache.Remote[*metadata]{Life: time.Hour}}
	if _, err := p.clientSecret(); err != nil {
		return nil, err
	}
	return p, nil
}

// Config returns what the provider was made of, without the secret.
func (p *Provider) Config() Config {
	c := p.cfg
	c.Secret = ""
	return c
}

func (p *Provider) discoverConfig(ctx context.Context) (*metadata, error) {
	m, err := p.meta.Get(ctx, p.now, p.published)
	if err != nil {
		return nil, unreachable(err, "the sign-in provider's configuration cannot be read")
	}
	return m, nil
}

// published reads the discovery document.
func (p *Provider) published(ctx context.Context) (*metadata, error) {
	// go-oidc compares the document's issuer with the configured one.
	doc, err := goidc.NewProvider(goidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("oidc: discovery: %w", err)
	}
	var extra struct {
		JWKS string   `json:"jwks_uri"`
		Algs []string `json:"id_token_signing_alg_values_supported"`
		Iss  bool     `json:"authorization_response_iss_parameter_supported"`
		Auth []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := doc.Claims(&extra); err != nil {
		return nil, fmt.Errorf("oidc: discovery: %w", err)
	}
	// The audience is compared by check, because there may be several.
	at := doc.Endpoint()
	at.AuthStyle = AuthStyle(extra.Auth)
	return &metadata{endpoint: at, iss: extra.Iss, verifier: goidc.NewVerifier(p.cfg.Issuer,
		NewKeys(extra.JWKS, p.client, p.now), &goidc.Config{
			SkipClientIDCheck: true, Now: p.now, SupportedSigningAlgs: asymmetric(extra.Algs),
		})}, nil
}

// AuthStyle is how a client names itself where a provider publishes these methods:
// in the body, if that is all it takes, so that no code is shown to it in vain; else
// as a client finds out, beginning with the header, which is what a provider takes
// that publishes none (OpenID Connect Discovery 1.0 section 3).
func AuthStyle(methods []string) oauth2.AuthStyle {
	if slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleAutoDetect
}

// asymmetric drops none and HMAC from what a provider says it signs with.
func asymmetric(algs []string) []string {
	var out []string
	for _, a := range algs {
		if slices.Contains(Algorithms, jose.SignatureAlgorithm(a)) {
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

func (p *Provider) oauthConfig(ctx context.Context, scopes []string) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: p.cfg.webClientID(), RedirectURL: p.redirect, Scopes: scopes}
	if p.preset.github {
		c.Endpoint = p.hubEndpoint()
		return c, nil
	}
	m, err := p.discoverConfig(ctx)
	if err != nil {
		return nil, err
	}
	c.Endpoint = m.endpoint
	return c, nil
}

// Request is one authorization request.
type Request struct {
	State, Nonce, Verifier string
	Scopes                 []string   // added to openid email profile
	Extra                  url.Values // forwarded to the provider
}

// Controls reports a parameter of an authorization request by which the flow holds
// together (RFC 6749, 7636, 9101, OpenID Connect Core), in any spelling of its case:
// no caller may set it.
func Controls(name string) bool {
	switch strings.ToLower(name) {
	case "client_id", "client_secret", "redirect_uri", "response_type", "response_mode", "state", "scope", "nonce",
		"code_challenge", "code_challenge_method", "request", "request_uri", "claims", "id_token_hint", "registration":
		return true
	}
	return false
}

// AuthURL returns where to send the browser.
func (p *Provider) AuthURL(ctx context.Context, r Request) (string, error) {
	opts := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(r.Verifier), goidc.Nonce(r.Nonce)}
	for k, v := range r.Extra {
		if !Controls(k) && len(v) > 0 {
			opts = append(opts, oauth2.SetAuthURLParam(k, v[0]))
		}
	}
	var scopes []string
	if !p.preset.github {
		scopes = append(scopes, goidc.ScopeOpenID)
	}
	scopes = append(scopes, p.preset.scopes...)
	for _, s := range r.Scopes {
		if s != "" && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	c, err := p.oauthConfig(ctx, scopes)
	if err != nil {
		return "", err
	}
	return p.formPost(c.AuthCodeURL(r.State, opts...)), nil
}

// Sent refuses an answer that another provider gave: by its iss, or without one of
// a provider that always names itself (RFC 9207 section 2.4).
func (p *Provider) Sent(ctx context.Context, iss string) error {
	if p.preset.github {
		return checkIssuerNamed(iss, p.hubIssuer(), false)
	}
	m, err := p.discoverConfig(ctx)
	if err != nil {
		return err
	}
	return checkIssuerNamed(iss, p.cfg.Issuer, m.iss)
}

func checkIssuerNamed(iss, want string, always bool) error {
	if iss == want || iss == "" && !always {
		return nil
	}
	return fault.New(fault.Invalid, "bad_oauth_callback", "The answer comes from another provider")
}

// Person is what the provider vouches for.
type Person struct {
	Subject       string
	Email         string
	EmailVerified bool
	Claims        map[string]any // name, picture, locale ... for the user's metadata
	AccessToken   string
	RefreshToken  string

	token  *goidc.IDToken
	atHash string
}

// Exchange redeems a code and verifies the ID token: signature, issuer,
// audience and authorised party, times, nonce (OpenID Connect Core 3.1.3.7).
func (p *Provider) Exchange(ctx context.Context, code, verifier, nonce string) (Person, error) {
	c, err := p.oauthConfig(ctx, nil)
	if err != nil {
		return Person{}, err
	}
	if c.ClientSecret, err = p.clientSecret(); err != nil {
		return Person{}, err
	}
	ctx = goidc.ClientContext(ctx, p.client)
	tok, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Person{}, unreachable(err, "the sign-in provider refused the code")
	}
	if p.preset.github {
		return p.hubPerson(ctx, tok)
	}
	raw, _ := tok.Extra("id_token").(string)
	out, err := p.readIDToken(ctx, raw, nonce, p.cfg.clientIDs()[:1])
	out.AccessToken, out.RefreshToken = tok.AccessToken, tok.RefreshToken
	return out, err
}

// Verify reads an ID token that an app got by itself from the provider, with
// the nonce the token must carry, or neither. accessToken is compared with the
// token's at_hash when both are there.
func (p *Provider) Verify(ctx context.Context, raw, nonce, accessToken string) (Person, error) {
	if p.preset.github {
		return Person{}, fault.New(fault.Invalid, "provider_disabled", "%s gives no ID tokens", p.cfg.Name)
	}
	if _, err := jwt.ParseSigned(raw, Algorithms); err != nil {
		return Person{}, rejectedFault(err)
	}
	if nonce != "" {
		// The app gave the provider the hash, so that the token alone does not
		// tell what has to be shown with it.
		h := sha256.Sum256([]byte(nonce))
		nonce = hex.EncodeToString(h[:])
	}
	out, err := p.readIDToken(ctx, raw, nonce, p.cfg.clientIDs())
	if err != nil {
		return Person{}, err
	}
	if accessToken != "" && out.atHash != "" {
		if err := out.token.VerifyAccessToken(accessToken); err != nil {
			return Person{}, rejectedFault(err)
		}
		out.AccessToken = accessToken
	}
	return out, nil
}

// readIDToken verifies an ID token and says whom it is about.
func (p *Provider) readIDToken(ctx context.Context, raw, nonce string, audiences []string) (Person, error) {
	m, err := p.discoverConfig(ctx)
	if err != nil {
		return Person{}, err
	}
	id, err := m.verifier.Verify(goidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		return Person{}, rejectedFault(err)
	}
	var c idClaims
	if err := id.Claims(&c); err != nil {
		return Person{}, rejectedFault(err)
	}
	if err := p.checkIDToken(id, c, nonce, audiences); err != nil {
		return Person{}, rejectedFault(err)
	}
	return Person{Subject: id.Subject, Email: c.Email, EmailVerified: c.isEmailVerified(p.preset), Claims: c.profileData(),
		token: id, atHash: id.AccessTokenHash}, nil
}

func rejectedFault(err error) error {
	return fault.Wrap(err, fault.Unauthorized, "bad_oauth_callback", "the sign-in provider's answer cannot be verified")
}

// OtherAudience refuses an ID token that is good and made for others: whom it names.
type OtherAudience []string

func (a OtherAudience) Error() string {
	return fmt.Sprintf("Unacceptable audience in id_token: %v", []string(a))
}

func (p *Provider) checkIDToken(id *goidc.IDToken, c idClaims, nonce string, audiences []string) error {
	ours := func(a string) bool { return slices.Contains(audiences, a) }
	switch {
	case !slices.ContainsFunc(id.Audience, ours):
		return OtherAudience(id.Audience)
	case id.Subject == "" || len(id.Subject) > 255:
		return fmt.Errorf("oidc: no subject")
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return fmt.Errorf("oidc: nonce differs")
	case len(id.Audience) > 1 && c.AZP == "", c.AZP != "" && !slices.Contains(p.cfg.clientIDs(), c.AZP):
		return fmt.Errorf("oidc: another authorised party")
	case id.IssuedAt.After(p.now().Add(30 * time.Second)):
		return fmt.Errorf("oidc: issued in the future")
	}
	return nil
}

// idClaims are the claims read. Those that say what is proved are of whatever type they
// came as.
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
	OwnerVerified     any    `json:"xms_edov"`
}

// isEmailVerified reports that the provider proved the address. email_verified is a boolean
// (OpenID Connect Core, 5.1); of a provider that nobody knows, no other value is taken for
// one.
func (c idClaims) isEmailVerified(p preset) bool {
	if p.edov {
		// Any directory's administrator can type any address; this claim alone
		// says that its domain is the directory's own.
		return c.OwnerVerified == true || c.OwnerVerified == "1" || c.OwnerVerified == "true" || c.OwnerVerified == 1.0
	}
	return c.EmailVerified == true || p.worded && c.EmailVerified == "true"
}

func (c idClaims) profileData() map[string]any {
	m := map[string]any{}
	for k, v := range map[string]string{"name": c.Name, "full_name": c.Name, "given_name": c.GivenName,
		"family_name": c.FamilyName, "picture": c.Picture,
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
