package auth_test

import (
	"testing"
	"time"
)

// A copied refresh token is seen: once what its successor brought is in use the
// copy gets nothing, and ends the session when no tab can have it by right any
// more. An answer that was lost, of which nothing is in use, is repeated.
func TestRefresh_theftIsSeen(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		refresh := func(sess obj) reply {
			return s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": sess["refresh_token"]})
		}
		lost := s.signUp("lost@x.example")
		next := refresh(lost).body
		s.sleep(time.Hour)
		again := refresh(lost)
		if again.status != 200 || again.body["refresh_token"] != next["refresh_token"] {
			s.Fatalf("a lost answer: %d %s", again.status, again.text)
		}

		// Tabs that refresh at once have one token, until one of them uses what it got.
		copied := s.signUp("copied@x.example")
		s.sleep(2 * time.Second)
		current := refresh(copied).body
		if tab := refresh(copied); tab.body["refresh_token"] != current["refresh_token"] {
			s.Fatalf("a tab at once: %d %s", tab.status, tab.text)
		}
		if r := s.call("GET", "/user", nil, bearer(current)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.want(refresh(copied), 400, "refresh_token_already_used")
		if r := s.call("GET", "/user", nil, bearer(current)); r.status != 200 {
			s.Fatalf("a tab that came late ended the session: %d %s", r.status, r.text)
		}
		s.sleep(11 * time.Second)
		s.want(refresh(copied), 400, "refresh_token_already_used")
		s.want(refresh(current), 400, "refresh_token_not_found")
		s.want(s.call("GET", "/user", nil, bearer(current)), 403, "session_not_found")
	})
}

// The child's refresh token counts as its access token does: the token two
// generations back never gets the newest one.
func TestRefresh_generations(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		refresh := func(sess obj) reply {
			return s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": sess["refresh_token"]})
		}
		first := s.signUp("generations@x.example")
		second := refresh(first).body
		third := refresh(second).body
		s.want(refresh(first), 400, "refresh_token_already_used")
		if r := refresh(second); r.body["refresh_token"] != third["refresh_token"] {
			s.Fatalf("the parent of a token that nobody used: %d %s", r.status, r.text)
		}
		s.sleep(11 * time.Second)
		s.want(refresh(first), 400, "refresh_token_already_used")
		s.want(refresh(third), 400, "refresh_token_not_found")
	})
}
