package auth_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/identity"
)

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moments = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z`)
)

// shown is an answer without what differs between any two accounts.
func shown(r reply, names ...string) string {
	text := moments.ReplaceAllString(ids.ReplaceAllString(r.text, "an id"), "a time")
	for _, n := range names {
		text = strings.ReplaceAll(text, n, "a name")
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

// A change to an address or number that somebody has answers like one to a free
// one. Its owner learns by mail, and no code comes with it.
func TestChange_taken(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Phone, c.SMS = true, silent{} }, func(s *server) {
		s.want(s.call("POST", "/admin/users", obj{"email": "owner@x.example", "phone": "491700000001", "email_confirm": true,
			"phone_confirm": true},
			"apikey: "+s.keys.ServiceRoleKey), 200, "")
		free, taken := s.signUp("one@x.example"), s.signUp("two@x.example")
		for _, change := range []struct {
			member, free, taken string
		}{{"email", "nobody@x.example", "owner@x.example"}, {"phone", "491700000002", "491700000001"}} {
			a := s.call("PUT", "/user", obj{change.member: change.free}, bearer(free))
			b := s.call("PUT", "/user", obj{change.member: change.taken}, bearer(taken))
			s.want(a, 200, "")
			forFree, forTaken := shown(a, "one@x.example", change.free, "nobody@x.example"),
				shown(b, "two@x.example", change.taken, "owner@x.example")
			if diff := cmp.Diff(forFree, forTaken); a.status != b.status || diff != "" {
				s.Errorf("%s: %d %d (-free +taken)\n%s", change.member, a.status, b.status, diff)
			}
		}
		for range 2 { // at first, and when it is asked for again
			if m := s.mail("known"); m.To != "owner@x.example" || strings.Contains(m.Text, "Code: ") ||
				strings.Contains(m.Text, "/verify?") {
				s.Errorf("to %s: %s", m.To, m.Text)
			}
			if m := s.mail("email_change_new"); m.To != "nobody@x.example" {
				s.Errorf("a code went to %s", m.To)
			}
			current := map[string]string{}
			for range 2 {
				m := s.mail("email_change_current")
				current[m.To] = linkIn(s.T, m.Text).Get("token")
			}
			s.sleep(2 * time.Minute)
			for _, from := range []string{"one@x.example", "two@x.example"} {
				s.want(s.call("POST", "/resend", obj{"type": "email_change", "email": from}), 200, "")
			}
			half := s.call("POST", "/verify", obj{"type": "email_change", "token_hash": current["two@x.example"]})
			if half.status != 200 && half.body["error_code"] != "otp_expired" || half.body["access_token"] != nil {
				s.Errorf("%d %s", half.status, half.text)
			}
		}
	})
	onBoth(t, func(c *identity.Config) { c.SignupTellsTaken, c.Phone, c.SMS = true, true, silent{} }, func(s *server) {
		s.want(s.call("POST", "/admin/users", obj{"email": "owner@x.example", "phone": "491700000001", "email_confirm": true,
			"phone_confirm": true},
			"apikey: "+s.keys.ServiceRoleKey), 200, "")
		sess := s.signUp("one@x.example")
		s.want(s.call("PUT", "/user", obj{"email": "owner@x.example"}, bearer(sess)), 422, "email_exists")
		s.want(s.call("PUT", "/user", obj{"phone": "491700000001"}, bearer(sess)), 422, "phone_exists")
	})
}

// An address whose local part people cannot tell from another signs nobody up.
func TestSignUp_illegible(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		for _, email := range []string{"\u0430nna@x.example", "ann\u2800a@x.example"} {
			s.want(s.call("POST", "/signup", obj{"email": email, "password": pw}), 400, "validation_failed")
		}
		if n := s.count("SELECT COUNT(*) FROM users"); n != 0 {
			s.Errorf("%d accounts were made", n)
		}
	})
}
