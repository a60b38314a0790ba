package operating_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/totp"
	"holdfast/internal/secrets"
	"holdfast/internal/testkit/program"
)

// outside stands for what a site's server talks to: a webhook's receiver and an
// organisation's OpenID provider.
type outside struct {
	*httptest.Server
	events, secrets chan string // signed by; sent by the OpenID client
	key             []byte      // of the webhook
}

func newOutside(t *testing.T) *outside {
	o := &outside{events: make(chan string, 100), secrets: make(chan string, 100)}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/hook":
		m := hmac.New(sha256.New, o.key)
		io.WriteString(m, r.Header.Get("Webhook-Id")+"."+r.Header.Get("Webhook-Timestamp")+"."+string(body))
		signed := "another secret"
		if strings.Contains(r.Header.Get("Webhook-Signature"), base64.StdEncoding.EncodeToString(m.Sum(nil))) {
			signed = "the secret"
		}
		o.events <- signed
	case "/.well-known/openid-configuration":
		json.NewEncoder(w).Encode(map[string]any{"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize",
			"token_endpoint":           o.URL + "/token",
			"jwks_uri":                 o.URL + "/jwks",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	case "/token":
		form, _ := url.ParseQuery(string(body))
		_, secret, ok := r.BasicAuth()
		if !ok {
			secret = form.Get("client_secret")
		}
		o.secrets <- secret
		w.WriteHeader(http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// taken is what comes next, or the test's end.
func taken(t *testing.T, c chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(30 * time.Second):
		t.Fatal("nothing has come")
		return ""
	}
}

// post is a call that must succeed; it returns the answer's fields.
func posted(v *program.Server, path, bearer string, body any) map[string]any {
	v.Helper()
	r := v.Call("POST", path, bearer, body)
	if r.Status/100 != 2 {
		v.Fatalf("POST %s: %d %s", path, r.Status, r.Body)
	}
	var out map[string]any
	r.Into(v, &out)
	return out
}

// sealedRows are the rows of a column.
func sealedRows(s *program.Site, c secrets.Column) map[string][]byte {
	s.Helper()
	out := map[string][]byte{}
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT id, "+c.Name()+" FROM "+c.Table()+" WHERE "+c.Name()+" IS NOT NULL", nil,
				func(r *db.Row) error {
					if out[r.Text(0)] = append([]byte(nil), r.Bytes(1)...); c.Text() {
						out[r.Text(0)] = []byte(r.Text(1))
					}
					return nil
				})
		})
	})
	return out
}

// unname makes the sealed values of a column be as older versions wrote them.
func unname(s *program.Site, c secrets.Column) {
	s.Helper()
	for id, sealed := range sealedRows(s, c) {
		var old any = sealed[8:]
		if c.Text() {
			_, old, _ = strings.Cut(string(sealed), ":")
		}
		s.Write("UPDATE "+c.Table()+" SET "+c.Name()+" = $2 WHERE id = $1", id, old)
	}
}

func keyFile(t *testing.T, name string) (path string, keys secrets.Keys) {
	t.Helper()
	master := make([]byte, secrets.MasterSize)
	rand.Read(master)
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(master)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := secrets.New(master)
	if err != nil {
		t.Fatal(err)
	}
	return path, keys
}

// keyAside takes a site's master key out of its data directory, where a server
// would find it without being told.
func keyAside(s *program.Site, name string) (path string, keys secrets.Keys) {
	s.Helper()
	text, err := os.ReadFile(s.MasterKeyFile())
	if err != nil {
		s.Fatal(err)
	}
	master, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		s.Fatal(err)
	}
	if keys, err = secrets.New(master); err != nil {
		s.Fatal(err)
	}
	if err := os.Remove(s.MasterKeyFile()); err != nil {
		s.Fatal(err)
	}
	return s.File(filepath.Join(s.TempDir(), name), string(text)), keys
}

// rekeying is a site with something sealed in every column.
type rekeying struct {
	*program.Site
	*outside
	email, password        string
	secret                 totp.Secret
	factor, hook, provider string
	step                   int // codes used
}

