package identity

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
)

// SignUpAnonymous makes an account that nobody can come back to but by its
// session: no address, no identity, exactly the metadata given. It becomes a
// full account when an address is proved or an identity linked.
func (s *SignUps) SignUpAnonymous(ctx context.Context, data map[string]any, c Client) (*Session, error) {
	switch {
	case !s.cfg.AnonymousUsers:
		return nil, fault.New(fault.Unprocessable, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
	case !s.cfg.SignupEnabled:
		return nil, fault.New(fault.Unprocessable, "signup_disabled", "Signups not allowed for this instance")
	}
	data, err := merge(nil, data)
	if err != nil {
		return nil, err
	}
	var g *grant
	err = s.write(ctx, func(tx *db.Tx) error {
		u := s.accounts.draft("", data)
		u.IsAnonymous, u.Identities = true, []Identity{}
		u.derive()
		if err := insertUser(tx, u); err != nil {
			return err
		}
		s.record(tx, event{user: u.ID, action: "user.signed_up", entity: "user", entityID: u.ID, details: map[string]any{"method": "anonymous"}, client: c})
		g, err = s.sessions.begin(tx, u, token.Method{Method: "anonymous"}, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.sessions.issue(g)
}

// becomeNamed ends an account's anonymity, in the transaction that gave it an owner.
func (s *Addresses) becomeNamed(tx *db.Tx, u *User, c Client) {
	if !u.IsAnonymous {
		return
	}
	u.IsAnonymous = false
	tx.Queue("UPDATE users SET is_anonymous = $2 WHERE id = $1", []any{u.ID, false}, nil)
	s.record(tx, event{user: u.ID, action: "user.upgraded", entity: "user", entityID: u.ID, client: c})
}
