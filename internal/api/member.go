package api

import (
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/web"
)

// member lets a signed-in member of a tenant through and reads the query, in
// which a service key names its tenant.
func member(g *gate.Gate, w http.ResponseWriter, r *http.Request, write bool) (actor.Actor, map[string][]string, error) {
	a, err := g.Enter(w, r, write)
	return tenantOf(g, w, r, a, err, write)
}

// tenantOf is member for whom the gate has let in or refused already.
func tenantOf(g *gate.Gate, w http.ResponseWriter, r *http.Request, a actor.Actor, err error, write bool) (actor.Actor, map[string][]string, error) {
	web.Note(w, r.Pattern, a.TenantID, a.UserID, a.KeyID)
	if err != nil {
		return a, nil, err
	}
	if a.Anonymous() {
		return a, nil, fault.New(fault.Unauthorized, "PGRST302", "sign in first: this needs an access token")
	}
	q, err := queryValues(r.URL.RawQuery)
	if err != nil {
		return a, nil, err
	}
	switch {
	case a.Role == actor.Service && a.TenantID == "":
		a.TenantID, err = params{query: q}.tenant(r.Context(), g)
	case a.TenantID == "":
		err = fault.New(fault.Forbidden, "42501", "you are not a member of a tenant")
	case a.Suspended && write:
		err = fault.New(fault.Forbidden, "42501", "the tenant is suspended: nothing can be changed")
	}
	return a, q, err
}
