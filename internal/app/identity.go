package app

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/safety/share"
)

// shareIdentity is what links to documents need of accounts: who shared one, and the
// house's passwords.
func shareIdentity(s *identity.Service) share.Identity {
	return share.Identity{
		Member: func(ctx context.Context, tenant, user string) (actor.Actor, error) {
			if err := refuseBanned(ctx, s, user); err != nil {
				return actor.Actor{}, err
			}
			return s.Tenants.MemberActor(ctx, tenant, user)
		},
		CheckPassword: func(pw string, words []string) error { return s.Passwords.CheckPassword(pw, words) },
		Hash:          s.Passwords.Hasher.Hash,
		Matches:       s.Passwords.Hasher.Check,
	}
}

// refuseBanned refuses an account that cannot sign in now, as one that is gone.
func refuseBanned(ctx context.Context, s *identity.Service, user string) error {
	var u *accounts.User
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		u, err = accounts.UserByID(tx, user)
		return err
	})
	if err == nil && u.Banned(s.Now()) {
		return fault.New(fault.NotFound, "PGRST116", "the account is banned")
	}
	return err
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
