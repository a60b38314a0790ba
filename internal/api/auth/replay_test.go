package auth_test

import (
	"testing"
	"time"
)

// A copied refresh token is seen: once what its successor brought is in use the
// copy ends the session, however old it is. An answer that was lost, of which
// nothing is in use, is repeated.
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

		copied := s.signUp("copied@x.example")
		s.sleep(2 * time.Second)
		current := refresh(copied).body
		if r := s.call("GET", "/user", nil, bearer(current)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.sleep(11 * time.Second)
		s.want(refresh(copied), 400, "refresh_token_already_used")
		s.want(refresh(current), 400, "refresh_token_not_found")
		s.want(s.call("GET", "/user", nil, bearer(current)), 403, "session_not_found")
	})
}
