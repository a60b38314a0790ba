package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/api/route"
	"holdfast/internal/identity"
	"holdfast/internal/ratelimit"
)

// counting serves with the product's own limits where limited, to callers whose
// address the header From names.
func (s *server) counting(limited bool) {
	x := route.Windows{}
	if limited {
		x.Limit = access.New(nil, ratelimit.New(ratelimit.Options{})).TakeAuth
	}
	h := s.face(x)
	s.Server.Close()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.Header.Get("From"); from != "" {
			r.RemoteAddr = from + ":4711"
		}
		h.ServeHTTP(w, r)
	}))
}

func from(address string) string { return "From: " + address }

// mailFor waits for a mail that leads to a target.
func (s *server) mailFor(target string) (digits, hash string) {
	s.Helper()
	for range 200 {
		m := s.mail("recovery")
		q := linkIn(s.T, m.Text)
		if q.Get("redirect_to") == target {
			_, rest, _ := strings.Cut(m.Text, "Code: ")
			return rest[:6], q.Get("token")
		}
	}
	s.Fatalf("no mail leads to %s", target)
	return "", ""
}

// Five strangers who ask for mails and guess at codes as often as they may keep an
// owner, at an address he never was at, neither from his mail nor from his code.
func TestStrangers_recovery(t *testing.T) {
	const owner, home, target = "a@x.example", "203.0.113.7", "https://app.example.com/reset"
	onBoth(t, nil, func(s *server) {
		s.signUp(owner)
		s.counting(true)
		attack := func() (refused int) {
			for i := range 5 {
				here := from(fmt.Sprintf("198.51.100.%d", i))
				for range 12 {
					for _, r := range []reply{s.call("POST", "/recover", obj{"email": owner}, here),
						s.call("POST", "/verify", obj{"type": "recovery", "email": owner, "token": "no"}, here)} {
						if r.status == 429 {
							refused++
						}
					}
				}
			}
			return refused
		}
		if attack() == 0 {
			s.Error("strangers pass without bounds")
		}
		s.want(s.call("POST", "/recover?redirect_to="+target, obj{"email": owner}, from(home)), 200, "")
		digits, _ := s.mailFor(target)
		attack()
		s.want(s.call("POST", "/verify", obj{"type": "recovery", "email": owner, "token": "no"}, from(home)), 403,
			"otp_expired")
		s.want(s.call("POST", "/verify", obj{"type": "recovery", "email": owner, "token": digits}, from(home)), 200, "")
		if n := s.rows("SELECT COUNT(*) FROM one_time_tokens"); n != 0 {
			s.Errorf("%d codes of strangers outlive the sign-in", n)
		}
		// Guesses from an address use up nobody's mails there.
		guess := reply{}
		for n := 0; guess.status != 429 && n < 200; n++ {
			guess = s.call("POST", "/verify", obj{"type": "recovery", "email": "b@x.example", "token": "no"}, from("192.0.2.77"))
		}
		s.want(guess, 429, "over_request_rate_limit")
		s.want(s.call("POST", "/recover", obj{"email": "b@x.example"}, from("192.0.2.77")), 200, "")
	})
}

// The link in the mail opens whatever is guessed at the digits beside it; and who
// asked for a code elsewhere has no more guesses at it than five.
func TestStrangers_link(t *testing.T) {
	const owner, target = "a@x.example", "https://app.example.com/reset"
	onBoth(t, nil, func(s *server) {
		s.signUp(owner)
		s.counting(false)
		ask := func() (digits, hash string) {
			s.sleep(2 * time.Minute)
			s.want(s.call("POST", "/recover?redirect_to="+target, obj{"email": owner}, from("203.0.113.7")), 200, "")
			return s.mailFor(target)
		}
		first, _ := ask()
		guess := func(token, address string) reply {
			return s.call("POST", "/verify", obj{"type": "recovery", "email": owner, "token": token}, from(address))
		}
		strangers := func() {
			for i := range 6 {
				s.want(guess("no", fmt.Sprintf("198.51.100.%d", i)), 403, "otp_expired")
			}
		}
		strangers()
		s.want(guess(first, "203.0.113.7"), 200, "")
		digits, hash := ask()
		strangers()
		s.want(guess(digits, "198.51.100.9"), 403, "otp_expired") // five guesses from elsewhere, whoever made them
		for range 5 {
			s.want(guess("no", "203.0.113.7"), 403, "otp_expired")
		}
		s.want(guess(digits, "203.0.113.7"), 403, "otp_expired")
		s.want(s.call("POST", "/verify", obj{"type": "recovery", "token_hash": hash}, from("198.51.100.9")), 200, "")
	})
}

