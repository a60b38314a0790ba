package main_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/testkit/program"
)

func TestHelp(t *testing.T) {
	s := program.Embedded(t)
	root := s.Exec("--help")
	for _, word := range []string{"admin", "config", "healthcheck", "import", "migrate", "serve", "status", "tenant",
		"verify", "--data", "--database",
		"serve --demo"} {
		if !strings.Contains(root, word) {
			t.Errorf("--help does not mention %s", word)
		}
	}
	serve := s.Exec("serve", "--help")
	for _, setting := range config.Settings() {
		if !setting.Hidden && !strings.Contains(serve, "--"+setting.Flag+" ") &&
			!strings.Contains(serve, "--"+setting.Flag+"[") {
			t.Errorf("serve --help does not list --%s", setting.Flag)
		}
	}
	for _, args := range [][]string{
		{"--help", "--data", "x"}, {"--data", "x", "--help"}, {"-h", "--data", "x"}, {"--help", "serve", "--data", "x"},
		{"serve", "--help", "--data", "x"},
		{"tenant", "--help", "list", "--data", "x"}, {"--dev", "--help", "--data", "x"}, {"--version", "--data", "x"},
	} {
		cmd := exec.Command(program.Path(t), args...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("holdfast %v: %v\n%s", args, err, out)
		}
	}
	if _, err := os.Stat(s.Data); err == nil {
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
		"unknown variable": {env: []string{"HOLDFAST_LISTN=127.0.0.1:0"},
			want: []string{"HOLDFAST_LISTN", "did you mean HOLDFAST_LISTEN?"}},
		"unknown flag": {args: []string{"--listn", "x"}, want: []string{"--listn"}},
		"short secret": {env: []string{"HOLDFAST_JWT_SECRET=hunter2hunter2"},
			want: []string{"jwt_secret", "too weak", "openssl"}, secret: "hunter2"},
		"repeated secret": {env: []string{"HOLDFAST_JWT_SECRET=" + strings.Repeat("k", 40)}, want: []string{"too weak"},
			secret: "kkkk"},
		"published secret": {env: []string{"HOLDFAST_JWT_SECRET=super-secret-jwt-token-with-at-least-32-characters-long"},
			want:   []string{"too weak"},
			secret: "super-secret"},
		"bad master key": {env: []string{"HOLDFAST_MASTER_KEY=hunter2hunter2"},
			want: []string{"master_key", "openssl"}, secret: "hunter2"},
		"demo for everyone": {args: []string{"--demo", "--listen", "0.0.0.0:0"}, want: []string{"loopback", "127.0.0.1"}},
		"dev for everyone":  {args: []string{"--dev", "--listen", ":0"}, want: []string{"loopback"}},
		"bad duration": {env: []string{"HOLDFAST_ACCESS_TOKEN_TTL=soon"},
			want: []string{"HOLDFAST_ACCESS_TOKEN_TTL", "duration"}},
		"missing file":       {args: []string{"--config", "no-such-file"}, want: []string{"no-such-file"}},
		"half a certificate": {args: []string{"--tls-cert", "cert.pem"}, want: []string{"tls_cert and tls_key"}},
		"unreachable database": {args: []string{"--database", "postgres://holdfast:hunter2@127.0.0.1:1/holdfast"},
			want: []string{"127.0.0.1"}, secret: "hunter2"},
		"no such database": {args: []string{"--database", "mysql://holdfast:hunter2@127.0.0.1/holdfast"},
			want: []string{"database URL"}, secret: "hunter2"},
		"backups in a file": {args: []string{"--backup-to", os.Args[0], "--backup-passphrase",
			program.BackupPassphrase},
			want: []string{"backup_to", "is a file"}},
		"backups in no bucket": {
			args: []string{"--backup-to", "s3://KEY:hunter2@nohost", "--backup-passphrase", program.BackupPassphrase},
			want: []string{"backup_to", "names no bucket", "s3://KEY:SECRET@"}, secret: "hunter2"},
		"files in no bucket": {args: []string{"--blob-url", "s3://KEY:hunter2@nohost"},
			want: []string{"blob_url", "names no bucket"}, secret: "hunter2"},
		"short passphrase": {args: []string{"--backup-to", "backups", "--backup-passphrase", "hunter2"},
			want: []string{"backup_passphrase", "at least 12"}, secret: "hunter2"},
		"no recipient": {args: []string{"--backup-to", "backups", "--backup-recipient", "somebody"},
			want: []string{"backup_recipient", "age public key"}},
		"negative quota": {args: []string{"--import-quota", "-1"}, want: []string{"import_quota", "between 1 and"}},
		"no mail server": {env: []string{"HOLDFAST_SMTP_URL=http://user:hunter2@mail"}, want: []string{"mail", "smtp"},
			secret: "hunter2"},
		"no Redis": {env: []string{"HOLDFAST_REDIS_URL=http://user:hunter2@cache"}, want: []string{"redis",
			"rediss://"},
			secret: "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := program.Embedded(t)
			o := s.Finish(s.Command(r.env, append([]string{"serve", "--listen", "127.0.0.1:0"}, r.args...)...), "")
			if o.Code != 1 {
				t.Errorf("want exit status 1: %s", o)
			}
			for _, w := range r.want {
				if !strings.Contains(o.Err, w) {
					t.Errorf("the message lacks %q: %s", w, o)
				}
			}
			if r.secret != "" && strings.Contains(o.Out+o.Err, r.secret) {
				t.Errorf("the secret is shown: %s", o)
			}
		})
	}
}

