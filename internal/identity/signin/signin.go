package signin

import (
	"context"
	"errors"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/token"
	"holdfast/internal/web"
)

// SignIns is sign-in by password.
type SignIns struct {
	*accounts.Base
	Accounts  *accounts.Store
	Passwords *accounts.Passwords
	Sessions  *sessions.Store
}

func errCredentials() error {
	return fault.New(fault.Invalid, "invalid_credentials", "Invalid login credentials")
}

// SignIn checks address and password. Unknown address, no password, wrong
// password and a managed account get one answer in one time; what else stands
// against a sign-in is told only to who knew the password: anything more would tell strangers
// who has an account.
func (s *SignIns) SignIn(ctx context.Context, email, pw string, c accounts.Client) (*sessions.Session, error) {
	if err := s.Accounts.EmailOn(fault.Unprocessable); err != nil {
		return nil, err
	}
	return s.byPassword(ctx, pw, c, s.queueNamed(accounts.ByAddress, email, accounts.Canonical),
		func(u *accounts.User) error {
			if u.EmailConfirmedAt.IsZero() {
				return fault.New(fault.Invalid, "email_not_confirmed", "Email not confirmed")
			}
			return nil
		})
}

// SignInPhone is SignIn by telephone number.
func (s *SignIns) SignInPhone(ctx context.Context, phone, pw string, c accounts.Client) (*sessions.Session, error) {
	if err := s.Accounts.PhonesOn(); err != nil {
		return nil, err
	}
	return s.byPassword(ctx, pw, c, s.queueNamed(accounts.ByNumber, phone, accounts.CanonicalPhone),
		func(u *accounts.User) error {
			if u.PhoneConfirmedAt.IsZero() {
				return fault.New(fault.Invalid, "phone_not_confirmed", "Phone not confirmed")
			}
			return nil
		})
}

// byPassword signs in the account that find finds, if proved lets it. A hash that
// changed between its check and the session is checked once more: another right
// sign-in may have made it anew.
func (s *SignIns) byPassword(ctx context.Context, pw string, c accounts.Client, find func(*db.Tx, *accounts.User),
	proved func(*accounts.User) error) (*sessions.Session, error) {
	sess, err := s.tryPassword(ctx, pw, c, find, proved)
	if errors.Is(err, errHashChanged) {
		sess, err = s.tryPassword(ctx, pw, c, find, proved)
	}
	if errors.Is(err, errHashChanged) {
		err = errCredentials()
	}
	if err == nil {
		sess.WeakPassword = s.weaknessOf(pw, sess.User)
	}
	return sess, err
}

// weaknessOf is what the policy of today has against a password that was taken
// before, or that the service key chose; nil = nothing.
func (s *SignIns) weaknessOf(pw string, u *accounts.User) *sessions.WeakPassword {
	f := fault.As(s.Passwords.CheckPassword(pw, []string{u.Email, u.Phone}, u.UserMetadata))
	if f == nil || f.Code != "weak_password" {
		return nil
	}
	return &sessions.WeakPassword{Message: f.Msg, Reasons: password.Reasons(f)}
}

var errHashChanged = errors.New("identity: the password changed since it was checked")

func (s *SignIns) tryPassword(ctx context.Context, pw string, c accounts.Client, find func(*db.Tx, *accounts.User),
	proved func(*accounts.User) error) (*sessions.Session, error) {
	u, err := s.findCandidate(ctx, find)
	if err != nil {
		return nil, err
	}
	if c.Found != nil {
		if err := c.Found(u.ID, u.From.Has(web.AddressKey(c.Address))); err != nil {
			return nil, err
		}
	}
	stranger := !u.From.Has(web.AddressKey(c.Address))
	if u.ID != "" {
		u.WrongPasswords.Account = u.ID
	}
	if stranger {
		if err := u.WrongPasswords.Refuse(s.Now()); err != nil {
			return nil, err
		}
	}
	if len(pw) > password.MaxBytes {
		pw = ""
	}
	ok, err := s.Passwords.Hasher.Check(ctx, u.Hash, pw)
	if err != nil {
		return nil, err
	}
	if !ok {
		if !stranger {
			u.WrongPasswords.Account = "" // counts nothing
		}
		if err := s.auditRefusal(ctx, u, "password", c); err != nil {
			return nil, err
		}
		return nil, errCredentials()
	}
	if u.Banned(s.Now()) {
		if err := s.auditRefusal(ctx, u, "banned", c); err != nil {
			return nil, err
		}
		return nil, accounts.ErrBanned()
	}
	if unproved := proved(u); unproved != nil {
		if err := s.auditRefusal(ctx, u, "unconfirmed", c); err != nil {
			return nil, err
		}
		return nil, unproved
	}
	rehashed := ""
	if password.Stale(u.Hash) {
		if rehashed, err = s.Passwords.Hasher.Hash(ctx, pw); err != nil {
			return nil, err
		}
	}
	return s.signIn(ctx, u, rehashed, c)
}

// auditRefusal notes a sign-in that failed, where the account's tenant sees it. An
// unknown account, which has no id, takes as long.
func (s *SignIns) auditRefusal(ctx context.Context, u *accounts.User, why string, c accounts.Client) error {
	return s.DB.Write(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		id := u.ID
		if id == "" {
			id = db.NoTenant
		}
		list, err := accounts.Memberships(tx, id)
		if err != nil {
			return err
		}
		tenant := u.LastTenant
		if len(list) == 1 {
			tenant = list[0].TenantID
		}
		s.Audit(tx, accounts.Event{Tenant: tenant, User: u.ID, Action: "session.refused", Outcome: "refused",
			Details: map[string]any{"reason": why}, Client: c})
		if why == "password" {
			u.WrongPasswords.Count(tx, s.Now())
		}
		return nil
	})
}

// findCandidate returns the account that find finds, without its identities and
// factors, or an empty one where it finds none.
func (s *SignIns) findCandidate(ctx context.Context, find func(*db.Tx, *accounts.User)) (*accounts.User, error) {
	u := &accounts.User{}
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		find(tx, u)
		return tx.End()
	})
	return u, err
}

// queueNamed reads an account by a name that someone typed, and the wrong passwords
// that were tried at it; one that is no name finds nobody.
func (s *SignIns) queueNamed(where, name string, canonical func(string) (string, error)) func(*db.Tx, *accounts.User) {
	return func(tx *db.Tx, u *accounts.User) {
		if key, err := canonical(name); err == nil {
			accounts.QueueRow(tx, u, where, key, false)
			accounts.QueueGuesses(tx, s.Secrets, &u.WrongPasswords, where, key)
		}
	}
}

// signIn opens the session, or returns errHashChanged.
func (s *SignIns) signIn(
	ctx context.Context, checked *accounts.User, rehashed string, c accounts.Client,
) (*sessions.Session, error) {
	var g *sessions.Grant
	err := s.Write(ctx, func(tx *db.Tx) error {
		found := accounts.QueueLockedUser(tx, checked.ID)
		in := sessions.Entrance{How: token.Method{Method: "password"},
			Belongs: accounts.QueueMemberships(tx, checked.ID, checked.Email)}
		u, err := accounts.FlushedUser(tx, found)
		if fault.Is(err, fault.NotFound) {
			return errCredentials()
		}
		if err == nil && u.Hash != checked.Hash {
			return errHashChanged
		}
		if err != nil {
			return err
		}
		if rehashed != "" {
			tx.Queue("UPDATE users SET password_hash = $2 WHERE id = $1", []any{u.ID, rehashed}, nil)
		}
		g, err = s.Sessions.BeginBy(tx, u, in, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Sessions.Issue(g)
}
