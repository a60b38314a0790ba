package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// A version that no other text of an answer resembles.
func init() { app.Version = "98.7.6-release" }

// Whoever has not signed in reads neither which release runs nor which version of the database, whatever is
// asked; administrators read both at one place, and no other member does.
func TestStrangersReadNoVersion(t *testing.T) {
	parameter := regexp.MustCompile(`\{[a-zA-Z_.$]+\}`)

	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		versions := []string{app.Version, k.App.DB.Version()}

		asked := 0
		for _, rt := range k.App.Routes() {
			if rt.Who == route.SignedIn || rt.Who == route.TenantMember || rt.Method != http.MethodGet {
				continue
			}
			asked++
			path := strings.ReplaceAll(rt.Pattern, "{$}", "")
			path = parameter.ReplaceAllString(path, "0192f0c0-1111-7000-8000-0000000000aa")
			r := k.Call(testkit.Request{Method: rt.Method, Path: path})
			told := string(r.Body)
			for name, values := range r.Header {
				told += name + ": " + strings.Join(values, ", ")
			}
			for _, v := range versions {
				if strings.Contains(told, v) {
					t.Errorf("%s tells a stranger %q", path, v)
				}
			}
		}
		if asked < 15 {
			t.Errorf("only %d routes were asked", asked)
		}

		for _, c := range []struct {
			as     string
			status int
		}{
			{"", http.StatusUnauthorized},
			{k.Token(testkit.As(actor.Viewer)), http.StatusForbidden},
			{k.Token(testkit.As(actor.Operator)), http.StatusForbidden},
			{k.Token(testkit.As(actor.Admin)), http.StatusOK},
			{k.Token(testkit.As(actor.Owner)), http.StatusOK},
			{k.Service(), http.StatusOK},
		} {
			r := k.Call(testkit.Request{Method: "GET", Path: "/v1/server", Bearer: c.as})
			if r.Status != c.status {
				t.Errorf("/v1/server: %d %s, want %d", r.Status, r.Body, c.status)
			}
			for _, v := range versions {
				if c.status == http.StatusOK != strings.Contains(string(r.Body), v) {
					t.Errorf("/v1/server answers %d %s", r.Status, r.Body)
				}
			}
		}
	})
}

// Whoever finds a weakness reads whom to tell where RFC 9116 has it, and that the answer
// runs out within a year; a server whose operator names nobody has no such page.
func TestSecurityContact(t *testing.T) {
	const path = "/.well-known/security.txt"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := k.Call(testkit.Request{Method: "GET", Path: path}); r.Status != http.StatusNotFound {
			t.Errorf("nobody is named: %d %s", r.Status, r.Body)
		}
	})
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		r := k.Call(testkit.Request{Method: "GET", Path: path})
		said := regexp.MustCompile(`^Contact: mailto:safe@north\.example\nExpires: (\S+)\nCanonical: (\S+)\n`).
			FindStringSubmatch(string(r.Body))
		if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || said == nil {
			t.Fatalf("%d %v %s", r.Status, r.Header, r.Body)
		}
		left := time.Until(momentOf(t, said[1]))
		if left < 30*24*time.Hour || left > 365*24*time.Hour || said[2] != k.App.Config.PublicURL+path {
			t.Errorf("%s is believed for %s", said, left)
		}
	}, func(c *config.Config) { c.SecurityContact = "mailto:safe@north.example" })
}
