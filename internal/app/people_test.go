package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/testkit"
)

// An administrator invites by inserting a row; the mail goes out, and whoever
// signs up with the address for the tenant joins with the role that was offered.
func TestInvitation(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		invite := map[string]any{"email": "New.Hand@Else.example", "role": "operator"}
		if r := k.Post(testkit.As(actor.Manager), "/v1/invitations", invite); r.Status != 403 {
			t.Errorf("a manager invites: %d", r.Status)
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/invitations",
			map[string]any{"email": "x@y.example", "role": "owner"}); r.Status != 403 {
			t.Errorf("an admin offers ownership: %d %s", r.Status, r.Body)
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/invitations", invite); r.Status != 201 {
			t.Fatalf("invite: %d %s", r.Status, r.Body)
		}
		testkit.Must(t, run(k.App, tenants.MailJob))
		awaitMail(t, k, "new.hand@else.example")
		var s struct {
			AccessToken string `json:"access_token"`
		}
		signUp := map[string]any{"email": "new.hand@else.example", "password": "a long enough one",
			"data": map[string]any{"tenant_id": demo.North}}
		k.Post("", "/auth/v1/signup", signUp).JSON(t, &s)
		r := k.Call(testkit.Request{Method: "GET", Path: "/v1/members?select=role,email", Bearer: s.AccessToken})
		if got := string(r.Body); got != `[{"role":"operator","email":"new.hand@else.example"}]` {
			t.Errorf("membership after sign-up: %d %s", r.Status, got)
		}
	})
}

func awaitMail(t *testing.T, k *testkit.Kit, to string) {
	t.Helper()
	for range 600 {
		r := k.Call(testkit.Request{Method: "GET", Path: "/dev/mail?to=" + to})
		if strings.Contains(string(r.Body), to) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no mail to %s", to)
}

// A member who is removed, demoted or suspended loses what it opened, at once
// and with a warm cache.
func TestMembershipEnds(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Viewer)
		if r := k.Get(as, "/functions/v1/safety-kpis"); r.Status != 200 {
			t.Fatalf("before: %d", r.Status)
		}
		var m []struct{ ID string }
		k.Get(testkit.As(actor.Owner), "/v1/members?select=id&email=eq."+as).JSON(t, &m)
		if len(m) != 1 {
			t.Fatalf("members %v", m)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/members?id=eq." + m[0].ID,
			As: testkit.As(actor.Owner)}); r.Status != 204 {
			t.Fatalf("remove: %d %s", r.Status, r.Body)
		}
		if r := k.Get(as, "/functions/v1/safety-kpis"); r.Status != 403 && r.Status != 401 {
			t.Errorf("after: %d %s", r.Status, r.Body)
		}
		var owners []struct{ ID string }
		k.Get(testkit.As(actor.Owner), "/v1/members?select=id&role=eq.owner").JSON(t, &owners)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?id=eq." + owners[0].ID,
			As:   testkit.As(actor.Owner),
			Body: map[string]any{"role": "viewer"}}); r.Status < 400 {
			t.Errorf("the last owner stepped down: %d", r.Status)
		}
	})
}
