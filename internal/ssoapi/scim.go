package ssoapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/stamp"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// Schemas of RFC 7643 and RFC 7644.
const (
	schemaUser   = "urn:ietf:params:scim:schemas:core:2.0:User"
	schemaGroup  = "urn:ietf:params:scim:schemas:core:2.0:Group"
	schemaList   = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	schemaError  = "urn:ietf:params:scim:api:messages:2.0:Error"
	schemaConfig = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
	schemaType   = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
)

const scimType = "application/scim+json; charset=utf-8"

// scimKinds are the values of scimType (RFC 7644 section 3.12).
var scimKinds = map[string]bool{"invalidFilter": true, "invalidValue": true, "invalidPath": true, "invalidSyntax": true, "noTarget": true, "uniqueness": true, "mutability": true}

// scimShape writes a fault as RFC 7644 section 3.12 says.
func scimShape(r *http.Request, e *fault.Error) web.Reply {
	status, msg := web.Status(e.Kind), e.Msg
	if e.Kind == fault.Internal {
		msg = "Unexpected failure"
	}
	body := map[string]any{"schemas": []string{schemaError}, "status": strconv.Itoa(status), "detail": msg}
	if scimKinds[e.Code] {
		body["scimType"] = e.Code
	}
	return web.Reply{Status: status, Header: http.Header{"Content-Type": {scimType}}, Body: body}
}

func scimJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", scimType)
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}

// scimBody reads a body of either JSON type. Attribute names are
// case-insensitive in SCIM, as encoding/json reads them.
func scimBody(w http.ResponseWriter, c *call, v any) error {
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
	Type     string     `json:"resourceType"`
	Created  stamp.Time `json:"created"`
	Modified stamp.Time `json:"lastModified"`
	Location string     `json:"location"`
}

type scimUser struct {
	Schemas    []string  `json:"schemas"`
	ID         string    `json:"id,omitempty"`
	ExternalID string    `json:"externalId,omitempty"`
	UserName   string    `json:"userName"`
	Name       *scimName `json:"name,omitempty"`
	Display    string    `json:"displayName,omitempty"`
	Emails     []email   `json:"emails,omitempty"`
	Active     *flag     `json:"active,omitempty"`
	Groups     []member  `json:"groups,omitempty"`
	Meta       *meta     `json:"meta,omitempty"`
}

type scimName struct {
	Formatted string `json:"formatted,omitempty"`
	Given     string `json:"givenName,omitempty"`
	Family    string `json:"familyName,omitempty"`
}

type email struct {
	Value   string `json:"value"`
	Type    string `json:"type,omitempty"`
	Primary flag   `json:"primary,omitempty"`
}

type member struct {
	Value   string `json:"value"`
	Display string `json:"display,omitempty"`
	Ref     string `json:"$ref,omitempty"`
}

// flag is a boolean that some clients write as a string.
type flag bool

// UnmarshalJSON takes true, "true" and "True".
func (f *flag) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true":
		*f = true
	case "false":
		*f = false
	default:
		return fault.New(fault.Invalid, "invalidValue", "active is true or false")
	}
	return nil
}

func (a *API) showUser(p sso.Person) scimUser {
	active := flag(p.Active)
	out := scimUser{Schemas: []string{schemaUser}, ID: p.ID, ExternalID: p.ExternalID, UserName: p.UserName, Display: p.Display, Active: &active,
		Emails: []email{{Value: p.Email, Type: "work", Primary: true}},
		Meta:   &meta{"User", stamp.Time{Time: p.CreatedAt}, stamp.Time{Time: p.UpdatedAt}, a.svc.SCIMBase() + "/Users/" + p.ID}}
	if p.Given != "" || p.Family != "" || p.Display != "" {
		out.Name = &scimName{Formatted: p.Display, Given: p.Given, Family: p.Family}
	}
	for _, g := range p.Groups {
		out.Groups = append(out.Groups, member{g.ID, g.Display, a.svc.SCIMBase() + "/Groups/" + g.ID})
	}
	return out
}

