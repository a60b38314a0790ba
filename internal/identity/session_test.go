package identity_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/sessions"
)

func base64Raw(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }

func TestSignUp_autoconfirm(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp(" Anna@North.Example ", map[string]any{"name": "Anna"})
		if s.TokenType != "bearer" || s.ExpiresIn != 3600 || s.RefreshToken == "" || s.User.Email != "anna@north.example" {
			k.Fatalf("%+v", s)
		}
		c := claims(k, s.AccessToken)
		for key, want := range map[string]any{"iss": "http://127.0.0.1:8080/auth/v1", "aud": "authenticated",
			"role":  "authenticated",
			"email": "anna@north.example", "phone": "", "aal": "aal1", "is_anonymous": false, "sub": s.User.ID} {
			if c[key] != want {
				k.Errorf("claim %s = %v, want %v", key, c[key], want)
			}
		}
		if h := decodePart(k, strings.Split(s.AccessToken, ".")[0]); h["alg"] != "ES256" || h["kid"] == nil ||
			h["typ"] != "JWT" {
			k.Errorf("header %v", h)
		}
		if c["tenant_id"] != nil || c["session_id"] == nil {
			k.Errorf("claims %v", c)
		}
		a := k.actor(s)
		if a.UserID != s.User.ID || a.TenantID != "" || a.Role != "" {
			k.Errorf("actor %+v", a)
		}
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "ANNA@north.example", Password: pw},
			identity.Client{})
		k.code(err, "user_already_exists")
	})
}

func TestSignIn_oneAnswer(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		known := k.signUp("known@x.example", nil)
		banned := k.signUp("banned@x.example", nil)
		forever := "24h"
		_, err := k.svc.Admin.ChangeUser(k.ctx, k.service(), banned.User.ID, identity.AdminUser{BanDuration: &forever})
		k.ok(err)
		nopw := "nopw@x.example"
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{Email: &nopw, EmailConfirm: true})
		k.ok(err)
		unproved := k.signUp("unproved@x.example", nil)
		k.exec("UPDATE users SET email_confirmed_at = NULL WHERE id = $1", unproved.User.ID)
		for _, email := range []string{"known@x.example", "unknown@x.example", "banned@x.example", "unproved@x.example",
			nopw, "not an address"} {
			_, err := k.svc.SignIns.SignIn(k.ctx, email, "wrong-password-here", identity.Client{})
			f := fault.As(err)
			if f == nil || f.Code != "invalid_credentials" || f.Msg != "Invalid login credentials" || f.Kind != fault.Invalid {
				k.Errorf("%s: %v", email, err)
			}
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, "banned@x.example", pw, identity.Client{})
		k.code(err, "user_banned")
		if s := k.signIn("Known@X.example"); s.User.ID != known.User.ID {
			k.Error("another user")
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'session.refused'"); n != 7 {
			k.Errorf("%d refusals in the audit log", n)
		}
	})
}

// The parent is forgiven, an older token ends the session.
func TestRefresh(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s0 := k.signUp("a@x.example", nil)
		s1 := k.refresh(s0)
		if s1.RefreshToken == s0.RefreshToken {
			k.Fatal("not rotated")
		}
		// The answer was lost, however long ago: the client gets the current one.
		k.sleep(time.Minute)
		if again := k.refresh(s0); again.RefreshToken != s1.RefreshToken {
			k.Error("the lost answer is not repeated")
		}
		s2 := k.refresh(s1)
		// Parallel tabs: one behind, within the reuse interval; one that is two
		// behind gets nothing, and ends nothing.
		k.sleep(9 * time.Second)
		if tab := k.refresh(s1); tab.RefreshToken != s2.RefreshToken {
			k.Error("a parallel tab did not get the current token")
		}
		_, err := k.svc.Sessions.Refresh(k.ctx, s0.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_already_used")
		k.sleep(3 * time.Second)
		_, err = k.svc.Sessions.Refresh(k.ctx, s0.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_already_used")
		_, err = k.svc.Sessions.Refresh(k.ctx, s2.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_not_found")
		_, err = k.who(s2.AccessToken)
		k.code(err, "session_not_found")
	})
}

func TestRefresh_forgedAndExpired(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		a, b := k.signUp("a@x.example", nil), k.signUp("b@x.example", nil)
		for _, raw := range []string{"", "short", strings.Repeat("A", 60), a.RefreshToken[:len(a.RefreshToken)-2],
			"é" + a.RefreshToken} {
			_, err := k.svc.Sessions.Refresh(k.ctx, raw, identity.Client{})
			k.code(err, "validation_failed")
		}
		k.sleep(721 * time.Hour)
		_, err := k.svc.Sessions.Refresh(k.ctx, b.RefreshToken, identity.Client{})
		k.code(err, "session_expired")
		if !strings.HasPrefix(fault.As(err).Msg, "Invalid Refresh Token: Session Expired") {
			k.Error(err)
		}
	})
}

