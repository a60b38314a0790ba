package route

import (
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/web"
)

// Windows count what is asked of identity. Each may write headers; one that is
// nil counts nothing.
type Windows struct {
	// Limit counts an attempt of the authentication category before any
	// password is hashed.
	Limit func(w http.ResponseWriter, a access.Attempt) error
	// Session counts a request of a signed-in user, or a refresh, under the API
	// category.
	Session func(w http.ResponseWriter, r *http.Request, a actor.Actor) error
	// Unknown counts a refresh token of no session on the client's address;
	// with came false it only asks whether another may come.
	Unknown func(w http.ResponseWriter, r *http.Request, came bool) error
	// Code is Unknown for authorization codes that nobody has: who brings a good
	// one was counted when he set out for it.
	Code func(w http.ResponseWriter, r *http.Request, came bool) error
	// Visit counts a browser that opens a mailed link on its address, and Depart
	// one that goes to a provider, apart from attempts.
	Visit, Depart func(w http.ResponseWriter, r *http.Request) error
}

// WindowsOf are those of a gate: attempts are counted by address and by canonical
// account, before any password is hashed.
func WindowsOf(g *access.Gate) Windows {
	return Windows{
		Limit: g.TakeAuth,
		Session: func(w http.ResponseWriter, r *http.Request, a actor.Actor) error {
			return g.TakeSession(w, a, web.ClientAddress(r))
		},
		Unknown: func(w http.ResponseWriter, r *http.Request, came bool) error {
			return g.TakeUnknown(w, web.ClientAddress(r), came)
		},
		Code: func(w http.ResponseWriter, r *http.Request, came bool) error {
			return g.TakeCode(w, web.ClientAddress(r), came)
		},
		Visit:  func(w http.ResponseWriter, r *http.Request) error { return g.TakeVisit(w, web.ClientAddress(r)) },
		Depart: func(w http.ResponseWriter, r *http.Request) error { return g.TakeDeparture(w, web.ClientAddress(r)) },
	}
}

// countAttempt counts an attempt.
func (x *Windows) countAttempt(w http.ResponseWriter, a access.Attempt) error {
	if x.Limit == nil {
		return nil
	}
	return x.Limit(w, a)
}

// countSession counts a request.
func (x *Windows) countSession(w http.ResponseWriter, c *Call) error {
	if x.Session == nil {
		return nil
	}
	return x.Session(w, c.Request, c.Actor)
}

// countDeparture counts a browser that leaves for a provider.
func (x *Windows) countDeparture(w http.ResponseWriter, c *Call) error {
	if x.Depart == nil {
		return nil
	}
	return x.Depart(w, c.Request)
}
