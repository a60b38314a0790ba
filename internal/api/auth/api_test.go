package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	"holdfast/internal/api/route"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/web"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// server is /auth/v1 over one engine.
type server struct {
	*testing.T
	*httptest.Server
	svc  *identity.Service
	db   *db.DB
	keys keyring.Keys

	mu     sync.Mutex
	mails  []mail.Message
	limits []string // accounts counted
	made   []bool   // questions and counts of refresh tokens of no session
	refuse bool     // the limit refuses
	shift  time.Duration
}

// now is the server's clock, and sleep moves it on.
func (s *server) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().UTC().Add(s.shift)
}

func (s *server) sleep(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += d
}

func (s *server) Send(_ context.Context, m mail.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	return nil
}

func (s *server) mail(kind string) mail.Message {
	s.Helper()
	for range 6000 {
		s.mu.Lock()
		for i, m := range s.mails {
			if m.Kind == kind {
				s.mails = append(s.mails[:i], s.mails[i+1:]...)
				s.mu.Unlock()
				return m
			}
		}
		s.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	s.Fatalf("no %s mail", kind)
	return mail.Message{}
}

func onBoth(t *testing.T, change func(*identity.Config), f func(s *server)) {
	t.Helper()
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			o := dbtest.Options(t, engine)
			o.PoolSize = 4
			d, err := db.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			s := &server{T: t, db: d}
			cfg := identity.Config{MasterKey: []byte("0123456789abcdef0123456789abcdef"), Version: "1.2.3",
				SignIn: config.SignIn{
					SiteURL: "http://localhost:3000", PublicURL: "http://127.0.0.1:8080", SignupEnabled: true, Autoconfirm: true,
					SignupTenants: accounts.TenantsClaim, ImplicitFlow: true,
					RedirectURLs: []string{"https://app.example.com/**", "https://app.example.com/reset"}}}
			if change != nil {
				change(&cfg)
			}
			jobs := job.NewRunner(d, s.now, slog.New(slog.DiscardHandler))
			cfg.Ring = jobs.Ring
			if s.svc, err = identity.New(cfg, d, s, s.now); err != nil {
				t.Fatal(err)
			}
			jobs.Handle(s.svc.Invitations.Mails(nil))
			work, stop := context.WithCancel(context.Background())
			var working sync.WaitGroup
			working.Go(func() { jobs.Work(work) })
			if s.keys, err = s.svc.Keyring.Keys(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Server = httptest.NewServer(s.face(route.Windows{Limit: s.limit, Unknown: s.unknown, Visit: s.visit,
				Depart: s.depart}))
			t.Cleanup(func() {
				s.Server.Close()
				stop()
				working.Wait()
				s.svc.Close(context.Background())
				d.Close()
			})
			f(s)
		})
	}
}

// face serves the routes of /auth/v1 as if they were at the root.
func (s *server) face(x route.Windows) http.Handler {
	h, err := route.Handler(&route.Authenticator{Identity: s.svc, Windows: x},
		auth.New(s.svc, auth.Options{Windows: x}).Routes())
	if err != nil {
		s.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = "/auth/v1" + strings.TrimPrefix(r.URL.Path, "/auth/v1")
		if r.URL.RawPath != "" {
			r.URL.RawPath = "/auth/v1" + r.URL.RawPath
		}
		h.ServeHTTP(w, r)
	})
}

func (s *server) unknown(_ http.ResponseWriter, _ *http.Request, came bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, came)
	if s.refuse {
		return fault.New(fault.Limited, "rate_limit_exceeded", "Too many sign-in requests")
	}
	return nil
}

func (s *server) visit(w http.ResponseWriter, r *http.Request) error {
	return s.limit(w, access.Attempt{Account: "a visit"})
}

func (s *server) depart(w http.ResponseWriter, r *http.Request) error {
	return s.limit(w, access.Attempt{Account: "a departure"})
}

func (s *server) limit(_ http.ResponseWriter, a access.Attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := a.Account
	if a.Secret {
		name = "a secret"
	}
	if a.Many {
		name += " by a server"
	}
	s.limits = append(s.limits, name)
	if !s.refuse {
		return nil
	}
	f := fault.New(fault.Limited, "rate_limit_exceeded", "Too many sign-in requests")
	f.RetryAfter = 7 * time.Second
	f.Data = map[string]any{"error": "rate_limit_exceeded", "message": f.Msg, "retry_after": 7, "limit": 60,
		"remaining": 0, "reset_at": "2026-11-21T08:00:00Z"}
	return f
}

// reply is a read answer.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// call makes a request; head is "Name: value" lines.
func (s *server) call(method, path string, body any, head ...string) reply {
	s.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			s.Fatal(err)
		}
		in = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, s.URL+"/auth/v1"+path, in)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json;charset=UTF-8")
	for _, h := range head {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, text: string(b)}
	_ = json.Unmarshal(b, &r.body)
	return r
}

