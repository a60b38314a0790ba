package sso

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// Schemas of RFC 7643 and RFC 7644.
const (
	schemaUser   = "urn:ietf:params:scim:schemas:core:2.0:User"
	schemaGroup  = "urn:ietf:params:scim:schemas:core:2.0:Group"
	schemaList   = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	schemaConfig = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
	schemaType   = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
)

func scimJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", route.SCIMType)
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}

// scimBody reads a body of either JSON type. Attribute names are
// case-insensitive in SCIM, as encoding/json reads them.
func scimBody(w http.ResponseWriter, c *scimCall, v any) error {
	b, err := web.ReadBody(w, c.Request, maxBody)
	if err != nil {
		return err
	}
	if err := web.Unmarshal(b, v); err != nil {
		return fault.Wrap(err, fault.Invalid, "invalidSyntax", "The body is not the JSON of a SCIM request")
	}
	return nil
}

type meta struct {
	Type     string          `json:"resourceType"`
	Created  gotruetime.Time `json:"created"`
	Modified gotruetime.Time `json:"lastModified"`
	Location string          `json:"location"`
}

// parseQuery reads filter, startIndex and count. Of filters, attribute eq
// "value" is known.
func parseQuery(c *scimCall) (sso.Query, error) {
	v := c.URL.Query()
	q := sso.Query{Start: 1, Count: 100}
	for name, into := range map[string]*int{"startIndex": &q.Start, "count": &q.Count} {
		if text := v.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return q, fault.New(fault.Invalid, "invalidValue", "%s must be an integer", name)
			}
			*into = int(n)
		}
	}
	if f := strings.TrimSpace(v.Get("filter")); f != "" {
		attr, value, ok := parseEquality(f)
		if !ok {
			return q, fault.New(fault.Invalid, "invalidFilter", `Of filters, attribute eq "value" is known`)
		}
		q.Attr, q.Value = attr, value
	}
	return q, nil
}

// parseEquality reads: attribute eq "value" (RFC 7644 section 3.4.2.2).
func parseEquality(f string) (attr, value string, ok bool) {
	attr, rest, found := strings.Cut(f, " ")
	rest = strings.TrimSpace(rest)
	op, lit, more := strings.Cut(rest, " ")
	if !found || !more || !strings.EqualFold(op, "eq") || len(f) > 500 {
		return "", "", false
	}
	if json.Unmarshal([]byte(strings.TrimSpace(lit)), &value) != nil {
		return "", "", false
	}
	attr = bareName(attr)
	return attr, value, attr != ""
}

// sendSelected answers with what was asked for of one resource.
func (c *scimCall) sendSelected(w http.ResponseWriter, status int, resource any) error {
	v, err := c.sel.selectFrom(resource)
	if err != nil {
		return err
	}
	return scimJSON(w, status, v)
}

func listOf[T any](w http.ResponseWriter, c *scimCall, q sso.Query, total int64, list []T) error {
	items := []any{}
	for _, x := range list {
		v, err := c.sel.selectFrom(x)
		if err != nil {
			return err
		}
		items = append(items, v)
	}
	return scimJSON(w, http.StatusOK,
		map[string]any{"schemas": []string{schemaList}, "totalResults": total, "startIndex": max(q.Start, 1),
			"itemsPerPage": len(items), "Resources": items})
}

// patch is a PATCH request (RFC 7644 section 3.5.2).
type patch struct {
	Operations []operation `json:"Operations"`
}

type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

const maxOperations = 1000

func readPatch(w http.ResponseWriter, c *scimCall) ([]operation, error) {
	var in patch
	if err := scimBody(w, c, &in); err != nil {
		return nil, err
	}
	if len(in.Operations) == 0 || len(in.Operations) > maxOperations {
		return nil, fault.New(fault.Invalid, "invalidSyntax", "Operations holds 1 to %d operations", maxOperations)
	}
	for i := range in.Operations {
		o := &in.Operations[i]
		o.Op = strings.ToLower(o.Op)
		if o.Op != "add" && o.Op != "replace" && o.Op != "remove" {
			return nil, fault.New(fault.Invalid, "invalidSyntax", "op must be add, replace or remove")
		}
		o.Path = bareName(o.Path)
	}
	return in.Operations, nil
}

// patchFunc is the change that operations make, each attribute by set. One without
// a path says several, which are set in the order of their names: whatever order
// a client writes them in, the outcome is the same.
func patchFunc[T any](ops []operation, set func(of *T, path, op string, v json.RawMessage) error) func(*T) error {
	return func(of *T) error {
		for _, o := range ops {
			parts := map[string]json.RawMessage{o.Path: o.Value}
			if o.Path == "" {
				parts = nil
				if json.Unmarshal(o.Value, &parts) != nil {
					return fault.New(fault.Invalid, "invalidValue", "An operation without a path has an object as its value")
				}
			}
			for _, name := range slices.Sorted(maps.Keys(parts)) {
				if err := set(of, name, o.Op, parts[name]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func bindValue(v json.RawMessage, into any) error {
	if len(v) == 0 || json.Unmarshal(v, into) != nil {
		return fault.New(fault.Invalid, "invalidValue", "A value is missing, or of the wrong type")
	}
	return nil
}

func (a *API) scimConfig(w http.ResponseWriter, _ *scimCall) error {
	no := map[string]any{"supported": false}
	return scimJSON(w, http.StatusOK, map[string]any{
		"schemas": []string{schemaConfig}, "patch": map[string]any{"supported": true},
		"bulk":   map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter": map[string]any{"supported": true, "maxResults": 200}, "changePassword": no, "sort": no, "etag": no,
		"authenticationSchemes": []map[string]any{{"type": "oauthbearertoken", "name": "Bearer token",
			"description": "The connection's SCIM token", "primary": true}},
	})
}

func (a *API) scimTypes(w http.ResponseWriter, c *scimCall) error {
	types := []map[string]any{
		{"schemas": []string{schemaType}, "id": "User", "name": "User", "endpoint": "/Users", "schema": schemaUser},
		{"schemas": []string{schemaType}, "id": "Group", "name": "Group", "endpoint": "/Groups", "schema": schemaGroup},
	}
	return listOf(w, c, sso.Query{}, int64(len(types)), types)
}
