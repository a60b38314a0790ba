package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"holdfast/internal/identity"
	"holdfast/internal/identity/oidc"
)

// preset is one provider that needs no more than its client, and in what it differs
// from the others. What is said of them is what they publish of themselves.
type preset struct {
	name, issuer string // with no issuer configured; "" = one has to be
	path         string // of its issuer, below the host
	scope        string
	post         bool   // the client names itself in the body alone
	form         bool   // the answer is posted
	iss          string // after its host, what the answer names (RFC 9207); "" = nothing
	claims       obj    // of the ID token, beside those that hold it together
	metadata     obj    // of the user afterwards
}

const directory = "/11111111-2222-3333-4444-555555555555/v2.0"

var presets = []preset{
	{name: "google", issuer: "https://accounts.google.com", scope: "openid email profile", iss: "/",
		claims: obj{"email_verified": true, "name": "Ann Lee", "given_name": "Ann", "family_name": "Lee",
			"picture": "https://x.example/a.png",
			"hd":      "people.example"},
		metadata: obj{"full_name": "Ann Lee", "given_name": "Ann", "family_name": "Lee",
			"avatar_url": "https://x.example/a.png", "hd": nil}},
	{name: "gitlab", issuer: "https://gitlab.com", scope: "openid email profile",
		claims:   obj{"email_verified": true, "name": "Ann Lee", "groups_direct": []string{"x"}},
		metadata: obj{"name": "Ann Lee"}},
	{name: "linkedin_oidc", issuer: "https://www.linkedin.com/oauth", path: "/oauth", scope: "openid email profile",
		post:     true,
		claims:   obj{"email_verified": "true", "name": "Ann Lee", "locale": "en-US"},
		metadata: obj{"name": "Ann Lee", "locale": "en-US"}},
	{name: "keycloak", path: "/realms/north", scope: "openid email profile", iss: "/realms/north",
		claims:   obj{"email_verified": true, "name": "Ann Lee", "preferred_username": "ann"},
		metadata: obj{"name": "Ann Lee", "preferred_username": "ann"}},
	{name: "azure", path: directory, scope: "openid email profile",
		claims:   obj{"xms_edov": true, "name": "Ann Lee", "tid": directory[1:37]},
		metadata: obj{"name": "Ann Lee", "tid": nil}},
	{name: "microsoft", path: directory, scope: "openid email profile", claims: obj{"xms_edov": "1", "name": "Ann Lee"},
		metadata: obj{"name": "Ann Lee"}},
	{name: "apple", issuer: "https://appleid.apple.com", scope: "openid email name", post: true, form: true,
		claims: obj{"email_verified": "true", "is_private_email": "true"},
		metadata: obj{"name": "Ann Lee", "full_name": "Ann Lee", "given_name": "Ann",
			"family_name": "Lee"}},
	{name: "github", issuer: "https://github.com", scope: "read:user user:email", post: true, iss: "/login/oauth",
		metadata: obj{"name": "Ann Lee", "user_name": "ann"}},
}

// house is a provider as it stands somewhere else, with one person, who consents.
type house struct {
	*httptest.Server
	preset
	t     *testing.T
	key   *ecdsa.PrivateKey // of its ID tokens, and of Apple's developer
	lies  obj               // laid over the next ID token
	mu    sync.Mutex
	asked url.Values // the request that the next code answers
}

