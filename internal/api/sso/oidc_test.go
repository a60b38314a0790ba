package sso_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
)

// A person arrives through an organisation's OpenID provider, by domain, by id
// and as custom:... of signInWithOAuth.
func TestOIDCSignIn(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newOP(k), k.tenant("Corp")
		id := k.oidcConnection(p, tenant, "corp.example")
		custom := "/authorize?" +
			url.Values{"provider": {"custom:corp-example"}, "redirect_to": {"https://app.example/in"},
				"code_challenge":        {challenge()},
				"code_challenge_method": {"S256"}}.Encode()
		for _, loc := range []string{k.begin("domain", "corp.example"), k.begin("provider_id", id),
			k.landed(k.call("GET", custom, "", nil)).String()} {
			conn, q := p.answer(loc)
			at := k.callback(conn, q)
			c := claims(k, k.want(k.redeem(at), 200, "").text(k, "access_token"))
			if c["tenant_id"] != tenant || c["tenant_role"] != "driver" || c["email"] != "bob@corp.example" {
				k.Errorf("claims %v", c)
			}
			if p.form.Get("code_verifier") == "" {
				k.Error("the code was redeemed without a verifier")
			}
		}
		strict := newOP(k)
		strict.post, strict.claims = true, map[string]any{"email": "bob@strict.example"}
		id = k.oidcConnection(strict, tenant, "strict.example")
		conn, q := strict.answer(k.begin("provider_id", id))
		k.want(k.redeem(k.callback(conn, q)), 200, "")
		if b := k.call("GET", "/admin/custom-providers/custom:corp-example", k.serviceKey(), nil).body; bytes.Contains(b,
			[]byte("secret-of-the-client")) {
			k.Error("the secret is shown")
		}
		k.want(k.call("GET", "/authorize?provider=custom:unknown&code_challenge="+challenge()+"&code_challenge_method=s256",
			"", nil), 400, "validation_failed")
	})
}

// A name of the configuration is the configuration's: no connection may take it,
// and one that had it before is not asked.
func TestConfiguredNames(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newOP(k), k.tenant("Corp")
		k.want(k.call("POST", "/admin/custom-providers", k.serviceKey(),
			map[string]any{"tenant_id": tenant, "identifier": "custom:github", "client_id": "c", "issuer": p.srv.URL}), 201, "")
		id := k.oidcConnection(p, tenant, "corp.example")
		k.configure(map[string]identity.Provider{"github": {ClientID: "ours", Secret: "s"}})
		at := k.landed(k.call("GET", "/authorize?provider=custom:github&code_challenge_method=s256&code_challenge="+challenge(), "", nil))
		if at.Host != "github.com" || at.Query().Get("client_id") != "ours" {
			k.Errorf("custom:github leads to %s", at)
		}
		admin := k.member(tenant, "admin@corp.example", actor.Admin).AccessToken
		taken := map[string]any{"tenant_id": tenant, "kind": "oidc", "identifier": "custom:github", "client_id": "c",
			"issuer": p.srv.URL}
		for _, c := range []answer{k.call("POST", "/sso/connections", admin, taken),
			k.call("PUT", "/sso/connections/"+id, admin, taken),
			k.call("POST", "/admin/custom-providers", k.serviceKey(), taken)} {
			if k.want(c, 400, "validation_failed"); !bytes.Contains(c.body, []byte("identifier")) {
				k.Errorf("%s", c.body)
			}
		}
		k.want(k.call("PUT", "/admin/custom-providers/custom:github", k.serviceKey(), map[string]any{"enabled": false}), 200,
			"")
	})
}

// What who signs in asks of a provider goes on to it, a provider of the
// configuration and an organisation's alike; what the flow stands on does not, nor
// what the organisation has settled.
func TestWishesAreForwarded(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newOP(k)
		id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
		k.configure(map[string]identity.Provider{"plant": {ClientID: "client", Secret: "s", Issuer: p.srv.URL}})
		k.want(k.call("PUT", "/sso/connections/"+id, k.serviceKey(),
			map[string]any{"scopes": []string{"groups"}, "authorization_params": map[string]string{"hd": "corp.example"}}), 200,
			"")
		for provider, want := range map[string]struct {
			scope,
			hd string
		}{"custom:corp-example": {"openid email profile groups calendar tasks", "corp.example"},
			"plant":        {"openid email profile calendar tasks", "elsewhere.example"},
			"custom:plant": {"openid email profile calendar tasks", "elsewhere.example"}} {
			q := k.landed(k.call("GET", "/authorize?"+
				url.Values{"provider": {provider}, "redirect_to": {"https://app.example/in"}, "code_challenge": {challenge()},
					"code_challenge_method": {"s256"},
					"scopes":                {"calendar email tasks"}, "prompt": {"select_account"}, "login_hint": {"ann@corp.example"},
					"hd": {"elsewhere.example"}, "apikey": {"evil"},
					"client_id": {"evil"}, "redirect_uri": {"https://evil.example"}, "state": {"evil"}, "Nonce": {"evil"},
					"request":       {"evil"},
					"response_mode": {"evil"}, "scope": {"evil"}}.Encode(), "", nil)).Query()
			for name, value := range map[string]string{"scope": want.scope, "prompt": "select_account",
				"login_hint": "ann@corp.example", "hd": want.hd,
				"client_id": "client", "code_challenge_method": "S256"} {
				if q.Get(name) != value {
					k.Errorf("%s: %s is %q, want %q", provider, name, q.Get(name), value)
				}
			}
			if all := q.Encode(); strings.Contains(all, "evil") || strings.Contains(all, challenge()) {
				k.Errorf("%s: went to %s", provider, all)
			}
		}
	})
}

