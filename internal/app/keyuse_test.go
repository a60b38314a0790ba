package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// Every use of a service key is in the audit log, reading as well: one row to a key,
// client address and route in a minute, with how often; those that only count it as
// the operator's server, and those it was refused for, too. What is done with other
// credentials is not in those rows.
func TestServiceKeyUses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		keys, err := k.App.Identity.Keyring.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		get := func(path, key string, more ...string) {
			t.Helper()
			h := map[string]string{"Apikey": key}
			for i := 0; i < len(more); i += 2 {
				h[more[i]] = more[i+1]
			}
			if r := k.Call(testkit.Request{Method: "GET", Path: path, Header: h}); r.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		for range 3 {
			get("/auth/v1/admin/users?per_page=1", keys.SecretKey)
		}
		get("/auth/v1/admin/users?per_page=1", keys.ServiceRoleKey) // the same key in its other form
		get("/auth/v1/admin/users?per_page=1", keys.SecretKey, "X-Forwarded-For", "203.0.113.9")
		get("/auth/v1/admin/custom-providers", keys.SecretKey)
		get("/rest/v1/tenants", keys.SecretKey)
		get("/auth/v1/settings", keys.PublishableKey)
		get("/rest/v1/items", keys.SecretKey, "Authorization",
			"Bearer "+k.Token(testkit.As("manager"))) // it raises nothing there
		get("/auth/v1/settings", keys.SecretKey) // nor here, where no key is looked at
		refused := func(method, path, key, origin string, body any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: method, Path: path,
				Header: map[string]string{"Apikey": key, "Origin": origin},
				Body:   body}); r.Status < 400 || r.Status >= 500 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		code := map[string]string{"type": "email", "email": "nobody@x.example", "token": "000000"}
		refused("POST", "/auth/v1/verify", keys.SecretKey, "", code) // it signs in many
		refused("POST", "/auth/v1/verify", keys.PublishableKey, "", code)
		refused("POST", "/auth/v1/sso", keys.SecretKey, "", map[string]string{"domain": "nobody.example"})
		refused("GET", "/auth/v1/admin/users", keys.SecretKey, "https://app.example", nil) // it was shipped to a browser
		if n := len(keyUses(t, k)); n != 0 {
			t.Errorf("%d rows were written by requests", n)
		}
		for range 2 { // once each
			if err := k.App.Identity.Keyring.WriteKeyUses(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var id string
		err = k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One("SELECT id FROM api_keys WHERE kind = 'secret' AND revoked_at IS NULL", nil,
				func(r *db.Row) error { id = r.Text(0); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			id + " 127.0.0.1 ok GET /auth/v1/admin/custom-providers 1", id + " 127.0.0.1 ok GET /auth/v1/admin/users 4",
			id + " 127.0.0.1 ok GET /rest/v1/{name} 1",
			id + " 127.0.0.1 ok POST /auth/v1/sso 1", id + " 127.0.0.1 ok POST /auth/v1/verify 1", id + " 127.0.0.1 refused   1",
			id + " 203.0.113.9 ok GET /auth/v1/admin/users 1",
		}
		if got := keyUses(t, k); !slices.Equal(got, want) {
			t.Errorf("rows\n%q, want\n%q", got, want)
		}
	}, behindProxy)
}

func behindProxy(c *config.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }

// keyUses are the rows, in order of their text.
func keyUses(t *testing.T, k *testkit.Kit) (out []string) {
	t.Helper()
	err := k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		return tx.Query("SELECT key_id, address, outcome, details FROM audit WHERE action = 'api_key.used'", nil,
			func(r *db.Row) error {
				var d struct {
					Method, Route string
					Requests      int
				}
				if err := json.Unmarshal([]byte(r.Text(3)), &d); err != nil {
					return err
				}
				out = append(out, fmt.Sprintf("%s %s %s %s %s %d", r.Text(0), r.Text(1), r.Text(2), d.Method, d.Route, d.Requests))
				return nil
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// A service key is taken from the addresses that the operator names, and from
// nowhere else: what a client says of its address counts only where a trusted proxy
// passes it on. Other credentials come from everywhere.
func TestServiceAddresses(t *testing.T) {
	home := func(list ...string) testkit.Option {
		return func(c *config.Config) { c.ServiceAddresses = list }
	}
	for _, c := range []struct {
		name    string
		opts    []testkit.Option
		from    string // X-Forwarded-For
		allowed bool
	}{
		{"any", nil, "", true},
		{"the peer", []testkit.Option{home("10.0.0.0/8", "127.0.0.1")}, "", true},
		{"another peer", []testkit.Option{home("203.0.113.0/24")}, "", false},
		{"a claim without a proxy", []testkit.Option{home("203.0.113.0/24")}, "203.0.113.9", false},
		{"behind a proxy", []testkit.Option{home("203.0.113.0/24"), behindProxy}, "203.0.113.9", true},
		{"another one behind it", []testkit.Option{home("203.0.113.0/24"), behindProxy}, "198.51.100.7", false},
		{"a claim before a proxy", []testkit.Option{home("203.0.113.0/24"), behindProxy}, "203.0.113.9, 198.51.100.7", false},
		{"the proxy itself is not home", []testkit.Option{home("203.0.113.0/24"), behindProxy}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := testkit.New(t, db.SQLite, c.opts...)
			header := map[string]string{}
			if c.from != "" {
				header["X-Forwarded-For"] = c.from
			}
			for _, path := range []string{"/auth/v1/admin/users", "/auth/v1/admin/custom-providers", "/rest/v1/tenants"} {
				r := k.Call(testkit.Request{Method: "GET", Path: path, Bearer: k.Service(), Header: header})
				if want := map[bool]int{true: 200, false: 403}[c.allowed]; r.Status != want {
					t.Errorf("%s: %d %s, want %d", path, r.Status, r.Body, want)
				}
			}
			if r := k.Call(testkit.Request{Method: "GET", Path: "/rest/v1/items?limit=1", As: testkit.As("manager"),
				Header: header}); r.Status != 200 {
				t.Errorf("a member: %d %s", r.Status, r.Body)
			}
		})
	}
}
