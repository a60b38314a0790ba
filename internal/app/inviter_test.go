package app_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// inviterKit makes people of the north tenant, and invitations that they send.
type inviterKit struct {
	*testkit.Kit
	t *testing.T
}

func (k inviterKit) call(method, path, as string, body any, want int) testkit.Response {
	k.t.Helper()
	r := k.Call(testkit.Request{Method: method, Path: path, As: as, Body: body})
	if r.Status != want {
		k.t.Fatalf("%s %s: %d %s, want %d", method, path, r.Status, r.Body, want)
	}
	return r
}

func (k inviterKit) service(method, path string, body any) testkit.Response {
	k.t.Helper()
	r := k.Call(testkit.Request{Method: method, Path: path, Bearer: k.Service(), Body: body})
	if r.Status/100 != 2 {
		k.t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	return r
}

// givenAccount makes a confirmed account and returns its id.
func (k inviterKit) givenAccount(email string) string {
	k.t.Helper()
	var u struct{ ID string }
	k.service("POST", "/auth/v1/admin/users", map[string]any{"email": email, "password": "correct horse battery",
		"email_confirm": true}).JSON(k.t, &u)
	return u.ID
}

func (k inviterKit) givenMember(email string, role actor.Role) string {
	k.t.Helper()
	id := k.givenAccount(email)
	k.service("POST", "/v1/members", map[string]any{"tenant_id": demo.North, "user_id": id, "email": email, "role": role,
		"status": "active"})
	return id
}

// An offer is one invitation of every way in which somebody takes one up.
type offer struct {
	holder, stranger       string // addresses: of an account, and of nobody yet
	accepted, wished, link string // the invitation's id, its token, the token of the link that opens an account
}

func (k inviterKit) invite(by, email string, role actor.Role) (id, link string) {
	k.t.Helper()
	var inv struct{ ID, Link string }
	body := map[string]any{"email": email, "role": role, "deliver": "link"}
	k.call("POST", "/auth/v1/invitations", by, body, 201).JSON(k.t, &inv)
	return inv.ID, inv.Link
}

func parameterOf(t *testing.T, link, name string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get(name) == "" {
		t.Fatalf("%s has no %s", link, name)
	}
	return u.Query().Get(name)
}

func (k inviterKit) offer(by, name string, role actor.Role) (o offer) {
	o.holder, o.stranger = "holder-"+name+"@else.example", "stranger-"+name+"@else.example"
	k.givenAccount(o.holder)
	id, link := k.invite(by, o.holder, role)
	o.accepted, o.wished = id, parameterOf(k.t, link, "invite_token")
	_, link = k.invite(by, o.stranger, role)
	o.link = parameterOf(k.t, link, "token")
	return o
}

// takenUp tries each way and returns those that let somebody in.
func (k inviterKit) takenUp(o offer) (in []string) {
	k.t.Helper()
	var waiting struct{ Invitations []struct{ ID string } }
	k.call("GET", "/auth/v1/invitations", o.holder, nil, 200).JSON(k.t, &waiting)
	if len(waiting.Invitations) > 0 {
		in = append(in, "the list of the person invited")
	}
	body := map[string]any{"email": o.holder, "password": "correct horse battery", "invite_token": o.wished}
	if r := k.Post("", "/auth/v1/token?grant_type=password", body); r.Status == 200 {
		in = append(in, "a sign-in that names the invitation")
	}
	if r := k.Post(o.holder, "/auth/v1/invitations/"+o.accepted+"/accept", map[string]any{}); r.Status != 404 {
		in = append(in, fmt.Sprintf("accepting it: %d %s", r.Status, r.Body))
	}
	if r := k.Post("", "/auth/v1/verify", map[string]any{"type": "invite", "token_hash": o.link}); r.Status != 403 {
		in = append(in, fmt.Sprintf("the link that opens an account: %d", r.Status))
	}
	body = map[string]any{"email": o.stranger, "password": "correct horse battery",
		"data": map[string]any{"tenant_id": demo.North}}
	k.Post("", "/auth/v1/signup", body)
	return in
}

func (k inviterKit) statuses(o offer) string {
	k.t.Helper()
	var rows []struct{ Status string }
	k.call("GET", fmt.Sprintf("/v1/invitations?select=status&email=in.(%s,%s)", o.holder, o.stranger),
		testkit.As(actor.Owner), nil, 200).JSON(k.t, &rows)
	var out []string
	for _, r := range rows {
		out = append(out, r.Status)
	}
	return strings.Join(out, " ")
}

// Invitations end with what entitled their inviter to them, by whichever way it
// ends, and none of them lets anybody in afterwards.
func TestInvitationsOfAnEndedAdministrator(t *testing.T) {
	owner := testkit.As(actor.Owner)
	member := func(id string) string { return "/v1/members?user_id=eq." + id }
	for name, end := range map[string]func(k inviterKit, email, id string){
		"removed": func(k inviterKit, _, id string) { k.call("DELETE", member(id), owner, nil, 204) },
		"suspended": func(k inviterKit, _, id string) {
			k.call("PATCH", member(id), owner, map[string]any{"status": "suspended"}, 204)
		},
		"demoted": func(k inviterKit, _, id string) {
			k.call("PATCH", member(id), owner, map[string]any{"role": "manager"}, 204)
		},
		"left": func(k inviterKit, email, _ string) { k.call("DELETE", "/auth/v1/tenants/"+demo.North, email, nil, 204) },
		"deleted": func(k inviterKit, _, id string) {
			k.service("DELETE", "/auth/v1/admin/users/"+id, map[string]any{"should_soft_delete": true})
		},
		"reassigned": func(k inviterKit, email, _ string) {
			if _, err := k.App.Identity.Admin.AddMember(k.t.Context(), demo.North, email, actor.Viewer); err != nil {
				k.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
				k := inviterKit{kit, t}
				email := "second-admin@north.example"
				id := k.givenMember(email, actor.Admin)
				o := k.offer(email, "of-"+name, actor.Operator)
				kept, _ := k.invite(owner, "kept@else.example", actor.Viewer)
				end(k, email, id)
				if got := k.statuses(o); got != "revoked revoked" {
					t.Errorf("the invitations are %s", got)
				}
				for _, way := range k.takenUp(o) {
					t.Errorf("somebody got in by %s", way)
				}
				if n := k.Counted(t, "members WHERE email LIKE '%@else.example'"); n != 0 {
					t.Errorf("%d members", n)
				}
				if n := k.Counted(t, "audit WHERE action = 'invitation.revoked'"); n != 2 {
					t.Errorf("%d rows of the audit log", n)
				}
				if got := string(k.call("GET", "/v1/invitations?select=status&id=eq."+kept, owner, nil,
					200).Body); !strings.Contains(got, "pending") {
					t.Errorf("another inviter's invitation: %s", got)
				}
			})
		})
	}
}

