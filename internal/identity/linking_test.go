package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/oidc"
)

func TestAnonymous(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.AnonymousUsers = true }, func(k *kit) {
		s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, map[string]any{"theme": "dark", "tenant_id": someTenant},
			identity.Client{})
		k.ok(err)
		c := claims(k, s.AccessToken)
		if !s.User.IsAnonymous || len(s.User.Identities) != 0 || len(s.User.AppMetadata) != 0 ||
			len(s.User.UserMetadata) != 2 ||
			c["is_anonymous"] != true || c["email"] != "" {
			k.Fatalf("%+v %v", s.User, c)
		}
		if a := k.actor(s); a.TenantID != "" {
			k.Errorf("an anonymous account got a tenant: %+v", a)
		}
		a := k.actor(s)
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "another-long-password"})
		k.code(err, "validation_failed")
		_, err = k.svc.Passkeys.RegisterPasskey(k.ctx, a)
		k.code(err, "no_authorization")
		k.signUp("taken@x.example", nil)
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Email: "taken@x.example"})
		k.code(err, "email_exists")
		u, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Email: "a@x.example", Password: pw})
		k.ok(err)
		if u.IsAnonymous || u.Email != "a@x.example" || len(u.Identities) != 1 || u.ID != s.User.ID {
			k.Errorf("%+v", u)
		}
		if claims(k, k.refresh(s).AccessToken)["is_anonymous"] != false {
			k.Error("the token still says anonymous")
		}
		if again := k.signIn("a@x.example"); again.User.ID != s.User.ID || again.User.IsAnonymous {
			k.Error("another account")
		}
	})
	onBoth(t, nil, func(k *kit) {
		_, err := k.svc.SignUps.SignUpAnonymous(k.ctx, nil, identity.Client{})
		k.code(err, "anonymous_provider_disabled")
	})
}

// Without autoconfirm the address is proved first; the account stays anonymous
// until then.
func TestAnonymous_byMail(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.AnonymousUsers, c.Autoconfirm = true, false }, func(k *kit) {
		s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, nil, identity.Client{})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Email: "a@x.example", Password: pw})
		k.code(err, "validation_failed")
		u, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Email: "a@x.example"})
		k.ok(err)
		if !u.IsAnonymous || u.NewEmail != "a@x.example" {
			k.Errorf("%+v", u)
		}
		m := k.mailTo("a@x.example", "email_change_new")
		up, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change", Email: "a@x.example",
			Token: digitsIn(k, m)}, identity.Client{})
		k.ok(err)
		if up.User.IsAnonymous || up.User.ID != s.User.ID || up.User.Email != "a@x.example" {
			k.Errorf("%+v", up.User)
		}
	})
}

func linking(c *identity.Config) { c.ManualLinking, c.AnonymousUsers, c.Autoconfirm = true, true, true }

// linkTo starts the linking of the provider's person to an account.
func (k *kit) linkTo(p *idp, s *identity.Session, pk identity.PKCE) identity.Callback {
	k.Helper()
	start, err := k.svc.OAuth.AuthorizeLink(k.ctx, k.actor(s),
		identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in", PKCE: pk})
	k.ok(err)
	code, state := p.grant(start.Location)
	return identity.Callback{State: state, Code: code, Cookie: func(string) string { return "" }}
}

func queryOf(t testing.TB, location, name string) string {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

func TestLink(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		s := k.signUp("a@x.example", nil)
		cb := k.linkTo(p, s, challenge())
		to := k.svc.OAuth.FinishOAuth(k.ctx, cb, identity.Client{})
		code := queryOf(k, to.Location, "code")
		if code == "" {
			k.Fatal(to.Location)
		}
		// Whoever was led through the flow has linked nothing yet: without the
		// verifier the identity stays where it was.
		if n := k.count("SELECT COUNT(*) FROM identities WHERE provider = 'corp'"); n != 0 {
			k.Error("linked before the verifier was shown")
		}
		_, err := k.svc.OAuth.Exchange(k.ctx, code, strings.Repeat("z", 50), identity.Client{})
		k.code(err, "bad_code_verifier")
		up, err := k.svc.OAuth.Exchange(k.ctx, code, verifier, identity.Client{})
		k.ok(err)
		if up.User.ID != s.User.ID || len(up.User.Identities) != 2 || up.User.Email != "a@x.example" {
			k.Fatalf("%+v", up.User)
		}
		// The same identity again, and for another account.
		to = k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, up, challenge()), identity.Client{})
		_, err = k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
		k.code(err, "identity_already_exists")
		to = k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, k.signUp("b@x.example", nil), challenge()), identity.Client{})
		_, err = k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
		k.code(err, "identity_already_exists")
		// Without PKCE only the browser that started may finish.
		to = k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, k.signUp("c@x.example", nil), identity.PKCE{}), identity.Client{})
		if queryOf(k, to.Location, "error_code") != "bad_oauth_state" {
			k.Error(to.Location)
		}

		ids := map[string]string{}
		for _, i := range up.User.Identities {
			ids[i.Provider] = i.IdentityID
		}
		k.code(k.svc.OAuth.Unlink(k.ctx, k.actor(up), "x"), "identity_not_found")
		k.code(k.svc.OAuth.Unlink(k.ctx, k.actor(k.signUp("d@x.example", nil)), ids["corp"]), "identity_not_found")
		k.ok(k.svc.OAuth.Unlink(k.ctx, k.actor(up), ids["corp"]))
		k.code(k.svc.OAuth.Unlink(k.ctx, k.actor(up), ids["email"]), "single_identity_not_deletable")
	})
}

