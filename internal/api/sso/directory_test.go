package sso_test

import (
	"fmt"
	"net/url"
	"testing"

	"holdfast/internal/actor"
)

// directory is the SCIM client of a connection.
type directory struct {
	*kit
	*op
	tenant, id, token string
}

// newDirectory makes a connection of a new tenant, where who is in no mapped
// group is a viewer.
func newDirectory(k *kit, change map[string]any) *directory {
	k.Helper()
	d := &directory{kit: k, op: newOP(k), tenant: k.tenant("Corp")}
	d.id = k.oidcConnection(d.op, d.tenant, "corp.example")
	d.token = k.want(k.call("POST", "/sso/connections/"+d.id+"/scim-token", k.serviceKey(), nil), 201, "").text(k, "token")
	if change != nil {
		k.want(k.call("PUT", "/sso/connections/"+d.id, k.serviceKey(), change), 200, "")
	}
	return d
}

func (d *directory) scim(method, path string, body any, status int) answer {
	d.Helper()
	a := d.kit.call(method, "/scim/v2"+path, d.token, body)
	if a.status != status {
		d.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// arrive signs a person in and returns where the browser lands.
func (d *directory) arrive(claims map[string]any) *url.URL {
	d.Helper()
	d.op.claims = claims
	conn, q := d.op.answer(d.begin("provider_id", d.id))
	return d.callback(conn, q)
}

// enter is arrive for who is let in; it returns the account and its session.
func (d *directory) enter(in map[string]any) (user, access string) {
	d.Helper()
	access = d.want(d.redeem(d.arrive(in)), 200, "").text(d.kit, "access_token")
	return claims(d.kit, access)["sub"].(string), access
}

func patchOf(path string, value any) map[string]any {
	return map[string]any{"Operations": []any{map[string]any{"op": "replace", "path": path, "value": value}}}
}

// membership is "role status" of an account in the directory's tenant.
func (d *directory) membership(user string) string {
	for _, role := range actor.Members {
		for _, status := range []string{"active", "suspended"} {
			if d.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND user_id = $2 AND role = $3 AND status = $4",
				d.tenant, user, string(role), status) == 1 {
				return string(role) + " " + status
			}
		}
	}
	return "none"
}

func (d *directory) set(column, value, user string) {
	d.Helper()
	d.exec("UPDATE members SET "+column+" = $3 WHERE tenant_id = $1 AND user_id = $2", d.tenant, user, value)
}

// What a directory switches off it can switch on again, as it was: roles that
// people gave stay, and what the tenant itself suspended stays suspended.
func TestDirectoryGivesBackWhatItTook(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, map[string]any{"role_map": map[string]string{}})
		k.member(d.tenant, "boss@x.example", actor.Owner)
		user, _ := d.enter(nil)
		path := "/Users/" + user
		off := func() { d.scim("PATCH", path, patchOf("active", false), 200) }
		on := func() { d.scim("PATCH", path, patchOf("active", true), 200) }
		for _, c := range []struct {
			name      string
			role      string
			off, on   func()
			away, now string
		}{
			{"a role given by hand", "manager", off, on, "manager suspended", "manager active"},
			{"an owner beside another", "owner", off, on, "owner suspended", "owner active"},
			{"removed, and made again", "safety", func() {
				d.scim("PATCH", path, patchOf("externalId", "4711"),
					200)
				d.scim("DELETE", path, nil, 204)
			},
				func() {
					d.scim("POST", "/Users", map[string]any{"userName": "bob@corp.example", "externalId": "4711"}, 201)
				}, "safety suspended", "safety active"},
			{"suspended by the tenant before", "manager", func() { d.set("status", "suspended", user); off() }, on,
				"manager suspended", "manager suspended"},
		} {
			d.set("role", c.role, user)
			c.off()
			if got := d.membership(user); got != c.away {
				k.Errorf("%s: %s while away, want %s", c.name, got, c.away)
			}
			if c.on(); d.membership(user) != c.now {
				k.Errorf("%s: %s afterwards, want %s", c.name, d.membership(user), c.now)
			}
		}
	})
}

// Where groups give the roles, who comes back has the role of the groups as
// they are then; in none, the person stays out until a group lets them in.
func TestDirectoryGroupsAfterAbsence(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, map[string]any{"default_role": "",
			"role_map": map[string]string{"drivers": "driver", "managers": "manager"}})
		user := d.scim("POST", "/Users", map[string]any{"userName": "bob@corp.example"}, 201).text(k, "id")
		group := func(name string) string {
			return d.scim("POST", "/Groups", map[string]any{"displayName": name}, 201).text(k, "id")
		}
		drivers, managers := group("drivers"), group("managers")
		put := func(group string, who ...map[string]any) {
			d.scim("PATCH", "/Groups/"+group, patchOf("members", append([]map[string]any{}, who...)), 200)
		}
		is := func(want string) {
			k.Helper()
			if got := d.membership(user); got != want {
				k.Errorf("membership %s, want %s", got, want)
			}
		}
		active := func(v bool) { d.scim("PATCH", "/Users/"+user, patchOf("active", v), 200) }
		put(drivers, map[string]any{"value": user})
		is("driver active")
		active(false)
		put(drivers)
		put(managers, map[string]any{"value": user})
		is("driver suspended")
		active(true)
		is("manager active")
		active(false)
		put(managers)
		active(true)
		is("manager suspended")
		put(drivers, map[string]any{"value": user})
		is("driver active")
	})
}

// An address that passes to somebody else opens the way for them, to an account
// of their own: the one of before keeps what it did and is nobody else's, and the
// directory finds whose the address is now.
func TestRecycledAddress(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		for _, c := range []struct {
			name    string
			renamed bool // the one before has another address by now, and has signed in with it
		}{{"ann", true}, {"eve", false}} {
			in := func(sub, local string) string {
				email := local + "@corp.example"
				user, access := d.enter(map[string]any{"sub": sub + c.name, "email": email})
				if got := claims(k, access)["email"]; got != email {
					k.Errorf("%s signed in as %v", email, got)
				}
				return user
			}
			old := in("old", c.name)
			if c.renamed && in("old", c.name+"a") != old {
				k.Error("a new address makes another account")
			}
			fresh := in("new", c.name)
			if fresh == old {
				k.Fatal("two people share an account")
			}
			for _, now := range []struct{ local, user string }{{c.name, fresh}, {c.name + "a", old}} {
				if now.user == old && in("old", now.local) != old {
					k.Errorf("%s: the one before has another account", c.name)
				}
				if got := d.scim("POST", "/Users", map[string]any{"userName": now.local + "@corp.example"}, 201).text(k,
					"id"); got != now.user {
					k.Errorf("the directory took over %s for %s, want %s", got, now.local, now.user)
				}
			}
		}
	})
}

// Whom the directory removed leaves the address to whoever has it next, and
// neither account nor role with it. The person comes back to the account of
// before for the externalId of before; for a name alone to a new one, which the
// sign-in of before opens then.
func TestRemovedAndMadeAgain(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, map[string]any{"role_map": map[string]string{}})
		for i, c := range []struct {
			name          string
			before, after string // externalId
			first         bool   // the next one signs in before the directory says anything
			sub           string // signs in afterwards
			same          bool   // account
		}{
			{"somebody else, who signs in first", "1", "2", true, "new", false},
			{"somebody else", "3", "4", false, "new", false},
			{"no external ids", "", "", false, "new", false},
			{"an external id that repeats the name", "Ann3", "ann3", false, "new", false},
			{"the same person", "5", "5", false, "old", true},
			{"the same person with a new sign-in", "6", "6", false, "new", true},
			{"the same person, by the sign-in alone", "", "", false, "old", false},
		} {
			email := fmt.Sprintf("ann%d@corp.example", i)
			person := func(external string) map[string]any {
				return map[string]any{"userName": email, "externalId": external}
			}
			in := func(sub string) map[string]any { return map[string]any{"sub": sub + email, "email": email} }
			old := d.scim("POST", "/Users", person(c.before), 201).text(k, "id")
			if user, _ := d.enter(in("old")); user != old {
				k.Fatalf("%s: signed in as %s, want %s", c.name, user, old)
			}
			d.set("role", "manager", old)
			d.scim("DELETE", "/Users/"+old, nil, 204)
			if at := d.arrive(in("old")); at.Query().Get("error") != "access_denied" {
				k.Errorf("%s: removed, landed at %s", c.name, at)
			}
			next, role := "", "viewer active"
			if c.first {
				next, _ = d.enter(in(c.sub))
			}
			made := d.scim("POST", "/Users", person(c.after), 201).text(k, "id")
			if c.first && made != next || (made == old) != c.same {
				k.Errorf("%s: made %s; %s was removed, %s signed in", c.name, made, old, next)
			}
			if user, _ := d.enter(in(c.sub)); user != made {
				k.Errorf("%s: signed in as %s, want %s", c.name, user, made)
			}
			if c.same {
				role = "manager active"
			} else if got := d.membership(old); got != "manager suspended" {
				k.Errorf("%s: who was removed is %s", c.name, got)
			}
			if got := d.membership(made); got != role {
				k.Errorf("%s: who came is %s, want %s", c.name, got, role)
			}
			if at := d.arrive(in("third")); at.Query().Get("error_code") != "user_already_exists" {
				k.Errorf("%s: a third person with the name landed at %s", c.name, at)
			}
		}
	})
}

// What the directory named keeps its name when the provider gives another
// address, and nobody else gets it.
func TestProvisionedNameStays(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		made := d.scim("POST", "/Users", map[string]any{"userName": "ann@corp.example"}, 201).text(k, "id")
		for _, email := range []string{"ann@corp.example", "anna@corp.example"} {
			if user, _ := d.enter(map[string]any{"sub": "ann", "email": email}); user != made {
				k.Errorf("%s is %s, want %s", email, user, made)
			}
		}
		if got := d.scim("GET", "/Users/"+made, nil, 200).text(k, "userName"); got != "ann@corp.example" {
			k.Errorf("userName %s", got)
		}
		if at := d.arrive(map[string]any{"sub": "eve", "email": "ann@corp.example"}); at.Query().Get("error_code") != "user_already_exists" {
			k.Errorf("somebody else with the name landed at %s", at)
		}
		eve, _ := d.enter(map[string]any{"sub": "eve", "email": "eve@corp.example"})
		if again, _ := d.enter(map[string]any{"sub": "eve", "email": "ann@corp.example"}); again != eve {
			k.Errorf("eve is %s, was %s", again, eve)
		}
	})
}

