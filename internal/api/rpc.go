package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/idempotency"
	"holdfast/internal/prefer"
	"holdfast/internal/verb"
	"holdfast/internal/web"
)

// verbBody bounds a verb's request body.
const verbBody = 4 << 20

// Verbs serves POST {name}: what a person says they did, and GET for verbs that only
// answer. Errors are the collections'.
type Verbs struct {
	gate  *access.Gate
	table *verb.Table
	keys  *idempotency.Keys
}

// NewVerbs serves a table; keys keep the answers of verbs that change something.
func NewVerbs(g *access.Gate, t *verb.Table, keys *idempotency.Keys) *Verbs {
	return &Verbs{gate: g, table: t, keys: keys}
}

// Serve serves {name} of the request's path.
func (v *Verbs) Serve(w http.ResponseWriter, c *route.Call) error { return v.serveVerb(w, c.Request) }

// serveVerb answers in the order 404, 405, 401, 403, body.
func (v *Verbs) serveVerb(w http.ResponseWriter, r *http.Request) error {
	verb := v.table.Find(r.PathValue("name"))
	if verb == nil {
		return fault.New(fault.NotFound, "PGRST202", "there is no verb %q", r.PathValue("name")).
			With("", "/openapi.json lists the verbs; functions are at /functions/v1/{name}")
	}
	methods := verb.Methods()
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", web.Allow(methods))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return fault.New(fault.BadMethod, "PGRST101", "%s is not served by %s; use %s", r.Method, verb.Name,
			strings.Join(methods, " or "))
	}
	a, err := v.gate.Enter(w, r, !verb.Reads)
	web.Note(w, "/v1/rpc/"+verb.Name, a.TenantID, a.UserID, a.KeyID)
	if err != nil {
		return err
	}
	if err := checkMayCall(verb, a); err != nil {
		return err
	}
	a.Scope = nil // the verb looks at what it needs, by the role
	return v.callVerb(w, r, verb, a)
}

// checkMayCall refuses callers who may not say the verb.
func checkMayCall(verb *verb.Verb, a actor.Actor) error {
	switch {
	case a.Anonymous():
		return fault.New(fault.Unauthorized, "PGRST302", "sign in first: this needs an access token")
	case a.Role == actor.Service:
		return nil
	case a.TenantID == "":
		return fault.New(fault.Forbidden, "42501", "you are not a member of a tenant; ask an administrator for an invitation")
	case a.Suspended && !verb.Reads:
		return fault.New(fault.Forbidden, "42501", "the tenant is suspended: nothing can be changed")
	case !a.Scope.Says(verb.Name):
		return fault.New(fault.Forbidden, "42501", "this key has no scope rpc:%s", verb.Name)
	case !verb.Permits(a.Role):
		return fault.New(fault.Forbidden, "42501", "the role %s may not %s", a.Role, verb.Name)
	}
	return nil
}

// said is a verb as far as its request has been read.
type said struct {
	verb   *verb.Verb
	a      actor.Actor
	in     any
	dry    bool
	form   *verb.AnswerForm // nil = all of the answer
	prefer prefer.Preferences
}

// callVerb reads the body and runs the verb. Whatever it writes, it counts as one
// write of the tenant's budget.
func (v *Verbs) callVerb(w http.ResponseWriter, r *http.Request, verb *verb.Verb, a actor.Actor) error {
	q := said{verb: verb, a: a}
	if err := q.readPreferences(r); err != nil {
		return err
	}
	p, err := readParams(w, r, verbBody)
	if err != nil {
		return err
	}
	if q.form, err = verb.ReadForm(p.query, r.Method != http.MethodPost); err != nil {
		return err
	}
	if err := p.takeArguments(r, &q); err != nil {
		return err
	}
	if a.Role == actor.Service && a.TenantID == "" {
		if q.a.TenantID, err = p.namedTenant(r.Context(), v.gate); err != nil {
			return err
		}
	}
	if err := q.readBody(r, p); err != nil {
		return err
	}
	v.gate.CountRequest(q.a, !verb.Reads)
	r = r.WithContext(db.Counted(r.Context()))
	if q.dry || verb.Reads {
		return v.runVerb(w, r, q)
	}
	return serveIdempotent(v.keys, w, request{r, q.a, string(p.sent)},
		func(w http.ResponseWriter, claim *idempotency.Claim) error {
			return v.runVerb(w, keepAnswerWith(r, claim, q.sendAnswer), q)
		})
}