func (s *server) want(r reply, status int, code string) {
	s.Helper()
	got, _ := r.body["error_code"].(string)
	if got == "" {
		got, _ = r.body["code"].(string)
	}
	if r.status != status || got != code {
		s.Errorf("%d %s, want %d %s", r.status, r.text, status, code)
	}
}

const pw = "a-good-long-password"

type obj = map[string]any

func (s *server) signUp(email string) obj {
	s.Helper()
	r := s.call("POST", "/signup",
		obj{"email": email, "password": pw, "data": nil, "gotrue_meta_security": obj{}, "code_challenge": nil,
			"code_challenge_method": nil})
	if r.status != 200 || r.body["access_token"] == nil {
		s.Fatalf("%d %s", r.status, r.text)
	}
	return r.body
}

func bearer(sess obj) string { return "Authorization: Bearer " + sess["access_token"].(string) }

const dated = "X-Supabase-Api-Version: 2024-01-01"

// Errors have the shape that the date of the request asks for.
func TestErrorShapes(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		r := s.call("POST", "/token?grant_type=password", obj{"email": "x@x.example", "password": "nope"}, dated)
		if r.status != 400 || r.text != `{"code":"invalid_credentials","message":"Invalid login credentials"}`+"\n" ||
			r.header.Get("X-Supabase-Api-Version") != "2024-01-01" || r.header.Get("X-Sb-Error-Code") != "invalid_credentials" {
			s.Errorf("%d %s %v", r.status, r.text, r.header)
		}
		for _, h := range []string{"X-Other: 1", "X-Supabase-Api-Version: yesterday", "X-Supabase-Api-Version: 2023-12-31"} {
			r = s.call("POST", "/token?grant_type=password", obj{"email": "x@x.example", "password": "nope"}, h)
			if r.text != `{"code":400,"error_code":"invalid_credentials","msg":"Invalid login credentials"}`+"\n" ||
				r.header.Get("X-Supabase-Api-Version") != "" {
				s.Errorf("%s %v", r.text, r.header)
			}
		}
		r = s.call("POST", "/signup", obj{"email": "x@x.example", "password": "short"}, "X-Supabase-Api-Version: 2025-06-01")
		s.want(r, 422, "weak_password")
		if reasons := r.body["weak_password"].(obj)["reasons"].([]any); len(reasons) != 1 || reasons[0] != "length" {
			s.Error(r.text)
		}
		if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Content-Type") != "application/json; charset=utf-8" {
			s.Error(r.header)
		}
		s.refuse = true
		r = s.call("POST", "/token", obj{"email": "X@x.example ", "password": "nope"}, dated)
		if r.status != 429 || r.body["code"] != "over_request_rate_limit" || r.body["error"] != "rate_limit_exceeded" ||
			r.body["retry_after"] != 7.0 || r.header.Get("Retry-After") != "7" {
			s.Errorf("%d %s", r.status, r.text)
		}
		r = s.call("POST", "/token", obj{"email": "x@x.example", "password": "nope"})
		if r.body["code"] != 429.0 || r.body["error_code"] != "over_request_rate_limit" || r.body["msg"] == nil ||
			r.body["limit"] != 60.0 {
			s.Error(r.text)
		}
		if s.limits[len(s.limits)-2] != "x@x.example" {
			s.Errorf("counted %v", s.limits)
		}
	})
}

// What is no fault of the caller's says nothing but the id of its line in the
// log.
func TestErrorID(t *testing.T) {
	const id = "told-to-the-operator"
	for _, c := range []struct {
		kind   fault.Kind
		status int
		date   string
		body   string
	}{
		{fault.Internal, 500, "", `{"code":500,"error_code":"unexpected_failure","error_id":"` + id +
			`","msg":"Unexpected failure, please check server logs for more information"}`},
		{fault.Unavailable, 503, "", `{"code":503,"error_code":"unexpected_failure","error_id":"` + id + `","msg":"gone"}`},
		{fault.Invalid, 400, "", `{"code":400,"error_code":"validation_failed","msg":"gone"}`},
		{fault.Internal, 500, "2024-01-01",
			`{"code":"unexpected_failure","message":"Unexpected failure, please check server logs for more information"}`},
	} {
		front := web.Front{}
		h := front.Handler(web.Wrap(route.IdentityShape, func(http.ResponseWriter, *http.Request) error {
			return fault.New(c.kind, "", "gone")
		}))
		r := httptest.NewRequest("GET", "/auth/v1/user", nil)
		r.Header.Set("X-Request-Id", id)
		r.Header.Set("X-Supabase-Api-Version", c.date)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body {
			t.Errorf("%d %q: %d %s", c.status, c.date, w.Code, w.Body)
		}
	}
}

