package auth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/identity/token"
)

// rows counts what a query counts.
func (s *server) rows(query string) (n int64) {
	s.Helper()
	err := s.db.Read(s.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One(query, nil, func(r *db.Row) error { n = r.Int(0); return nil })
	})
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// What a stranger can make the server write, and what tries a password, is
// counted before it is done. A refresh token counts on the address when it is of
// no session, and on nobody else's.
func TestFences_counted(t *testing.T) {
	const flows = "SELECT COUNT(*) FROM flow_states"
	onBoth(t, func(c *identity.Config) {
		c.OIDC = map[string]identity.Provider{"github": {ClientID: "client", Secret: "s"}}
	}, func(s *server) {
		sess := s.signUp("a@x.example")
		me := sess["user"].(obj)["id"].(string)
		for _, tt := range []struct {
			method, path string
			body         obj
			as           string
			counted      string
			status       int
		}{
			{"GET", "/authorize?provider=github", nil, "", "a departure", 302},
			{"GET", "/verify?token=none&type=signup", nil, "", "a visit", 303},
			{"PUT", "/user", obj{"password": pw}, bearer(sess), "user:" + me, 422},
			{"POST", "/tenant/transfer", obj{"user_id": me, "current_password": pw}, bearer(sess), "user:" + me, 403},
		} {
			s.limits = nil
			head := []string{}
			if tt.as != "" {
				head = append(head, tt.as)
			}
			if r := s.call(tt.method, tt.path, tt.body, head...); r.status != tt.status || len(s.limits) != 1 ||
				s.limits[0] != tt.counted {
				s.Errorf("%s %s: %d %s, counted %q", tt.method, tt.path, r.status, r.text, s.limits)
			}
			before := s.rows(flows)
			s.refuse = true
			s.want(s.call(tt.method, tt.path, tt.body, head...), 429, "over_request_rate_limit")
			if n := s.rows(flows); n != before {
				s.Errorf("%s %s wrote what was refused", tt.method, tt.path)
			}
			s.refuse = false
		}
		s.limits = nil
		if r := s.call("PUT", "/user", obj{"data": obj{"a": 1}}, bearer(sess)); r.status != 200 || len(s.limits) != 0 {
			s.Errorf("%d, a change that tries no password counted %q", r.status, s.limits)
		}

		refresh := func(raw string) reply { return s.call("POST", "/token", obj{"refresh_token": raw}) }
		made, err := token.NewRefresh("0192f0c0-1111-7000-8000-0000000000aa", 3, []byte("any key"))
		if err != nil {
			s.Fatal(err)
		}
		s.want(refresh(made), 400, "refresh_token_not_found")
		if fmt.Sprint(s.made) != "[false true]" {
			s.Errorf("a made-up token: %v", s.made)
		}
		s.made = nil
		s.want(refresh(sess["refresh_token"].(string)), 200, "")
		if fmt.Sprint(s.made) != "[false]" || len(s.limits) != 0 {
			s.Errorf("a good token counted on the address: %v %q", s.made, s.limits)
		}
		s.made, s.refuse = nil, true
		s.want(refresh(made), 429, "over_request_rate_limit")
		if fmt.Sprint(s.made) != "[false]" {
			s.Errorf("looked for what was refused: %v", s.made)
		}
	})
}

// Only what nobody can guess is said to be that. An attempt that names no account
// otherwise, by an address that is none or without a name, is not; the service key
// takes off what counts on the address, and nothing else.
func TestFences_secrets(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		for _, tt := range []struct {
			path    string
			body    obj
			counted string
		}{
			{"/token?grant_type=id_token", obj{"provider": "google", "id_token": "x"}, "a secret"},
			{"/verify", obj{"type": "magiclink", "token_hash": "x"}, "a secret"},
			{"/verify", obj{"type": "magiclink", "token_hash": "x", "email": "a@x.example"}, "a@x.example"},
			{"/verify", obj{"type": "email", "token": "000000", "email": "no address"}, ""},
			{"/verify", obj{"type": "email", "token": "000000", "email": "a@x.example"}, "a@x.example"},
			{"/passkeys/authentication/verify", obj{}, "a secret"},
			{"/token?grant_type=password", obj{"email": "no address", "password": pw}, ""},
			{"/token?grant_type=password", obj{"email": "a@x.example", "password": pw}, "a@x.example|user:a@x.example"},
			{"/token?grant_type=refresh_token", obj{"refresh_token": "x"}, ""},
			{"/recover", obj{"email": "no address"}, ""},
			{"/signup", obj{}, ""},
		} {
			for _, key := range []string{"", s.keys.ServiceRoleKey} {
				s.limits = nil
				s.call("POST", tt.path, tt.body, "apikey: "+key)
				want := strings.Split(tt.counted, "|")
				for i := range want {
					if key != "" {
						want[i] += " by a server"
					}
				}
				if !slices.Equal(s.limits, want) {
					s.Errorf("%s %v: counted %q, want %q", tt.path, tt.body, s.limits, want)
				}
			}
		}
	})
}

// An account that signs in by an address and by a telephone number is one account
// for whoever guesses: both ways take of one window, before anything is hashed.
func TestFences_oneAccount(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Phone, c.SMS = true, silent{} }, func(s *server) {
		me := s.call("POST", "/admin/users",
			obj{"email": "a@x.example", "phone": "491712345678", "email_confirm": true, "phone_confirm": true, "password": pw},
			"apikey: "+s.keys.ServiceRoleKey)
		s.want(me, 200, "")
		id := me.body["id"].(string)
		s.limits = nil
		for _, way := range []obj{{"email": "A@x.example"}, {"phone": "+49 171 2345678"}, {"email": "nobody@x.example"}} {
			way["password"] = "not the password"
			s.want(s.call("POST", "/token?grant_type=password", way), 400, "invalid_credentials")
		}
		if got := strings.Join(s.limits, " "); got != "a@x.example user:"+id+" phone:491712345678 user:"+id+" nobody@x.example user:nobody@x.example" {
			s.Errorf("counted %q", got)
		}
	})
}