// A browser that goes to a provider is counted as such, once, and as no sign-in.
func TestDepartures(t *testing.T) {
	onBoth(t, func(k *kit) {
		k.oidcConnection(newOP(k), k.tenant("Corp"), "corp.example")
		k.configure(map[string]identity.Provider{"github": {ClientID: "ours", Secret: "s"}})
		var counted []string
		limit := func(http.ResponseWriter, access.Attempt) error {
			counted = append(counted, "an attempt")
			return nil
		}
		depart := func(http.ResponseWriter, *http.Request) error {
			counted = append(counted, "a departure")
			return nil
		}
		k.counting(route.Windows{Limit: limit, Depart: depart})
		for provider, status := range map[string]int{"custom:corp-example": 302, "custom:github": 302, "github": 302,
			"custom:unknown": 400} {
			counted = nil
			k.want(k.call("GET", "/authorize?provider="+provider+"&code_challenge_method=s256&code_challenge="+challenge(), "",
				nil), status, "")
			if !slices.Equal(counted, []string{"a departure"}) {
				k.Errorf("%s counted %q", provider, counted)
			}
		}
	})
}

// A sign-in at an organisation's provider is one attempt, counted when it begins; a
// code that nobody has counts as that.
func TestSignInIsOneAttempt(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newOP(k)
		id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
		var counted []string
		note := func(what string) error {
			counted = append(counted, what)
			return nil
		}
		limit := func(http.ResponseWriter, access.Attempt) error { return note("an attempt") }
		code := func(_ http.ResponseWriter, _ *http.Request, came bool) error {
			return note(map[bool]string{true: "a wrong code", false: "asked"}[came])
		}
		k.counting(route.Windows{Limit: limit, Code: code})
		conn, q := p.answer(k.begin("provider_id", id))
		landed := k.callback(conn, q)
		k.want(k.redeem(landed), 200, "")
		if want := []string{"an attempt", "asked"}; !slices.Equal(counted, want) {
			k.Errorf("a sign-in counted %q, want %q", counted, want)
		}
		counted = nil
		k.want(k.redeem(landed), 404, "flow_state_not_found")
		if want := []string{"asked", "a wrong code"}; !slices.Equal(counted, want) {
			k.Errorf("its code, again, counted %q, want %q", counted, want)
		}
	})
}

