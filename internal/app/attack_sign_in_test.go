package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// However the account is written and whatever the header
// says, one address gets ten attempts in ten seconds.
// After that the owner still gets in from another address.
func TestAttackSignInAttempts(t *testing.T) {
	behindProxy := func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }
	t.Run("no proxy", func(t *testing.T) {
		testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
			begin := time.Now()
			if n := guess(t, k, rotated); n > 10*started(begin) {
				t.Errorf("%d of 28 guesses were heard", n)
			}
		}, testkit.Limited)
	})
	t.Run("behind a proxy", func(t *testing.T) {
		testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
			begin := time.Now()
			if n := guess(t, k, func(int) string { return "198.51.100.7" }); n > 10*started(begin) {
				t.Errorf("%d of 28 guesses were heard", n)
			}
			if s := signIn(k, testkit.As("manager"), demo.Password, "203.0.113.9"); s != http.StatusOK {
				t.Errorf("the owner from another address: %d", s)
			}
			begin = time.Now()
			if n := guess(t, k, rotated); n > 20*started(begin) {
				t.Errorf("%d guesses from many addresses were heard, want no more than the account's 20", n)
			}
		}, testkit.Limited, behindProxy)
	})
}

// started is how many limits of ten seconds the guesses since begin could use.
func started(begin time.Time) int { return 1 + int(time.Since(begin)/(10*time.Second)) }

func rotated(i int) string { return fmt.Sprintf("198.51.100.%d", 10+i) }

// guess tries 28 wrong passwords on one account, written in four ways, and
// returns how many were not refused for their number.
func guess(t *testing.T, k *testkit.Kit, from func(i int) string) (heard int) {
	t.Helper()
	spellings := []string{testkit.As("manager"), "  " + testkit.As("manager") + " ", "Manager@NORTH.example",
		"\uff4d\uff41nager@north.example"}
	for i := range 28 {
		switch s := signIn(k, spellings[i%len(spellings)], "not the password", from(i)); s {
		case http.StatusTooManyRequests:
		case http.StatusBadRequest:
			heard++
		default:
			t.Fatalf("%q: %d", spellings[i%len(spellings)], s)
		}
	}
	return heard
}

func signIn(k *testkit.Kit, email, password, from string) int {
	return k.Call(testkit.Request{
		Method: "POST", Path: "/auth/v1/token?grant_type=password",
		Body:   map[string]string{"email": email, "password": password},
		Header: map[string]string{"X-Forwarded-For": from},
	}).Status
}
