package identity

import (
	"context"
	"errors"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/token"
	"holdfast/internal/web"
)

// SignIns is sign-in by password.
type SignIns struct {
	*Base
	accounts  *Accounts
	passwords *Passwords
	sessions  *Sessions
}

func errCredentials() error {
	return fault.New(fault.Invalid, "invalid_credentials", "Invalid login credentials")
}

func errBanned() error { return fault.New(fault.Invalid, "user_banned", "User is banned") }

// SignIn checks address and password. Unknown address, no password, wrong
// password and a managed account get one answer in one time; what else stands
// against a sign-in is told only to who knew the password: anything more would tell strangers
// who has an account.
func (s *SignIns) SignIn(ctx context.Context, email, pw string, c Client) (*Session, error) {
	if err := s.accounts.emailOn(fault.Unprocessable); err != nil {
		return nil, err
	}
	return s.byPassword(ctx, pw, c, s.queueNamed(byAddress, email, Canonical), func(u *User) error {
		if u.EmailConfirmedAt.IsZero() {
			return fault.New(fault.Invalid, "email_not_confirmed", "Email not confirmed")
		}
		return nil
	})
}

// SignInPhone is SignIn by telephone number.
func (s *SignIns) SignInPhone(ctx context.Context, phone, pw string, c Client) (*Session, error) {
	if err := s.accounts.phonesOn(); err != nil {
		return nil, err
	}
	return s.byPassword(ctx, pw, c, s.queueNamed(byNumber, phone, CanonicalPhone), func(u *User) error {
		if u.PhoneConfirmedAt.IsZero() {
			return fault.New(fault.Invalid, "phone_not_confirmed", "Phone not confirmed")
		}
		return nil
	})
}

// byPassword signs in the account that find finds, if proved lets it. A hash that
// changed between its check and the session is checked once more: another right
// sign-in may have made it anew.
func (s *SignIns) byPassword(ctx context.Context, pw string, c Client, find func(*db.Tx, *User), proved func(*User) error) (*Session, error) {
	sess, err := s.tryPassword(ctx, pw, c, find, proved)
	if errors.Is(err, errHashChanged) {
		sess, err = s.tryPassword(ctx, pw, c, find, proved)
	}
	if errors.Is(err, errHashChanged) {
		err = errCredentials()
	}
	if err == nil {
		sess.WeakPassword = s.weakness(pw, sess.User)
	}
	return sess, err
}

// weakness is what the policy of today has against a password that was taken
// before, or that the service key chose; nil = nothing.
func (s *SignIns) weakness(pw string, u *User) *WeakPassword {
	f := fault.As(s.passwords.checkPassword(pw, []string{u.Email, u.Phone}, u.UserMetadata))
	if f == nil || f.Code != "weak_password" {
		return nil
	}
	return &WeakPassword{Message: f.Msg, Reasons: password.Reasons(f)}
}

var errHashChanged = errors.New("identity: the password changed since it was checked")

func (s *SignIns) tryPassword(ctx context.Context, pw string, c Client, find func(*db.Tx, *User), proved func(*User) error) (*Session, error) {
	u, err := s.candidate(ctx, find)
	if err != nil {
		return nil, err
	}
	if c.Found != nil {
		if err := c.Found(u.ID, u.from.Has(web.AddressKey(c.Address))); err != nil {
			return nil, err
		}
	}
	stranger := !u.from.Has(web.AddressKey(c.Address))
	if u.ID != "" {
		u.wrong.account = u.ID
	}
	if stranger {
		if err := u.wrong.refuse(s.now()); err != nil {
			return nil, err
		}
	}
	if len(pw) > password.MaxBytes {
		pw = ""
	}
	ok, err := s.passwords.hasher.Check(ctx, u.hash, pw)
	if err != nil {
		return nil, err
	}
	if !ok {
		if !stranger {
			u.wrong.account = "" // counts nothing
		}
		if err := s.refused(ctx, u, "password", c); err != nil {
			return nil, err
		}
		return nil, errCredentials()
	}
	if u.banned(s.now()) {
		if err := s.refused(ctx, u, "banned", c); err != nil {
			return nil, err
		}
		return nil, errBanned()
	}
	if unproved := proved(u); unproved != nil {
		if err := s.refused(ctx, u, "unconfirmed", c); err != nil {
			return nil, err
		}
		return nil, unproved
	}
	rehashed := ""
	if password.Stale(u.hash) {
		if rehashed, err = s.passwords.hasher.Hash(ctx, pw); err != nil {
			return nil, err
		}
	}
	return s.signIn(ctx, u, rehashed, c)
}

// refused notes a sign-in that failed, where the account's tenant sees it. An
// unknown account, which has no id, takes as long.
func (s *SignIns) refused(ctx context.Context, u *User, why string, c Client) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		id := u.ID
		if id == "" {
			id = db.NoTenant
		}
		list, err := memberships(tx, id)
		if err != nil {
			return err
		}
		tenant := u.lastTenant
		if len(list) == 1 {
			tenant = list[0].TenantID
		}
		s.record(tx, event{tenant: tenant, user: u.ID, action: "session.refused", outcome: "refused", details: map[string]any{"reason": why}, client: c})
		if why == "password" {
			u.wrong.count(tx, s.now())
		}
		return nil
	})
}

// candidate returns the account that find finds, without its identities and
// factors, or an empty one where it finds none.
func (s *SignIns) candidate(ctx context.Context, find func(*db.Tx, *User)) (*User, error) {
	u := &User{}
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		find(tx, u)
		return tx.End()
	})
	return u, err
}

// queueNamed reads an account by a name that someone typed, and the wrong passwords
// that were tried at it; one that is no name finds nobody.
func (s *SignIns) queueNamed(where, name string, canonical func(string) (string, error)) func(*db.Tx, *User) {
	return func(tx *db.Tx, u *User) {
		if key, err := canonical(name); err == nil {
			queueRow(tx, u, where, key, false)
			queueGuesses(tx, s.secrets, &u.wrong, where, key)
		}
	}
}

// signIn opens the session, or returns errHashChanged.
func (s *SignIns) signIn(ctx context.Context, checked *User, rehashed string, c Client) (*Session, error) {
	var g *grant
	err := s.write(ctx, func(tx *db.Tx) error {
		found := queueLocked(tx, checked.ID)
		in := entrance{how: token.Method{Method: "password"}, belongs: queueBelonging(tx, checked.ID, checked.Email)}
		u, err := flushed(tx, found)
		if fault.Is(err, fault.NotFound) {
			return errCredentials()
		}
		if err == nil && u.hash != checked.hash {
			return errHashChanged
		}
		if err != nil {
			return err
		}
		if rehashed != "" {
			tx.Queue("UPDATE users SET password_hash = $2 WHERE id = $1", []any{u.ID, rehashed}, nil)
		}
		g, err = s.sessions.beginBy(tx, u, in, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.sessions.issue(g)
}