// The password of the demonstration is public: a database with its users is
// served to this machine only until each has another.
func TestDemoUsersStayOnLoopback(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		o := s.Refused(`password that everybody knows`, "serve", "--listen", "0.0.0.0:0")
		for _, want := range []string{"owner@north.example, ", "admin@south.example", "holdfast admin reset-password"} {
			if !strings.Contains(o.Err, want) {
				s.Errorf("the message lacks %q: %s", want, o)
			}
		}
		s.ExecWith("eleven quiet herons\n", "admin", "reset-password", "owner@north.example")
		if o := s.Refused(`password that everybody knows`, "serve", "--listen", "0.0.0.0:0"); strings.Contains(o.Err,
			"owner@north.example") {
			s.Errorf("an account with a password of its own is named: %s", o)
		}
		s.Write("UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE email = $1)", "owner@north.example")
		s.Serve("--listen", "0.0.0.0:0").Stop()
	})
}

// One data directory, one server; the first one goes on.
func TestSecondServer(t *testing.T) {
	s := program.Embedded(t)
	first := s.Serve()
	o := s.Refused(`(?i)another|already`, "serve", "--listen", "127.0.0.1:0")
	if !strings.Contains(o.Err, s.Data) {
		t.Errorf("the message does not name the directory: %s", o)
	}
	if r := first.Call("GET", "/readyz", "", nil); r.Status != http.StatusOK {
		t.Errorf("the first server answers %d", r.Status)
	}
	if got := s.Keys()["API_URL"]; got != first.URL {
		t.Errorf("the second server took the first one's place: %s, want %s", got, first.URL)
	}
	first.Stop()
	s.Serve().Stop()
}

func TestAddressInUse(t *testing.T) {
	first := program.Embedded(t).Serve()
	program.Embedded(t).Refused(`listen on .*another server`, "serve", "--listen",
		strings.TrimPrefix(first.URL, "http://"))
}

// An older program refuses a newer schema and changes
// nothing.
func TestNewerSchema(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Write("INSERT INTO schema_migrations VALUES (9999, 'future', $1)", time.Now())
		before := s.Fingerprint()
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}, {"tenant", "list"}, {"verify"}} {
			s.Refused(`newer Holdfast`, args...)
		}
		if s.Fingerprint() != before {
			s.Error("a refused command changed the schema")
		}
	})
}

func TestMigrateTwice(t *testing.T) {
	program.EachEmpty(t, func(s *program.Site) {
		first := s.Exec("migrate")
		id := strings.TrimSpace(s.Exec("tenant", "create", "Acme"))
		if second := s.Exec("migrate"); second != first || !strings.Contains(first, "up to date") {
			s.Errorf("migrate printed %q, then %q", first, second)
		}
		if list := s.Exec("tenant", "list"); !strings.Contains(list, id) {
			s.Errorf("the tenant is gone: %s", list)
		}
		s.Serve().Stop()
		s.Exec("migrate")
	})
}