func TestBadInput(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		for _, tt := range []struct {
			method, path string
			body         any
			status       int
			code         string
		}{
			{"POST", "/signup", "{", 400, "bad_json"},
			{"POST", "/signup", "[]", 400, "validation_failed"},
			{"POST", "/signup", `{"email":1}`, 400, "validation_failed"},
			{"POST", "/signup", `{"email":"a@b.example","email":"c@d.example"}`, 400, "validation_failed"},
			{"POST", "/signup", `{"email":"a@b.example","password":"` + pw + `","data":[1]}`, 400, "validation_failed"},
			{"POST", "/signup", `{"email":"nope","password":"` + pw + `"}`, 400, "validation_failed"},
			{"POST", "/signup", `{"email":"a@x.example"}`, 400, "validation_failed"},
			{"POST", "/signup", `{"phone":"+49","password":"` + pw + `"}`, 400, "phone_provider_disabled"},
			{"POST", "/signup", "", 422, "anonymous_provider_disabled"},
			{"POST", "/signup", `{"data":{"x":1}}`, 422, "anonymous_provider_disabled"},
			{"POST", "/signup", `{"email":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "request_entity_too_large"},
			{"POST", "/token?grant_type=nonsense", `{"email":"a@x.example","password":"x"}`, 400, "invalid_credentials"},
			{"POST", "/token?grant_type=", `{"email":"a@x.example","password":"x"}`, 400, "invalid_credentials"},
			{"POST", "/token", "", 400, "invalid_credentials"},
			{"POST", "/token", "{}", 400, "invalid_credentials"},
			{"POST", "/token?grant_type=password", "", 400, "bad_json"},
			{"POST", "/token?grant_type=password", " \n", 400, "bad_json"},
			{"POST", "/token?grant_type=password", "{", 400, "bad_json"},
			{"POST", "/token?grant_type=password", "{}", 400, "validation_failed"},
			{"POST", "/token?grant_type=refresh_token", "", 400, "bad_json"},
			{"POST", "/token?grant_type=refresh_token", "{}", 400, "validation_failed"},
			{"POST", "/token?grant_type=pkce", "", 400, "bad_json"},
			{"POST", "/token?grant_type=pkce", "{}", 400, "validation_failed"},
			{"POST", "/token?grant_type=id_token", "", 400, "bad_json"},
			{"POST", "/signup", `{"email":"n@x.example","password":"` + pw + `","data":{"tenant_id":"north"}}`, 400,
				"validation_failed"},
			{"POST", "/token?grant_type=pkce", `{"auth_code":"","code_verifier":"x"}`, 400, "validation_failed"},
			{"POST", "/token?grant_type=id_token", `{"id_token":"x","provider":"nope"}`, 400, "provider_disabled"},
			{"POST", "/token?grant_type=web3", `{}`, 422, "web3_provider_disabled"},
			{"POST", "/recover", `{}`, 400, "validation_failed"},
			{"POST", "/recover", `{"email":"a@x.example","code_challenge":"x"}`, 400, "validation_failed"},
			{"POST", "/resend", `{"type":"x","email":"a@x.example"}`, 400, "validation_failed"},
			{"POST", "/otp", `{"phone":"+49"}`, 400, "phone_provider_disabled"},
			{"POST", "/verify", `{"type":"email","token_hash":"nope"}`, 403, "otp_expired"},
			{"POST", "/verify", `{}`, 400, "validation_failed"},
			{"GET", "/authorize?provider=nope", nil, 400, "validation_failed"},
			{"GET", "/authorize", nil, 400, "validation_failed"},
			{"GET", "/nowhere", nil, 404, "not_found"},
		} {
			r := s.call(tt.method, tt.path, tt.body, dated)
			if r.status != tt.status || r.body["code"] != tt.code {
				s.Errorf("%s %s %.60v: %d %s", tt.method, tt.path, tt.body, r.status, r.text)
			}
		}
		for _, tt := range []struct {
			method, path,
			code string
		}{{"DELETE", "/user/identities/01a1fdd3-49a8-71f7-afb0-243f4650b256", "manual_linking_disabled"}, {"GET",
			"/user/identities/authorize?provider=x", "manual_linking_disabled"},
			{"GET", "/passkeys", "passkey_disabled"}, {"POST", "/passkeys/registration/options", "passkey_disabled"}, {"POST",
				"/passkeys/authentication/options", "passkey_disabled"}} {
			s.want(s.call(tt.method, tt.path, nil, bearer(sess)), 404, tt.code)
		}
	})
}

// Every route refuses methods it does not serve before it looks at anything,
// and credentials it does not accept before it reads the body.
func TestRoutes(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		user, key := s.signUp("a@x.example"), "Authorization: Bearer "+s.keys.SecretKey
		anon := "Authorization: Bearer " + s.keys.AnonKey
		for _, rt := range new(auth.API).Routes() {
			path := strings.Replace(strings.TrimPrefix(rt.Pattern, "/auth/v1"), "{id}", "0192f0c0-1111-7000-8000-0000000000aa",
				1)
			r := s.call("PROPFIND", path, "{not json")
			if r.status != 405 || !strings.Contains(r.header.Get("Allow"), rt.Method) ||
				!strings.Contains(r.header.Get("Allow"), "OPTIONS") {
				s.Errorf("PROPFIND %s: %d %v", path, r.status, r.header["Allow"])
			}
			if rt.Who.Anyone() {
				continue
			}
			s.want(s.call(rt.Method, path, "{not json"), 401, "no_authorization")
			s.want(s.call(rt.Method, path, "{not json", "Authorization: Bearer garbage"), 403, "bad_jwt")
			if rt.Who.ServiceKey() {
				s.want(s.call(rt.Method, path, "{not json", bearer(user)), 403, "not_admin")
				s.want(s.call(rt.Method, path, "{not json", anon), 403, "not_admin")
				s.want(s.call(rt.Method, path, "{not json", bearer(user), "apikey: "+s.keys.SecretKey), 403, "not_admin")
				s.want(s.call(rt.Method, path, "{not json", key, "Origin: https://x.example"), 401, "no_authorization")
				continue
			}
			s.want(s.call(rt.Method, path, "{not json", key), 403, "bad_jwt")
			s.want(s.call(rt.Method, path, "{not json", anon), 403, "bad_jwt")
			s.want(s.call(rt.Method, path, "{not json", "apikey: "+s.keys.SecretKey), 401, "no_authorization")
		}
	})
}

// There is one audience: another one in X-JWT-AUD is refused, by every route.
func TestAudience(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		for audience, refused := range map[string]bool{"": false, "authenticated": false, "Authenticated": true,
			"admins": true} {
			for _, path := range []string{"/settings", "/user", "/user/"} {
				r := s.call("GET", path, nil, bearer(sess), "X-JWT-AUD: "+audience)
				if refused {
					s.want(r, 403, "unexpected_audience")
				} else if r.status != 200 {
					s.Errorf("%q %s: %d %s", audience, path, r.status, r.text)
				}
			}
		}
	})
}

// The token endpoint of the interface names no grant; supabase-js does; forms
// work; a stale bearer does not disturb.
func TestToken(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		first := s.signUp("a@x.example")
		form := "Content-Type: application/x-www-form-urlencoded"
		for name, r := range map[string]reply{
			"query": s.call("POST", "/token?grant_type=password", obj{"email": "a@x.example", "password": pw},
				"Authorization: Bearer "+s.keys.AnonKey, "apikey: "+s.keys.AnonKey),
			"inferred": s.call("POST", "/token", obj{"email": "a@x.example", "password": pw}),
			"body":     s.call("POST", "/token", obj{"email": "a@x.example", "password": pw, "grant_type": "password"}),
			"form": s.call("POST", "/token", url.Values{"grant_type": {"password"}, "username": {"a@x.example"},
				"password": {pw}}.Encode(), form),
			"slash": s.call("POST", "/token/?grant_type=password", obj{"email": "a@x.example", "password": pw}),
			"expired": s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": first["refresh_token"]},
				"Authorization: Bearer expired"),
			"inferred2": s.call("POST", "/token", obj{"refresh_token": first["refresh_token"]}),
		} {
			if r.status != 200 || r.body["access_token"] == nil || r.body["refresh_token"] == nil ||
				r.body["expires_in"] != 3600.0 || r.body["token_type"] != "bearer" {
				s.Errorf("%s: %d %s", name, r.status, r.text)
			}
		}
	})
}

func TestUser(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		r := s.call("GET", "/user", nil, bearer(sess))
		u := r.body
		if r.status != 200 || u["email"] != "a@x.example" || u["aud"] != "authenticated" || u["role"] != "authenticated" ||
			u["phone"] != "" || u["is_anonymous"] != false {
			s.Errorf("%d %s", r.status, r.text)
		}
		for _, absent := range []string{"banned_until", "deleted_at", "new_email", "invited_at", "recovery_sent_at"} {
			if _, there := u[absent]; there {
				s.Errorf("%s is shown though not set", absent)
			}
		}
		stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
		for _, k := range []string{"created_at", "updated_at", "email_confirmed_at", "confirmed_at", "last_sign_in_at"} {
			if text, _ := u[k].(string); !stamp.MatchString(text) {
				s.Errorf("%s = %v", k, u[k])
			}
		}
		if regexp.MustCompile(`argon2|hash|refresh_key`).MatchString(r.text) {
			s.Error(r.text)
		}
		// supabase-js spreads its options into the body.
		r = s.call("PUT", "/user", `{"data":{"n":12345678901234567890,"x":null},"code_challenge":null,"code_challenge_method":null,"options":{}}`, bearer(sess))
		if r.status != 200 || !strings.Contains(r.text, "12345678901234567890") {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("PUT", "/user", obj{"app_metadata": obj{"role": "x"}}, bearer(sess)), 403, "not_admin")
		s.want(s.call("PUT", "/user", obj{"data": obj{"tenant_id": "0192f0c0-1111-7000-8000-0000000000aa"}}, bearer(sess)),
			403, "tenant_forbidden")
		s.want(s.call("POST", "/tenant", obj{"tenant_id": "0192f0c0-1111-7000-8000-0000000000aa"}, bearer(sess)), 403,
			"tenant_forbidden")
		s.want(s.call("POST", "/tenant", obj{"tenant_id": "x"}, bearer(sess)), 400, "validation_failed")
		if r = s.call("GET", "/tenants", nil, bearer(sess)); r.status != 200 || len(r.body["tenants"].([]any)) != 0 {
			s.Error(r.text)
		}
		s.want(s.call("POST", "/logout?scope=x", nil, bearer(sess)), 400, "validation_failed")
		if r = s.call("POST", "/logout?scope=local", nil, bearer(sess)); r.status != 204 || r.text != "" {
			s.Error(r.status, r.text)
		}
		r = s.call("GET", "/user", nil, bearer(sess), dated)
		if r.status != 403 || r.body["code"] != "session_not_found" ||
			r.body["message"] != "Session from session_id claim in JWT does not exist" {
			s.Error(r.text)
		}
	})
}

func TestPublic(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		r := s.call("GET", "/settings", nil)
		ext := r.body["external"].(obj)
		if r.status != 200 || ext["email"] != true || ext["phone"] != false || ext["anonymous_users"] != false ||
			r.body["disable_signup"] != false || r.body["mailer_autoconfirm"] != true {
			s.Error(r.text)
		}
		if r = s.call("GET", "/health", nil); r.body["version"] != "v1" || r.body["name"] == "" {
			s.Error(r.text)
		}
		r = s.call("GET", "/.well-known/jwks.json", nil)
		if r.status != 200 || len(r.body["keys"].([]any)) != 1 || r.header.Get("Cache-Control") != "public, max-age=600" ||
			strings.Contains(r.text, `"d":`) {
			s.Error(r.text, r.header)
		}
	})
}

func TestAdmin(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		key := "Authorization: Bearer " + s.keys.ServiceRoleKey
		var ids []string
		for _, n := range []string{"a", "b", "c", "under_score"} {
			r := s.call("POST", "/admin/users",
				obj{"email": n + "@x.example", "password": pw, "email_confirm": true, "user_metadata": obj{"n": n},
					"app_metadata": obj{"plan": "x"}}, key)
			if r.status != 200 || r.body["id"] == nil || r.body["app_metadata"].(obj)["plan"] != "x" ||
				r.body["app_metadata"].(obj)["provider"] != "email" || len(r.body["user_metadata"].(obj)) != 1 {
				s.Fatal(r.status, r.text)
			}
			ids = append(ids, r.body["id"].(string))
		}
		r := s.call("GET", "/admin/users?page=&per_page=", nil, key)
		if len(r.body["users"].([]any)) != 4 || r.body["aud"] != "authenticated" || r.header.Get("X-Total-Count") != "4" ||
			r.header.Get("Link") != `</admin/users?page=1&per_page=50>; rel="last"` {
			s.Error(r.text, r.header)
		}
		r = s.call("GET", "/admin/users?page=2&per_page=1&sort=email+asc", nil, key)
		if r.body["users"].([]any)[0].(obj)["email"] != "b@x.example" ||
			r.header.Get("Link") != `</admin/users?page=3&per_page=1&sort=email+asc>; rel="next", </admin/users?page=4&per_page=1&sort=email+asc>; rel="last"` {
			s.Error(r.text, r.header)
		}
		if r = s.call("GET", "/admin/users?filter=R_S", nil, key); len(r.body["users"].([]any)) != 1 {
			s.Error(r.text)
		}
		for _, q := range []string{"page=0", "page=x", "per_page=-1", "page=99999999999999999999",
			"page=2147483647&per_page=1000", "sort=password_hash", "sort=email+sideways"} {
			s.want(s.call("GET", "/admin/users?"+q, nil, key), 400, "validation_failed")
		}
		s.want(s.call("POST", "/admin/users", obj{"email": "A@x.example"}, key), 422, "email_exists")
		s.want(s.call("POST", "/admin/users", obj{}, key), 400, "validation_failed")
		s.want(s.call("POST", "/admin/users", obj{"email": "h@x.example", "password_hash": "md5"}, key), 400,
			"validation_failed")
		s.want(s.call("GET", "/admin/users/nope", nil, key), 404, "validation_failed")
		s.want(s.call("GET", "/admin/users/0192f0c0-1111-7000-8000-0000000000aa", nil, key), 404, "user_not_found")
		s.want(s.call("PUT", "/admin/users/"+ids[0], obj{"ban_duration": "forever"}, key), 400, "validation_failed")
		s.want(s.call("PUT", "/admin/users/"+ids[0], obj{"email": "b@x.example"}, key), 422, "email_exists")
		r = s.call("PUT", "/admin/users/"+ids[0], obj{"user_metadata": obj{"m": 1}, "ban_duration": "1h",
			"email": "z@x.example"}, key)
		if r.body["banned_until"] == nil || r.body["email"] != "z@x.example" || len(r.body["user_metadata"].(obj)) != 2 {
			s.Error(r.text)
		}
		if r = s.call("PUT", "/admin/users/"+ids[0], obj{"ban_duration": "none"}, key); r.body["banned_until"] != nil {
			s.Error(r.text)
		}
		if r = s.call("DELETE", "/admin/users/"+ids[0], obj{"should_soft_delete": true}, key); r.status != 200 ||
			r.text != "{}\n" {
			s.Error(r.status, r.text)
		}
		if r = s.call("GET", "/admin/users/"+ids[0], nil, key); r.status != 200 || r.body["id"] != ids[0] ||
			r.body["deleted_at"] == nil || r.body["email"] != "" || len(r.body["identities"].([]any)) != 0 {
			s.Error(r.status, r.text)
		}
		s.want(s.call("DELETE", "/admin/users/"+ids[0], nil, key), 404, "user_not_found")
		r = s.call("POST", "/admin/generate_link", obj{"type": "magiclink", "email": "b@x.example",
			"redirect_to": "https://evil.example"}, key)
		if r.status != 200 || r.body["id"] != ids[1] || r.body["verification_type"] != "magiclink" ||
			r.body["redirect_to"] != "http://localhost:3000" ||
			r.body["hashed_token"] == nil || r.body["email"] != "b@x.example" {
			s.Error(r.text)
		}
		s.want(s.call("POST", "/admin/generate_link", obj{"type": "recovery", "email": "nobody@x.example"}, key), 404,
			"user_not_found")
		r = s.call("POST", "/invite", obj{"email": "new@x.example", "data": obj{"n": 1}}, key)
		if r.status != 200 || r.body["invited_at"] == nil {
			s.Error(r.text)
		}
		s.mail("invite")
		s.want(s.call("POST", "/invite", obj{"email": "b@x.example"}, key), 422, "email_exists")
	})
}

// The link of a mail is built from configured addresses, whatever the request's
// headers say; opening it redeems nothing; it leads to allowed places only.
func TestMailedLink(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		s.signUp("a@x.example")
		r := s.call("POST", "/recover?redirect_to="+url.QueryEscape("https://app.example.com/reset"),
			obj{"email": "a@x.example"},
			"X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "Forwarded: host=evil.example",
			"Referer: https://evil.example/")
		if r.status != 200 || r.text != "{}\n" {
			s.Fatal(r.text)
		}
		m := s.mail("recovery")
		if strings.Contains(m.Text+m.HTML, "evil") {
			s.Error(m.Text)
		}
		link := regexp.MustCompile(`http://127\.0\.0\.1:8080/auth/v1(/verify\S+)`).FindStringSubmatch(m.Text)[1]
		browser := "Accept: text/html,application/xhtml+xml"
		for range 3 {
			r = s.call("GET", link, nil, browser)
			if r.status != 200 || !strings.Contains(r.text, "<form method=\"post\"") ||
				!strings.Contains(r.header.Get("Content-Security-Policy"), "default-src 'none'") ||
				r.header.Get("Content-Type") != "text/html; charset=utf-8" {
				s.Fatal(r.status, r.text)
			}
			if r = s.call("HEAD", link, nil); r.status != 303 {
				s.Error(r.status)
			}
		}
		for _, scanner := range []string{"Accept: */*", "User-Agent: curl/8.5.0"} {
			r = s.call("GET", link, nil, scanner)
			if r.status != 303 || !regexp.MustCompile(
				`^https://app\.example\.com/reset\?token_hash=[0-9a-f]+&type=recovery$`).MatchString(r.header.Get("Location")) {
				s.Error(r.status, r.header.Get("Location"))
			}
		}
		form := "Content-Type: application/x-www-form-urlencoded"
		r = s.call("POST", link, "", form, browser)
		if r.status != 303 || !strings.Contains(r.header.Get("Location"), "access_token=") {
			s.Error(r.status, r.header.Get("Location"))
		}
		r = s.call("POST", link, "", form, browser)
		if r.status != 303 || !strings.Contains(r.header.Get("Location"), "error_code=otp_expired") {
			s.Error(r.status, r.header.Get("Location"))
		}
		for _, evil := range []string{"https://evil.example", "//evil.example", "https:evil.example", `https:\\evil.example`,
			"https://localhost:3000@evil.example", "http://localhost:3000.evil.example",
			"javascript:alert(1)", "data:text/html,x", "https://app.example.com.evil.example/x",
			"https://app.example.com%2eevil.example",
			"http://localhost%00.evil.example", "\thttps://evil.example",
			"https://app.example.com/../../evil", "https://EVIL.example#https://app.example.com/x"} {
			r = s.call("GET", "/verify?type=recovery&token=x&redirect_to="+url.QueryEscape(evil), nil)
			if !strings.HasPrefix(r.header.Get("Location"), "http://localhost:3000#") &&
				!strings.HasPrefix(r.header.Get("Location"), "https://app.example.com/") {
				s.Errorf("%q leads to %q", evil, r.header.Get("Location"))
			}
			r = s.call("GET", "/callback?state=x&code=y&redirect_to="+url.QueryEscape(evil), nil)
			if r.status != 303 || !strings.HasPrefix(r.header.Get("Location"), "http://localhost:3000?error") {
				s.Errorf("%q: %d %q", evil, r.status, r.header.Get("Location"))
			}
		}
		// What a provider posted and cannot be read is told there as well.
		for _, posted := range []string{"%zz", "state=" + strings.Repeat("x", 2<<20)} {
			r = s.call("POST", "/callback?redirect_to=https%3A%2F%2Fevil.example", posted, form)
			if r.status != 303 || !strings.HasPrefix(r.header.Get("Location"),
				"http://localhost:3000?error=invalid_request&error_code=bad_oauth_callback&") {
				s.Errorf("%.10q posted: %d %q", posted, r.status, r.header.Get("Location"))
			}
		}
		// A page never carries markup from its address.
		if r = s.call("GET", `/verify?type="><script>alert(1)</script>&token=%22%3E%3Cscript%3E`, nil,
			browser); strings.Contains(r.text, "<script>") {
			s.Error(r.text)
		}
	})
}

