package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// claims are what a token says, unverified.
func claims(t testing.TB, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("not a token: %q", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fields finds the line that holds a word and splits it.
func fields(text, word string) []string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); strings.Contains(line, word) && len(f) > 0 {
			return f
		}
	}
	return nil
}

func TestTenants(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		id := strings.TrimSpace(s.Exec("tenant", "create", "Acme Cold Chain"))
		other := strings.TrimSpace(s.Exec("tenant", "create", "Beta", "--slug", "b"))
		if !regexp.MustCompile(`^[0-9a-f-]{36}$`).MatchString(id) {
			s.Errorf("tenant create printed %q", id)
		}
		list := s.Exec("tenant", "list")
		if f := fields(list, id); len(f) < 2 || f[1] != "acme-cold-chain" {
			s.Errorf("tenant list: %s", list)
		}
		if f := fields(list, other); len(f) < 2 || f[1] != "b" {
			s.Errorf("tenant list: %s", list)
		}
		s.Refused(`there is a tenant with slug "b"`, "tenant", "create", "Again", "--slug", "b")
		if n := strings.Count(s.Exec("tenant", "list"), "\n"); n != 3 {
			s.Errorf("tenant list has %d lines, want a header and two tenants", n)
		}
	})
}

// An operator makes the first administrator, who signs in to the tenant.
func TestAdminCreate(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		id := strings.TrimSpace(s.Exec("tenant", "create", "Acme"))
		out := s.ExecWith(program.Passphrase+"\n", "admin", "create", "Jo@Acme.example", "--tenant", "acme")
		if !strings.Contains(out, "jo@acme.example") || strings.Contains(out, program.Passphrase) {
			s.Errorf("admin create printed %q", out)
		}
		said := claims(s, v.Token("jo@acme.example", program.Passphrase))
		if said["tenant_id"] != id || said["tenant_role"] != "owner" || said["role"] != "authenticated" {
			s.Errorf("claims: %v", said)
		}
		// A tenant that does not exist is made.
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "bea@beta.example", "--tenant", "beta")
		list := s.Exec("admin", "list")
		for email, slug := range map[string]string{"jo@acme.example": "acme", "bea@beta.example": "beta"} {
			if f := fields(list, email); len(f) != 3 || f[1] != "owner" || f[2] != slug {
				s.Errorf("admin list: %s", list)
			}
		}
		// Refusals, which leave nothing behind.
		s.Refused(`no password`, "admin", "create", "eve@acme.example", "--tenant", "acme")
		s.Refused(`(?i)password`, "admin", "create", "eve@acme.example", "--tenant", "acme", "--password", "short")
		s.Refused(`(?i)email`, "admin", "create", "no address", "--tenant", "acme", "--password", program.Passphrase)
		s.Refused(`tenant`, "admin", "create", "eve@acme.example", "--password", program.Passphrase)
		if again := s.Exec("admin", "list"); again != list {
			s.Errorf("after refusals: %s", again)
		}
	})
}

// firstStep finds the command that a server without an administrator shows.
var firstStep = regexp.MustCompile(`(?m)^ +First step +(.+ admin create .+)$`)

// The command that a started server shows makes the first administrator, run in
// a shell as it stands: of this installation, whose folder has a blank in its name.
func TestFirstStepIsACommand(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		moved := filepath.Join(filepath.Dir(s.Data), "the data's folder")
		if err := os.Rename(s.Data, moved); err != nil && !os.IsNotExist(err) {
			s.Fatal(err)
		}
		s.Data = moved
		v := s.Serve()
		shown := firstStep.FindStringSubmatch(v.Out.String())
		if shown == nil {
			s.Fatalf("the server shows no first step:\n%s", v.Out)
		}
		sh := exec.Command("sh", "-euc", shown[1])
		sh.Env, sh.Dir = program.Environ(), s.TempDir()
		if o := s.Finish(sh, program.Passphrase+"\n"); o.Code != 0 {
			s.Fatalf("%s: %s", shown[1], o)
		}
		said := claims(s, v.Token("you@example.com", program.Passphrase))
		if said["tenant_role"] != "owner" || said["tenant_id"] != fields(s.Exec("tenant", "list"), "standard")[0] {
			s.Errorf("claims: %v", said)
		}
	})
}

