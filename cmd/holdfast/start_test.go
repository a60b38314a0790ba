package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
)

func TestHelp(t *testing.T) {
	s := embedded(t)
	root := s.run("--help")
	for _, word := range []string{"admin", "config", "healthcheck", "import", "migrate", "serve", "status", "tenant", "verify", "--data", "--database",
		"serve --demo"} {
		if !strings.Contains(root, word) {
			t.Errorf("--help does not mention %s", word)
		}
	}
	serve := s.run("serve", "--help")
	for _, setting := range config.Settings() {
		if !setting.Hidden && !strings.Contains(serve, "--"+setting.Flag+" ") && !strings.Contains(serve, "--"+setting.Flag+"[") {
			t.Errorf("serve --help does not list --%s", setting.Flag)
		}
	}
	for _, args := range [][]string{
		{"--help", "--data", "x"}, {"--data", "x", "--help"}, {"-h", "--data", "x"}, {"--help", "serve", "--data", "x"}, {"serve", "--help", "--data", "x"},
		{"tenant", "--help", "list", "--data", "x"}, {"--dev", "--help", "--data", "x"}, {"--version", "--data", "x"},
	} {
		cmd := exec.Command(program, args...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("holdfast %v: %v\n%s", args, err, out)
		}
	}
	if _, err := os.Stat(s.data); err == nil {
		t.Error("asking for help made a data directory")
	}
}

// What is misspelt, weak or dangerous keeps the server from starting, with a
// message that says what to do and shows no secret.
func TestServeRefuses(t *testing.T) {
	type row struct {
		env    []string
		args   []string
		want   []string
		secret string
	}
	for name, r := range map[string]row{
		"unknown variable": {env: []string{"HOLDFAST_LISTN=127.0.0.1:0"}, want: []string{"HOLDFAST_LISTN", "did you mean HOLDFAST_LISTEN?"}},
		"unknown flag":     {args: []string{"--listn", "x"}, want: []string{"--listn"}},
		"short secret":     {env: []string{"HOLDFAST_JWT_SECRET=hunter2hunter2"}, want: []string{"jwt_secret", "too weak", "openssl"}, secret: "hunter2"},
		"repeated secret":  {env: []string{"HOLDFAST_JWT_SECRET=" + strings.Repeat("k", 40)}, want: []string{"too weak"}, secret: "kkkk"},
		"published secret": {env: []string{"HOLDFAST_JWT_SECRET=super-secret-jwt-token-with-at-least-32-characters-long"}, want: []string{"too weak"},
			secret: "super-secret"},
		"bad master key":       {env: []string{"HOLDFAST_MASTER_KEY=hunter2hunter2"}, want: []string{"master_key", "openssl"}, secret: "hunter2"},
		"demo for everyone":    {args: []string{"--demo", "--listen", "0.0.0.0:0"}, want: []string{"loopback", "127.0.0.1"}},
		"dev for everyone":     {args: []string{"--dev", "--listen", ":0"}, want: []string{"loopback"}},
		"bad duration":         {env: []string{"HOLDFAST_ACCESS_TOKEN_TTL=soon"}, want: []string{"HOLDFAST_ACCESS_TOKEN_TTL", "duration"}},
		"missing file":         {args: []string{"--config", "no-such-file"}, want: []string{"no-such-file"}},
		"half a certificate":   {args: []string{"--tls-cert", "cert.pem"}, want: []string{"tls_cert and tls_key"}},
		"unreachable database": {args: []string{"--database", "postgres://holdfast:hunter2@127.0.0.1:1/holdfast"}, want: []string{"127.0.0.1"}, secret: "hunter2"},
		"no such database":     {args: []string{"--database", "mysql://holdfast:hunter2@127.0.0.1/holdfast"}, want: []string{"database URL"}, secret: "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := embedded(t)
			o := s.finish(s.command(r.env, append([]string{"serve", "--listen", "127.0.0.1:0"}, r.args...)...), "")
			if o.code != 1 {
				t.Errorf("want exit status 1: %s", o)
			}
			for _, w := range r.want {
				if !strings.Contains(o.err, w) {
					t.Errorf("the message lacks %q: %s", w, o)
				}
			}
			if r.secret != "" && strings.Contains(o.out+o.err, r.secret) {
				t.Errorf("the secret is shown: %s", o)
			}
		})
	}
}

// The password of the demonstration is public: a database with its users is
// served to this machine only until each has another.
func TestDemoUsersStayOnLoopback(t *testing.T) {
	eachDemo(t, func(s *site) {
		o := s.refused(`password that everybody knows`, "serve", "--listen", "0.0.0.0:0")
		for _, want := range []string{"owner@north.example, ", "admin@south.example", "holdfast admin reset-password"} {
			if !strings.Contains(o.err, want) {
				s.Errorf("the message lacks %q: %s", want, o)
			}
		}
		s.runWith("eleven quiet herons\n", "admin", "reset-password", "owner@north.example")
		if o := s.refused(`password that everybody knows`, "serve", "--listen", "0.0.0.0:0"); strings.Contains(o.err, "owner@north.example") {
			s.Errorf("an account with a password of its own is named: %s", o)
		}
		s.write("UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE email = $1)", "owner@north.example")
		s.serve("--listen", "0.0.0.0:0").stop()
	})
}

