package api

import (
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
)

// withCaller hands a handler the request and its caller.
func withCaller(h func(w http.ResponseWriter, r *http.Request, a actor.Actor) error) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error { return h(w, c.Request, c.Actor) }
}
