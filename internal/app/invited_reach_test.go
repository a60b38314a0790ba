package app_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// inviteWithin invites an address with a reach and returns the invitation's id.
func (k inviterKit) inviteWithin(email string, role actor.Role, reach map[string]any) string {
	k.t.Helper()
	body := map[string]any{"email": email, "role": role, "deliver": "link"}
	for field, value := range reach {
		body[field] = value
	}
	var inv struct{ ID string }
	k.call("POST", "/auth/v1/invitations", testkit.As(actor.Owner), body, 201).JSON(k.t, &inv)
	return inv.ID
}

func (k inviterKit) wantMember(email, want string) {
	k.t.Helper()
	rows := testkit.List[struct {
		Role, Worker, Owner string
		Zones               []string
	}](k.t, k.Kit, testkit.As(actor.Owner),
		"members?select=role,worker:worker_id,owner:owner_id,zones:zone_ids&status=eq.active&email=eq."+email)
	if got := fmt.Sprint(rows); got != want {
		k.t.Errorf("%s is %s, want %s", email, got, want)
	}
}

// What an invitation says of worker, zones and owner holds from the first request of who
// takes it up: a client never sees another's goods, not even until somebody looks.
func TestInvitationsCarryTheirReach(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := inviterKit{kit, t}
		m := testkit.As(actor.Manager)
		owner := kit.Insert(t, m, "goods_owners", map[string]any{"code": "REACH", "name": "Reach"})
		item := kit.Insert(t, m, "items", map[string]any{"sku": "REACH-1", "name": "Theirs", "owner_id": owner})
		worker := kit.Insert(t, m, "workers", map[string]any{"employee_no": "R-1", "name": "Robin"})
		zone := testkit.List[struct{ ID string }](t, kit, m, "zones?select=id&limit=1")[0].ID

		client := "client@reach.example"
		k.givenAccount(client)
		k.call("POST", "/auth/v1/invitations/"+k.inviteWithin(client, actor.Viewer, map[string]any{"owner_id": owner})+
			"/accept", client, map[string]any{}, 200)
		k.wantMember(client, "[{viewer  "+owner+" []}]")
		var session struct {
			Access string `json:"access_token"`
		}
		k.call("POST", "/auth/v1/token?grant_type=password", "",
			map[string]any{"email": client, "password": "correct horse battery", "tenant_id": demo.North}, 200).JSON(t, &session)
		seen := kit.Call(testkit.Request{Method: "GET", Path: "/v1/items?select=id", Bearer: session.Access})
		if got := strings.TrimSpace(string(seen.Body)); got != `[{"id":"`+item+`"}]` {
			t.Errorf("the client sees %.200s", got)
		}

		hand := "hand@reach.example"
		k.givenAccount(hand)
		within := map[string]any{"worker_id": worker, "zone_ids": []string{zone}}
		id := k.inviteWithin(hand, actor.Operator, within)
		k.call("POST", "/auth/v1/invitations/"+id+"/accept", hand, map[string]any{}, 200)
		k.wantMember(hand, "[{operator "+worker+"  ["+zone+"]}]")

		k.call("PATCH", "/v1/members?email=eq."+hand, testkit.As(actor.Owner), map[string]any{"status": "suspended"}, 204)
		id = k.inviteWithin(hand, actor.Operator, nil)
		k.call("POST", "/auth/v1/invitations/"+id+"/accept", hand, map[string]any{}, 200)
		k.wantMember(hand, "[{operator "+worker+"  ["+zone+"]}]") // coming back opens no other zone

		record := "record@reach.example"
		k.givenAccount(record)
		var made []struct{ ID string }
		kit.Call(testkit.Request{Method: "POST", Path: "/v1/invitations", As: testkit.As(actor.Owner),
			Body:   map[string]any{"email": record, "role": "viewer", "owner_id": owner},
			Header: map[string]string{"Prefer": "return=representation"}}).JSON(t, &made)
		k.call("POST", "/auth/v1/invitations/"+made[0].ID+"/accept", record, map[string]any{}, 200)
		k.wantMember(record, "[{viewer  "+owner+" []}]")

		byHand := "by-hand@reach.example" // joins by another way than the invitation that waits
		k.givenAccount(byHand)
		k.inviteWithin(byHand, actor.Viewer, map[string]any{"owner_id": strings.ToUpper(owner)})
		if _, err := kit.App.Identity.Admin.AddMember(t.Context(), demo.North, byHand, actor.Viewer); err != nil {
			t.Fatal(err)
		}
		k.wantMember(byHand, "[{viewer  "+owner+" []}]")
	})
}