// Whatever does not fit is refused, and no account is made.
func TestOIDCAttacks(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, other := newOP(k), newOP(k)
		id, foreign := k.oidcConnection(p, k.tenant("Corp"), "corp.example"),
			k.oidcConnection(other, k.tenant("Evil"), "evil.example")
		public, err := x509.MarshalPKIXPublicKey(&p.key.PublicKey)
		k.ok(err)
		stranger, _ := k.keyPair()
		for _, c := range []struct {
			name   string
			claims map[string]any
			sign   func(c any) string
			change func(conn *string, q url.Values)
		}{
			{"another audience", map[string]any{"aud": "somebody"}, nil, nil},
			{"two audiences, no authorised party", map[string]any{"aud": []string{"client", "x"}}, nil, nil},
			{"another authorised party", map[string]any{"azp": "x"}, nil, nil},
			{"another issuer", map[string]any{"iss": other.srv.URL}, nil, nil},
			{"expired", map[string]any{"exp": 1000}, nil, nil},
			{"issued next year", map[string]any{"iat": k.now().Unix() + 31536000}, nil, nil},
			{"no nonce", map[string]any{"nonce": nil}, nil, nil},
			{"another nonce", map[string]any{"nonce": "x"}, nil, nil},
			{"no subject", map[string]any{"sub": nil}, nil, nil},
			{"a foreign address", map[string]any{"email": "boss@elsewhere.example"}, nil, nil},
			{"alg none", nil, func(any) string { return "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0." }, nil},
			{"HS256 with the public key", nil, func(c any) string { return signed(k, jose.HS256, public, "1", c) }, nil},
			{"a stranger's key under the known id", nil, func(c any) string { return signed(k, jose.RS256, stranger, "1", c) },
				nil},
			{"an unknown key id", nil, func(c any) string { return signed(k, jose.RS256, stranger, "2", c) }, nil},
			{"another connection's door", nil, nil, func(conn *string, _ url.Values) { *conn = foreign }},
			{"iss of another provider", nil, nil, func(_ *string, q url.Values) { q.Set("iss", other.srv.URL) }},
			{"no state", nil, nil, func(_ *string, q url.Values) { q.Del("state") }},
			{"a forged state", nil, nil, func(_ *string, q url.Values) { q.Set("state", q.Get("state")[:36]+".00") }},
			{"no code", nil, nil, func(_ *string, q url.Values) { q.Del("code") }},
		} {
			p.claims, p.sign = c.claims, c.sign
			conn, q := p.answer(k.begin("provider_id", id))
			if c.change != nil {
				c.change(&conn, q)
			}
			if at := k.callback(conn, q); at.Query().Get("error_code") == "" || at.Query().Get("code") != "" ||
				at.Host != "app.example" {
				k.Errorf("%s: landed at %s", c.name, at)
			}
		}
		if n := k.count("SELECT COUNT(*) FROM users"); n != 0 {
			k.Errorf("%d accounts were made", n)
		}
		if n := p.fetch["/jwks"]; n > 2 {
			k.Errorf("the keys were fetched %d times in a minute", n)
		}
		p.claims, p.sign = nil, nil
		conn, q := p.answer(k.begin("provider_id", id))
		if at := k.callback(conn, q); at.Query().Get("code") == "" {
			k.Fatalf("the good answer led to %s", at)
		}
		if at := k.callback(conn, q); at.Query().Get("error_code") != "flow_state_already_used" {
			k.Errorf("the same answer again led to %s", at)
		}
		named := newOP(k)
		named.iss = true
		id = k.oidcConnection(named, k.tenant("Named"), "named.example")
		named.claims = map[string]any{"email": "bob@named.example"}
		for _, iss := range []string{"", named.srv.URL} {
			conn, q := named.answer(k.begin("provider_id", id))
			if iss != "" {
				q.Set("iss", iss)
			}
			if at := k.callback(conn, q); (at.Query().Get("code") != "") != (iss != "") {
				k.Errorf("iss %q of a provider that always names itself: landed at %s", iss, at)
			}
		}
	})
}

// An address that the provider itself calls unverified opens nothing: no new
// account, none that the directory made, none of somebody else. Who is known by
// the subject comes in, and the address stays. Many providers of organisations do
// not say; theirs are the proved domains' addresses.
func TestUnverifiedAddress(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		made := d.scim("POST", "/Users", map[string]any{"userName": "eve@corp.example"}, 201).text(k, "id")
		old, _ := d.enter(map[string]any{"sub": "old", "email": "old@corp.example"})
		ann, _ := d.enter(map[string]any{"sub": "ann", "email": "ann@corp.example"})
		for _, v := range []any{false, "false", "no", 0} {
			for _, who := range []struct{ sub, email string }{{"new", "new@corp.example"}, {"eve", "eve@corp.example"},
				{"third", "old@corp.example"}} {
				if at := d.arrive(map[string]any{"sub": who.sub, "email": who.email,
					"email_verified": v}); at.Query().Get("error") != "access_denied" ||
					at.Query().Get("code") != "" {
					k.Errorf("%s, verified %v: landed at %s", who.email, v, at)
				}
			}
			for _, email := range []string{"old@corp.example", "eve@corp.example", "ann@corp.example"} {
				user, access := d.enter(map[string]any{"sub": "old", "email": email, "email_verified": v})
				if got := claims(k, access)["email"]; user != old || got != "old@corp.example" {
					k.Errorf("known, %s verified %v: %s with %v", email, v, user, got)
				}
			}
		}
		if n := k.count("SELECT COUNT(*) FROM users"); n != 3 {
			k.Errorf("%d accounts, want 3", n)
		}
		if got := d.scim("POST", "/Users", map[string]any{"userName": "ann@corp.example"}, 201).text(k, "id"); got != ann {
			k.Errorf("the directory finds %s, want %s", got, ann)
		}
		for i, v := range []any{true, "true", nil} {
			user, _ := d.enter(map[string]any{"sub": "old", "email": "old@corp.example", "email_verified": v})
			linked, _ := d.enter(map[string]any{"sub": "eve", "email": "eve@corp.example", "email_verified": v})
			if user != old || linked != made {
				k.Errorf("%d: verified %v leads to other accounts", i, v)
			}
		}
		k.want(k.call("PUT", "/sso/connections/"+d.id, k.serviceKey(),
			map[string]any{"attribute_mapping": map[string]any{"keys": map[string]any{"email": map[string]any{"names": []string{"upn", "email"}}}}}), 200, "")
		if _, access := d.enter(map[string]any{"sub": "upn", "upn": "bea@corp.example", "email": "bea@private.example",
			"email_verified": false}); claims(k, access)["email"] != "bea@corp.example" {
			k.Errorf("an address of another claim: %v", claims(k, access))
		}
		if at := d.arrive(map[string]any{"sub": "no upn", "email": "cid@corp.example",
			"email_verified": false}); at.Query().Get("error") != "access_denied" {
			k.Errorf("without the other claim, landed at %s", at)
		}
	})
}