// A tenant is found by what people call it, whatever its capitals and blanks,
// and made once where there is none.
func TestAdminCreateFindsTheTenant(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		create := func(email, tenant string) {
			s.Helper()
			s.ExecWith(program.Passphrase+"\n", "admin", "create", email, "--tenant", tenant)
		}
		create("anna@acme.example", "Acme")
		id := fields(s.Exec("tenant", "list"), "acme")[0]
		for i, name := range []string{"acme", "Acme", "ACME", " Acme ", id, strings.ToUpper(id)} {
			create(fmt.Sprintf("anna%d@acme.example", i), name)
		}
		s.Exec("admin", "setup-link", "otto@acme.example", "--tenant", "Acme")
		s.Exec("tenant", "member", "add", "Acme", "mia@acme.example", "--role", "viewer")
		s.Exec("tenant", "set-plan", "Acme", "enterprise")
		if list := s.Exec("tenant", "list"); strings.Count(list, "\n") != 2 {
			s.Errorf("tenant list: %s", list)
		}
		create("bo@cold.example", "Acme Cold Chain, Köln")
		create("bea@cold.example", "acme cold chain, KÖLN")
		create("kim@cold.example", "株式会社")
		create("kai@cold.example", "株式会社")
		s.Exec("admin", "setup-link", "lea@later.example", "--tenant", "Later GmbH")
		if list := s.Exec("tenant", "list"); strings.Count(list, "\n") != 5 {
			s.Errorf("tenant list: %s", list)
		}
		// A name of two tenants says which there are; what is refused makes nothing.
		s.Exec("tenant", "create", "Acme Cold Chain, Köln", "--slug", "cold-2")
		s.Refused(`2 tenants .*"acme-cold-chain-k-ln" or "cold-2"`, "admin", "create", "eve@acme.example", "--tenant",
			"Acme Cold Chain, Köln",
			"--password", program.Passphrase)
		s.Refused(`(?i)password`, "admin", "create", "eve@acme.example", "--tenant", "New", "--password", "short")
		s.Refused(`slug "acme"`, "admin", "create", "eve@acme.example", "--tenant", "Acme!", "--password", program.Passphrase)
		if list := s.Exec("tenant", "list"); strings.Count(list, "\n") != 6 {
			s.Errorf("tenant list: %s", list)
		}
		if list := s.Exec("admin", "list"); strings.Contains(list, "eve@") {
			s.Errorf("admin list: %s", list)
		}
		s.Refused(`(?i)user|account|no such`, "admin", "reset-password", "eve@acme.example", "--password", program.Passphrase)
	})
}

// A new password ends what was signed in with the old one, on the running
// server too: soon on the embedded engine, and on PostgreSQL when what the
// server has read of a session is five seconds old (which TestAuthenticate_otherNode
// of package identity holds by a clock).
func TestResetPassword(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		before, _ := v.SignIn("jo@acme.example", program.Passphrase)
		user := func() int { return v.Call("GET", "/auth/v1/user", before.AccessToken, nil).Status }
		read := func() int { return v.Call("GET", "/v1/zones", before.AccessToken, nil).Status }
		if user() != http.StatusOK || read() != http.StatusOK {
			s.Fatalf("signed in: %d %d", user(), read())
		}
		s.ExecWith("a wholly new passphrase\n", "admin", "reset-password", "jo@acme.example")
		refused := func() bool { return user()/100 == 4 && read() == http.StatusUnauthorized }
		began := time.Now()
		s.Eventually("the old session is refused", refused)
		s.Logf("the old session was refused after %v", time.Since(began).Round(10*time.Millisecond))
		if r := v.Call("POST", "/auth/v1/token?grant_type=refresh_token", "",
			map[string]string{"refresh_token": before.RefreshToken}); r.Status != http.StatusBadRequest {
			s.Errorf("the old refresh token: %d %s", r.Status, r.Body)
		}
		if _, status := v.SignIn("jo@acme.example", program.Passphrase); status != http.StatusBadRequest {
			s.Errorf("the old password: %d", status)
		}
		v.Token("jo@acme.example", "a wholly new passphrase")
		s.Refused(`(?i)password`, "admin", "reset-password", "jo@acme.example", "--password", "short")
		s.Refused(`(?i)user|account|no such`, "admin", "reset-password", "stranger@acme.example", "--password",
			program.Passphrase)
		v.Token("jo@acme.example", "a wholly new passphrase")
	})
}

