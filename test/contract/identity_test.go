package contract_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

const (
	password    = "holdfast-demo"
	inNorth     = "both@both.example" // a member of both tenants
	newPassword = "three words and a number 7"
)

// postIdentity calls an identity endpoint without a session, and reads whatever it answers.
func postIdentity(t *testing.T, k *testkit.Kit, path string, body any) (int, answer) {
	t.Helper()
	r := k.Post("", "/auth/v1/"+path, body)
	a := answer{of: "POST /auth/v1/" + path}
	r.JSON(t, &a.tree)
	return r.Status, a
}

// claimsOf reads the claims of a session's access token (RFC 7519 section 3).
func claimsOf(t *testing.T, session answer) answer {
	t.Helper()
	parts := strings.Split(session.textOf("access_token"), ".")
	if len(parts) != 3 {
		t.Fatalf("%s: no token", session.of)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	testkit.Must(t, err)
	a := answer{of: "claims"}
	testkit.Response{Body: text}.JSON(t, &a.tree)
	return a
}

// Whoever signs up or in has a session: a bearer token of an hour, a refresh token
// that makes another, and the user's id; the token names user, tenant and role.
func TestSessions(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		person := map[string]any{"email": "new@else.example", "password": newPassword,
			"data": map[string]any{"tenant_id": demo.South}}
		status, signedUp := postIdentity(t, k, "signup", person)
		if status != 200 {
			t.Fatalf("sign-up: %d %v", status, signedUp.tree)
		}
		signedUp.checkFields(t, `access_token:string user.id:uuid user.user_metadata.tenant_id:"`+demo.South+`"`)

		const session = `access_token:string refresh_token:string token_type:"bearer" expires_in:3600 user.id:uuid`
		for _, path := range []string{"token", "token?grant_type=password"} {
			status, signedIn := postIdentity(t, k, path, map[string]any{"email": "admin@north.example", "password": password})
			if status != 200 {
				t.Fatalf("%s: %d %v", path, status, signedIn.tree)
			}
			signedIn.checkFields(t, session)
			if strings.Contains(signedIn.textOf(""), password) {
				t.Errorf("%s tells the password", path)
			}
			claims := claimsOf(t, signedIn)
			claims.checkFields(t, `sub:`+signedIn.textOf("user.id")+
				` tenant_id:"`+demo.North+`" tenant_role:"admin" role:"authenticated"`)

			again := map[string]any{"refresh_token": strings.Trim(signedIn.textOf("refresh_token"), `"`)}
			status, refreshed := postIdentity(t, k, "token?grant_type=refresh_token", again)
			if status != 200 {
				t.Fatalf("refresh: %d %v", status, refreshed.tree)
			}
			refreshed.checkFields(t, session+` user.id:`+signedIn.textOf("user.id"))
		}
	})
}

// What is required is asked for by name, and failures to sign in say the interface's words.
func TestSignInIsRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		status, _ := postIdentity(t, k, "signup", map[string]any{"email": "late@else.example", "password": newPassword})
		if status != 200 {
			t.Fatalf("sign-up: %d", status)
		}
		for _, c := range []struct{ email, password, says string }{
			{"admin@north.example", "wrong", "Invalid login credentials"},
			{"nobody@nowhere.example", "wrong", "Invalid login credentials"},
			{"late@else.example", newPassword, "Email not confirmed"},
		} {
			status, a := postIdentity(t, k, "token", map[string]any{"email": c.email, "password": c.password})
			if got := strings.Trim(a.textOf("msg"), `"`); status != 400 || got != c.says {
				t.Errorf("%s: %d %q, want 400 %q", c.email, status, got, c.says)
			}
		}
		for _, path := range []string{"signup", "token"} {
			for _, body := range []map[string]any{{"email": "x@else.example"}, {"password": newPassword}} {
				if status, a := postIdentity(t, k, path, body); status/100 != 4 {
					t.Errorf("%s with %v: %d %v, want a refusal", path, body, status, a.tree)
				}
			}
		}
	}, func(c *config.Config) { c.Autoconfirm = false })
}