func (k *rekeying) fill(v *program.Server) {
	who := v.Token(k.email, k.password)
	enrolled := posted(v, "/auth/v1/factors", who, map[string]string{"factor_type": "totp"})
	k.factor = enrolled["id"].(string)
	k.secret = totp.Secret(enrolled["totp"].(map[string]any)["secret"].(string))
	made := posted(v, "/v1/webhooks", who, map[string]any{"url": k.URL + "/hook", "events": []string{"webhook.test"}})
	k.hook = made["id"].(string)
	made = posted(v, "/v1/webhooks/"+k.hook+"/rotate", who, nil)
	k.key, _ = base64.StdEncoding.DecodeString(strings.TrimPrefix(made["secret"].(string), "whsec_"))
	made = posted(v, "/auth/v1/sso/connections", who,
		map[string]any{"kind": "oidc", "name": "Corp", "client_id": "client", "client_secret": "secret-of-the-client",
			"issuer":  k.URL,
			"domains": []string{"corp.example"}})
	k.provider = made["id"].(string)
	posted(v, "/auth/v1/recover", "", map[string]string{"email": k.email, "code_challenge": strings.Repeat("a", 43),
		"code_challenge_method": "s256"})
	k.works(v, who, "before")
}

// works uses every secret that rests in the database.
func (k *rekeying) works(v *program.Server, who, when string) {
	k.Helper()
	asked := posted(v, "/auth/v1/factors/"+k.factor+"/challenge", who, nil)
	code, err := k.secret.At(time.Now().Add(time.Duration(k.step) * 30 * time.Second)) // one code counts once
	if err != nil {
		k.Fatal(err)
	}
	k.step++
	raised := posted(v, "/auth/v1/factors/"+k.factor+"/verify", who,
		map[string]any{"challenge_id": asked["id"], "code": code})
	who, _ = raised["access_token"].(string)
	begun := posted(v, "/auth/v1/sso/connections/"+k.provider+"/test", who, nil)
	there, err := url.Parse(begun["url"].(string))
	if err != nil {
		k.Fatal(err)
	}
	v.Call("GET", "/auth/v1/sso/oidc/"+k.provider+"/callback?"+url.Values{"code": {"x"},
		"state": {there.Query().Get("state")}}.Encode(), "", nil)
	if got := taken(k.T, k.secrets); got != "secret-of-the-client" {
		k.Errorf("%s: the OpenID client's secret is %q", when, got)
	}
	posted(v, "/v1/webhooks/"+k.hook+"/test", who, nil)
	if got := taken(k.T, k.events); got != "the secret" {
		k.Errorf("%s: the event was signed with %s", when, got)
	}
}

// After a change of the master key every secret works that rests in the
// database, and the old key opens nothing: no column, no API key, no session.
func TestRekey(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		o := newOutside(s.T)
		k := &rekeying{Site: s, outside: o, email: "owner@north.example", password: "holdfast-demo"}
		first, old := keyAside(s, "old.key")
		second, fresh := keyFile(s.T, "new.key")
		flags := []string{"--dev", "--webhook-allow-private", "--sso-allow-private"}
		v := s.Serve(append(flags, "--master-key-file", first)...)
		k.fill(v)
		before, left := v.Token(k.email, k.password), s.Keys("--master-key-file", first)
		jwks := string(v.Call("GET", "/auth/v1/.well-known/jwks.json", "", nil).Body)
		signed, _ := v.SignIn(k.email, k.password)
		s.Refused(`runs on this database|uses the data directory`, "keys", "rekey", "--master-key-file", first,
			"--new-key-file", second)
		v.Stop()
		for _, c := range []secrets.Column{secrets.SigningKey, secrets.FactorSecret, secrets.ConnectionSecret} {
			unname(s, c)
		}

		third, _ := keyFile(s.T, "third.key")
		s.Refused(`is this the master key it was sealed with`, "keys", "rekey", "--old-key-file", third, "--new-key-file",
			second)
		s.Refused(`are the same`, "keys", "rekey", "--old-key-file", first, "--new-key-file", first)
		s.Refused(`--new-key-file`, "keys", "rekey", "--master-key-file", first)
		s.Exec("keys", "rekey", "--master-key-file", first, "--new-key-file", second)
		for c := range secrets.Columns {
			rows := sealedRows(s, c)
			if len(rows) == 0 {
				s.Errorf("nothing is sealed in %s.%s: give it something in fill", c.Table(), c.Name())
			}
			for id, sealed := range rows {
				if _, err := fresh.Open(c, sealed, id); err != nil {
					s.Errorf("the new key: %v", err)
				}
				if _, err := old.Open(c, sealed, id); err == nil {
					s.Errorf("the old key opens %s of %s %s", c.Name(), c.Table(), id)
				}
			}
		}
		// As after a crash before the settings were changed.
		if out := s.Exec("keys", "rekey", "--master-key-file", second, "--old-key-file", first); !strings.Contains(out,
			"already") {
			s.Errorf("once more: %s", out)
		}
		if out := s.Finish(s.Command(nil, "serve", "--listen", "127.0.0.1:0", "--master-key-file", first),
			""); out.Code != 1 ||
			!strings.Contains(out.Err, "master key") {
			s.Errorf("a server with the old key: %s", out)
		}

		v = s.Serve(append(flags, "--master-key-file", second)...)
		if got := string(v.Call("GET", "/auth/v1/.well-known/jwks.json", "", nil).Body); got != jwks {
			s.Errorf("other signing keys: %s, before %s", got, jwks)
		}
		k.works(v, v.Token(k.email, k.password), "after")
		if got := v.Call("GET", "/auth/v1/user", before, nil).Status; got != http.StatusForbidden {
			s.Errorf("a session from before: %d", got)
		}
		if got := v.Call("POST", "/auth/v1/token?grant_type=refresh_token", "",
			map[string]string{"refresh_token": signed.RefreshToken}).Status; got != http.StatusBadRequest {
			s.Errorf("a refresh token from before: %d", got)
		}
		now := s.Keys("--master-key-file", second)
		for _, name := range []string{"SECRET_KEY", "SERVICE_ROLE_KEY"} {
			if got := v.Call("GET", "/rest/v1/zones?limit=1", left[name], nil).Status; got != http.StatusUnauthorized {
				s.Errorf("the old %s: %d", name, got)
			}
			if got := v.Call("GET", "/rest/v1/zones?limit=1", now[name], nil).Status; got != http.StatusOK {
				s.Errorf("the new %s: %d", name, got)
			}
		}
		s.Exec("verify", "--audit", "--master-key-file", second)
	})
}

