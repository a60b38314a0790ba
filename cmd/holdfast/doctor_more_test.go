package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// expect fails when a look does not find this.
func (s *site) expect(check, level, what string, env []string, args ...string) {
	s.Helper()
	found, _ := s.doctor(env, args...)
	if f := found[check]; f.Level != level || !strings.Contains(f.What, what) || f.Why == "" || f.Command == "" {
		s.Errorf("%s: want a %s with %q, got %+v", check, level, what, f)
	}
}

// What is amiss in the settings, before it does harm.
func TestDoctorFindsSettings(t *testing.T) {
	s := embedded(t)
	s.run("migrate")
	s.expect("configuration", "warning", "public_url is not set", nil, "--listen", ":8443")
	s.expect("configuration", "warning", "rate limits are off", nil, "--rate-limits", "off")
	s.expect("configuration", "warning", "development server", nil, "--dev")
	s.expect("mail", "warning", "no mail server", nil)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	s.selfSigned(cert, key) // for wms.example, and ends in an hour
	tls := []string{"--tls-cert", cert, "--tls-key", key, "--public-url"}
	s.expect("tls", "warning", "ends in 0 days", nil, append(tls, "https://wms.example")...)
	s.expect("tls", "failure", "is not for other.example", nil, append(tls, "https://other.example")...)
	s.file(cert, "no certificate")
	s.expect("tls", "failure", "cannot be used", nil, append(tls, "https://wms.example")...)
}

// What is amiss in what is kept: a schema that is behind, a key of one node,
// files and records without each other, a backup of long ago, a receiver that is
// away.
func TestDoctorFindsInData(t *testing.T) {
	eachDemo(t, func(s *site) {
		if s.dsn != "" {
			s.expect("configuration", "warning", "the data directory of one node", nil)
		}
		v := s.serve("--dev", "--webhook-allow-private")
		bearer := v.token("admin@north.example", "holdfast-demo")
		hook := map[string]any{"url": "http://" + closedPort(s.T) + "/hook", "events": []string{"order.*"}}
		if r := v.call("POST", "/v1/webhooks", bearer, hook); r.status != http.StatusCreated {
			s.Fatalf("a webhook: %d %s", r.status, r.body)
		}
		uploaded(v, bearer, 3)
		v.stop()
		s.expect("webhooks", "warning", "cannot be reached", nil)

		files := filepath.Join(s.data, "files")
		orphan := filepath.Join(files, "0190a000-0000-7000-8000-0000000000aa")
		s.file(orphan, "nobody's")
		if found, _ := s.doctor(nil); found["files"].Level != "ok" {
			s.Errorf("a file that may be on its way: %+v", found["files"])
		}
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(orphan, old, old); err != nil {
			s.Fatal(err)
		}
		s.expect("files", "warning", "1 files have no record", nil)
		if err := os.RemoveAll(files); err != nil {
			s.Fatal(err)
		}
		s.expect("files", "failure", "records have no file", nil)

		const id = "00000000-0000-4000-8000-000000000001"
		s.write("INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain) VALUES ($1, $2, 'x', 'x', 1, $3, $1)",
			id, time.Now().Add(-30*24*time.Hour), false)
		s.expect("backup", "warning", "old", nil)

		s.behind()
		s.expect("schema", "failure", "this program needs", nil)
	})
}
