package app

import (
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// identityFace serves /auth/v1 with its rate limits: attempts are counted by
// address and by canonical account, before any password is hashed.
func (a *App) identityFace() http.Handler {
	o := auth.Options{
		Limit: a.gate.TakeAuth,
		Session: func(w http.ResponseWriter, r *http.Request, who actor.Actor) error {
			return a.gate.TakeSession(w, who, web.ClientAddress(r))
		},
		Unknown: func(w http.ResponseWriter, r *http.Request, came bool) error {
			return a.gate.TakeUnknown(w, web.ClientAddress(r), came)
		},
		Code: func(w http.ResponseWriter, r *http.Request, came bool) error {
			return a.gate.TakeCode(w, web.ClientAddress(r), came)
		},
		Visit: func(w http.ResponseWriter, r *http.Request) error {
			return a.gate.TakeVisit(w, web.ClientAddress(r))
		},
		Scopes: scopes(a),
		Depart: func(w http.ResponseWriter, r *http.Request) error {
			return a.gate.TakeDeparture(w, web.ClientAddress(r))
		},
	}
	return ssoapi.New(a.SSO, a.Identity,
		ssoapi.Options{Shape: auth.Shape, Credential: auth.Credential, Next: auth.New(a.Identity, o), Limit: o.Limit, Depart: o.Depart, Session: o.Session})
}

// scopes are the words that keys of tenants may be given: whatever is served as
// records and work.
func scopes(a *App) []string {
	var verbs, calls []string
	for _, v := range a.verbs.All() {
		verbs = append(verbs, v.Name)
	}
	for i := range a.table {
		calls = append(calls, a.table[i].Name)
	}
	return identity.GrantableScopes(a.catalog, verbs, calls)
}
