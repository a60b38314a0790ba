package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/tenants"
)

// idp is an OpenID provider on loopback whose answers a test can spoil.
type idp struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey
	now func() time.Time

	mu       sync.Mutex
	issuer   string         // what discovery claims; empty = the truth
	kid      string         // in the token header
	alg      string         // "" = ES256
	change   map[string]any // claims laid over the good ones
	nonces   map[string]string
	verifier map[string]string // challenge by code
	fetches  int               // of the keys
	shown    atomic.Int64      // codes that came to the token endpoint
	iss      bool              // says that its answers carry iss (RFC 9207)
}

func newIDP(t *testing.T, now func() time.Time) *idp {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &idp{t: t, key: key, now: now, kid: "k1", nonces: map[string]string{}, verifier: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		iss := p.URL
		if p.issuer != "" {
			iss = p.issuer
		}
		answer(w, map[string]any{"issuer": iss, "authorization_endpoint": p.URL + "/authorize",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256",
				"none"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"authorization_response_iss_parameter_supported": p.iss})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		p.fetches++
		p.mu.Unlock()
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k1", Algorithm: "ES256",
			Use: "sig"}}})
	})
	mux.HandleFunc("/token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// grant is what the person's consent does: a code for an authorization URL.
func (p *idp) grant(location string) (code, state string) {
	u, err := url.Parse(location)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	code = fmt.Sprintf("code-%d", len(p.nonces)+1)
	p.nonces[code], p.verifier[code] = q.Get("nonce"), q.Get("code_challenge")
	return code, q.Get("state")
}

func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	p.shown.Add(1)
	code := r.FormValue("code")
	if p.verifier[code] == "" || oidc.Challenge(r.FormValue("code_verifier")) != p.verifier[code] {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	c := map[string]any{"iss": p.URL, "sub": "person-1", "aud": "client", "exp": p.now().Add(time.Hour).Unix(),
		"iat": p.now().Unix(), "nonce": p.nonces[code],
		"email": "p@corp.example", "email_verified": true, "name": "Pat", "tenant_id": someTenant}
	for k, v := range p.change {
		c[k] = v
	}
	answer(w, map[string]any{"access_token": "provider-access", "refresh_token": "provider-refresh",
		"token_type": "Bearer", "expires_in": 3600,
		"id_token": p.sign(c)})
}

func (p *idp) sign(c map[string]any) string {
	body, _ := json.Marshal(c)
	if p.alg == "none" {
		return b64(`{"alg":"none"}`) + "." + b64(string(body)) + "."
	}
	sk := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.kid}}
	if p.alg == "HS256" {
		pub, _ := json.Marshal(jose.JSONWebKey{Key: &p.key.PublicKey})
		sk = jose.SigningKey{Algorithm: jose.HS256, Key: pub}
	}
	signer, err := jose.NewSigner(sk, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	jws, err := signer.Sign(body)
	if err != nil {
		p.t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

// withIDP runs a test with one provider named "corp" on each engine.
func withIDP(t *testing.T, change func(*identity.Config), f func(k *kit, p *idp)) {
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			clock := time.Now().UTC()
			p := newIDP(t, func() time.Time { return clock })
			cfg := config()
			cfg.Autoconfirm = false
			cfg.OIDC = map[string]identity.Provider{"corp": {ClientID: "client", Secret: "s", Issuer: p.URL}}
			if change != nil {
				change(&cfg)
			}
			k := open(t, engine, cfg)
			p.now = k.now
			f(k, p)
		})
	}
}

// begin starts a flow and returns the callback the provider would send.
func (k *kit) begin(p *idp, pk identity.PKCE) (identity.Callback, identity.AuthStart) {
	k.Helper()
	start, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp",
		Redirect: "https://app.example.com/in", PKCE: pk,
		Extra: url.Values{"prompt": {"login"}, "client_id": {"evil"}, "redirect_uri": {"https://evil.example"},
			"state": {"evil"}}})
	k.ok(err)
	return p.answer(start), start
}

// answer is the provider's callback to a flow, in the browser that began it.
func (p *idp) answer(start identity.AuthStart) identity.Callback {
	code, state := p.grant(start.Location)
	return identity.Callback{Provider: "corp", State: state, Code: code, Cookie: func(name string) string {
		if name == start.CookieName {
			return start.Browser
		}
		return ""
	}}
}

