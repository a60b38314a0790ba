package identity

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/token"
)

// SignUps makes accounts for strangers: by address, by number, or without either.
type SignUps struct {
	*Base
	accounts    *Accounts
	codes       *Codes
	invitations *Invitations
	otp         *OTP
	passwords   *Passwords
	post        *Post
	sessions    *Sessions
}

// Accounts drafts accounts, and takes from them what their owner has not proved.
type Accounts struct {
	*Base
}

// SignUp is a request for an account.
type SignUp struct {
	Email, Password string
	Data            map[string]any // user metadata; tenant_id is a wish
	PKCE            PKCE
	Redirect        string // resolved by Target
}

// SignUp makes an account. With autoconfirm the answer is a session. Without,
// it is a user, and it is the same user-shaped answer whether the address was
// new, unconfirmed or taken: its owner learns by mail, and nobody else does
// unless the operator wants it told.
func (s *SignUps) SignUp(ctx context.Context, in SignUp, c Client) (*Session, *User, error) {
	email, err := s.checkSignUp(&in)
	if err != nil {
		return nil, nil, err
	}
	if !s.cfg.Autoconfirm {
		if err := s.post.spaced(ctx, "confirmation", email, c); err != nil {
			return nil, nil, err
		}
	}
	hash, err := s.passwords.hasher.Hash(ctx, in.Password)
	if err != nil {
		return nil, nil, err
	}
	if s.cfg.Autoconfirm {
		sess, err := s.signUpNow(ctx, in, email, hash, c)
		return sess, nil, err
	}
	u, err := s.signUpByMail(ctx, in, email, hash, c)
	return nil, u, err
}

func (s *SignUps) checkSignUp(in *SignUp) (string, error) {
	if err := s.accounts.signUpOn(); err != nil {
		return "", err
	}
	if err := s.accounts.emailOn(fault.Invalid); err != nil {
		return "", err
	}
	email, err := Canonical(in.Email)
	if err != nil {
		return "", err
	}
	if err := legible(email); err != nil {
		return "", err
	}
	if err := in.PKCE.check(); err != nil {
		return "", err
	}
	if in.Password == "" {
		return "", fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
	}
	if err := s.passwords.checkPassword(in.Password, []string{email}, in.Data); err != nil {
		return "", err
	}
	in.Data, err = merge(nil, in.Data)
	return email, err
}

func (s *Accounts) signUpOn() error {
	if !s.cfg.SignupEnabled {
		return fault.New(fault.Unprocessable, "signup_disabled", "Signups not allowed for this instance")
	}
	return nil
}

// emailOn refuses where addresses do not sign in. Clients expect one code with
// two statuses: the kind is the endpoint's.
func (s *Accounts) emailOn(k fault.Kind) error {
	if s.cfg.EmailOff {
		return fault.New(k, "email_provider_disabled", "Email logins are disabled")
	}
	return nil
}

// draft is a new account, not yet stored. Its id is random throughout: a
// UUIDv7 would tell when the account was made, and so tell a decoy from it.
func (s *Accounts) draft(email string, data map[string]any) *User {
	now := s.now()
	u := &User{ID: uuid.NewString(), Aud: token.Audience, Role: token.Audience, Email: email, app: map[string]any{}, UserMetadata: map[string]any{},
		CreatedAt: Time{Time: now}, UpdatedAt: Time{Time: now}}
	for k, v := range data {
		u.UserMetadata[k] = v
	}
	return u
}

// signedUp completes a draft as a sign-up by address does.
func (u *User) signedUp() *User {
	u.UserMetadata["sub"], u.UserMetadata["email"] = u.ID, u.Email
	u.UserMetadata["email_verified"], u.UserMetadata["phone_verified"] = !u.EmailConfirmedAt.IsZero(), false
	return u.addressed()
}

// addressed completes a draft that a service key asks for: its metadata are what
// the key gave and nothing else.
func (u *User) addressed() *User {
	u.Identities = []Identity{emailIdentity(u, u.CreatedAt.Time)}
	u.derive()
	return u
}