// An invitation is looked at again when it is taken up: what changed behind the
// effects, or for a while, counts too.
func TestInvitationIsCheckedAgain(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := inviterKit{kit, t}
		for name, change := range map[string]string{
			"role":   "UPDATE members SET role = 'safety' WHERE user_id = $1",
			"status": "UPDATE members SET status = 'suspended' WHERE user_id = $1",
			"row":    "DELETE FROM members WHERE user_id = $1",
			"ban":    "UPDATE users SET banned_until = '2999-01-01T00:00:00.000000Z' WHERE id = $1",
		} {
			email := name + "-admin@north.example"
			id := k.givenMember(email, actor.Admin)
			o := k.offer(email, name, actor.Admin)
			err := k.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec(change, id)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, way := range k.takenUp(o) {
				t.Errorf("%s: somebody got in by %s", name, way)
			}
		}
		if n := k.Counted(t, "members WHERE email LIKE '%@else.example'"); n != 0 {
			t.Errorf("%d members", n)
		}
	})
}

// An owner who becomes an administrator leaves invitations that only owners may
// give behind, and keeps the others.
func TestInvitationsAfterATransfer(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := inviterKit{kit, t}
		owner := testkit.As(actor.Owner)
		var heir struct{ ID string }
		k.call("GET", "/auth/v1/user", testkit.As(actor.Admin), nil, 200).JSON(t, &heir)
		high, _ := k.invite(owner, "high@else.example", actor.Owner)
		low, _ := k.invite(owner, "low@else.example", actor.Admin)
		k.call("POST", "/auth/v1/tenant/transfer", owner,
			map[string]any{"user_id": heir.ID, "current_password": demo.Password}, 204)
		for id, want := range map[string]string{high: "revoked", low: "pending"} {
			if got := string(k.call("GET", "/v1/invitations?select=status&id=eq."+id, testkit.As(actor.Admin), nil,
				200).Body); !strings.Contains(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// Administrators see what somebody set up that goes on without that person, also
// when the membership is over; nobody else does, and nothing of another tenant.
func TestMemberWorks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := inviterKit{kit, t}
		email, owner := "builder@north.example", testkit.As(actor.Owner)
		id := k.givenMember(email, actor.Admin)
		path := "/auth/v1/tenant/members/" + id + "/works"
		const empty = `{"invitations":[],"service_accounts":[],"webhooks":[],"connections":[],"returns_by":[]}`
		if got := strings.TrimSpace(string(k.call("GET", path, owner, nil, 200).Body)); got != empty {
			t.Errorf("nothing set up: %s", got)
		}
		k.invite(email, "guest@else.example", actor.Viewer)
		k.call("POST", "/v1/webhooks", email, map[string]any{"url": "https://93.184.216.34/in",
			"events": []string{"order.cancelled"}}, 201)
		setUp := `INSERT INTO service_accounts (tenant_id, id, name, role, scopes, addresses, created_at, created_by, updated_at)
			VALUES ($1, $2, $4, 'manager', '[]', '[]', $5, $3, $5)`
		key := `INSERT INTO service_keys (tenant_id, id, account_id, hash, created_at, created_by) VALUES ($1, $2, $2, $4, $5, $3)`
		err := k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			const now = "2026-01-05T08:00:00.000000Z"
			for _, a := range [][]any{{setUp, demo.North, db.NewID(), id, "Scanner"},
				{setUp, demo.South, db.NewID(), id, "Elsewhere"}} {
				if _, err := tx.Exec(a[0].(string), append(a[1:], now)...); err != nil {
					return err
				}
				if _, err := tx.Exec(key, append(a[1:4], "hash of "+a[4].(string), now)...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		k.call("DELETE", "/v1/members?user_id=eq."+id, owner, nil, 204)
		var works struct {
			Invitations, Webhooks, Connections []struct{ URL string }
			ServiceAccounts                    []struct {
				Name, Role string
				Keys       int
			} `json:"service_accounts"`
		}
		k.call("GET", path, owner, nil, 200).JSON(t, &works)
		if len(works.Invitations) != 0 || len(works.Webhooks) != 1 || works.Webhooks[0].URL != "https://93.184.216.34/in" ||
			len(works.ServiceAccounts) != 1 ||
			works.ServiceAccounts[0].Name != "Scanner" || works.ServiceAccounts[0].Keys != 1 {
			t.Errorf("%+v", works)
		}
		if got := strings.TrimSpace(string(k.call("GET", path, "admin@south.example", nil, 200).Body)); strings.Contains(got,
			"Scanner") ||
			strings.Contains(got, "93.184.216.34") {
			t.Errorf("another tenant sees %s", got)
		}
		k.call("GET", path, testkit.As(actor.Manager), nil, 403)
		k.call("GET", "/auth/v1/tenant/members/me/works", owner, nil, 404)
	})
}