func newHouse(t *testing.T, p preset) *house {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, preset: p, key: key}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// configured is the provider as its operator writes it down.
func (h *house) configured() identity.Provider {
	p := identity.Provider{ClientID: "client-of-" + h.name, Secret: "s", Issuer: h.URL + h.path}
	if h.name == "apple" {
		der, err := x509.MarshalPKCS8PrivateKey(h.key)
		if err != nil {
			h.t.Fatal(err)
		}
		p.TeamID, p.KeyID, p.Secret = "TEAM123456", "KEY1234567",
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	return p
}

func (h *house) person() string { return h.name + "@people.example" }

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	say := json.NewEncoder(w).Encode
	at := h.URL + h.path
	switch r.URL.Path {
	case h.path + "/.well-known/openid-configuration":
		say(obj{"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
			"jwks_uri":                 at + "/keys",
			"response_types_supported": []string{"code"},
			"subject_types_supported":  []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_response_iss_parameter_supported": h.iss != "",
			"token_endpoint_auth_methods_supported": map[bool][]string{true: {"client_secret_post"},
				false: {"client_secret_post", "client_secret_basic"}}[h.post]})
	case h.path + "/keys":
		say(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &h.key.PublicKey, KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	case h.path + "/token", "/login/oauth/access_token":
		if !h.client(r) {
			h.t.Errorf("%s: a code without its client", h.name)
			w.WriteHeader(http.StatusUnauthorized)
			say(obj{"error": "invalid_client"})
			return
		}
		if why := h.grant(r); why != "" {
			h.t.Errorf("%s: %s", h.name, why)
			w.WriteHeader(http.StatusBadRequest)
			say(obj{"error": "invalid_grant"})
			return
		}
		say(obj{"access_token": "at-" + h.name, "refresh_token": "again", "token_type": "bearer", "expires_in": 3600,
			"id_token": h.idToken()})
	case "/api/v3/user":
		say(obj{"id": 583231, "login": "ann", "name": "Ann Lee", "email": "typed@evil.example"})
	case "/api/v3/user/emails":
		say([]obj{{"email": "old@people.example", "verified": true},
			{"email": h.person(), "primary": true, "verified": true}})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// client reports whether the request is the client's (RFC 6749 section 2.3.1).
func (h *house) client(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if basic == h.post {
		return false
	}
	if h.post {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if h.name == "apple" {
		return id == "client-of-apple" && h.signedByTeam(secret)
	}
	return id == "client-of-"+h.name && secret == "s"
}

// signedByTeam verifies a client secret as Apple does ("Creating a client secret").
func (h *house) signedByTeam(secret string) bool {
	tok, err := jwt.ParseSigned(secret, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return false
	}
	var c jwt.Claims
	if tok.Claims(&h.key.PublicKey, &c) != nil || tok.Headers[0].KeyID != "KEY1234567" {
		return false
	}
	return c.Validate(jwt.Expected{Issuer: "TEAM123456", Subject: "client-of-apple", AnyAudience: jwt.Audience{h.URL},
		Time: time.Now()}) == nil && c.Expiry != nil
}

// grant says what is wrong with the redemption of a code.
func (h *house) grant(r *http.Request) string {
	for name, want := range map[string]string{"grant_type": "authorization_code", "code": "the-code",
		"redirect_uri": h.asked.Get("redirect_uri")} {
		if got := r.PostFormValue(name); got != want {
			return fmt.Sprintf("%s %q, want %q", name, got, want)
		}
	}
	if oidc.Challenge(r.PostFormValue("code_verifier")) != h.asked.Get("code_challenge") {
		return "another verifier"
	}
	return ""
}

func (h *house) idToken() string {
	if h.name == "github" {
		return ""
	}
	c := obj{"iss": h.URL + h.path, "sub": "583231", "aud": "client-of-" + h.name, "iat": time.Now().Unix(),
		"exp":   time.Now().Add(time.Hour).Unix(),
		"nonce": h.asked.Get("nonce"), "email": h.person()}
	for _, more := range []obj{h.claims, h.lies} {
		for k, v := range more {
			c[k] = v
		}
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: h.key, KeyID: "1"}}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := jwt.Signed(s).Claims(c).Serialize()
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// enter goes to a provider and comes back from it, with what the answer says
// besides; it returns where that leads.
func (s *server) enter(h *house, more url.Values) *url.URL {
	s.Helper()
	r := s.call("GET", "/authorize?"+
		url.Values{"provider": {h.name}, "redirect_to": {"https://app.example.com/in"},
			"code_challenge":        {oidc.Challenge(strings.Repeat("v", 43))},
			"code_challenge_method": {"s256"}}.Encode(), nil)
	at, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.status != 302 {
		s.Fatalf("%s: %d %s", h.name, r.status, r.text)
	}
	q := at.Query()
	want := map[string]string{"scope": h.scope, "client_id": "client-of-" + h.name,
		"redirect_uri":  "http://127.0.0.1:8080/auth/v1/callback/" + h.name,
		"response_type": "code", "code_challenge_method": "S256", "response_mode": ""}
	if h.form {
		want["response_mode"] = "form_post"
	}
	for k, v := range want {
		if q.Get(k) != v {
			s.Errorf("%s is asked with %s=%q, want %q", h.name, k, q.Get(k), v)
		}
	}
	if door := map[bool]string{false: h.path + "/authorize",
		true: "/login/oauth/authorize"}[h.name == "github"]; at.Path != door || "http://"+at.Host != h.URL {
		s.Errorf("%s is asked at %s", h.name, at)
	}
	h.mu.Lock()
	h.asked = q
	h.mu.Unlock()
	answer := url.Values{"state": {q.Get("state")}, "code": {"the-code"}}
	if h.iss != "" {
		answer.Set("iss", strings.TrimSuffix(h.URL+h.iss, "/"))
	}
	for k, v := range more {
		answer[k] = v
	}
	path := "/callback/" + h.name + "?" + answer.Encode()
	if h.form {
		p := s.call("POST", "/callback/"+h.name, answer.Encode(), "Content-Type: application/x-www-form-urlencoded")
		to, ours := strings.CutPrefix(p.header.Get("Location"), "http://127.0.0.1:8080/auth/v1")
		if p.status != 303 || !ours || strings.Contains(to, "evil") {
			s.Fatalf("%s: %d %v", h.name, p.status, p.header)
		}
		path = to
	}
	c := (&http.Response{Header: r.header}).Cookies()[0]
	back := s.call("GET", path, nil, "Cookie: "+c.Name+"="+c.Value)
	to, err := url.Parse(back.header.Get("Location"))
	if err != nil || back.status != 302 && back.status != 303 || to.Host != "app.example.com" {
		s.Fatalf("%s: %d %v", h.name, back.status, back.header)
	}
	return to
}

// Each provider that is known by its name signs a person in, to a session: asked by
// its scopes, shown its client as it wants to be, believed in what it says of the
// address. Apple tells a name once, beside its answer; of the others none is taken
// from there. A token of another issuer, such as of another directory of Microsoft's,
// signs nobody in.
func TestPresetsSignIn(t *testing.T) {
	houses := map[string]*house{}
	for _, p := range presets {
		houses[p.name] = newHouse(t, p)
		known, err := oidc.New(oidc.Config{Name: p.name, ClientID: "c"}, "https://us.example/callback", time.Now)
		if (err == nil) != (p.issuer != "") || err == nil && known.Config().Issuer != p.issuer {
			t.Errorf("%s: without an issuer configured: %v", p.name, err)
		}
	}
	var turn sync.Mutex // a house has one person, who is in one place
	onBoth(t, func(c *identity.Config) {
		c.Autoconfirm, c.OIDC = false, map[string]identity.Provider{}
		for name, h := range houses {
			c.OIDC[name] = h.configured()
		}
	}, func(s *server) {
		turn.Lock()
		defer turn.Unlock()
		for _, p := range presets {
			h := houses[p.name]
			h.lies = nil
			first := ""
			for i, told := range []url.Values{{"user": {`{"name":{"firstName":"Ann","lastName":"Lee"},"email":"boss@evil.example"}`}},
				{"given_name": {"Mallory"}, "family_name": {"Moe"}}} {
				code := s.enter(h, told).Query().Get("code")
				in := s.call("POST", "/token?grant_type=pkce", obj{"auth_code": code, "code_verifier": strings.Repeat("v", 43)})
				if in.status != 200 || in.body["provider_token"] != "at-"+p.name {
					s.Fatalf("%s: %d %s", p.name, in.status, in.text)
				}
				u := in.body["user"].(obj)
				data, id := u["user_metadata"].(obj), u["identities"].([]any)[0].(obj)
				if u["email"] != h.person() || u["app_metadata"].(obj)["provider"] != p.name || id["id"] != "583231" ||
					id["provider"] != p.name || i > 0 &&
					u["id"] != first {
					s.Errorf("%s: %v", p.name, u)
				}
				first = u["id"].(string)
				for k, v := range p.metadata {
					if data[k] != v {
						s.Errorf("%s, sign-in %d: %s is %v, want %v", p.name, i, k, data[k], v)
					}
				}
			}
			if h.lies = (obj{"iss": h.URL + "/99999999-2222-3333-4444-555555555555/v2.0"}); p.name != "github" {
				if to := s.enter(h, nil).Query(); to.Get("error_code") != "bad_oauth_callback" || to.Has("code") {
					s.Errorf("%s: a token of another issuer led to %v", p.name, to)
				}
			}
		}
	})
}