// The tenant is held in the user's metadata; a member of two changes it, and tokens
// and rows follow; a tenant of others stays closed.
func TestTenantSwitching(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		_, session := postIdentity(t, k, "token", map[string]any{"email": inNorth, "password": password})
		for _, tenant := range []string{demo.South, demo.North} {
			token := strings.Trim(session.textOf("access_token"), `"`)
			r := k.Call(testkit.Request{Method: "PUT", Path: "/auth/v1/user", Bearer: token,
				Body: map[string]any{"data": map[string]any{"tenant_id": tenant}}})
			if r.Status != 200 {
				t.Fatalf("switch to %s: %d %s", tenant, r.Status, r.Body)
			}
			refresh := map[string]any{"refresh_token": strings.Trim(session.textOf("refresh_token"), `"`)}
			_, session = postIdentity(t, k, "token?grant_type=refresh_token", refresh)
			claimsOf(t, session).checkFields(t, `tenant_id:"`+tenant+`"`)

			snapshot := k.Call(testkit.Request{Method: "GET", Path: functions + "safety-kpis",
				Bearer: strings.Trim(session.textOf("access_token"), `"`)})
			a := answer{of: "safety-kpis"}
			snapshot.JSON(t, &a.tree)
			a.checkFields(t, `tenant_id:"`+tenant+`"`)
		}
		r := k.Call(testkit.Request{Method: "PUT", Path: "/auth/v1/user", As: testkit.As(actor.Viewer),
			Body: map[string]any{"data": map[string]any{"tenant_id": demo.South}}})
		if r.Status != 403 {
			t.Errorf("a tenant of others: %d %s, want 403", r.Status, r.Body)
		}
	})
}

// Rows are those of the token's tenant; the service key lifts the row policies, and is
// refused from a browser.
func TestRowsFollowTheToken(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const orders = "/v1/orders?select=tenant_id&order=tenant_id"
		tenantsOf := func(q testkit.Request) string {
			t.Helper()
			q.Method = "GET"
			r := k.Call(q)
			var rows []struct {
				Tenant string `json:"tenant_id"`
			}
			r.JSON(t, &rows)
			seen := map[string]bool{}
			for _, row := range rows {
				seen[row.Tenant] = true
			}
			return strings.Join(sortedNames(seen), " ")
		}
		for email, want := range map[string]string{testkit.As(actor.Manager): demo.North, "admin@south.example": demo.South} {
			if got := tenantsOf(testkit.Request{Path: orders, As: email}); got != want {
				t.Errorf("%s reads orders of %s, want %s", email, got, want)
			}
		}
		for _, tenant := range []string{demo.North, demo.South} {
			path := orders + "&tenant_id=eq." + tenant
			if got := tenantsOf(testkit.Request{Path: path, Bearer: k.Service()}); got != tenant {
				t.Errorf("the service key reads orders of %q, want %s", got, tenant)
			}
		}
		browser := testkit.Request{Method: "GET", Path: orders, Bearer: k.Service(),
			Header: map[string]string{"Origin": "https://shop.example"}}
		if r := k.Call(browser); r.Status != 401 {
			t.Errorf("the service key from a browser: %d %s, want 401", r.Status, r.Body)
		}
	})
}

// Functions take the project's public key in the header apikey beside the token, and
// need none.
func TestPublicKey(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		keys, err := k.App.Identity.Keyring.Keys(t.Context())
		testkit.Must(t, err)
		for _, c := range []struct {
			header map[string]string
			as     string
			status int
		}{
			{nil, testkit.As(actor.Owner), 200},
			{map[string]string{"apikey": keys.AnonKey}, testkit.As(actor.Owner), 200},
			{map[string]string{"apikey": keys.AnonKey}, "", 401}, // the key is nobody
		} {
			r := k.Call(testkit.Request{Method: "GET", Path: functions + "safety-kpis", As: c.as, Header: c.header})
			if r.Status != c.status {
				t.Errorf("%q with %v: %d %s, want %d", c.as, c.header, r.Status, r.Body, c.status)
			}
		}
	})
}

// Signing in at an identity provider begins with a redirect to it; single sign-on asks
// by domain, and SAML has metadata.
func TestSignInElsewhere(t *testing.T) {
	settings := func(c *config.Config) {
		c.SAML = true
		c.RedirectURLs = []string{"https://shop.example/in"}
		c.OAuthProviders = []config.Provider{{Name: "github", ClientID: "client", Secret: "secret"}}
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		back := url.QueryEscape("https://shop.example/in")
		r := k.Get("", "/auth/v1/authorize?provider=github&redirect_to="+back)
		at := r.Header.Get("Location")
		if r.Status != 302 || !strings.HasPrefix(at, "https://github.com/login/oauth/authorize?") {
			t.Errorf("a provider that is set up: %d to %q, want a redirect to it", r.Status, at)
		}
		if r := k.Get("", "/auth/v1/authorize?provider=nothing&redirect_to="+back); r.Status != 400 {
			t.Errorf("an unknown provider: %d %s, want 400", r.Status, r.Body)
		}
		metadata := k.Get("", "/auth/v1/sso/saml/metadata")
		if metadata.Status != 200 || !strings.Contains(string(metadata.Body), "EntityDescriptor") {
			t.Errorf("metadata of SAML: %d %.200s", metadata.Status, metadata.Body)
		}
		if status, a := postIdentity(t, k, "sso", map[string]any{"domain": "unknown.example"}); status != 404 {
			t.Errorf("single sign-on of an unknown domain: %d %v, want 404", status, a.tree)
		}
	}, settings)
}
