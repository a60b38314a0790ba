package main_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// program is the built binary, which the tests run as a user would.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-cli-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "holdfast")
	remove := func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		remove()
		os.Exit(1)
	}
	testkit.Main(m, remove)
}

// A site is a data directory and a database. Those of each have today's schema
// and no rows; of others neither exists yet.
type site struct {
	*testing.T
	data, dsn string
}

// each runs f on a migrated site of each engine, both at once.
func each(t *testing.T, f func(s *site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(siteOn(t, e)) })
}

// eachEmpty is each for tests of the first start and of migrations: nothing is
// there yet.
func eachEmpty(t *testing.T, f func(s *site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		s := embedded(t)
		if e == db.PostgreSQL {
			s.dsn = pgtest.DSN(t)
		}
		f(s)
	})
}

// eachDemo is each with the sample of the demonstration in the database, to be
// served with --dev: the whole one, which --demo makes, takes seconds.
func eachDemo(t *testing.T, f func(s *site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(demoOn(t, e)) })
}

// inTurn is eachDemo on one engine after the other, for tests that set the
// environment.
func inTurn(t *testing.T, f func(s *site)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(demoOn(t, db.SQLite)) })
	t.Run("postgresql", func(t *testing.T) { f(demoOn(t, db.PostgreSQL)) })
}

// siteOn is a site with a copy of a migrated database: migrating takes longer
// than most tests do.
func siteOn(t *testing.T, e db.Engine) *site {
	t.Helper()
	s, o := embedded(t), dbtest.Options(t, e)
	if s.dsn = o.URL; s.dsn == "" {
		s.take(o.Dir)
	}
	return s
}

// demoOn is a site with a copy of a database with the sample of the
// demonstration, and its master key where a server keeps it.
func demoOn(t *testing.T, e db.Engine) *site {
	t.Helper()
	return demoSized(t, e, demo.Sample)
}

// demoSized is demoOn for tests that also need what takes long: the whole.
func demoSized(t *testing.T, e db.Engine, size demo.Size) *site {
	t.Helper()
	s, c := embedded(t), testkit.Demonstration(t, e, size)
	s.dsn = c.DatabaseURL
	s.take(c.Data)
	s.file(masterKeyOf(s), c.MasterKey+"\n")
	return s
}

// take makes dir the data directory, with the mode that the program gives it.
func (s *site) take(dir string) {
	s.Helper()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Rename(dir, s.data)); err != nil {
		s.Fatal(err)
	}
}

func embedded(t *testing.T) *site {
	return &site{T: t, data: filepath.Join(t.TempDir(), "data")}
}

// An outcome is how a command ended.
type outcome struct {
	out, err string
	code     int
}

func (o outcome) String() string {
	return fmt.Sprintf("exit status %d\n--- stdout\n%s--- stderr\n%s", o.code, o.out, o.err)
}

// command is the program on this site, with settings "NAME=value" of the
// environment and no others.
func (s *site) command(env []string, args ...string) *exec.Cmd {
	where := []string{"--data", s.data}
	if s.dsn != "" {
		where = append(where, "--database", s.dsn)
	}
	cmd := exec.Command(program, append(where, args...)...)
	cmd.Env = append(plain(), env...)
	return cmd
}

// plain is the environment of the tests without settings of Holdfast.
func plain() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "HOLDFAST_") })
}

