package accounts

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/factor"
	"holdfast/internal/web"
)

// Arrived notes a sign-in and where it came from: the latter once both factors are
// shown where there are two, or who has the password alone would be known, and put
// his addresses in place of the owner's.
func (u *User) Arrived(tx *db.Tx, now time.Time, aal string, c Client) error {
	tx.Queue("UPDATE users SET last_sign_in_at = $2 WHERE id = $1", []any{u.ID, now}, nil)
	if aal != AAL2 && factor.On(u.Factors) {
		return nil
	}
	return u.KnownFrom(tx, c)
}

// KnownFrom notes where an account's owner is.
func (u *User) KnownFrom(tx *db.Tx, c Client) error {
	list, changed := u.From.With(web.AddressKey(c.Address))
	if !changed {
		return nil
	}
	text, err := list.Text()
	if err != nil {
		return err
	}
	tx.Queue("UPDATE users SET signed_in_from = $2 WHERE id = $1", []any{u.ID, text}, nil)
	return nil
}

// PhoneAccount begins the name by which a number's account is counted.
const PhoneAccount = "phone:"

// Counted is the one name by which attempts at an account are counted, whichever
// way its address or telephone number is spelled; "" where it is neither.
func Counted(named string) string {
	if phone, err := CanonicalPhone(named); err == nil {
		return PhoneAccount + phone
	}
	email, err := Canonical(named)
	if err != nil {
		return ""
	}
	return email
}
