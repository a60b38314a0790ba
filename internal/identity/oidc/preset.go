package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
)

// preset is what need not be configured of a well-known provider.
type preset struct {
	issuer string   // where there is only one
	scopes []string // asked for besides openid
	github bool     // OAuth 2.0 without OpenID Connect
	form   bool     // answers by a posted form when scopes are asked for
	edov   bool     // e-mail claims are proved by xms_edov alone
	worded bool     // says "true" in words where others say it as a boolean
}

// presetOf returns the preset of a provider's name; any other name is an
// OpenID provider whose issuer is configured.
func presetOf(name string) preset {
	def := []string{"email", "profile"}
	switch name {
	case "google":
		return preset{issuer: "https://accounts.google.com", scopes: def}
	case "gitlab":
		return preset{issuer: "https://gitlab.com", scopes: def}
	case "linkedin_oidc":
		return preset{issuer: "https://www.linkedin.com/oauth", scopes: def, worded: true}
	case "apple":
		return preset{issuer: "https://appleid.apple.com", scopes: []string{"email", "name"}, form: true,
			worded: true}
	case "azure", "microsoft":
		return preset{scopes: def, edov: true}
	case "github":
		return preset{issuer: "https://github.com", scopes: []string{"read:user", "user:email"}, github: true}
	}
	return preset{scopes: def}
}

// KnownIssuer is the issuer of a well-known provider, "" of any other.
func KnownIssuer(name string) string { return presetOf(name).issuer }

// checkPreset refuses what cannot be safe. Microsoft's shared endpoints vouch for
// every directory in the world at once, under an issuer that names none.
func (p preset) checkPreset(c Config) error {
	if !p.edov {
		return nil
	}
	for _, shared := range []string{"common", "organizations", "consumers"} {
		if strings.Contains(c.Issuer, "/"+shared+"/") || strings.HasSuffix(c.Issuer, "/"+shared) {
			return fmt.Errorf("oidc: provider %s: issuer %s is shared by all directories; configure https://login.microsoftonline.com/<directory id>/v2.0",
				c.Name, c.Issuer)
		}
	}
	if c.Issuer == "" {
		return fmt.Errorf("oidc: provider %s needs its issuer: https://login.microsoftonline.com/<directory id>/v2.0", c.Name)
	}
	return nil
}

// clientSecret returns the client secret. Apple's is a token signed with the key of
// the developer account, made afresh for each exchange.
func (p *Provider) clientSecret() (string, error) {
	if p.cfg.TeamID == "" {
		return p.cfg.Secret, nil
	}
	block, _ := pem.Decode([]byte(p.cfg.Secret))
	if block == nil {
		return "", fmt.Errorf("oidc: provider %s: the secret is no PEM key", p.cfg.Name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("oidc: provider %s: key: %w", p.cfg.Name, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return "", fmt.Errorf("oidc: provider %s: the key is not ECDSA", p.cfg.Name)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
		Key: jose.JSONWebKey{Key: key, KeyID: p.cfg.KeyID}}, nil)
	if err != nil {
		return "", fmt.Errorf("oidc: provider %s: %w", p.cfg.Name, err)
	}
	now := p.now()
	return jwt.Signed(signer).Claims(jwt.Claims{Issuer: p.cfg.TeamID, Subject: p.cfg.webClientID(),
		Audience: jwt.Audience{p.cfg.Issuer},
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(5 * time.Minute))}).Serialize()
}

// hubEndpoint is GitHub's, or that of a GitHub Enterprise server.
func (p *Provider) hubEndpoint() oauth2.Endpoint {
	base := strings.TrimRight(p.cfg.Issuer, "/")
	return oauth2.Endpoint{AuthURL: base + "/login/oauth/authorize", TokenURL: base + "/login/oauth/access_token",
		AuthStyle: oauth2.AuthStyleInParams}
}

// maxName bounds each half of a name, in bytes.
const maxName = 200

