package app

// Paths lists, for tests of the whole, the served paths that are no collection, function or identity
// route.
func (a *App) Paths() []string {
	var out []string
	for _, r := range a.routes() {
		if r.Handler != nil {
			out = append(out, r.Pattern)
		}
	}
	return out
}