func TestVerify_JSON(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm = false }, func(s *server) {
		r := s.call("POST", "/signup?redirect_to=https%3A%2F%2Fapp.example.com%2Fx",
			obj{"email": "a@x.example", "password": pw})
		if r.status != 200 || r.body["id"] == nil || r.body["access_token"] != nil || r.body["confirmation_sent_at"] == nil {
			s.Fatal(r.text)
		}
		s.want(s.call("POST", "/token", obj{"email": "a@x.example", "password": pw}), 400, "email_not_confirmed")
		m := s.mail("confirmation")
		_, code, _ := strings.Cut(m.Text, "Code: ")
		r = s.call("POST", "/verify", obj{"type": "email", "email": "a@x.example", "token": code[:6],
			"gotrue_meta_security": obj{}})
		if r.status != 200 || r.body["access_token"] == nil {
			s.Error(r.text)
		}
		r = s.call("POST", "/resend", obj{"type": "signup", "email": "a@x.example"})
		s.want(r, 429, "over_email_send_rate_limit")
	})
}

// Hashes made elsewhere come in through the admin API, open the account with
// their password, and are replaced by one of ours as soon as they have.
func TestImportedHashes(t *testing.T) {
	old, err := bcrypt.GenerateFromPassword([]byte("mytestpassword"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	salt := []byte("a salt of sixteen")
	phc := func(name string, derive func(pw, salt []byte, time, memory uint32, threads uint8,
		keyLen uint32) []byte) string {
		b := base64.RawStdEncoding
		return "$" + name + "$v=19$m=64,t=3,p=2$" + b.EncodeToString(salt) + "$" +
			b.EncodeToString(derive([]byte("mytestpassword"), salt, 3, 64, 2, 32))
	}
	hashes := map[string]string{
		"bcrypt": string(old), "argon2i": phc("argon2i", argon2.Key), "argon2id": phc("argon2id", argon2.IDKey),
		"scrypt": "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$" +
			"zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw==",
	}
	onBoth(t, nil, func(s *server) {
		stored := func(email string) (hash string) {
			err := s.db.Read(s.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.One("SELECT password_hash FROM users WHERE email = $1", []any{email}, func(r *db.Row) error {
					hash = r.Text(0)
					return nil
				})
			})
			if err != nil {
				s.Fatal(err)
			}
			return hash
		}
		key := "Authorization: Bearer " + s.keys.ServiceRoleKey
		for name, hash := range hashes {
			email := name + "@x.example"
			s.want(s.call("POST", "/admin/users", obj{"email": email, "password_hash": hash, "email_confirm": true}, key), 200,
				"")
			s.want(s.call("POST", "/token?grant_type=password", obj{"email": email, "password": "wrong-password"}), 400,
				"invalid_credentials")
			if got := stored(email); got != hash {
				s.Errorf("%s: a wrong password changed the hash to %s", name, got)
			}
			s.want(s.call("POST", "/token?grant_type=password", obj{"email": email, "password": "mytestpassword"}), 200, "")
			if got := stored(email); !strings.HasPrefix(got, "$argon2id$v=19$m=19456,t=2,p=1$") {
				s.Errorf("%s: still %s", name, got)
			}
			s.want(s.call("POST", "/token?grant_type=password", obj{"email": email, "password": "mytestpassword"}), 200, "")
		}
		for name, hash := range map[string]string{"a cost of years": "$2a$20$abcdefghijklmnopqrstuuxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			"gigabytes":        "$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHRzYWx0$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
			"memory by scrypt": strings.Replace(hashes["scrypt"], "n=14", "n=24", 1), "no hash": "md5", "both": ""} {
			body := obj{"email": "bad@x.example", "password_hash": hash}
			if name == "both" {
				body["password"], body["password_hash"] = "mytestpassword", string(old)
			}
			if r := s.call("POST", "/admin/users", body, key); r.status != 400 {
				s.Errorf("%s: %d %s", name, r.status, r.text)
			}
		}
	})
}

// GET /user is kept, and every change of the account shows in it at once.
func TestUserIsNeverStale(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.MailInterval = -1 }, func(s *server) {
		sess := s.signUp("a@x.example")
		key := "Authorization: Bearer " + s.keys.SecretKey
		id := sess["user"].(obj)["id"].(string)
		last := ""
		for name, change := range map[string]func() reply{
			"nothing":  func() reply { return reply{status: 200} },
			"metadata": func() reply { return s.call("PUT", "/user", obj{"data": obj{"n": 1}}, bearer(sess)) },
			"recovery": func() reply {
				r := s.call("POST", "/recover", obj{"email": "a@x.example"})
				s.mail("recovery")
				return r
			},
			"factor": func() reply {
				return s.call("POST", "/factors", obj{"factor_type": "totp", "friendly_name": "x"}, bearer(sess))
			},
			"by an admin": func() reply { return s.call("PUT", "/admin/users/"+id, obj{"app_metadata": obj{"plan": "x"}}, key) },
		} {
			s.call("GET", "/user", nil, bearer(sess))
			if r := change(); r.status != 200 {
				s.Fatalf("%s: %d %s", name, r.status, r.text)
			}
			for range 2 {
				r := s.call("GET", "/user", nil, bearer(sess))
				fresh, err := s.svc.Admin.UserByID(s.Context(), actor.Actor{Role: actor.Service}, id)
				if err != nil {
					s.Fatal(err)
				}
				want, err := json.Marshal(fresh)
				if err != nil {
					s.Fatal(err)
				}
				if r.status != 200 || r.text != string(want) {
					s.Errorf("%s: kept\n%s\nwant\n%s", name, r.text, want)
				}
				last = r.text
			}
		}
		if !strings.Contains(last, id) {
			s.Error(last)
		}
	})
}

