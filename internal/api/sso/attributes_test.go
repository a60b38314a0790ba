package sso_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An answer holds the attributes that were asked for, or not those that were
// left out; id and schemas always (RFC 7644 section 3.9).
func TestSCIMAttributes(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		ann := map[string]any{"userName": "ann@corp.example", "externalId": "e1", "displayName": "Ann",
			"name": map[string]any{"givenName": "Ann", "familyName": "Lee"}}
		user := d.scim("POST", "/Users", ann, 201).text(k, "id")
		group := d.scim("POST", "/Groups", map[string]any{"displayName": "all",
			"members": []map[string]any{{"value": user}}}, 201).text(k, "id")
		for _, c := range []struct {
			method, path, query string
			body                any
			want                string // names of the resource, and of its name or first member
		}{
			{"GET", "/Users/" + user, "", nil, "active displayName emails externalId groups id meta name(familyName formatted givenName) schemas userName"},
			{"GET", "/Users/" + user, "attributes=userName", nil, "id schemas userName"},
			{"GET", "/Users/" + user, "attributes=USERNAME, name.familyName", nil, "id name(familyName) schemas userName"},
			{"GET", "/Users/" + user, "attributes=urn:ietf:params:scim:schemas:core:2.0:User:userName", nil,
				"id schemas userName"},
			{"GET", "/Users/" + user, "attributes=unknown", nil, "id schemas"},
			{"GET", "/Users/" + user, "excludedAttributes=emails,groups,meta,name.givenName,id", nil,
				"active displayName externalId id name(familyName formatted) schemas userName"},
			{"GET", "/Users", "attributes=externalId", nil, "externalId id schemas"},
			{"GET", "/Users", "excludedAttributes=emails,groups,meta,name", nil,
				"active displayName externalId id schemas userName"},
			{"PUT", "/Users/" + user, "attributes=userName", ann, "id schemas userName"},
			{"PATCH", "/Users/" + user, "attributes=active", patchOf("displayName", "A"), "active id schemas"},
			{"GET", "/Groups/" + group, "", nil, "displayName id members($ref display value) meta schemas"},
			{"GET", "/Groups/" + group, "excludedAttributes=members,meta", nil, "displayName id schemas"},
			{"GET", "/Groups", "", nil, "displayName id members($ref display value) meta schemas"},
			{"GET", "/Groups", "excludedAttributes=members", nil, "displayName id meta schemas"},
			{"GET", "/Groups", "attributes=displayName", nil, "displayName id schemas"},
			{"GET", "/Groups", "attributes=members.value", nil, "id members(value) schemas"},
			{"PATCH", "/Groups/" + group, "attributes=id", patchOf("externalId", "g"), "id schemas"},
		} {
			got := d.scim(c.method, c.path+"?"+strings.ReplaceAll(c.query, " ", "%20"), c.body, 200).json(k)
			if list, ok := got["Resources"].([]any); ok {
				got = list[0].(map[string]any)
			}
			if diff := cmp.Diff(c.want, names(got)); diff != "" {
				k.Errorf("%s %s?%s (-want +got):\n%s", c.method, c.path, c.query, diff)
			}
		}
		both := url.Values{"attributes": {"userName"}, "excludedAttributes": {"name"}}
		for _, path := range []string{"/Users", "/Users/" + user, "/Groups", "/Groups/" + group} {
			if a := d.scim("GET", path+"?"+both.Encode(), nil, 400); a.text(k, "scimType") != "invalidValue" {
				k.Errorf("%s with both: %s", path, a.body)
			}
		}
		d.scim("PUT", "/Users/"+user+"?"+both.Encode(), map[string]any{"userName": "other@corp.example"}, 400)
		if got := d.scim("GET", "/Users/"+user, nil, 200).text(k, "userName"); got != "ann@corp.example" {
			k.Errorf("a refused request changed the user to %s", got)
		}
	})
}

