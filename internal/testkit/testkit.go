// Package testkit gives a test a whole Holdfast, with the demonstration
// tenants in it, on each engine, in milliseconds: the data are made once per
// process and copied.
//
// Layer: tests. Begin at [Run].
package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/token"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// Engines are the databases every test runs on.
var engines = []db.Engine{db.SQLite, db.PostgreSQL}

// masterKey is the same for all tests, so that copied databases can be read.
const masterKey = "dGVzdC1rZXktdGVzdC1rZXktdGVzdC1rZXktdGVzdCE="

// Kit is one running server.
type Kit struct {
	App    *app.App
	Engine db.Engine
	URL    string

	t      *testing.T
	mu     sync.Mutex
	tokens map[string]string
}

// Option changes the settings of a Kit.
type Option func(*config.Config)

// Limited switches rate limits on.
func Limited(c *config.Config) { c.RateLimits = "on" }

// Run calls f with a fresh server on each engine, both at once: f shares nothing
// between them. It returns when both have ended.
func Run(t *testing.T, f func(t *testing.T, k *Kit), opts ...Option) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(t, New(t, e, opts...)) })
}

// InTurn is Run on one engine after the other, for tests that share something
// between them.
func InTurn(t *testing.T, f func(t *testing.T, k *Kit), opts ...Option) {
	t.Helper()
	for _, e := range engines {
		t.Run(strings.ToLower(string(e)), func(t *testing.T) { f(t, New(t, e, opts...)) })
	}
}

// RunWhole is InTurn with the whole demonstration, as a visitor sees it. That
// takes seconds to make: it is for tests of what only the whole has.
func RunWhole(t *testing.T, f func(t *testing.T, k *Kit)) {
	t.Helper()
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			f(t, startKit(t, e, Demonstration(t, e, demo.Whole)))
		})
	}
}

// New starts a server with the demonstration tenants on one engine.
func New(t *testing.T, e db.Engine, opts ...Option) *Kit {
	t.Helper()
	return startKit(t, e, Settings(t, e, opts...))
}