// Removing the e-mail identity takes its password and address along.
func TestUnlink_email(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		s := k.signUp("a@x.example", nil)
		to := k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, s, challenge()), identity.Client{})
		up, err := k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
		k.ok(err)
		k.ok(k.svc.OAuth.Unlink(k.ctx, k.actor(up), up.User.Identities[0].IdentityID))
		_, err = k.svc.SignIns.SignIn(k.ctx, "a@x.example", pw, identity.Client{})
		k.code(err, "invalid_credentials")
		_, err = k.svc.SignIns.SignIn(k.ctx, "p@corp.example", pw, identity.Client{})
		k.code(err, "invalid_credentials")
		u, err := k.svc.Profile.User(k.ctx, k.actor(up))
		k.ok(err)
		if u.Email != "p@corp.example" || len(u.Identities) != 1 {
			k.Errorf("%+v", u)
		}
	})
}

// An account does not move to an address that the provider says is proved and is
// not trusted for, nor to one of a provider that was taken away.
func TestUnlink_untrustedAddress(t *testing.T) {
	for name, change := range map[string]func(*identity.Config){
		"another domain": func(c *identity.Config) {
			p := c.OIDC["corp"]
			p.Domains = []string{"else.example"}
			c.OIDC["corp"] = p
		},
		"another issuer": func(c *identity.Config) {
			c.OIDC["corp"] = identity.Provider{ClientID: "client", Secret: "s", Issuer: "https://other.example"}
		},
		"no provider": func(c *identity.Config) { c.OIDC = nil },
	} {
		t.Run(name, func(t *testing.T) {
			withIDP(t, linking, func(k *kit, p *idp) {
				s, err := k.svc.OAuth.LinkIDToken(k.ctx, k.actor(k.signUp("a@x.example", nil)),
					identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)}, nobody)
				k.ok(err)
				old := k.svc
				defer old.Close(k.ctx)
				change(&k.cfg)
				k.start()
				k.code(k.svc.OAuth.Unlink(k.ctx, k.actor(s), s.User.Identities[0].IdentityID),
					"email_conflict_identity_not_deletable")
				if u, err := k.svc.Profile.User(k.ctx, k.actor(s)); err != nil || u.Email != "a@x.example" ||
					len(u.Identities) != 2 {
					k.Errorf("%+v %v", u, err)
				}
				k.signIn("a@x.example")
			})
		})
	}
}

// An organisation's account gets no second door, by whichever way of linking,
// begun before it was the organisation's or not.
func TestLink_managed(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		s := k.signUp("a@x.example", nil)
		begun := k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, s, challenge()), nobody)
		k.exec("UPDATE users SET is_sso = $1", true)
		_, err := k.svc.OAuth.Exchange(k.ctx, queryOf(k, begun.Location, "code"), verifier, nobody)
		k.code(err, "user_sso_managed")
		_, err = k.svc.OAuth.AuthorizeLink(k.ctx, k.actor(s), identity.Authorize{Provider: "corp"})
		k.code(err, "user_sso_managed")
		_, err = k.svc.OAuth.LinkIDToken(k.ctx, k.actor(s), identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)},
			nobody)
		k.code(err, "user_sso_managed")
		if n := k.count("SELECT COUNT(*) FROM identities WHERE provider = 'corp'"); n != 0 {
			k.Error("linked all the same")
		}
	})
}

