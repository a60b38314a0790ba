package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/identity"
)

// An account that generate_link makes has the metadata that were given and nothing
// beside; one that signs up by itself has its address in them.
func TestParity_generateLink(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		key := "apikey: " + s.keys.ServiceRoleKey
		for _, typ := range []string{"signup", "invite", "magiclink"} {
			given := obj{"status": "alpha", "n": 7.0}
			body := obj{"type": typ, "email": typ + "@x.example", "data": given}
			if typ == "signup" {
				body["password"] = pw
			}
			r := s.call("POST", "/admin/generate_link", body, key)
			s.want(r, 200, "")
			if diff := cmp.Diff(given, r.body["user_metadata"]); diff != "" {
				s.Errorf("%s: user_metadata (-given +got)\n%s", typ, diff)
			}
			if link, _ := r.body["action_link"].(string); !strings.Contains(link,
				"/auth/v1/verify?token="+r.body["hashed_token"].(string)+"&type=") {
				s.Errorf("%s: link %s", typ, link)
			}
			if list := r.body["identities"].([]any); len(list) != 1 || list[0].(obj)["provider"] != "email" {
				s.Errorf("%s: identities %v", typ, list)
			}
		}
		for target, want := range map[string]string{
			"https://app.example.com/reset":           "https://app.example.com/reset",
			"https://app.example.com/reset?a=b&c=d":   "https%3A%2F%2Fapp.example.com%2Freset%3Fa%3Db%26c%3Dd",
			"https://app.example.com/reset?next=%2Fx": "https%3A%2F%2Fapp.example.com%2Freset%3Fnext%3D%252Fx",
		} {
			r := s.call("POST", "/admin/generate_link", obj{"type": "recovery", "email": "signup@x.example",
				"redirect_to": target}, key)
			if link, _ := r.body["action_link"].(string); !strings.HasSuffix(link, "&redirect_to="+want) {
				s.Errorf("%s: link %s", target, link)
			}
		}
		r := s.call("POST", "/admin/generate_link", obj{"type": "magiclink", "email": "none@x.example"}, key)
		s.want(r, 200, "")
		if diff := cmp.Diff(obj{}, r.body["user_metadata"]); diff != "" {
			s.Errorf("without data: %s", diff)
		}
		if m := s.signUp("by@x.example")["user"].(obj)["user_metadata"].(obj); m["email"] != "by@x.example" ||
			m["sub"] == nil {
			s.Errorf("a sign-up's metadata %v", m)
		}
	})
}

// What clients look for in messages and codes.
func TestParity_messages(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Phone, c.SMS, c.AnonymousUsers = true, silent{}, true }, func(s *server) {
		msg := func(r reply, status int, code, text string) {
			s.Helper()
			s.want(r, status, code)
			if r.body["msg"] != text {
				s.Errorf("message %v, want %s", r.body["msg"], text)
			}
		}
		sess := s.signUp("a@x.example")
		for _, number := range []string{"abc", "+49 171 x", "0", "+12345678901234567"} {
			const text = "Invalid phone number format (E.164 required)"
			msg(s.call("POST", "/otp", obj{"phone": number}), 400, "validation_failed", text)
			msg(s.call("POST", "/signup", obj{"phone": number, "password": pw}), 400, "validation_failed", text)
			msg(s.call("PUT", "/user", obj{"phone": number}, bearer(sess)), 400, "validation_failed", text)
			msg(s.call("POST", "/verify", obj{"phone": number, "token": "123456", "type": "sms"}), 400, "validation_failed",
				text)
		}
		msg(s.call("POST", "/token?grant_type=id_token", obj{"id_token": "x", "provider": "google"}), 400,
			"provider_disabled",
			`Provider (issuer "https://accounts.google.com") is not enabled`)
		nobody := s.call("POST", "/signup", obj{"data": obj{}})
		s.want(nobody, 200, "")
		msg(s.call("GET", "/reauthenticate", nil, bearer(nobody.body)), 400, "validation_failed",
			"Reauthentication requires the user to have an email or a phone number")

		id := sess["user"].(obj)["id"].(string)
		s.want(s.call("PUT", "/admin/users/"+id, obj{"ban_duration": "1h"}, "apikey: "+s.keys.ServiceRoleKey), 200, "")
		msg(s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": sess["refresh_token"]}), 400,
			"user_banned", "Invalid Refresh Token: User Banned")
	})
}
