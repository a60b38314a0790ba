// Package absent answers at the addresses of what Supabase has and this server has
// not.
//
// Layer: endpoints. Begin at [Routes].
package absent

import (
	"net/http"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// service is a service of Supabase that this server does not have.
type service struct{ path, name, instead string }

var services = []service{
	{"/realtime/v1", "Realtime", "changes come from /v1/events as server-sent events, and from webhooks"},
	{"/storage/v1", "Storage", "photos are at /v1/photos, files of imports at /v1/import-jobs"},
	{"/graphql/v1", "GraphQL", "/v1/{collection}?select=column,relation(column) answers related records in one request"},
}

// Routes say what of Supabase is not here, and what there
// is instead. A WebSocket of Realtime is answered in its own protocol, for its
// clients take nothing else for an answer.
func Routes(g *access.Gate) []route.Route {
	var list []route.Route
	for _, s := range services {
		serve := func(w http.ResponseWriter, c *route.Call) error {
			web.Note(w, s.path, "", "", "")
			if err := g.Count(w, c.Request); err != nil {
				return err
			}
			return s.serveAbsence(w, c)
		}
		for _, pattern := range []string{s.path, s.path + "/"} {
			list = append(list, route.Route{Pattern: pattern, Who: route.Public, Handle: serve, Unlisted: true,
				Doc: s.name + " of Supabase, which is not here: 501 says what is instead"})
		}
	}
	return list
}

func (s service) serveAbsence(w http.ResponseWriter, c *route.Call) error {
	if s.path == "/realtime/v1" && isWebSocket(c.Request) {
		return refuseChannels(w, c.Request, s.explainAbsence())
	}
	err := fault.New(fault.Absent, "0A000", "%s", s.explainAbsence())
	return err.With("", "docs/api.md names what of Supabase is absent")
}

func (s service) explainAbsence() string { return s.name + " is not served here: " + s.instead }

// isWebSocket reports a request that wants to become a WebSocket (RFC 6455, section
// 4.1).
func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
