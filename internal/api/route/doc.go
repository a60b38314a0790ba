// Package route is the one face of the server: what a route is, who may call it,
// how a request shows who makes it, and the form in which each surface answers
// with an error. The tables of routes stand with their handlers, in api, api/auth
// and api/sso; Mount puts them all onto one http.ServeMux.
//
// A request for a route passes, in this order: its surface's demands (surface.go),
// its method (mount.go), its caller (door.go), its count (windows.go), its handler.
//
// Layer: endpoints. Begin at [Route].
package route