// An invitation that a sign-in at a provider takes up: by whom it is for, while
// it stands, once; any other token is told at once.
func TestOAuth_invite(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		token := func(typ, email string) string {
			l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(), identity.LinkRequest{Type: typ, Email: email, Password: pw})
			k.ok(err)
			return l.HashedToken
		}
		start := func(invite string) (identity.Callback, error) {
			at, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in",
				PKCE: challenge(), Invite: invite})
			if err != nil {
				return identity.Callback{}, err
			}
			code, state := p.grant(at.Location)
			return identity.Callback{Provider: "corp", State: state, Code: code,
				Cookie: func(string) string { return at.Browser }}, nil
		}
		lands := func(cb identity.Callback, want string) string {
			k.Helper()
			at := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location
			if !strings.Contains(at, want) {
				k.Errorf("landed at %s, want %s", at, want)
			}
			return at
		}
		for name, invite := range map[string]string{"unknown": "x", "a sign-up's": token("signup", "s@corp.example")} {
			if _, err := start(invite); !fault.HasCode(err, "invite_not_found") || fault.As(err).Kind != fault.NotFound {
				k.Errorf("%s: %v", name, err)
			}
		}
		other, err := start(token("invite", "other@corp.example"))
		k.ok(err)
		lands(other, "error_code=validation_failed")
		if n := k.count("SELECT COUNT(*) FROM users WHERE email = 'p@corp.example'"); n != 0 {
			k.Error("an invitation for another address made an account")
		}

		invite := token("invite", "p@corp.example")
		first, err := start(invite)
		k.ok(err)
		second, err := start(invite)
		k.ok(err)
		s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, lands(first, "code=")), verifier, nobody)
		k.ok(err)
		if s.User.InvitedAt.IsZero() || s.User.AppMetadata["provider"] != "corp" {
			k.Errorf("%+v", s.User)
		}
		lands(second, "error_code=invite_not_found")
		_, err = start(invite)
		k.code(err, "invite_not_found")

		p.change = map[string]any{"sub": "late", "email": "late@corp.example"}
		late := token("invite", "late@corp.example")
		cb, err := start(late)
		k.ok(err)
		k.exec("UPDATE one_time_tokens SET expires_at = $1", k.now())
		lands(cb, "error_code=invite_not_found")
		_, err = start(late)
		k.code(err, "invite_not_found")
	})
}

func TestOAuth_PKCE(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		cb, start := k.begin(p, challenge())
		q := strings.ReplaceAll(start.Location, "+", " ")
		for _, want := range []string{"client_id=client", "prompt=login", "code_challenge_method=S256", "nonce=",
			"scope=openid email profile",
			url.QueryEscape("http://127.0.0.1:8080/auth/v1/callback/corp")} {
			if !strings.Contains(q, want) {
				k.Errorf("%s lacks %s", q, want)
			}
		}
		if strings.Contains(q, "evil") {
			k.Error("a control parameter was forwarded")
		}
		to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody)
		if !strings.HasPrefix(to.Location, "https://app.example.com/in?code=") {
			k.Fatal(to.Location)
		}
		s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, to.Location), verifier, nobody)
		k.ok(err)
		if s.ProviderToken != "provider-access" || s.ProviderRefreshToken != "provider-refresh" ||
			s.User.Email != "p@corp.example" ||
			s.User.UserMetadata["name"] != "Pat" {
			k.Errorf("%+v", s)
		}
		if s.User.AppMetadata["provider"] != "corp" || s.User.UserMetadata["tenant_id"] != nil || tenantOf(k, s) != "" {
			k.Errorf("%v %v", s.User.AppMetadata, s.User.UserMetadata)
		}
		if amr := claims(k, s.AccessToken)["amr"].([]any)[0].(map[string]any); amr["method"] != "oauth" ||
			amr["provider"] != "corp" {
			k.Error(amr)
		}
		// The same person again is the same account.
		cb, _ = k.begin(p, identity.PKCE{})
		to = k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody)
		_, frag, _ := strings.Cut(to.Location, "#")
		v, err := url.ParseQuery(frag)
		k.ok(err)
		if c := claims(k, v.Get("access_token")); c["sub"] != s.User.ID || v.Get("provider_token") != "provider-access" {
			k.Error(to.Location)
		}
	})
}