// An invitation that has ended refers to nothing: what it named can be deleted. The audit
// log says what it offered.
func TestEndedInvitationsLetGo(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := inviterKit{kit, t}
		for name, end := range map[string]func(id, email string){
			"revoked": func(id, _ string) {
				k.call("PATCH", "/v1/invitations?id=eq."+id, testkit.As(actor.Owner), map[string]any{"status": "revoked"}, 204)
			},
			"replaced": func(_, email string) { k.inviteWithin(email, actor.Operator, nil) },
			"replaced by a record": func(_, email string) {
				k.call("POST", "/v1/invitations", testkit.As(actor.Owner), map[string]any{"email": email, "role": "viewer"}, 201)
			},
		} {
			email := strings.ReplaceAll(name, " ", "-") + "@reach.example"
			worker := kit.Insert(t, testkit.As(actor.Manager), "workers", map[string]any{"employee_no": name, "name": name})
			id := k.inviteWithin(email, actor.Operator, map[string]any{"worker_id": worker})
			if r := kit.Call(testkit.Request{Method: "DELETE", Path: "/v1/workers?id=eq." + worker,
				As: testkit.As(actor.Owner)}); r.Status != 409 {
				t.Errorf("%s: deleted while the invitation waits: %d %s", name, r.Status, r.Body)
			}
			end(id, email)
			k.call("DELETE", "/v1/workers?id=eq."+worker, testkit.As(actor.Owner), nil, 204)
			trace := string(kit.Get(testkit.As(actor.Owner), "/v1/audit?select=details&action=eq.member.invited&entity_id=eq."+id).Body)
			if !strings.Contains(trace, worker) {
				t.Errorf("%s: the audit log says %s", name, trace)
			}
		}
	})
}

// A reach that the role cannot have or that the tenant does not hold is refused by name,
// by both doors, and nothing is kept.
func TestInvitationsBeyondReach(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		owner := kit.Insert(t, testkit.As(actor.Manager), "goods_owners", map[string]any{"code": "FAR", "name": "Far"})
		theirs := kit.Insert(t, "admin@south.example", "goods_owners", map[string]any{"code": "FAR", "name": "Far"})
		for name, c := range map[string]struct {
			field string
			set   map[string]any
		}{
			"an operator as a client":  {"owner_id", map[string]any{"role": "operator", "owner_id": owner}},
			"another tenant's owner":   {"owner_id", map[string]any{"owner_id": theirs}},
			"another tenant's worker":  {"worker_id", map[string]any{"worker_id": kit.Foreign(t, "workers")}},
			"another tenant's zone":    {"zone_ids", map[string]any{"zone_ids": []string{kit.Foreign(t, "zones")}}},
			"no id":                    {"worker_id", map[string]any{"worker_id": "Robin"}},
			"no list of zones":         {"zone_ids", map[string]any{"zone_ids": "A"}},
			"of a member":              {"member already", map[string]any{"owner_id": owner, "email": "viewer@north.example"}},
			"a member nobody knows of": {"zones", map[string]any{"zones": []string{owner}}},
		} {
			body := map[string]any{"email": "far@reach.example", "role": "viewer"}
			for field, value := range c.set {
				body[field] = value
			}
			for _, path := range [...]string{"/auth/v1/invitations", "/v1/invitations"} {
				r := kit.Call(testkit.Request{Method: "POST", Path: path, As: testkit.As(actor.Owner), Body: body})
				if r.Status < 400 || r.Status >= 500 || !strings.Contains(string(r.Body), c.field) ||
					strings.Contains(string(r.Body), "Reach.") {
					t.Errorf("%s, %s: %d %s", name, path, r.Status, r.Body)
				}
			}
		}
		rows := string(kit.Get(testkit.As(actor.Owner), "/v1/invitations?select=id&email=eq.far@reach.example").Body)
		if strings.TrimSpace(rows) != "[]" {
			t.Errorf("kept all the same: %s", rows)
		}
	})
}
