package accounts

import (
	"cmp"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
)

// RequireService admits the service key alone: a tenant's administrator has no
// say over accounts, which belong to people.
func RequireService(a actor.Actor) error {
	if a.Role != actor.Service {
		return fault.New(fault.Forbidden, "not_admin", "User not allowed")
	}
	return nil
}

// Given is the text behind a pointer; "" for nil.
func Given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Conflict says which of an account's unique values another one has, where only the
// index saw it: an id that was given, or what came in the same moment.
func Conflict(err error) error {
	f := fault.As(err)
	v, ok := f.Data.(*db.Violation)
	if !ok || f.Code != "23505" || v.Table != "users" {
		return err
	}
	if name := cmp.Or(v.Constraint, "users_"+strings.Join(v.Columns, "_")); strings.Contains(name, "phone") {
		return ErrPhoneTaken()
	} else if strings.Contains(name, "email") {
		return ErrTaken()
	}
	return fault.Wrap(err, fault.Unprocessable, "user_already_exists", "A user with this id already exists").At("id",
		"taken")
}

// CheckFree refuses an address or a number that another account has.
func CheckFree(tx *db.Tx, u *User) error {
	if u.Email != "" {
		if _, err := UserByEmail(tx, u.Email); err == nil {
			return ErrTaken()
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if u.Phone == "" {
		return nil
	}
	if _, err := UserByPhone(tx, u.Phone); err == nil {
		return ErrPhoneTaken()
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// SessionGone is the answer for a token whose session ended; any error but an
// absent row is passed on, because a busy database must not sign people out.
func SessionGone(err error) error {
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.Wrap(err, fault.Unauthorized, "session_not_found", "Session from session_id claim in JWT does not exist")
}

// ErrSSORequired refuses a way in that a tenant's provider has taken the place of.
func ErrSSORequired() error {
	return fault.New(fault.Forbidden, "sso_required", "Your organisation asks you to sign in through its own provider")
}

// ErrManaged refuses to change what an organisation's provider leads.
func ErrManaged() error {
	return fault.New(fault.Unprocessable, "user_sso_managed",
		"This account is managed by its organisation's identity provider")
}

// NeedAAL2 refuses a session of one factor when the account has a second.
func NeedAAL2(u *User, a actor.Actor, kind fault.Kind, msg string) error {
	if a.AAL == AAL2 || !factor.On(u.Factors) {
		return nil
	}
	return fault.New(kind, "insufficient_aal", "%s", msg)
}

// ErrNoSession is the answer about a session that is not there.
func ErrNoSession() error {
	return fault.New(fault.NotFound, "not_found", "There is no such session")
}

// ErrPhoneTaken refuses a number that another account has.
func ErrPhoneTaken() error {
	return fault.New(fault.Unprocessable, "phone_exists", "A user with this phone number has already been registered")
}

// ErrBanned refuses an account that is banned.
func ErrBanned() error { return fault.New(fault.Invalid, "user_banned", "User is banned") }

// ErrTaken refuses an address that another account has.
func ErrTaken() error {
	return fault.New(fault.Unprocessable, "email_exists", "A user with this email address has already been registered")
}
