package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/redistest"
)

// Five strangers, who have no password, use up what an account has. Its owner
// signs in from where he did before, whichever node he meets; from elsewhere he
// waits as they do.
func TestAttackStrangersKeepNobodyOut(t *testing.T) {
	behindProxy := func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }
	attack := func(t *testing.T, one, two *testkit.Kit) {
		const home = "203.0.113.9"
		owner := testkit.As("manager")
		if s := signIn(two, owner, demo.Password, home); s != http.StatusOK {
			t.Fatalf("the owner: %d", s)
		}
		elsewhere := 0
		for until := time.Now().Add(30 * time.Second); elsewhere != http.StatusTooManyRequests && time.Now().Before(until); {
			for i := range 60 {
				one.Call(testkit.Request{Method: "POST", Path: "/auth/v1/verify",
					Header: map[string]string{"X-Forwarded-For": fmt.Sprintf("198.51.100.%d", i%5)},
					Body:   map[string]string{"type": "email", "email": owner, "token": "000000"}})
			}
			elsewhere = signIn(two, owner, demo.Password, "203.0.113.200")
			if s := signIn(two, owner, demo.Password, home); s != http.StatusOK {
				t.Fatalf("the owner, whose account's window strangers emptied: %d", s)
			}
		}
		if elsewhere != http.StatusTooManyRequests {
			t.Errorf("from an address that nobody signed in from: %d", elsewhere)
		}
	}
	t.Run("one node", func(t *testing.T) {
		testkit.Run(t, func(t *testing.T, k *testkit.Kit) { attack(t, k, k) }, testkit.Limited, behindProxy)
	})
	t.Run("a fleet", func(t *testing.T) {
		k := testkit.New(t, db.PostgreSQL, testkit.Limited, behindProxy, redisOption(redistest.Start(t)))
		attack(t, k, beside(t, k))
	})
}