// What a stranger or a script may not have: the flow's cookie, an account's
// attempts under another spelling, a key or token that stood in an address.
func TestFences(t *testing.T) {
	for public, secure := range map[string]bool{"http://127.0.0.1:8080": false, "https://wms.example": true} {
		onBoth(t, func(c *identity.Config) {
			c.PublicURL, c.OIDC = public, map[string]identity.Provider{"github": {ClientID: "client", Secret: "s"}}
		}, func(s *server) {
			r := s.call("GET", "/authorize?provider=github&redirect_to=https://app.example.com/in", nil)
			cookies := (&http.Response{Header: r.header}).Cookies()
			if r.status != 302 || len(cookies) != 1 {
				s.Fatal(r.status, r.header, r.text)
			}
			if c := cookies[0]; !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode ||
				c.Path != "/auth/v1/callback" {
				s.Errorf("the flow's cookie: %+v", c)
			}
		})
	}
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		tried := "a@x.example user:" + sess["user"].(obj)["id"].(string)
		s.limits = nil
		for _, spelt := range []string{"a@x.example", "  A@X.Example ", "\uff41@x.example"} {
			s.call("POST", "/token?grant_type=password", obj{"email": spelt, "password": "not the password"})
		}
		if got := strings.Join(s.limits, " "); got != tried+" "+tried+" "+tried {
			s.Errorf("attempts counted for %q", got)
		}
		s.limits = nil
		for _, phone := range []string{"", "491712345678", "491712345679"} {
			s.call("POST", "/verify", obj{"type": "email", "email": "a@x.example", "phone": phone, "token": "123456"})
		}
		s.call("POST", "/verify", obj{"type": "sms", "email": "b@x.example", "phone": "+49 171 2345678", "token": "123456"})
		if got := strings.Join(s.limits, " "); got != "a@x.example a@x.example a@x.example phone:491712345678" {
			s.Errorf("codes counted for %q", got)
		}
		for _, q := range []string{"apikey=" + s.keys.ServiceRoleKey, "access_token=" + s.keys.ServiceRoleKey, "jwt=" +
			s.keys.ServiceRoleKey} {
			s.want(s.call("GET", "/admin/users?"+q, nil), 401, "no_authorization")
		}
		s.want(s.call("GET", "/user?access_token="+sess["access_token"].(string), nil), 401, "no_authorization")
	})
}

// A tenant that asks for a second factor is not handed on without it; the
// account's own endpoints, where the factor is given, stay open.
func TestFences_secondFactor(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		const tenant = "0192f0c0-1111-7000-8000-0000000000aa"
		r := s.call("POST", "/signup", obj{"email": "a@x.example", "password": pw, "data": obj{"tenant_id": tenant}})
		bearer := "Authorization: Bearer " + r.body["access_token"].(string)
		err := s.db.Write(s.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec(`INSERT INTO settings (tenant_id, id, section, key, value, created_at, updated_at, version) VALUES ($1, `+
				`$1, 'security', 'mfa_required', '"everyone"', $2, $2, 1)`, tenant, time.Now())
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
		s.svc.ForgetAll()
		s.want(s.call("POST", "/tenant/transfer", obj{"user_id": tenant, "current_password": pw}, bearer), 403,
			"insufficient_aal")
		s.want(s.call("GET", "/user", nil, bearer), 200, "")
	})
}