// A provider that does not behave costs little, and
// addresses inside are not reached.
func TestUnpleasantProviders(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newOP(k)
		id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
		begin := func() answer {
			return k.call("POST", "/sso", "",
				map[string]any{"provider_id": id, "skip_http_redirect": true, "code_challenge": challenge(),
					"code_challenge_method": "s256"})
		}
		inside := 0
		for name, hook := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
			"500": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true },
			"huge": func(w http.ResponseWriter, _ *http.Request) bool {
				w.Write(bytes.Repeat([]byte(" "), 1<<20))
				return true
			},
			"other issuer": func(w http.ResponseWriter, _ *http.Request) bool {
				w.Write([]byte(`{"issuer":"https://x"}`))
				return true
			},
			"redirects off": func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/inside" {
					inside++
				}
				http.Redirect(w, r, p.srv.URL+"/inside", http.StatusFound)
				return true
			},
		} {
			p.hook = hook
			k.later(6 * time.Second) // a failure is remembered for a moment
			if a := begin(); a.status != 503 {
				k.Errorf("%s: status %d %s", name, a.status, a.body)
			}
		}
		if inside != 0 {
			k.Error("a redirect was followed")
		}
		p.hook = nil
		k.later(6 * time.Second)
		k.want(begin(), 200, "")

		strict, err := sso.New(sso.Config{PublicURL: k.base, SAML: true, MasterKey: master, Resolver: k}, k.db, k.ident,
			k.now)
		k.ok(err)
		tenant := k.tenant("Strict")
		for _, u := range []string{"http://idp.example/m", "https://127.0.0.1/m", "https://169.254.169.254/latest/meta-data",
			"https://[::1]/m",
			"https://[::ffff:10.0.0.1]/m", "https://10.0.0.8/m", "https://u:p@idp.example/m", "https://127.0.0.1:22/m",
			"file:///etc/passwd", p.srv.URL + "/m"} {
			kind := sso.SAML
			if _, err := strict.Create(k.Context(), actor.Actor{Role: actor.Service},
				sso.Draft{TenantID: &tenant, Kind: &kind, MetadataURL: &u}); err == nil ||
				!strings.Contains(err.Error(), "metadata_url") {
				k.Errorf("%s: %v", u, err)
			}
		}
	})
}

// PKCE is not optional and not weak; the fragment never carries
// tokens of a sign-in that began here.
func TestPKCEIsRequired(t *testing.T) {
	onBoth(t, func(k *kit) {
		id := k.oidcConnection(newOP(k), k.tenant("Corp"), "corp.example")
		for _, c := range []map[string]any{
			{}, {"code_challenge": nil, "code_challenge_method": nil}, {"code_challenge": challenge()},
			{"code_challenge": challenge(),
				"code_challenge_method": "plain"},
			{"code_challenge": strings.Repeat("a", 42), "code_challenge_method": "s256"},
			{"code_challenge": strings.Repeat("a", 129), "code_challenge_method": "s256"},
		} {
			c["provider_id"] = id
			k.want(k.call("POST", "/sso", "", c), 400, "validation_failed")
		}
		ok := map[string]any{"code_challenge": challenge(), "code_challenge_method": "s256"}
		for _, c := range []struct {
			in     map[string]any
			status int
			code   string
		}{
			{map[string]any{"provider_id": id, "domain": "corp.example"}, 400, "validation_failed"},
			{map[string]any{}, 400, "validation_failed"},
			{map[string]any{"domain": "unknown.example"}, 404, "sso_provider_not_found"},
			{map[string]any{"domain": "example"}, 404, "sso_provider_not_found"},
			{map[string]any{"provider_id": "0198c6f0-0000-7000-8000-000000000000"}, 404, "sso_provider_not_found"},
			{map[string]any{"provider_id": "x"}, 404, "sso_provider_not_found"},
		} {
			for key, v := range ok {
				c.in[key] = v
			}
			k.want(k.call("POST", "/sso", "", c.in), c.status, c.code)
		}
		a := k.call("POST", "/sso", "",
			map[string]any{"provider_id": id, "code_challenge": challenge(), "code_challenge_method": "s256",
				"redirect_to": "https://evil.example/"})
		if a.status != 303 || k.count("SELECT COUNT(*) FROM sso_requests WHERE redirect_to <> 'https://app.example'") != 0 {
			k.Errorf("status %d, or a foreign target was stored", a.status)
		}
	})
}

