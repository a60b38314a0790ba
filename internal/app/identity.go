package app

import (
	"holdfast/internal/identity"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/safety/share"
)

// shareIdentity is what links to documents need of accounts: who shared one, and the
// house's passwords.
func shareIdentity(s *identity.Service) share.Identity {
	return share.Identity{
		Member:        s.Tenants.MemberActor,
		CheckPassword: func(pw string, words []string) error { return s.Passwords.CheckPassword(pw, words) },
		Hash:          s.Passwords.Hasher.Hash,
		Matches:       s.Passwords.Hasher.Check,
	}
}

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
