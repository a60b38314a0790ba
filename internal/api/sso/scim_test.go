package sso_test

import (
	"net/http"
	"net/url"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
)

// A directory provisions a person before the first sign-in; the sign-in finds
// the account; groups give the role; deactivation ends the sessions at once.
func TestSCIM(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newOP(k), k.tenant("Corp")
		id := k.oidcConnection(p, tenant, "corp.example")
		token := k.want(k.call("POST", "/sso/connections/"+id+"/scim-token", k.serviceKey(), nil), 201, "").text(k, "token")
		p.claims = map[string]any{"groups": nil}
		scim := func(method, path string, body any, status int) answer {
			k.Helper()
			a := k.call(method, "/scim/v2"+path, token, body)
			if a.status != status {
				k.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
			}
			return a
		}
		signIn := func() *url.URL {
			conn, q := p.answer(k.begin("provider_id", id))
			return k.callback(conn, q)
		}
		bob := map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"},
			"userName": "Bob@Corp.example", "externalId": "e1",
			"active": true, "name": map[string]any{"givenName": "Bob", "familyName": "B"}}
		user := scim("POST", "/Users", bob, 201).text(k, "id")
		if a := scim("POST", "/Users", bob, 409); a.text(k, "scimType") != "uniqueness" {
			k.Errorf("second creation: %s", a.body)
		}
		for filter, want := range map[string]float64{`userName eq "bob@corp.example"`: 1,
			`username EQ "BOB@corp.example"`: 1, `externalId eq "e1"`: 1,
			`userName eq "x"`: 0, ``: 1} {
			if got := scim("GET", "/Users?filter="+url.QueryEscape(filter), nil, 200).json(k); got["totalResults"] != want {
				k.Errorf("filter %s: %v", filter, got)
			}
		}
		for _, bad := range []string{`userName co "b"`, `userName eq b`, `password eq "x"`,
			`userName eq "a" or userName eq "b"`} {
			if a := scim("GET", "/Users?filter="+url.QueryEscape(bad), nil, 400); a.text(k, "scimType") != "invalidFilter" {
				k.Errorf("filter %s: %s", bad, a.body)
			}
		}
		sess := k.want(k.redeem(signIn()), 200, "")
		c := claims(k, sess.text(k, "access_token"))
		if c["sub"] != user || c["tenant_role"] != "viewer" {
			k.Fatalf("claims %v, want the provisioned account", c)
		}
		group := scim("POST", "/Groups", map[string]any{"displayName": "wms-drivers",
			"members": []map[string]any{{"value": user}}}, 201).text(k, "id")
		role := func() (r string) {
			for _, x := range actor.Members {
				if k.count("SELECT COUNT(*) FROM members WHERE user_id = $1 AND tenant_id = $2 AND role = $3 AND status = 'active'", user, tenant, string(x)) == 1 {
					r = string(x)
				}
			}
			return r
		}
		if role() != "driver" {
			k.Errorf("the group gives %q", role())
		}
		ops := func(op, path string, v any) map[string]any {
			o := map[string]any{"op": op, "path": path}
			if v != nil {
				o["value"] = v
			}
			return map[string]any{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"}, "Operations": []any{o}}
		}
		scim("PATCH", "/Groups/"+group, ops("Remove", `members[value eq "`+user+`"]`, nil), 200)
		if role() != "viewer" {
			k.Errorf("out of the group: %q", role())
		}
		scim("PATCH", "/Groups/"+group, ops("Add", "members", []map[string]any{{"value": user}}), 200)
		if role() != "driver" {
			k.Errorf("back in the group: %q", role())
		}
		scim("PATCH", "/Groups/"+group, ops("replace", "displayName", "something else"), 200)
		if role() != "viewer" {
			k.Errorf("group renamed: %q", role())
		}
		if a := scim("POST", "/Groups",
			map[string]any{"displayName": "g",
				"members": []map[string]any{{"value": k.member(tenant, "p@x.example", actor.Owner).User.ID}}}, 400); a.text(k,
			"scimType") != "invalidValue" {
			k.Errorf("a stranger in a group: %s", a.body)
		}

		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 200, "")
		scim("PATCH", "/Users/"+user, ops("Replace", "active", "False"), 200) // as one large directory writes it
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 403, "session_not_found")
		if at := signIn(); at.Query().Get("error") != "access_denied" {
			k.Errorf("deactivated, landed at %s", at)
		}
		scim("PATCH", "/Users/"+user, map[string]any{"Operations": []any{map[string]any{"op": "replace",
			"value": map[string]any{"active": true}}}}, 200)
		sess = k.want(k.redeem(signIn()), 200, "")
		scim("DELETE", "/Users/"+user, nil, 204)
		scim("GET", "/Users/"+user, nil, 404)
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 403, "session_not_found")
		if again := scim("POST", "/Users", bob, 201).text(k, "id"); again != user {
			k.Errorf("created again as %s: a second account would stay open", again)
		}
		k.want(k.redeem(signIn()), 200, "")
	})
}

