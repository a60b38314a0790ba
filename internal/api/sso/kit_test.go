package sso_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/logger"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	dsig "github.com/russellhaering/goxmldsig"

	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	"holdfast/internal/api/route"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/mail"
	"holdfast/internal/sso"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// kit is the identity endpoints on one engine, with a name server and a
// mailbox.
type kit struct {
	*testing.T
	ident *identity.Service
	svc   *sso.Service
	db    *db.DB
	h     http.Handler
	base  string
	pairs int // of keyPairs, taken

	mu    sync.Mutex
	txt   map[string][]string
	mails []mail.Message
	skew  time.Duration
}

func (k *kit) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Add(k.skew)
}

func (k *kit) later(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.skew += d
}

func (k *kit) LookupTXT(_ context.Context, name string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.txt[name], nil
}

func (k *kit) Send(_ context.Context, m mail.Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mails = append(k.mails, m)
	return nil
}

var master = []byte("0123456789abcdef0123456789abcdef")

func onBoth(t *testing.T, f func(k *kit)) {
	t.Helper()
	t.Parallel() // a test waits for its subtests: most of that is copying a database
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			f(open(t, engine))
		})
	}
}

func open(t *testing.T, engine db.Engine) *kit {
	t.Helper()
	o := dbtest.Options(t, engine)
	o.PoolSize = 4
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{T: t, db: d, base: "https://wms.example", txt: map[string][]string{}}
	k.configure(nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		k.ident.Close(ctx)
		d.Close()
	})
	return k
}

// configure starts the server with providers in its configuration.
func (k *kit) configure(providers map[string]identity.Provider) {
	k.Helper()
	var err error
	k.ident, err = identity.New(identity.Config{SignIn: config.SignIn{SiteURL: "https://app.example", PublicURL: k.base,
		RedirectURLs: []string{"https://app.example/**", "https://*.app.example/**"}, SignupEnabled: true, Autoconfirm: true,
		ImplicitFlow: true}, MasterKey: master, Version: "test", OIDC: providers}, k.db, k, k.now)
	k.ok(err)
	k.svc, err = sso.New(sso.Config{PublicURL: k.base, SAML: true, AllowPrivate: true, MasterKey: master, Resolver: k},
		k.db, k.ident, k.now)
	k.ok(err)
	k.mount()
}

func (k *kit) mount() { k.counting(route.Windows{}) }