// Twelve clients refresh the same token at once: all get the same next one,
// none a 4xx.
func TestRefresh_race(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for range 12 {
			wg.Go(func() {
				n, err := k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
				if err != nil {
					k.Error(err)
					return
				}
				mu.Lock()
				seen[n.RefreshToken]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if len(seen) != 1 {
			k.Errorf("%d different tokens", len(seen))
		}
	})
}

func TestLogout_scopes(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		one := k.signUp("a@x.example", nil)
		two, three := k.signIn("a@x.example"), k.signIn("a@x.example")
		k.ok(k.svc.Sessions.Logout(k.ctx, k.actor(two), sessions.LogoutLocal))
		_, err := k.who(two.AccessToken)
		k.code(err, "session_not_found")
		k.actor(one)
		k.ok(k.svc.Sessions.Logout(k.ctx, k.actor(one), sessions.LogoutOthers))
		_, err = k.who(three.AccessToken)
		k.code(err, "session_not_found")
		k.actor(one)
		k.code(k.svc.Sessions.Logout(k.ctx, k.actor(one), "everything"), "validation_failed")
		k.ok(k.svc.Sessions.Logout(k.ctx, k.actor(one), ""))
		_, err = k.who(one.AccessToken)
		k.code(err, "session_not_found")
	})
}

// Whatever a client calls itself, it can sign in; what is kept of the name is
// text that both engines take.
func TestSignIn_userAgent(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		for name, tt := range map[string]struct{ agent, kept string }{
			"plain":                        {"Browser/1.0", "Browser/1.0"},
			"not UTF-8":                    {"Scanner \xe4\xf6 7", "Scanner  7"},
			"nothing but that":             {"\xff", ""},
			"cut inside a character":       {strings.Repeat("x", 299) + "\u00e4", strings.Repeat("x", 299)},
			"cut behind one":               {strings.Repeat("x", 298) + "\u00e4\u00e4", strings.Repeat("x", 298) + "\u00e4"},
			"NUL, which no database takes": {"a\x00b", "ab"},
		} {
			s, err := k.svc.SignIns.SignIn(k.ctx, "a@x.example", pw, identity.Client{UserAgent: tt.agent})
			if err != nil {
				k.Errorf("%s: %v", name, err)
				continue
			}
			list, err := k.svc.Sessions.List(k.ctx, k.actor(s))
			k.ok(err)
			for _, x := range list {
				if x.Current && x.UserAgent != tt.kept {
					k.Errorf("%s: kept %q", name, x.UserAgent)
				}
			}
		}
	})
}