// person is the whole of a user as a client sent it; active is true when it is
// not said.
func (u scimUser) person() sso.Person {
	p := sso.Person{UserName: u.UserName, ExternalID: u.ExternalID, Display: u.Display, Active: u.Active == nil || bool(*u.Active)}
	if u.Name != nil {
		p.Given, p.Family = u.Name.Given, u.Name.Family
		if p.Display == "" {
			p.Display = u.Name.Formatted
		}
	}
	for i, e := range u.Emails {
		if i == 0 || bool(e.Primary) {
			p.Email = e.Value
		}
	}
	return p
}

// parseQuery reads filter, startIndex and count. Of filters, attribute eq
// "value" is known.
func parseQuery(c *call) (sso.Query, error) {
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
		attr, value, ok := equality(f)
		if !ok {
			return q, fault.New(fault.Invalid, "invalidFilter", `Of filters, attribute eq "value" is known`)
		}
		q.Attr, q.Value = attr, value
	}
	return q, nil
}

// equality reads: attribute eq "value" (RFC 7644 section 3.4.2.2).
func equality(f string) (attr, value string, ok bool) {
	attr, rest, found := strings.Cut(f, " ")
	rest = strings.TrimSpace(rest)
	op, lit, more := strings.Cut(rest, " ")
	if !found || !more || !strings.EqualFold(op, "eq") || len(f) > 500 {
		return "", "", false
	}
	if json.Unmarshal([]byte(strings.TrimSpace(lit)), &value) != nil {
		return "", "", false
	}
	attr = strings.TrimPrefix(strings.TrimPrefix(attr, schemaUser+":"), schemaGroup+":")
	return attr, value, attr != ""
}

func listOf[T any](w http.ResponseWriter, q sso.Query, total int64, items []T) error {
	if items == nil {
		items = []T{}
	}
	return scimJSON(w, http.StatusOK, map[string]any{"schemas": []string{schemaList}, "totalResults": total, "startIndex": max(q.Start, 1), "itemsPerPage": len(items), "Resources": items})
}

func (a *API) scimUsers(w http.ResponseWriter, c *call) error {
	q, err := parseQuery(c)
	if err != nil {
		return err
	}
	list, total, err := a.svc.People(c.Context(), c.conn, q)
	if err != nil {
		return err
	}
	var out []scimUser
	for _, p := range list {
		out = append(out, a.showUser(p))
	}
	return listOf(w, q, total, out)
}

func (a *API) scimCreateUser(w http.ResponseWriter, c *call) error {
	var in scimUser
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	p, err := a.svc.CreatePerson(c.Context(), c.conn, in.person(), c.client())
	if err != nil {
		return err
	}
	out := a.showUser(p)
	w.Header().Set("Location", out.Meta.Location)
	return scimJSON(w, http.StatusCreated, out)
}

func (a *API) scimUser(w http.ResponseWriter, c *call) error {
	p, err := a.svc.Person(c.Context(), c.conn, c.ids[0])
	if err != nil {
		return err
	}
	return scimJSON(w, http.StatusOK, a.showUser(p))
}

func (a *API) scimPutUser(w http.ResponseWriter, c *call) error {
	var in scimUser
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	return a.changeUser(w, c, func(p *sso.Person) error {
		*p = in.person()
		return nil
	})
}

func (a *API) changeUser(w http.ResponseWriter, c *call, change func(*sso.Person) error) error {
	p, err := a.svc.ChangePerson(c.Context(), c.conn, c.ids[0], c.client(), change)
	if err != nil {
		return err
	}
	return scimJSON(w, http.StatusOK, a.showUser(p))
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

func readPatch(w http.ResponseWriter, c *call) ([]operation, error) {
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
		o.Path = strings.TrimPrefix(strings.TrimPrefix(o.Path, schemaUser+":"), schemaGroup+":")
	}
	return in.Operations, nil
}

func (a *API) scimPatchUser(w http.ResponseWriter, c *call) error {
	ops, err := readPatch(w, c)
	if err != nil {
		return err
	}
	return a.changeUser(w, c, func(p *sso.Person) error {
		for _, o := range ops {
			if err := patchUser(p, o); err != nil {
				return err
			}
		}
		return nil
	})
}

