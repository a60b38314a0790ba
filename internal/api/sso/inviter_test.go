package sso_test

import (
	"testing"

	"holdfast/internal/actor"
)

// An administrator whom the organisation's directory or provider suspends,
// removes or makes less leaves no invitation behind that lets somebody in.
func TestInvitationsEndWithTheDirectory(t *testing.T) {
	type directory struct {
		*kit
		provider          *op
		connection, token string
		user, group       string
	}
	scim := func(d directory, method, path string, operation map[string]any) {
		d.Helper()
		var body any
		if operation != nil {
			body = map[string]any{"Operations": []any{operation}}
		}
		if a := d.call(method, "/scim/v2"+path, d.token, body); a.status/100 != 2 {
			d.Fatalf("%s %s: status %d: %s", method, path, a.status, a.body)
		}
	}

	for name, end := range map[string]func(d directory){
		"deactivated": func(d directory) {
			scim(d, "PATCH", "/Users/"+d.user, map[string]any{"op": "replace", "path": "active", "value": false})
		},
		"deleted": func(d directory) { scim(d, "DELETE", "/Users/"+d.user, nil) },
		"out of the group": func(d directory) {
			scim(d, "PATCH", "/Groups/"+d.group, map[string]any{"op": "remove", "path": `members[value eq "` + d.user + `"]`})
		},
		"group deleted": func(d directory) { scim(d, "DELETE", "/Groups/"+d.group, nil) },
		"lower role at a sign-in": func(d directory) {
			d.exec("DELETE FROM sso_group_members WHERE user_id = $1", d.user)
			d.provider.claims = map[string]any{"groups": []string{"wms-drivers"}}
			connection, answer := d.provider.answer(d.begin("provider_id", d.connection))
			d.want(d.redeem(d.callback(connection, answer)), 200, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(k *kit) {
				d := directory{kit: k, provider: newOP(k)}
				tenant := k.tenant("Corp")
				d.connection = k.oidcConnection(d.provider, tenant, "corp.example")
				roles := map[string]any{"role_map": map[string]string{"wms-admins": "admin", "wms-drivers": "driver"}}
				k.want(k.call("PUT", "/sso/connections/"+d.connection, k.serviceKey(), roles), 200, "")
				d.token = k.want(k.call("POST", "/sso/connections/"+d.connection+"/scim-token", k.serviceKey(), nil), 201,
					"").text(k, "token")
				d.user = k.want(k.call("POST", "/scim/v2/Users", d.token, map[string]any{"userName": "bob@corp.example"}), 201,
					"").text(k, "id")
				members := []map[string]any{{"value": d.user}}
				group := map[string]any{"displayName": "wms-admins", "members": members}
				d.group = k.want(k.call("POST", "/scim/v2/Groups", d.token, group), 201, "").text(k, "id")
				d.provider.claims = map[string]any{"groups": nil}
				connection, answer := d.provider.answer(k.begin("provider_id", d.connection))
				bob := k.want(k.redeem(k.callback(connection, answer)), 200, "").text(k, "access_token")

				invited := map[string]any{"email": "eve@else.example", "role": "manager", "deliver": "link"}
				k.want(k.call("POST", "/invitations", bob, invited), 201, "")
				owner := k.member(tenant, "owner@corp-owner.example", actor.Owner).AccessToken
				k.want(k.call("POST", "/invitations", owner, map[string]any{"email": "kept@else.example", "role": "viewer",
					"deliver": "link"}), 201, "")

				end(d)

				const pending = "SELECT COUNT(*) FROM invitations WHERE email = $1 AND status = 'pending'"
				if k.count(pending, "eve@else.example") != 0 || k.count(pending, "kept@else.example") != 1 {
					k.Error("the former administrator's invitation still waits, or another inviter's does not")
				}
			})
		})
	}
}