// From nothing to a banner that tells all that is needed, to a quick end.
func TestServeAndStop(t *testing.T) {
	program.EachEmpty(t, func(s *program.Site) {
		v := s.Serve(append([]string{"--demo"}, program.AsByDefault...)...)
		engine := "SQLite"
		if s.DSN != "" {
			engine = "PostgreSQL"
		}
		keys := s.Keys()
		for _, want := range []string{v.URL + "/v1/", v.URL + "/functions/v1/", v.URL + "/dev/mail", s.Data, engine,
			keys["PUBLISHABLE_KEY"],
			"owner@north.example", "holdfast-demo", "Ctrl-C"} {
			if !strings.Contains(v.Out.String(), want) {
				s.Errorf("the banner lacks %q:\n%s", want, v.Out)
			}
		}
		if strings.Contains(v.Out.String(), keys["SECRET_KEY"]) {
			s.Error("the banner shows the secret key")
		}
		bearer := v.Token("owner@north.example", "holdfast-demo") // and leaves an idle connection behind
		if r := v.Call("GET", "/v1/import-jobs?select=file_name&status=eq.ready", bearer,
			nil); !strings.Contains(string(r.Body), "supplier_prices.csv") {
			s.Errorf("no file to try: %d %s", r.Status, r.Body)
		}
		s.Logf("stopping took %v", v.Stop())
		if rest := v.Out.String(); strings.Contains(rest, `"ERROR"`) {
			s.Errorf("errors were logged:\n%s", rest)
		}
	})
}

func TestStatus(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		keys := s.Keys()
		if keys["API_URL"] != v.URL || !strings.Contains(v.Out.String(), keys["DATABASE"]) {
			s.Errorf("status: %v, server at %s:\n%s", keys, v.URL, v.Out)
		}
		for _, name := range []string{"SERVICE_ROLE_KEY", "SECRET_KEY"} {
			var rows []struct {
				TenantID string `json:"tenant_id"`
			}
			r := v.Call("GET", "/rest/v1/zones?select=tenant_id&limit=1000", keys[name], nil)
			r.Into(s, &rows)
			seen := map[string]bool{}
			for _, row := range rows {
				seen[row.TenantID] = true
			}
			if r.Status != http.StatusOK || len(seen) != 2 {
				s.Errorf("%s: status %d, %d rows of %d tenants", name, r.Status, len(rows), len(seen))
			}
		}
		for _, name := range []string{"ANON_KEY", "PUBLISHABLE_KEY"} {
			if r := v.Call("GET", "/auth/v1/settings", keys[name], nil); r.Status != http.StatusOK {
				s.Errorf("%s: status %d", name, r.Status)
			}
			if r := v.Call("GET", "/rest/v1/zones", keys[name], nil); r.Status != http.StatusUnauthorized {
				s.Errorf("%s reads records: status %d", name, r.Status)
			}
		}
		cmd := exec.Command("sh", "-euc", `eval "$1"; printf '%s %s' "$API_URL" "$DATABASE"`, "sh",
			s.Exec("status", "-o", "env"))
		if out, err := cmd.Output(); err != nil || string(out) != v.URL+" "+keys["DATABASE"] {
			s.Errorf("a shell reads %q, %v", out, err)
		}
	})
}

func TestHealthcheck(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Refused("does not answer", "healthcheck", "--listen", "127.0.0.1:1")
		v := s.Serve()
		if out := s.Exec("healthcheck"); !strings.Contains(out, v.URL) {
			s.Errorf("healthcheck asked another server: %s", out)
		}
		v.Stop()
		s.Refused("does not answer", "healthcheck", "--listen", "127.0.0.1:1")
	})
}