func startKit(t *testing.T, e db.Engine, c *config.Config) *Kit {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	c.PublicURL = "http://" + srv.Listener.Addr().String()
	a, err := app.Open(context.Background(), c, app.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Events(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	h, err := a.Handler(nil)
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = h
	srv.Start()
	t.Cleanup(srv.Close)
	return &Kit{App: a, Engine: e, URL: srv.URL, t: t, tokens: map[string]string{}}
}

// Settings are those of a server that is not started yet, with the demonstration
// tenants in its database.
func Settings(t *testing.T, e db.Engine, opts ...Option) *config.Config {
	t.Helper()
	c := Demonstration(t, e, demo.Sample)
	for _, o := range opts {
		o(c)
	}
	return c
}

// Demonstration is Settings with a demonstration of some size: both are made
// once per process and copied.
func Demonstration(t *testing.T, e db.Engine, size demo.Size) *config.Config {
	t.Helper()
	c := testConfig(t)
	switch e {
	case db.SQLite:
		pgtest.SkipUnwanted(t, "sqlite")
		copyDir(t, liteTemplate(t, size), c.Data)
	case db.PostgreSQL:
		c.DatabaseURL = pgtest.Template(t, fmt.Sprintf("%s-%d", templateKey(t), size), func(dsn string) error {
			return buildTemplate(size, func(c *config.Config) { c.DatabaseURL = dsn })
		})
	}
	return c
}

func testConfig(t testing.TB) *config.Config {
	c, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	c.Data = t.TempDir()
	return c
}

func defaultConfig() (*config.Config, error) {
	return config.Load("", nil, map[string]string{
		"dev": "true", "rate_limits": "off", "master_key": masterKey, "listen": "127.0.0.1:0", "mail_interval": "0s",
	})
}

// buildTemplate makes a database with the demonstration data.
func buildTemplate(size demo.Size, set func(*config.Config)) error {
	dir, err := os.MkdirTemp("", "holdfast-template")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := defaultConfig()
	if err != nil {
		return err
	}
	c.Data = dir
	set(c)
	a, err := app.Open(context.Background(), c, app.Server)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.SeedDemo(context.Background(), size)
}

// lite are the data directories that copies are made of. They are package state
// because they are made once per process, by whichever test asks first.
var lite = map[demo.Size]*struct {
	once sync.Once
	dir  string
	err  error
}{demo.Sample: {}, demo.Whole: {}}

func liteTemplate(t testing.TB, size demo.Size) string {
	l := lite[size]
	l.once.Do(func() {
		if l.dir, l.err = os.MkdirTemp("", "holdfast-template"); l.err == nil {
			l.err = buildTemplate(size, func(c *config.Config) { c.Data = l.dir })
		}
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.dir
}

// templateKey names the schema and the day, since demonstration data end now.
func templateKey(t testing.TB) string {
	ms, err := db.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("demo-%d-%s-%d", len(ms), filepath.Base(exe), st.ModTime().UnixNano())
}

func copyDir(t testing.TB, from, to string) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Main runs a package's tests and removes what they shared.
func Main(m *testing.M, cleanup ...func()) {
	pgtest.Main(m, append(cleanup, func() {
		for _, l := range lite {
			if l.dir != "" {
				os.RemoveAll(l.dir)
			}
		}
	})...)
}

// Token is an access token of a demonstration user's session, which is begun
// once. It is the session that signing in by password begins, without the check
// of the password: a quarter of what the tests of a package cost.
func (k *Kit) Token(email string) string {
	k.t.Helper()
	if email == "" {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if tok := k.tokens[email]; tok != "" {
		return tok
	}
	begun, err := k.beginSession(email)
	if err != nil {
		k.t.Fatalf("a session of %s: %v", email, err)
	}
	k.tokens[email] = begun.AccessToken
	return begun.AccessToken
}

func (k *Kit) beginSession(email string) (*sessions.Session, error) {
	store := k.App.Identity.Sessions
	var g *sessions.Grant
	err := store.Write(context.Background(), func(tx *db.Tx) error {
		u, err := accounts.UserByEmail(tx, email)
		if err != nil {
			return err
		}
		g, err = store.Begin(tx, u, token.Method{Method: "password"},
			accounts.Client{Address: "127.0.0.1", UserAgent: "Go-http-client/1.1"})
		return err
	})
	if err != nil {
		return nil, err
	}
	return store.Issue(g)
}

// Service returns the secret key that lifts row policies.
func (k *Kit) Service() string {
	keys, err := k.App.Identity.Keyring.Keys(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	return keys.ServiceRoleKey
}

// Request is one call. As is a demonstration user's address; Bearer a token.
type Request struct {
	Method, Path string
	As, Bearer   string
	Body         any // nil, string, []byte or something for JSON
	Header       map[string]string
}

// Response is what came back.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body into v or fails the test.
func (r Response) JSON(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("status %d, body %.500q: %v", r.Status, r.Body, err)
	}
}

// Call sends a request.
func (k *Kit) Call(q Request) Response {
	k.t.Helper()
	var body io.Reader
	switch b := q.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			k.t.Fatal(err)
		}
		body = bytes.NewReader(j)
	}
	req, err := http.NewRequest(q.Method, k.URL+q.Path, body)
	if err != nil {
		k.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.Bearer == "" {
		q.Bearer = k.Token(q.As)
	}
	if q.Bearer != "" {
		req.Header.Set("Authorization", "Bearer "+q.Bearer)
	}
	for name, v := range q.Header {
		req.Header.Set(name, v)
	}
	res, err := noRedirect.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return Response{Status: res.StatusCode, Header: res.Header, Body: b}
}

var noRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

// Get fetches a path as a user.
func (k *Kit) Get(as, path string) Response {
	k.t.Helper()
	return k.Call(Request{Method: "GET", Path: path, As: as})
}

// Post sends a JSON body as a user.
func (k *Kit) Post(as, path string, body any) Response {
	k.t.Helper()
	return k.Call(Request{Method: "POST", Path: path, As: as, Body: body})
}

// At is another node of the same deployment, at url.
func (k *Kit) At(url string) *Kit {
	return &Kit{App: k.App, Engine: k.Engine, URL: url, t: k.t, tokens: map[string]string{}}
}