// finish runs a command that must end by itself.
func (s *site) finish(cmd *exec.Cmd, stdin string) outcome {
	s.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	if !late.Stop() {
		s.Fatalf("%s does not end\n%s%s", cmd, &out, &errs)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// run is a command that must succeed; it returns what it printed.
func (s *site) run(args ...string) string {
	s.Helper()
	return s.runWith("", args...)
}

func (s *site) runWith(stdin string, args ...string) string {
	s.Helper()
	o := s.finish(s.command(nil, args...), stdin)
	if o.code != 0 {
		s.Fatalf("holdfast %s: %s", strings.Join(args, " "), o)
	}
	return o.out
}

// refused is a command that must fail with exit status 1, and with words on
// standard error that match the pattern.
func (s *site) refused(pattern string, args ...string) outcome {
	s.Helper()
	o := s.finish(s.command(nil, args...), "")
	if o.code != 1 || !regexp.MustCompile(pattern).MatchString(o.err) {
		s.Errorf("holdfast %s: want a refusal like %q, got %s", strings.Join(args, " "), pattern, o)
	}
	return o
}

// A server is a running `holdfast serve`.
type server struct {
	*site
	url  string
	cmd  *exec.Cmd
	out  *transcript
	gone chan error
}

// A transcript is what a process has printed so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

var bannerURL = regexp.MustCompile(`(?m)^ +API +(https?://(?:127\.0\.0\.1|localhost):\d+)$`)

// anybody is a client that asks for no certificate in particular.
var anybody = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// asByDefault are the flags of a server that stops as one without settings does.
var asByDefault = []string{"--stop-delay", "500ms"}

// serve starts a server without rate limits and without a delay of its stop,
// which tests would only wait for, and returns when it is ready. It is stopped
// when the test ends.
func (s *site) serve(args ...string) *server {
	s.Helper()
	return s.serveAs(func(*exec.Cmd) {}, args...)
}

// serveAs is serve with a command that was changed before it begins.
func (s *site) serveAs(change func(*exec.Cmd), args ...string) *server {
	s.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limits", "off", "--log-level", "warn", "--stop-delay", "0s"}, args...)
	v := &server{site: s, cmd: s.command(nil, args...), out: &transcript{}, gone: make(chan error, 1)}
	v.cmd.Stdout, v.cmd.Stderr = v.out, v.out
	change(v.cmd)
	if err := v.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { v.gone <- v.cmd.Wait() }()
	s.Cleanup(func() { v.cmd.Process.Kill() })
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if m := bannerURL.FindStringSubmatch(v.out.String()); m != nil {
			v.url = m[1]
			if res, err := anybody.Get(v.url + "/readyz"); err == nil {
				res.Body.Close()
				if res.StatusCode == http.StatusOK {
					return v
				}
			}
		}
		if len(v.gone) > 0 || time.Since(begin) > time.Minute {
			s.Fatalf("the server does not start:\n%s", v.out)
		}
	}
}

// stop asks the server to end and returns how long that took.
func (v *server) stop() time.Duration {
	v.Helper()
	begin := time.Now()
	v.signal(syscall.SIGTERM)
	v.ended()
	return time.Since(begin)
}

// ended waits for the server that was asked to end.
func (v *server) ended() {
	v.Helper()
	select {
	case err := <-v.gone:
		if err != nil {
			v.Errorf("the server's end: %v\n%s", err, v.out)
		}
	case <-time.After(30 * time.Second):
		v.Fatalf("the server does not end:\n%s", v.out)
	}
}

// A reply is what the server answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// into decodes the body or fails the test.
func (r reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("status %d, body %.500q: %v", r.status, r.body, err)
	}
}

// call sends a request with a bearer token or key, when there is one. A body
// is sent as JSON.
func (v *server) call(method, path, bearer string, body any) reply {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			v.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, in)
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return answer(v, func() (*http.Response, error) {
		return http.DefaultTransport.RoundTrip(req) // redirects are looked at, not followed
	})
}

// answer is the whole of what a request is answered, which it must be.
func answer(t testing.TB, ask func() (*http.Response, error)) reply {
	t.Helper()
	res, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, text}
}

// metrics is the text that /metrics shows of the server whose --admin-listen is
// admin.
func metrics(t testing.TB, admin string) string {
	t.Helper()
	r := answer(t, func() (*http.Response, error) { return http.Get("http://" + admin + "/metrics") })
	if r.status != http.StatusOK {
		t.Fatalf("/metrics: status %d, body %.500q", r.status, r.body)
	}
	return string(r.body)
}

// A session is what signing in gives.
type session struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	User         struct {
		ID, Email string
	}
}

func (v *server) signIn(email, password string) (session, int) {
	v.Helper()
	var out session
	r := v.call("POST", "/auth/v1/token?grant_type=password", "", map[string]string{"email": email, "password": password})
	r.into(v, &out)
	return out, r.status
}

// token signs a user in who must be able to.
func (v *server) token(email, password string) string {
	v.Helper()
	got, status := v.signIn(email, password)
	if status != http.StatusOK || got.AccessToken == "" {
		v.Fatalf("sign in as %s: status %d", email, status)
	}
	return got.AccessToken
}

// keys are the lines of `status -o env`.
func (s *site) keys(flags ...string) map[string]string {
	s.Helper()
	out := map[string]string{}
	for line := range strings.Lines(s.run(append([]string{"status", "-o", "env"}, flags...)...)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			s.Fatalf("status: line %q", line)
		}
		out[name] = strings.Trim(value, `"`)
	}
	return out
}

// within asks again until ok says yes or the time is over.
func within(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}