// names are the sorted attribute names of a resource, with those of a complex
// name or of the first member in brackets.
func names(v map[string]any) string {
	var out []string
	for _, k := range sorted(v) {
		switch sub := v[k].(type) {
		case map[string]any:
			if k == "name" {
				k += "(" + strings.Join(sorted(sub), " ") + ")"
			}
		case []any:
			if m, ok := sub[0].(map[string]any); ok && k == "members" {
				k += "(" + strings.Join(sorted(m), " ") + ")"
			}
		}
		out = append(out, k)
	}
	return strings.Join(out, " ")
}

// The schemas say what resources hold: nothing is answered that they do not
// name, and what they call required is there (RFC 7643 section 7).
func TestSCIMSchemas(t *testing.T) {
	onBoth(t, func(k *kit) {
		d := newDirectory(k, nil)
		user := d.scim("POST", "/Users",
			map[string]any{"userName": "ann@corp.example", "displayName": "Ann",
				"name": map[string]any{"givenName": "Ann", "familyName": "Lee"}}, 201).text(k, "id")
		group := d.scim("POST", "/Groups", map[string]any{"displayName": "all",
			"members": []map[string]any{{"value": user}}}, 201).text(k, "id")
		var types, list struct {
			TotalResults int
			Resources    []struct {
				ID, Schema, Endpoint string
				Attributes           []attribute
			}
		}
		k.ok(json.Unmarshal(d.scim("GET", "/ResourceTypes", nil, 200).body, &types))
		k.ok(json.Unmarshal(d.scim("GET", "/Schemas", nil, 200).body, &list))
		if list.TotalResults != 2 || len(list.Resources) != 2 {
			k.Fatalf("%+v", list)
		}
		for i, s := range list.Resources {
			if types.Resources[i].Schema != s.ID {
				k.Errorf("resource type of %s, schema %s", types.Resources[i].Schema, s.ID)
			}
			if got := d.scim("GET", "/Schemas/"+s.ID, nil, 200).text(k, "id"); got != s.ID {
				k.Errorf("asked for %s, got %s", s.ID, got)
			}
			path := map[string]string{"/Users": "/Users/" + user, "/Groups": "/Groups/" + group}[types.Resources[i].Endpoint]
			described(k, path, s.Attributes, d.scim("GET", path, nil, 200).json(k))
		}
		d.scim("GET", "/Schemas/urn:unknown", nil, 404)
	})
}

type attribute struct {
	Name, Type, Mutability, Returned, Uniqueness, Description string
	MultiValued, Required                                     bool
	SubAttributes                                             []attribute
}

// described holds a value to its schema. id, externalId, meta and schemas are of
// every resource, and in no schema (RFC 7643 section 3.1).
func described(k *kit, path string, schema []attribute, v map[string]any) {
	k.Helper()
	known := map[string]bool{"id": true, "externalId": true, "meta": true, "schemas": true}
	for _, a := range schema {
		known[a.Name] = true
		if a.Type == "" || a.Mutability == "" || a.Returned == "" || a.Uniqueness == "" || a.Description == "" {
			k.Errorf("%s: %+v is not described in full", path, a)
		}
		got, there := v[a.Name]
		if a.Required && !there {
			k.Errorf("%s: %s is required and missing", path, a.Name)
		}
		list, many := got.([]any)
		if there && many != a.MultiValued {
			k.Errorf("%s: %s has several values: %v", path, a.Name, many)
		}
		if many {
			got = list[0]
		}
		switch got := got.(type) {
		case map[string]any:
			described(k, path+"."+a.Name, a.SubAttributes, got)
		case bool:
			if a.Type != "boolean" {
				k.Errorf("%s: %s is a boolean, not %s", path, a.Name, a.Type)
			}
		}
	}
	for name := range v {
		if !known[name] {
			k.Errorf("%s: %s is in no schema", path, name)
		}
	}
}

func sorted(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }
