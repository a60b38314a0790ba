package api

import (
	"context"
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/identity/tenants"
	grammar "holdfast/internal/query"
	"holdfast/internal/verb"
	"holdfast/internal/web"
)

// Permissions tells what a member may do. It asks the very functions that
// admit a request, so it says nothing else than they do.
type Permissions struct {
	Catalog   *catalog.Catalog
	Functions []functions.Function
	Verbs     []verb.Verb
	// Member returns an active member of a tenant as an actor.
	Member func(ctx context.Context, tenantID, userID string) (actor.Actor, error)
	// Locale returns what amounts and moments of a tenant are written in.
	Locale func(ctx context.Context, tenantID string) (tenants.Locale, error)
}

// right is what a member may do to the rows of a collection in one way.
type right struct {
	Rows string `json:"rows"` // all, own, zones, own or zones, none
	// read: those that are not masked; create, update: the only ones, absent = all that can be written
	Fields []string `json:"fields,omitempty"`
}

type rights struct {
	Read   *right     `json:"read"`
	Create *right     `json:"create"`
	Update *right     `json:"update"`
	Delete *right     `json:"delete"`
	Moves  []moveView `json:"moves,omitempty"` // of the state, where an update may ask for them
}

type moveView struct {
	From []string `json:"from"`
	To   string   `json:"to"`
}

type permissions struct {
	UserID   string     `json:"user_id"`
	TenantID string     `json:"tenant_id"`
	Role     actor.Role `json:"role"`
	ReadOnly bool       `json:"read_only"` // the tenant is suspended
	Currency string     `json:"currency"`  // of all amounts, whether or not the member reads the tenant
	Timezone string     `json:"timezone"`  // IANA name of the zone of the tenant's days
	// the zones of sites that are in another one than the tenant, by their ids
	SiteTimezones map[string]string  `json:"site_timezones"`
	ZoneIDs       []string           `json:"zone_ids"` // an operator or driver is limited to them; empty = all
	Collections   map[string]*rights `json:"collections"`
	Functions     map[string]bool    `json:"functions"`
	Verbs         map[string]bool    `json:"verbs"`
}

// PermissionsAnswer is the zero answer of GET /v1/permissions.
func PermissionsAnswer() any { return permissions{} }

// Serve answers GET /v1/permissions: of the caller, or of the member user_id for
// an administrator.
func (p *Permissions) Serve(w http.ResponseWriter, c *route.Call) (err error) {
	a := c.Actor
	if a.TenantID == "" {
		return fault.New(fault.Forbidden, "42501", "you are not a member of a tenant")
	}
	if id := c.URL.Query().Get("user_id"); id != "" && id != a.UserID {
		if !a.Administrator() {
			return fault.New(fault.Forbidden, "42501", "only an administrator may see what others may do")
		}
		if a, err = p.Member(c.Context(), a.TenantID, id); err != nil {
			return err
		}
	}
	out := p.permissionsOf(a)
	locale, err := p.Locale(c.Context(), a.TenantID)
	if err != nil {
		return err
	}
	out.Currency, out.Timezone, out.SiteTimezones = locale.Currency, locale.Timezone, locale.SiteTimezones
	return web.JSON(w, http.StatusOK, out)
}

func (p *Permissions) permissionsOf(a actor.Actor) permissions {
	out := permissions{UserID: a.UserID, TenantID: a.TenantID, Role: a.Role, ReadOnly: a.Suspended, ZoneIDs: []string{},
		Collections: map[string]*rights{}, Functions: map[string]bool{}, Verbs: map[string]bool{}}
	if a.Role == actor.Operator || a.Role == actor.Driver {
		out.ZoneIDs = append(out.ZoneIDs, a.ZoneIDs...)
	}
	for _, r := range p.Catalog.All() {
		out.Collections[r.Name] = collectionRights(a, r)
	}
	for i := range p.Functions {
		out.Functions[p.Functions[i].Name] = checkRole(&p.Functions[i], a) == nil
	}
	for i := range p.Verbs {
		out.Verbs[p.Verbs[i].Name] = checkMayCall(&p.Verbs[i], a) == nil
	}
	return out
}

func collectionRights(a actor.Actor, r *catalog.Resource) *rights {
	out := &rights{}
	if g, err := grammar.Access(a, r, r.Access.Read); err == nil {
		out.Read = &right{Rows: grammar.Reach(a, r, g)}
		for i := range r.Fields {
			if r.Fields[i].Visible(a.Role) {
				out.Read.Fields = append(out.Read.Fields, r.Fields[i].Name)
			}
		}
	}
	if a.Suspended || !a.Scope.Writes(r.Name) {
		return out
	}
	if g, err := grammar.Access(a, r, r.Access.Create); err == nil {
		out.Create = &right{Rows: grammar.Reach(a, r, g), Fields: settableFields(r, a.Role)}
	}
	if r.AppendOnly {
		return out
	}
	if g, err := grammar.Access(a, r, r.Access.Update); err == nil {
		out.Update = &right{Rows: grammar.Reach(a, r, g), Fields: updatableFields(r, g, a.Role)}
		out.Moves = allowedMoves(r.States, a.Role)
	}
	if g, err := grammar.Access(a, r, r.Access.Delete); err == nil {
		out.Delete = &right{Rows: grammar.Reach(a, r, g)}
	}
	return out
}

// settableFields names what a role may give new records, nil where that is all.
func settableFields(r *catalog.Resource, role actor.Role) []string {
	return writtenFields(r, func(f *catalog.Field) bool { return f.Settable(role) })
}

// updatableFields names what a role may change of records by grant g, nil where that is
// all: who does not see a field changes it neither.
func updatableFields(r *catalog.Resource, g catalog.Grant, role actor.Role) []string {
	if len(g.Fields) > 0 {
		return g.Fields
	}
	return writtenFields(r, func(f *catalog.Field) bool { return f.Settable(role) && f.Visible(role) })
}

// writtenFields names the fields that callers write and may admits, nil where those are all.
func writtenFields(r *catalog.Resource, may func(*catalog.Field) bool) []string {
	var out []string
	isLimited := false
	for i := range r.Fields {
		switch f := &r.Fields[i]; {
		case f.ReadOnly:
		case may(f):
			out = append(out, f.Name)
		default:
			isLimited = true
		}
	}
	if !isLimited {
		return nil
	}
	return out
}

func allowedMoves(s *catalog.States, role actor.Role) []moveView {
	if s == nil {
		return nil
	}
	var out []moveView
	for _, m := range s.Moves {
		v := moveView{To: m.To}
		for _, from := range m.From {
			if _, permitted := s.Allows(from, m.To, role); permitted {
				v.From = append(v.From, from)
			}
		}
		if len(v.From) > 0 {
			out = append(out, v)
		}
	}
	return out
}