func (s *SignUps) signUpNow(ctx context.Context, in SignUp, email, hash string, c Client) (*Session, error) {
	var g *grant
	err := s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) error {
			u, err := userByEmail(tx, email)
			switch {
			case err == nil && (u.hash != "" || !u.ConfirmedAt.IsZero()):
				return fault.New(fault.Unprocessable, "user_already_exists", "User already registered")
			case err == nil:
				// Made for an invitation, and never opened.
				err = s.adopt(tx, u, hash, in.Data)
			case fault.Is(err, fault.NotFound):
				u = s.accounts.draft(email, in.Data)
				u.hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, Time{Time: s.now()}, Time{Time: s.now()}
				err = insertUser(tx, u.signedUp())
			}
			if err != nil {
				return err
			}
			s.record(tx, event{user: u.ID, action: "user.signed_up", entity: "user", entityID: u.ID, client: c})
			if err := s.invitations.joinAsWished(tx, u, c); err != nil {
				return err
			}
			g, err = s.sessions.begin(tx, u, token.Method{Method: "password"}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return s.sessions.issue(g)
}

// adopt gives an invited account its password and confirms it.
func (s *SignUps) adopt(tx *db.Tx, u *User, hash string, data map[string]any) error {
	if err := s.accounts.withoutProviders(tx, u, ""); err != nil {
		return err
	}
	now := s.now()
	u.hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, Time{Time: now}, Time{Time: now}
	for k, v := range data {
		u.UserMetadata[k] = v
	}
	if err := checkMetadata(u.UserMetadata); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE users SET password_hash = $2, email_confirmed_at = $3, user_metadata = $4, updated_at = $3 WHERE id = $1", u.ID, hash,
		now, writeJSON(u.UserMetadata))
	return err
}

// signUpByMail answers as for a new account in all three cases. The times in
// the answer are those of now, and a taken address keeps one decoy id, because
// an unconfirmed one keeps its id as well.
func (s *SignUps) signUpByMail(ctx context.Context, in SignUp, email, hash string, c Client) (*User, error) {
	answer := s.accounts.draft(email, in.Data)
	answer.ConfirmationSentAt = answer.CreatedAt
	var mail letter.Letter
	taken := false
	err := s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) error {
			taken = false
			u, err := userByEmail(tx, email)
			if err == nil {
				taken, err = s.accounts.disown(tx, u)
			} else if fault.Is(err, fault.NotFound) {
				u = s.accounts.draft(email, in.Data)
				u.hash, u.ConfirmationSentAt = hash, u.CreatedAt
				err = insertUser(tx, u.signedUp())
			}
			if err != nil {
				return err
			}
			if taken {
				answer.ID = s.secrets.UUID("decoy", email)
				mail = letter.Letter{Kind: letter.Known, User: u.ID, To: email, Link: s.cfg.SiteURL}
				s.record(tx, event{action: "user.sign_up_repeated", entity: "user", entityID: u.ID, client: c})
				return tx.Flush()
			}
			answer.ID = u.ID
			s.record(tx, event{user: u.ID, action: "user.signed_up", entity: "user", entityID: u.ID, client: c})
			made, err := s.codes.makeCode(tx, u, codeOrder{kind: kindSignup, address: email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect})
			mail = letter.Letter{Kind: letter.Confirmation, User: u.ID, To: email, Link: made.link, Code: made.digits, Valid: s.cfg.CodeTTL}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if taken && s.cfg.SignupTellsTaken {
		answer.tell("email")
		return answer, s.post.send(mail)
	}
	return answer.signedUp(), s.post.send(mail)
}

// tell makes of the answer for a new account the one by which applications for
// supabase-js know that the address or number is taken: it has no identities,
// no role and an id of nobody's.
func (u *User) tell(provider string) {
	u.ID, u.Role, u.Identities = uuid.NewString(), "", []Identity{}
	u.AppMetadata = map[string]any{"provider": provider, "providers": []string{provider}}
}

// disown takes password, wishes and providers' identities off an unconfirmed
// account that somebody signs up for once more. Nobody has proved the address,
// so the first password may be a stranger's who waits for the owner to open the
// mailed link, and so may the second. The link signs the owner in; he chooses a
// password then. An account that somebody has proved, by address or by number,
// is taken and stays as it is.
func (s *Accounts) disown(tx *db.Tx, u *User) (taken bool, err error) {
	bare := maps.Clone(u.UserMetadata)
	unwished(bare)
	n, err := tx.Exec("UPDATE users SET password_hash = NULL, user_metadata = $2 WHERE id = $1 AND email_confirmed_at IS NULL AND phone_confirmed_at "+
		"IS NULL", u.ID, writeJSON(bare))
	if err != nil || n == 0 {
		return err == nil, err
	}
	u.hash, u.UserMetadata = "", bare
	return false, s.withoutProviders(tx, u, "")
}

// onceMore runs a sign-up again when another one with the same address came
// first: the second run finds the account.
func (s *Accounts) onceMore(f func() error) error {
	err := f()
	if fault.HasCode(err, "23505") {
		err = f()
	}
	return err
}