// One data directory, one server; the first one goes on.
func TestSecondServer(t *testing.T) {
	s := embedded(t)
	first := s.serve()
	o := s.refused(`(?i)another|already`, "serve", "--listen", "127.0.0.1:0")
	if !strings.Contains(o.err, s.data) {
		t.Errorf("the message does not name the directory: %s", o)
	}
	if r := first.call("GET", "/readyz", "", nil); r.status != http.StatusOK {
		t.Errorf("the first server answers %d", r.status)
	}
	if got := s.keys()["API_URL"]; got != first.url {
		t.Errorf("the second server took the first one's place: %s, want %s", got, first.url)
	}
	first.stop()
	s.serve().stop()
}

func TestAddressInUse(t *testing.T) {
	first := embedded(t).serve()
	embedded(t).refused(`listen on .*another server`, "serve", "--listen", strings.TrimPrefix(first.url, "http://"))
}

// An older program refuses a newer schema and changes
// nothing.
func TestNewerSchema(t *testing.T) {
	each(t, func(s *site) {
		s.write("INSERT INTO schema_migrations VALUES (9999, 'future', $1)", time.Now())
		before := s.fingerprint()
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}, {"tenant", "list"}, {"verify"}} {
			s.refused(`newer Holdfast`, args...)
		}
		if s.fingerprint() != before {
			s.Error("a refused command changed the schema")
		}
	})
}

func TestMigrateTwice(t *testing.T) {
	eachEmpty(t, func(s *site) {
		first := s.run("migrate")
		id := strings.TrimSpace(s.run("tenant", "create", "Acme"))
		if second := s.run("migrate"); second != first || !strings.Contains(first, "up to date") {
			s.Errorf("migrate printed %q, then %q", first, second)
		}
		if list := s.run("tenant", "list"); !strings.Contains(list, id) {
			s.Errorf("the tenant is gone: %s", list)
		}
		s.serve().stop()
		s.run("migrate")
	})
}

// From nothing to a banner that tells all that is needed, to a quick end.
func TestServeAndStop(t *testing.T) {
	eachEmpty(t, func(s *site) {
		v := s.serve(append([]string{"--demo"}, asByDefault...)...)
		engine := "SQLite"
		if s.dsn != "" {
			engine = "PostgreSQL"
		}
		keys := s.keys()
		for _, want := range []string{v.url + "/v1/", v.url + "/functions/v1/", v.url + "/dev/mail", s.data, engine, keys["PUBLISHABLE_KEY"],
			"owner@north.example", "holdfast-demo", "Ctrl-C"} {
			if !strings.Contains(v.out.String(), want) {
				s.Errorf("the banner lacks %q:\n%s", want, v.out)
			}
		}
		if strings.Contains(v.out.String(), keys["SECRET_KEY"]) {
			s.Error("the banner shows the secret key")
		}
		bearer := v.token("owner@north.example", "holdfast-demo") // and leaves an idle connection behind
		if r := v.call("GET", "/v1/import-jobs?select=file_name&status=eq.ready", bearer, nil); !strings.Contains(string(r.body), "supplier_prices.csv") {
			s.Errorf("no file to try: %d %s", r.status, r.body)
		}
		s.Logf("stopping took %v", v.stop())
		if rest := v.out.String(); strings.Contains(rest, `"ERROR"`) {
			s.Errorf("errors were logged:\n%s", rest)
		}
	})
}

func TestStatus(t *testing.T) {
	eachDemo(t, func(s *site) {
		v := s.serve("--dev")
		keys := s.keys()
		if keys["API_URL"] != v.url || !strings.Contains(v.out.String(), keys["DATABASE"]) {
			s.Errorf("status: %v, server at %s:\n%s", keys, v.url, v.out)
		}
		for _, name := range []string{"SERVICE_ROLE_KEY", "SECRET_KEY"} {
			var rows []struct {
				TenantID string `json:"tenant_id"`
			}
			r := v.call("GET", "/rest/v1/zones?select=tenant_id&limit=1000", keys[name], nil)
			r.into(s, &rows)
			seen := map[string]bool{}
			for _, row := range rows {
				seen[row.TenantID] = true
			}
			if r.status != http.StatusOK || len(seen) != 2 {
				s.Errorf("%s: status %d, %d rows of %d tenants", name, r.status, len(rows), len(seen))
			}
		}
		for _, name := range []string{"ANON_KEY", "PUBLISHABLE_KEY"} {
			if r := v.call("GET", "/auth/v1/settings", keys[name], nil); r.status != http.StatusOK {
				s.Errorf("%s: status %d", name, r.status)
			}
			if r := v.call("GET", "/rest/v1/zones", keys[name], nil); r.status != http.StatusUnauthorized {
				s.Errorf("%s reads records: status %d", name, r.status)
			}
		}
		cmd := exec.Command("sh", "-euc", `eval "$1"; printf '%s %s' "$API_URL" "$DATABASE"`, "sh", s.run("status", "-o", "env"))
		if out, err := cmd.Output(); err != nil || string(out) != v.url+" "+keys["DATABASE"] {
			s.Errorf("a shell reads %q, %v", out, err)
		}
	})
}