// A token opens its connection's people and nothing else; a person that a
// sign-in made is taken over, not doubled.
func TestSCIMFences(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, q := newOP(k), newOP(k)
		one, two := k.oidcConnection(p, k.tenant("One"), "corp.example"), k.oidcConnection(q, k.tenant("Two"), "two.example")
		tok := func(id string) string {
			return k.want(k.call("POST", "/sso/connections/"+id+"/scim-token", k.serviceKey(), nil), 201, "").text(k, "token")
		}
		t1, t2 := tok(one), tok(two)
		conn, v := p.answer(k.begin("provider_id", one))
		sess := k.want(k.redeem(k.callback(conn, v)), 200, "")
		user := claims(k, sess.text(k, "access_token"))["sub"].(string)
		if a := k.call("GET", "/scim/v2/Users/"+user, t2, nil); a.status != 404 {
			k.Errorf("another connection sees the person: %d", a.status)
		}
		if a := k.call("PATCH", "/scim/v2/Users/"+user, t2,
			map[string]any{"Operations": []any{map[string]any{"op": "replace", "path": "active",
				"value": false}}}); a.status != 404 {
			k.Errorf("another connection changes the person: %d", a.status)
		}
		a := k.call("POST", "/scim/v2/Users", t1, map[string]any{"userName": "bob@corp.example"})
		if a.status != 201 || a.text(k, "id") != user {
			k.Errorf("provisioned %d %s, want account %s", a.status, a.body, user)
		}
		if a := k.call("POST", "/scim/v2/Users", t1, map[string]any{"userName": "eve@two.example"}); a.status != 400 {
			k.Errorf("an address of another organisation: %d", a.status)
		}
		for _, bad := range []string{"", "hf_scim_x", sess.text(k, "access_token"), k.serviceKey()} {
			if a := k.call("GET", "/scim/v2/Users", bad, nil); a.status != 401 {
				k.Errorf("token %.20q: status %d", bad, a.status)
			}
		}
		k.want(k.call("GET", "/user", t1, nil), 403, "bad_jwt")
		k.want(k.call("DELETE", "/sso/connections/"+one+"/scim-token",
			k.member(k.tenant("Three"), "a@three.example", actor.Admin).AccessToken, nil), 404,
			"sso_provider_not_found")
		k.want(k.call("DELETE", "/sso/connections/"+one+"/scim-token", k.serviceKey(), nil), 204, "")
		if k.call("GET", "/scim/v2/Users", t1, nil).status != 401 || k.call("GET", "/scim/v2/Users", t2, nil).status != 200 {
			k.Error("a revoked token opens, or another connection's does not")
		}
		if k.call("GET", "/sso/connections/"+one, k.serviceKey(), nil).json(k)["scim"] != false {
			k.Error("the connection still says that it has a token")
		}
		fresh := tok(one)
		if k.call("GET", "/scim/v2/Users", t1, nil).status != 401 ||
			k.call("GET", "/scim/v2/Users", fresh, nil).status != 200 {
			k.Error("a new token does not replace the old one")
		}
		k.want(k.call("PUT", "/sso/connections/"+one, k.serviceKey(), map[string]any{"disabled": true}), 200, "")
		if k.call("GET", "/scim/v2/Users", fresh, nil).status != 401 {
			k.Error("the token of a disabled connection works")
		}
	})
}

// A directory's requests count for its tenant, under its plan: not for the
// address, which directories of many organisations share.
func TestDirectoryIsCountedForItsTenant(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		var who actor.Actor
		k.counting(route.Windows{Session: func(_ http.ResponseWriter, _ *http.Request, a actor.Actor) error {
			who = a
			return nil
		}})
		for _, plan := range []string{"standard", "enterprise"} {
			k.exec("UPDATE tenants SET plan = $2 WHERE id = $1", d.tenant, plan)
			d.scim("GET", "/Users", nil, 200)
			if who.TenantID != d.tenant || who.Plan != plan || who.KeyID != "scim:"+d.id {
				k.Errorf("counted as %+v, want plan %s", who, plan)
			}
		}
	})
}