// counting serves anew, and counts.
func (k *kit) counting(x route.Windows) {
	k.Helper()
	providers := ssoapi.New(k.svc, k.ident)
	own := auth.New(k.ident, auth.Options{Windows: x, Custom: providers.Authorize})
	var err error
	k.h, err = route.Handler(&route.Authenticator{Identity: k.ident, SSO: k.svc, Windows: x},
		append(own.Routes(), providers.Routes()...))
	k.ok(err)
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(k *kit) map[string]any {
	k.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(a.body, &m); err != nil {
		k.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return m
}

func (a answer) text(k *kit, path ...string) string {
	k.Helper()
	var v any = a.json(k)
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	s, _ := v.(string)
	return s
}

// raw is a body as it is.
type raw string

// call sends JSON, or a form when body is url.Values.
func (k *kit) call(method, path, bearer string, body any) answer {
	k.Helper()
	var r io.Reader = http.NoBody
	ct := "application/json"
	switch b := body.(type) {
	case nil:
	case raw:
		r = strings.NewReader(string(b))
	case url.Values:
		r, ct = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	default:
		j, err := json.Marshal(b)
		k.ok(err)
		r = bytes.NewReader(j)
	}
	req := httptest.NewRequest(method, "/auth/v1"+path, r)
	req.Header.Set("X-Supabase-Api-Version", "2024-01-01")
	if body != nil {
		req.Header.Set("Content-Type", ct)
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	w := httptest.NewRecorder()
	k.h.ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body.Bytes()}
}

func (k *kit) want(a answer, status int, code string) answer {
	k.Helper()
	if a.status != status {
		k.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if code != "" && a.text(k, "code") != code {
		k.Fatalf("code %q, want %q: %s", a.text(k, "code"), code, a.body)
	}
	return a
}

const pw = "a-good-long-password"

// tenant makes one that asks for no second factor.
func (k *kit) tenant(name string) string {
	k.Helper()
	t, err := k.ident.Tenants.CreateTenant(k.Context(), name, "", "")
	k.ok(err)
	k.exec(`INSERT INTO settings (tenant_id, id, section, key, value, created_at, updated_at, version)
		VALUES ($1, $1, 'security', 'mfa_required', '"none"', $2, $2, 1)`, t.ID, time.Now())
	return t.ID
}

// member makes a password account with a membership and signs it in.
func (k *kit) member(tenant, email string, role actor.Role) *identity.Session {
	k.Helper()
	p := pw
	_, err := k.ident.Admin.CreateUser(k.Context(), actor.Actor{Role: actor.Service},
		identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
	k.ok(err)
	_, err = k.ident.Admin.AddMember(k.Context(), tenant, email, role)
	k.ok(err)
	s, err := k.ident.SignIns.SignIn(k.Context(), email, pw, identity.Client{})
	k.ok(err)
	return s
}

func (k *kit) serviceKey() string {
	k.Helper()
	keys, err := k.ident.Keyring.Keys(k.Context())
	k.ok(err)
	return keys.SecretKey
}

func (k *kit) exec(sql string, args ...any) {
	k.Helper()
	k.ok(k.db.Write(k.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(sql, args...)
		return err
	}))
}

func (k *kit) count(sql string, args ...any) (n int) {
	k.Helper()
	k.ok(k.db.Read(k.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One(sql, args, func(r *db.Row) error { n = int(r.Int(0)); return nil })
	}))
	return n
}

// idp is crewjam's identity provider with one person in it.
type idp struct {
	*saml.IdentityProvider
	k      *kit
	srv    *httptest.Server
	person saml.Session
	ends   time.Time // SessionNotOnOrAfter of its assertions; zero = it says none
	meta   []byte    // served at its metadata address instead of its own
	hits   int
}

func newIDP(k *kit) *idp {
	k.Helper()
	p := &idp{k: k, person: saml.Session{ID: "s", CreateTime: time.Now(), ExpireTime: time.Now().Add(time.Hour),
		Index: "1", NameID: "ann-1",
		NameIDFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent", UserName: "ann", UserEmail: "ann@corp.example",
		UserCommonName: "Ann", Groups: []string{"wms-managers"}}}
	mux := http.NewServeMux()
	p.srv = httptest.NewServer(mux)
	k.Cleanup(p.srv.Close)
	u, _ := url.Parse(p.srv.URL)
	key, cert := k.keyPair()
	p.IdentityProvider = &saml.IdentityProvider{Key: key, Certificate: cert, Logger: quiet{},
		MetadataURL: *u.JoinPath("metadata"), SSOURL: *u.JoinPath("sso"),
		SessionProvider: p, ServiceProviderProvider: p, AssertionMaker: p, SignatureMethod: dsig.RSASHA256SignatureMethod}
	mux.HandleFunc("/sso", p.ServeSSO)
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) {
		p.hits++
		if p.meta != nil {
			w.Write(p.meta)
			return
		}
		w.Write(p.xml())
	})
	return p
}

type quiet struct{ logger.Interface }

func (quiet) Printf(string, ...any) {}
func (quiet) Print(...any)          {}
func (quiet) Println(...any)        {}

// keyPairs are made once for all tests: each takes as long as a test.
var keyPairs = [...]func() (*rsa.PrivateKey, *x509.Certificate){sync.OnceValues(newKeyPair),
	sync.OnceValues(newKeyPair), sync.OnceValues(newKeyPair), sync.OnceValues(newKeyPair)}

// keyPair returns one that this test has not got yet.
func (k *kit) keyPair() (*rsa.PrivateKey, *x509.Certificate) {
	k.pairs++
	return keyPairs[k.pairs-1]()
}

func newKeyPair() (*rsa.PrivateKey, *x509.Certificate) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "idp"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return key, cert
}

func (p *idp) xml() []byte {
	b, err := xml.Marshal(p.Metadata())
	p.k.ok(err)
	return b
}

// GetSession implements saml.SessionProvider: the person is signed in there.
func (p *idp) GetSession(http.ResponseWriter, *http.Request, *saml.IdpAuthnRequest) *saml.Session {
	s := p.person
	return &s
}