// A setup link opens a session once, with which the user sets a password.
func TestSetupLink(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		id := strings.TrimSpace(s.Exec("tenant", "create", "Acme"))
		link := strings.TrimSpace(s.Exec("admin", "setup-link", "sue@acme.example", "--tenant", "acme", "--public-url",
			v.URL))
		path, ok := strings.CutPrefix(link, v.URL)
		if !ok || !strings.HasPrefix(path, "/auth/v1/verify?") {
			s.Fatalf("setup-link printed %q, server at %s", link, v.URL)
		}
		r := v.Call("GET", path, "", nil)
		target, err := url.Parse(r.Header.Get("Location"))
		if r.Status/100 != 3 || err != nil || !strings.HasPrefix(target.String(), v.URL) {
			s.Fatalf("the link answers %d %s and leads to %s", r.Status, r.Body, target)
		}
		var opened program.Session
		v.Call("POST", "/auth/v1/verify", "", map[string]string{"type": target.Query().Get("type"),
			"token_hash": target.Query().Get("token_hash")}).Into(v, &opened)
		token := opened.AccessToken
		if said := claims(s, token); said["tenant_id"] != id || said["tenant_role"] != "owner" {
			s.Errorf("claims: %v", said)
		}
		if r := v.Call("PUT", "/auth/v1/user", token, map[string]string{"password": program.Passphrase}); r.Status != http.StatusOK {
			s.Fatalf("set the password: %d %s", r.Status, r.Body)
		}
		v.Token("sue@acme.example", program.Passphrase)
		again := v.Call("GET", path, "", nil)
		if !strings.Contains(again.Header.Get("Location")+string(again.Body), "otp_expired") {
			s.Errorf("the second time: %d %s %s", again.Status, again.Header.Get("Location"), again.Body)
		}
	})
}

// Without --public-url a link leads to the server that runs on this directory.
func TestSetupLinkFindsServer(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		s.Exec("tenant", "create", "Acme")
		if link := s.Exec("admin", "setup-link", "sue@acme.example", "--tenant", "acme"); !strings.HasPrefix(link,
			v.URL+"/auth/v1/verify?") {
			s.Errorf("setup-link printed %q, server at %s", link, v.URL)
		}
	})
}

func TestMemberAdd(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "bea@beta.example", "--tenant", "beta")
		s.Exec("tenant", "member", "add", "acme", "bea@beta.example", "--role", "viewer")
		acme := fields(s.Exec("tenant", "list"), "acme")[0]

		bea := v.Token("bea@beta.example", program.Passphrase)
		if r := v.Call("PUT", "/auth/v1/user", bea, map[string]any{"data": map[string]string{"tenant_id": acme}}); r.Status != http.StatusOK {
			s.Fatalf("switch: %d %s", r.Status, r.Body)
		}
		bea = v.Token("bea@beta.example", program.Passphrase)
		if said := claims(s, bea); said["tenant_id"] != acme || said["tenant_role"] != "viewer" {
			s.Errorf("claims: %v", said)
		}
		if r := v.Call("POST", "/v1/zones", bea, map[string]string{"code": "A",
			"name": "A"}); r.Status != http.StatusForbidden {
			s.Errorf("a viewer writes: %d %s", r.Status, r.Body)
		}
		s.Refused(`none of`, "tenant", "member", "add", "acme", "bea@beta.example", "--role", "king")
		s.Refused(`(?i)tenant`, "tenant", "member", "add", "gamma", "bea@beta.example")
		if f := fields(s.Exec("tenant", "list"), "acme"); f[len(f)-1] != "2" {
			s.Errorf("acme has %s members", f[len(f)-1])
		}
	})
}