// Ban, delete and password change act at once.
func TestAuthenticate_dropsAtOnce(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		k.actor(s) // cached
		ban, none := "1h", "none"
		_, err := k.svc.Admin.ChangeUser(k.ctx, k.service(), s.User.ID, identity.AdminUser{BanDuration: &ban})
		k.ok(err)
		_, err = k.who(s.AccessToken)
		k.code(err, "user_banned")
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "user_banned")
		_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), s.User.ID, identity.AdminUser{BanDuration: &none})
		k.ok(err)
		// A ban ends what was open: its own end brings nothing back.
		_, err = k.who(s.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "session_expired")
		s = k.signIn("a@x.example")
		k.actor(s)
		next := "another-good-password"
		_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), s.User.ID, identity.AdminUser{Password: &next})
		k.ok(err)
		_, err = k.who(s.AccessToken)
		k.code(err, "session_not_found")
		s, err = k.svc.SignIns.SignIn(k.ctx, "a@x.example", next, identity.Client{})
		k.ok(err)
		k.actor(s)
		k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), s.User.ID, false))
		_, err = k.who(s.AccessToken)
		k.code(err, "user_not_found")
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_not_found")
		again := k.signUp("a@x.example", nil)
		if again.User.ID == s.User.ID {
			k.Error("a user id is used again")
		}
	})
}

// A change made by another node, or by the command line beside a server, shows
// within five seconds, whatever was read a moment before it.
func TestAuthenticate_otherNode(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		other, err := identity.New(k.cfg, k.db, k, k.now)
		k.ok(err)
		for i, change := range []func(email, id string) error{
			func(_, id string) error { k.exec("DELETE FROM sessions WHERE user_id = $1", id); return nil },
			func(email, _ string) error { return other.Admin.ResetPassword(k.ctx, email, "a wholly new passphrase") },
		} {
			email := fmt.Sprintf("%d@x.example", i)
			s := k.signUp(email, nil)
			read := func() error {
				a, err := k.who(s.AccessToken)
				if err == nil {
					_, err = k.svc.Profile.UserJSON(k.ctx, a)
				}
				return err
			}
			k.ok(read())
			k.ok(change(email, s.User.ID))
			k.sleep(4 * time.Second)
			_ = read() // may know or not, and keeps nothing for longer
			k.sleep(time.Second)
			k.code(read(), "session_not_found")
		}
		k.ok(other.Close(k.ctx))
	})
}

func TestAuthenticate_keys(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.JWTSecret = "a-configured-secret-0123456789-ABCDEFG" }, func(k *kit) {
		keys, err := k.svc.Keyring.Keys(k.ctx)
		k.ok(err)
		s := k.signUp("a@x.example", nil)
		for name, tt := range map[string]struct {
			c    identity.Credential
			role actor.Role
			code string
		}{
			"nothing":     {identity.Credential{}, actor.Anon, ""},
			"publishable": {identity.Credential{APIKey: keys.PublishableKey}, actor.Anon, ""},
			"publishable as bearer": {identity.Credential{APIKey: keys.PublishableKey, Bearer: keys.PublishableKey},
				actor.Anon, ""},
			"anon JWT":         {identity.Credential{APIKey: keys.AnonKey, Bearer: keys.AnonKey}, actor.Anon, ""},
			"garbage apikey":   {identity.Credential{APIKey: "garbage"}, actor.Anon, ""},
			"secret as apikey": {identity.Credential{APIKey: keys.SecretKey}, actor.Service, ""},
			"secret as bearer": {identity.Credential{Bearer: keys.SecretKey}, actor.Service, ""},
			"service JWT": {identity.Credential{Bearer: keys.ServiceRoleKey, APIKey: keys.ServiceRoleKey,
				UserAgent: "node"}, actor.Service, ""},
			"service JWT as apikey": {identity.Credential{APIKey: keys.ServiceRoleKey}, actor.Service, ""},
			"unknown secret":        {identity.Credential{APIKey: "sb_secret_nope"}, "", "no_authorization"},
			"service with origin": {identity.Credential{Bearer: keys.SecretKey, Origin: "https://x.example"}, "",
				"no_authorization"},
			"service with fetch site": {identity.Credential{Bearer: keys.ServiceRoleKey, SecFetchSite: "cross-site"}, "",
				"no_authorization"},
			"service with cookie": {identity.Credential{APIKey: keys.SecretKey, Cookie: true}, "", "no_authorization"},
			"service in a browser": {identity.Credential{Bearer: keys.SecretKey, UserAgent: "Mozilla/5.0 (X11)"}, "",
				"no_authorization"},
			// Beside a user's token the key raises nothing.
			"user with service apikey": {identity.Credential{Bearer: s.AccessToken, APIKey: keys.SecretKey}, "", ""},
			"anon with service apikey": {identity.Credential{Bearer: keys.AnonKey, APIKey: keys.SecretKey}, actor.Anon, ""},
			"garbage bearer":           {identity.Credential{Bearer: "garbage", APIKey: keys.SecretKey}, "", "bad_jwt"},
		} {
			a, err := k.svc.Authenticator.Authenticate(k.ctx, tt.c)
			if tt.code != "" {
				if !fault.Is(err, fault.Unauthorized) || !fault.HasCode(err, tt.code) {
					k.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil || a.Role != tt.role {
				k.Errorf("%s: %+v %v", name, a, err)
			}
		}
		// Keys are the same after a restart, and die when revoked.
		old := k.svc
		k.start()
		defer old.Close(k.ctx)
		again, err := k.svc.Keyring.Keys(k.ctx)
		k.ok(err)
		if again != keys {
			k.Error("keys changed with a restart")
		}
		k.exec("UPDATE api_keys SET revoked_at = $1 WHERE kind = 'secret'", k.now())
		k.sleep(6 * time.Second)
		for _, key := range []string{keys.SecretKey, keys.ServiceRoleKey} {
			_, err := k.who(key)
			k.code(err, "no_authorization")
		}
	})
}

