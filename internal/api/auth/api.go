// Package auth is the identity service on the wire: /auth/v1 as
// @supabase/auth-js speaks it. It reads requests, calls package identity and
// writes answers; it decides nothing.
//
// Layer: endpoints. Begin at [New].
package auth

import (
	"holdfast/internal/api/route"
	"holdfast/internal/identity"
)

// Options are what stands around the handlers.
type Options struct {
	Windows route.Windows
	Scopes  []string     // the words that keys of tenants may be given, sorted
	Custom  route.Handle // begins a sign-in at a connection called custom:x; nil where there are none
}

// API answers on the routes of Routes.
type API struct {
	svc *identity.Service
	opt Options
}

// New returns what answers for a service.
func New(svc *identity.Service, o Options) *API { return &API{svc, o} }

// What answers stands by what it is about.
type (
	administration  struct{ *API } // accounts, for the service key
	secondFactors   struct{ *API }
	passkeys        struct{ *API }
	serviceAccounts struct{ *API }
	tenancy         struct{ *API } // tenants: their members, invitations and mails
)
