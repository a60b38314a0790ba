package signin

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/token"
)

// SignUpAnonymous makes an account that nobody can come back to but by its
// session: no address, no identity, exactly the metadata given. It becomes a
// full account when an address is proved or an identity linked.
func (s *SignUps) SignUpAnonymous(
	ctx context.Context, data map[string]any, c accounts.Client,
) (*sessions.Session, error) {
	if !s.Config.AnonymousUsers {
		return nil, fault.New(fault.Unprocessable, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
	}
	if !s.Config.SignupEnabled {
		return nil, fault.New(fault.Unprocessable, "signup_disabled", "Signups not allowed for this instance")
	}
	data, err := accounts.Merge(nil, data)
	if err != nil {
		return nil, err
	}
	var g *sessions.Grant
	err = s.Write(ctx, func(tx *db.Tx) error {
		u := s.Accounts.Draft("", data)
		u.IsAnonymous, u.Identities = true, []accounts.Identity{}
		u.Derive()
		if err := accounts.InsertUser(tx, u); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID,
			Details: map[string]any{"method": "anonymous"}, Client: c})
		g, err = s.Sessions.Begin(tx, u, token.Method{Method: "anonymous"}, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Sessions.Issue(g)
}
