package identity

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/token"
)

func errCredentials() error {
	return fault.New(fault.Invalid, "invalid_credentials", "Invalid login credentials")
}

func errBanned() error { return fault.New(fault.Invalid, "user_banned", "User is banned") }

// SignIn checks address and password. Unknown address, no password, wrong
// password and a managed account get one answer in one time; what else stands
// against a sign-in is told only to who knew the password (security rule R24).
func (s *Service) SignIn(ctx context.Context, email, pw string, c Client) (*Session, error) {
	u, err := s.candidate(ctx, email)
	if err != nil {
		return nil, err
	}
	if len(pw) > password.MaxBytes {
		pw = ""
	}
	ok, err := s.hasher.Check(ctx, u.hash, pw)
	if err != nil {
		return nil, err
	}
	if !ok {
		err := s.note(ctx, event{user: u.ID, action: "session.refused", outcome: "refused", client: c})
		if err != nil {
			return nil, err
		}
		return nil, errCredentials()
	}
	switch {
	case u.banned(s.now()):
		return nil, errBanned()
	case u.EmailConfirmedAt.IsZero():
		return nil, fault.New(fault.Invalid, "email_not_confirmed", "Email not confirmed")
	}
	rehashed := ""
	if password.Stale(u.hash) {
		if rehashed, err = s.hasher.Hash(ctx, pw); err != nil {
			return nil, err
		}
	}
	return s.signIn(ctx, u, rehashed, c)
}

// candidate returns the account of an address, or an empty one for an address
// that is unknown or none at all.
func (s *Service) candidate(ctx context.Context, email string) (*User, error) {
	u := &User{}
	addr, err := Canonical(email)
	if err != nil {
		return u, nil
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		found, err := userByEmail(tx, addr)
		if err == nil {
			u = found
		}
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	})
	return u, err
}

// signIn opens the session unless the password changed since it was checked.
func (s *Service) signIn(ctx context.Context, checked *User, rehashed string, c Client) (*Session, error) {
	var g *grant
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		u, err := locked(tx, checked.ID)
		if fault.Is(err, fault.NotFound) || err == nil && u.hash != checked.hash {
			return errCredentials()
		}
		if err != nil {
			return err
		}
		if rehashed != "" {
			tx.Queue("UPDATE users SET password_hash = $2 WHERE id = $1", []any{u.ID, rehashed}, nil)
		}
		g, err = s.begin(tx, u, token.Method{Method: "password"}, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.issue(g)
}