// readPreferences reads Prefer. Of an answer there is one, so that fewer than one
// is more than max-affected allows.
func (q *said) readPreferences(r *http.Request) (err error) {
	if q.prefer, err = prefer.Parse(r.Header.Values("Prefer")); err != nil {
		return err
	}
	if err := q.prefer.CheckUse(prefer.Use{Method: r.Method, Verb: true}); err != nil {
		return err
	}
	if q.prefer.Strict && q.prefer.MaxAffected == 0 {
		return fault.New(fault.Invalid, "PGRST124", "more rows would change than max-affected allows").
			With("The query affects 1 rows", "")
	}
	q.dry = q.prefer.Rollback()
	return nil
}

// takeArguments makes the members of a body of the query of a GET; a POST has
// nothing in its query but what is about its answer and the tenant of a service key.
func (p *params) takeArguments(r *http.Request, q *said) error {
	if r.Method != http.MethodPost {
		var err error
		p.body, err = q.verb.Arguments(p.query, q.a.Role == actor.Service)
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.query)) {
		if name != tenantParameter || q.a.Role != actor.Service {
			return verb.RefuseArgument(name, "is unknown here")
		}
	}
	return nil
}

// readBody takes the members that every verb has from the body and binds the rest.
func (q *said) readBody(r *http.Request, p params) error {
	var key string
	var dry bool
	for name, into := range map[string]any{"tenant_id": new(string), "idempotency_key": &key, "dry_run": &dry} {
		raw, given := p.body[name]
		if !given || name == "tenant_id" && q.a.Role != actor.Service {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fault.New(fault.Invalid, "22023", "parameter %q has the wrong type", name).At(name, "has the wrong type")
		}
		delete(p.body, name)
	}
	q.dry = q.dry || dry
	if key != "" {
		if given := r.Header.Get(keyHeader); given != "" && given != key {
			return fault.New(fault.Invalid, "HF013", "idempotency_key and the header %s differ", keyHeader).At("idempotency_key",
				"differs from the header")
		}
		r.Header.Set(keyHeader, key)
	}
	in := reflect.New(reflect.TypeOf(q.verb.In))
	q.in = in.Interface()
	if err := functions.BindObject(q.in, p.body); err != nil {
		e := fault.As(err)
		e.Code = "22023"
		return e
	}
	return nil
}

func (v *Verbs) runVerb(w http.ResponseWriter, r *http.Request, q said) error {
	out, err := v.table.Do(r.Context(), q.a, q.verb, q.in, q.dry)
	if err != nil {
		return nameField(err)
	}
	return q.sendAnswer(w, out)
}

// sendAnswer writes a verb's answer.
func (q *said) sendAnswer(w http.ResponseWriter, out any) error {
	b, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("api: write a verb's answer: %w", err)
	}
	if q.form != nil {
		if b, err = q.form.Choose(b); err != nil {
			return fmt.Errorf("api: choose from a verb's answer: %w", err)
		}
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Cache-Control", "no-store")
	if q.prefer.Count != prefer.NoCount {
		h.Set("Content-Range", contentRange(0, 1, 1))
	}
	setApplied(h, q.prefer.Applied(prefer.Use{Verb: true}))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b) // a client that went away is no fault of ours
	return nil
}

// nameField puts a single refused member, which the collections' body has no place
// for, into the details where they say nothing else.
func nameField(err error) error {
	e := fault.As(err)
	if e.Kind == fault.Internal || e.Details != "" || len(e.Fields) != 1 {
		return err
	}
	shown := *e
	shown.Details = e.Fields[0].Name + ": " + e.Fields[0].Msg
	return &shown
}
