package sso

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/sso"
)

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
	out := scimUser{Schemas: []string{schemaUser}, ID: p.ID, ExternalID: p.ExternalID, UserName: p.UserName,
		Display: p.Display, Active: &active, Emails: []email{{Value: p.Email, Type: "work", Primary: true}},
		Meta: &meta{"User", gotruetime.Time{Time: p.CreatedAt}, gotruetime.Time{Time: p.UpdatedAt}, a.svc.SCIMBase() +
			"/Users/" + p.ID}}
	if p.Given != "" || p.Family != "" || p.Display != "" {
		out.Name = &scimName{Formatted: p.Display, Given: p.Given, Family: p.Family}
	}
	for _, g := range p.Groups {
		out.Groups = append(out.Groups, member{g.ID, g.Display, a.svc.SCIMBase() + "/Groups/" + g.ID})
	}
	return out
}

// toPerson is the whole of a user as a client sent it; active is true when it is
// not said.
func (u scimUser) toPerson() sso.Person {
	p := sso.Person{UserName: u.UserName, ExternalID: u.ExternalID, Display: u.Display, Active: u.Active == nil ||
		bool(*u.Active)}
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

func (a *API) scimUsers(w http.ResponseWriter, c *scimCall) error {
	q, err := parseQuery(c)
	if err != nil {
		return err
	}
	list, total, err := a.svc.Directory().People(c.Context(), c.Connection, q)
	if err != nil {
		return err
	}
	var out []scimUser
	for _, p := range list {
		out = append(out, a.showUser(p))
	}
	return listOf(w, c, q, total, out)
}

func (a *API) scimCreateUser(w http.ResponseWriter, c *scimCall) error {
	var in scimUser
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	p, err := a.svc.Directory().CreatePerson(c.Context(), c.Connection, in.toPerson(), c.Client())
	if err != nil {
		return err
	}
	out := a.showUser(p)
	w.Header().Set("Location", out.Meta.Location)
	return c.sendSelected(w, http.StatusCreated, out)
}

func (a *API) scimUser(w http.ResponseWriter, c *scimCall) error {
	p, err := a.svc.Directory().Person(c.Context(), c.Connection, c.PathValue("id"))
	if err != nil {
		return err
	}
	return c.sendSelected(w, http.StatusOK, a.showUser(p))
}

func (a *API) scimPutUser(w http.ResponseWriter, c *scimCall) error {
	var in scimUser
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	return a.changeUser(w, c, func(p *sso.Person) error {
		*p = in.toPerson()
		return nil
	})
}

func (a *API) changeUser(w http.ResponseWriter, c *scimCall, change func(*sso.Person) error) error {
	p, err := a.svc.Directory().ChangePerson(c.Context(), c.Connection, c.PathValue("id"), c.Client(), change)
	if err != nil {
		return err
	}
	return c.sendSelected(w, http.StatusOK, a.showUser(p))
}

func (a *API) scimPatchUser(w http.ResponseWriter, c *scimCall) error {
	ops, err := readPatch(w, c)
	if err != nil {
		return err
	}
	return a.changeUser(w, c, patchFunc(ops, setUser))
}

// setUser writes one attribute. What is not kept here is accepted and left.
func setUser(p *sso.Person, path, op string, v json.RawMessage) error {
	text := map[string]*string{"username": &p.UserName, "externalid": &p.ExternalID, "displayname": &p.Display,
		"name.formatted": &p.Display,
		"name.givenname": &p.Given, "name.familyname": &p.Family, `emails[type eq "work"].value`: &p.Email,
		`emails[primary eq true].value`: &p.Email}
	low := strings.ToLower(path)
	switch into := text[low]; {
	case into != nil && op == "remove":
		*into = ""
	case into != nil:
		return bindValue(v, into)
	case low == "active" && op == "remove":
		return fault.New(fault.Invalid, "mutability", "active cannot be removed")
	case low == "active":
		var f flag
		err := bindValue(v, &f)
		p.Active = bool(f)
		return err
	case low == "name" && op != "remove":
		var n scimName
		if err := bindValue(v, &n); err != nil {
			return err
		}
		p.Given, p.Family = n.Given, n.Family
	case low == "emails" && op != "remove":
		var list []email
		if err := bindValue(v, &list); err != nil {
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

func (a *API) scimDeleteUser(w http.ResponseWriter, c *scimCall) error {
	if err := a.svc.Directory().DeletePerson(c.Context(), c.Connection, c.PathValue("id"), c.Client()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