// A mail within the interval, ten a day from an address and a hundred from all
// that the account does not know; an account that nobody has is told the same. Who
// signed in from an address before has his mail there.
func TestStrangers_mailsOfADay(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		s.signUp("a@x.example")
		s.counting(false)
		s.want(s.call("POST", "/token", obj{"email": "a@x.example", "password": pw}, from("203.0.113.7")), 200, "")
		ask := func(email, address string) reply {
			return s.call("POST", "/recover", obj{"email": email}, from(address))
		}
		for _, email := range []string{"a@x.example", "nobody@x.example"} {
			s.want(ask(email, "198.51.100.0"), 200, "")
			s.want(ask(email, "198.51.100.0"), 429, "over_email_send_rate_limit")
			s.want(ask(email, "198.51.100.1"), 200, "")
			for range 9 {
				s.sleep(61 * time.Second)
				s.want(ask(email, "198.51.100.0"), 200, "")
			}
			s.sleep(61 * time.Second)
			r := ask(email, "198.51.100.0")
			s.want(r, 429, "over_email_send_rate_limit")
			if wait, _ := r.body["retry_after"].(float64); wait < 80000 || r.body["limit"] != 10.0 {
				s.Errorf("%s", r.text)
			}
			for i := range 89 {
				s.want(ask(email, fmt.Sprintf("198.51.101.%d", i)), 200, "")
			}
			s.want(ask(email, "198.51.102.1"), 429, "over_email_send_rate_limit")
		}
		s.want(ask("a@x.example", "203.0.113.7"), 200, "")
	})
}

// A thousand wrong passwords a day from where the account is not known, of a
// session as well; then a mailed link, or an address that it is known at.
func TestStrangers_guessesOfADay(t *testing.T) {
	const owner, home, away = "a@x.example", "203.0.113.7", "198.51.100.1"
	onBoth(t, func(c *identity.Config) { c.Phone, c.SMS = true, silent{} }, func(s *server) {
		s.want(s.call("POST", "/admin/users", obj{"email": owner, "phone": "491712345678", "email_confirm": true,
			"phone_confirm": true, "password": pw},
			"apikey: "+s.keys.ServiceRoleKey), 200, "")
		s.counting(false)
		signIn := func(name, password, address string) reply {
			return s.call("POST", "/token", obj{"email": name, "password": password}, from(address))
		}
		sess := signIn(owner, pw, home)
		s.want(sess, 200, "")
		for range 3 {
			s.want(signIn(owner, "not the password", home), 400, "invalid_credentials")
		}
		if n := s.rows("SELECT COUNT(*) FROM wrong_passwords"); n != 0 {
			s.Error("a wrong password where the account is known counts")
		}
		for _, name := range []string{owner, "nobody@x.example"} {
			s.want(signIn(name, "not the password", away), 400, "invalid_credentials")
			s.exec("UPDATE wrong_passwords SET tries = 999 WHERE tries = 1")
			s.want(signIn(name, "not the password", "198.51.100.2"), 400, "invalid_credentials")
			for _, password := range []string{"not the password", pw} {
				r := signIn(name, password, "198.51.100.3")
				s.want(r, 429, "over_request_rate_limit")
				if r.body["error"] != "rate_limit_exceeded" || r.body["limit"] != 1000.0 || r.body["remaining"] != 0.0 ||
					r.body["reset_at"] == nil ||
					r.header.Get("Retry-After") == "" {
					s.Errorf("%v %s", r.header, r.text)
				}
			}
		}
		s.want(s.call("POST", "/token", obj{"phone": "+491712345678", "password": pw}, from(away)), 429,
			"over_request_rate_limit")
		s.want(s.call("POST", "/reauthenticate", obj{"password": pw}, bearer(sess.body), from(away)), 429,
			"over_request_rate_limit")
		s.want(s.call("POST", "/reauthenticate", obj{"password": pw}, bearer(sess.body), from(home)), 200, "")
		s.want(signIn(owner, pw, home), 200, "")
		s.want(s.call("POST", "/recover?redirect_to=https://app.example.com/reset", obj{"email": owner}, from(away)), 200, "")
		_, hash := s.mailFor("https://app.example.com/reset")
		s.want(s.call("POST", "/verify", obj{"type": "recovery", "token_hash": hash}, from(away)), 200, "")
		s.want(signIn(owner, pw, "198.51.100.4"), 429, "over_request_rate_limit")
		s.sleep(24*time.Hour + time.Second)
		s.want(signIn(owner, pw, "198.51.100.4"), 200, "")

		// A stolen session guesses no more than a stranger.
		s.exec("DELETE FROM wrong_passwords")
		s.want(s.call("POST", "/reauthenticate", obj{"password": "no"}, bearer(signIn(owner, pw, home).body),
			from("198.51.100.5")), 400, "current_password_invalid")
		s.want(signIn("nobody@x.example", "no", away), 400, "invalid_credentials")
		if n := s.rows("SELECT COUNT(*) FROM wrong_passwords WHERE tries = 1"); n != 2 {
			s.Errorf("%d rows of wrong passwords, want 2", n)
		}
		s.sleep(25 * time.Hour)
		if err := s.svc.Sweep(s.Context()); err != nil {
			s.Fatal(err)
		}
		if n := s.rows("SELECT COUNT(*) FROM wrong_passwords"); n != 0 {
			s.Errorf("%d rows outlive their day", n)
		}
	})
}

// linkIn is the query of a mailed link.
func linkIn(t *testing.T, text string) url.Values {
	t.Helper()
	for _, word := range strings.Fields(text) {
		if u, err := url.Parse(word); err == nil && strings.HasSuffix(u.Path, "/auth/v1/verify") {
			return u.Query()
		}
	}
	t.Fatalf("no link in %q", text)
	return nil
}
