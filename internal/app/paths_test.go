package app

import "holdfast/internal/api/route"

// Paths lists, for tests of the whole, the served paths that are no collection, function or identity
// route.
func (a *App) Paths() []string {
	var out []string
	for _, r := range a.Routes() {
		if !r.Unlisted && r.Tag != "identity" {
			out = append(out, r.Pattern)
		}
	}
	return out
}

// Routes is everything that is served.
func (a *App) Routes() []route.Route { return routeTable{a}.allRoutes() }