// MakeAssertion implements saml.AssertionMaker.
func (p *idp) MakeAssertion(req *saml.IdpAuthnRequest, s *saml.Session) error {
	err := saml.DefaultAssertionMaker{}.MakeAssertion(req, s)
	if err == nil && !p.ends.IsZero() {
		req.Assertion.AuthnStatements[0].SessionNotOnOrAfter = &p.ends
	}
	return err
}

// GetServiceProvider implements saml.ServiceProviderProvider with the metadata
// that we serve.
func (p *idp) GetServiceProvider(*http.Request, string) (*saml.EntityDescriptor, error) {
	a := p.k.want(p.k.call("GET", "/sso/saml/metadata", "", nil), 200, "")
	d := &saml.EntityDescriptor{}
	return d, xml.Unmarshal(a.body, d)
}

var hidden = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// answer lets the provider answer a request and returns the form it has the
// browser post.
func (p *idp) answer(loc string) url.Values {
	p.k.Helper()
	res, err := http.Get(loc)
	p.k.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.k.ok(err)
	out := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(string(b), -1) {
		out.Set(m[1], strings.NewReplacer("&#43;", "+", "&#34;", `"`, "&amp;", "&").Replace(m[2]))
	}
	if out.Get("SAMLResponse") == "" {
		p.k.Fatalf("the provider answered %d: %s", res.StatusCode, b)
	}
	return out
}

const verifier = "0123456789abcdef0123456789abcdef0123456789abcdef"

func challenge() string {
	h := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// begin asks POST /sso and returns the provider's address.
func (k *kit) begin(by, value string) string {
	k.Helper()
	a := k.want(k.call("POST", "/sso", "", map[string]any{by: value, "redirect_to": "https://app.example/in",
		"skip_http_redirect": true, "code_challenge": challenge(), "code_challenge_method": "s256"}), 200, "")
	return a.text(k, "url")
}

// landed returns where an answer leads: 303 tells what went wrong, 302 leads on.
func (k *kit) landed(a answer) *url.URL {
	k.Helper()
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		k.Fatalf("status %d leads nowhere: %s", a.status, a.body)
	}
	if want := map[bool]int{true: 303, false: 302}[u.Query().Has("error_code")]; a.status != want {
		k.Errorf("status %d leads to %s, want %d", a.status, u, want)
	}
	return u
}

// redeem exchanges the code of a landing.
func (k *kit) redeem(u *url.URL) answer {
	k.Helper()
	if u.Query().Get("code") == "" {
		k.Fatalf("no code in %s", u)
	}
	return k.call("POST", "/token?grant_type=pkce", "", map[string]any{"auth_code": u.Query().Get("code"),
		"code_verifier": verifier})
}

func claims(k *kit, access string) map[string]any {
	k.Helper()
	b, err := base64.RawURLEncoding.DecodeString(strings.Split(access, ".")[1])
	k.ok(err)
	m := map[string]any{}
	k.ok(json.Unmarshal(b, &m))
	return m
}

// samlConnection makes a SAML connection of the tenant, domain proved by the
// operator's word.
func (k *kit) samlConnection(p *idp, tenant string, more map[string]any) string {
	k.Helper()
	body := map[string]any{"type": "saml", "tenant_id": tenant, "metadata_xml": string(p.xml()),
		"domains":  []string{"corp.example"},
		"role_map": map[string]string{"wms-managers": "manager", "wms-drivers": "driver"}, "default_role": "viewer",
		"attribute_mapping": map[string]any{"keys": map[string]any{"groups": map[string]any{"name": "eduPersonAffiliation"}}}}
	for key, v := range more {
		body[key] = v
	}
	return k.want(k.call("POST", "/admin/sso/providers", k.serviceKey(), body), 201, "").text(k, "id")
}

// op is a small OpenID provider.
type op struct {
	k      *kit
	srv    *httptest.Server
	key    *rsa.PrivateKey
	claims map[string]any     // of the next ID token, over the usual
	sign   func(c any) string // nil = RS256 with the published key
	nonce  string             // of the last request
	form   url.Values         // of the last token request
	fetch  map[string]int     // how often each path was asked
	hook   func(w http.ResponseWriter, r *http.Request) bool
	iss    bool // says that its answers carry iss (RFC 9207)
	post   bool // takes the client's secret in the body alone, and says so
	mu     sync.Mutex
}