// Neither a directory nor the end of a connection leaves a tenant without an
// owner, and nobody below an owner suspends one by deleting the connection. Whom
// the directory switched off or removed is out all the same.
func TestConnectionKeepsAnOwner(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		user, access := d.enter(nil)
		admin := k.member(d.tenant, "admin@x.example", actor.Admin)
		d.set("role", "owner", user)
		kept := func(what string) {
			k.Helper()
			if got := d.membership(user); got != "owner active" {
				k.Errorf("%s: the last owner is %s", what, got)
			}
		}
		out := func(what, action string) {
			k.Helper()
			kept(what)
			k.want(k.call("GET", "/user", access, nil), 403, "session_not_found")
			if at := d.arrive(nil); at.Query().Get("error") != "access_denied" {
				k.Errorf("%s, landed at %s", what, at)
			}
			if n := k.count("SELECT COUNT(*) FROM audit WHERE action = $1 AND details LIKE '%the only owner%'", action); n != 1 {
				k.Errorf("%s: the audit log does not say that the owner stayed one", what)
			}
		}
		k.want(k.call("DELETE", "/sso/connections/"+d.id, k.serviceKey(), nil), 409, "conflict")
		kept("connection deleted")
		k.want(k.call("GET", "/user", access, nil), 200, "")
		d.scim("PATCH", "/Users/"+user, patchOf("externalId", "4711"), 200)
		d.scim("PATCH", "/Users/"+user, patchOf("active", false), 200)
		out("switched off", "scim.user_deactivated")
		d.scim("PATCH", "/Users/"+user, patchOf("active", true), 200)
		_, access = d.enter(nil)
		d.scim("DELETE", "/Users/"+user, nil, 204)
		out("removed", "scim.user_deleted")
		d.scim("POST", "/Users", map[string]any{"userName": "bob@corp.example", "externalId": "4711"}, 201)
		if again, _ := d.enter(nil); again != user || d.membership(user) != "owner active" {
			k.Errorf("made again: %s is %s, was %s", again, d.membership(user), user)
		}

		owner := k.member(d.tenant, "owner@x.example", actor.Owner)
		k.want(k.call("DELETE", "/sso/connections/"+d.id, admin.AccessToken, nil), 403, "not_admin")
		kept("connection deleted by an administrator")
		k.want(k.call("DELETE", "/sso/connections/"+d.id, owner.AccessToken, nil), 200, "")
		if got := d.membership(user); got != "owner suspended" {
			k.Errorf("deleted by an owner: %s", got)
		}
	})
}

// A leaver is shut out whatever has become of the domain since; addresses that
// are not the organisation's are not taken meanwhile.
func TestLeaverOfALostDomain(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		user, access := d.enter(nil)
		path := "/Users/" + user
		k.want(k.call("PUT", "/sso/connections/"+d.id, k.serviceKey(), map[string]any{"domains": []string{}}), 200, "")
		d.scim("PATCH", path, patchOf("displayName", "Bobby"), 200)
		d.scim("PATCH", path, patchOf("userName", "bobby@corp.example"), 400)
		d.scim("PUT", path, map[string]any{"userName": "eve@evil.example", "active": true}, 400)
		k.want(k.call("GET", "/user", access, nil), 200, "")
		got := d.scim("PUT", path, map[string]any{"userName": "gone@evil.example", "active": false}, 200)
		if name := got.text(k, "userName"); name != "bob@corp.example" || got.json(k)["active"] != false {
			k.Errorf("the leaver is %s", got.body)
		}
		k.want(k.call("GET", "/user", access, nil), 403, "session_not_found")
		d.scim("PATCH", path, patchOf("active", true), 400)
		k.want(k.call("PUT", "/sso/connections/"+d.id, k.serviceKey(), map[string]any{"domains": []string{"corp.example"}}),
			200, "")
		d.scim("PATCH", path, patchOf("active", true), 200)
		d.enter(nil)
	})
}

// A person that a sign-in made and the directory switched off is switched on
// by provisioning, and not only said to be.
func TestProvisioningSwitchesOn(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		user, _ := d.enter(nil)
		d.scim("PATCH", "/Users/"+user, patchOf("active", false), 200)
		if at := d.arrive(nil); at.Query().Get("error") != "access_denied" {
			k.Errorf("switched off, landed at %s", at)
		}
		got := d.scim("POST", "/Users", map[string]any{"userName": "bob@corp.example"}, 201)
		if got.text(k, "id") != user || got.json(k)["active"] != true {
			k.Errorf("provisioned %s", got.body)
		}
		d.enter(nil)
	})
}