// A state works once, in time, in its browser, and for the provider asked.
func TestOAuth_state(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		refused := func(name string, cb identity.Callback, code string) {
			k.Helper()
			to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody)
			if strings.Contains(to.Location, "access_token") || !strings.Contains(to.Location, "error_code="+code) {
				k.Errorf("%s: %s", name, to.Location)
			}
		}
		good, _ := k.begin(p, challenge())
		for name, st := range map[string]string{"missing": "", "garbage": "x",
			"foreign": "0192f0c0-1111-7000-8000-0000000000aa.00",
			"cut":     good.State[:len(good.State)-1], "bare id": good.State[:36]} {
			cb := good
			cb.State = st
			refused(name, cb, "bad_oauth_state")
		}
		cb := good
		cb.Cookie = func(string) string { return "" }
		refused("another browser", cb, "bad_oauth_state")
		cb = good
		cb.Issuer = "https://other.example"
		refused("mix-up", cb, "bad_oauth_callback")
		refused("reused", good, "flow_state_already_used")
		denied, _ := k.begin(p, challenge())
		denied.Code, denied.Error, denied.Description = "", "access_denied", "the person said no"
		refused("denied", denied, "access_denied")
		late, _ := k.begin(p, challenge())
		k.sleep(11 * time.Minute)
		refused("late", late, "bad_oauth_state")
		if n := k.count("SELECT COUNT(*) FROM sessions"); n != 0 {
			k.Errorf("%d sessions", n)
		}
	})
}

// Two callbacks with one state at once: one goes through.
func TestOAuth_stateRace(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		cb, _ := k.begin(p, challenge())
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for range 6 {
			wg.Go(func() {
				if strings.Contains(k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location, "?code=") {
					mu.Lock()
					won++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if won != 1 {
			k.Errorf("%d callbacks with one state", won)
		}
	})
}

// What is wrong with an ID token (OpenID Connect Core 3.1.3.7).
func TestOAuth_idToken(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		for name, spoil := range map[string]func(){
			"wrong audience":    func() { p.change = map[string]any{"aud": "other"} },
			"two, no azp":       func() { p.change = map[string]any{"aud": []string{"client", "other"}} },
			"another party":     func() { p.change = map[string]any{"azp": "other"} },
			"expired":           func() { p.change = map[string]any{"exp": k.now().Add(-time.Hour).Unix()} },
			"issued tomorrow":   func() { p.change = map[string]any{"iat": k.now().Add(24 * time.Hour).Unix()} },
			"no nonce":          func() { p.change = map[string]any{"nonce": ""} },
			"foreign nonce":     func() { p.change = map[string]any{"nonce": "x"} },
			"other issuer":      func() { p.change = map[string]any{"iss": "https://other.example"} },
			"no subject":        func() { p.change = map[string]any{"sub": ""} },
			"alg none":          func() { p.alg = "none" },
			"HS256 of the JWKS": func() { p.alg = "HS256" },
			"unknown kid":       func() { p.kid = "k2" },
			"unknown kid again": func() { p.kid = "k3" },
			"and again":         func() { p.kid = "k4" },
			"no address":        func() { p.change = map[string]any{"email": ""} },
		} {
			p.change, p.alg, p.kid = nil, "", "k1"
			cb, _ := k.begin(p, challenge())
			spoil()
			to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody)
			if strings.Contains(to.Location, "?code=") || !strings.Contains(to.Location, "error_code=bad_oauth_callback") {
				k.Errorf("%s: %s", name, to.Location)
			}
		}
		if p.fetches > 2 {
			k.Errorf("%d fetches of the keys within a minute", p.fetches)
		}
		if n := k.count("SELECT COUNT(*) FROM users"); n != 0 {
			k.Errorf("%d accounts", n)
		}
	})
}

func TestOAuth_discoveryIssuer(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		p.issuer = "https://other.example"
		_, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in",
			PKCE: challenge()})
		k.code(err, "unexpected_failure")
		_, err = k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "nope", PKCE: challenge()})
		k.code(err, "validation_failed")
	})
}

