package sso_test

import (
	"fmt"
	"testing"
)

// An operation without a path sets each attribute of its value (RFC 7644 section
// 3.5.2); of two names of one attribute the outcome is always the same.
func TestSCIMPatchWithoutPath(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		without := func(value any) map[string]any {
			return map[string]any{"Operations": []any{map[string]any{"op": "replace", "value": value}}}
		}
		user := "/Users/" + d.scim("POST", "/Users", map[string]any{"userName": "ann@corp.example"}, 201).text(k, "id")
		group := "/Groups/" + d.scim("POST", "/Groups", map[string]any{"displayName": "all"}, 201).text(k, "id")
		for i := range 8 {
			want := fmt.Sprint("Ann ", i)
			d.scim("PATCH", user, without(map[string]any{"displayName": "Other", "name.formatted": want, "externalId": want}),
				200)
			if got := d.scim("GET", user, nil, 200); got.text(k, "displayName") != want || got.text(k, "externalId") != want {
				k.Errorf("want %q: %s", want, got.body)
			}
		}
		d.scim("PATCH", group, without(map[string]any{"displayName": "some", "externalId": "g"}), 200)
		if got := d.scim("GET", group, nil, 200); got.text(k, "displayName") != "some" || got.text(k, "externalId") != "g" {
			k.Errorf("the group is %s", got.body)
		}
		for _, path := range []string{user, group} {
			if a := d.scim("PATCH", path, without("text"), 400); a.text(k, "scimType") != "invalidValue" {
				k.Errorf("%s with a value that is no object: %s", path, a.body)
			}
		}
	})
}