// Overlap, then refusal; the set shows both, and no private part.
func TestRotateKeys(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		before := decodePart(k, strings.Split(s.AccessToken, ".")[0])["kid"]
		k.ok(k.svc.Keyring.RotateKeys(k.ctx))
		k.actor(s)
		n := k.refresh(s)
		if kid := decodePart(k, strings.Split(n.AccessToken, ".")[0])["kid"]; kid == before {
			k.Error("the old key still signs")
		}
		if jwks := string(k.svc.Keyring.JWKS()); strings.Count(jwks, `"kid"`) != 2 || strings.Contains(jwks, `"d"`) {
			k.Error(jwks)
		}
		k.sleep(62 * time.Minute)
		k.ok(k.svc.Sweep(k.ctx))
		if jwks := string(k.svc.Keyring.JWKS()); strings.Count(jwks, `"kid"`) != 1 {
			k.Error(jwks)
		}
		_, err := k.who(s.AccessToken)
		k.code(err, "bad_jwt")
	})
}

// A node that has not seen a rotation reads the keys again.
func TestRotateKeys_otherNode(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		other := k.svc
		k.start()
		defer other.Close(k.ctx)
		k.sleep(6 * time.Second)
		k.ok(other.Keyring.RotateKeys(k.ctx))
		s, _, err := other.SignUps.SignUp(k.ctx, identity.SignUp{Email: "a@x.example", Password: pw}, identity.Client{})
		k.ok(err)
		k.actor(s)
	})
}

