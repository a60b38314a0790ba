package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// Telephone numbers sign in when an address for text messages is configured:
// sign-up with a password, the code, the password, a test number.
func TestPhoneIsConfigured(t *testing.T) {
	sent := make(chan map[string]string, 10)
	carrier := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m := map[string]string{}
		json.NewDecoder(r.Body).Decode(&m)
		sent <- m
	}))
	defer carrier.Close()
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		var settings struct {
			External    map[string]bool
			SMSProvider string `json:"sms_provider"`
		}
		k.Get("", "/auth/v1/settings").JSON(t, &settings)
		if !settings.External["phone"] || settings.SMSProvider == "" {
			t.Errorf("%+v", settings)
		}
		post := func(path string, body any, status int) map[string]any {
			t.Helper()
			out := map[string]any{}
			r := k.Post("", "/auth/v1"+path, body)
			r.JSON(t, &out)
			if r.Status != status {
				t.Fatalf("%s: %d %v", path, r.Status, out)
			}
			return out
		}
		password := map[string]any{"phone": "+49 171 2345678", "password": "a-good-long-password"}
		if u := post("/signup", password, 200); u["access_token"] != nil || u["phone"] != "491712345678" ||
			u["confirmation_sent_at"] == nil {
			t.Errorf("%v", u)
		}
		var m map[string]string
		select {
		case m = <-sent:
		case <-time.After(30 * time.Second):
			t.Fatal("no text message")
		}
		_, rest, ok := strings.Cut(m["text"], "Harbour code is ")
		if m["to"] != "+491712345678" || !ok || strings.Index(rest, ".") != 8 {
			t.Fatalf("%v", m)
		}
		if f := post("/token?grant_type=password", password, 400); f["error_code"] != "phone_not_confirmed" {
			t.Errorf("%v", f)
		}
		post("/verify", map[string]any{"type": "sms", "phone": "491712345678", "token": rest[:8]}, 200)
		if s := post("/token?grant_type=password", password, 200); s["access_token"] == nil {
			t.Errorf("%v", s)
		}
		post("/otp", map[string]any{"phone": "15550001111"}, 200)
		deadline := time.Now().Add(30 * time.Second)
		for k.Post("", "/auth/v1/verify", map[string]any{"type": "sms", "phone": "15550001111",
			"token": "42424242"}).Status != 200 {
			if time.Now().After(deadline) {
				t.Fatal("the test number's code is not taken")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}, func(c *config.Config) {
		c.Phone, c.SMSURL, c.PhoneCodes, c.OTPLength, c.ProductName = true, carrier.URL, []string{"15550001111=42424242"}, 8,
			"Harbour"
	})
}

// With addresses switched off nobody signs in or up by them, and the settings
// say so.
func TestEmailIsOff(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		body := map[string]any{"email": "owner@north.example", "password": "holdfast-demo"}
		for path, status := range map[string]int{"/signup": 400, "/token?grant_type=password": 422, "/recover": 400,
			"/otp": 422} {
			r := k.Post("", "/auth/v1"+path, body)
			if r.Status != status || !strings.Contains(string(r.Body), "email_provider_disabled") {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		if r := k.Get("", "/auth/v1/settings"); !strings.Contains(string(r.Body), `"email":false`) {
			t.Errorf("%s", r.Body)
		}
	}, func(c *config.Config) { c.EmailSignin = false })
}

// The domain and origins of passkeys come from the configuration.
func TestWebAuthnIsConfigured(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		r := k.Post("owner@north.example", "/auth/v1/passkeys/registration/options", map[string]any{})
		if s := string(r.Body); r.Status != 200 || !strings.Contains(s, `"id":"holdfast.example"`) ||
			!strings.Contains(s, `"name":"Harbour"`) {
			t.Errorf("%d %s", r.Status, s)
		}
	}, func(c *config.Config) {
		c.SiteURL, c.ProductName = "https://app.holdfast.example", "Harbour"
		c.WebAuthnID, c.WebAuthnOrigins = "holdfast.example", []string{"https://app.holdfast.example"}
	})
}

// Apple's client secret is a token that we sign with the configured key:
// Apple, "Creating a client secret" (Sign in with Apple REST API).
func TestAppleIsConfigured(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.p8")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := make(chan string, 1)
	var apple *httptest.Server
	apple = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			id, pass, basic := r.BasicAuth()
			if !basic {
				id, pass = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
			}
			if id != "com.example.web" {
				t.Errorf("client %q", id)
			}
			select {
			case secret <- pass:
			default: // the other way of sending it, tried next
			}
			http.Error(w, `{"error":"invalid_grant"}`, 400)
		default:
			json.NewEncoder(w).Encode(map[string]any{"issuer": apple.URL, "authorization_endpoint": apple.URL + "/authorize",
				"token_endpoint": apple.URL + "/token",
				"jwks_uri":       apple.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
		}
	}))
	defer apple.Close()
	c, err := config.Load("",
		[]string{"HOLDFAST_OAUTH_APPLE_CLIENT_ID=com.example.web", "HOLDFAST_OAUTH_APPLE_ISSUER=" + apple.URL,
			"HOLDFAST_OAUTH_APPLE_TEAM_ID=TEAM123456",
			"HOLDFAST_OAUTH_APPLE_KEY_ID=KEY1234567", "HOLDFAST_OAUTH_APPLE_PRIVATE_KEY_FILE=" + file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Dump(); strings.Contains(d, "PRIVATE KEY") || !strings.Contains(d, "oauth_apple_team_id = TEAM123456\n") ||
		!strings.Contains(d, "oauth_apple_private_key_file = "+file+"\n") {
		t.Error(d)
	}
	k := testkit.New(t, db.SQLite, func(to *config.Config) { to.OAuthProviders = c.OAuthProviders })
	r := k.Get("", "/auth/v1/authorize?provider=apple")
	at, err := url.Parse(r.Header.Get("Location"))
	if err != nil || at.Host != strings.TrimPrefix(apple.URL, "http://") ||
		at.Query().Get("response_mode") != "form_post" {
		t.Fatalf("%d %s", r.Status, at)
	}
	cookies := (&http.Response{Header: r.Header}).Cookies()
	var jar []string
	for _, c := range cookies {
		jar = append(jar, c.Name+"="+c.Value)
	}
	k.Call(testkit.Request{Method: "GET", Path: "/auth/v1/callback/apple?code=x&state=" + url.QueryEscape(at.Query().Get("state")),
		Header: map[string]string{"Cookie": strings.Join(jar, "; ")}})
	var raw string
	select {
	case raw = <-secret:
	case <-time.After(30 * time.Second):
		t.Fatal("the code was not redeemed")
	}
	tok, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := tok.Claims(&key.PublicKey, &claims); err != nil {
		t.Fatal(err)
	}
	want := jwt.Expected{Issuer: "TEAM123456", Subject: "com.example.web", AnyAudience: jwt.Audience{apple.URL},
		Time: time.Now()}
	if err := claims.Validate(want); err != nil || tok.Headers[0].KeyID != "KEY1234567" {
		t.Errorf("%+v %+v: %v", claims, tok.Headers, err)
	}
}
