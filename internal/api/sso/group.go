package sso

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/sso"
)

type member struct {
	Value   string `json:"value"`
	Display string `json:"display,omitempty"`
	Ref     string `json:"$ref,omitempty"`
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
		Meta: &meta{"Group", gotruetime.Time{Time: g.CreatedAt}, gotruetime.Time{Time: g.UpdatedAt}, a.svc.SCIMBase() +
			"/Groups/" + g.ID}}
	for _, m := range g.Members {
		out.Members = append(out.Members, member{m.ID, m.Display, a.svc.SCIMBase() + "/Users/" + m.ID})
	}
	return out
}

func (g scimGroup) toGroup() sso.Group {
	out := sso.Group{Display: g.Display, ExternalID: g.ExternalID}
	for _, m := range g.Members {
		out.Members = append(out.Members, sso.Ref{ID: m.Value})
	}
	return out
}

func (a *API) scimGroups(w http.ResponseWriter, c *scimCall) error {
	q, err := parseQuery(c)
	if err != nil {
		return err
	}
	list, total, err := a.svc.Directory().Groups(c.Context(), c.Connection, q, c.sel.isSelected("members"))
	if err != nil {
		return err
	}
	var out []scimGroup
	for _, g := range list {
		out = append(out, a.showGroup(g))
	}
	return listOf(w, c, q, total, out)
}

func (a *API) scimCreateGroup(w http.ResponseWriter, c *scimCall) error {
	var in scimGroup
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	g, err := a.svc.Directory().CreateGroup(c.Context(), c.Connection, in.toGroup(), c.Client())
	if err != nil {
		return err
	}
	out := a.showGroup(g)
	w.Header().Set("Location", out.Meta.Location)
	return c.sendSelected(w, http.StatusCreated, out)
}

func (a *API) scimGroup(w http.ResponseWriter, c *scimCall) error {
	g, err := a.svc.Directory().Group(c.Context(), c.Connection, c.PathValue("id"))
	if err != nil {
		return err
	}
	return c.sendSelected(w, http.StatusOK, a.showGroup(g))
}

func (a *API) changeGroup(w http.ResponseWriter, c *scimCall, change func(*sso.Group) error) error {
	g, err := a.svc.Directory().ChangeGroup(c.Context(), c.Connection, c.PathValue("id"), c.Client(), change)
	if err != nil {
		return err
	}
	return c.sendSelected(w, http.StatusOK, a.showGroup(g))
}

func (a *API) scimPutGroup(w http.ResponseWriter, c *scimCall) error {
	var in scimGroup
	if err := scimBody(w, c, &in); err != nil {
		return err
	}
	return a.changeGroup(w, c, func(g *sso.Group) error {
		*g = in.toGroup()
		return nil
	})
}

func (a *API) scimPatchGroup(w http.ResponseWriter, c *scimCall) error {
	ops, err := readPatch(w, c)
	if err != nil {
		return err
	}
	return a.changeGroup(w, c, patchFunc(ops, setGroup))
}

func setGroup(g *sso.Group, path, op string, v json.RawMessage) error {
	low := strings.ToLower(path)
	switch {
	case low == "displayname" && op != "remove":
		return bindValue(v, &g.Display)
	case low == "externalid" && op != "remove":
		return bindValue(v, &g.ExternalID)
	case low == "members" && op == "remove" && len(v) == 0:
		g.Members = nil
		return nil
	case low == "members":
		var list []member
		if err := bindValue(v, &list); err != nil {
			return err
		}
		return setMembers(g, op, list)
	case strings.HasPrefix(low, "members[") && strings.HasSuffix(low, "]") && op == "remove":
		attr, id, ok := parseEquality(path[len("members[") : len(path)-1])
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

func (a *API) scimDeleteGroup(w http.ResponseWriter, c *scimCall) error {
	if err := a.svc.Directory().DeleteGroup(c.Context(), c.Connection, c.PathValue("id"), c.Client()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