// A session that has shown no credential for ten minutes links nobody by a token
// either.
func TestLinkIDToken_unproved(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		s := k.signUp("a@x.example", nil)
		k.sleep(11 * time.Minute)
		s = k.refresh(s)
		in := func() identity.IDToken { return identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)} }
		_, err := k.svc.OAuth.LinkIDToken(k.ctx, k.actor(s), in(), nobody)
		k.code(err, "reauthentication_needed")
		if n := k.count("SELECT COUNT(*) FROM identities WHERE provider = 'corp'"); n != 0 {
			k.Error("linked all the same")
		}
		_, err = k.svc.OAuth.LinkIDToken(k.ctx, k.actor(k.signIn("a@x.example")), in(), nobody)
		k.ok(err)
	})
}

// An address that a provider spells otherwise than in another ASCII case leads to
// no account, and an anonymous one does not take it.
func TestLink_spelling(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		email, password, spelt := "anna@corp.example", pw, "\uff41nna@corp.example"
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &password, EmailConfirm: true})
		k.ok(err)
		in := identity.IDToken{Provider: "corp", Token: p.idToken(k, map[string]any{"email": spelt})}
		_, err = k.svc.OAuth.SignInIDToken(k.ctx, in, nobody)
		k.code(err, "provider_email_needs_verification")
		guest, err := k.svc.SignUps.SignUpAnonymous(k.ctx, nil, nobody)
		k.ok(err)
		in.Token = p.idToken(k, map[string]any{"email": "\uff42ea@corp.example"})
		_, err = k.svc.OAuth.LinkIDToken(k.ctx, k.actor(guest), in, nobody)
		k.code(err, "provider_email_needs_verification")
		if n := k.count("SELECT COUNT(*) FROM identities WHERE provider = 'corp'"); n != 0 {
			k.Error("linked all the same")
		}
		in.Token = p.idToken(k, map[string]any{"email": "Anna@Corp.example"})
		_, err = k.svc.OAuth.SignInIDToken(k.ctx, in, nobody)
		k.ok(err)
	})
}

// A code that would make an account makes none for an address that people cannot
// tell from another, and the answer does not say so.
func TestOTP_illegible(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		for _, email := range []string{"\u0430nna@x.example", "anna@x.example"} {
			k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: email, Create: true}, nobody))
			k.settle()
			if n := k.count("SELECT COUNT(*) FROM users WHERE email = $1", email); n != map[bool]int{true: 1}[email[0] == 'a'] {
				k.Errorf("%q: %d accounts", email, n)
			}
		}
	})
}

func TestLink_anonymousAndGuarded(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, nil, identity.Client{})
		k.ok(err)
		p.change = map[string]any{"email_verified": false}
		to := k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, s, challenge()), identity.Client{})
		_, err = k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
		k.code(err, "provider_email_needs_verification")
		p.change = nil
		to = k.svc.OAuth.FinishOAuth(k.ctx, k.linkTo(p, s, challenge()), identity.Client{})
		up, err := k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
		k.ok(err)
		if up.User.IsAnonymous || up.User.ID != s.User.ID || up.User.Email != "p@corp.example" {
			k.Errorf("%+v", up.User)
		}
		_, high := k.protect(up)
		id := high.User.Identities[0].IdentityID
		low, err := k.svc.OAuth.SignInIDToken(k.ctx, identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)},
			identity.Client{})
		k.ok(err)
		_, err = k.svc.OAuth.AuthorizeLink(k.ctx, k.actor(low), identity.Authorize{Provider: "corp"})
		k.code(err, "insufficient_aal")
		k.code(k.svc.OAuth.Unlink(k.ctx, k.actor(low), id), "insufficient_aal")
	})
	withIDP(t, nil, func(k *kit, _ *idp) {
		_, err := k.svc.OAuth.AuthorizeLink(k.ctx, k.service(), identity.Authorize{})
		k.code(err, "manual_linking_disabled")
		k.code(k.svc.OAuth.Unlink(k.ctx, k.service(), ""), "manual_linking_disabled")
	})
}

// idToken is what an app gets from the provider by itself.
func (p *idp) idToken(k *kit, change map[string]any) string {
	c := map[string]any{"iss": p.URL, "sub": "person-1", "aud": "client", "exp": k.now().Add(time.Hour).Unix(),
		"iat":   k.now().Unix(),
		"email": "p@corp.example", "email_verified": true}
	for key, v := range change {
		c[key] = v
	}
	return p.sign(c)
}