// A server that starts with the old key while the change runs does not go on
// with it: it waits, finds the new key, and ends. One that has come before the
// change begins ends the change.
func TestServersThatStartDuringRekey(t *testing.T) {
	s := program.SiteOn(t, db.PostgreSQL)
	first, _ := keyFile(t, "old.key")
	second, _ := keyFile(t, "new.key")
	s.Serve("--master-key-file", first).Stop()
	began := func(args ...string) chan program.Outcome {
		ended := make(chan program.Outcome, 1)
		cmd := s.Command(nil, args...)
		t.Cleanup(func() {
			if cmd.Process != nil {
				cmd.Process.Kill()
			}
		})
		go func() { ended <- s.Finish(cmd, "") }()
		return ended
	}
	rekey := []string{"keys", "rekey", "--master-key-file", first, "--new-key-file", second}
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--master-key-file", first}

	// The node's row is not committed when the change looks for nodes.
	var changed chan program.Outcome
	holding(s, "INSERT INTO nodes (id, beat, seen_at) VALUES ('0190a000-0000-7000-8000-0000000000f1', 1, current_timestamp)", func() {
		changed = began(rekey...)
		s.Eventually("the change waits for the node", func() bool { return waiting(s) == 1 })
	})
	if out := <-changed; out.Code != 1 || !strings.Contains(out.Err, "a server runs on this database") {
		t.Errorf("a node has come: %s", out)
	}
	s.Write("DELETE FROM nodes")

	var started chan program.Outcome
	holding(s, "UPDATE signing_keys SET id = id", func() {
		changed = began(rekey...)
		s.Eventually("the change is under way", func() bool { return waiting(s) == 1 })
		started = began(serve...)
		s.Eventually("the server waits for it", func() bool { return waiting(s) == 2 })
	})
	if out := <-changed; out.Code != 0 {
		t.Errorf("the change: %s", out)
	}
	if out := <-started; out.Code != 1 || !strings.Contains(out.Err, "master key") {
		t.Errorf("a server that started meanwhile: %s", out)
	}
	if n := s.Number("SELECT COUNT(*) FROM nodes"); n != 0 {
		t.Errorf("%d nodes are left", n)
	}
}

// holding runs do while a transaction is open that has changed something.
func holding(s *program.Site, sql string, do func()) {
	s.Helper()
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Write(db.Patient(ctx, time.Minute), db.Scope{All: true}, func(tx *db.Tx) error {
			if _, err := tx.Exec(sql); err != nil {
				return err
			}
			do()
			return nil
		})
	})
}

// waiting is how many connections wait for another's lock.
func waiting(s *program.Site) int64 {
	s.Helper()
	return s.Number("SELECT COUNT(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())")
}

// The key of the data directory is replaced, and a crash before that is made
// good by the same command.
func TestRekeyInDataDirectory(t *testing.T) {
	s := program.Embedded(t)
	s.Exec("status")
	second, _ := keyFile(t, "new.key")
	was, err := os.ReadFile(s.MasterKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.File(s.MasterKeyFile(), string(was))
		s.Exec("keys", "rekey", "--new-key-file", second)
		now, _ := os.ReadFile(s.MasterKeyFile())
		want, _ := os.ReadFile(second)
		if string(now) != string(want) {
			t.Errorf("master.key is not the new key")
		}
		s.Exec("status")
	}
}