func newOP(k *kit) *op {
	k.Helper()
	key, _ := k.keyPair()
	p := &op{k: k, key: key, claims: map[string]any{}, fetch: map[string]int{}}
	p.srv = httptest.NewServer(p)
	k.Cleanup(p.srv.Close)
	return p
}

// ServeHTTP implements discovery, keys and the token endpoint.
func (p *op) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetch[r.URL.Path]++
	if p.hook != nil && p.hook(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		json.NewEncoder(w).Encode(map[string]any{"issuer": p.srv.URL, "authorization_endpoint": p.srv.URL + "/authorize",
			"token_endpoint": p.srv.URL + "/token", "jwks_uri": p.srv.URL + "/jwks",
			"authorization_response_iss_parameter_supported": p.iss, "token_endpoint_auth_methods_supported": map[bool][]string{
				true: {"client_secret_post"}, false: nil}[p.post], "response_types_supported": []string{"code"},
			"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}})
	case "/jwks":
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: "1",
			Algorithm: "RS256", Use: "sig"}}})
	case "/token":
		r.ParseForm()
		p.form = r.PostForm
		if p.post != (r.PostForm.Get("client_secret") == "secret-of-the-client") {
			p.k.Errorf("the client named itself in another way than the provider takes")
			w.WriteHeader(401)
			return
		}
		c := map[string]any{"iss": p.srv.URL, "sub": "bob-1", "aud": "client", "exp": p.k.now().Add(time.Minute).Unix(),
			"iat": p.k.now().Unix(), "nonce": p.nonce,
			"email": "bob@corp.example", "groups": []string{"wms-drivers"}, "name": "Bob"}
		for key, v := range p.claims {
			if c[key] = v; v == nil {
				delete(c, key)
			}
		}
		sign := p.sign
		if sign == nil {
			sign = func(c any) string { return signed(p.k, jose.RS256, p.key, "1", c) }
		}
		json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "expires_in": 60,
			"id_token": sign(c)})
	default:
		w.WriteHeader(404)
	}
}

func signed(k *kit, alg jose.SignatureAlgorithm, key any, kid string, c any) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	k.ok(err)
	out, err := jwt.Signed(s).Claims(c).Serialize()
	k.ok(err)
	return out
}

// answer is the provider's redirect for a request.
func (p *op) answer(loc string) (connection string, q url.Values) {
	p.k.Helper()
	u, err := url.Parse(loc)
	p.k.ok(err)
	v := u.Query()
	p.nonce = v.Get("nonce")
	back, err := url.Parse(v.Get("redirect_uri"))
	p.k.ok(err)
	return strings.Split(back.Path, "/")[5], url.Values{"state": {v.Get("state")}, "code": {"c"}}
}

func (k *kit) oidcConnection(p *op, tenant, domain string) string {
	k.Helper()
	return k.want(k.call("POST", "/admin/custom-providers", k.serviceKey(),
		map[string]any{"tenant_id": tenant, "identifier": "custom:" + strings.ReplaceAll(domain, ".", "-"), "name": "Corp",
			"client_id": "client", "client_secret": "secret-of-the-client", "issuer": p.srv.URL, "domains": []string{domain},
			"role_map": map[string]string{"wms-drivers": "driver"}, "default_role": "viewer"}), 201, "").text(k, "id")
}

func (k *kit) callback(connection string, q url.Values) *url.URL {
	k.Helper()
	return k.landed(k.call("GET", "/sso/oidc/"+connection+"/callback?"+q.Encode(), "", nil))
}

// unsolicited is a response the provider sends by itself.
func (p *idp) unsolicited() string {
	p.k.Helper()
	sp, err := p.GetServiceProvider(nil, "")
	p.k.ok(err)
	r := httptest.NewRequest("GET", p.srv.URL+"/sso", nil)
	req := &saml.IdpAuthnRequest{IDP: p.IdentityProvider, HTTPRequest: r, ServiceProviderMetadata: sp,
		SPSSODescriptor: &sp.SPSSODescriptors[0],
		ACSEndpoint:     &sp.SPSSODescriptors[0].AssertionConsumerServices[0], Now: saml.TimeNow()}
	s := p.person
	p.k.ok(p.MakeAssertion(req, &s))
	req.Assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData.InResponseTo = ""
	f, err := req.PostBinding()
	p.k.ok(err)
	return f.SAMLResponse
}