// When an address links: only when both sides have proved it.
func TestOAuth_linking(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		email, sw := "p@corp.example", pw
		finish := func() string {
			cb, _ := k.begin(p, identity.PKCE{})
			return k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location
		}
		// An address the provider does not vouch for opens nothing.
		p.change = map[string]any{"email_verified": false}
		if to := finish(); !strings.Contains(to, "provider_email_needs_verification") {
			k.Error(to)
		}
		k.mailTo(email, "confirmation")
		k.exec("DELETE FROM one_time_tokens")
		k.exec("DELETE FROM identities")
		k.exec("DELETE FROM users")

		// A stranger made an unproved account with the address: its password goes.
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw,
			Data: map[string]any{"tenant_id": someTenant}}, nobody)
		k.ok(err)
		p.change = nil
		if to := finish(); !strings.Contains(to, "access_token") {
			k.Fatal(to)
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, email, pw, nobody)
		k.code(err, "invalid_credentials")
		if n := k.count("SELECT COUNT(*) FROM members"); n != 0 {
			k.Error("the stranger's wish came true")
		}

		// A proved account of the same address, and another subject: unverified
		// refuses, verified links.
		k.exec("DELETE FROM sessions")
		k.exec("DELETE FROM identities")
		k.exec("DELETE FROM users")
		u, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &sw, EmailConfirm: true})
		k.ok(err)
		p.change = map[string]any{"email_verified": false}
		if to := finish(); !strings.Contains(to, "provider_email_needs_verification") {
			k.Error(to)
		}
		p.change = nil
		if to := finish(); !strings.Contains(to, "access_token") {
			k.Error(to)
		}
		k.signIn(email)
		got, err := k.svc.Admin.UserByID(k.ctx, k.service(), u.ID)
		k.ok(err)
		if len(got.Identities) != 2 || fmt.Sprint(got.AppMetadata["providers"]) != "[email corp]" {
			k.Errorf("%+v", got.AppMetadata)
		}
	})
}

func TestOAuth_domains(t *testing.T) {
	withIDP(t, func(c *identity.Config) {
		p := c.OIDC["corp"]
		p.Domains = []string{"other.example"}
		c.OIDC["corp"] = p
	}, func(k *kit, p *idp) {
		cb, _ := k.begin(p, identity.PKCE{})
		if to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location; !strings.Contains(to,
			"provider_email_needs_verification") {
			k.Error(to)
		}
	})
}

// A provider that is taken away ends what it began.
func TestOAuth_disabled(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		cb, _ := k.begin(p, challenge())
		s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location), verifier,
			nobody)
		k.ok(err)
		mid, _ := k.begin(p, challenge())
		old := k.svc
		k.cfg.OIDC = nil
		k.start()
		defer old.Close(k.ctx)
		if to := k.svc.OAuth.FinishOAuth(k.ctx, mid, nobody).Location; !strings.Contains(to, "error_code=provider_disabled") {
			k.Error(to)
		}
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, nobody)
		k.code(err, "session_expired")
	})
}

func TestOAuth_signupDisabled(t *testing.T) {
	withIDP(t, func(c *identity.Config) { c.SignupEnabled = false }, func(k *kit, p *idp) {
		cb, _ := k.begin(p, challenge())
		to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location
		if !strings.Contains(to, "error=access_denied") || !strings.Contains(to, "error_code=signup_disabled") {
			k.Error(to)
		}
	})
}

// A sign-in at a provider joins nothing by itself, and where its proved address
// was invited once it names the invitation.
func TestOAuth_invited(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		ten := k.tenant("North")
		admin := k.actor(k.member(ten, "admin@x.example", actor.Admin))
		_, err := k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "p@corp.example", Role: actor.Safety})
		k.ok(err)
		k.mailTo("p@corp.example", "invite")
		cb, _ := k.begin(p, challenge())
		s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location), verifier,
			nobody)
		k.ok(err)
		if tenantOf(k, s) != "" {
			k.Error("joined without being asked")
		}
		inv, err := k.svc.Invitations.Invite(k.ctx, admin,
			identity.Invite{Email: "p@corp.example", Role: actor.Safety, Deliver: tenants.DeliverLink})
		k.ok(err)
		offered, err := url.Parse(inv.Link)
		k.ok(err)
		at, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in",
			PKCE:   challenge(),
			Invite: offered.Query().Get("invite_token")})
		k.ok(err)
		cb = p.answer(at)
		s, err = k.svc.OAuth.Exchange(k.ctx, codeOf(k, k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location), verifier, nobody)
		k.ok(err)
		if claims(k, s.AccessToken)["tenant_role"] != "safety" {
			k.Error(claims(k, s.AccessToken))
		}
	})
}

func b64(s string) string {
	return strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(stdB64(s)), "=")
}