// A tenant's own domains count once they are proved: by DNS or by the
// postmaster. Of two claims the first proof wins.
func TestDomainProof(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newOP(k)
		make := func(tenant string, who *identity.Session) string {
			return k.want(k.call("POST", "/sso/connections", who.AccessToken,
				map[string]any{"kind": "oidc", "client_id": "client", "issuer": p.srv.URL, "domains": []string{"Corp.Example"},
					"tenant_id":    tenant,
					"default_role": "viewer"}), 201, "").text(k, "id")
		}
		t1, t2 := k.tenant("One"), k.tenant("Two")
		a1, a2 := k.member(t1, "a@one.example", actor.Admin), k.member(t2, "a@two.example", actor.Admin)
		c1, c2 := make(t2, a1), make(t1, a2) // tenant_id of a user's body is ignored
		if k.count("SELECT COUNT(*) FROM sso_connections WHERE tenant_id = $1 AND id = $2", t1, c1) != 1 {
			k.Fatal("the body chose the tenant")
		}
		k.want(k.call("POST", "/sso", "", map[string]any{"domain": "corp.example", "code_challenge": challenge(),
			"code_challenge_method": "s256"}), 404,
			"sso_provider_not_found")
		k.want(k.call("POST", "/sso/connections/"+c1+"/domains/corp.example/verify", a1.AccessToken, nil), 422,
			"validation_failed")
		k.want(k.call("POST", "/sso/connections/"+c1+"/domains/corp.example/verify", a2.AccessToken, nil), 404,
			"sso_provider_not_found")
		d := k.want(k.call("GET", "/sso/connections/"+c1, a1.AccessToken, nil), 200,
			"").json(k)["domains"].([]any)[0].(map[string]any)
		k.mu.Lock()
		k.txt[d["dns_name"].(string)] = []string{"v=spf1", d["dns_value"].(string)}
		k.mu.Unlock()
		k.want(k.call("POST", "/sso/connections/"+c1+"/domains/corp.example/verify", a1.AccessToken, nil), 200, "")
		k.begin("domain", "corp.example")

		k.want(k.call("POST", "/sso/connections/"+c2+"/domains/corp.example/mail", a2.AccessToken, nil), 200, "")
		k.want(k.call("POST", "/sso/connections/"+c2+"/domains/corp.example/mail", a2.AccessToken, nil), 429,
			"over_email_send_rate_limit")
		mailed := func(subject, locale, lead string) string {
			k.mu.Lock()
			defer k.mu.Unlock()
			m := k.mails[len(k.mails)-1]
			_, code, _ := strings.Cut(m.Text, "Code: ")
			if code = strings.Fields(code)[0]; m.To != "postmaster@corp.example" || len(code) != 32 {
				k.Fatalf("mail %+v", m)
			}
			if m.Kind != "sso_domain" || m.Subject != subject || !strings.Contains(m.Text, lead) ||
				!strings.Contains(m.HTML, `lang="`+locale+`"`) ||
				!strings.Contains(m.HTML, code) {
				k.Errorf("mail %+v", m)
			}
			return code
		}
		code := mailed("Confirm corp.example for single sign-on", "en", "give them this code")
		// The tenant's language counts, its words do not.
		k.exec("INSERT INTO settings (tenant_id, id, section, key, value, created_at, updated_at, version) VALUES ($1, $2, 'general', 'locale', "+
			"'\"de-AT\"', $3, $3, 1)", t2, uuid.NewString(), k.now())
		k.exec("INSERT INTO mail_templates (tenant_id, id, kind, locale, subject, text, created_at, updated_at, version) VALUES ($1, $2, 'sso_domain', "+
			"'de', 'Gewonnen', 'Code: {{.Code}}', $3, $3, 1)", t2, uuid.NewString(), k.now())
		verify := func(code string) answer {
			return k.call("POST", "/sso/connections/"+c2+"/domains/corp.example/verify", a2.AccessToken,
				map[string]any{"code": code})
		}
		k.want(verify(code), 400, "sso_domain_already_exists")
		k.want(k.call("PUT", "/sso/connections/"+c1, a1.AccessToken, map[string]any{"domains": []string{}}), 200, "")
		for range 5 {
			k.want(verify("wrong"), 403, "otp_expired")
		}
		k.want(verify(code), 403, "otp_expired") // five guesses spend it

		k.later(61 * time.Second)
		k.want(k.call("POST", "/sso/connections/"+c2+"/domains/corp.example/mail", a2.AccessToken, nil), 200, "")
		k.want(verify(code), 403, "otp_expired") // the newer one counts
		k.want(verify(mailed("Bitte bestätigen Sie corp.example für Single Sign-on", "de", "geben Sie ihm diesen Code")),
			200, "")
		conn, q := p.answer(k.begin("domain", "corp.example"))
		if conn != c2 {
			k.Fatalf("the domain leads to the connection %s", conn)
		}
		if c := claims(k, k.want(k.redeem(k.callback(conn, q)), 200, "").text(k, "access_token")); c["tenant_id"] != t2 ||
			c["email"] != "bob@corp.example" {
			k.Errorf("claims %v", c)
		}
	})
}

