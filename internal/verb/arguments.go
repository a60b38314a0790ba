package verb

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/fault"
	"holdfast/internal/schema"
)

// Common are the members that every verb takes beside its own.
type Common struct {
	TenantID       string `json:"tenant_id" format:"uuid" doc:"The tenant, for the service key alone."`
	IdempotencyKey string `json:"idempotency_key" max:"255" doc:"A repeat with it is answered as before."`
	DryRun         bool   `json:"dry_run" doc:"Answer what would happen and write nothing."`
}

// Input describes the body of the verb.
func (v *Verb) Input() *schema.Shape {
	in, all := schema.Input(v.In), schema.Input(Common{})
	if v.Reads {
		all.Members = all.Members[:1]
	}
	in.Members = append(in.Members, all.Members...)
	return in
}

// Methods are the HTTP methods of the verb: POST, and GET and HEAD of one that only
// answers.
func (v *Verb) Methods() []string {
	if v.Reads {
		return []string{"GET", "HEAD", "POST"}
	}
	return []string{"POST"}
}

// Arguments are the parameters of a query as the members of the verb's body. A name
// that the verb does not take, or that is given twice, is fault.Invalid; service
// callers name their tenant too.
func (v *Verb) Arguments(query map[string][]string, service bool) (map[string]json.RawMessage, error) {
	known := v.Input().Members
	body := make(map[string]json.RawMessage, len(query))
	for _, name := range slices.Sorted(maps.Keys(query)) {
		at := slices.IndexFunc(known, func(m schema.Member) bool { return m.Name == name })
		if at < 0 || name == "tenant_id" && !service {
			return nil, RefuseArgument(name, "is unknown here")
		}
		if len(query[name]) > 1 {
			return nil, RefuseArgument(name, "is given more than once")
		}
		body[name] = argumentJSON(&known[at].Shape, query[name][0])
	}
	return body, nil
}

// RefuseArgument refuses a parameter of a query, and says why.
func RefuseArgument(name, why string) error {
	name = fault.Clip(name, 60)
	return fault.New(fault.Invalid, "22023", "parameter %q %s", name, why).At(name, "%s", why)
}

// argumentJSON is a text of a query as the JSON value of an input. What is no value
// of its kind stays a string, which the input refuses.
func argumentJSON(s *schema.Shape, text string) json.RawMessage {
	if s.Kind != schema.Text && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string has a JSON form
	return quoted
}