func TestHealthcheck(t *testing.T) {
	each(t, func(s *site) {
		s.refused("does not answer", "healthcheck", "--listen", "127.0.0.1:1")
		v := s.serve()
		if out := s.run("healthcheck"); !strings.Contains(out, v.url) {
			s.Errorf("healthcheck asked another server: %s", out)
		}
		v.stop()
		s.refused("does not answer", "healthcheck", "--listen", "127.0.0.1:1")
	})
}

// selfSigned writes a certificate that nobody knows, for other names than this
// machine's, and its key.
func (s *site) selfSigned(cert, key string) {
	s.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"wms.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &k.PublicKey, k)
	if err != nil {
		s.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		s.Fatal(err)
	}
	s.file(cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	s.file(key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})))
}

// The server with a certificate for its public name is asked where it listens,
// also after the certificate was renewed; the others are told the public name.
func TestHealthcheckTLS(t *testing.T) {
	s := embedded(t)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	s.selfSigned(cert, key)
	v := s.serve("--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key)
	s.run("healthcheck")
	if got := s.keys()["API_URL"]; got != v.url || !strings.HasPrefix(got, "https://localhost:") {
		t.Errorf("status: %s, server at %s", got, v.url)
	}
	shown := func() string {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}).Get(v.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := shown()
	s.selfSigned(cert, key)
	s.run("healthcheck") // the new one is not shown yet
	v.signal(syscall.SIGHUP)
	s.eventually("the new certificate is shown", func() bool { return shown() != first })
	s.eventually("the new certificate is believed", func() bool { return s.finish(s.command(nil, "healthcheck"), "").code == 0 })
	v.stop()

	_, port, _ := strings.Cut(strings.TrimPrefix(v.url, "https://"), ":")
	everywhere := []string{"0.0.0.0"}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		everywhere = append(everywhere, "[::]")
		l.Close()
	} else {
		t.Logf("IPv6 is off on this machine, so the test is of IPv4 alone: %v", err)
	}
	for _, host := range everywhere {
		named := s.command(nil, "serve", "--listen", host+":"+port, "--tls-cert", cert, "--tls-key", key, "--public-url", "https://wms.example")
		if err := named.Start(); err != nil {
			t.Fatal(err)
		}
		end := sync.OnceFunc(func() { named.Process.Kill(); named.Wait() })
		t.Cleanup(end)
		s.eventually("a server with a public name is healthy at "+host, func() bool { return s.finish(s.command(nil, "healthcheck"), "").code == 0 })
		if got := s.keys()["API_URL"]; got != "https://wms.example" {
			t.Errorf("%s: status sends clients to %s", host, got)
		}
		end()
	}
}

// The dump hides secrets; without any it is a file to start from.
func TestConfigDump(t *testing.T) {
	s := embedded(t)
	secret := "Zm9ydHktZWlnaHQtcmFuZG9tLWxvb2tpbmctY2hhcmFjdGVycw"
	o := s.finish(s.command([]string{
		"HOLDFAST_JWT_SECRET=" + secret, "HOLDFAST_SMTP_URL=smtp://jo:" + secret + "@mail.example:587",
		"HOLDFAST_DATABASE_URL=postgres://holdfast:" + secret + "@db.example/holdfast",
		"HOLDFAST_OAUTH_ACME_CLIENT_ID=acme", "HOLDFAST_OAUTH_ACME_ISSUER=https://id.acme.example", "HOLDFAST_OAUTH_ACME_SECRET=" + secret,
	}, "config", "dump"), "")
	if o.code != 0 || strings.Contains(o.out+o.err, secret) {
		t.Errorf("config dump: %s", o)
	}
	for _, want := range []string{"jwt_secret = (set)", "smtp_url = (set)", "database_url = (set)", "data = " + s.data, "rate_limits = on"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("config dump lacks %q: %s", want, o.out)
		}
	}
	file := filepath.Join(t.TempDir(), "holdfast.conf")
	plain := s.run("config", "dump", "--mail-interval", "7s", "--redirect-urls", "https://a.example/*,https://b.example/")
	if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := s.run("config", "dump", "--config", file); again != plain {
		t.Errorf("read back:\n%s\nwant:\n%s", again, plain)
	}
}

// write changes the database behind the program's back.
func (s *site) write(sql string, args ...any) {
	s.Helper()
	s.open(func(ctx context.Context, d *db.DB) error {
		return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec(sql, args...)
			return err
		})
	})
}

// number reads one number from the database.
func (s *site) number(sql string, args ...any) (n int64) {
	s.Helper()
	s.open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One(sql, args, func(r *db.Row) error { n = r.Int(0); return nil })
		})
	})
	return n
}

func (s *site) open(do func(context.Context, *db.DB) error) {
	s.Helper()
	ctx := context.Background()
	d, err := db.Open(ctx, db.Options{URL: s.dsn, Dir: s.data})
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	if err := do(ctx, d); err != nil {
		s.Fatal(err)
	}
}