// A plan given on the command line holds on the running server; what is no
// plan, or no limit, changes nothing.
func TestSetPlan(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		s.ExecWith("correct horse battery\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		v := s.Serve("--rate-limits", "on")
		token := v.Token("jo@acme.example", "correct horse battery")
		limits := func() (api, reads int) {
			var w map[string]struct{ Limit int }
			v.Call("GET", "/v1/rate-limit/status", token, nil).Into(s, &w)
			return w["api"].Limit, w["database"].Limit
		}
		for _, c := range []struct {
			args       []string
			api, reads int
		}{
			{[]string{"enterprise"}, 10000, 50000},
			{[]string{"custom", "--limit", "api=3000/700", "--limit", "read=9000"}, 3000, 9000},
			{[]string{"custom", "--limit", "api=2500/2500"}, 2500, 5000},
			{[]string{"standard"}, 1000, 5000},
		} {
			out := s.Exec(append([]string{"tenant", "set-plan", "acme"}, c.args...)...)
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^api +%d `, c.api)).MatchString(out) {
				s.Errorf("%v printed %s", c.args, out)
			}
			if !program.Within(30*time.Second, func() bool { api, reads := limits(); return api == c.api && reads == c.reads }) {
				api, reads := limits()
				s.Errorf("%v: the server allows %d and %d", c.args, api, reads)
			}
		}
		for pattern, args := range map[string][]string{
			`no plan "gold"`:        {"acme", "gold"},
			`at least one --limit`:  {"acme", "custom"},
			`goes with the plan`:    {"acme", "standard", "--limit", "api=5"},
			`"api=x" is no limit`:   {"acme", "custom", "--limit", "api=x"},
			`"api=5/0" is no limit`: {"acme", "custom", "--limit", "api=5/0"},
			`zone`:                  {"acme", "custom", "--limit", "zone=5"},
			`addresses and`:         {"acme", "custom", "--limit", "api=5", "--limit", "auth=600"},
			`5 a minute`:            {"acme", "custom", "--limit", "api=5/6"},
			`each category once`:    {"acme", "custom", "--limit", "api=5", "--limit", "api=6"},
			`no tenant "nobody"`:    {"nobody", "standard"},
		} {
			s.Refused(pattern, append([]string{"tenant", "set-plan"}, args...)...)
		}
		if api, reads := limits(); api != 1000 || reads != 5000 {
			s.Errorf("after refusals: %d and %d", api, reads)
		}
	})
}

// A quota given on the command line holds for the next upload, shows in the
// tenant's row and ends with "default".
func TestSetQuota(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		s.ExecWith("correct horse battery\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		v := s.Serve()
		token := v.Token("jo@acme.example", "correct horse battery")
		upload := func() int {
			var job struct{ ID string }
			v.Call("POST", "/v1/import-jobs", token, map[string]string{"target": "zones"}).Into(s, &job)
			return v.Call("PUT", "/v1/import-jobs/"+job.ID+"/file?name=zones.csv", token, []byte("code,name\nA,A\n")).Status
		}
		shown := func() string {
			return string(v.Call("GET", "/v1/tenants?select=import_quota,photo_quota", token, nil).Body)
		}
		for _, c := range []struct {
			args   []string
			status int
			shown  string
		}{
			{[]string{"--imports", "0", "--photos", "7"}, 413, `[{"import_quota":0,"photo_quota":7}]`},
			{[]string{"--imports", "1"}, 200, `[{"import_quota":1,"photo_quota":7}]`},
			{[]string{"--imports", "default", "--photos", "default"}, 200, `[{"import_quota":null,"photo_quota":null}]`},
		} {
			s.Exec(append([]string{"tenant", "set-quota", "acme"}, c.args...)...)
			if got := upload(); got != c.status || shown() != c.shown {
				s.Errorf("%v: upload %d, shown %s", c.args, got, shown())
			}
		}
		for pattern, args := range map[string][]string{
			`say which quota`:    {"acme"},
			`"1 GB" is no quota`: {"acme", "--photos", "1 GB"},
			`"-1" is no quota`:   {"acme", "--imports", "-1"},
			`import_quota`:       {"acme", "--imports", "1000000001"},
			`no tenant "nobody"`: {"nobody", "--imports", "1"},
		} {
			s.Refused(pattern, append([]string{"tenant", "set-quota"}, args...)...)
		}
		if r := v.Call("PATCH", "/v1/tenants?name=eq.Acme", token, map[string]any{"import_quota": 5}); r.Status != 403 {
			s.Errorf("an administrator raises his own quota: %d", r.Status)
		}
	})
}

// A renewed key is refused by the running server and its successor taken; a
// rotated signing key signs, and the old one's tokens still count.
func TestKeys(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		old, session := s.Keys(), v.Token("owner@north.example", "holdfast-demo")
		zones := func(key string) int { return v.Call("GET", "/rest/v1/zones?limit=1", key, nil).Status }
		if got := zones(old["SECRET_KEY"]); got != http.StatusOK {
			s.Fatalf("with the secret key: %d", got)
		}
		s.Exec("keys", "renew", "secret")
		renewed := s.Keys()
		for _, name := range []string{"SECRET_KEY", "SERVICE_ROLE_KEY"} {
			if !program.Within(30*time.Second, func() bool { return zones(old[name]) == http.StatusUnauthorized }) {
				s.Errorf("the old %s still opens", name)
			}
			if got := zones(renewed[name]); got != http.StatusOK {
				s.Errorf("the new %s: %d", name, got)
			}
		}
		if renewed["PUBLISHABLE_KEY"] != old["PUBLISHABLE_KEY"] {
			s.Error("the publishable key has changed too")
		}
		s.Refused(`no kind of key`, "keys", "renew", "anon")
		s.Exec("keys", "renew", "publishable", "--overlap", "1h")
		if out := s.Exec("keys", "list"); !strings.Contains(out, "retired") || strings.Contains(out, "sb_") {
			s.Errorf("keys list: %s", out)
		}
		s.Exec("keys", "rotate")
		kids := func() int {
			return strings.Count(string(v.Call("GET", "/auth/v1/.well-known/jwks.json", "", nil).Body), `"kid"`)
		}
		if !program.Within(30*time.Second, func() bool { return kids() == 2 }) {
			s.Errorf("the server shows %d signing keys, want the old and the new one", kids())
		}
		for what, token := range map[string]string{"old": session, "new": v.Token("owner@north.example", "holdfast-demo")} {
			if got := zones(token); got != http.StatusOK {
				s.Errorf("a token of the %s key: %d", what, got)
			}
		}
	})
}