// Postmasters get few mails, whoever asks in whose name: claiming a domain anew,
// in another connection or another tenant does not begin the count again. Nor
// can a tenant write to many domains, or make connections without end.
func TestPostmastersGetFewMails(t *testing.T) {
	onBoth(t, func(k *kit) {
		one, two := k.tenant("One"), k.tenant("Two")
		a1, a2 := k.member(one, "a@one.example", actor.Admin).AccessToken,
			k.member(two, "a@two.example", actor.Admin).AccessToken
		make := func(who string, status int, domains ...string) string {
			k.Helper()
			return k.want(k.call("POST", "/sso/connections", who,
				map[string]any{"kind": "oidc", "client_id": "c", "issuer": "https://idp.example", "domains": domains}), status,
				"").text(k, "id")
		}
		mail := func(who, connection, domain string, status int) {
			k.Helper()
			if a := k.call("POST", "/sso/connections/"+connection+"/domains/"+domain+"/mail", who, nil); a.status != status {
				k.Errorf("%s: status %d, want %d: %s", domain, a.status, status, a.body)
			}
		}
		const victim = "victim.example"
		c1, c2 := make(a1, 201, victim), make(a2, 201, victim)
		mail(a1, c1, victim, 200)
		for _, domains := range [][]string{{}, {victim}} {
			k.want(k.call("PUT", "/sso/connections/"+c1, a1, map[string]any{"domains": domains}), 200, "")
		}
		told := func(who, connection, domain string, most int, wait time.Duration) {
			k.Helper()
			a := k.want(k.call("POST", "/sso/connections/"+connection+"/domains/"+domain+"/mail", who, nil), 429,
				"over_email_send_rate_limit")
			m := a.json(k)
			after, _ := m["retry_after"].(float64)
			// The clock goes on while the test runs, on a busy machine for seconds.
			if m["limit"] != float64(most) || after > wait.Seconds() || after < wait.Seconds()-30 ||
				a.header.Get("Retry-After") != fmt.Sprint(after) {
				k.Errorf("%s: told %s, want one of %d in %s", domain, a.body, most, wait)
			}
		}
		told(a1, c1, victim, 1, time.Minute)
		mail(a1, make(a1, 201, victim), victim, 429)
		mail(a2, c2, victim, 429)
		for range 4 {
			k.later(61 * time.Second)
			mail(a2, c2, victim, 200)
			mail(a1, c1, victim, 429)
		}
		k.later(61 * time.Second)
		told(a2, c2, victim, 5, 24*time.Hour-5*61*time.Second)

		var many []string
		for i := range 21 {
			many = append(many, fmt.Sprintf("d%d.example", i))
		}
		k.want(k.call("PUT", "/sso/connections/"+c1, a1, map[string]any{"domains": append(many, victim)}), 200, "")
		for _, d := range many[:19] {
			mail(a1, c1, d, 200)
		}
		told(a1, c1, many[19], 20, 24*time.Hour-5*61*time.Second)
		if len(k.mails) != 5+19 {
			k.Errorf("%d mails", len(k.mails))
		}
		k.later(24 * time.Hour)
		s, err := k.ident.SignIns.SignIn(k.Context(), "a@one.example", pw, identity.Client{})
		k.ok(err)
		mail(s.AccessToken, c1, victim, 200)
		k.ok(k.svc.Sweep(k.Context()))
		mail(s.AccessToken, c1, victim, 429)
		for range 18 {
			make(s.AccessToken, 201)
		}
		make(s.AccessToken, 422)
	})
}

// Where an address has no requests left, a person whom a provider sends back is led
// to the site with the reason, a probe of health is answered, and a client is refused.
func TestReturningFromACrowd(t *testing.T) {
	onBoth(t, func(k *kit) {
		full := func(_ http.ResponseWriter, _ *http.Request, a actor.Actor) error {
			if a.Role == actor.Service {
				return nil
			}
			return fault.New(fault.Limited, "rate_limit_exceeded", "Too many requests")
		}
		k.counting(route.Windows{Session: full})
		for _, place := range []string{"GET /callback", "POST /callback", "GET /callback/github", "POST /callback/github",
			"GET /sso/oidc/" +
				uuid.NewString() + "/callback", "POST /sso/saml/acs"} {
			method, path, _ := strings.Cut(place, " ")
			a := k.call(method, path, "", nil)
			to, err := url.Parse(a.header.Get("Location"))
			k.ok(err)
			if a.status != http.StatusSeeOther || to.Host != "app.example" ||
				to.Query().Get("error_code") != "over_request_rate_limit" {
				k.Errorf("%s: %d to %s", place, a.status, to)
			}
		}
		k.want(k.call("GET", "/health", "", nil), 200, "")
		k.want(k.call("GET", "/settings", "", nil), 429, "over_request_rate_limit")
		k.want(k.call("GET", "/sso/saml/metadata", "", nil), 429, "over_request_rate_limit")
	})
}

