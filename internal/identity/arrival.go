package identity

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity/factor"
	"holdfast/internal/web"
)

// arrived notes a sign-in and where it came from: the latter once both factors are
// shown where there are two, or who has the password alone would be known, and put
// his addresses in place of the owner's.
func (u *User) arrived(tx *db.Tx, now time.Time, aal string, c Client) error {
	tx.Queue("UPDATE users SET last_sign_in_at = $2 WHERE id = $1", []any{u.ID, now}, nil)
	if aal != aal2 && factor.On(u.Factors) {
		return nil
	}
	return u.knownFrom(tx, c)
}

// knownFrom notes where an account's owner is.
func (u *User) knownFrom(tx *db.Tx, c Client) error {
	list, changed := u.from.With(web.AddressKey(c.Address))
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

// Known reports whether somebody signed in to an account from a client's address
// before. The account is named as Counted names it; one that nobody has is known
// from nowhere.
func (s *Post) Known(ctx context.Context, account, address string) (known bool, err error) {
	column, value := "email", account
	if number, texted := strings.CutPrefix(account, phoneAccount); texted {
		column, value = "phone", number
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query("SELECT signed_in_from FROM users WHERE "+column+" = $1 AND is_sso = $2 AND deleted_at IS NULL", []any{value, false}, func(r *db.Row) error {
			known = factor.ReadPlaces(r.Text(0)).Has(web.AddressKey(address))
			return nil
		})
	})
	return known, err
}

// ServiceKey reports a request that shows the service key, alone or as bearer, to
// a route that asks for no credential, and keeps that as a use of it.
func (s *Authenticator) ServiceKey(ctx context.Context, c Credential, method, route string) bool {
	key := c.Bearer
	if key == "" {
		key = c.APIKey
	}
	if key == "" {
		return false
	}
	a, err := s.byAPIKey(ctx, key, c)
	if err != nil || a.Role != actor.Service {
		return false
	}
	s.keyring.KeyUsed(KeyUse{Key: a.KeyID, Address: c.Address, Method: method, Route: route}, c.RequestID)
	return true
}

const phoneAccount = "phone:"

// Counted is the one name by which attempts at an account are counted, whichever
// way its address or telephone number is spelled; "" where it is neither.
func Counted(named string) string {
	if phone, err := CanonicalPhone(named); err == nil {
		return phoneAccount + phone
	}
	email, err := Canonical(named)
	if err != nil {
		return ""
	}
	return email
}