// An API key that is renewed with an overlap is taken, in both forms, until it
// ends or is revoked; the list shows no secret.
func TestRenewAPIKey_overlap(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		old, err := k.svc.Keyring.Keys(k.ctx)
		k.ok(err)
		k.ok(k.svc.Keyring.RenewAPIKey(k.ctx, "secret", time.Hour))
		fresh, err := k.svc.Keyring.Keys(k.ctx)
		k.ok(err)
		if fresh.SecretKey == old.SecretKey || fresh.ServiceRoleKey == old.ServiceRoleKey ||
			fresh.PublishableKey != old.PublishableKey {
			k.Fatal("not renewed")
		}
		use := func(want string, keys ...string) {
			k.Helper()
			for _, key := range keys {
				if _, err := k.who(key); want == "" && err != nil || want != "" && !fault.HasCode(err, want) {
					k.Errorf("%.20s: %v, want %q", key, err, want)
				}
			}
		}
		use("", old.SecretKey, old.ServiceRoleKey, fresh.SecretKey, fresh.ServiceRoleKey)
		k.sleep(time.Hour + time.Second)
		use("no_authorization", old.SecretKey, old.ServiceRoleKey)
		use("", fresh.SecretKey, fresh.ServiceRoleKey)

		k.ok(k.svc.Keyring.RenewAPIKey(k.ctx, "secret", 24*time.Hour))
		use("", fresh.SecretKey)
		states, retired := map[string]int{}, ""
		list, err := k.svc.Keyring.ListKeys(k.ctx)
		k.ok(err)
		for _, key := range list {
			states[key.Kind+" "+key.State]++
			if key.Kind == "secret" && key.State == "retired" {
				retired = key.ID
			}
			if key.State == "active" && key.Kind == "secret" {
				k.code(k.svc.Keyring.RevokeAPIKey(k.ctx, key.ID), "conflict")
			}
		}
		if want := (map[string]int{"signing active": 1, "publishable active": 1, "secret active": 1, "secret retired": 1,
			"secret revoked": 1}); !maps.Equal(states, want) {
			k.Errorf("%v", states)
		}
		k.ok(k.svc.Keyring.RevokeAPIKey(k.ctx, retired))
		use("no_authorization", fresh.SecretKey, fresh.ServiceRoleKey)
		k.code(k.svc.Keyring.RevokeAPIKey(k.ctx, "x"), "validation_failed")
		k.code(k.svc.Keyring.RenewAPIKey(k.ctx, "anon", 0), "validation_failed")
		k.code(k.svc.Keyring.RenewAPIKey(k.ctx, "secret", -1), "validation_failed")
	})
}

func TestNew_refusesConfig(t *testing.T) {
	for name, change := range map[string]func(*identity.Config){
		"short master key":  func(c *identity.Config) { c.MasterKey = []byte("short") },
		"short secret":      func(c *identity.Config) { c.JWTSecret = "secret" },
		"well-known secret": func(c *identity.Config) { c.JWTSecret = "super-secret-jwt-token-with-at-least-32-characters-long" },
		"relative URL":      func(c *identity.Config) { c.PublicURL = "/x" },
		"unknown mode":      func(c *identity.Config) { c.SignupTenants = "anyone" },
		"bad allow list":    func(c *identity.Config) { c.RedirectURLs = []string{"*"} },
		"bad provider":      func(c *identity.Config) { c.OIDC = map[string]identity.Provider{"x": {ClientID: "c"}} },
	} {
		c := config()
		change(&c)
		if _, err := identity.New(c, nil, nil, nil); err == nil {
			t.Errorf("%s accepted", name)
		} else if strings.Contains(err.Error(), c.JWTSecret) && c.JWTSecret != "" && c.JWTSecret != "secret" {
			t.Errorf("%s: the secret is in the error", name)
		}
	}
}

func stdB64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// A password that the policy would refuse by now lets its owner in, and the
// session says what is wrong with it; a refresh, which shows none, does not.
func TestSignIn_weakPassword(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		for email, tt := range map[string]struct {
			pw      string
			reasons []string
		}{
			"good@x.example":   {pw, nil},
			"short@x.example":  {"qz7xv", []string{"length"}},
			"common@x.example": {"password2024", []string{"pwned"}},
			"own@x.example":    {"own@x.example", []string{"pwned"}},
		} {
			_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
				identity.AdminUser{Email: &email, Password: &tt.pw, EmailConfirm: true})
			k.ok(err)
			s, err := k.svc.SignIns.SignIn(k.ctx, email, tt.pw, nobody)
			k.ok(err)
			switch w := s.WeakPassword; {
			case tt.reasons == nil:
				if w != nil {
					k.Errorf("%s: %+v", email, w)
				}
			case w == nil || w.Message == "" || !slices.Equal(w.Reasons, tt.reasons):
				k.Errorf("%s: %+v", email, w)
			}
			if again := k.refresh(s); again.WeakPassword != nil {
				k.Errorf("%s, refreshed: %+v", email, again.WeakPassword)
			}
		}
	})
}