// authorization_params go with each request to the provider; what the flow
// holds together by is not theirs to say.
func TestAuthorizationParams(t *testing.T) {
	onBoth(t, func(k *kit) {
		k.oidcConnection(newOP(k), k.tenant("Corp"), "corp.example")
		const at = "/admin/custom-providers/custom:corp-example"
		set := func(params any) answer {
			return k.call("PUT", at, k.serviceKey(), map[string]any{"authorization_params": params})
		}
		for _, name := range []string{"state", "nonce", "redirect_uri", "Redirect_URI", "client_id", "scope",
			"response_type", "response_mode",
			"code_challenge", "code_challenge_method", "request", "request_uri", ""} {
			k.want(set(map[string]string{"prompt": "login", name: "x"}), 400, "validation_failed")
		}
		k.want(set(map[string]string{"x": strings.Repeat("y", 301)}), 400, "validation_failed")
		asked := func() url.Values {
			u, err := url.Parse(k.begin("domain", "corp.example"))
			k.ok(err)
			return u.Query()
		}
		if q := asked(); q.Has("prompt") {
			k.Errorf("what was refused is said: %v", q)
		}
		want := map[string]any{"prompt": "select_account", "hd": "corp.example"}
		k.want(set(want), 200, "")
		if got := k.want(k.call("GET", at, k.serviceKey(), nil), 200,
			"").json(k)["authorization_params"]; !reflect.DeepEqual(got, want) {
			k.Error(got)
		}
		if q := asked(); q.Get("prompt") != "select_account" || q.Get("hd") != "corp.example" ||
			q.Get("code_challenge_method") != "S256" ||
			q.Get("client_id") != "client" {
			k.Error(q)
		}
		k.want(set(map[string]string{}), 200, "")
		if q := asked(); q.Has("prompt") || q.Has("hd") {
			k.Error(q)
		}
	})
}

// Who may administer connections, and that a tenant sees its own only.
func TestAdministration(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newOP(k), k.tenant("Corp")
		id := k.oidcConnection(p, tenant, "corp.example")
		admin, viewer, foreign := k.member(tenant, "a@x.example", actor.Admin),
			k.member(tenant, "v@x.example", actor.Viewer), k.member(k.tenant("Other"),
				"o@x.example", actor.Owner)
		for _, path := range []string{"/admin/sso/providers", "/admin/custom-providers"} {
			k.want(k.call("GET", path, "", nil), 401, "no_authorization")
			k.want(k.call("GET", path, admin.AccessToken, nil), 403, "not_admin")
			k.want(k.call("GET", path, k.serviceKey(), nil), 200, "")
		}
		k.want(k.call("GET", "/sso/connections", viewer.AccessToken, nil), 403, "not_admin")
		k.want(k.call("DELETE", "/sso/connections/"+id, foreign.AccessToken, nil), 404, "sso_provider_not_found")
		if got := k.call("GET", "/sso/connections", foreign.AccessToken, nil).json(k)["connections"].([]any); len(got) != 0 {
			k.Errorf("another tenant sees %v", got)
		}
		k.want(k.call("PATCH", "/sso/connections", admin.AccessToken, nil), 405, "method_not_allowed")
		for name, change := range map[string]map[string]any{
			"owner by groups": {"role_map": map[string]string{"g": "owner"}}, "owner by default": {"default_role": "owner"},
			"no role":         {"default_role": "king"},
			"tenant by claim": {"attribute_mapping": map[string]any{"keys": map[string]any{"tenant_id": map[string]any{"name": "x"}}}},
			"issuer":          {"issuer": "javascript:alert(1)"}, "identifier": {"identifier": "google"},
			"kind":   {"kind": "saml"},
			"domain": {"domains": []string{"localhost"}},
		} {
			if a := k.call("PUT", "/sso/connections/"+id, admin.AccessToken, change); a.status != 400 {
				k.Errorf("%s: status %d %s", name, a.status, a.body)
			}
		}
		for name, in := range map[string]map[string]any{"oauth2": {"provider_type": "oauth2"},
			"no nonce": {"skip_nonce_check": true},
			"no PKCE":  {"pkce_enabled": false}, "no address": {"email_optional": true}, "no tenant": {}} {
			in["identifier"], in["client_id"], in["issuer"] = "custom:y", "c", p.srv.URL
			if name != "no tenant" {
				in["tenant_id"] = tenant
			}
			k.want(k.call("POST", "/admin/custom-providers", k.serviceKey(), in), 400, "validation_failed")
		}
		k.want(k.call("DELETE", "/sso/connections/"+id, admin.AccessToken, nil), 200, "")
		k.want(k.call("GET", "/admin/custom-providers/custom:corp-example", k.serviceKey(), nil), 404,
			"custom_provider_not_found")
		if n := k.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action LIKE 'sso.%'", tenant); n < 2 {
			k.Errorf("%d audit rows", n)
		}
	})
}

