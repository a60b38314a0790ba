package sso

import (
	"net/http"

	"holdfast/internal/fault"
	"holdfast/internal/sso"
)

const schemaSchema = "urn:ietf:params:scim:schemas:core:2.0:Schema"

// schema is the definition of a resource (RFC 7643 section 7).
type schema struct {
	Schemas     []string    `json:"schemas"`
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Attributes  []attribute `json:"attributes"`
	Meta        schemaMeta  `json:"meta"`
}

type schemaMeta struct {
	Type     string `json:"resourceType"`
	Location string `json:"location"`
}

type attribute struct {
	Name        string      `json:"name"`
	Type        string      `json:"type"`
	Multi       bool        `json:"multiValued"`
	Description string      `json:"description"`
	Required    bool        `json:"required"`
	CaseExact   bool        `json:"caseExact"`
	Mutability  string      `json:"mutability"`
	Returned    string      `json:"returned"`
	Uniqueness  string      `json:"uniqueness"`
	References  []string    `json:"referenceTypes,omitempty"`
	Parts       []attribute `json:"subAttributes,omitempty"`
}

// plainText is a single text that a client may write.
func plainText(name, doc string) attribute {
	return attribute{Name: name, Type: "string", Description: doc, Mutability: "readWrite", Returned: "default",
		Uniqueness: "none"}
}

func (a attribute) readOnly() attribute {
	a.Mutability = "readOnly"
	return a
}

func (a attribute) ofType(typ string) attribute {
	a.Type = typ
	return a
}

func (a attribute) manyValued() attribute {
	a.Multi = true
	return a
}

func (a attribute) requiredUnique() attribute {
	a.Required, a.Uniqueness = true, "server"
	return a
}

func (a attribute) withParts(parts ...attribute) attribute {
	a.Type, a.Parts = "complex", parts
	return a
}

// referenceTo is a reference to a resource of another kind.
func referenceTo(kind string) attribute {
	a := plainText("$ref", "Its address.").ofType("reference").readOnly()
	a.CaseExact, a.References = true, []string{kind}
	return a
}

// schemaList are those of what is provisioned: the connection's users and groups.
func (a *API) schemaList() []schema {
	list := []schema{
		{ID: schemaUser, Name: "User", Description: "A person of the organisation", Attributes: []attribute{
			plainText("userName", "The name at the provider, compared without regard to case.").requiredUnique(),
			plainText("name", "The parts of the name.").withParts(plainText("formatted",
				"The whole name; what displayName says."),
				plainText("familyName", "Family name."), plainText("givenName", "Given name.")),
			plainText("displayName", "The name that is shown."),
			plainText("active", "Whether the person may sign in; false ends the sessions.").ofType("boolean"),
			plainText(
				"emails",
				"The address: the primary one, in a proved domain. Without one, userName is it.",
			).manyValued().
				withParts(plainText("value", "The address."),
					plainText("type", "work.").readOnly(), plainText("primary",
						"Whether it is the one that is kept.").ofType("boolean")),
			plainText("groups", "The groups of the person; changed at the group.").readOnly().manyValued().withParts(
				plainText("value", "The group's id.").readOnly(), referenceTo("Group"),
				plainText("display", "The group's name.").readOnly()),
		}},
		{ID: schemaGroup, Name: "Group", Description: "A group of people; the connection's role_map may give it a role",
			Attributes: []attribute{
				plainText("displayName", "The group's name, of which role_map speaks.").requiredUnique(),
				plainText("members", "The people of the group.").manyValued().withParts(plainText("value", "The user's id."),
					referenceTo("User"), plainText("display", "The user's userName.").readOnly()),
			}},
	}
	for i := range list {
		s := &list[i]
		s.Schemas, s.Meta = []string{schemaSchema}, schemaMeta{"Schema", a.svc.SCIMBase() + "/Schemas/" + s.ID}
	}
	return list
}

func (a *API) scimSchemas(w http.ResponseWriter, c *scimCall) error {
	list := a.schemaList()
	return listOf(w, c, sso.Query{}, int64(len(list)), list)
}

func (a *API) scimSchema(w http.ResponseWriter, c *scimCall) error {
	for _, s := range a.schemaList() {
		if s.ID == c.PathValue("id") {
			return c.sendSelected(w, http.StatusOK, s)
		}
	}
	return fault.New(fault.NotFound, "not_found", "There is no such schema")
}