// FormName reads the name out of the user member of a posted answer, which is how
// Apple tells it, once (Sign in with Apple, "Configuring your webpage"). The address
// beside it is what the browser says, and is not read. Nothing usable is no name.
func FormName(user string) (given, family string) {
	if len(user) > 2048 {
		return "", ""
	}
	var in struct {
		Name struct {
			First string `json:"firstName"`
			Last  string `json:"lastName"`
		} `json:"name"`
	}
	if json.Unmarshal([]byte(user), &in) != nil {
		return "", ""
	}
	return cleanName(in.Name.First), cleanName(in.Name.Last)
}

func cleanName(s string) string {
	if s = strings.TrimSpace(s); len(s) > maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

// Introduce adds to a person the name that came with the answer, where the provider
// tells it there and not in its tokens. Nobody vouches for it.
func (p *Provider) Introduce(who *Person, given, family string) {
	given, family = cleanName(given), cleanName(family)
	if !p.preset.form || given+family == "" {
		return
	}
	for k, v := range (idClaims{Name: strings.TrimSpace(given + " " + family), GivenName: given,
		FamilyName: family}).profileData() {
		who.Claims[k] = v
	}
}

// hubIssuer is what GitHub calls itself in its answers: the prefix of its
// endpoints, which is not where its accounts are.
func (p *Provider) hubIssuer() string {
	return strings.TrimRight(p.cfg.Issuer, "/") + "/login/oauth"
}

func (p *Provider) hubAPI(path string) string {
	if p.cfg.Issuer == presetOf("github").issuer {
		return "https://api.github.com" + path
	}
	return strings.TrimRight(p.cfg.Issuer, "/") + "/api/v3" + path
}

func (p *Provider) getJSON(ctx context.Context, address, token string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("oidc: %s answered %d", req.URL.Host, res.StatusCode)
	}
	return json.NewDecoder(res.Body).Decode(v)
}

// hubPerson asks GitHub who a token belongs to. The address is the primary
// one of the list that says which are verified; the profile's own is whatever
// its owner typed.
func (p *Provider) hubPerson(ctx context.Context, tok *oauth2.Token) (Person, error) {
	var who struct {
		ID     int64  `json:"id"`
		Login  string `json:"login"`
		Name   string `json:"name"`
		Avatar string `json:"avatar_url"`
	}
	if err := p.getJSON(ctx, p.hubAPI("/user"), tok.AccessToken, &who); err != nil {
		return Person{}, unreachable(err, "the sign-in provider does not say who signed in")
	}
	if who.ID == 0 {
		return Person{}, rejectedFault(fmt.Errorf("oidc: no user id"))
	}
	var mails []struct {
		Email    string `json:"email"`
		Primary  bool   `json:"primary"`
		Verified bool   `json:"verified"`
	}
	if err := p.getJSON(ctx, p.hubAPI("/user/emails"), tok.AccessToken, &mails); err != nil {
		return Person{}, unreachable(err, "the sign-in provider does not show the email address")
	}
	out := Person{Subject: strconv.FormatInt(who.ID, 10), AccessToken: tok.AccessToken, RefreshToken: tok.RefreshToken,
		Claims: idClaims{Name: who.Name, Picture: who.Avatar, PreferredUsername: who.Login}.profileData()}
	if who.Login != "" {
		out.Claims["user_name"] = who.Login
	}
	for _, m := range mails {
		if m.Primary {
			out.Email, out.EmailVerified = m.Email, m.Verified
		}
	}
	return out, nil
}

// clientIDs are the client ids; a provider's apps on several platforms have
// one each. The first is the web client's.
func (c Config) clientIDs() []string {
	var out []string
	for _, id := range strings.Split(c.ClientID, ",") {
		if id = strings.TrimSpace(id); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// Has reports one of the client ids.
func (c Config) Has(clientID string) bool { return slices.Contains(c.clientIDs(), clientID) }

func (c Config) webClientID() string {
	if ids := c.clientIDs(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// formPost asks for the answer as a form where the provider insists on it.
func (p *Provider) formPost(location string) string {
	u, err := url.Parse(location)
	if err != nil || !p.preset.form {
		return location
	}
	q := u.Query()
	q.Set("response_mode", "form_post")
	u.RawQuery = q.Encode()
	return u.String()
}