func TestIDToken(t *testing.T) {
	withIDP(t, func(c *identity.Config) { c.ManualLinking = true }, func(k *kit, p *idp) {
		in := func(change map[string]any) identity.IDToken {
			return identity.IDToken{Provider: "corp", Token: p.idToken(k, change)}
		}
		s, err := k.svc.OAuth.SignInIDToken(k.ctx, in(nil), identity.Client{})
		k.ok(err)
		if s.User.Email != "p@corp.example" || s.User.AppMetadata["provider"] != "corp" {
			k.Errorf("%+v", s.User)
		}
		h := sha256.Sum256([]byte("n-1"))
		hashed := hex.EncodeToString(h[:])
		good := in(map[string]any{"nonce": hashed})
		good.Nonce = "n-1"
		again, err := k.svc.OAuth.SignInIDToken(k.ctx, good, identity.Client{})
		k.ok(err)
		if again.User.ID != s.User.ID {
			k.Error("another account")
		}
		bad := map[string]identity.IDToken{
			"another audience":     in(map[string]any{"aud": "other"}),
			"another issuer":       in(map[string]any{"iss": "https://evil.example"}),
			"expired":              in(map[string]any{"exp": k.now().Add(-time.Hour).Unix()}),
			"from the future":      in(map[string]any{"iat": k.now().Add(time.Hour).Unix()}),
			"another party":        in(map[string]any{"azp": "other"}),
			"a nonce not shown":    in(map[string]any{"nonce": hashed}),
			"no subject":           in(map[string]any{"sub": ""}),
			"no token":             {Provider: "corp", Token: "nonsense"},
			"a foreign signature":  {Provider: "corp", Token: in(nil).Token[:len(in(nil).Token)-8] + "AAAAAAAA"},
			"an access token that": {Provider: "corp", Token: in(map[string]any{"at_hash": "AAAA"}).Token, AccessToken: "x"},
		}
		n := in(map[string]any{"nonce": "n-1"})
		n.Nonce = "n-1"
		bad["a nonce in clear"] = n
		n = in(nil)
		n.Nonce = "n-1"
		bad["a nonce the token lacks"] = n
		for name, t := range bad {
			_, err := k.svc.OAuth.SignInIDToken(k.ctx, t, identity.Client{})
			want := "Bad ID token"
			if name == "another audience" {
				want = "Unacceptable audience in id_token: [other]"
			}
			if _, oauth := fault.As(err).Data.(identity.OAuthStyle); err == nil || !oauth ||
				fault.As(err).Code != "invalid request" || fault.As(err).Msg != want {
				k.Errorf("%s: %v", name, err)
			}
		}
		_, err = k.svc.OAuth.SignInIDToken(k.ctx, identity.IDToken{Provider: "none", Token: "x"}, identity.Client{})
		k.code(err, "provider_disabled")
		// Older applications name issuer and client; newer ones put custom: before
		// the name of a provider that the client does not know.
		for name, tt := range map[string]struct {
			in   identity.IDToken
			code string
		}{
			"issuer and client": {identity.IDToken{Issuer: p.URL, ClientID: "client"}, ""},
			"custom":            {identity.IDToken{Provider: "custom:corp"}, ""},
			"another client":    {identity.IDToken{Issuer: p.URL, ClientID: "other"}, "provider_disabled"},
			"another issuer":    {identity.IDToken{Issuer: p.URL + "/", ClientID: "client"}, "provider_disabled"},
			"no client":         {identity.IDToken{Issuer: p.URL}, "invalid request"},
			"unknown custom":    {identity.IDToken{Provider: "custom:none"}, "provider_disabled"},
		} {
			tt.in.Token = p.idToken(k, nil)
			got, err := k.svc.OAuth.SignInIDToken(k.ctx, tt.in, identity.Client{})
			switch {
			case tt.code != "":
				if !fault.HasCode(err, tt.code) {
					k.Errorf("%s: %v", name, err)
				}
			case err != nil:
				k.Errorf("%s: %v", name, err)
			case got.User.ID != s.User.ID:
				k.Errorf("%s: another account", name)
			}
		}
		// An address the provider does not vouch for opens nothing.
		_, err = k.svc.OAuth.SignInIDToken(k.ctx, in(map[string]any{"sub": "person-2", "email": "v@corp.example",
			"email_verified": false}), identity.Client{})
		k.code(err, "provider_email_needs_verification")
		linked, err := k.svc.OAuth.LinkIDToken(k.ctx, k.actor(s),
			in(map[string]any{"sub": "person-3", "email": "third@corp.example"}), identity.Client{})
		k.ok(err)
		if len(linked.User.Identities) != 2 || linked.User.ID != s.User.ID {
			k.Errorf("%+v", linked.User)
		}
	})
}

