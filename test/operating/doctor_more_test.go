package operating_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// expect fails when a look does not find this.
func expect(s *program.Site, check, level, what string, env []string, args ...string) {
	s.Helper()
	found, _ := doctor(s, env, args...)
	if f := found[check]; f.Level != level || !strings.Contains(f.What, what) || f.Why == "" || f.Command == "" {
		s.Errorf("%s: want a %s with %q, got %+v", check, level, what, f)
	}
}

// What is amiss in the settings, before it does harm.
func TestDoctorFindsSettings(t *testing.T) {
	s := program.Embedded(t)
	s.Exec("migrate")
	expect(s, "configuration", "warning", "public_url is not set", nil, "--listen", ":8443")
	expect(s, "configuration", "warning", "rate limits are off", nil, "--rate-limits", "off")
	expect(s, "configuration", "warning", "development server", nil, "--dev")
	reached := []string{"--listen", ":8443", "--public-url", "https://wms.example"}
	expect(s, "configuration", "failure", "without proof", nil, append(reached, "--autoconfirm")...)
	behind := append(reached, "--listen", "127.0.0.1:8443") // a proxy on this machine
	expect(s, "configuration", "failure", "without proof", nil, append(behind, "--autoconfirm")...)
	for _, wide := range []string{"0.0.0.0/0", "::/0", "10.0.0.1,0.0.0.0/0", "0.0.0.0/1,128.0.0.0/1", "10.0.0.0/7",
		"::/1,8000::/1", "2000::/15"} {
		for _, listens := range [][]string{reached, behind} {
			expect(s, "configuration", "failure", "holds addresses of strangers", nil,
				append(listens, "--trusted-proxies", wide)...)
		}
	}
	local := []string{"--listen", "127.0.0.1:8443", "--autoconfirm", "--trusted-proxies", "0.0.0.0/0"}
	for _, sound := range [][]string{{"--trusted-proxies", "10.0.0.0/8,fc00::/7,2001::/16"},
		append(local, "--public-url", "http://localhost:8443"), append(local, "--public-url", "http://[::1]:8443"),
		append(local, "--public-url", "http://127.0.0.1:8443"), append(local, "--public-url", "")} {
		if found, _ := doctor(s, nil, append(reached, sound...)...); found["configuration"].Level == "failure" {
			s.Errorf("%v: %+v", sound, found["configuration"])
		}
	}
	expect(s, "mail", "warning", "no mail server", nil)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	s.SelfSigned(cert, key) // for wms.example, and ends in an hour
	tls := []string{"--tls-cert", cert, "--tls-key", key, "--public-url"}
	expect(s, "tls", "warning", "ends in 0 days", nil, append(tls, "https://wms.example")...)
	expect(s, "tls", "failure", "is not for other.example", nil, append(tls, "https://other.example")...)
	s.File(cert, "no certificate")
	expect(s, "tls", "failure", "cannot be used", nil, append(tls, "https://wms.example")...)
}

// What is amiss in what is kept: a schema that is behind, a key of one node,
// files and records without each other, a backup of long ago, a receiver that is
// away.
func TestDoctorFindsInData(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		if s.DSN != "" {
			expect(s, "configuration", "warning", "the data directory of one node", nil)
		}
		v := s.Serve("--dev", "--webhook-allow-private")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		hook := map[string]any{"url": "http://" + program.ClosedPort(s.T) + "/hook", "events": []string{"order.*"}}
		if r := v.Call("POST", "/v1/webhooks", bearer, hook); r.Status != http.StatusCreated {
			s.Fatalf("a webhook: %d %s", r.Status, r.Body)
		}
		v.Uploaded(bearer, 3)
		v.Stop()
		expect(s, "webhooks", "warning", "cannot be reached", nil)

		files := filepath.Join(s.Data, "files")
		orphan := filepath.Join(files, "0190a000-0000-7000-8000-0000000000aa")
		s.File(orphan, "nobody's")
		if found, _ := doctor(s, nil); found["files"].Level != "ok" {
			s.Errorf("a file that may be on its way: %+v", found["files"])
		}
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(orphan, old, old); err != nil {
			s.Fatal(err)
		}
		expect(s, "files", "warning", "1 files have no record", nil)
		if err := os.RemoveAll(files); err != nil {
			s.Fatal(err)
		}
		expect(s, "files", "failure", "records have no file", nil)

		const id = "00000000-0000-4000-8000-000000000001"
		s.Write("INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain) VALUES ($1, $2, 'x', 'x', 1, $3, $1)",
			id, time.Now().Add(-30*24*time.Hour), false)
		expect(s, "backup", "warning", "old", nil)

		behind(s)
		expect(s, "schema", "failure", "this program needs", nil)
	})
}

// A server that others can reach says at its start by which settings it believes anybody;
// one that only this machine can reach has nobody to warn of.
func TestStartWarnsOfOpenSettings(t *testing.T) {
	open := []string{"--autoconfirm", "--trusted-proxies", "0.0.0.0/1,128.0.0.0/1", "--listen"}
	for listen, isWarned := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		s := program.Embedded(t)
		v := s.Serve(append(open, listen)...)
		v.Stop() // what is logged is written a little later
		for _, words := range []string{"without proof", "holds addresses of strangers"} {
			if strings.Contains(v.Out.String(), words) != isWarned {
				t.Errorf("%s: the server says\n%s", listen, v.Out.String())
			}
		}
	}
}

// A proxy on this machine lets others reach a server that listens on loopback.
func TestStartWarnsBehindProxy(t *testing.T) {
	s := program.Embedded(t)
	said := &program.Transcript{}
	cmd := s.Command(nil, "serve", "--listen", "127.0.0.1:0", "--public-url", "https://wms.example", "--log-level", "warn",
		"--autoconfirm", "--trusted-proxies", "0.0.0.0/0")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for _, words := range []string{"without proof", "holds addresses of strangers"} {
		s.Eventually("the start says "+words, func() bool { return strings.Contains(said.String(), words) })
	}
}