func patchUser(p *sso.Person, o operation) error {
	if o.Path != "" {
		return setUser(p, o.Path, o.Op, o.Value)
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(o.Value, &parts) != nil {
		return fault.New(fault.Invalid, "invalidValue", "An operation without a path has an object as its value")
	}
	for k, v := range parts {
		if err := setUser(p, k, o.Op, v); err != nil {
			return err
		}
	}
	return nil
}

// setUser writes one attribute. What is not kept here is accepted and left.
func setUser(p *sso.Person, path, op string, v json.RawMessage) error {
	text := map[string]*string{"username": &p.UserName, "externalid": &p.ExternalID, "displayname": &p.Display, "name.formatted": &p.Display,
		"name.givenname": &p.Given, "name.familyname": &p.Family, `emails[type eq "work"].value`: &p.Email, `emails[primary eq true].value`: &p.Email}
	low := strings.ToLower(path)
	switch into := text[low]; {
	case into != nil && op == "remove":
		*into = ""
	case into != nil:
		return bind(v, into)
	case low == "active" && op == "remove":
		return fault.New(fault.Invalid, "mutability", "active cannot be removed")
	case low == "active":
		var f flag
		err := bind(v, &f)
		p.Active = bool(f)
		return err
	case low == "name" && op != "remove":
		var n scimName
		if err := bind(v, &n); err != nil {
			return err
		}
		p.Given, p.Family = n.Given, n.Family
	case low == "emails" && op != "remove":
		var list []email
		if err := bind(v, &list); err != nil {
			return err
		}
		for i, e := range list {
			if i == 0 || bool(e.Primary) {
				p.Email = e.Value
			}
		}
	}
	return nil
}

func bind(v json.RawMessage, into any) error {
	if len(v) == 0 || json.Unmarshal(v, into) != nil {
		return fault.New(fault.Invalid, "invalidValue", "A value is missing, or of the wrong type")
	}
	return nil
}

func (a *API) scimDeleteUser(w http.ResponseWriter, c *call) error {
	if err := a.svc.DeletePerson(c.Context(), c.conn, c.ids[0], c.client()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type scimGroup struct {
	Schemas    []string `json:"schemas"`
	ID         string   `json:"id,omitempty"`
	ExternalID string   `json:"externalId,omitempty"`
	Display    string   `json:"displayName"`
	Members    []member `json:"members,omitempty"`
	Meta       *meta    `json:"meta,omitempty"`
}

func (a *API) showGroup(g sso.Group) scimGroup {
	out := scimGroup{Schemas: []string{schemaGroup}, ID: g.ID, ExternalID: g.ExternalID, Display: g.Display,
		Meta: &meta{"Group", stamp.Time{Time: g.CreatedAt}, stamp.Time{Time: g.UpdatedAt}, a.svc.SCIMBase() + "/Groups/" + g.ID}}
	for _, m := range g.Members {
		out.Members = append(out.Members, member{m.ID, m.Display, a.svc.SCIMBase() + "/Users/" + m.ID})
	}
	return out
}

func (g scimGroup) group() sso.Group {
	out := sso.Group{Display: g.Display, ExternalID: g.ExternalID}
	for _, m := range g.Members {
		out.Members = append(out.Members, sso.Ref{ID: m.Value})
	}
	return out
}

func (a *API) scimGroups(w http.ResponseWriter, c *call) error {
	q, err := parseQuery(c)
	if err != nil {
		return err
	}
	list, total, err := a.svc.Groups(c.Context(), c.conn, q)
	if err != nil {
		return err
	}
	var out []scimGroup
	for _, g := range list {
		out = append(out, a.showGroup(g))
	}
	return listOf(w, q, total, out)
}

func (a *API) scimCreateGroup(w http.ResponseWriter, c *call) error {
	var in scimGroup
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	g, err := a.svc.CreateGroup(c.Context(), c.conn, in.group(), c.client())
	if err != nil {
		return err
	}
	out := a.showGroup(g)
	w.Header().Set("Location", out.Meta.Location)
	return scimJSON(w, http.StatusCreated, out)
}

func (a *API) scimGroup(w http.ResponseWriter, c *call) error {
	g, err := a.svc.Group(c.Context(), c.conn, c.ids[0])
	if err != nil {
		return err
	}
	return scimJSON(w, http.StatusOK, a.showGroup(g))
}

func (a *API) changeGroup(w http.ResponseWriter, c *call, change func(*sso.Group) error) error {
	g, err := a.svc.ChangeGroup(c.Context(), c.conn, c.ids[0], c.client(), change)
	if err != nil {
		return err
	}
	return scimJSON(w, http.StatusOK, a.showGroup(g))
}

func (a *API) scimPutGroup(w http.ResponseWriter, c *call) error {
	var in scimGroup
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	return a.changeGroup(w, c, func(g *sso.Group) error {
		*g = in.group()
		return nil
	})
}

func (a *API) scimPatchGroup(w http.ResponseWriter, c *call) error {
	ops, err := readPatch(w, c)
	if err != nil {
		return err
	}
	return a.changeGroup(w, c, func(g *sso.Group) error {
		for _, o := range ops {
			if err := patchGroup(g, o); err != nil {
				return err
			}
		}
		return nil
	})
}

func patchGroup(g *sso.Group, o operation) error {
	if o.Path != "" {
		return setGroup(g, o.Path, o.Op, o.Value)
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(o.Value, &parts) != nil {
		return fault.New(fault.Invalid, "invalidValue", "An operation without a path has an object as its value")
	}
	for k, v := range parts {
		if err := setGroup(g, k, o.Op, v); err != nil {
			return err
		}
	}
	return nil
}

func setGroup(g *sso.Group, path, op string, v json.RawMessage) error {
	low := strings.ToLower(path)
	switch {
	case low == "displayname" && op != "remove":
		return bind(v, &g.Display)
	case low == "externalid" && op != "remove":
		return bind(v, &g.ExternalID)
	case low == "members" && op == "remove" && len(v) == 0:
		g.Members = nil
		return nil
	case low == "members":
		var list []member
		if err := bind(v, &list); err != nil {
			return err
		}
		return setMembers(g, op, list)
	case strings.HasPrefix(low, "members[") && strings.HasSuffix(low, "]") && op == "remove":
		attr, id, ok := equality(path[len("members[") : len(path)-1])
		if !ok || !strings.EqualFold(attr, "value") {
			return fault.New(fault.Invalid, "invalidPath", `Of member filters, members[value eq "id"] is known`)
		}
		return setMembers(g, op, []member{{Value: id}})
	case low == "displayname":
		return fault.New(fault.Invalid, "mutability", "displayName cannot be removed")
	}
	return nil
}

func setMembers(g *sso.Group, op string, list []member) error {
	if op == "replace" {
		g.Members = nil
	}
	drop := map[string]bool{}
	for _, m := range list {
		if op == "remove" {
			drop[strings.ToLower(m.Value)] = true
			continue
		}
		g.Members = append(g.Members, sso.Ref{ID: m.Value})
	}
	var keep []sso.Ref
	for _, m := range g.Members {
		if !drop[m.ID] {
			keep = append(keep, m)
		}
	}
	g.Members = keep
	return nil
}

func (a *API) scimDeleteGroup(w http.ResponseWriter, c *call) error {
	if err := a.svc.DeleteGroup(c.Context(), c.conn, c.ids[0], c.client()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) scimConfig(w http.ResponseWriter, _ *call) error {
	no := map[string]any{"supported": false}
	return scimJSON(w, http.StatusOK, map[string]any{
		"schemas": []string{schemaConfig}, "patch": map[string]any{"supported": true}, "bulk": map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter": map[string]any{"supported": true, "maxResults": 200}, "changePassword": no, "sort": no, "etag": no,
		"authenticationSchemes": []map[string]any{{"type": "oauthbearertoken", "name": "Bearer token", "description": "The connection's SCIM token", "primary": true}},
	})
}

func (a *API) scimTypes(w http.ResponseWriter, _ *call) error {
	types := []map[string]any{
		{"schemas": []string{schemaType}, "id": "User", "name": "User", "endpoint": "/Users", "schema": schemaUser},
		{"schemas": []string{schemaType}, "id": "Group", "name": "Group", "endpoint": "/Groups", "schema": schemaGroup},
	}
	return listOf(w, sso.Query{}, int64(len(types)), types)
}
