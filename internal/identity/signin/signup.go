package signin

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/identity/token"
)

// SignUps makes accounts for strangers: by address, by number, or without either.
type SignUps struct {
	*accounts.Base
	Accounts    *accounts.Store
	Codes       *codes.Store
	Invitations *tenants.Invitations
	OTP         *OTP
	Passwords   *accounts.Passwords
	Post        *codes.Post
	Sessions    *sessions.Store
}

// SignUp is a request for an account.
type SignUp struct {
	Email, Password string
	Data            map[string]any // user metadata; tenant_id is a wish
	PKCE            codes.PKCE
	Redirect        string // resolved by Target
}

// SignUp makes an account. With autoconfirm the answer is a session. Without,
// it is a user, and it is the same user-shaped answer whether the address was
// new, unconfirmed or taken: its owner learns by mail, and nobody else does
// unless the operator wants it told.
func (s *SignUps) SignUp(ctx context.Context, in SignUp, c accounts.Client) (*sessions.Session, *accounts.User, error) {
	email, err := s.checkSignUp(&in)
	if err != nil {
		return nil, nil, err
	}
	if !s.Config.Autoconfirm {
		if err := s.Post.Spaced(ctx, "confirmation", email, c); err != nil {
			return nil, nil, err
		}
	}
	hash, err := s.Passwords.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return nil, nil, err
	}
	if s.Config.Autoconfirm {
		sess, err := s.signUpNow(ctx, in, email, hash, c)
		return sess, nil, err
	}
	u, err := s.signUpByMail(ctx, in, email, hash, c)
	return nil, u, err
}

func (s *SignUps) checkSignUp(in *SignUp) (string, error) {
	if err := s.Accounts.SignUpOn(); err != nil {
		return "", err
	}
	if err := s.Accounts.EmailOn(fault.Invalid); err != nil {
		return "", err
	}
	email, err := accounts.Canonical(in.Email)
	if err != nil {
		return "", err
	}
	if err := accounts.Legible(email); err != nil {
		return "", err
	}
	if err := in.PKCE.Check(); err != nil {
		return "", err
	}
	if in.Password == "" {
		return "", fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
	}
	if err := s.Passwords.CheckPassword(in.Password, []string{email}, in.Data); err != nil {
		return "", err
	}
	in.Data, err = accounts.MergeUserData(nil, in.Data)
	return email, err
}

func (s *SignUps) signUpNow(
	ctx context.Context, in SignUp, email, hash string, c accounts.Client,
) (*sessions.Session, error) {
	var g *sessions.Grant
	err := s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) error {
			u, err := accounts.UserByEmail(tx, email)
			switch {
			case err == nil && (u.Hash != "" || !u.ConfirmedAt.IsZero()):
				return fault.New(fault.Unprocessable, "user_already_exists", "User already registered")
			case err == nil:
				// Made for an invitation, and never opened.
				err = s.adoptInvited(tx, u, hash, in.Data)
			case fault.Is(err, fault.NotFound):
				u = s.Accounts.Draft(email, in.Data)
				u.Hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, accounts.Time{Time: s.Now()}, accounts.Time{Time: s.Now()}
				err = accounts.InsertUser(tx, u.SignedUp())
			}
			if err != nil {
				return err
			}
			s.Audit(tx, accounts.Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID, Client: c})
			if err := s.Invitations.JoinAsWished(tx, u, c); err != nil {
				return err
			}
			g, err = s.Sessions.Begin(tx, u, token.Method{Method: "password"}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return s.Sessions.Issue(g)
}

// adoptInvited gives an invited account its password and confirms it.
func (s *SignUps) adoptInvited(tx *db.Tx, u *accounts.User, hash string, data map[string]any) error {
	if err := s.Accounts.WithoutProviders(tx, u, ""); err != nil {
		return err
	}
	now := s.Now()
	u.Hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, accounts.Time{Time: now}, accounts.Time{Time: now}
	for k, v := range data {
		u.UserMetadata[k] = v
	}
	if err := accounts.CheckMetadata(u.UserMetadata); err != nil {
		return err
	}
	_, err := tx.Exec(`
		UPDATE users
		SET password_hash = $2, email_confirmed_at = $3, user_metadata = $4, updated_at = $3
		WHERE id = $1`, u.ID, hash,
		now, accounts.WriteJSON(u.UserMetadata))
	return err
}

// signUpByMail answers as for a new account in all three cases. The times in
// the answer are those of now, and a taken address keeps one decoy id, because
// an unconfirmed one keeps its id as well.
func (s *SignUps) signUpByMail(
	ctx context.Context, in SignUp, email, hash string, c accounts.Client,
) (*accounts.User, error) {
	answer := s.Accounts.Draft(email, in.Data)
	answer.ConfirmationSentAt = answer.CreatedAt
	var mail mailtemplate.Letter
	taken := false
	err := s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) error {
			taken = false
			u, err := accounts.UserByEmail(tx, email)
			if err == nil {
				taken, err = s.Accounts.Disown(tx, u)
			} else if fault.Is(err, fault.NotFound) {
				u = s.Accounts.Draft(email, in.Data)
				u.Hash, u.ConfirmationSentAt = hash, u.CreatedAt
				err = accounts.InsertUser(tx, u.SignedUp())
			}
			if err != nil {
				return err
			}
			if taken {
				answer.ID = s.Secrets.UUID("decoy", email)
				mail = mailtemplate.Letter{Kind: mailtemplate.Known, User: u.ID, To: email, Link: s.Config.Home()}
				s.Audit(tx, accounts.Event{Action: "user.sign_up_repeated", Entity: "user", EntityID: u.ID, Client: c})
				return tx.Flush()
			}
			answer.ID = u.ID
			s.Audit(tx, accounts.Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID, Client: c})
			made, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindSignup, Address: email, From: c.Place(),
				PKCE: in.PKCE, Redirect: in.Redirect})
			mail = mailtemplate.Letter{Kind: mailtemplate.Confirmation, User: u.ID, To: email, Link: made.Link,
				Code: made.Digits, Valid: s.Config.CodeTTL}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if taken && s.Config.SignupTellsTaken {
		answer.HideAsTaken("email")
		return answer, s.Post.Send(mail)
	}
	return answer.SignedUp(), s.Post.Send(mail)
}