// Only a tenant that is not there is said not to be: what else keeps its row from
// being read is no fault of the request, and is tried again where it can be.
func TestTenantThatCannotBeRead(t *testing.T) {
	onBoth(t, func(k *kit) {
		tenant, nobody, kind, issuer, client := k.tenant("Corp"), "0198c6f0-0000-7000-8000-000000000000", sso.OIDC,
			"https://idp.example", "c"
		create := func(ctx context.Context, tenant string) error {
			_, err := k.svc.Create(ctx, actor.Actor{Role: actor.Service},
				sso.Draft{TenantID: &tenant, Kind: &kind, Issuer: &issuer, ClientID: &client})
			return err
		}
		if err := create(k.Context(), nobody); !fault.Is(err, fault.Invalid) {
			k.Errorf("no tenant: %v", err)
		}
		k.ok(k.db.Write(k.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			if _, err := tx.Exec("UPDATE tenants SET name = 'Held' WHERE id = $1", tenant); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(k.Context(), time.Second)
			defer cancel()
			if err := create(ctx, tenant); err == nil || fault.Is(err, fault.Invalid) {
				k.Errorf("a tenant that is held: %v", err)
			}
			return nil
		}))
		k.ok(create(k.Context(), tenant))
	})
}

// Without SAML its endpoints say so, and OpenID connections work.
func TestSAMLSwitchedOff(t *testing.T) {
	onBoth(t, func(k *kit) {
		var err error
		k.svc, err = sso.New(sso.Config{PublicURL: k.base, AllowPrivate: true, MasterKey: master, Resolver: k}, k.db,
			k.ident, k.now)
		k.ok(err)
		k.mount()
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/sso", map[string]any{}}, {"POST", "/sso",
				map[string]any{"domain": "unknown.example", "code_challenge": nil}}, {"GET", "/sso/saml/metadata", nil},
			{"GET", "/admin/sso/providers", nil}, {"POST", "/admin/sso/providers", map[string]any{"type": "saml"}},
		} {
			k.want(k.call(c.method, c.path, k.serviceKey(), c.body), 404, "saml_provider_disabled")
		}
		p := newOP(k)
		id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
		conn, q := p.answer(k.begin("provider_id", id))
		k.want(k.redeem(k.callback(conn, q)), 200, "")
	})
}

// Whoever removes a member is told by which connections the person comes back: those by
// which the account signed in, and those of the address's domain, while they are switched on.
func TestRemovedMembersComeBack(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newOP(k), k.tenant("Corp")
		id := k.oidcConnection(p, tenant, "corp.example")
		boss := k.member(tenant, "boss@else.example", actor.Admin)
		arrive := func() string {
			conn, q := p.answer(k.begin("domain", "corp.example"))
			c := claims(k, k.want(k.redeem(k.callback(conn, q)), 200, "").text(k, "access_token"))
			return c["sub"].(string)
		}
		returnsBy := func(user string) string {
			var w struct {
				ReturnsBy []struct{ ID string } `json:"returns_by"`
			}
			a := k.want(k.call("GET", "/tenant/members/"+user+"/works", boss.AccessToken, nil), 200, "")
			k.ok(json.Unmarshal(a.body, &w))
			list := []string{}
			for _, c := range w.ReturnsBy {
				list = append(list, c.ID)
			}
			return strings.Join(list, " ")
		}

		bob := arrive()
		if got := returnsBy(bob); got != id {
			k.Errorf("bob comes back by %q, want %s", got, id)
		}
		if got := returnsBy(boss.User.ID); got != "" {
			k.Errorf("somebody of another domain comes back by %q", got)
		}
		k.exec("DELETE FROM members WHERE user_id = $1", bob)
		if again := arrive(); again != bob {
			k.Errorf("bob came back as %s, was %s", again, bob)
		}
		k.exec("UPDATE sso_connections SET status = 'disabled' WHERE id = $1", id)
		if got := returnsBy(bob); got != "" {
			k.Errorf("bob comes back by %q, which is switched off", got)
		}
	})
}