// hub is GitHub as a sign-in sees it.
func hub(t *testing.T, mails string) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("code") != "c" || r.FormValue("client_secret") != "s" || r.FormValue("code_verifier") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer(w, map[string]string{"access_token": "hub-token", "token_type": "bearer"})
	})
	mux.HandleFunc("GET /api/v3/user", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hub-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, map[string]any{"id": 583231, "login": "octo", "name": "Octo Cat", "email": "typed@evil.example",
			"avatar_url": "https://x.example/a.png"})
	})
	mux.HandleFunc("GET /api/v3/user/emails", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(mails))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// GitHub has no ID token: the primary address counts, when GitHub verified it;
// the one in the profile is whatever its owner typed.
func TestGitHub(t *testing.T) {
	for _, c := range []struct{ name, mails, code string }{
		{"verified", `[{"email":"x@old.example","primary":false,"verified":true},{"email":"octo@cat.example","primary":true,"verified":true}]`, ""},
		{"not verified", `[{"email":"octo@cat.example","primary":true,"verified":false}]`,
			"provider_email_needs_verification"},
		{"none", `[]`, "bad_oauth_callback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := hub(t, c.mails)
			onBoth(t, func(cfg *identity.Config) {
				cfg.Autoconfirm = false
				cfg.OIDC = map[string]identity.Provider{"github": {ClientID: "id", Secret: "s", Issuer: srv.URL}}
			}, func(k *kit) {
				start, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "github",
					Redirect: "https://app.example.com/in", PKCE: challenge()})
				k.ok(err)
				if !strings.HasPrefix(start.Location, srv.URL+"/login/oauth/authorize?") ||
					queryOf(k, start.Location, "scope") != "read:user user:email" ||
					queryOf(k, start.Location, "code_challenge") == "" {
					k.Error(start.Location)
				}
				to := k.svc.OAuth.FinishOAuth(k.ctx,
					identity.Callback{State: queryOf(k, start.Location, "state"), Code: "c", Issuer: srv.URL + "/login/oauth",
						Cookie: func(string) string {
							return start.Browser
						}}, identity.Client{})
				if got := queryOf(k, to.Location, "error_code"); got != c.code {
					k.Fatalf("%s", to.Location)
				}
				if c.code != "" {
					return
				}
				s, err := k.svc.OAuth.Exchange(k.ctx, queryOf(k, to.Location, "code"), verifier, identity.Client{})
				k.ok(err)
				if s.User.Email != "octo@cat.example" || s.User.UserMetadata["user_name"] != "octo" ||
					s.ProviderToken != "hub-token" ||
					s.User.Identities[0].ID != "583231" {
					k.Errorf("%+v", s.User)
				}
				_, err = k.svc.OAuth.SignInIDToken(k.ctx, identity.IDToken{Provider: "github", Token: "a.b.c"}, identity.Client{})
				k.code(err, "provider_disabled")
			})
		})
	}
}

func TestPresets(t *testing.T) {
	for _, c := range []struct {
		name, issuer string
		ok           bool
	}{
		{"google", "", true}, {"gitlab", "", true}, {"apple", "", true}, {"github", "", true},
		{"keycloak", "https://id.x.example/realms/north",
			true}, {"keycloak", "", false},
		{"azure", "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0", true}, {"azure", "", false},
		{"azure", "https://login.microsoftonline.com/common/v2.0", false},
		{"azure", "https://login.microsoftonline.com/organizations/v2.0",
			false}, {"custom:x", "ftp://x", false},
	} {
		_, err := oidc.New(oidc.Config{Name: c.name, ClientID: "id", Secret: "s", Issuer: c.issuer},
			"https://api.x.example/callback", time.Now)
		if (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.name, c.issuer, err)
		}
	}
}

// Microsoft's email claim is what a directory's administrator typed ("nOAuth"):
// it takes over no account.
func TestMicrosoft_unprovedAddress(t *testing.T) {
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			var k *kit
			p := newIDP(t, func() time.Time { return k.now() })
			cfg := config()
			cfg.OIDC = map[string]identity.Provider{"azure": {ClientID: "client", Issuer: p.URL}}
			k = open(t, engine, cfg)
			k.signUp("p@corp.example", nil)
			in := identity.IDToken{Provider: "azure", Token: p.idToken(k, nil)}
			_, err := k.svc.OAuth.SignInIDToken(k.ctx, in, identity.Client{})
			k.code(err, "provider_email_needs_verification")
			in.Token = p.idToken(k, map[string]any{"xms_edov": true})
			_, err = k.svc.OAuth.SignInIDToken(k.ctx, in, identity.Client{})
			k.ok(err)
		})
	}
}
