package app_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// Nobody, by no record, learns who reported anonymously.
func TestAttackAnonymousReport(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		reporter := testkit.As(actor.Operator)
		var me struct{ ID string }
		k.Get(reporter, "/auth/v1/user").JSON(t, &me)
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents", As: reporter,
			Header: map[string]string{"Prefer": "return=representation"},
			Body: map[string]any{"kind": "hazard", "title": "Said in confidence", "occurred_at": "2026-01-05T08:00:00Z",
				"anonymous": true}})
		var made []struct{ ID string }
		r.JSON(t, &made)
		if r.Status != 201 || len(made) != 1 {
			t.Fatalf("report: %d %s", r.Status, r.Body)
		}
		audit := k.Get(testkit.As(actor.Owner), "/v1/audit?entity_id=eq."+made[0].ID)
		if audit.Status != 200 || strings.Contains(string(audit.Body), me.ID) {
			t.Errorf("the audit names the reporter %s: %d %s", me.ID, audit.Status, audit.Body)
		}
	})
}

// Who signs up with another's address, before its owner does, has no password
// that opens the account once the owner has proved the address.
func TestAttackSignUpAheadOfOwner(t *testing.T) {
	const address, thief, owner = "victim@else.example", "password of the thief", "password of the owner"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, pw := range []string{thief, owner} {
			if r := k.Post("", "/auth/v1/signup", map[string]any{"email": address, "password": pw}); r.Status != 200 {
				t.Fatalf("sign up: %d %s", r.Status, r.Body)
			}
			time.Sleep(10 * time.Millisecond)
		}
		link := regexp.MustCompile(`/auth/v1/verify\?[^\s"<>\\]+`)
		opened := false
		for range 600 {
			body := string(k.Call(testkit.Request{Method: "GET", Path: "/dev/mail?to=" + address}).Body)
			body = strings.ReplaceAll(strings.ReplaceAll(body, `\u0026`, "&"), "&amp;", "&")
			for _, l := range link.FindAllString(body, -1) {
				at, err := url.Parse(k.Call(testkit.Request{Method: "GET", Path: l}).Header.Get("Location"))
				if err != nil {
					t.Fatal(err)
				}
				r := k.Post("", "/auth/v1/verify", map[string]any{"type": at.Query().Get("type"),
					"token_hash": at.Query().Get("token_hash")})
				opened = opened || r.Status == 200
			}
			if opened {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if !opened {
			t.Fatal("no link of the mails opened the account")
		}
		r := k.Post("", "/auth/v1/token?grant_type=password", map[string]any{"email": address, "password": thief})
		var s struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal(r.Body, &s); err != nil || s.AccessToken != "" {
			t.Errorf("the thief signs in: %d %.80s", r.Status, r.Body)
		}
	}, func(c *config.Config) { c.Autoconfirm, c.MailInterval = false, -1 })
}