// The server with a certificate for its public name is asked where it listens,
// also after the certificate was renewed; the others are told the public name.
func TestHealthcheckTLS(t *testing.T) {
	s := program.Embedded(t)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	s.SelfSigned(cert, key)
	admin, before := program.ClosedPort(t), time.Now()
	v := s.Serve("--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--admin-listen", admin)
	if end := metricValue(t, admin, "holdfast_tls_certificate_end_seconds"); end < float64(before.Unix()) ||
		end > float64(before.Add(2*time.Hour).Unix()) {
		t.Errorf("the certificate, which is good for an hour, ends at %v", end)
	}
	s.Exec("healthcheck")
	if got := s.Keys()["API_URL"]; got != v.URL || !strings.HasPrefix(got, "https://localhost:") {
		t.Errorf("status: %s, server at %s", got, v.URL)
	}
	shown := func() string {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}).Get(v.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := shown()
	s.SelfSigned(cert, key)
	s.Exec("healthcheck") // the new one is not shown yet
	v.Signal(syscall.SIGHUP)
	s.Eventually("the new certificate is shown", func() bool { return shown() != first })
	s.Eventually("the new certificate is believed", func() bool {
		return s.Finish(s.Command(nil, "healthcheck"),
			"").Code == 0
	})
	v.Stop()

	_, port, _ := strings.Cut(strings.TrimPrefix(v.URL, "https://"), ":")
	everywhere := []string{"0.0.0.0"}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		everywhere = append(everywhere, "[::]")
		l.Close()
	} else {
		t.Logf("IPv6 is off on this machine, so the test is of IPv4 alone: %v", err)
	}
	for _, host := range everywhere {
		named := s.Command(nil, "serve", "--listen", host+":"+port, "--tls-cert", cert, "--tls-key", key, "--public-url",
			"https://wms.example")
		if err := named.Start(); err != nil {
			t.Fatal(err)
		}
		end := sync.OnceFunc(func() { named.Process.Kill(); named.Wait() })
		t.Cleanup(end)
		s.Eventually("a server with a public name is healthy at "+host,
			func() bool { return s.Finish(s.Command(nil, "healthcheck"), "").Code == 0 })
		if got := s.Keys()["API_URL"]; got != "https://wms.example" {
			t.Errorf("%s: status sends clients to %s", host, got)
		}
		end()
	}
}

// metricValue is one number of a server's metrics.
func metricValue(t *testing.T, admin, name string) float64 {
	t.Helper()
	_, rest, _ := strings.Cut(program.Metrics(t, admin), "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(line, 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return value
}

// The dump hides secrets; without any it is a file to start from.
func TestConfigDump(t *testing.T) {
	s := program.Embedded(t)
	secret := "Zm9ydHktZWlnaHQtcmFuZG9tLWxvb2tpbmctY2hhcmFjdGVycw"
	o := s.Finish(s.Command([]string{
		"HOLDFAST_JWT_SECRET=" + secret, "HOLDFAST_SMTP_URL=smtp://jo:" + secret + "@mail.example:587",
		"HOLDFAST_DATABASE_URL=postgres://holdfast:" + secret + "@db.example/holdfast",
		"HOLDFAST_OAUTH_ACME_CLIENT_ID=acme", "HOLDFAST_OAUTH_ACME_ISSUER=https://id.acme.example",
		"HOLDFAST_OAUTH_ACME_SECRET=" + secret,
	}, "config", "dump"), "")
	if o.Code != 0 || strings.Contains(o.Out+o.Err, secret) {
		t.Errorf("config dump: %s", o)
	}
	for _, want := range []string{"jwt_secret = (set)", "smtp_url = (set)", "database_url = (set)", "data = " + s.Data,
		"rate_limits = on"} {
		if !strings.Contains(o.Out, want) {
			t.Errorf("config dump lacks %q: %s", want, o.Out)
		}
	}
	file := filepath.Join(t.TempDir(), "holdfast.conf")
	plain := s.Exec("config", "dump", "--mail-interval", "7s", "--redirect-urls", "https://a.example/*,https://b.example/")
	if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := s.Exec("config", "dump", "--config", file); again != plain {
		t.Errorf("read back:\n%s\nwant:\n%s", again, plain)
	}
}
