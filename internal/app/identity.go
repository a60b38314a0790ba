package app

import "holdfast/internal/identity/sessions"

// keyScopes are the words that keys of tenants may be given: whatever is served as
// records and work.
func keyScopes(a *App) []string {
	var verbs, calls []string
	for _, v := range a.verbs.All() {
		verbs = append(verbs, v.Name)
	}
	for i := range a.table {
		calls = append(calls, a.table[i].Name)
	}
	return sessions.GrantableScopes(a.catalog, verbs, calls)
}
